/* SPDX-License-Identifier: Apache-2.0 */
/* plan_compose.h: the composition: training steps of all ranks as one schedule, for the checker.
 *
 * Each rank's part consists of its loops, one run after the other (sequence 0), and, beside it, the sequences of all
 * its exchanges. Actions of a loop become steps that the checker knows:
 *   a kernel reads a parameter          copy weights -> seen
 *   a kernel writes a gradient          copy the slot's leaf -> the copy of the gradients
 *   a fold                              reduce of two copies
 *   any action on elements              a copy for each flow of its row (action.h): what is only read goes to `seen`
 *   START, TELL, WAIT                   nops: steps of exchanges depend on them, or they on steps of exchanges
 * The parts of the loop EACH_END are sequences of their own; only their waits order them. An exchange that is waited
 * for only there may be started again once the exchange that its part makes ready has been waited for. The
 * composition's input is one leaf for each slot; its output is what the method declares to hold every slot's part. So,
 * beside races and deadlocks, "every weight's update holds every slot's gradient exactly once, in canonical order" is
 * proved for loops and schedules together. If the caller could start an exchange at different times, the composition
 * takes the earliest.
 *
 * A step is unrolled twice, and as often as it takes until all exchanges are at their first bank of scratch again; the
 * checker looks at two such rounds. A step depends on earlier ones only through the contents of memories and the next
 * bank, so every later round is like a round that was checked. Between two steps there may be a test, and after it a
 * checkpoint. That makes three compositions: with neither, with the test, with both. Each waits for what it needs, so
 * whatever two neighbours may do to each other is in one of the three.
 *
 * A period of H steps is unrolled as one of min(H, 2). Between two exchanges of weights a step touches only its own
 * rank's memory, and exchanges of its own. So whatever holds between the first step of a period and the second, and
 * between the last and the exchange, holds for any number of steps between them: each begins with what the one before
 * left and is told nothing else.
 *
 * If an exchange is between some ranks only, only these have sequences, and only they may start it, tell it or wait for
 * it; one of them decides how often it is started.
 *
 * In a split layer the kernels of a rank read the samples of its group. So the gradients that they write hold the
 * leaves of all its members. The composition notes these leaves where the rank has waited for the group's inputs: they
 * come from the members' own inputs to the composition, which are symbols and not memory. Another proof shows that
 * kernels find the activations and parts of outputs that they need (plan_split.c). This proof shows that no two ranks
 * touch their memory at the same time: exchanged memory is read and written as the graph's nodes say, all of it by
 * each. A rank holds only its part of such a layer's weights after a step, and that is what it owes; before a test it
 * holds all.
 *
 * The index space is the packed vector. Numbers that must hold every slot's part have a stretch of their own behind it,
 * as long as the vector, so that one proof covers them too. Other numbers are as long as the vector, which proves as
 * much.
 *
 * Threads: owner. */
#ifndef TUTTI_PLAN_COMPOSE_H
#define TUTTI_PLAN_COMPOSE_H

#include "../../../collective/check/check_source.h"
#include "../plan_impl.h"

/* A range of elements of a memory, in the index space. */
typedef struct {
    int64_t first, last;
} tutti_stretch;

/* A check of a class that is to show that the whole is wrong (plan_alike.h). */
typedef struct {
    tutti_stretch class; /* the elements of the class */
    tutti_slice owed;    /* the parts of the zone's vector in which they lie; `of` 0 = what the class owes */
    bool sums_wrong;     /* the result: see tutti_part_source */
    bool misses;         /* the result: the counter-example is of no element of the class */
} tutti_refutation;

/* One run of a loop. */
typedef struct {
    tutti_loop_driver driver;
    int train_step;
    bool ends_period; /* true if the training step ends a period */
} tutti_loop_run;

/* One step of a rank's sequence 0. */
typedef struct {
    tutti_step_kind kind;
    int part; /* part of the loop EACH_END, from 1; 0 = sequence 0 */
    /* run: index of the loop's run in the composition; action: index in that loop, -1 = before or after all actions */
    int run, action;
    int param;                /* the parameter that the step reads or writes; -1 = none */
    int exchange, invocation; /* exchange, invocation: of a nop, the exchange whose end it waits for; exchange -1 =
                               * none */
    int64_t first, last;      /* range of the index space, or of a vector that is cut into `of` parts */
    int of;                   /* number of parts; 0 = the range is in the index space */
    int after;                /* nop: the position of another step that it waits for; -1 = none */
    int from[2], to;          /* numbers of the buffers that are read and written, -1 = none */
    /* the rank whose input the last buffer of `from` is; -1 = all buffers are the own rank's */
    int peer;
    unsigned when;
} tutti_loop_step;

typedef struct {
    tutti_loop_step *steps;
    int nsteps;
    /* Per invocation and exchange: positions of the loop's steps that begin it, tell it that it is ready, tell it that
     * it is free, and wait for it; -1 = none. */
    int *begun, *ready, *is_free, *waited;
    int *first_step;     /* per invocation and exchange: index of its first step in the part */
    int nexchange_steps; /* number of exchange steps, which come before the loop's */
} tutti_unrolled;

/* One lowered schedule with the parts of all ranks. */
typedef struct {
    const tutti_schedule *schedule;
    tutti_part *parts;
    int nranks, nsequences, nbanks;
} tutti_composed_schedule;

