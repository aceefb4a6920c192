/* SPDX-License-Identifier: Apache-2.0 */
/* plan_compose.h: training steps of all ranks as one schedule, for the checker.
 *
 * Each rank's part is its loop (sequence 0) and, beside it, the sequences of all its exchanges, several training steps one
 * after the other. What the loop does to shared memory becomes steps that the checker knows:
 *   a kernel reads a parameter          copy weights -> seen
 *   a kernel writes a gradient          copy the slot's leaf -> its gradient buffer
 *   a fold                              reduce of two gradient buffers
 *   an update of the own slice          copies grads -> each state, grads -> weights; gated, it reads the verdict too
 *   a look at the own slice             copy grads -> seen
 *   a gate                              copy -> flag; its exchange sums flags into verdict
 *   READY, FREE, waits                  nops, on which the steps of exchanges depend, or which depend on them
 * What goes in is one leaf a slot, what comes out are the weights after the last step, so that, beside races and deadlocks,
 * "every weight's update holds every slot's gradient exactly once, in canonical order" is proved for loop and schedules
 * together. Where the caller could start an exchange at different times, the earliest is taken.
 *
 * Threads: owner. */
#ifndef TUTTI_PLAN_COMPOSE_H
#define TUTTI_PLAN_COMPOSE_H

#include "../../collective/check/check_source.h"
#include "plan_impl.h"

/* Which of a bucket's two exchanges; the gate's is apart. A training step has two a bucket, numbered bucket by bucket, and
 * after them the gate's, if there is one. */
typedef enum { TUTTI_REDUCES, TUTTI_GATHERS, TUTTI_NEXCHANGES, TUTTI_GATES = TUTTI_NEXCHANGES } tutti_exchange_kind;

/* One step of a rank's loop. */
typedef struct {
    tutti_step_kind kind;
    int train_step, action;       /* which action it comes from, -1 = before or after all */
    int bucket, param;            /* -1 = none */
    int waits_bucket, waits_step; /* nop: for the end of this exchange (waits_kind), -1 = none */
    tutti_exchange_kind waits_kind;
    int64_t first, last; /* elements of the packed vector */
    int from[2], to;     /* buffers, -1 = none */
    unsigned when;
} tutti_loop_step;

typedef struct {
    tutti_loop_step *steps;
    int nsteps;
    int *ready, *is_free, *checked, *updated, *waited; /* train step, bucket: position of the loop step, -1 = none */
    int *gate_told, *gate_passed;                      /* train step: the same for the gate */
    int *first_step;                                   /* train step, exchange: index of its first step in the part */
    int nexchange_steps;                               /* they come before the loop's */
} tutti_loop;

/* One lowered schedule with the parts of all ranks. */
typedef struct {
    const tutti_schedule *schedule;
    tutti_part *parts;
    int nsequences, nbanks;
} tutti_composed_exchange;

typedef struct {
    const tutti_plan *plan;
    tutti_schedule_header head;
    int nranks, nbuckets, ntrain_steps, nsequences; /* of one exchange */
    tutti_composed_exchange *exchanges;
    int nexchanges;   /* different ones */
    int nbound;       /* exchanges of a training step */
    int *exchange_of; /* one of a training step -> one of exchanges */
    int64_t *edges;   /* boundaries of all slices, in elements, ascending */
    int nedges;
    int *scratch_base; /* rank, exchange of a training step: number of its first scratch buffer */
    tutti_arena arena;
} tutti_composition;

enum {
    TUTTI_MEMORY_OUT,
    TUTTI_MEMORY_SEEN,
    TUTTI_MEMORY_WEIGHTS,
    TUTTI_MEMORY_FLAG,
    TUTTI_MEMORY_VERDICT,
    TUTTI_MEMORY_GRADS /* plan->nroots_max of them, then the states of the rule */
};

tutti_status tutti_composition_create(tutti_composition *c, const tutti_plan *p, tutti_failure *err);
void tutti_composition_release(tutti_composition *c);
/* The loop of a rank (plan_loop.c); TUTTI_ERR_FAILED if a bucket is never ready or free. */
tutti_status tutti_composition_loop(const tutti_composition *c, int rank, tutti_arena *arena, tutti_loop *out,
                                    tutti_failure *err);

/* Buffers: inputs (one a slot), then those of the enum, gradient buffers, states, scratch of exchanges. */
int tutti_composition_nslots(const tutti_composition *c, int rank);
static inline int tutti_composition_buffer(const tutti_composition *c, int rank, int memory)
{
    return tutti_composition_nslots(c, rank) + memory;
}

static inline int tutti_composition_state(const tutti_composition *c, int state)
{
    return TUTTI_MEMORY_GRADS + c->plan->nroots_max + state;
}

/* What an exchange of a training step is, and the part of the packed vector that its slices cut: a gate's flag is one number,
 * here as long as the vector, which proves as much. */
static inline tutti_exchange_kind tutti_composition_kind(const tutti_composition *c, int exchange)
{
    return exchange == c->nbuckets * TUTTI_NEXCHANGES ? TUTTI_GATES
                                                      : (tutti_exchange_kind)(exchange % TUTTI_NEXCHANGES);
}
static inline tutti_bucket tutti_composition_range(const tutti_composition *c, int exchange)
{
    return tutti_composition_kind(c, exchange) == TUTTI_GATES ? (tutti_bucket){.count = c->plan->total}
                                                              : c->plan->buckets[exchange / TUTTI_NEXCHANGES];
}

/* plan_check_arena.c */
tutti_status tutti_plan_check_arena(const tutti_plan *p, tutti_failure *err);
/* Counter-examples in the words of the plan (plan_describe.c); owner is the composition. */
void tutti_plan_describe_step(const void *owner, int32_t rank, int32_t step, char *out, size_t size);
void tutti_plan_describe_cell(const void *owner, const tutti_slice *begin, const tutti_slice *end, char *out,
                              size_t size);

#endif
