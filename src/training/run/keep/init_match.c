/* SPDX-License-Identifier: Apache-2.0 */
/* init_match.c: matches tensors of a source with parameters of the model, by name and shape.
 *
 * The longest matching entry of the map renames a tensor, so that the order of entries does not matter; a renamed
 * tensor takes precedence over one that has the name already. A pattern or an entry that matches nothing is refused,
 * because it was meant to match. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/text/name_pattern.h"
#include "../../../base/text/strbuf.h"
#include "init_impl.h"

enum { FEW = 4 };

typedef struct {
    const tutti_init_config *config;
    const tutti_init_wanted *wanted;
    const tutti_init_source *source;
    tutti_init_match *match;
    bool *was_renamed; /* per param: the tensor that it gets was renamed */
    tutti_arena arena;
} matching;

/* ---- messages ---- */

/* Adds the n-th name of a list that names only the first few. */
static void say_name(tutti_strbuf *words, int n, const char *name)
{
    if (n < FEW) tutti_strbuf_printf(words, "%s%s", n ? ", " : "", name);
    if (n == FEW) tutti_strbuf_puts(words, ", ...");
}

static void say_tensors(const tutti_init_source *s, tutti_strbuf *words)
{
    for (int t = 0; t < s->ntensors; t++) say_name(words, t, s->tensors[t].name);
}

static void say_params(const matching *m, tutti_strbuf *words)
{
    int n = 0;
    for (int p = 0; p < m->wanted->nparams; p++)
        if (m->match->is_stored[p]) say_name(words, n++, m->wanted->params[p].name);
}

/* ---- init.skip ---- */

static bool is_skipped(const matching *m, const char *name)
{
    for (int i = 0; i < m->config->skip.n; i++)
        if (tutti_name_matches(m->config->skip.values[i], name)) return true;
    return false;
}

static tutti_status check_patterns(const matching *m, tutti_failure *err)
{
    const tutti_texts *skip = &m->config->skip;
    for (int i = 0; i < skip->n; i++) {
        bool fits = false;
        for (int p = 0; p < m->wanted->nparams && !fits; p++)
            fits = m->match->is_stored[p] && tutti_name_matches(skip->values[i], m->wanted->params[p].name);
        if (fits) continue;
        tutti_strbuf words = {0};
        say_params(m, &words);
        tutti_status st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' fits no tensor of the model (%s)",
                                     m->config->said.skip, skip->values[i], words.text);
        tutti_strbuf_release(&words);
        return st;
    }
    return TUTTI_OK;
}

/* ---- init.map ---- */

/* Returns the length of a name without the dot that may end it. */
static size_t stem(const char *name)
{
    const size_t n = strlen(name);
    return n && name[n - 1] == '.' ? n - 1 : n;
}

/* True if `theirs` is the whole name or the part before one of its dots; *rest: the part after it, "" or "weight". */
static bool fits_entry(const char *theirs, const char *name, const char **rest)
{
    const size_t n = stem(theirs);
    *rest = name;
    if (n == 0) return true;
    if (strncmp(theirs, name, n) != 0 || (name[n] && name[n] != '.')) return false;
    *rest = name[n] ? name + n + 1 : name + n;
    return true;
}

/* Returns the entry of the map that renames `name`, or -1. */
static int entry_of(const tutti_texts *map, const char *name)
{
    const char *rest;
    int best = -1;
    for (int e = 0; e < map->n; e += 2)
        if (fits_entry(map->values[e], name, &rest) && (best < 0 || stem(map->values[e]) > stem(map->values[best])))
            best = e;
    return best;
}

static const char *renamed(matching *m, int entry, const char *name)
{
    const char *ours = m->config->map.values[entry + 1], *rest;
    fits_entry(m->config->map.values[entry], name, &rest);
    const size_t n = stem(ours);
    char *text = tutti_checkpoint_path("%.*s%s%s", (int)n, ours, n && rest[0] ? "." : "", rest);
    const char *kept = tutti_arena_strdup(&m->arena, text);
    free(text);
    return kept;
}

