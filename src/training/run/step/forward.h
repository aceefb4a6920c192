/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h: runs a network's forward pass alone, for a fixed number of samples. It has the kernels and the placement
 * of an inference graph, which computes in memory that the caller has on a device. Private to src/training/run.
 * Threads: one at a time. */
#ifndef TUTTI_FORWARD_H
#define TUTTI_FORWARD_H

#include "../../graph/graph.h"
#include "../../plan/placement.h"
#include "staging.h"

typedef struct {
    tutti_graph *graph; /* NULL = no samples, nothing to run */
    tutti_placement placed;
} tutti_forward;

/* Makes the graph and placement. `like`: a graph of the model; the weights will lie in its orders of parameters. */
tutti_status tutti_forward_make(const tutti_graph *like, int64_t batch, tutti_arena *arena, tutti_forward *out,
                                tutti_failure *err);
void tutti_forward_release(tutti_forward *f);

/* Arguments of one forward run; all memory is the device's, unless a comment says otherwise. */
typedef struct {
    const float *weights;
    const int64_t *param_offset; /* per param of the graph: its offset; in the host's memory */
    const float *samples;
    const int32_t *labels;
    char *memory; /* placed.bytes bytes, aligned to 64 */
    /* the ReLUs whose zeros are added to `zeros`, one number each; NULL = zeros are not counted */
    const struct tutti_relus *relus;
    int64_t *zeros;
} tutti_forward_run_args;
/* Runs on the device of `staging`, whose loss and count it uses. *loss: the sum over the samples; *correct: how many
 * answers are right. */
void tutti_forward_run(const tutti_forward *f, const tutti_forward_run_args *a, const tutti_staging *staging,
                       float *loss, int32_t *correct);
/* Call it after a run. probability: (samples, classes); predicted: for each sample the class of the largest logit, the
 * lowest one of equals; `correct` counts how often it is the label. */
void tutti_forward_answers(const tutti_forward *f, const tutti_forward_run_args *a, const tutti_device *device,
                           float *probability, int32_t *predicted);

#endif
