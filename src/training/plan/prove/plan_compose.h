/* SPDX-License-Identifier: Apache-2.0 */
/* plan_compose.h: the composition: training steps of all ranks as one schedule, for the checker.
 *
 * Each rank's part is its loops, one run after the other (sequence 0), and, beside it, the sequences of all its
 * exchanges. What a loop does to memory becomes steps that the checker knows:
 *   a kernel reads a parameter          copy weights -> seen
 *   a kernel writes a gradient          copy the slot's leaf -> the copy of the gradients
 *   a fold                              reduce of two copies
 *   anything on elements                a copy for each flow of its row (action.h): what is only read goes to `seen`
 *   START, TELL, WAIT                   nops, on which the steps of exchanges depend, or which depend on them
 * The parts of the loop beside are sequences of their own: no other order is assumed of them than what they wait for.
 * An exchange that is waited for there alone may be started again when the one that its part makes ready has been
 * waited for. What goes in is one leaf a slot, what comes out is what the method declares to hold every slot's part:
 * so, beside races and deadlocks, "every weight's update holds every slot's gradient exactly once, in canonical order"
 * is proved for loops and schedules together. Where the caller could start an exchange at different times, the earliest
 * is taken.
 *
 * The step is unrolled twice, and as often as it takes all exchanges to be at their first bank of scratch again; the
 * checker looks at two such rounds. A step knows of earlier ones only what memories hold and which bank is next, so
 * that every later round is one that was looked at. What happens between two steps only sometimes (a test, and after it
 * perhaps a checkpoint) makes three compositions: without, with the first, with both; each waits for what it needs, so
 * that what two neighbours may do to each other is in one of them.
 *
 * A period of H steps is unrolled as one of min(H, 2). Between two exchanges of weights a step touches its own rank's
 * memory alone, but for exchanges of its own: so whatever holds between the first step of a period and the second, and
 * between the last and the exchange, holds for any number of steps between them, which all begin with what the one
 * before left and are told nothing else.
 *
 * Of an exchange between some ranks only those have sequences, and only they may start it, tell it or wait for it; how
 * often it is started is asked of one of them.
 *
 * Of a split layer the kernels of a rank see the samples of its group. So the gradients that they write hold the leaves
 * of all its members: these are taken down where the rank has waited for the group's inputs, from the members' own
 * inputs to the composition, which are symbols and no memory. That activations and parts of outputs are what kernels
 * want is proved by itself (plan_split.c), and that what they lie in is not touched by two at a time, here: memory for
 * what travels is read and written as the graph's nodes say, all of it by each. A rank has only its part of such a
 * layer's weights after a step, which is what it owes; before a test it has all.
 *
 * The index space is the packed vector; numbers that are to hold every slot's part have a stretch of their own behind
 * it, as long as the vector, so that one proof serves them too. Others are as long as the vector, which proves as much.
 *
 * Threads: owner. */
#ifndef TUTTI_PLAN_COMPOSE_H
#define TUTTI_PLAN_COMPOSE_H

#include "../../../collective/check/check_source.h"
#include "../plan_impl.h"

/* One run of a loop. */
typedef struct {
    tutti_loop_driver driver;
    int train_step;
    bool ends_period; /* the step */
} tutti_loop_run;

/* One step of a rank's sequence 0. */
typedef struct {
    tutti_step_kind kind;
    int part;                 /* of the loop beside, from 1; 0 = of sequence 0 */
    int run, action;          /* of the composition's runs, of its loop; action -1 = before or after all */
    int param;                /* -1 = none */
    int exchange, invocation; /* nop: for whose end it waits; -1 = for none's */
    int64_t first, last;      /* of the index space; or of a vector that is cut into */
    int of;                   /* so many parts; 0 = of the index space */
    int after;                /* nop: another one's position that it waits for; -1 = none's */
    int from[2], to;          /* buffers, -1 = none */
    int peer;                 /* the last of `from` is this rank's input; -1 = all are the own rank's */
    unsigned when;
} tutti_loop_step;

typedef struct {
    tutti_loop_step *steps;
    int nsteps;
    /* Invocation, exchange: positions of loop steps, -1 = none. */
    int *begun, *ready, *is_free, *waited;
    int *first_step;     /* the same: index of its first step in the part */
    int nexchange_steps; /* they come before the loop's */
} tutti_unrolled;

/* One lowered schedule with the parts of all ranks. */
typedef struct {
    const tutti_schedule *schedule;
    tutti_part *parts;
    int nranks, nsequences, nbanks;
} tutti_composed_schedule;

