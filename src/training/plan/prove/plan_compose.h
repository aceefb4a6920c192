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
 * The parts of the loop EACH_END are sequences of their own; only their waits order them. If only such a part waits for
 * an exchange A and then makes an exchange B ready, A may be started again once B was waited for. The composition's
 * input is one leaf for each slot; its output is what the method declares to hold every slot's part. So, beside races
 * and deadlocks, "every weight's update holds every slot's gradient exactly once, in canonical order" is proved for
 * loops and schedules together. If the caller could start an exchange at different times, the composition takes the
 * earliest.
 *
 * Steps are unrolled: at least two, and enough for all exchanges to come back to their first bank of scratch. The
 * checker plays this round twice. A step depends on earlier steps only through the contents of memories and the bank
 * that comes next, so every later round is like a round that was checked. Between two steps there may be a test, and
 * after the test a checkpoint. So there are three compositions: without both, with the test, with test and checkpoint.
 * Any two loops that can follow each other do so in one of the three.
 *
 * A period of H steps is unrolled as a period of min(H, 2) steps. Between two exchanges of weights a step touches only
 * memory of its own rank, and exchanges of its own. More steps in the middle of a period would add nothing new: each
 * begins with the memory that the step before has left, as the second step does, and no other rank tells it anything.
 *
 * If an exchange is between some ranks only, only these have sequences, and only they may start it, tell it or wait for
 * it; one of them decides how often it is started.
 *
 * In a split layer the kernels of a rank read the samples of its group. So the gradients that they write hold the
 * leaves of all its members. The composition notes these leaves where the rank has waited for the group's inputs: they
 * come from the members' own inputs to the composition, which are symbols and not memory. Another proof shows that
 * kernels find the activations and parts of outputs that they need (plan_split.c). This proof shows that no two ranks
 * touch their memory at the same time: exchanged memory is read and written as the graph's nodes say, all of it by
 * each. After a step a rank must hold only its own part of such a layer's weights; before a test it must hold all.
 *
 * The index space is the packed vector. Numbers that must hold every slot's part, such as control numbers, get a range
 * of their own behind it, as long as the vector, so that one proof covers both. All other numbers are treated as if
 * they were as long as the vector, which proves the same.
 *
 * Threads: one at a time. */
#ifndef TUTTI_PLAN_COMPOSE_H
#define TUTTI_PLAN_COMPOSE_H

#include "../../../collective/check/check_source.h"
#include "../plan_impl.h"

/* A range of elements of a memory, in the index space. */
typedef struct {
    int64_t first, last;
} tutti_stretch;

/* A second check of a class that could not be proved: it finds out whether the whole plan is wrong (plan_alike.h). */
typedef struct {
    tutti_stretch class; /* the elements of the class */
    tutti_slice owed;    /* the parts of the zone's vector that hold these elements, and that ranks must end with;
                          * owed.of 0: ranks must end with what the class itself requires */
    bool leaves_others;  /* accesses to parts of the vector outside of `owed`, which hold no element of the class, are
                          * left out */
    bool sums_wrong;     /* result of the check: a rank ended with a wrong sum (tutti_part_source) */
    bool races;          /* result of the check: two accesses raced (tutti_part_source) */
    bool misses;         /* result of the check: the counter-example is about elements of another class */
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
    int from[2], to;          /* indices of the buffers that are read and written, -1 = none */
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
    int result;             /* the memory whose content is checked, in the vector's range of the index space */
    int result_of_zero;     /* for rank 0: the memory in place of `result`; -1 = the same memory */
    tutti_loop_driver last; /* last driver whose loops are played; loops of later drivers are left out */
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
    int *window;       /* per memory: number of its range of the index space */
    int nwindows;
    /* For one class of elements (plan_alike.h): each rank's steps on these elements, as parts of the exchanges' vector.
     * NULL = the composition is for all elements. */
    const tutti_unrolled *loops;
    const tutti_plan *named;      /* for one class: the plan that its loops are from, which names actions */
    tutti_stretch zone;           /* for one class: the range of the packed vector that the composition's vector stands
                                   * for */
    tutti_refutation *refutation; /* NULL = the class is to be proved */
    bool owes_nothing;
    int owed_parts; /* number of parts of the class's vector, of which a rank must end with one; 1: with all */
    tutti_arena arena;
    const tutti_headway *headway; /* gets reports that the proof is still running; may be NULL */
} tutti_composition;

enum { TUTTI_COMPOSED_OUT, TUTTI_COMPOSED_SEEN, TUTTI_COMPOSED_GROUP, TUTTI_COMPOSED_FIRST_MEMORY };

/* Creates a composition. result: the memory whose content is proved; the method declares that it holds every slot's
 * part. last: the loops of this driver and of earlier drivers are played whenever they may be, the loops of later
 * drivers never. */
tutti_status tutti_composition_create(tutti_composition *c, const tutti_plan *p, int result, tutti_loop_driver last,
                                      tutti_failure *err);
void tutti_composition_release(tutti_composition *c);
/* Proves that ranks end with the contents that they must hold (tutti_composition_owed), and that no two accesses race
 * (plan_check.c). */
tutti_status tutti_composition_check(tutti_composition *c, tutti_failure *err);
/* Finds the edges for a composition of all elements; the check does it once. */
void tutti_composition_find_edges(tutti_composition *c);
/* Assigns numbers to the copies of memories and to scratch buffers. */
void tutti_composition_number(tutti_composition *c);
/* Allocates a rank's tables of `out`: begun, ready, is_free and waited are empty; first_step is filled in. */
void tutti_composition_tables(const tutti_composition *c, int rank, tutti_arena *arena, tutti_unrolled *out);
/* Unrolls the loops of a rank (plan_loop.c). TUTTI_ERR_FAILED: an exchange is never ready or free, or the rule does not
 * read a verdict. */
tutti_status tutti_composition_unroll(const tutti_composition *c, int rank, tutti_arena *arena, tutti_unrolled *out,
                                      tutti_failure *err);

/* Returns how many input buffers a rank has. A rank's buffers are, in this order: inputs (one for each slot), result,
 * `seen`, the leaves of the group's members (split layers), the copies of all memories, scratch of exchanges. */
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

/* Returns how many copies of a memory the composition has. Activations have none: plan_check_arena.c checks them. */
static inline int tutti_composition_copies(const tutti_composition *c, int memory)
{
    const tutti_plan_memory *m = &c->plan->memories[memory];
    return m->role == TUTTI_ROLE_ACTIVATIONS ? 0 : m->copies;
}

/* Writes the i-th range of the index space in which a rank must end with the contents that the method declares. False:
 * there are no more ranges. */
bool tutti_composition_owed(const tutti_composition *c, int rank, int i, tutti_stretch *out);
tutti_stretch tutti_composition_stretch(const tutti_composition *c, int memory, int64_t first, int64_t count);

/* Returns the index of (invocation, exchange) in tables over both. */
static inline int tutti_composition_at(const tutti_composition *c, int invocation, int exchange)
{
    return invocation * c->plan->nexchanges + exchange;
}

/* proves the placement of activations (plan_check_arena.c) */
tutti_status tutti_plan_check_arena(const tutti_plan *p, tutti_failure *err);
/* Write counter-examples in the words of the plan (plan_describe.c); owner is the composition. */
void tutti_plan_describe_step(const void *owner, int32_t rank, int32_t step, char *out, size_t size);
void tutti_plan_describe_cell(const void *owner, const tutti_slice *begin, const tutti_slice *end, char *out,
                              size_t size);

#endif
