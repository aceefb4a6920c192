/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c: from a model to the nodes of one training step.
 *
 * Kernels are made in layer order, because each one answers with the layout of its output, which the next reads. Then
 * the nodes are listed in one legal order: load, forward, backward from the loss to the first layer with parameters.
 * Exchange and update stand as early as the data allow: an exchange right after the last writer of the gradient, an
 * update right after the last reader of the parameter. Invariant: every datum that a node reads was written by an
 * earlier node of the list, or is a parameter. */
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/rng.h"

const char *tutti_node_kind_name(tutti_node_kind k)
{
    static const char *const names[TUTTI_NNODE_KINDS] = {"load",          "forward",  "backward-params",
                                                         "backward-data", "exchange", "update"};
    return (unsigned)k < TUTTI_NNODE_KINDS ? names[k] : "?";
}

/* ---- parameters and kernels ---- */

/* The mean over slots times the number of slots is the sum over the global batch: that is how loss and the count of
 * correct samples are read back, and why any non-zero @stop ends the run on all ranks at the same step. */
static const char *const control_names[] = {"@loss", "@correct", "@stop"};
enum { CONTROL_LOSS, CONTROL_CORRECT, CONTROL_STOP, NCONTROLS };

static void add_control_params(tutti_graph *g)
{
    for (int i = 0; i < NCONTROLS; i++) {
        tutti_param *p = &g->params[g->nparams++];
        p->name = control_names[i];
        p->layer = -1;
        p->ordinal = i;
        p->desc.name = control_names[i];
        p->desc.shape = (tutti_shape){.ndims = 1, .dim = {1}};
        p->desc.kind = TUTTI_PARAM_STATISTIC;
        p->desc.momentum = 1;
        p->count = p->desc.elements = 1;
    }
}

static void list_params(tutti_graph *g)
{
    const tutti_model *m = g->model;
    int n = NCONTROLS;
    for (int l = 0; l < m->nlayers; l++) n += g->kernels[l].nparams;
    g->params = TUTTI_ARENA_NEW(&g->arena, tutti_param, n);
    for (int l = 0; l < m->nlayers; l++)
        for (int i = 0; i < g->kernels[l].nparams; i++) {
            const tutti_param_desc *desc = &g->kernels[l].params[i];
            size_t nbytes = strlen(m->layers[l].name) + strlen(desc->name) + 2;
            char *name = tutti_arena_alloc(&g->arena, nbytes);
            snprintf(name, nbytes, "%s.%s", m->layers[l].name, desc->name);
            g->params[g->nparams++] = (tutti_param){
                .name = name, .layer = l, .ordinal = i, .desc = *desc, .count = tutti_shape_count(&desc->shape)};
        }
    if (g->config.training) add_control_params(g);
}

static tutti_value input_value(const tutti_model *m, int64_t batch)
{
    tutti_value v = {.shape = {.ndims = m->input.ndims + 1, .dim = {batch}}};
    for (int d = 0; d < m->input.ndims; d++) v.shape.dim[d + 1] = m->input.dim[d];
    return tutti_value_plain(&v.shape);
}

static tutti_status create_kernels(tutti_graph *g, tutti_failure *err)
{
    const tutti_model *m = g->model;
    const tutti_graph_config *c = &g->config;
    g->kernels = TUTTI_ARENA_NEW(&g->arena, tutti_kernel, m->nlayers);
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *layer = &m->layers[l];
        tutti_value in[TUTTI_MAX_OP_INPUTS] = {{.bytes = 0}};
        for (int i = 0; i < layer->nin; i++)
            in[i] = layer->in[i] < 0 ? input_value(m, c->batch) : g->kernels[layer->in[i]].out;
        const tutti_kernel_request request = {.engine = c->engine,
                                              .op = layer->op,
                                              .attrs = layer->attrs,
                                              .in = in,
                                              .nin = layer->nin,
                                              .precision = c->precision,
                                              .training = c->training,
                                              .nthreads = c->nthreads,
                                              .params_as = c->params_as ? c->params_as->kernels[l].params : NULL};
        tutti_status st = tutti_kernel_create(&request, &g->kernels[l], err);
        if (st) return tutti_fail_at(err, "%s: line %d: layer '%s'", m->name, layer->line, layer->name);
        g->nkernels = l + 1;
    }
    return TUTTI_OK;
}

