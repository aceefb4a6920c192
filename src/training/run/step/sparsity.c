/* SPDX-License-Identifier: Apache-2.0 */
/* sparsity.c: counts the zeros of each ReLU while a test set runs. */
#include "sparsity.h"

#include <stdlib.h>
#include <string.h>

#include "step_work.h"

static bool is_counted(const tutti_relus *relus, int layer)
{
    bool found = false;
    for (int i = 0; i < relus->n; i++) found = found || relus->relus[i].layer == layer;
    return found;
}

/* False for auxiliary heads, which a test does not compute. */
static bool is_computed(const tutti_graph *g, int layer)
{
    bool found = false;
    for (int i = 0; i < g->nnodes; i++) found = found || g->nodes[i].layer == layer;
    return found;
}

void tutti_relus_find(const tutti_graph *g, tutti_arena *arena, tutti_relus *out)
{
    const tutti_model *m = g->model;
    *out = (tutti_relus){.relus = TUTTI_ARENA_NEW(arena, tutti_relu, m->nlayers)};
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *layer = &m->layers[l];
        const char *name = tutti_layer_relu(layer);
        const tutti_shape *shape = &g->kernels[l].out.shape;
        bool keeps = layer->op->keeps_zeros;
        for (int i = 0; i < layer->nin; i++) keeps = keeps && layer->in[i] >= 0 && is_counted(out, layer->in[i]);
        if ((name || keeps) && is_computed(g, l))
            out->relus[out->n++] = (tutti_relu){name, l, tutti_shape_count(shape) / shape->dim[0]};
    }
}

tutti_event tutti_relus_count(const tutti_relus *relus, int layer, const tutti_kernel_work *pass, int64_t *zeros,
                              const tutti_device *d)
{
    tutti_event last = {0};
    for (int i = 0; i < relus->n; i++) {
        const tutti_zeros_work w = {&pass->kernel->out, pass->args.out, &zeros[i]};
        if (relus->relus[i].layer == layer) last = tutti_work_launch(d, TUTTI_WORK_ZEROS, &w);
    }
    return last;
}

/* Returns the fraction of a layer's output that is zero; 0 if it was not counted. */
static double sparsity_of(const tutti_relus *relus, const int64_t *zeros, int64_t nsamples, int layer)
{
    for (int i = 0; i < relus->n; i++)
        if (relus->relus[i].layer == layer) return (double)zeros[i] / (double)(nsamples * relus->relus[i].elements);
    return 0;
}

/* Returns a lower bound of the fraction of zeros in the gradient of a layer's output. A merged ReLU masks the gradient.
 * If only max pools read the output, each of their outputs that is not zero leaves at most one gradient that is not
 * zero. */
static double gradient_sparsity(const tutti_relus *relus, const int64_t *zeros, int64_t nsamples, const tutti_graph *g,
                                int layer)
{
    const tutti_model *m = g->model;
    const double own = sparsity_of(relus, zeros, nsamples, layer);
    double left = 0;
    if (!tutti_graph_is_pooled(m, layer)) return own;
    for (int r = layer + 1; r < m->nlayers; r++) {
        if (m->layers[r].in[0] != layer) continue;
        left += (1 - sparsity_of(relus, zeros, nsamples, r)) * (double)tutti_shape_count(&g->kernels[r].out.shape);
    }
    const double pooled = 1 - left / (double)tutti_shape_count(&g->kernels[layer].out.shape);
    return pooled > own ? pooled : own;
}

static void say(const tutti_graph *g, tutti_strbuf *words)
{
    tutti_strbuf_puts(words, "convolutions that skip zeros:");
    const size_t none = words->length;
    for (int l = 0; l < g->model->nlayers; l++) {
        const unsigned passes = tutti_sparse_passes(&g->kernels[l]);
        if (!passes) continue;
        tutti_strbuf_printf(words, "%s %s (", words->length == none ? "" : ",", g->model->layers[l].name);
        for (int pass = 0, said = 0; pass < TUTTI_NPASSES; pass++)
            if (passes >> pass & 1)
                tutti_strbuf_printf(
                    words, "%s%s%s", said++ ? ", " : "", tutti_kernel_pass_name((tutti_kernel_pass)pass),
                    pass == TUTTI_PASS_PARAMS && passes & TUTTI_SPARSE_BY_GRADIENT ? " by gradient" : "");
        tutti_strbuf_puts(words, ")");
    }
    if (words->length == none) tutti_strbuf_puts(words, " none");
}

