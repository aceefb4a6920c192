/* SPDX-License-Identifier: Apache-2.0 */
/* split.h: layers whose outputs some ranks share, as hybrid parallelism has them (Das et al. 2016, PCL-DNN, arXiv
 * 1602.06709).
 *
 * `parts` neighbouring ranks are a group. Of a split layer each of them computes one part of the outputs, but of the
 * samples of the whole group; every other layer it runs on its own samples. So a split layer is a kernel between four
 * exchanges of the group:
 *
 *   forward    own inputs -> inputs of all             gathered: each member's samples at their place
 *              own outputs of all samples -> blocks    swapped: all outputs of the own samples
 *   backward   gradients in blocks -> of own outputs   swapped
 *              parts of the inputs' gradients -> own   summed, each member its samples; where somebody wants them
 *
 * What lies in memory that others touch is row-major f32, in places of its own (tutti_split_place); moves bring it
 * there from the rank's activations and back. A block is (own samples, outputs of one member). Threads: frozen with the
 * graph. */
#ifndef TUTTI_SPLIT_H
#define TUTTI_SPLIT_H

#include "../model/model.h"

typedef struct {
    int parts;                 /* ranks that share a layer's outputs; 0 or 1: nobody does */
    const char *const *layers; /* names; copied */
    int nlayers;
} tutti_split_layers;

/* That these are dense layers of the model, each once, and their outputs divide. */
tutti_status tutti_split_check(const tutti_split_layers *split, const tutti_model *model, tutti_failure *err);

/* What a split layer has in those places. */
typedef enum {
    TUTTI_SPLIT_OWN_INPUTS, /* of this rank's samples, at their place among the group's */
    TUTTI_SPLIT_INPUTS,
    TUTTI_SPLIT_OUTPUTS, /* this rank's part, of all samples of the group */
    TUTTI_SPLIT_BLOCKS,  /* all outputs of this rank's samples, a block a member */
    TUTTI_SPLIT_BLOCK_GRADS,
    TUTTI_SPLIT_OUTPUT_GRADS,
    TUTTI_SPLIT_MASKED_GRADS,    /* what the kernel's first backward pass makes of these in place, where it does */
    TUTTI_SPLIT_INPUT_GRADS,     /* what this rank's outputs add to them, of all samples of the group */
    TUTTI_SPLIT_OWN_INPUT_GRADS, /* the sum over the group, of this rank's samples, at their place */
    TUTTI_NSPLIT_DATA
} tutti_split_datum;

/* How one becomes another, or an activation of the rank. */
typedef enum {
    TUTTI_HOP_SHOW_INPUTS,   /* move: the layer's input -> own inputs */
    TUTTI_HOP_GATHER_INPUTS, /* travels */
    TUTTI_HOP_SWAP_OUTPUTS,  /* travels */
    TUTTI_HOP_TAKE_OUTPUTS,  /* move: blocks -> the layer's output */
    TUTTI_HOP_SHOW_GRADS,    /* move: the output's gradient -> block grads */
    TUTTI_HOP_SWAP_GRADS,    /* travels */
    TUTTI_HOP_SUM_GRADS,     /* travels */
    TUTTI_HOP_TAKE_GRADS,    /* move: own input grads -> the input's gradient */
    TUTTI_NHOPS
} tutti_hop;

typedef struct {
    int layer;
    int64_t ninputs, noutputs; /* of a sample, of the whole layer */
    tutti_value in, out;       /* as the rank's activations have them: own samples, all outputs */
    bool wants_input_grads;
    bool masks;      /* the kernel changes the gradients that it is given */
    int64_t nparams; /* elements of all its parameters, whole */
} tutti_split_layer;

/* Memory for what travels, one after the other of the data that are in it. Places of one layer, then those that all
 * share because what is in them is read at once. */
typedef struct {
    const char *name;
    int64_t elements;
} tutti_split_place;
enum { TUTTI_SPLIT_OWN_PLACES = 2, TUTTI_SPLIT_SHARED_PLACES = 3 };

/* How many elements a rank receives in a step for one split layer of `nranks` ranks and a batch, in groups of `parts`:
 * its activations and their gradients, its parameters' gradients and the parameters. parts 1: data parallel. */
typedef struct {
    int64_t activations, params;
} tutti_split_volume;
tutti_split_volume tutti_split_volume_of(const tutti_split_layer *s, int nranks, int64_t batch, int parts);

#endif
