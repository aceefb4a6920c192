/* SPDX-License-Identifier: Apache-2.0 */
/* framework.c: reads files of frameworks (such as PyTorch DDP), and models their steps and the gap between two. */
#include "framework.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../base/text/options.h"

enum { MAX_BYTES = 1 << 16 };
extern const tutti_embedded_text tutti_shipped_frameworks[]; /* the files of frameworks in this repository, which the
                                                              * build embeds */

const char *tutti_framework_shipped_at(int i)
{
    for (int n = 0; tutti_shipped_frameworks[n].name; n++)
        if (n == i) return tutti_shipped_frameworks[n].name;
    return NULL;
}

/* ---- keys of a framework's file ---- */

typedef enum { NUMBER, ANSWER, WORD, BUCKETS, UPDATE } kind;

static const struct {
    const char *key;
    kind kind;
    const char *unit;
    size_t offset;
    bool is_wanted;
} keys[] = {
    {"overlap.read", ANSWER, NULL, offsetof(tutti_framework, overlaps_read), true},
    {"overlap.copy", ANSWER, NULL, offsetof(tutti_framework, overlaps_copy), true},
    {"overlap.exchange", ANSWER, NULL, offsetof(tutti_framework, overlaps_exchange), true},
    {"exchange", WORD, NULL, offsetof(tutti_framework, algorithm), true},
    {"buckets", BUCKETS, NULL, offsetof(tutti_framework, buckets), true},
    {"update", UPDATE, NULL, offsetof(tutti_framework, update), true},
    {"bucket", NUMBER, "B", offsetof(tutti_framework, bucket_bytes), false},
    {"transport", NUMBER, "", offsetof(tutti_framework, transport), true},
    {"transport.most", NUMBER, "B/s", offsetof(tutti_framework, most_bytes_per_s), false},
    {"message", NUMBER, "s", offsetof(tutti_framework, message_s), true},
    {"checked", NUMBER, "B/s", offsetof(tutti_framework, checked_bytes_per_s), false},
    {"read", NUMBER, "B/s", offsetof(tutti_framework, read_bytes_per_s), true},
    {"copy", NUMBER, "B/s", offsetof(tutti_framework, copy_bytes_per_s), true},
};
enum { NKEYS = sizeof keys / sizeof keys[0] };

static tutti_status refuse(const tutti_framework *f, const tutti_sourced_line *l, const char *wanted,
                           tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: %s is '%.40s'; wanted %s", f->file.name, l->line, l->key,
                      l->value, wanted);
}

/* Reads a number with a unit, "25MiB", or the name of another number. */
static tutti_status number_take(const tutti_framework *f, const tutti_sourced_line *l, const char *unit, double *out,
                                tutti_failure *err)
{
    char *end;
    const double mebibytes = strtod(l->value, &end);
    if (strcmp(end, "MiB") != 0 || strcmp(unit, "B") != 0) return tutti_sourced_number(&f->file, l, unit, out, err);
    if (!(mebibytes > 0 && mebibytes < 1e6)) return refuse(f, l, "a size such as 25MiB", err);
    *out = mebibytes * 1048576;
    return TUTTI_OK;
}

static bool is_bucket_rule(const char *word)
{
    static const char *const known[] = {"size", "auto", "soonest", "layer", "one"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], word) == 0) return true;
    return false;
}

static tutti_status line_take(tutti_framework *f, const tutti_sourced_line *l, int k, tutti_failure *err)
{
    void *at = (char *)f + keys[k].offset;
    switch (keys[k].kind) {
    case NUMBER: return number_take(f, l, keys[k].unit, at, err);
    case ANSWER:
        *(bool *)at = strcmp(l->value, "yes") == 0;
        return *(bool *)at || strcmp(l->value, "no") == 0 ? TUTTI_OK : refuse(f, l, "yes or no", err);
    case BUCKETS:
        if (!is_bucket_rule(l->value)) return refuse(f, l, "size, auto, soonest, layer or one", err);
        break;
    case UPDATE:
        if (strcmp(l->value, "sharded") != 0 && strcmp(l->value, "replicated") != 0 && strcmp(l->value, "auto") != 0)
            return refuse(f, l, "sharded, replicated or auto", err);
        break;
    case WORD: break;
    }
    if (strlen(l->value) > 40) return refuse(f, l, "a name of up to 40 letters", err);
    *(const char **)at = l->value;
    return TUTTI_OK;
}

