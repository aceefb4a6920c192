/* SPDX-License-Identifier: Apache-2.0 */
/* plan_builder.h: the calls by which a method writes a plan: it declares memories and exchanges, alike on all ranks,
 * and lists the loops of one rank.
 *
 * A step's kernels are the graph's business. A method says what happens between them, at the places that the graph's
 * exchange and update nodes and the readers of parameters mark (tutti_builder_walk).
 *
 * Threads: owner. */
#ifndef TUTTI_PLAN_BUILDER_H
#define TUTTI_PLAN_BUILDER_H

#include "plan.h"

typedef struct tutti_plan_builder tutti_plan_builder;

struct tutti_emitter {
    /* Memories, schedules and exchanges. The first memories are weights, gradients, control numbers:
     * tutti_builder_basics. */
    tutti_status (*declare)(tutti_plan_builder *b, tutti_failure *err);
    /* The loops of tutti_builder_rank. */
    void (*list)(tutti_plan_builder *b);
};

const tutti_plan *tutti_builder_plan(const tutti_plan_builder *b);
int tutti_builder_rank(const tutti_plan_builder *b);

/* ---- what there is ---- */

/* Return the new one's number. Names and members are copied. */
int tutti_builder_memory(tutti_plan_builder *b, const tutti_plan_memory *m);
/* Gradients are rounded where groups' sums of them are sent, by the configuration's algorithm; else before they are. */
bool tutti_builder_rounds_groups(const tutti_plan_builder *b);
void tutti_builder_answer(tutti_plan_builder *b, int memory); /* unless said, the first memory of the weights */
/* Ranks take steps of their own and visit the common memories so; from now on it is known who is far from these
 * (tutti_plan_is_far). */
void tutti_builder_admit(tutti_plan_builder *b, tutti_admission admission);
int tutti_builder_exchange(tutti_plan_builder *b, const tutti_plan_exchange *x);
/* Zeroed memory of so many bytes in the plan, for the numbers that declare got. tutti_builder_kept returns the first;
 * list only reads it: loops are listed by several threads. */
void *tutti_builder_keep(tutti_plan_builder *b, size_t size);
void *tutti_builder_kept(const tutti_plan_builder *b);
/* A schedule among all ranks, lowered for their hosts; an equal one is taken again. algorithm: NULL = the
 * configuration's. */
typedef struct {
    tutti_collective collective;
    const char *algorithm;
    bool in_place;
    bool of_slots; /* sums in the class of the plan's, which canonical ones are over all ranks */
} tutti_builder_request;
tutti_status tutti_builder_schedule(tutti_plan_builder *b, const tutti_builder_request *r, int *out,
                                    tutti_failure *err);
/* The same among some, for exchanges between these, or between others that sit alike. */
tutti_status tutti_builder_schedule_among(tutti_plan_builder *b, const tutti_builder_request *r, const int32_t *members,
                                          int nmembers, int *out, tutti_failure *err);

/* ---- what a rank does ---- */

/* What is added from now on belongs to this loop, and is done in every step. */
void tutti_builder_loop(tutti_plan_builder *b, tutti_loop_driver driver);
/* ... to the loop of arrivals, as the part of this worker. */
void tutti_builder_part(tutti_plan_builder *b, int worker);
/* ... is done in these steps of a period: a period of one step has no others. */
void tutti_builder_steps(tutti_plan_builder *b, tutti_action_steps steps);
void tutti_builder_start(tutti_plan_builder *b, int exchange, unsigned when);
void tutti_builder_tell(tutti_plan_builder *b, int exchange, unsigned when);
void tutti_builder_wait(tutti_plan_builder *b, int exchange);
/* ... until another loop has told it this. */
void tutti_builder_wait_told(tutti_plan_builder *b, int exchange, unsigned when);
/* Anything else: its kind, and what the row says of its fields; those of kernels and exchanges are filled in. */
void tutti_builder_do(tutti_plan_builder *b, const tutti_action *what);

/* All kernels of all slots of the rank, and the folds of their gradients; between them the method is asked. NULL:
 * nothing. */
typedef struct {
    void (*before_reading)(tutti_plan_builder *b,
                           int bucket); /* the first kernel that reads the bucket's weights comes next */
    void (*after_summing)(tutti_plan_builder *b,
                          int bucket); /* the gradients of the bucket are whole in the copies of the roots */
    void (*after_reading)(tutti_plan_builder *b, int bucket); /* nobody reads the bucket's weights any more */
    void (*after_counting)(tutti_plan_builder *b);            /* the same as after_summing, of the control numbers */
} tutti_walk;
/* From now on walks ask this where the graph's travel nodes stand: what a split layer has is to travel, and is read
 * next. */
void tutti_builder_on_travel(tutti_plan_builder *b, void (*travel)(tutti_plan_builder *b, int node));
void tutti_builder_walk(tutti_plan_builder *b, const tutti_walk *walk);
/* The bucket whose weights should change as the i-th: in exchange order, or by need. */
int tutti_builder_bucket_in_turn(const tutti_plan_builder *b, int i);

#endif
