/* SPDX-License-Identifier: Apache-2.0 */
/* step_impl.h: shared by the files that play a step's actions. Threads: one at a time, or a stand-in with its own
 * stepping. */
#ifndef TUTTI_STEP_IMPL_H
#define TUTTI_STEP_IMPL_H

#include "step.h"
#include "step_work.h"

/* Values that all actions of one step share. */
typedef struct {
    const tutti_batch *batch;
    const float *samples; /* the batch's samples and labels, where the device finds them */
    const int32_t *labels;
    tutti_update_step update;
    float stop; /* the value that this rank adds to the control number @stop, by which ranks ask for an end, a
                 * checkpoint or a copy */
    bool ends_period;
    bool skips;  /* true if some rank has found a gradient that is not finite: no weight is updated */
    double clip; /* factor that limits the norm of the gradients; 0 = not known yet */
    char *arena;
} tutti_step_common;

/* Puts work on the device's queue. */
static inline void tutti_step_launch(tutti_stepping *s, tutti_work_kind kind, const void *args)
{
    s->launched = tutti_work_launch(s->device, kind, args);
}

/* step_kernels.c: returns where a slot's part of a parameter's gradient is written; the next function, where the
 * parameter's value is. */
float *tutti_step_gradient(const tutti_stepping *s, int copy, int param);
float *tutti_step_value(const tutti_stepping *s, int param);
/* Runs the node of the graph that an action names: a kernel, a sum of gradients, or a move of a split layer. */
void tutti_step_run_node(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a);
void tutti_step_fold(tutti_stepping *s, const tutti_action *a);

/* step_update.c: checks a bucket's sums: finds elements that are not finite, and sums squares for norms. */
void tutti_step_look(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a);
/* Returns the first number of a verdict (the memory with the results of these checks): how many vectors are not
 * finite. */
int64_t tutti_step_count_bad(const tutti_stepping *s, int memory);
double tutti_step_clip(const tutti_stepping *s, const tutti_step_common *play, const tutti_action *a);
/* Applies the rule to elements of a bucket; gradients are multiplied by clip. Threads: any, if no other thread has the
 * same elements. Returns an event that ends with it. */
tutti_event tutti_step_update(const tutti_stepping *s, const tutti_update_step *update, double clip,
                              const tutti_action *apply);
/* Cuts the action's elements, [*first, *end) of the packed vector, down to those of parameter p; false if none are
 * left. */
bool tutti_step_cut(const tutti_plan *plan, int p, int64_t *first, int64_t *end);

/* hops.c: sets in `args` where the kernel of a split layer reads and writes. Before the call `args` has the layer's
 * activations. */
void tutti_split_bind(const tutti_stepping *s, const tutti_node *node, tutti_kernel_args *args);
/* Copies between the layer's activations and the memory that is exchanged. */
void tutti_split_move(tutti_stepping *s, const tutti_node *node, const tutti_kernel_args *activations);

/* ahead.c: tutti_ahead_take returns the batch of this step, and where the device finds its samples. tutti_ahead_load
 * brings the next batch to a device that needs that; call it once the step's work was launched. */
tutti_status tutti_ahead_take(tutti_stepping *s, tutti_batch *out, const float **samples_at, const int32_t **labels_at,
                              tutti_failure *err);
void tutti_ahead_load(tutti_stepping *s);
/* Makes the loader, and registers its memory with a device that copies batches to its own memory; tutti_ahead_end
 * undoes both. */
tutti_status tutti_ahead_begin(tutti_stepping *s, const tutti_loader_config *config, tutti_failure *err);
void tutti_ahead_end(tutti_stepping *s);

/* beside.c: binds the parts of the plan's loop EACH_END to its exchanges; call it after tutti_shared_create. */
tutti_status tutti_beside_create(tutti_stepping *s, tutti_failure *err);
void tutti_beside_destroy(tutti_stepping *s); /* call it after tutti_shared_destroy */
/* Call it before an exchange is started: the part that follows the exchange updates by `update`. */
void tutti_beside_starts(tutti_stepping *s, int exchange, const tutti_update_step *update);
/* Call it when `exchange` was waited for. If a part tells this exchange that it is ready, the exchange that the part
 * waits for has ended too. */
void tutti_beside_ended(tutti_stepping *s, int exchange);

/* handicap.c: delays this rank as its handicap says, after a step. computed_ns: time of all its computing so far. */
void tutti_step_hold_up(tutti_stepping *s, int64_t step, int64_t computed_ns);
/* pretend.c: waits, in place of this node's kernel. */
void tutti_pretend(tutti_stepping *s, const tutti_node *node);
/* groups.c: returns rate and decay for each parameter of the plan's graph, from the configuration's groups. The caller
 * frees the array. */
tutti_param_group *tutti_groups_make(const tutti_train_config *config);

#endif
