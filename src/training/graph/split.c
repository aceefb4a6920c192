/* SPDX-License-Identifier: Apache-2.0 */
/* split.c: split layers, which groups of ranks share: their kernels, and the memory that the ranks exchange. */
#include "split.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/text/options.h"
#include "graph_impl.h"

const char *tutti_hop_name(tutti_hop h)
{
    static const char *const names[] = {
        [TUTTI_HOP_SHOW_INPUTS] = "show inputs",   [TUTTI_HOP_GATHER_INPUTS] = "inputs",
        [TUTTI_HOP_SWAP_OUTPUTS] = "outputs",      [TUTTI_HOP_TAKE_OUTPUTS] = "take outputs",
        [TUTTI_HOP_SHOW_GRADS] = "show gradients", [TUTTI_HOP_SWAP_GRADS] = "output gradients",
        [TUTTI_HOP_SUM_GRADS] = "input gradients", [TUTTI_HOP_TAKE_GRADS] = "take gradients",
    };
    _Static_assert(sizeof names / sizeof *names == TUTTI_NHOPS, "words for each");
    return (unsigned)h < TUTTI_NHOPS ? names[h] : "?";
}

int tutti_graph_parts(const tutti_graph *g)
{
    return g->nsplit ? g->config.split.parts : 1;
}

int tutti_graph_split_of(const tutti_graph *g, int layer)
{
    for (int s = 0; s < g->nsplit; s++)
        if (g->split[s].layer == layer) return s;
    return -1;
}

const tutti_value *tutti_graph_out(const tutti_graph *g, int layer)
{
    const int s = tutti_graph_split_of(g, layer);
    return s < 0 ? &g->kernels[layer].out : &g->split[s].out;
}

/* ---- which layers are split ---- */

static int find_layer(const tutti_model *m, const char *name)
{
    for (int l = 0; l < m->nlayers; l++)
        if (!strcmp(m->layers[l].name, name)) return l;
    return -1;
}

static tutti_status refuse_unknown(const tutti_model *m, const char *name, tutti_failure *err)
{
    tutti_arena work = {0};
    const char **known = TUTTI_ARENA_NEW(&work, const char *, m->nlayers);
    int n = 0;
    for (int l = 0; l < m->nlayers; l++)
        if (m->layers[l].op->divide) known[n++] = m->layers[l].name;
    const char *nearest = tutti_options_nearest(name, known, n);
    tutti_fail(err, TUTTI_ERR_USAGE, "model %s has no layer '%s'%s%s%s", m->name, name,
               nearest ? "; did you mean '" : "", nearest ? nearest : "",
               nearest ? "'?" : "; 'tutti graph JOB' lists their names");
    tutti_arena_release(&work);
    return TUTTI_ERR_USAGE;
}

static tutti_status refuse_outputs(const tutti_layer *layer, int64_t noutputs, int parts, tutti_failure *err)
{
    int fits = parts;
    while (parts % fits || noutputs % fits) fits--;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "the %" PRId64
                      " outputs of layer '%s' cannot be shared evenly by the %d ranks of a group; leave it "
                      "out, or take more groups: by %d rank%s they can",
                      noutputs, layer->name, parts, fits, fits == 1 ? "" : "s");
}

static tutti_status check_layer(const tutti_split_layers *split, const tutti_model *m, int i, const tutti_shape *shapes,
                                tutti_failure *err)
{
    const int l = find_layer(m, split->layers[i]);
    if (l < 0) return refuse_unknown(m, split->layers[i], err);
    if (!m->layers[l].op->divide)
        return tutti_fail(err, TUTTI_ERR_USAGE, "layer '%s' is %s: only the outputs of dense layers can be shared",
                          split->layers[i], m->layers[l].op->name);
    for (int j = 0; j < i; j++)
        if (!strcmp(split->layers[j], split->layers[i]))
            return tutti_fail(err, TUTTI_ERR_USAGE, "layer '%s' is there twice", split->layers[i]);
    const int64_t noutputs = tutti_shape_count(&shapes[l]);
    return split->parts > 1 && noutputs % split->parts ? refuse_outputs(&m->layers[l], noutputs, split->parts, err)
                                                       : TUTTI_OK;
}