typedef struct {
    const tutti_plan *plan;
    int result;             /* memory whose content is shown in the vector's place of the index space */
    int result_of_zero;     /* rank 0 shows this one instead; -1 = it does not */
    tutti_loop_driver last; /* drivers beyond it stay away */
    tutti_schedule_header head;
    int nranks, nsequences; /* of one exchange */
    tutti_composed_schedule *schedules;
    tutti_part none; /* of a rank that takes no part */
    tutti_loop_run *runs;
    int nruns;
    int *ninvocations, most_invocations; /* an exchange; of any */
    int64_t *edges;                      /* boundaries of all slices, in elements, ascending */
    int nedges;
    int *memory_base;  /* a memory: number of its first copy, from the end of the inputs */
    int *scratch_base; /* rank, exchange: number of its first scratch buffer */
    int *window;       /* a memory: its stretch of the index space */
    int nwindows;
    /* Of one class of elements (plan_alike.h): what each rank does with them, in parts of the exchanges' vector; NULL:
     * of all elements. */
    const tutti_unrolled *loops;
    bool owes_nothing;
    int owed_parts; /* of the class's vector a rank owes its part of as many; 1: all of it */
    tutti_arena arena;
    const tutti_headway *headway; /* hears that the proof goes on; may be NULL */
} tutti_composition;

enum { TUTTI_COMPOSED_OUT, TUTTI_COMPOSED_SEEN, TUTTI_COMPOSED_GROUP, TUTTI_COMPOSED_FIRST_MEMORY };

/* result: a vector that the method declares to hold all. last: loops of this driver and those before it are gone
 * through whenever they may be, others never. */
tutti_status tutti_composition_create(tutti_composition *c, const tutti_plan *p, int result, tutti_loop_driver last,
                                      tutti_failure *err);
void tutti_composition_release(tutti_composition *c);
/* The proof: what its head says is owed holds, and that no two accesses race (plan_check.c). */
tutti_status tutti_composition_check(tutti_composition *c, tutti_failure *err);
/* Edges of a composition of all elements; done once, by the check. */
void tutti_composition_find_edges(tutti_composition *c);
/* Numbers memory and scratch. */
void tutti_composition_number(tutti_composition *c);
/* Tables of what exchanges are told, empty, and where their steps begin. */
void tutti_composition_tables(const tutti_composition *c, int rank, tutti_arena *arena, tutti_unrolled *out);
/* The loops of a rank (plan_loop.c); TUTTI_ERR_FAILED if an exchange is never ready or free, or the rule does not ask
 * for a verdict. */
tutti_status tutti_composition_unroll(const tutti_composition *c, int rank, tutti_arena *arena, tutti_unrolled *out,
                                      tutti_failure *err);

/* Buffers: inputs (one a slot), then result, seen, what is known of the group that shares layers, the copies of all
 * memories, scratch of exchanges. */
int tutti_composition_nslots(const tutti_composition *c, int rank);
static inline int tutti_composition_copy(const tutti_composition *c, int rank, int memory, int copy)
{
    return tutti_composition_nslots(c, rank) + c->memory_base[memory] + copy;
}

/* A rank's part of an exchange: slices and peers in there are places of the schedule. */
static inline const tutti_part *tutti_composition_part(const tutti_composition *c, int exchange, int rank)
{
    const tutti_plan_exchange *x = &c->plan->exchanges[exchange];
    const int place = tutti_plan_place(x, rank);
    return place < 0 ? &c->none : &c->schedules[x->schedule].parts[place];
}

/* Activations are looked at apart, by life time. */
static inline int tutti_composition_copies(const tutti_composition *c, int memory)
{
    const tutti_plan_memory *m = &c->plan->memories[memory];
    return m->role == TUTTI_ROLE_ACTIVATIONS ? 0 : m->copies;
}

/* Elements of a memory in the index space. */
typedef struct {
    int64_t first, last;
} tutti_stretch;
/* The i-th stretch of the index space in which a rank holds after all runs what is declared; false: there are no
 * more. */
bool tutti_composition_owed(const tutti_composition *c, int rank, int i, tutti_stretch *out);
tutti_stretch tutti_composition_stretch(const tutti_composition *c, int memory, int64_t first, int64_t count);

/* An invocation of an exchange in tables of both. */
static inline int tutti_composition_at(const tutti_composition *c, int invocation, int exchange)
{
    return invocation * c->plan->nexchanges + exchange;
}

/* plan_check_arena.c */
tutti_status tutti_plan_check_arena(const tutti_plan *p, tutti_failure *err);
/* Counter-examples in the words of the plan (plan_describe.c); owner is the composition. */
void tutti_plan_describe_step(const void *owner, int32_t rank, int32_t step, char *out, size_t size);
void tutti_plan_describe_cell(const void *owner, const tutti_slice *begin, const tutti_slice *end, char *out,
                              size_t size);

#endif