static bool is_learned(const tutti_param *p)
{
    return p->desc.kind != TUTTI_PARAM_STATISTIC;
}

/* A layer's input gradient is wanted if some layer above its input's source, source included, learns. */
static void mark_input_grads(tutti_graph *g)
{
    const tutti_model *m = g->model;
    g->needs_input_grad = TUTTI_ARENA_NEW(&g->arena, bool, m->nlayers);
    bool *learns = TUTTI_ARENA_NEW(&g->arena, bool, m->nlayers); /* the layer or any layer that it reads from */
    for (int i = 0; i < g->nparams; i++)
        if (g->params[i].layer >= 0 && is_learned(&g->params[i])) learns[g->params[i].layer] = true;
    for (int l = 0; l < m->nlayers; l++)
        for (int i = 0; i < m->layers[l].nin; i++) {
            int from = m->layers[l].in[i];
            if (from >= 0 && learns[from]) g->needs_input_grad[l] = learns[l] = true;
        }
}

/* ---- what cannot be trained, said in words ---- */

static tutti_status check_readers(const tutti_graph *g, tutti_failure *err)
{
    const tutti_model *m = g->model;
    const int last = m->nlayers - 1;
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *first = NULL, *layer = &m->layers[l];
        if (layer->op->is_loss != (l == last))
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: line %d: layer '%s': %s", m->name, layer->line, layer->name,
                              l == last ? "the last layer must be a loss (softmax-cross-entropy)"
                                        : "a loss must be the last layer");
        for (int r = l + 1; r < m->nlayers; r++)
            for (int i = 0; i < m->layers[r].nin; i++) {
                if (m->layers[r].in[i] != l) continue;
                if (first)
                    return tutti_fail(err, TUTTI_ERR_USAGE,
                                      "%s: line %d: '%s' and '%s' both read '%s'; its gradient would be a sum of two, "
                                      "which no op adds up yet: let one layer read it",
                                      m->name, m->layers[r].line, first->name, m->layers[r].name, layer->name);
                first = &m->layers[r];
            }
        if (!first && l != last)
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: line %d: nobody reads the output of layer '%s'", m->name,
                              layer->line, layer->name);
    }
    return TUTTI_OK;
}

static tutti_status check_trainable(const tutti_graph *g, tutti_failure *err)
{
    for (int i = 0; i < g->nparams; i++)
        if (is_learned(&g->params[i])) return check_readers(g, err);
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: no layer has parameters: there is nothing to train", g->model->name);
}

/* ---- nodes ---- */

enum { MAX_DATA = 2 * TUTTI_MAX_OP_INPUTS + 2 * TUTTI_MAX_OP_PARAMS + NCONTROLS + 4 };

/* A node under construction: its lists are copied into the arena when it is finished. */
typedef struct {
    tutti_graph *graph;
    tutti_datum reads[MAX_DATA], writes[MAX_DATA];
    int nreads, nwrites;
} draft;

static void reads(draft *d, tutti_datum_kind kind, int index)
{
    d->reads[d->nreads++] = (tutti_datum){kind, index};
}

static void writes(draft *d, tutti_datum_kind kind, int index)
{
    d->writes[d->nwrites++] = (tutti_datum){kind, index};
}

static void finish(draft *d, tutti_node_kind kind, int layer, int param)
{
    tutti_graph *g = d->graph;
    tutti_node *n = &g->nodes[g->nnodes++];
    *n = (tutti_node){.kind = kind, .layer = layer, .param = param, .nreads = d->nreads, .nwrites = d->nwrites};
    n->reads = TUTTI_ARENA_NEW(&g->arena, tutti_datum, d->nreads);
    n->writes = TUTTI_ARENA_NEW(&g->arena, tutti_datum, d->nwrites);
    memcpy(n->reads, d->reads, sizeof(tutti_datum) * (size_t)d->nreads);
    memcpy(n->writes, d->writes, sizeof(tutti_datum) * (size_t)d->nwrites);
    d->nreads = d->nwrites = 0;
}