tutti_status tutti_split_check(const tutti_split_layers *split, const tutti_model *model, tutti_failure *err)
{
    tutti_arena work = {0};
    tutti_shape *shapes = TUTTI_ARENA_NEW(&work, tutti_shape, model->nlayers); /* shapes for one sample */
    tutti_status st = tutti_model_infer(model, 1, shapes, err);
    for (int i = 0; i < split->nlayers && !st; i++) st = check_layer(split, model, i, shapes, err);
    tutti_arena_release(&work);
    return st;
}

static bool is_among(const tutti_split_layers *split, const char *name)
{
    for (int i = 0; i < split->nlayers; i++)
        if (!strcmp(split->layers[i], name)) return true;
    return false;
}

tutti_status tutti_graph_find_split(tutti_graph *g, tutti_failure *err)
{
    tutti_split_layers *split = &g->config.split;
    if (!split->nlayers || !g->config.training) return TUTTI_OK;
    const tutti_status st = tutti_split_check(split, g->model, err);
    if (st) return st;
    const char **names = TUTTI_ARENA_NEW(&g->arena, const char *, split->nlayers);
    for (int i = 0; i < split->nlayers; i++) names[i] = tutti_arena_strdup(&g->arena, split->layers[i]);
    split->layers = names;
    if (split->parts < 2) return TUTTI_OK;
    if (g->config.precision != TUTTI_PRECISION_F32)
        return tutti_fail(err, TUTTI_ERR_USAGE, "split layers exchange f32, activations are %s",
                          tutti_precision_name(g->config.precision));
    g->split = TUTTI_ARENA_NEW(&g->arena, tutti_split_layer, split->nlayers);
    for (int l = 0; l < g->model->nlayers; l++)
        if (is_among(split, g->model->layers[l].name)) g->split[g->nsplit++].layer = l;
    return TUTTI_OK;
}

/* Refuses split layers with frozen parameters: splitting saves the exchange of gradients, and frozen parameters have
 * none. */
tutti_status tutti_graph_check_split(const tutti_graph *g, tutti_failure *err)
{
    for (int i = 0; i < g->nparams; i++) {
        const tutti_param *p = &g->params[i];
        if (p->is_frozen && tutti_graph_split_of(g, p->layer) >= 0)
            return tutti_fail(err, TUTTI_ERR_USAGE,
                              "%s: %s is frozen, but parallel.layers share the outputs of its layer; leave one out",
                              g->config.frozen.said ? g->config.frozen.said : g->model->name, p->name);
    }
    return TUTTI_OK;
}

void tutti_graph_describe_split(const tutti_graph *g, const tutti_split_layers *split, tutti_split_layer *out)
{
    for (int i = 0; i < split->nlayers; i++) {
        const int l = find_layer(g->model, split->layers[i]);
        const tutti_kernel *k = &g->kernels[l];
        out[i] = (tutti_split_layer){.layer = l,
                                     .ninputs = tutti_shape_count(&k->in[0].shape) / g->config.batch,
                                     .noutputs = tutti_shape_count(&k->out.shape) / g->config.batch,
                                     .wants_input_grads = g->layer_grads[l].in[0] >= 0};
        for (int p = 0; p < k->nparams; p++) out[i].nparams += tutti_shape_count(&k->params[p].shape);
    }
}

/* ---- kernels of split layers ---- */

static tutti_status describe(tutti_graph *g, tutti_split_layer *s, const tutti_kernel_request *r, tutti_failure *err)
{
    tutti_shape out;
    const tutti_status st = tutti_op_infer(r->op, r->attrs, &r->in[0].shape, r->nin, &out, err);
    if (st) return st;
    s->in = r->in[0];
    s->out = tutti_value_plain(&out);
    s->ninputs = tutti_shape_count(&s->in.shape) / g->config.batch;
    s->noutputs = tutti_shape_count(&out) / g->config.batch;
    return TUTTI_OK;
}

