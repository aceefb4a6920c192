/* SPDX-License-Identifier: Apache-2.0 */
/* hops.c: moves the data that ranks of a split layer send each other, and binds the layer's kernels to these data.
 * training/graph/split.h says which rank has which data. */
#include "step_impl.h"

static float *datum_at(const tutti_stepping *s, const tutti_split_layer *layer, tutti_split_datum datum)
{
    const int number = (int)(layer - s->plan->graph->split);
    return tutti_shared_vector(&s->shared, tutti_plan_split_memory(s->plan, number * TUTTI_NSPLIT_DATA + (int)datum),
                               0);
}

static const tutti_split_layer *layer_of(const tutti_stepping *s, const tutti_node *node)
{
    const tutti_graph *g = s->plan->graph;
    return &g->split[tutti_graph_split_of(g, node->layer)];
}

void tutti_split_bind(const tutti_stepping *s, const tutti_node *node, tutti_kernel_args *args)
{
    const tutti_split_layer *layer = layer_of(s, node);
    args->in[0] = datum_at(s, layer, TUTTI_SPLIT_INPUTS);
    args->out = datum_at(s, layer, TUTTI_SPLIT_OUTPUTS);
    args->dout = datum_at(s, layer, TUTTI_SPLIT_OUTPUT_GRADS);
    args->din[0] = layer->wants_input_grads ? datum_at(s, layer, TUTTI_SPLIT_INPUT_GRADS) : NULL;
}

static void move_blocks(tutti_stepping *s, const tutti_split_layer *layer, float *rows, float *blocks, bool into)
{
    const tutti_blocks_work w = {.rows = rows,
                                 .blocks = blocks,
                                 .nsamples = s->plan->samples_per_call,
                                 .noutputs = layer->noutputs,
                                 .parts = tutti_graph_parts(s->plan->graph),
                                 .into = into};
    tutti_step_launch(s, TUTTI_WORK_BLOCKS, &w);
}

void tutti_split_move(tutti_stepping *s, const tutti_node *node, const tutti_kernel_args *activations)
{
    const tutti_split_layer *layer = layer_of(s, node);
    const int64_t own = tutti_plan_position(s->plan, s->rank) * s->plan->samples_per_call * layer->ninputs;
    tutti_plain_work w = {.value = &layer->in};
    switch (node->hop) {
    case TUTTI_HOP_SHOW_INPUTS:
        w.from = activations->in[0];
        w.to = datum_at(s, layer, TUTTI_SPLIT_OWN_INPUTS) + own;
        tutti_step_launch(s, TUTTI_WORK_TO_PLAIN, &w);
        break;
    case TUTTI_HOP_TAKE_OUTPUTS:
        move_blocks(s, layer, activations->out, datum_at(s, layer, TUTTI_SPLIT_BLOCKS), false);
        break;
    case TUTTI_HOP_SHOW_GRADS:
        move_blocks(s, layer, activations->dout, datum_at(s, layer, TUTTI_SPLIT_BLOCK_GRADS), true);
        break;
    case TUTTI_HOP_TAKE_GRADS:
        w.from = datum_at(s, layer, TUTTI_SPLIT_OWN_INPUT_GRADS) + own;
        w.to = activations->din[0];
        tutti_step_launch(s, TUTTI_WORK_FROM_PLAIN, &w);
        break;
    case TUTTI_HOP_GATHER_INPUTS: /* an exchange, not a copy, does the work of these hops */
    case TUTTI_HOP_SWAP_OUTPUTS:
    case TUTTI_HOP_SWAP_GRADS:
    case TUTTI_HOP_SUM_GRADS:
    case TUTTI_NHOPS: break;
    }
}