static tutti_status refuse_entry(const matching *m, int entry, bool was_found, tutti_failure *err)
{
    const char *theirs = m->config->map.values[entry], *ours = m->config->map.values[entry + 1];
    tutti_strbuf words = {0};
    if (was_found)
        say_params(m, &words);
    else
        say_tensors(m->source, &words);
    tutti_status st =
        was_found ? tutti_fail(err, TUTTI_ERR_USAGE, "%s: by '%s: %s' no tensor gets a name of the model (%s)",
                               m->config->said.map, theirs, ours, words.text)
                  : tutti_fail(err, TUTTI_ERR_USAGE, "%s: no tensor there is called '%s' or begins with it (%s)",
                               m->config->said.map, theirs, words.text);
    tutti_strbuf_release(&words);
    return st;
}

/* ---- matching ---- */

static int param_of(const matching *m, const char *name)
{
    for (int p = 0; p < m->wanted->nparams; p++)
        if (m->match->is_stored[p] && !strcmp(m->wanted->params[p].name, name)) return p;
    return -1;
}

static tutti_status offer(matching *m, int tensor, int entry, int p, tutti_failure *err)
{
    int *taken = &m->match->tensor_of[p];
    if (*taken >= 0 && entry >= 0 && m->was_renamed[p])
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' and '%s' would both be '%s'", m->config->said.map,
                          m->source->tensors[*taken].name, m->source->tensors[tensor].name, m->wanted->params[p].name);
    if (*taken >= 0 && entry < 0) return TUTTI_OK;
    *taken = tensor;
    m->was_renamed[p] = entry >= 0;
    return TUTTI_OK;
}

/* Offers all tensors to the parameters. is_weights: true for the weights, where every entry of the map must be used. */
static tutti_status offer_all(matching *m, bool is_weights, tutti_failure *err)
{
    const tutti_texts *map = &m->config->map;
    bool *found = TUTTI_ARENA_NEW(&m->arena, bool, map->n + 1), *fits = TUTTI_ARENA_NEW(&m->arena, bool, map->n + 1);
    tutti_status st = TUTTI_OK;
    for (int t = 0; t < m->source->ntensors && !st; t++) {
        const char *name = m->source->tensors[t].name;
        const int entry = entry_of(map, name), p = param_of(m, entry < 0 ? name : renamed(m, entry, name));
        if (entry >= 0) found[entry] = true;
        if (entry >= 0 && p >= 0) fits[entry] = true;
        if (p >= 0 && !is_skipped(m, m->wanted->params[p].name)) st = offer(m, t, entry, p, err);
    }
    for (int e = 0; e < map->n && is_weights && !st; e += 2)
        if (!fits[e]) st = refuse_entry(m, e, found[e], err);
    return st;
}

/* ---- comparing shapes and types ---- */

/* Adds the names of the layers whose tensors do not fit, each once, for "init.skip: [fc]". */
static void say_remedy(const matching *m, const bool *differs, tutti_strbuf *words)
{
    int n = 0;
    const char *before = "";
    for (int p = 0; p < m->wanted->nparams; p++) {
        const char *name = m->wanted->params[p].name, *dot = strrchr(name, '.');
        const int length = dot ? (int)(dot - name) : (int)strlen(name);
        if (!differs[p] || (!strncmp(before, name, (size_t)length) && before[length] == name[length])) continue;
        if (n < FEW) tutti_strbuf_printf(words, "%s%.*s", n ? ", " : "", length, name);
        if (n == FEW) tutti_strbuf_puts(words, ", ...");
        before = name;
        n++;
    }
}

