/* SPDX-License-Identifier: Apache-2.0 */
/* plan_builder.h: the calls by which a method writes a plan: it declares memories and exchanges, which are equal on all
 * ranks, and lists the loops of one rank.
 *
 * The graph has a step's kernels. A method says what happens between them, at the places that the graph's exchange and
 * update nodes and the readers of parameters mark (tutti_builder_walk).
 *
 * Threads: one at a time. */
#ifndef TUTTI_PLAN_BUILDER_H
#define TUTTI_PLAN_BUILDER_H

#include "plan.h"

typedef struct tutti_plan_builder tutti_plan_builder;

struct tutti_emitter {
    /* Declares memories, schedules and exchanges. The first memories are weights, gradients and control numbers. */
    tutti_status (*declare)(tutti_plan_builder *b, tutti_failure *err);
    /* Lists the loops of tutti_builder_rank. */
    void (*list)(tutti_plan_builder *b);
};

const tutti_plan *tutti_builder_plan(const tutti_plan_builder *b);
int tutti_builder_rank(const tutti_plan_builder *b);

/* ---- declaring memories and exchanges ---- */

/* Declares a memory (below: an exchange) and returns its number. Names and members are copied. */
int tutti_builder_memory(tutti_plan_builder *b, const tutti_plan_memory *m);
/* True if gradients are rounded only where groups' sums of them are sent, as the configuration's algorithm does; false:
 * they are rounded before they are sent. */
bool tutti_builder_rounds_groups(const tutti_plan_builder *b);
/* sets plan->answer; without this call it is the first memory of the weights */
void tutti_builder_answer(tutti_plan_builder *b, int memory);
/* Says that ranks take steps of their own, and how they are admitted to the common memories. From now on
 * tutti_plan_is_far answers. */
void tutti_builder_admit(tutti_plan_builder *b, tutti_admission admission);
int tutti_builder_exchange(tutti_plan_builder *b, const tutti_plan_exchange *x);
/* tutti_builder_keep returns `size` zeroed bytes in the plan, for the numbers of memories and exchanges that `declare`
 * was given. tutti_builder_kept returns the first such memory; `list` must only read it, because several threads list
 * loops. */
void *tutti_builder_keep(tutti_plan_builder *b, size_t size);
void *tutti_builder_kept(const tutti_plan_builder *b);
/* A schedule among all ranks, lowered for their hosts; an equal schedule is reused. algorithm: NULL = the
 * configuration's. */
typedef struct {
    tutti_collective collective;
    const char *algorithm;
    bool in_place;
    bool of_slots; /* true: the schedule sums in the same class as the plan, canonical or fast; canonical sums are over
                    * all ranks */
} tutti_builder_request;
tutti_status tutti_builder_schedule(tutti_plan_builder *b, const tutti_builder_request *r, int *out,
                                    tutti_failure *err);
/* Makes a schedule among some ranks, for exchanges between these ranks, or between other ranks that are placed on hosts
 * in the same way. */
tutti_status tutti_builder_schedule_among(tutti_plan_builder *b, const tutti_builder_request *r, const int32_t *members,
                                          int nmembers, int *out, tutti_failure *err);

/* ---- listing the loops of a rank ---- */

/* Begins a loop: actions that are added from now on belong to it and are done in every step. */
void tutti_builder_loop(tutti_plan_builder *b, tutti_loop_driver driver);
/* Begins a part: actions that are added from now on belong to rank 0's loop TUTTI_EACH_ARRIVAL, in the part that serves
 * this worker. */
void tutti_builder_part(tutti_plan_builder *b, int worker);
/* Chooses steps: actions that are added from now on are done in these steps of a period. In a period of one step every
 * step is the last. */
void tutti_builder_steps(tutti_plan_builder *b, tutti_action_steps steps);
void tutti_builder_start(tutti_plan_builder *b, int exchange, unsigned when);
void tutti_builder_tell(tutti_plan_builder *b, int exchange, unsigned when);
void tutti_builder_wait(tutti_plan_builder *b, int exchange);
/* Waits until another loop has told the exchange these conditions. */
void tutti_builder_wait_told(tutti_plan_builder *b, int exchange, unsigned when);
/* Adds any other action: its kind, and the fields that its row uses; fields of kernels and exchanges are filled in. */
void tutti_builder_do(tutti_plan_builder *b, const tutti_action *what);

/* Lists all kernels of all slots of the rank, and the folds (sums of two copies) of their gradients. In between it
 * calls the functions of this struct, which the method gives; NULL = not called. */
typedef struct {
    /* called when the next kernel is the first to read the bucket's weights */
    void (*before_reading)(tutti_plan_builder *b, int bucket);
    /* called when the bucket's gradients are complete in the copies of the roots */
    void (*after_summing)(tutti_plan_builder *b, int bucket);
    /* called when no later kernel reads the bucket's weights */
    void (*after_reading)(tutti_plan_builder *b, int bucket);
    /* called when the control numbers are complete in the copies of the roots */
    void (*after_counting)(tutti_plan_builder *b);
} tutti_walk;
/* Makes walks call `travel` at the graph's travel nodes, where a split layer's data must be exchanged, because the next
 * node reads them. */
void tutti_builder_on_travel(tutti_plan_builder *b, void (*travel)(tutti_plan_builder *b, int node));
void tutti_builder_walk(tutti_plan_builder *b, const tutti_walk *walk);
/* Returns the bucket whose weights should be changed i-th: in exchange order, or, with config.by_need, in the order in
 * which the next step reads them. */
int tutti_builder_bucket_in_turn(const tutti_plan_builder *b, int i);

#endif
