/* SPDX-License-Identifier: Apache-2.0 */
/* tune_file.c: prints, writes, opens and looks up tune files: measured times of kernels on a processor. */
#include "tune_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/file.h"
#include "../../base/hash.h"
#include "../../tensor/isa.h"
#include "tune_file_impl.h"

tutti_tune_place tutti_tune_here(int nthreads)
{
    tutti_tune_place here = {.nthreads = nthreads};
    tutti_processor_read("", &here.processor);
    snprintf(here.isa, sizeof here.isa, "%s", tutti_isa_name(tutti_isa_here()));
    tutti_kernel_engine_describe("onednn", here.library);
    if (!here.library[0]) snprintf(here.library, sizeof here.library, "none");
    return here;
}

/* ---- making a tune file ---- */

int tutti_tune_entry_compare(const tutti_tuned_entry *a, const tutti_tuned_entry *b)
{
    const char *const x[] = {a->op, a->shape, a->precision, a->pass, a->candidate}, *const y[] = {b->op, b->shape,
                                                                                                  b->precision, b->pass,
                                                                                                  b->candidate};
    int order = 0;
    for (int i = 0; i < TUTTI_TUNE_WORDS && order == 0; i++) order = strcmp(x[i], y[i]);
    return order;
}

/* Returns the index of the entry, or the index at which it has to be inserted. */
static int find_entry(const tutti_tune_file *f, const tutti_tuned_entry *wanted, bool *found)
{
    int begin = 0, end = f->nentries;
    *found = false;
    while (begin < end && !*found) {
        const int middle = begin + (end - begin) / 2, order = tutti_tune_entry_compare(wanted, &f->entries[middle]);
        *found = order == 0;
        if (order <= 0)
            end = middle;
        else
            begin = middle + 1;
    }
    return *found ? end : begin;
}

void tutti_tune_file_add(tutti_tune_file *f, const tutti_tuned_entry *e)
{
    bool found;
    const int at = find_entry(f, e, &found);
    if (!found) {
        /* the array is full when it has 0, 1, 2, 4, 8, ... entries */
        if ((f->nentries & (f->nentries - 1)) == 0)
            f->entries = tutti_realloc(f->entries, sizeof *e * (size_t)(f->nentries ? 2 * f->nentries : 1));
        memmove(f->entries + at + 1, f->entries + at, sizeof *e * (size_t)(f->nentries - at));
        f->nentries++;
        f->entries[at] = (tutti_tuned_entry){.op = tutti_arena_strdup(&f->arena, e->op),
                                             .shape = tutti_arena_strdup(&f->arena, e->shape),
                                             .precision = tutti_arena_strdup(&f->arena, e->precision),
                                             .pass = tutti_arena_strdup(&f->arena, e->pass),
                                             .candidate = tutti_arena_strdup(&f->arena, e->candidate)};
    }
    f->entries[at].seconds = e->seconds;
}

void tutti_tune_file_add_tree(tutti_tune_file *f, const tutti_tune_tree *t)
{
    int at = 0;
    while (at < f->ntrees && (strcmp(f->tree[at].name, t->name) || strcmp(f->tree[at].precision, t->precision))) at++;
    tutti_tune_tree *own = &f->tree[at];
    if (at == TUTTI_TUNE_TREES) return;
    if (at == f->ntrees) f->ntrees++;
    *own = (tutti_tune_tree){.name = tutti_arena_strdup(&f->arena, t->name),
                             .precision = tutti_arena_strdup(&f->arena, t->precision),
                             .tree = t->tree};
    for (int i = 0; i < t->tree.nways; i++) own->way[i] = tutti_arena_strdup(&f->arena, t->way[i]);
    for (int i = 0; i < t->tree.nfeatures; i++) own->feature[i] = tutti_arena_strdup(&f->arena, t->feature[i]);
}

void tutti_tune_file_release(tutti_tune_file *f)
{
    free(f->entries);
    tutti_arena_release(&f->arena);
    *f = (tutti_tune_file){0};
}

/* ---- printing ---- */

static void print_names(tutti_strbuf *out, const char *before, const char *const *names, int n)
{
    for (int i = 0; i < n; i++) tutti_strbuf_printf(out, "%s%s", i ? "," : before, names[i]);
}

static void print_tree(tutti_strbuf *out, const tutti_tune_tree *t)
{
    tutti_strbuf_printf(out, "tree %s %s ", t->name, t->precision);
    print_names(out, "ways ", t->way, t->tree.nways);
    print_names(out, " features ", t->feature, t->tree.nfeatures);
    tutti_strbuf_puts(out, "\n");
    for (int i = 0; i < t->tree.nnodes; i++) {
        const tutti_tree_node *d = &t->tree.node[i];
        if (d->less < 0) {
            tutti_strbuf_printf(out, "leaf %d %s\n", i, t->way[d->way]);
            continue;
        }
        tutti_strbuf_printf(out, "node %d %s ", i, t->feature[d->feature]);
        tutti_strbuf_add_real(out, d->threshold);
        tutti_strbuf_printf(out, " %d %d\n", (int)d->less, (int)d->more);
    }
}

void tutti_tune_file_seal(tutti_strbuf *text)
{
    char checksum[17];
    tutti_hash_text(tutti_hash(text->text, text->length), checksum);
    tutti_strbuf_printf(text, "%s%s\n", TUTTI_TUNE_CHECKSUM, checksum);
}