/* Names the tensors whose shape or type differs from the model's. */
static tutti_status check_tensors(matching *m, tutti_failure *err)
{
    const tutti_init_wanted *w = m->wanted;
    bool *differs = TUTTI_ARENA_NEW(&m->arena, bool, w->nparams + 1);
    tutti_strbuf words = {0}, remedy = {0};
    tutti_status st = TUTTI_OK;
    int n = 0;
    for (int p = 0; p < w->nparams; p++) {
        if (m->match->tensor_of[p] < 0) continue;
        const tutti_init_tensor *t = &m->source->tensors[m->match->tensor_of[p]];
        const tutti_shape *shape = &tutti_safetensors_at(t->file, t->at)->shape;
        const bool is_read = tutti_safetensors_widen(t->file, t->at, NULL);
        if (is_read && tutti_shape_equal(shape, &w->params[p].desc.shape)) continue;
        char have[96], want[96], line[400];
        tutti_shape_text(shape, have);
        tutti_shape_text(&w->params[p].desc.shape, want);
        snprintf(line, sizeof line, "'%.120s' is %s, the model's %s", t->name,
                 is_read ? have : tutti_safetensors_type(t->file, t->at),
                 is_read ? want : "is read from F32, F64, F16, BF16");
        say_name(&words, n++, line);
        differs[p] = true;
    }
    if (n) {
        say_remedy(m, differs, &remedy);
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s; 'init.skip: [%s]' lets the model's begin as they are drawn",
                        m->config->said.from, words.text, remedy.text);
    }
    tutti_strbuf_release(&words);
    tutti_strbuf_release(&remedy);
    return st;
}

static tutti_status check_any(const matching *m, tutti_failure *err)
{
    int nskipped = 0;
    if (m->match->nloaded) return TUTTI_OK;
    for (int p = 0; p < m->wanted->nparams; p++)
        nskipped += m->match->is_stored[p] && is_skipped(m, m->wanted->params[p].name);
    if (nskipped == m->match->nstored)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: leaves nothing to be loaded", m->config->said.skip);
    tutti_strbuf theirs = {0}, ours = {0};
    say_tensors(m->source, &theirs);
    say_params(m, &ours);
    tutti_status st = tutti_fail(err, TUTTI_ERR_USAGE,
                                 "%s: no tensor there has a name of the model: it has %s, the model %s; init.map gives "
                                 "other names",
                                 m->config->said.from, theirs.text ? theirs.text : "none", ours.text);
    tutti_strbuf_release(&theirs);
    tutti_strbuf_release(&ours);
    return st;
}

static void count(matching *m)
{
    tutti_init_match *x = m->match;
    for (int p = 0; p < m->wanted->nparams; p++) {
        x->nstored += x->is_stored[p];
        if (x->tensor_of[p] < 0) continue;
        const tutti_init_tensor *t = &m->source->tensors[x->tensor_of[p]];
        x->is_taken[x->tensor_of[p]] = true;
        x->nloaded++;
        const bool is_double = !strcmp(tutti_safetensors_type(t->file, t->at), "F64");
        x->nnarrowed += is_double;
        x->nconverted += !is_double && strcmp(tutti_safetensors_type(t->file, t->at), "F32") != 0;
    }
}

tutti_status tutti_init_match_make(const tutti_init_config *config, const tutti_init_wanted *wanted,
                                   const tutti_init_source *source, const tutti_init_match *like, tutti_init_match *out,
                                   tutti_failure *err)
{
    const size_t n = (size_t)wanted->nparams + 1;
    matching m = {.config = config, .wanted = wanted, .source = source, .match = out};
    *out = (tutti_init_match){.tensor_of = tutti_alloc(n * sizeof(int)),
                              .is_stored = tutti_alloc(n),
                              .is_taken = tutti_alloc((size_t)source->ntensors + 1)};
    m.was_renamed = TUTTI_ARENA_NEW(&m.arena, bool, wanted->nparams + 1);
    for (int p = 0; p < wanted->nparams; p++) {
        out->tensor_of[p] = TUTTI_INIT_FRESH;
        out->is_stored[p] = tutti_checkpoint_stores(&wanted->params[p], like != NULL);
    }
    tutti_status st = like ? TUTTI_OK : check_patterns(&m, err);
    if (!st) st = offer_all(&m, !like, err);
    for (int p = 0; like && p < wanted->nparams; p++)
        if (like->tensor_of[p] < 0) out->tensor_of[p] = TUTTI_INIT_FRESH;
    if (!st) st = check_tensors(&m, err);
    if (!st) count(&m);
    if (!st && !like) st = check_any(&m, err);
    tutti_arena_release(&m.arena);
    return st;
}

void tutti_init_match_release(tutti_init_match *m)
{
    free(m->tensor_of);
    free(m->is_stored);
    free(m->is_taken);
    *m = (tutti_init_match){0};
}
