/* SPDX-License-Identifier: Apache-2.0 */
/* frozen.c: freezes parameters: marks those that keep their first value, and finds memory for gradients that no rule
 * uses.
 *
 * Running statistics are never frozen: they are measured, not learned, and keep changing in frozen layers, as with
 * PyTorch's requires_grad = False. A pattern that matches no parameter that could be learned is refused: it was meant
 * for another name. */
#include <stdlib.h>
#include <string.h>

#include "../../base/text/name_pattern.h"
#include "graph_impl.h"

enum { ALIGNMENT = 64 };

static bool could_learn(const tutti_param *p)
{
    return p->layer >= 0 && p->desc.kind != TUTTI_PARAM_STATISTIC;
}

static const char *said(const tutti_graph *g)
{
    return g->config.frozen.said ? g->config.frozen.said : g->model->name;
}

/* Returns the name of the layer or parameter that is spelled most like a pattern without stars. */
static const char *nearest_name(const tutti_graph *g, const char *pattern)
{
    const char **known = tutti_alloc(sizeof *known * (size_t)(g->model->nlayers + g->nparams));
    int n = 0;
    for (int i = 0; i < g->nparams; i++) {
        if (!could_learn(&g->params[i])) continue;
        if (!g->params[i].ordinal) known[n++] = g->model->layers[g->params[i].layer].name;
        known[n++] = g->params[i].name;
    }
    const char *nearest = tutti_options_nearest(pattern, known, n);
    free(known);
    return nearest;
}

static tutti_status match(tutti_graph *g, const char *pattern, bool freezes, tutti_failure *err)
{
    bool fits = false;
    for (int i = 0; i < g->nparams; i++) {
        tutti_param *p = &g->params[i];
        if (!could_learn(p) || !tutti_name_matches(pattern, p->name)) continue;
        p->is_frozen = freezes;
        fits = true;
    }
    if (fits) return TUTTI_OK;
    const char *nearest = nearest_name(g, pattern);
    if (nearest)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' fits no learned parameter of model %s; did you mean '%s'?",
                          said(g), pattern, g->model->name, nearest);
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "%s: '%s' fits no learned parameter of model %s; 'tutti plan JOB' lists their names", said(g),
                      pattern, g->model->name);
}

tutti_status tutti_graph_freeze(tutti_graph *g, tutti_failure *err)
{
    const tutti_texts *patterns = &g->config.frozen.patterns;
    bool could = false;
    for (int i = 0; i < patterns->n; i += 2) {
        const tutti_status st = match(g, patterns->values[i], !strcmp(patterns->values[i + 1], "true"), err);
        if (st) return st;
    }
    for (int i = 0; i < g->nparams; i++) {
        if (tutti_param_is_learned(&g->params[i])) return TUTTI_OK;
        could = could || could_learn(&g->params[i]);
    }
    if (!could) return TUTTI_OK; /* the model has nothing to learn: the caller's message says so */
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "%s: every learned parameter of model %s is frozen: there is nothing to train", said(g),
                      g->model->name);
}

/* ---- gradients that no rule uses ---- */

static int64_t rounded(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool learns_something(const tutti_graph *g, int layer)
{
    for (int i = 0; i < g->nparams; i++)
        if (g->params[i].layer == layer && tutti_param_is_learned(&g->params[i])) return true;
    return false;
}

/* Returns the bytes of the gradients of those of the layer's first nparams parameters that are frozen. */
static int64_t unwanted_bytes(const tutti_graph *g, int layer, int nparams)
{
    int64_t bytes = 0;
    for (int i = 0; i < nparams; i++)
        if (g->params[i].layer == layer && g->params[i].is_frozen)
            bytes += rounded(g->params[i].desc.elements * (int64_t)sizeof(float));
    return bytes;
}

int64_t tutti_graph_unwanted_at(const tutti_graph *g, int p)
{
    const int layer = g->params[p].layer;
    if (!g->params[p].is_frozen || !learns_something(g, layer)) return -1;
    return rounded((int64_t)g->kernels[layer].scratch_bytes) + unwanted_bytes(g, layer, p);
}

size_t tutti_graph_scratch_bytes(const tutti_graph *g, int node)
{
    const tutti_node *n = &g->nodes[node];
    if (n->layer < 0) return 0;
    const size_t own = g->kernels[n->layer].scratch_bytes;
    if (n->kind != TUTTI_NODE_BACKWARD_PARAMS || !learns_something(g, n->layer)) return own;
    const int64_t unwanted = unwanted_bytes(g, n->layer, g->nparams);
    return unwanted ? (size_t)(rounded((int64_t)own) + unwanted) : own;
}
