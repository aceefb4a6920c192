/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c: builds the step graph of a model and checks it, loss layers included: kernels and parameters here, then
 * gradients.c and nodes.c.
 *
 * Kernels are made in layer order, because making a kernel determines the layout of its output, which the next kernel
 * reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/rng.h"
#include "../../device/device_row.h"
#include "../../kernel/choose/order_rule.h"
#include "../../kernel/crew.h"
#include "graph_impl.h"

const char *tutti_node_kind_name(tutti_node_kind k)
{
    static const char *const names[] = {
        [TUTTI_NODE_LOAD] = "load",
        [TUTTI_NODE_FORWARD] = "forward",
        [TUTTI_NODE_BACKWARD_PARAMS] = "backward-params",
        [TUTTI_NODE_SUM] = "sum",
        [TUTTI_NODE_UPDATE] = "update",
        [TUTTI_NODE_BACKWARD_DATA] = "backward-data",
        [TUTTI_NODE_EXCHANGE] = "exchange",
        [TUTTI_NODE_MOVE] = "move",
        [TUTTI_NODE_TRAVEL] = "travel",
    };
    _Static_assert(sizeof names / sizeof *names == TUTTI_NNODE_KINDS, "a word for each");
    return (unsigned)k < TUTTI_NNODE_KINDS ? names[k] : "?";
}

int tutti_graph_losses(const tutti_graph *g)
{
    return tutti_graph_loss_number(g, g->model->nlayers);
}

int tutti_graph_loss_number(const tutti_graph *g, int layer)
{
    int n = 0;
    for (int l = 0; l < layer; l++) n += g->model->layers[l].op->is_loss;
    return n;
}

/* ---- parameters and kernels ---- */

/* Names of the control numbers. The mean of a number over slots, times the number of slots, is its sum over the global
 * batch. The loss and the count of correct samples are read back in this way, and any non-zero @stop ends the run on
 * all ranks at the same step. */
static const char *const control_names[] = {
    [TUTTI_CONTROL_LOSS] = "@loss",
    [TUTTI_CONTROL_CORRECT] = "@correct",
    [TUTTI_CONTROL_STOP] = "@stop",
};
_Static_assert(sizeof control_names / sizeof *control_names == TUTTI_NCONTROLS, "a name for each");

static void add_control_params(tutti_graph *g)
{
    for (int i = 0; i < TUTTI_NCONTROLS; i++) {
        tutti_param *p = &g->params[g->nparams++];
        p->name = control_names[i];
        p->layer = -1;
        p->ordinal = i;
        p->desc.name = control_names[i];
        p->desc.shape = (tutti_shape){.ndims = 1, .dim = {i == TUTTI_CONTROL_LOSS ? tutti_graph_losses(g) : 1}};
        p->desc.kind = TUTTI_PARAM_STATISTIC;
        p->desc.take = 1;
        p->count = p->desc.elements = p->desc.shape.dim[0];
    }
}

/* Returns the layers in the order of the file. Parameters are listed in that order, wherever layers are after
 * merging. */
static int *layers_by_number(tutti_graph *g)
{
    const tutti_layer *layers = g->model->layers;
    int *order = TUTTI_ARENA_NEW(&g->arena, int, g->model->nlayers);
    for (int l = 0; l < g->model->nlayers; l++) {
        int at = l;
        for (; at > 0 && layers[order[at - 1]].number > layers[l].number; at--) order[at] = order[at - 1];
        order[at] = l;
    }
    return order;
}

/* Makes the description of a parameter's part that of the whole parameter. Only the kernel of a split layer has a part;
 * all other code uses whole parameters. */
static void make_whole(tutti_param_desc *desc, int parts)
{
    desc->shape.dim[0] *= parts;
    desc->elements *= parts;
}

