/* SPDX-License-Identifier: Apache-2.0 */
/* step_impl.h: what the files that play a step's actions share. Threads: owner, or a stand-in with a stepping of its
 * own. */
#ifndef TUTTI_STEP_IMPL_H
#define TUTTI_STEP_IMPL_H

#include "step.h"
#include "step_work.h"

/* All actions of one step share this. */
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
static inline void tutti_step_launch(tutti_stepping *s, tutti_work_kind kind, const void *args)
{
    s->launched = tutti_work_launch(s->device, kind, args);
}

/* step_kernels.c. Where a slot's part of a parameter's gradient goes; where its value is. */
float *tutti_step_gradient(const tutti_stepping *s, int copy, int param);
float *tutti_step_value(const tutti_stepping *s, int param);
/* An action does one of these for a node of the graph: its kernel, a sum of gradients, a move of a split layer. */
void tutti_step_run_node(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a);
void tutti_step_fold(tutti_stepping *s, const tutti_action *a);

/* step_update.c. Looks at a bucket's sums, for a verdict and for norms. */
void tutti_step_look(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a);
/* The first number of a verdict: of vectors that are not finite. */
int64_t tutti_step_count_bad(const tutti_stepping *s, int memory);
double tutti_step_clip(const tutti_stepping *s, const tutti_step_common *play, const tutti_action *a);
/* The rule, to elements of a bucket; gradients are multiplied by clip. Threads: any, of other elements. Returns when it
 * is over. */
tutti_event tutti_step_update(const tutti_stepping *s, const tutti_update_step *update, double clip,
                              const tutti_action *apply);
/* Elements [*first, *end) of the packed vector that belong to parameter p; false if there are none. */
bool tutti_step_cut(const tutti_plan *plan, int p, int64_t *first, int64_t *end);

/* hops.c. Where the kernel of a split layer finds what it reads and leaves what it writes: args already have the
 * activations of the layer. */
void tutti_split_bind(const tutti_stepping *s, const tutti_node *node, tutti_kernel_args *args);
/* Between these activations and memory for what travels. */
void tutti_split_move(tutti_stepping *s, const tutti_node *node, const tutti_kernel_args *activations);

/* ahead.c. take: the batch of this step, and where the device finds its samples. load: brings the next batch to a
 * device that wants that, once the step's work was launched. */
tutti_status tutti_ahead_take(tutti_stepping *s, tutti_batch *out, const float **samples_at, const int32_t **labels_at,
                              tutti_failure *err);
void tutti_ahead_load(tutti_stepping *s);
/* Makes the loader, and shows its memory to a device that samples are brought to; takes both back. */
tutti_status tutti_ahead_begin(tutti_stepping *s, const tutti_loader_config *config, tutti_failure *err);
void tutti_ahead_end(tutti_stepping *s);

/* beside.c. The parts of the plan's loop beside, bound to its exchanges; after tutti_shared_create. */
tutti_status tutti_beside_create(tutti_stepping *s, tutti_failure *err);
void tutti_beside_destroy(tutti_stepping *s); /* after tutti_shared_destroy */
/* An exchange is about to be started: what comes after its end goes by these numbers. */
void tutti_beside_starts(tutti_stepping *s, int exchange, const tutti_update_step *update);
/* An exchange was waited for, and with it the one that its part waited for. */
void tutti_beside_ended(tutti_stepping *s, int exchange);

/* handicap.c. As the rank's handicap has it, behind a step before which its computing had taken so long in all. */
void tutti_step_hold_up(tutti_stepping *s, int64_t step, int64_t computed_ns);
/* pretend.c. The kernel of this node waits instead of computing. */
void tutti_pretend(tutti_stepping *s, const tutti_node *node);
/* groups.c. One for each parameter of the plan's graph, as the configuration's groups have it. free() */
tutti_param_group *tutti_groups_make(const tutti_train_config *config);

#endif