/* Calls the datum kind for each parameter of layer l of one sort: learned ones or statistics. */
static void each_param(draft *d, void (*say)(draft *, tutti_datum_kind, int), tutti_datum_kind kind, int l,
                       bool learned)
{
    for (int i = 0; i < d->graph->nparams; i++)
        if (d->graph->params[i].layer == l && is_learned(&d->graph->params[i]) == learned) say(d, kind, i);
}

static void reads_inputs(draft *d, int l)
{
    const tutti_layer *layer = &d->graph->model->layers[l];
    for (int i = 0; i < layer->nin; i++)
        reads(d, layer->in[i] < 0 ? TUTTI_DATUM_BATCH : TUTTI_DATUM_VALUE, layer->in[i] < 0 ? 0 : layer->in[i]);
}

static void add_forward(draft *d, int l)
{
    tutti_graph *g = d->graph;
    const bool training = g->config.training;
    const bool is_loss = g->model->layers[l].op->is_loss;
    reads_inputs(d, l);
    if (is_loss) reads(d, TUTTI_DATUM_BATCH, 0); /* labels */
    each_param(d, reads, TUTTI_DATUM_PARAM, l, true);
    each_param(d, reads, TUTTI_DATUM_PARAM, l, false);
    if (!is_loss) writes(d, TUTTI_DATUM_VALUE, l);
    if (g->kernels[l].saved_bytes) writes(d, TUTTI_DATUM_SAVED, l);
    if (training) each_param(d, writes, TUTTI_DATUM_PARAM_GRAD, l, false);
    if (training && is_loss) {
        writes(d, TUTTI_DATUM_PARAM_GRAD, g->nparams - NCONTROLS + CONTROL_LOSS);
        writes(d, TUTTI_DATUM_PARAM_GRAD, g->nparams - NCONTROLS + CONTROL_CORRECT);
    }
    finish(d, TUTTI_NODE_FORWARD, l, -1);
}

/* Both halves of backward are said to read the learned parameters: a kernel may, and it costs no time, because the
 * input gradient, which does, comes later. */
static void reads_for_backward(draft *d, int l)
{
    tutti_graph *g = d->graph;
    const unsigned again = g->kernels[l].backward_reads;
    const bool is_loss = g->model->layers[l].op->is_loss;
    if (!is_loss) reads(d, TUTTI_DATUM_VALUE_GRAD, l);
    if (again & TUTTI_READS_INPUT) reads_inputs(d, l);
    if (again & TUTTI_READS_OUTPUT && !is_loss) reads(d, TUTTI_DATUM_VALUE, l);
    if (again & TUTTI_READS_SAVED && g->kernels[l].saved_bytes) reads(d, TUTTI_DATUM_SAVED, l);
    if (is_loss) reads(d, TUTTI_DATUM_BATCH, 0);
    each_param(d, reads, TUTTI_DATUM_PARAM, l, true);
}

static void add_exchange(draft *d, int p)
{
    reads(d, TUTTI_DATUM_PARAM_GRAD, p);
    writes(d, TUTTI_DATUM_PARAM_SUM, p);
    finish(d, TUTTI_NODE_EXCHANGE, d->graph->params[p].layer, p);
}

static void add_update(draft *d, int p)
{
    reads(d, TUTTI_DATUM_PARAM_SUM, p);
    reads(d, TUTTI_DATUM_PARAM, p);
    writes(d, TUTTI_DATUM_PARAM, p);
    finish(d, TUTTI_NODE_UPDATE, d->graph->params[p].layer, p);
}

static void add_for_params(draft *d, void (*add)(draft *, int), int l, bool learned)
{
    for (int i = 0; i < d->graph->nparams; i++)
        if (d->graph->params[i].layer == l && is_learned(&d->graph->params[i]) == learned) add(d, i);
}

static void add_backward(draft *d, int l)
{
    tutti_graph *g = d->graph;
    each_param(d, writes, TUTTI_DATUM_PARAM_GRAD, l, true);
    if (d->nwrites) {
        reads_for_backward(d, l);
        finish(d, TUTTI_NODE_BACKWARD_PARAMS, l, -1);
    }
    add_for_params(d, add_exchange, l, true); /* before the input gradient: it travels meanwhile */
    if (g->needs_input_grad[l]) {
        reads_for_backward(d, l);
        for (int i = 0; i < g->model->layers[l].nin; i++)
            if (g->model->layers[l].in[i] >= 0) writes(d, TUTTI_DATUM_VALUE_GRAD, g->model->layers[l].in[i]);
        finish(d, TUTTI_NODE_BACKWARD_DATA, l, -1);
    }
    add_for_params(d, add_update, l, true);
}