static tutti_status lines_take(tutti_framework *f, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < f->file.n && !st; i++) {
        const tutti_sourced_line *l = &f->file.lines[i];
        int k = 0;
        while (k < NKEYS && strcmp(keys[k].key, l->key) != 0) k++;
        if (!l->from && strcmp(l->key, "about") == 0)
            f->about = l->value;
        else if (!l->from || k == NKEYS)
            st =
                tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: no framework has '%.40s'; docs/devices.md lists the keys",
                           f->file.name, l->line, l->key);
        else
            st = line_take(f, l, k, err);
    }
    return st;
}

static tutti_status whole_check(const tutti_framework *f, tutti_failure *err)
{
    for (int k = 0; k < NKEYS; k++)
        if (keys[k].is_wanted && !tutti_sourced_get(&f->file, keys[k].key))
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: no line '%s'", f->file.name, keys[k].key);
    if (f->read_bytes_per_s <= 0 || f->copy_bytes_per_s <= 0 || f->transport <= 0 || f->transport > 1)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: read and copy are above 0, transport above 0 and at most 1",
                          f->file.name);
    return TUTTI_OK;
}

tutti_status tutti_framework_parse(const char *name, const char *text, tutti_framework *out, tutti_failure *err)
{
    tutti_framework f = {.about = ""};
    tutti_status st = tutti_sourced_parse(name, text, &f.file, err);
    if (st) return st;
    st = lines_take(&f, err);
    if (!st) st = whole_check(&f, err);
    if (st)
        tutti_sourced_release(&f.file);
    else
        *out = f;
    return st;
}

