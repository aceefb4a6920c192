/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h: a network forward only, for one number of samples: the kernels and the placement of an inference graph,
 * which compute in the caller's memory of a device. Private to src/training/run. Threads: owner. */
#ifndef TUTTI_FORWARD_H
#define TUTTI_FORWARD_H

#include "../../graph/graph.h"
#include "../../plan/placement.h"
#include "staging.h"

typedef struct {
    tutti_graph *graph; /* NULL = no samples */
    tutti_placement placed;
} tutti_forward;

/* `like`: a graph of the model, in whose orders of parameters the weights will lie. */
tutti_status tutti_forward_make(const tutti_graph *like, int64_t batch, tutti_arena *arena, tutti_forward *out,
                                tutti_failure *err);
void tutti_forward_release(tutti_forward *f);

/* What one run computes with, all of it the device's. */
typedef struct {
    const float *weights;
    const int64_t *param_offset; /* a param of the graph; the host's */
    const float *samples;
    const int32_t *labels;
    char *memory;                    /* placed.bytes, at a multiple of 64 */
    const struct tutti_relus *relus; /* whose zeros are added to zeros, one a ReLU; NULL = nobody counts them */
    int64_t *zeros;
} tutti_forward_run_args;
/* On the device of `staging`, whose figures it uses. *loss: the sum over the samples; *correct: how many are right. */
void tutti_forward_run(const tutti_forward *f, const tutti_forward_run_args *a, const tutti_staging *staging,
                       float *loss, int32_t *correct);
/* After a run there: (samples, classes) probabilities, and the class of each sample's largest logit, the first of
 * equals: the one that `correct` goes by. */
void tutti_forward_answers(const tutti_forward *f, const tutti_forward_run_args *a, const tutti_device *device,
                           float *probability, int32_t *predicted);

#endif
