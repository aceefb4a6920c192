/* SPDX-License-Identifier: Apache-2.0 */
/* action_cost.c: kernels by their measured times, what only moves bytes by how many it moves. */
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

/* Of what moves so many f32 an element. The profile's update moves five: it reads three and writes two. A rule with other states
 * moves others, a fold reads two and writes one, a look reads one, for norms of tensors weights and states too: all are scaled by bytes,
 * which is what such loops take. */
static double moving_cost(const tutti_action_costs *p, int64_t elements, int moved)
{
    return (double)elements * p->profile->update_s_per_element * moved / 5;
}

/* Out of the activations and into what travels, or back: it reads and writes each element. */
static double move_cost(const tutti_action_costs *p, const tutti_node *n)
{
    const tutti_graph *g = p->plan->graph;
    const tutti_split_layer *s = &g->split[tutti_graph_split_of(g, n->layer)];
    const bool of_outputs = n->hop == TUTTI_HOP_TAKE_OUTPUTS || n->hop == TUTTI_HOP_SHOW_GRADS;
    return moving_cost(p, p->plan->samples_per_call * (of_outputs ? s->noutputs : s->ninputs), 2);
}

double tutti_action_seconds(const tutti_action_costs *p, const tutti_action *a)
{
    switch (a->kind) {
    case TUTTI_DO_KERNEL:
        if (p->plan->graph->nodes[a->node].kind == TUTTI_NODE_MOVE)
            return move_cost(p, &p->plan->graph->nodes[a->node]);
        return kernel_cost(p, &p->plan->graph->nodes[a->node]);
    case TUTTI_DO_FOLD: return a->bucket < 0 ? 0 : moving_cost(p, p->plan->buckets[a->bucket].count, 3);
    case TUTTI_DO_LOOK:
        return moving_cost(p, a->count,
                           p->plan->config.norms == TUTTI_NORMS_OF_TENSORS ? 2 + p->plan->config.nstates : 1);
    case TUTTI_DO_APPLY: return moving_cost(p, a->count, 3 + 2 * p->plan->config.nstates + a->pulled);
    case TUTTI_DO_ELASTIC: return moving_cost(p, a->count, 3);
    case TUTTI_DO_OUTER: return moving_cost(p, a->count, 6);
    case TUTTI_DO_MEET: return moving_cost(p, a->count, 4);
    case TUTTI_DO_COPY: return moving_cost(p, a->count, 2);
    case TUTTI_DO_CONVERT: return moving_cost(p, 3 * a->count / 2, 1); /* one side has half the bytes */
    case TUTTI_DO_PACE: /* waits are played where there is more than one rank: async_run.c */
    case TUTTI_DO_ENTER:
    case TUTTI_DO_LEAVE: return 0;
    case TUTTI_DO_START:
    case TUTTI_DO_TELL:
    case TUTTI_DO_WAIT:
    case TUTTI_NACTIONS: break;
    }
    return 0;
}
