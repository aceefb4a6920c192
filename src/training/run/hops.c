/* SPDX-License-Identifier: Apache-2.0 */
/* hops.c: what ranks that share a layer hand each other, and its kernels on that. Whose is what: training/graph/split.h. */
#include <string.h>

#include "train_impl.h"

static float *datum_at(const tutti_trainer *t, const tutti_split_layer *s, tutti_split_datum datum)
{
    const int number = (int)(s - t->plan->graph->split);
    return tutti_shared_vector(&t->shared, tutti_plan_split_memory(t->plan, number * TUTTI_NSPLIT_DATA + (int)datum),
                               0);
}

static const tutti_split_layer *layer_of(const tutti_trainer *t, const tutti_node *node)
{
    const tutti_graph *g = t->plan->graph;
    return &g->split[tutti_graph_split_of(g, node->layer)];
}

void tutti_split_bind(const tutti_trainer *t, const tutti_node *node, tutti_kernel_args *args)
{
    const tutti_split_layer *s = layer_of(t, node);
    args->in[0] = datum_at(t, s, TUTTI_SPLIT_INPUTS);
    args->out = datum_at(t, s, TUTTI_SPLIT_OUTPUTS);
    args->dout = datum_at(t, s, TUTTI_SPLIT_OUTPUT_GRADS);
    args->din[0] = s->wants_input_grads ? datum_at(t, s, TUTTI_SPLIT_INPUT_GRADS) : NULL;
}

/* Rows of all outputs and blocks of a part of them each: into the blocks, or out of them. */
static void move_blocks(const tutti_split_layer *s, int parts, int64_t nsamples, float *rows, float *blocks, bool into)
{
    const int64_t n = s->noutputs / parts;
    for (int64_t row = 0; row < nsamples; row++)
        for (int part = 0; part < parts; part++) {
            float *there = blocks + (part * nsamples + row) * n, *here = rows + row * s->noutputs + part * n;
            memcpy(into ? there : here, into ? here : there, (size_t)n * sizeof(float));
        }
}

void tutti_split_move(const tutti_trainer *t, const tutti_node *node, const tutti_kernel_args *activations)
{
    const tutti_split_layer *s = layer_of(t, node);
    const int parts = tutti_graph_parts(t->plan->graph);
    const int64_t nsamples = t->plan->samples_per_call;
    const int64_t own = tutti_plan_position(t->plan, t->rank) * nsamples * s->ninputs;
    switch (node->hop) {
    case TUTTI_HOP_SHOW_INPUTS:
        tutti_value_to_plain(&s->in, activations->in[0], datum_at(t, s, TUTTI_SPLIT_OWN_INPUTS) + own);
        break;
    case TUTTI_HOP_TAKE_OUTPUTS:
        move_blocks(s, parts, nsamples, activations->out, datum_at(t, s, TUTTI_SPLIT_BLOCKS), false);
        break;
    case TUTTI_HOP_SHOW_GRADS:
        move_blocks(s, parts, nsamples, activations->dout, datum_at(t, s, TUTTI_SPLIT_BLOCK_GRADS), true);
        break;
    case TUTTI_HOP_TAKE_GRADS:
        tutti_value_from_plain(&s->in, datum_at(t, s, TUTTI_SPLIT_OWN_INPUT_GRADS) + own, activations->din[0]);
        break;
    case TUTTI_HOP_GATHER_INPUTS: /* travel */
    case TUTTI_HOP_SWAP_OUTPUTS:
    case TUTTI_HOP_SWAP_GRADS:
    case TUTTI_HOP_SUM_GRADS:
    case TUTTI_NHOPS: break;
    }
}