/* Returns the passes of a layer that are run, as a bit set. */
static unsigned runs_of(const tutti_graph *g, int layer)
{
    unsigned passes = 1u << TUTTI_PASS_FORWARD;
    if (g->runs_params[layer]) passes |= 1u << TUTTI_PASS_PARAMS | TUTTI_SPARSE_BY_GRADIENT;
    if (g->needs_input_grad[layer]) passes |= 1u << TUTTI_PASS_DATA;
    return passes;
}

void tutti_relus_begin(const tutti_graph *g, tutti_strbuf *words)
{
    const tutti_relus none = {.n = 0};
    tutti_relus_decide(&none, NULL, 0, g, words);
}

void tutti_relus_decide(const tutti_relus *relus, const int64_t *zeros, int64_t nsamples, const tutti_graph *g,
                        tutti_strbuf *words)
{
    bool changed = false;
    for (int l = 0; l < g->model->nlayers; l++) {
        tutti_kernel *k = &g->kernels[l];
        if (!tutti_sparse_is_switch(k)) continue;
        const double input = sparsity_of(relus, zeros, nsamples, g->model->layers[l].in[0]),
                     gradient = gradient_sparsity(relus, zeros, nsamples, g, l);
        const unsigned passes = runs_of(g, l) & tutti_sparse_rule(k, input, gradient);
        changed = changed || passes != tutti_sparse_passes(k);
        tutti_sparse_set_passes(k, passes);
    }
    if (changed) say(g, words);
}

static const char digits[] = "0123456789abcdef";

void tutti_relus_skips(const tutti_graph *g, char *out, size_t room)
{
    size_t n = 0;
    for (int l = 0; l < g->model->nlayers && (size_t)l < room - 1; l++) {
        out[l] = digits[tutti_sparse_passes(&g->kernels[l])];
        if (out[l] != '0') n = (size_t)l + 1;
    }
    out[n] = '\0';
}

/* Returns the passes that a hexadecimal digit stands for, as a bit set; 16 if the digit is invalid. Skipping zeros of
 * the gradient is valid only together with the pass `params`. */
static unsigned read_passes(char digit)
{
    const char *at = digit ? strchr(digits, digit) : NULL;
    const unsigned passes = at ? (unsigned)(at - digits) : 16, params = 1u << TUTTI_PASS_PARAMS;
    return passes & TUTTI_SPARSE_BY_GRADIENT && !(passes & params) ? 16 : passes;
}

bool tutti_relus_set_skips(const tutti_graph *g, const char *text)
{
    const size_t n = strlen(text);
    if (n > (size_t)g->model->nlayers) return false;
    for (size_t l = 0; l < n; l++)
        if (read_passes(text[l]) > 15) return false;
    for (int l = 0; l < g->model->nlayers; l++)
        tutti_sparse_set_passes(&g->kernels[l], (size_t)l < n ? read_passes(text[l]) : 0);
    return true;
}

tutti_status tutti_relus_sum(const tutti_relus *relus, int64_t *zeros, tutti_group *group, int nranks,
                             tutti_failure *err)
{
    const size_t n = (size_t)relus->n;
    if (n == 0) return TUTTI_OK;
    int64_t *all = tutti_alloc(n * (size_t)nranks * sizeof *all);
    const tutti_status st = tutti_group_all_gather(group, "zeros of ReLUs", zeros, all, n * sizeof *zeros, err);
    for (size_t i = 0; i < n && !st; i++) {
        zeros[i] = 0;
        for (int r = 0; r < nranks; r++) zeros[i] += all[(size_t)r * n + i];
    }
    free(all);
    return st;
}
