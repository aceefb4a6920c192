/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c: lists the nodes of a step in one legal order: load, forward, backward from the last loss to the first layer
 * with learned parameters.
 *
 * Exchanges and updates stand as early as the data allow: an exchange right after the last writer of the gradient, an
 * update right after the last reader of the parameter. A sum of gradients stands right before the layer of that output.
 * Invariant: every datum that a node reads was written by an earlier node of the list, or is a parameter. */
#include <string.h>

#include "graph_impl.h"

enum { MAX_DATA = 2 * TUTTI_MAX_OP_INPUTS + 2 * TUTTI_MAX_OP_PARAMS + TUTTI_NCONTROLS + 4 };

/* A node under construction: its lists are copied into the graph's arena when it is finished. */
typedef struct {
    tutti_graph *graph;
    tutti_datum *reads, *writes; /* reads: room for MAX_DATA entries and all gradients; writes: room for MAX_DATA
                                  * entries */
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

/* LEARNED: the rule updates it. AVERAGED: a statistic, averaged over ranks. FROZEN: it is only read. */
typedef enum { LEARNED, AVERAGED, FROZEN } param_sort;

static param_sort sort_of(const tutti_param *p)
{
    return p->is_frozen ? FROZEN : tutti_param_is_learned(p) ? LEARNED : AVERAGED;
}

/* Calls `say` for each parameter of layer l that is of this sort. */
static void each_param(draft *d, void (*say)(draft *, tutti_datum_kind, int), tutti_datum_kind kind, int l,
                       param_sort sort)
{
    for (int i = 0; i < d->graph->nparams; i++)
        if (d->graph->params[i].layer == l && sort_of(&d->graph->params[i]) == sort) say(d, kind, i);
}

static void reads_inputs(draft *d, int l, unsigned without)
{
    const tutti_layer *layer = &d->graph->model->layers[l];
    for (int i = 0; i < layer->nin; i++)
        if (!(without >> i & 1))
            reads(d, layer->in[i] < 0 ? TUTTI_DATUM_BATCH : TUTTI_DATUM_VALUE, layer->in[i] < 0 ? 0 : layer->in[i]);
}

/* ---- split layers ---- */

static int split_index(const draft *d, int l, tutti_split_datum datum)
{
    return tutti_graph_split_of(d->graph, l) * TUTTI_NSPLIT_DATA + (int)datum;
}

static void reads_split(draft *d, int l, tutti_split_datum datum)
{
    reads(d, TUTTI_DATUM_SPLIT, split_index(d, l, datum));
}

static void writes_split(draft *d, int l, tutti_split_datum datum)
{
    writes(d, TUTTI_DATUM_SPLIT, split_index(d, l, datum));
}

static void add_hop(draft *d, int l, tutti_hop hop, tutti_node_kind kind)
{
    finish(d, kind, l, -1);
    d->graph->nodes[d->graph->nnodes - 1].hop = hop;
}

static void add_travel(draft *d, int l, tutti_hop hop, tutti_split_datum from, tutti_split_datum to)
{
    reads_split(d, l, from);
    writes_split(d, l, to);
    add_hop(d, l, hop, TUTTI_NODE_TRAVEL);
}

static void add_split_forward(draft *d, int l)
{
    reads_inputs(d, l, 0);
    writes_split(d, l, TUTTI_SPLIT_OWN_INPUTS);
    add_hop(d, l, TUTTI_HOP_SHOW_INPUTS, TUTTI_NODE_MOVE);
    add_travel(d, l, TUTTI_HOP_GATHER_INPUTS, TUTTI_SPLIT_OWN_INPUTS, TUTTI_SPLIT_INPUTS);
    reads_split(d, l, TUTTI_SPLIT_INPUTS);
    each_param(d, reads, TUTTI_DATUM_PARAM, l, LEARNED);
    writes_split(d, l, TUTTI_SPLIT_OUTPUTS);
    if (d->graph->kernels[l].saved_bytes) writes(d, TUTTI_DATUM_SAVED, l);
    finish(d, TUTTI_NODE_FORWARD, l, -1);
    add_travel(d, l, TUTTI_HOP_SWAP_OUTPUTS, TUTTI_SPLIT_OUTPUTS, TUTTI_SPLIT_BLOCKS);
    reads_split(d, l, TUTTI_SPLIT_BLOCKS);
    writes(d, TUTTI_DATUM_VALUE, l);
    add_hop(d, l, TUTTI_HOP_TAKE_OUTPUTS, TUTTI_NODE_MOVE);
}

static void reads_for_split_backward(draft *d, int l, bool first)
{
    const tutti_graph *g = d->graph;
    const bool masks = g->split[tutti_graph_split_of(g, l)].masks;
    const unsigned again = g->kernels[l].backward_reads;
    reads_split(d, l, masks && !first ? TUTTI_SPLIT_MASKED_GRADS : TUTTI_SPLIT_OUTPUT_GRADS);
    if (masks && first) writes_split(d, l, TUTTI_SPLIT_MASKED_GRADS);
    if (again & TUTTI_READS_INPUT) reads_split(d, l, TUTTI_SPLIT_INPUTS);
    if (again & TUTTI_READS_OUTPUT) reads_split(d, l, TUTTI_SPLIT_OUTPUTS);
    if (again & TUTTI_READS_SAVED && g->kernels[l].saved_bytes) reads(d, TUTTI_DATUM_SAVED, l);
    each_param(d, reads, TUTTI_DATUM_PARAM, l, LEARNED);
}

static void add_split_backward(draft *d, int l)
{
    const tutti_graph *g = d->graph;
    reads(d, TUTTI_DATUM_VALUE_GRAD, g->layer_grads[l].out);
    writes_split(d, l, TUTTI_SPLIT_BLOCK_GRADS);
    add_hop(d, l, TUTTI_HOP_SHOW_GRADS, TUTTI_NODE_MOVE);
    add_travel(d, l, TUTTI_HOP_SWAP_GRADS, TUTTI_SPLIT_BLOCK_GRADS, TUTTI_SPLIT_OUTPUT_GRADS);
    each_param(d, writes, TUTTI_DATUM_PARAM_GRAD, l, LEARNED);
    reads_for_split_backward(d, l, true);
    finish(d, TUTTI_NODE_BACKWARD_PARAMS, l, -1);
}

static void add_split_backward_data(draft *d, int l)
{
    reads_for_split_backward(d, l, false);
    writes_split(d, l, TUTTI_SPLIT_INPUT_GRADS);
    finish(d, TUTTI_NODE_BACKWARD_DATA, l, -1);
    add_travel(d, l, TUTTI_HOP_SUM_GRADS, TUTTI_SPLIT_INPUT_GRADS, TUTTI_SPLIT_OWN_INPUT_GRADS);
    reads_split(d, l, TUTTI_SPLIT_OWN_INPUT_GRADS);
    writes(d, TUTTI_DATUM_VALUE_GRAD, d->graph->layer_grads[l].in[0]);
    add_hop(d, l, TUTTI_HOP_TAKE_GRADS, TUTTI_NODE_MOVE);
}

/* ---- nodes of all layers ---- */

static void add_forward(draft *d, int l)
{
    if (tutti_graph_split_of(d->graph, l) >= 0) {
        add_split_forward(d, l);
        return;
    }
    tutti_graph *g = d->graph;
    const bool training = g->config.training;
    const bool is_loss = g->model->layers[l].op->is_loss;
    reads_inputs(d, l, 0);
    if (is_loss) reads(d, TUTTI_DATUM_BATCH, 0); /* a loss also reads the labels */
    each_param(d, reads, TUTTI_DATUM_PARAM, l, LEARNED);
    each_param(d, reads, TUTTI_DATUM_PARAM, l, FROZEN);
    each_param(d, reads, TUTTI_DATUM_PARAM, l, AVERAGED);
    if (!is_loss) writes(d, TUTTI_DATUM_VALUE, l);
    if (g->kernels[l].saved_bytes) writes(d, TUTTI_DATUM_SAVED, l);
    if (training) each_param(d, writes, TUTTI_DATUM_PARAM_GRAD, l, AVERAGED);
    if (training && is_loss) writes(d, TUTTI_DATUM_PARAM_GRAD, g->nparams - TUTTI_NCONTROLS + TUTTI_CONTROL_LOSS);
    if (training && l == g->model->nlayers - 1)
        writes(d, TUTTI_DATUM_PARAM_GRAD, g->nparams - TUTTI_NCONTROLS + TUTTI_CONTROL_CORRECT);
    finish(d, TUTTI_NODE_FORWARD, l, -1);
}

/* Lists what a half of the backward pass reads. Both halves count as readers of the learned parameters. The first half
 * may not need them, but counting it costs no time, because the second half, the input gradient, comes later and does
 * read them. Only the first half changes the output's gradient. */
static void reads_for_backward(draft *d, int l, bool first)
{
    tutti_graph *g = d->graph;
    const unsigned again = g->kernels[l].backward_reads;
    const bool is_loss = g->model->layers[l].op->is_loss;
    const tutti_layer_grads *own = &g->layer_grads[l];
    const bool in_parts = first && own->takes_parts;
    for (int i = 0; i < own->nparts && in_parts; i++) reads(d, TUTTI_DATUM_VALUE_GRAD, own->parts[i]);
    if (!is_loss && !in_parts) reads(d, TUTTI_DATUM_VALUE_GRAD, first ? own->out : own->changed);
    if (in_parts || (first && own->changed != own->out)) writes(d, TUTTI_DATUM_VALUE_GRAD, own->changed);
    if (again & TUTTI_READS_INPUT) reads_inputs(d, l, g->kernels[l].unread_inputs);
    if (again & TUTTI_READS_OUTPUT && !is_loss) reads(d, TUTTI_DATUM_VALUE, l);
    if (again & TUTTI_READS_SAVED && g->kernels[l].saved_bytes) reads(d, TUTTI_DATUM_SAVED, l);
    if (is_loss) reads(d, TUTTI_DATUM_BATCH, 0);
    each_param(d, reads, TUTTI_DATUM_PARAM, l, LEARNED);
    each_param(d, reads, TUTTI_DATUM_PARAM, l, FROZEN);
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

static void add_for_params(draft *d, void (*add)(draft *, int), int l, param_sort sort)
{
    for (int i = 0; i < d->graph->nparams; i++)
        if (d->graph->params[i].layer == l && sort_of(&d->graph->params[i]) == sort) add(d, i);
}

static void add_sum(draft *d, int l)
{
    const tutti_layer_grads *own = &d->graph->layer_grads[l];
    if (!own->nparts || own->takes_parts) return;
    for (int i = 0; i < own->nparts; i++) reads(d, TUTTI_DATUM_VALUE_GRAD, own->parts[i]);
    writes(d, TUTTI_DATUM_VALUE_GRAD, own->out);
    finish(d, TUTTI_NODE_SUM, l, -1);
}

static void writes_input_grads(draft *d, int l)
{
    const tutti_graph *g = d->graph;
    for (int i = 0; i < g->model->layers[l].nin; i++)
        if (g->layer_grads[l].in[i] >= 0 && !(g->kernels[l].passes_gradient >> i & 1))
            writes(d, TUTTI_DATUM_VALUE_GRAD, g->layer_grads[l].in[i]);
}

static void add_backward_data(draft *d, int l, bool first)
{
    if (tutti_graph_split_of(d->graph, l) >= 0) {
        add_split_backward_data(d, l);
        return;
    }
    reads_for_backward(d, l, first);
    writes_input_grads(d, l);
    finish(d, TUTTI_NODE_BACKWARD_DATA, l, -1);
}

static void add_backward(draft *d, int l)
{
    const bool is_split = tutti_graph_split_of(d->graph, l) >= 0;
    add_sum(d, l);
    if (is_split) add_split_backward(d, l);
    const bool runs_params = d->graph->runs_params[l];
    if (runs_params && !is_split) {
        each_param(d, writes, TUTTI_DATUM_PARAM_GRAD, l, LEARNED);
        reads_for_backward(d, l, true);
        if (d->graph->kernels[l].joint_backward) writes_input_grads(d, l);
        finish(d, TUTTI_NODE_BACKWARD_PARAMS, l, -1);
    }
    add_for_params(d, add_exchange, l, LEARNED); /* exchanges begin before the input gradient, to run beside it */
    if (d->graph->needs_input_grad[l]) add_backward_data(d, l, !runs_params);
    add_for_params(d, add_update, l, LEARNED);
}

/* Finds the layers that the last loss needs. Evaluation runs only these, and no auxiliary heads. */
static bool *find_needed(const tutti_graph *g, tutti_arena *arena)
{
    const tutti_model *m = g->model;
    bool *needed = TUTTI_ARENA_NEW(arena, bool, m->nlayers);
    for (int l = m->nlayers - 1; l >= 0; l--) {
        needed[l] |= g->config.training || l == m->nlayers - 1;
        for (int i = 0; i < m->layers[l].nin && needed[l]; i++)
            if (m->layers[l].in[i] >= 0) needed[m->layers[l].in[i]] = true;
    }
    return needed;
}

static void list_forward(draft *d, tutti_arena *work)
{
    const tutti_graph *g = d->graph;
    const bool training = g->config.training, *needed = find_needed(g, work);
    writes(d, TUTTI_DATUM_BATCH, 0);
    if (training) writes(d, TUTTI_DATUM_PARAM_GRAD, g->nparams - TUTTI_NCONTROLS + TUTTI_CONTROL_STOP);
    finish(d, TUTTI_NODE_LOAD, -1, -1);
    for (int l = 0; l < g->model->nlayers; l++) {
        if (needed[l]) add_forward(d, l);
        if (!training) continue;
        add_for_params(d, add_exchange, l, AVERAGED);
        add_for_params(d, add_update, l, AVERAGED);
    }
}

void tutti_graph_list_nodes(tutti_graph *g)
{
    const int nlayers = g->model->nlayers;
    tutti_arena work = {0};
    draft d = {.graph = g,
               .reads = TUTTI_ARENA_NEW(&work, tutti_datum, MAX_DATA + g->ngrads),
               .writes = TUTTI_ARENA_NEW(&work, tutti_datum, MAX_DATA)};
    g->nodes = TUTTI_ARENA_NEW(&g->arena, tutti_node, 1 + 4 * nlayers + 2 * g->nparams + TUTTI_NHOPS * g->nsplit);
    list_forward(&d, &work);
    if (g->config.training) {
        add_for_params(&d, add_exchange, -1, AVERAGED); /* control numbers are known after forward */
        add_for_params(&d, add_update, -1, AVERAGED);
        for (int l = nlayers - 1; l >= 0; l--) add_backward(&d, l);
    }
    tutti_arena_release(&work);
}
