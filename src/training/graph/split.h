/* SPDX-License-Identifier: Apache-2.0 */
/* split.h: layers whose outputs several ranks share, as hybrid parallelism has them (Das et al. 2016, PCL-DNN, arXiv
 * 1602.06709).
 *
 * A group is `parts` neighbouring ranks. Each rank of the group computes one part of a split layer's outputs, for the
 * samples of the whole group. It runs every other layer on its own samples only. So a split layer is a kernel between
 * four exchanges of the group:
 *
 *   forward    own inputs -> inputs of all             gathered: each member's samples at their place
 *              own outputs of all samples -> blocks    swapped: all outputs of the own samples
 *   backward   gradients in blocks -> of own outputs   swapped
 *              parts of the inputs' gradients -> own   summed, each member its samples; only where the inputs need them
 *
 * Memory that other ranks touch is row-major f32, in places of its own (tutti_split_place). Moves copy between these
 * places and the rank's activations. A block is (own samples, outputs of one member). Threads: frozen with the
 * graph. */
#ifndef TUTTI_SPLIT_H
#define TUTTI_SPLIT_H

#include "../model/model.h"

typedef struct {
    int parts;                 /* number of ranks that share a layer's outputs; 0 or 1: no layer is shared */
    const char *const *layers; /* names of the layers that are shared; copied */
    int nlayers;
} tutti_split_layers;

/* Checks that the names are dense layers of the model, that none is repeated, and that `parts` divides their
 * outputs. */
tutti_status tutti_split_check(const tutti_split_layers *split, const tutti_model *model, tutti_failure *err);

/* The kinds of data that a split layer keeps in exchanged memory (tutti_split_place). */
typedef enum {
    TUTTI_SPLIT_OWN_INPUTS, /* inputs of this rank's samples, at their place among all samples of the group */
    TUTTI_SPLIT_INPUTS,
    TUTTI_SPLIT_OUTPUTS, /* this rank's part of the outputs, for all samples of the group */
    TUTTI_SPLIT_BLOCKS,  /* all outputs of this rank's samples, in one block for each member of the group */
    TUTTI_SPLIT_BLOCK_GRADS,
    TUTTI_SPLIT_OUTPUT_GRADS,
    /* the output gradients after the kernel's first backward pass has changed them in place, where it does so */
    TUTTI_SPLIT_MASKED_GRADS,
    /* contribution of this rank's outputs to the gradients of the inputs, for all samples of the group */
    TUTTI_SPLIT_INPUT_GRADS,
    TUTTI_SPLIT_OWN_INPUT_GRADS, /* the sum of the input gradients over the group, for this rank's samples, at their
                                  * place */
    TUTTI_NSPLIT_DATA
} tutti_split_datum;

/* The hops of a split layer's data: from one of its places to the next, or from or to an activation of the rank. */
typedef enum {
    TUTTI_HOP_SHOW_INPUTS,   /* move: the layer's input -> own inputs */
    TUTTI_HOP_GATHER_INPUTS, /* travel: own inputs -> inputs of all members */
    TUTTI_HOP_SWAP_OUTPUTS,  /* travel: each member's outputs -> the blocks of the samples' owners */
    TUTTI_HOP_TAKE_OUTPUTS,  /* move: blocks -> the layer's output */
    TUTTI_HOP_SHOW_GRADS,    /* move: the output's gradient -> block grads */
    TUTTI_HOP_SWAP_GRADS,    /* travel: block grads -> gradients of this rank's outputs */
    TUTTI_HOP_SUM_GRADS,     /* travel: input grads -> own input grads */
    TUTTI_HOP_TAKE_GRADS,    /* move: own input grads -> the input's gradient */
    TUTTI_NHOPS
} tutti_hop;

typedef struct {
    int layer;
    int64_t ninputs, noutputs; /* inputs and outputs per sample, for the whole layer */
    tutti_value in, out;       /* shapes in this rank's activations: own samples, all outputs */
    bool wants_input_grads;
    bool masks;      /* true if the kernel changes the output gradients that it reads */
    int64_t nparams; /* elements of all the layer's parameters, over all parts */
} tutti_split_layer;

/* Memory that is exchanged; the data in one place lie in it one after the other. Each layer has OWN_PLACES of its own.
 * All layers share SHARED_PLACES, because the data in these are read before another layer needs them. */
typedef struct {
    const char *name;
    int64_t elements;
} tutti_split_place;
enum { TUTTI_SPLIT_OWN_PLACES = 2, TUTTI_SPLIT_SHARED_PLACES = 3 };

/* Number of elements that a rank receives in a step for one split layer, with `nranks` ranks, a global batch of `batch`
 * samples and groups of `parts` ranks. activations: its activations and their gradients. params: gradients of its
 * parameters, and the parameters. parts = 1 means data parallel. */
typedef struct {
    int64_t activations, params;
} tutti_split_volume;
tutti_split_volume tutti_split_volume_of(const tutti_split_layer *s, int nranks, int64_t batch, int parts);

#endif