tutti_status tutti_framework_open(const char *name, tutti_framework *out, tutti_failure *err)
{
    const char *shipped = tutti_embedded_find(tutti_shipped_frameworks, name);
    char *text = NULL;
    size_t nbytes = 0;
    if (shipped) return tutti_framework_parse(name, shipped, out, err);
    if (!strpbrk(name, "/.")) {
        char *names = tutti_embedded_names(tutti_shipped_frameworks);
        tutti_fail(err, TUTTI_ERR_USAGE,
                   "no framework '%.60s'; there are %s, and files (their names have a '/' or a '.')", name, names);
        free(names);
        return TUTTI_ERR_USAGE;
    }
    tutti_status st = tutti_file_read(name, MAX_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (st) return st;
    if (strlen(text) != nbytes) st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no text: it has bytes of value 0", name);
    if (!st) st = tutti_framework_parse(name, text, out, err);
    free(text);
    return st;
}

void tutti_framework_release(tutti_framework *f)
{
    tutti_sourced_release(&f->file);
    *f = (tutti_framework){0};
}

/* ---- a framework's step: the overrides of the job, and what is added to its prediction ---- */

int tutti_framework_overrides(const tutti_framework *f, tutti_framework_sets space)
{
    int n = 0;
    snprintf(space[n++], sizeof space[0], "exchange.algorithm=%s", f->algorithm);
    snprintf(space[n++], sizeof space[0], "exchange.buckets=%s", f->buckets);
    snprintf(space[n++], sizeof space[0], "exchange.update=%s", f->update);
    if (strcmp(f->buckets, "auto") != 0) { /* order and update_when are fixed as well, unless buckets are auto: then the
                                            * choice sets all of these keys */
        snprintf(space[n++], sizeof space[0], "exchange.order=ready");
        snprintf(space[n++], sizeof space[0], "exchange.update_when=late");
    }
    if (f->bucket_bytes > 0) snprintf(space[n++], sizeof space[0], "exchange.bucket_bytes=%.0f", f->bucket_bytes);
    return n;
}

static tutti_figure rate_of(const tutti_topology *t)
{
    return t->figure[TUTTI_FIGURE_NIC] > 0 ? TUTTI_FIGURE_NIC : TUTTI_FIGURE_BANDWIDTH;
}

void tutti_framework_guard(const tutti_framework *f, const tutti_topology *t, char out[TUTTI_FRAMEWORK_GUARD])
{
    const double rate = t->figure[rate_of(t)], checked = f->checked_bytes_per_s;
    out[0] = '\0';
    if (t->kind == TUTTI_TOPOLOGY_HOST || (checked > 0 && rate <= checked * 1.01)) return;
    if (checked > 0)
        snprintf(
            out, TUTTI_FRAMEWORK_GUARD,
            "Unguarded: steps of %.60s were held against published ones on networks of up to %.2f GB/s, not of %.2f.",
            f->file.name, checked / 1e9, rate / 1e9);
    else
        snprintf(out, TUTTI_FRAMEWORK_GUARD, "Unguarded: steps of %.60s were never held against published ones.",
                 f->file.name);
}

void tutti_framework_slow_down(const tutti_framework *f, tutti_topology *t)
{
    const tutti_figure rate = rate_of(t);
    t->figure[rate] *= f->transport;
    if (f->most_bytes_per_s > 0) t->figure[rate] = fmin(t->figure[rate], f->most_bytes_per_s);
    t->figure[TUTTI_FIGURE_LATENCY] += f->message_s;
}

void tutti_framework_apply(const tutti_framework *f, double bytes, tutti_prediction *p)
{
    const double read_s = bytes / f->read_bytes_per_s, copy_s = bytes / f->copy_bytes_per_s;
    const double samples = p->samples_per_s * p->step_s, step_s = f->overlaps_exchange ? p->step_s : p->upper_s;
    const double in_step_s = (f->overlaps_read ? 0 : read_s) + (f->overlaps_copy ? 0 : copy_s);
    const double beside_s = (f->overlaps_read ? read_s : 0) + (f->overlaps_copy ? copy_s : 0);
    p->exposed_s = fmax(0, step_s - p->compute_s);
    p->step_s = fmax(step_s + in_step_s, beside_s);
    p->lower_s = fmax(p->lower_s + in_step_s, beside_s);
    p->upper_s += read_s + copy_s;
    p->samples_per_s = samples / p->step_s;
}

/* ---- the gap between the steps of two frameworks ---- */

static const struct {
    const char *name, *meaning;
} factors[TUTTI_NFACTORS] = {
    [TUTTI_FACTOR_EXCHANGE] = {"exchange", "which algorithm, what travels together, who updates"},
    [TUTTI_FACTOR_TRANSPORT] = {"transport", "what of the network's rate it reaches, work for a message"},
    [TUTTI_FACTOR_OVERLAP] = {"overlap", "exchanges beside the backward pass or behind it"},
    [TUTTI_FACTOR_INPUT] = {"input", "reading and copying samples, ahead or in the step"},
};

const char *tutti_factor_name(tutti_factor factor)
{
    return factors[factor].name;
}

const char *tutti_factor_meaning(tutti_factor factor)
{
    return factors[factor].meaning;
}

void tutti_framework_turn(tutti_framework *f, const tutti_framework *to, tutti_factor factor)
{
    switch (factor) {
    case TUTTI_FACTOR_EXCHANGE:
        f->algorithm = to->algorithm;
        f->buckets = to->buckets;
        f->update = to->update;
        f->bucket_bytes = to->bucket_bytes;
        break;
    case TUTTI_FACTOR_TRANSPORT:
        f->transport = to->transport;
        f->most_bytes_per_s = to->most_bytes_per_s;
        f->message_s = to->message_s;
        break;
    case TUTTI_FACTOR_OVERLAP: f->overlaps_exchange = to->overlaps_exchange; break;
    case TUTTI_FACTOR_INPUT:
        f->overlaps_read = to->overlaps_read;
        f->overlaps_copy = to->overlaps_copy;
        f->read_bytes_per_s = to->read_bytes_per_s;
        f->copy_bytes_per_s = to->copy_bytes_per_s;
        break;
    case TUTTI_NFACTORS: break;
    }
}

int64_t tutti_framework_gap(const double step_s[TUTTI_NFACTORS + 1], int64_t part_ns[TUTTI_NFACTORS])
{
    for (int i = 0; i < TUTTI_NFACTORS; i++) part_ns[i] = llround(step_s[i + 1] * 1e9) - llround(step_s[i] * 1e9);
    return llround(step_s[TUTTI_NFACTORS] * 1e9) - llround(step_s[0] * 1e9);
}