static void list_params(tutti_graph *g)
{
    const tutti_model *m = g->model;
    int n = TUTTI_NCONTROLS;
    for (int l = 0; l < m->nlayers; l++) n += g->kernels[l].nparams;
    g->params = TUTTI_ARENA_NEW(&g->arena, tutti_param, n);
    int *order = layers_by_number(g);
    for (int at = 0; at < m->nlayers; at++)
        for (int i = 0, l = order[at]; i < g->kernels[l].nparams; i++) {
            tutti_param_desc desc = g->kernels[l].params[i];
            if (tutti_graph_split_of(g, l) >= 0) make_whole(&desc, tutti_graph_parts(g));
            size_t nbytes = strlen(m->layers[l].name) + strlen(desc.name) + 2;
            char *name = tutti_arena_alloc(&g->arena, nbytes);
            snprintf(name, nbytes, "%s.%s", m->layers[l].name, desc.name);
            g->params[g->nparams++] = (tutti_param){
                .name = name, .layer = l, .ordinal = i, .desc = desc, .count = tutti_shape_count(&desc.shape)};
        }
    if (g->config.training) add_control_params(g);
}

static tutti_value input_value(const tutti_model *m, int64_t batch)
{
    tutti_value v = {.shape = {.ndims = m->input.ndims + 1, .dim = {batch}}};
    for (int d = 0; d < m->input.ndims; d++) v.shape.dim[d + 1] = m->input.dim[d];
    return tutti_value_plain(&v.shape);
}

/* Returns the memory order of convolutions' outputs: one order for the whole model, so that values between them are
 * never reordered. Shapes that do not fit are reported by create_kernels. */
static tutti_order find_order(const tutti_graph *g)
{
    const tutti_model *m = g->model;
    tutti_shape *shapes = tutti_alloc((size_t)m->nlayers * sizeof *shapes);
    tutti_order_vote *votes = tutti_alloc((size_t)m->nlayers * sizeof *votes);
    const tutti_shape input = input_value(m, g->config.batch).shape;
    const bool fits = tutti_model_infer(m, g->config.batch, shapes, NULL) == TUTTI_OK;
    int nvotes = 0;
    for (int l = 0; l < m->nlayers && fits; l++) {
        const tutti_layer *layer = &m->layers[l];
        const tutti_shape *in = layer->in[0] < 0 ? &input : &shapes[layer->in[0]];
        nvotes += tutti_order_vote_of(layer->op, layer->attrs, in, &shapes[l], &votes[nvotes]);
    }
    free(shapes);
    tutti_order order = nvotes ? TUTTI_ORDER_NHWC : TUTTI_ORDER_NONE; /* a card's kernels know no blocked orders */
    if (tutti_device_kind_of(g->config.device) == TUTTI_DEVICE_CPU)
        order = tutti_order_rule(g->config.engine, g->config.precision, votes, nvotes);
    free(votes);
    return order;
}

/* Returns, as a bit set for the request, which inputs of layer l come from a ReLU, directly or through ops that keep
 * its zeros. outputs: per layer, true if its output is of this kind; entry l is set. */
static unsigned find_rectified(const tutti_layer *layer, bool *outputs, int l)
{
    unsigned inputs = 0;
    for (int i = 0; i < layer->nin; i++)
        if (layer->in[i] >= 0 && outputs[layer->in[i]]) inputs |= 1u << i;
    outputs[l] = tutti_layer_relu(layer) || (layer->op->keeps_zeros && inputs == (1u << layer->nin) - 1);
    return inputs;
}

bool tutti_graph_is_pooled(const tutti_model *m, int layer)
{
    bool read = false;
    for (int r = layer + 1; r < m->nlayers; r++)
        for (int i = 0; i < m->layers[r].nin; i++) {
            if (m->layers[r].in[i] != layer) continue;
            if (!m->layers[r].op->picks) return false;
            read = true;
        }
    return read;
}

