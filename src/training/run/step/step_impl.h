/* SPDX-License-Identifier: Apache-2.0 */
/* step_impl.h: what the files that play a step's actions share. Threads: owner, or a stand-in with a trainer of its own (serve.c). */
#ifndef TUTTI_STEP_IMPL_H
#define TUTTI_STEP_IMPL_H

#include "../train_impl.h"
#include "step_work.h"

/* What all actions of one step share. */
typedef struct {
    const tutti_batch *batch;
    const float *samples; /* the batch's, where the device finds them */
    const int32_t *labels;
    tutti_update_step update;
    float stop; /* what this rank adds to @stop */
    bool ends_period;
    bool skips;  /* some rank has seen a gradient that is not finite: no update */
    double clip; /* what gradients are multiplied by, to be no longer than asked for; 0 = not known yet */
    char *arena;
} tutti_step_common;

/* Puts work on the device's queue. */
static inline void tutti_step_launch(tutti_trainer *t, tutti_work_kind kind, const void *args)
{
    t->launched = tutti_work_launch(t->device, kind, args);
}

/* step_kernels.c. Where a slot's part of a parameter's gradient goes; where its value is. */
float *tutti_step_gradient(const tutti_trainer *t, int copy, int param);
float *tutti_step_value(const tutti_trainer *t, int param);
/* What an action says to do for a node of the graph: its kernel, a sum of gradients, a move of a split layer. */
void tutti_step_run_node(tutti_trainer *t, const tutti_step_common *play, const tutti_action *a);
void tutti_step_fold(tutti_trainer *t, const tutti_action *a);

/* step_update.c. Looks at a bucket's sums, for a verdict and for norms. */
void tutti_step_look(tutti_trainer *t, const tutti_step_common *play, const tutti_action *a);
/* The first number of a verdict: of vectors that are not finite. */
int64_t tutti_step_count_bad(const tutti_trainer *t, int memory);
double tutti_step_clip(const tutti_trainer *t, const tutti_step_common *play, const tutti_action *a);
/* Elements [*first, *end) of the packed vector that belong to parameter p; false if there are none. */
bool tutti_step_cut(const tutti_plan *plan, int p, int64_t *first, int64_t *end);

#endif