void tutti_tune_file_print(tutti_tune_file *f, tutti_strbuf *out)
{
    tutti_strbuf text = {0};
    const tutti_tune_place *p = &f->place;
    tutti_strbuf_printf(&text, "%s%d\n", TUTTI_TUNE_MAGIC, TUTTI_TUNE_VERSION);
    tutti_strbuf_puts(&text, "# Measured by 'tutti tune kernels'; measure again when the processor, the library or "
                             "tutti change. docs/kernels.md\n");
    tutti_strbuf_printf(&text, "processor: %s\n", p->processor.name);
    tutti_strbuf_printf(&text, "caches: %" PRId64 " %" PRId64 " %" PRId64 "\n", p->processor.cache[0],
                        p->processor.cache[1], p->processor.cache[2]);
    tutti_strbuf_printf(&text, "isa: %s\nlibrary: %s\nthreads: %d\n", p->isa, p->library, p->nthreads);
    for (int i = 0; i < f->nentries; i++) {
        const tutti_tuned_entry *e = &f->entries[i];
        tutti_strbuf_printf(&text, "entry %s %s %s %s %s ", e->op, e->shape, e->precision, e->pass, e->candidate);
        tutti_strbuf_add_real(&text, e->seconds);
        tutti_strbuf_puts(&text, "\n");
    }
    for (int i = 0; i < f->ntrees; i++) print_tree(&text, &f->tree[i]);
    f->checksum = tutti_hash(text.text, text.length);
    tutti_tune_file_seal(&text);
    tutti_strbuf_add(out, text.text, text.length);
    tutti_strbuf_release(&text);
}

tutti_status tutti_tune_file_write(tutti_tune_file *f, const char *path, tutti_failure *err)
{
    tutti_strbuf text = {0};
    tutti_tune_file_print(f, &text);
    const tutti_status st = tutti_file_write_atomic(path, text.text, text.length, err);
    tutti_strbuf_release(&text);
    return st;
}

/* ---- reading ---- */

/* Returns the name of the first property in which two places differ, or NULL if they are equal. was, is: the property's
 * two values as texts. */
static const char *difference(const tutti_tune_place *then, const tutti_tune_place *here, char was[160], char is[160])
{
    const tutti_processor *a = &then->processor, *b = &here->processor;
    snprintf(was, 160, "%s", a->name), snprintf(is, 160, "%s", b->name);
    if (strcmp(a->name, b->name)) return "on another processor";
    snprintf(was, 160, "%" PRId64 ", %" PRId64 ", %" PRId64 " bytes", a->cache[0], a->cache[1], a->cache[2]);
    snprintf(is, 160, "%" PRId64 ", %" PRId64 ", %" PRId64 " bytes", b->cache[0], b->cache[1], b->cache[2]);
    if (memcmp(a->cache, b->cache, sizeof a->cache)) return "with other caches";
    snprintf(was, 160, "%s", then->isa), snprintf(is, 160, "%s", here->isa);
    if (strcmp(then->isa, here->isa)) return "with other instructions";
    snprintf(was, 160, "%s", then->library), snprintf(is, 160, "%s", here->library);
    if (strcmp(then->library, here->library)) return "with another library";
    snprintf(was, 160, "%d", then->nthreads), snprintf(is, 160, "%d", here->nthreads);
    return then->nthreads != here->nthreads ? "with other threads a kernel" : NULL;
}

tutti_status tutti_tune_file_check(const char *name, const tutti_tune_file *f, const tutti_tune_place *here,
                                   tutti_failure *err)
{
    char was[160], is[160];
    const char *other = difference(&f->place, here, was, is);
    if (!other) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA,
                      "%s: its times were measured %s: there '%s', here '%s'; measure here with 'tutti tune kernels "
                      "--out FILE', or leave the file out",
                      name, other, was, is);
}

tutti_status tutti_tune_file_open(const char *path, const tutti_tune_place *here, tutti_tune_file *out,
                                  tutti_failure *err)
{
    char *text = NULL;
    size_t nbytes = 0;
    tutti_tune_file f;
    tutti_status st = tutti_file_read(path, TUTTI_TUNE_MAX_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (st) return st;
    st = tutti_tune_file_parse(path, text, nbytes, &f, err);
    free(text);
    if (st) return st;
    st = tutti_tune_file_check(path, &f, here, err);
    if (st)
        tutti_tune_file_release(&f);
    else
        *out = f;
    return st;
}

/* ---- looking up ---- */

double tutti_tune_file_seconds(const tutti_tune_file *f, const char *op, const char *shape, const char *precision,
                               const char *pass, const char *candidate)
{
    const tutti_tuned_entry wanted = {
        .op = op, .shape = shape, .precision = precision, .pass = pass, .candidate = candidate};
    bool found;
    const int at = find_entry(f, &wanted, &found);
    return found ? f->entries[at].seconds : 0;
}

tutti_tuned tutti_tune_file_tuned(const tutti_tune_file *f)
{
    return (tutti_tuned){.entries = f->entries, .n = f->nentries, .hash = f->checksum, .file = f};
}

const tutti_tune_tree *tutti_tune_file_tree(const tutti_tune_file *f, const char *name, const char *precision)
{
    for (int i = 0; i < f->ntrees; i++)
        if (strcmp(f->tree[i].name, name) == 0 && strcmp(f->tree[i].precision, precision) == 0) return &f->tree[i];
    return NULL;
}