tutti_status tutti_graph_create_split(tutti_graph *g, int layer, tutti_kernel_request *request, tutti_failure *err)
{
    const int parts = g->config.split.parts;
    tutti_split_layer *s = &g->split[tutti_graph_split_of(g, layer)];
    tutti_kernel *k = &g->kernels[layer];
    tutti_status st = describe(g, s, request, err);
    if (st) return st;
    void *attrs = tutti_arena_alloc(&g->arena, request->op->attrs_bytes);
    if (!request->op->divide(request->attrs, parts, attrs)) /* tutti_split_check has checked that `parts` divides the
                                                             * outputs */
        return tutti_fail(err, TUTTI_ERR_FAILED, "outputs do not divide");
    tutti_shape wide = request->in[0].shape;
    wide.dim[0] *= parts;
    const tutti_value in = tutti_value_plain(&wide);
    request->attrs = attrs;
    request->in = &in;
    st = tutti_kernel_create(request, k, err);
    for (int i = 0; !st && i < k->nparams; i++) {
        if (k->params[i].layout) /* another order is refused, because a part of a parameter must be a run of its rows */
            st = tutti_fail(err, TUTTI_ERR_USAGE, "engine %s wants parameters of the layer in an order of its own",
                            request->engine);
        s->nparams += parts * k->params[i].elements;
    }
    /* Moves and travels connect the kernel to the activations. So its flags about the memory of activations are
     * cleared; `masks` remembers that it changes gradients in place, in exchanged memory. */
    s->masks = !st && k->writes_dout;
    k->writes_dout = k->joint_backward = k->in_place = false;
    k->max_dout_parts = 0;
    return st;
}

/* ---- places in exchanged memory ---- */

static const char *name_place(tutti_graph *g, const char *what, int layer)
{
    const char *name = g->model->layers[layer].name;
    const size_t nbytes = strlen(what) + strlen(name) + 8;
    char *text = tutti_arena_alloc(&g->arena, nbytes);
    snprintf(text, nbytes, "%s of %s", what, name);
    return text;
}

static void widen(tutti_split_place *place, int64_t elements)
{
    if (elements > place->elements) place->elements = elements;
}

void tutti_graph_place_split(tutti_graph *g)
{
    const int64_t own = g->config.batch, all = own * tutti_graph_parts(g);
    if (!g->nsplit) return;
    g->nsplit_places = TUTTI_SPLIT_OWN_PLACES * g->nsplit + TUTTI_SPLIT_SHARED_PLACES;
    g->split_places = TUTTI_ARENA_NEW(&g->arena, tutti_split_place, g->nsplit_places);
    tutti_split_place *shared = g->split_places + TUTTI_SPLIT_OWN_PLACES * g->nsplit;
    shared[0].name = "split outputs in blocks";
    shared[1].name = "gradients of split outputs";
    shared[2].name = "gradients of split inputs";
    for (int i = 0; i < g->nsplit; i++) {
        tutti_split_layer *s = &g->split[i];
        tutti_split_place *place = g->split_places + TUTTI_SPLIT_OWN_PLACES * i;
        s->wants_input_grads = g->needs_input_grad[s->layer];
        place[0] = (tutti_split_place){name_place(g, "inputs", s->layer), all * s->ninputs};
        place[1] = (tutti_split_place){name_place(g, "outputs", s->layer), own * s->noutputs};
        widen(&shared[0], own * s->noutputs);
        widen(&shared[1], own * s->noutputs);
        widen(&shared[2], s->wants_input_grads ? all * s->ninputs : 1);
    }
}

int tutti_graph_split_place(const tutti_graph *g, int index)
{
    const int own = TUTTI_SPLIT_OWN_PLACES * (index / TUTTI_NSPLIT_DATA), shared = TUTTI_SPLIT_OWN_PLACES * g->nsplit;
    switch ((tutti_split_datum)(index % TUTTI_NSPLIT_DATA)) {
    case TUTTI_SPLIT_OWN_INPUTS:
    case TUTTI_SPLIT_INPUTS: return own;
    case TUTTI_SPLIT_OUTPUTS: return own + 1;
    case TUTTI_SPLIT_BLOCKS:
    case TUTTI_SPLIT_BLOCK_GRADS: return shared;
    case TUTTI_SPLIT_OUTPUT_GRADS:
    case TUTTI_SPLIT_MASKED_GRADS: return shared + 1;
    case TUTTI_SPLIT_INPUT_GRADS:
    case TUTTI_SPLIT_OWN_INPUT_GRADS:
    case TUTTI_NSPLIT_DATA: break;
    }
    return shared + 2;
}

tutti_split_volume tutti_split_volume_of(const tutti_split_layer *s, int nranks, int64_t batch, int parts)
{
    const int64_t own = batch / nranks, groups = nranks / parts;
    const int64_t inputs = own * s->ninputs * (parts - 1), outputs = own * s->noutputs / parts * (parts - 1);
    return (tutti_split_volume){.activations = inputs * (s->wants_input_grads ? 2 : 1) + 2 * outputs,
                                .params = 2 * s->nparams / parts * (groups - 1) / groups};
}
