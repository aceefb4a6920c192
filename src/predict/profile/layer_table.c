/* SPDX-License-Identifier: Apache-2.0 */
/* layer_table.c: lists the layers whose parameters are exchanged, with their times and bytes. */
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the time that can hide a layer's exchange: the rest of the backward pass after the layer's gradients are
 * made, and the next forward pass up to the layer. */
static double window_s(const tutti_graph *g, const tutti_profile *profile, int layer)
{
    double sum = 0;
    bool before = true, after = false; /* before: the node runs before the layer's forward pass; after: it runs after
                                        * the gradients of the layer's parameters */
    for (int i = 0; i < g->nnodes; i++) {
        const tutti_node *n = &g->nodes[i];
        if (n->kind == TUTTI_NODE_FORWARD && n->layer == layer) before = false;
        if (n->kind == TUTTI_NODE_FORWARD && before) sum += profile->layers[n->layer].forward_s;
        if (n->kind == TUTTI_NODE_BACKWARD_PARAMS && after) sum += profile->layers[n->layer].params_s;
        if (n->kind == TUTTI_NODE_BACKWARD_DATA && after) sum += profile->layers[n->layer].data_s;
        if (n->kind == TUTTI_NODE_SUM && after) sum += profile->layers[n->layer].sum_s;
        if (n->kind == TUTTI_NODE_BACKWARD_PARAMS && n->layer == layer) after = true;
    }
    return sum;
}

int tutti_layer_hybrid_groups(int nranks, int64_t batch, int64_t noutputs)
{
    int best = 1;
    double least = INFINITY;
    for (int groups = 1; groups <= nranks; groups++) {
        if (nranks % groups) continue;
        const double inside = groups < nranks ? 2 * (double)batch / groups : 0;
        const double between = groups > 1 ? (double)noutputs * groups / nranks : 0;
        if (inside + between < least) least = inside + between, best = groups;
    }
    return best;
}

/* Counts the elements of a layer's parameters that travel (frozen ones do not), by their shapes or, if `padded`, with
 * the padding of the kernel's order. */
static int64_t count_elements(const tutti_graph *g, int layer, bool padded)
{
    int64_t n = 0;
    for (int p = 0; p < g->nparams; p++)
        if (g->params[p].layer == layer && !g->params[p].is_frozen)
            n += padded ? g->params[p].desc.elements : g->params[p].count;
    return n;
}

static double backward_s(const tutti_graph *g, const tutti_layer_time *time, int layer)
{
    return (g->runs_params[layer] ? time->params_s : 0) + (g->needs_input_grad[layer] ? time->data_s : 0) + time->sum_s;
}

/* Fills the row of a split layer. It exchanges its inputs and outputs, which no compute hides, and parts of its
 * parameters. */
static tutti_status fill_split(tutti_exchange_times *times, int layer, tutti_layer_prediction *row, tutti_failure *err)
{
    const tutti_plan *plan = times->plan;
    tutti_status st = TUTTI_OK;
    double *seconds = tutti_alloc((size_t)plan->nexchanges * sizeof *seconds);
    for (int i = 0; i < plan->nexchanges && !st; i++) {
        tutti_simulation simulated;
        if (tutti_plan_place(&plan->exchanges[i], plan->config.rank) < 0 || tutti_predict_share(plan, i) == 0) continue;
        st = tutti_exchange_times_at(times, i, plan->exchanges[i].count, &simulated, err);
        seconds[i] = simulated.seconds;
    }
    const tutti_split_time time = tutti_predict_split(plan, plan->config.rank, layer, seconds);
    row->bytes = time.received_bytes;
    row->exchange_s = time.travel_s + time.params_s;
    row->exposed_s = time.travel_s + fmax(0, time.params_s - row->window_s);
    row->hybrid_groups = plan->config.nranks / tutti_graph_parts(plan->graph);
    free(seconds);
    return st;
}

static tutti_status fill_row(tutti_exchange_times *times, const tutti_profile *profile, int layer,
                             tutti_layer_prediction *row, tutti_failure *err)
{
    const tutti_plan *plan = times->plan;
    const tutti_graph *g = plan->graph;
    const tutti_kernel *k = &g->kernels[layer];
    const tutti_layer_time *time = &profile->layers[layer];
    const int64_t calls = plan->my_nslots, elements = count_elements(g, layer, true);
    tutti_shape in[TUTTI_MAX_OP_INPUTS];
    tutti_bucket_time exchange;
    const tutti_status st = tutti_predict_bucket(times, elements, &exchange, err);
    if (st) return st;
    for (int i = 0; i < k->ninputs; i++) in[i] = k->in[i].shape;
    *row = (tutti_layer_prediction){.forward_s = time->forward_s * (double)calls,
                                    .backward_s = backward_s(g, time, layer) * (double)calls,
                                    .bytes = elements * (int64_t)sizeof(float),
                                    .exchange_s = exchange.all_s,
                                    .window_s =
                                        times->topology->kind == TUTTI_TOPOLOGY_HOST ? 0 : window_s(g, profile, layer)};
    strncpy(row->name, g->model->layers[layer].name, sizeof row->name - 1);
    row->flop_per_byte = 3 * k->op->flops(k->attrs, in, &k->out.shape) * (double)calls /
                         ((double)count_elements(g, layer, false) * sizeof(float));
    row->exposed_s = fmax(0, row->exchange_s - row->window_s);
    if (tutti_graph_split_of(g, layer) >= 0) return fill_split(times, layer, row, err);
    if (!strcmp(k->op->name, "dense"))
        row->hybrid_groups =
            tutti_layer_hybrid_groups(plan->config.nranks, plan->config.batch, k->params[0].shape.dim[0]);
    return TUTTI_OK;
}

tutti_status tutti_layer_table(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                               tutti_layer_prediction *out, int *nrows, tutti_failure *err)
{
    const tutti_graph *g = plan->graph;
    tutti_exchange_times times = {.plan = plan, .topology = t};
    tutti_status st = TUTTI_OK;
    *nrows = 0;
    for (int l = 0; l < g->model->nlayers && !st; l++) {
        if (count_elements(g, l, false)) st = fill_row(&times, profile, l, &out[(*nrows)++], err);
    }
    tutti_exchange_times_release(&times);
    return st;
}