typedef struct {
    const tutti_plan *plan;
    int result;             /* the memory whose content is compared in the vector's range of the index space */
    int result_of_zero;     /* for rank 0: the memory in place of `result`; -1 = the same memory */
    tutti_loop_driver last; /* loops of later drivers are left out */
    tutti_schedule_header head;
    int nranks, nsequences; /* nsequences: sequences of one exchange */
    tutti_composed_schedule *schedules;
    tutti_part none; /* the part of a rank that does not take part */
    tutti_loop_run *runs;
    int nruns;
    int *ninvocations, most_invocations; /* per exchange: number of invocations; the largest of these numbers */
    int64_t *edges;                      /* boundaries of all slices, in elements, ascending */
    int nedges;
    int *memory_base;  /* per memory: number of its first copy, counted from the end of the inputs */
    int *scratch_base; /* per rank and exchange: number of its first scratch buffer */
    int *window;       /* per memory: its stretch of the index space */
    int nwindows;
    /* For one class of elements (plan_alike.h): what each rank does with them, as parts of the exchanges' vector; NULL
     * = the composition is for all elements. */
    const tutti_unrolled *loops;
    tutti_stretch zone;           /* elements of the packed vector that this vector holds */
    tutti_refutation *refutation; /* NULL = the class is to be proved */
    bool owes_nothing;
    int owed_parts; /* number of parts of the class's vector; a rank owes one of them. 1: a rank owes all */
    tutti_arena arena;
    const tutti_headway *headway; /* gets reports that the proof goes on; may be NULL */
} tutti_composition;

enum { TUTTI_COMPOSED_OUT, TUTTI_COMPOSED_SEEN, TUTTI_COMPOSED_GROUP, TUTTI_COMPOSED_FIRST_MEMORY };

/* Creates a composition. result: a memory that the method declares to hold all. last: loops of this driver and of
 * earlier drivers are played whenever they may be, later ones never. */
tutti_status tutti_composition_create(tutti_composition *c, const tutti_plan *p, int result, tutti_loop_driver last,
                                      tutti_failure *err);
void tutti_composition_release(tutti_composition *c);
/* Proves that ranks end with what they owe (tutti_composition_owed) and that no two accesses race (plan_check.c). */
tutti_status tutti_composition_check(tutti_composition *c, tutti_failure *err);
/* Finds the edges for a composition of all elements; the check does it once. */
void tutti_composition_find_edges(tutti_composition *c);
/* Assigns numbers to the copies of memories and to scratch buffers. */
void tutti_composition_number(tutti_composition *c);
/* Makes the tables of what exchanges are told, empty, and of where their steps begin. */
void tutti_composition_tables(const tutti_composition *c, int rank, tutti_arena *arena, tutti_unrolled *out);
/* Unrolls the loops of a rank (plan_loop.c). TUTTI_ERR_FAILED: an exchange is never ready or free, or the rule does not
 * read a verdict. */
tutti_status tutti_composition_unroll(const tutti_composition *c, int rank, tutti_arena *arena, tutti_unrolled *out,
                                      tutti_failure *err);

/* Buffers, in this order: inputs (one for each slot), result, `seen`, what is known of the group that shares layers,
 * the copies of all memories, scratch of exchanges. */
int tutti_composition_nslots(const tutti_composition *c, int rank);
static inline int tutti_composition_copy(const tutti_composition *c, int rank, int memory, int copy)
{
    return tutti_composition_nslots(c, rank) + c->memory_base[memory] + copy;
}

/* Returns a rank's part of an exchange. Its slices and peers are places of the schedule, not ranks. */
static inline const tutti_part *tutti_composition_part(const tutti_composition *c, int exchange, int rank)
{
    const tutti_plan_exchange *x = &c->plan->exchanges[exchange];
    const int place = tutti_plan_place(x, rank);
    return place < 0 ? &c->none : &c->schedules[x->schedule].parts[place];
}

/* Copies of a memory in the composition. Activations have none: another proof checks them by life time. */
static inline int tutti_composition_copies(const tutti_composition *c, int memory)
{
    const tutti_plan_memory *m = &c->plan->memories[memory];
    return m->role == TUTTI_ROLE_ACTIVATIONS ? 0 : m->copies;
}

/* Writes the i-th stretch of the index space in which a rank must hold, after all runs, what is declared. False: there
 * are no more. */
bool tutti_composition_owed(const tutti_composition *c, int rank, int i, tutti_stretch *out);
tutti_stretch tutti_composition_stretch(const tutti_composition *c, int memory, int64_t first, int64_t count);

/* Returns the index of (invocation, exchange) in tables over both. */
static inline int tutti_composition_at(const tutti_composition *c, int invocation, int exchange)
{
    return invocation * c->plan->nexchanges + exchange;
}

/* in plan_check_arena.c */
tutti_status tutti_plan_check_arena(const tutti_plan *p, tutti_failure *err);
/* Write counter-examples in the words of the plan (plan_describe.c); owner is the composition. */
void tutti_plan_describe_step(const void *owner, int32_t rank, int32_t step, char *out, size_t size);
void tutti_plan_describe_cell(const void *owner, const tutti_slice *begin, const tutti_slice *end, char *out,
                              size_t size);

#endif
