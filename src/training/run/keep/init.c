/* SPDX-License-Identifier: Apache-2.0 */
/* init.c: initial weights from elsewhere (the key `init`): finds them, compares them with the model, and fills vectors
 * with them.
 *
 * The rule's states are separate files of a checkpoint, under the names that the rule gives them. Only these names say
 * which rule they belong to, so two rules with states of the same names may continue with each other's states. */
#include "init.h"

#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/file.h"
#include "../../../base/hash.h"
#include "../../../base/text/name_pattern.h"
#include "../../../base/text/strbuf.h"
#include "init_impl.h"

enum { WEIGHTS, MAX_VECTORS = TUTTI_RULE_MAX_STATES + 1, FEW = 3 };

struct tutti_init {
    tutti_init_config config;
    const tutti_init_wanted *wanted;
    char *path, *notes;
    int nvectors; /* number of vectors: the weights, then the states in the rule's order */
    tutti_init_source source[MAX_VECTORS];
    tutti_init_match match[MAX_VECTORS];
    int64_t nupdates;
};

/* ---- finding the source ---- */

static bool ends_with(const char *text, const char *ending)
{
    const size_t n = strlen(text), m = strlen(ending);
    return n >= m && !strcmp(text + n - m, ending);
}

static tutti_status find_newest(tutti_init *x, const char *dir, tutti_failure *err)
{
    tutti_status st = tutti_checkpoint_newest_told(dir, x->config.headway, &x->path, &x->notes, err);
    if (st || x->path) return st;
    if (x->notes) return tutti_fail(err, TUTTI_ERR_DATA, "%s: none of its checkpoints is whole: %s", dir, x->notes);
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "%s: is a folder, but neither a checkpoint nor a run's with one; name a .safetensors file in it",
                      dir);
}

static tutti_status read_weights(tutti_init *x, const char *from, tutti_failure *err)
{
    tutti_init_source *s = &x->source[WEIGHTS];
    x->nvectors = 1;
    s->headway = x->config.headway;
    if (!tutti_file_is_folder(from)) {
        x->path = strdup(from);
        return ends_with(from, ".index.json") ? tutti_init_source_read_index(from, s, err)
                                              : tutti_init_source_read(from, s, err);
    }
    tutti_status st = TUTTI_OK;
    if (tutti_checkpoint_is(from)) {
        x->path = strdup(from);
        st = tutti_checkpoint_verify_told(from, x->config.headway, err);
    } else {
        st = find_newest(x, from, err);
    }
    return st ? st : tutti_init_source_read_checkpoint(x->path, TUTTI_WEIGHTS_FILE, s, err);
}

/* ---- states of the rule ---- */

/* Lists the states that a checkpoint holds once, for all ranks, "exp_avg, exp_avg_sq"; *nown: number of files of single
 * ranks. */
static void list_states(const tutti_manifest *m, tutti_strbuf *names, int *nown)
{
    for (int f = 0; f < m->nfiles; f++) {
        const char *name = m->files[f].name, *dot = strchr(name, '.');
        if (!ends_with(name, ".safetensors") || !strcmp(name, TUTTI_WEIGHTS_FILE)) continue;
        *nown += strchr(name, '@') != NULL;
        if (!strchr(name, '@'))
            tutti_strbuf_printf(names, "%s%.*s", names->length ? ", " : "", (int)(dot - name), name);
    }
}

static bool holds(const tutti_manifest *m, const char *state)
{
    for (int f = 0; f < m->nfiles; f++)
        if (!strncmp(m->files[f].name, state, strlen(state)) &&
            !strcmp(m->files[f].name + strlen(state), ".safetensors"))
            return true;
    return false;
}

static tutti_status check_states(const tutti_init *x, const tutti_manifest *m, tutti_failure *err)
{
    const tutti_init_wanted *w = x->wanted;
    tutti_strbuf have = {0}, want = {0};
    int nheld = 0, nown = 0;
    list_states(m, &have, &nown);
    for (int s = 0; s < w->nstates; s++) {
        nheld += holds(m, w->states[s]);
        tutti_strbuf_printf(&want, "%s%s", s ? ", " : "", w->states[s]);
    }
    tutti_status st = TUTTI_OK;
    if (!w->nstates)
        st =
            tutti_fail(err, TUTTI_ERR_USAGE, "%s: this job's rule keeps no states: leave it out", x->config.said.state);
    else if (nheld < w->nstates && nown && !have.length)
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "%s: %s holds each rank's own states, which no other run can share: leave it out",
                        x->config.said.state, x->path);
    else if (nheld < w->nstates)
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "%s: this job's rule keeps %s, %s holds %s: leave it out, or take that rule",
                        x->config.said.state, want.text, x->path, have.length ? have.text : "no states");
    tutti_strbuf_release(&have);
    tutti_strbuf_release(&want);
    return st;
}