static tutti_status create_kernels(tutti_graph *g, tutti_failure *err)
{
    const tutti_model *m = g->model;
    const tutti_graph_config *c = &g->config;
    const tutti_order order = g->order = find_order(g);
    bool *rectified = TUTTI_ARENA_NEW(&g->arena, bool, m->nlayers);
    g->kernels = TUTTI_ARENA_NEW(&g->arena, tutti_kernel, m->nlayers);
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *layer = &m->layers[l];
        tutti_value in[TUTTI_MAX_OP_INPUTS] = {{.bytes = 0}};
        for (int i = 0; i < layer->nin; i++)
            in[i] = layer->in[i] < 0 ? input_value(m, c->batch) : *tutti_graph_out(g, layer->in[i]);
        const tutti_graph *as = c->params_as;
        tutti_kernel_request request = {.engine = c->engine,
                                        .op = layer->op,
                                        .attrs = layer->attrs,
                                        .in = in,
                                        .nin = layer->nin,
                                        .precision = c->precision,
                                        .training = c->training,
                                        .nthreads = c->nthreads,
                                        .device = c->device,
                                        .rectified = find_rectified(layer, rectified, l),
                                        .pooled = tutti_graph_is_pooled(m, l),
                                        .order = order,
                                        .canonical = c->canonical,
                                        .tuned = c->tuned,
                                        .params_as =
                                            as && tutti_graph_split_of(as, l) < 0 ? as->kernels[l].params : NULL};
        const tutti_status st = tutti_graph_split_of(g, l) < 0 ? tutti_kernel_create(&request, &g->kernels[l], err)
                                                               : tutti_graph_create_split(g, l, &request, err);
        if (st) return tutti_fail_at(err, "%s: line %d: layer '%s'", m->name, layer->line, layer->name);
        if (c->sparse && tutti_graph_split_of(g, l) < 0) tutti_sparse_switch_around(&request, &g->kernels[l]);
        g->nkernels = l + 1;
    }
    return TUTTI_OK;
}

/* ---- refusals of what cannot be trained ---- */

/* Returns the number of inputs of later layers that read the output of layer l. */
static int count_readers(const tutti_model *m, int l)
{
    int n = 0;
    for (int r = l + 1; r < m->nlayers; r++)
        for (int i = 0; i < m->layers[r].nin; i++) n += m->layers[r].in[i] == l;
    return n;
}

static tutti_status check_readers(const tutti_graph *g, tutti_failure *err)
{
    const tutti_model *m = g->model;
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *layer = &m->layers[l];
        const int n = count_readers(m, l);
        const bool is_loss = layer->op->is_loss;
        const char *wrong = l == m->nlayers - 1 && !is_loss ? "the last layer must be a loss (softmax-cross-entropy)"
                            : is_loss && n                  ? "a loss has no output to read"
                            : !is_loss && !n                ? "nobody reads its output"
                            : n > TUTTI_MAX_SUM_PARTS       ? "more than 64 layers read its output"
                                                            : NULL;
        if (wrong)
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: line %d: layer '%s': %s", m->name, layer->line, layer->name,
                              wrong);
    }
    return TUTTI_OK;
}

static tutti_status check_trainable(const tutti_graph *g, tutti_failure *err)
{
    for (int i = 0; i < g->nparams; i++)
        if (tutti_param_is_learned(&g->params[i])) return check_readers(g, err);
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: no layer has parameters: there is nothing to train", g->model->name);
}

/* ---- create and destroy ---- */

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
    tutti_status st = tutti_graph_find_split(g, err);
    if (!st) st = create_kernels(g, err);
    if (!st) {
        list_params(g);
        st = tutti_graph_freeze(g, err);
        if (!st) st = tutti_graph_check_split(g, err);
        if (!st && config->training) st = check_trainable(g, err);
    }
    if (st) {
        tutti_graph_destroy(g);
        return st;
    }
    if (config->training) tutti_graph_list_grads(g);
    tutti_graph_place_split(g);
    tutti_graph_list_nodes(g);
    *out = g;
    return TUTTI_OK;
}

tutti_status tutti_graph_prepare_threads(const tutti_graph *g, tutti_failure *err)
{
    return tutti_crew_prepare(g->config.nthreads, err);
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
