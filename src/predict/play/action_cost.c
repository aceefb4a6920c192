/* SPDX-License-Identifier: Apache-2.0 */
/* action_cost.c: predicts the seconds of an action of a plan: kernels by their measured times, others by the bytes that
 * they move. */
#include "action_cost.h"

static double kernel_cost(const tutti_action_costs *p, const tutti_node *n)
{
    const tutti_layer_time *time = &p->profile->layers[n->layer];
    switch (n->kind) {
    case TUTTI_NODE_FORWARD: return time->forward_s;
    case TUTTI_NODE_BACKWARD_PARAMS: return time->params_s;
    case TUTTI_NODE_BACKWARD_DATA: return time->data_s;
    case TUTTI_NODE_SUM: return time->sum_s;
    default: return 0;
    }
}

/* Returns the seconds of an action that moves `bytes`. They are scaled from the profile's update, which moves 20 bytes
 * per element (it reads three f32 and writes two). */
static double moving_cost(const tutti_action_costs *p, double bytes)
{
    return bytes * p->profile->update_s_per_element / 20;
}

/* Returns the seconds of copying activations into the memory that is exchanged, or back: each element is read and
 * written. */
static double move_cost(const tutti_action_costs *p, const tutti_node *n)
{
    const tutti_graph *g = p->plan->graph;
    const tutti_split_layer *s = &g->split[tutti_graph_split_of(g, n->layer)];
    const bool of_outputs = n->hop == TUTTI_HOP_TAKE_OUTPUTS || n->hop == TUTTI_HOP_SHOW_GRADS;
    const int64_t elements = p->plan->samples_per_call * (of_outputs ? s->noutputs : s->ninputs);
    return moving_cost(p, 2 * (double)sizeof(float) * (double)elements);
}

/* Returns the seconds that an action computes. Actions that wait for other ranks take 0 here; async_run.c plays such
 * waits. */
double tutti_action_seconds(const tutti_action_costs *p, const tutti_action *a)
{
    if (a->node < 0) return moving_cost(p, tutti_action_bytes(p->plan, a));
    const tutti_node *n = &p->plan->graph->nodes[a->node];
    return n->kind == TUTTI_NODE_MOVE ? move_cost(p, n) : kernel_cost(p, n);
}