static tutti_status read_states(tutti_init *x, tutti_failure *err)
{
    tutti_manifest m;
    if (!tutti_file_is_folder(x->path))
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s holds weights alone; a checkpoint or a run's folder has states",
                          x->config.said.state, x->path);
    tutti_status st = tutti_manifest_read(x->path, &m, err);
    if (!st) st = check_states(x, &m, err);
    for (int s = 0; s < x->wanted->nstates && !st; s++) {
        char *file = tutti_checkpoint_path("%s.safetensors", x->wanted->states[s]);
        x->source[x->nvectors].headway = x->config.headway;
        st = tutti_init_source_read_checkpoint(x->path, file, &x->source[x->nvectors++], err);
        free(file);
    }
    if (!st) x->nupdates = m.earlier_updates + m.step - m.scale.skipped;
    return st;
}

/* ---- opening the source ---- */

/* Puts the place of the key `init.from` before a message that does not begin with any key's place: such a message is
 * about the source. */
static tutti_status blame(const tutti_init_config *c, tutti_status st, tutti_failure *err)
{
    const char *said[] = {c->said.from, c->said.skip, c->said.map, c->said.state};
    if (!err) return st;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strncmp(err->text, said[i], strlen(said[i]))) return st;
    tutti_fail_at(err, "%s", c->said.from);
    return st;
}

static const tutti_init_tensor *tensor_of(const tutti_init *x, int vector, int p)
{
    const int t = x->match[vector].tensor_of[p];
    return t < 0 ? NULL : &x->source[vector].tensors[t];
}

static float *widened(const tutti_init *x, const tutti_init_tensor *t, int p)
{
    float *plain = tutti_alloc((size_t)x->wanted->params[p].count * sizeof(float));
    tutti_safetensors_widen(t->file, t->at, plain);
    return plain;
}

/* Fails if an element is not finite: one such element would soon make all weights so. */
static tutti_status check_finite(const tutti_init *x, int vector, tutti_failure *err)
{
    for (int p = 0; p < x->wanted->nparams; p++) {
        const tutti_init_tensor *t = tensor_of(x, vector, p);
        if (!t) continue;
        float *plain = widened(x, t, p);
        const bool good = tutti_all_finite(plain, x->wanted->params[p].count);
        free(plain);
        if (!good)
            return tutti_fail(err, TUTTI_ERR_DATA,
                              "%s: tensor '%s'%s%s holds NaN or infinite numbers (or doubles too large for f32): a "
                              "run cannot begin at it; take another source, or 'init.skip: [\"%s\"]'",
                              x->path, t->name, vector == WEIGHTS ? "" : " of ",
                              vector == WEIGHTS ? "" : x->wanted->states[vector - 1], x->wanted->params[p].name);
    }
    return TUTTI_OK;
}

tutti_status tutti_init_open(const tutti_init_config *config, const tutti_init_wanted *wanted, tutti_init **out,
                             tutti_failure *err)
{
    tutti_init *x = tutti_alloc(sizeof *x);
    x->config = *config;
    x->wanted = wanted;
    tutti_status st = read_weights(x, config->from, err);
    if (!st && config->takes_states) st = read_states(x, err);
    for (int v = WEIGHTS; v < x->nvectors && !st; v++)
        st = tutti_init_match_make(config, wanted, &x->source[v], v == WEIGHTS ? NULL : &x->match[WEIGHTS],
                                   &x->match[v], err);
    for (int v = WEIGHTS; v < x->nvectors && !st; v++) st = check_finite(x, v, err);
    if (st) {
        tutti_init_destroy(x);
        return blame(config, st, err);
    }
    *out = x;
    return TUTTI_OK;
}

const char *tutti_init_path(const tutti_init *x)
{
    return x->path;
}

const char *tutti_init_notes(const tutti_init *x)
{
    return x->notes;
}

int64_t tutti_init_updates(const tutti_init *x)
{
    return x->nupdates;
}

void tutti_init_fill(const tutti_init *x, const char *vector, const int64_t *offset, float *values)
{
    int v = WEIGHTS;
    for (int s = 0; s < x->wanted->nstates && vector; s++)
        if (!strcmp(x->wanted->states[s], vector)) v = s + 1;
    if ((vector && v == WEIGHTS) || v >= x->nvectors) return;
    for (int p = 0; p < x->wanted->nparams; p++) {
        const tutti_init_tensor *t = tensor_of(x, v, p);
        if (!t) continue;
        (void)tutti_headway_tell(x->config.headway, 0, 0);
        float *plain = widened(x, t, p);
        tutti_param_from_plain(&x->wanted->params[p].desc, plain, values + offset[p]);
        free(plain);
    }
}