static void list_nodes(tutti_graph *g)
{
    const bool training = g->config.training;
    const int nlayers = g->model->nlayers;
    draft d = {.graph = g};
    g->nodes = TUTTI_ARENA_NEW(&g->arena, tutti_node, 1 + 3 * nlayers + 2 * g->nparams);
    writes(&d, TUTTI_DATUM_BATCH, 0);
    if (training) writes(&d, TUTTI_DATUM_PARAM_GRAD, g->nparams - NCONTROLS + CONTROL_STOP);
    finish(&d, TUTTI_NODE_LOAD, -1, -1);
    for (int l = 0; l < nlayers; l++) {
        add_forward(&d, l);
        if (!training) continue;
        add_for_params(&d, add_exchange, l, false);
        add_for_params(&d, add_update, l, false);
    }
    if (!training) return;
    for (int l = nlayers - 1; l >= 0; l--) add_backward(&d, l);
    /* Control numbers are known after forward, but nobody waits for them: they ride with the last gradients. */
    add_for_params(&d, add_exchange, -1, false);
    add_for_params(&d, add_update, -1, false);
}

/* ---- life ---- */

tutti_status tutti_graph_build(const tutti_model *model, const tutti_graph_config *config, tutti_graph **out,
                               tutti_failure *err)
{
    if (config->batch < 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "a batch of %lld samples cannot be run", (long long)config->batch);
    if (model->input.ndims + 1 > TUTTI_MAX_DIMS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: a sample has %d dimensions, at most %d are possible", model->name,
                          model->input.ndims, TUTTI_MAX_DIMS - 1);
    tutti_graph *g = tutti_alloc(sizeof *g);
    g->model = model;
    g->config = *config;
    g->config.engine = tutti_arena_strdup(&g->arena, config->engine);
    tutti_status st = create_kernels(g, err);
    if (!st) {
        list_params(g);
        mark_input_grads(g);
        if (config->training) st = check_trainable(g, err);
    }
    if (st) {
        tutti_graph_destroy(g);
        return st;
    }
    list_nodes(g);
    *out = g;
    return TUTTI_OK;
}

void tutti_graph_destroy(tutti_graph *g)
{
    if (!g) return;
    for (int l = 0; l < g->nkernels; l++) tutti_kernel_destroy(&g->kernels[l]);
    tutti_arena_release(&g->arena);
    free(g);
}

static void draw_normal(double deviation, uint64_t seed, uint64_t name, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i += 2) {
        float pair[2];
        tutti_random_normal2(tutti_random(seed, TUTTI_STREAM_INIT, name, (uint64_t)(i / 2)), pair);
        for (int64_t j = i; j < n && j < i + 2; j++) out[j] = (float)(deviation * (double)pair[j - i]);
    }
}

static void draw_plain(const tutti_param *p, uint64_t seed, float *out)
{
    const uint64_t name = tutti_hash(p->name, strlen(p->name));
    if (p->desc.init_deviation > 0) {
        draw_normal(p->desc.init_deviation, seed, name, p->count, out);
        return;
    }
    for (int64_t i = 0; i < p->count; i += 4) {
        const tutti_random4 r = tutti_random(seed, TUTTI_STREAM_INIT, name, (uint64_t)(i / 4));
        for (int64_t j = i; j < p->count && j < i + 4; j++)
            out[j] = p->desc.init_bound > 0
                         ? (float)(p->desc.init_bound * (2.0 * tutti_random_unit(r.word[j - i]) - 1.0))
                         : (float)p->desc.init_constant;
    }
}

void tutti_graph_init_param(const tutti_param *p, uint64_t seed, float *out)
{
    if (!p->desc.layout) {
        draw_plain(p, seed, out);
        return;
    }
    float *plain = tutti_alloc((size_t)p->count * sizeof(float));
    draw_plain(p, seed, plain);
    tutti_param_from_plain(&p->desc, plain, out);
    free(plain);
}