uint64_t tutti_init_hash(const tutti_init *x)
{
    tutti_hasher *h = tutti_hasher_create();
    for (int v = WEIGHTS; v < x->nvectors; v++)
        for (int p = 0; p < x->wanted->nparams; p++) {
            const tutti_init_tensor *t = tensor_of(x, v, p);
            size_t nbytes;
            if (!t) continue;
            (void)tutti_headway_tell(x->config.headway, 0, 0);
            const char *type = tutti_safetensors_type(t->file, t->at);
            tutti_hasher_add(h, x->wanted->params[p].name, strlen(x->wanted->params[p].name) + 1);
            tutti_hasher_add(h, type, strlen(type) + 1);
            const void *bytes = tutti_safetensors_bytes(t->file, t->at, &nbytes);
            tutti_hasher_add(h, bytes, nbytes);
        }
    tutti_hasher_add(h, &x->nupdates, sizeof x->nupdates);
    return tutti_hasher_finish(h);
}

const char *tutti_init_missing(const tutti_init *x)
{
    const tutti_init_match *m = &x->match[WEIGHTS];
    for (int p = 0; p < x->wanted->nparams; p++) {
        const char *name = x->wanted->params[p].name;
        bool skipped = !m->is_stored[p] || m->tensor_of[p] >= 0;
        for (int i = 0; i < x->config.skip.n && !skipped; i++)
            skipped = tutti_name_matches(x->config.skip.values[i], name);
        if (!skipped) return name;
    }
    return NULL;
}

/* ---- messages ---- */

/* Adds the n-th name to a list such as " (fc.weight, fc.bias)". */
static void say_few(tutti_strbuf *out, int n, const char *name)
{
    if (n < FEW) tutti_strbuf_printf(out, "%s%s", n ? ", " : " (", name);
}

static void end_few(tutti_strbuf *out, int n)
{
    if (n > FEW) tutti_strbuf_printf(out, ", and %d more", n - FEW);
    if (n) tutti_strbuf_puts(out, ")");
}

char *tutti_init_summary(const tutti_init *x)
{
    const tutti_init_match *m = &x->match[WEIGHTS];
    const tutti_init_source *s = &x->source[WEIGHTS];
    const int nfresh = m->nstored - m->nloaded, nskipped = s->ntensors - m->nloaded + s->nunlisted;
    tutti_strbuf out = {0};
    int n = 0;
    tutti_strbuf_printf(&out, "init %s: %d of %d tensors loaded", x->path, m->nloaded, m->nstored);
    if (m->nconverted) tutti_strbuf_printf(&out, " (%d from 16 bits)", m->nconverted);
    if (m->nnarrowed) tutti_strbuf_printf(&out, " (%d from 64 bits)", m->nnarrowed);
    if (x->nvectors > 1) tutti_strbuf_puts(&out, " with their states");
    tutti_strbuf_printf(&out, ", %d fresh", nfresh);
    for (int p = 0; p < x->wanted->nparams; p++)
        if (m->is_stored[p] && m->tensor_of[p] < 0) say_few(&out, n++, x->wanted->params[p].name);
    end_few(&out, n);
    tutti_strbuf_printf(&out, ", %d skipped", nskipped);
    n = 0;
    for (int t = 0; t < s->ntensors; t++)
        if (!m->is_taken[t]) say_few(&out, n++, s->tensors[t].name);
    end_few(&out, n);
    return tutti_strbuf_detach(&out);
}

char *tutti_init_list(const tutti_init *x, const char *before)
{
    const tutti_init_match *m = &x->match[WEIGHTS];
    const tutti_init_source *s = &x->source[WEIGHTS];
    tutti_strbuf out = {0};
    for (int p = 0; p < x->wanted->nparams; p++) {
        const char *name = x->wanted->params[p].name;
        const tutti_init_tensor *t = tensor_of(x, WEIGHTS, p);
        if (!m->is_stored[p]) continue;
        tutti_strbuf_printf(&out, "%s%-8s %s", before, t ? "loaded" : "fresh", name);
        if (t && strcmp(t->name, name) != 0) tutti_strbuf_printf(&out, " <- %s", t->name);
        if (t) tutti_strbuf_printf(&out, "  %s", tutti_safetensors_type(t->file, t->at));
        tutti_strbuf_puts(&out, "\n");
    }
    for (int i = 0; i < s->ntensors; i++)
        if (!m->is_taken[i]) tutti_strbuf_printf(&out, "%s%-8s %s\n", before, "skipped", s->tensors[i].name);
    return tutti_strbuf_detach(&out);
}

void tutti_init_destroy(tutti_init *x)
{
    if (!x) return;
    for (int v = 0; v < MAX_VECTORS; v++) {
        tutti_init_match_release(&x->match[v]);
        tutti_init_source_release(&x->source[v]);
    }
    free(x->path);
    free(x->notes);
    free(x);
}
