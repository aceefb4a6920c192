/* SPDX-License-Identifier: Apache-2.0 */
/* action.h: the actions of which a plan's loops consist. Each kind of action is a row: its name in texts, what it reads
 * and writes, and what it does to exchanges and visits. The code that proves, prints and prices plans reads the rows
 * and never asks which kind an action is.
 *
 * If an action only moves elements between vectors, its row has the loop over the elements, and the trainer plays it
 * without knowing the kind. A rule that moves a centre is such a row. To add a kind, write a file action_<name>.c and
 * add its name to TUTTI_ACTIONS. The trainer has functions of its own for kernels, exchanges, visits, looks at
 * gradients and the job's rule (run/step/step.c).
 *
 * Threads: any (pure functions; tables never change). */
#ifndef TUTTI_ACTION_H
#define TUTTI_ACTION_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../tensor/isa.h"

struct tutti_plan;
struct tutti_strbuf;

/* start: starts an exchange and tells it which conditions hold. tell: tells a running exchange that more conditions
 * hold. wait: waits for the end of the exchange that was started last, or does nothing if it was waited for already;
 * with conditions: waits until the exchange has been told them. pace: waits until no worker is more than
 * config.staleness local steps behind. enter: begins a visit to the common memories, when the plan's admission lets
 * this rank in. leave: ends the visit. look: adds 1 to the number in `to` if some elements of `from` are not finite.
 * Where norms are needed, a look also adds the squares of elements to the numbers that follow (tensor/squares.h):
 * squares of all elements, or of each tensor (tutti_plan_norms_of). apply: applies the job's rule to elements of the
 * weights, from the sums in `from`. The files of the other actions describe them. */
#define TUTTI_ACTIONS(row)                                                                                             \
    row(KERNEL, kernel) row(FOLD, fold) row(START, start) row(TELL, tell) row(WAIT, wait) row(PACE, pace)              \
        row(ENTER, enter) row(LEAVE, leave) row(LOOK, look) row(APPLY, apply) row(ELASTIC, elastic) row(OUTER, outer)  \
            row(MEET, meet) row(COPY, copy) row(CONVERT, convert)

#define TUTTI_ACTION_KIND(KIND, name) TUTTI_DO_##KIND,
typedef enum { TUTTI_ACTIONS(TUTTI_ACTION_KIND) TUTTI_NACTIONS } tutti_action_kind;
#undef TUTTI_ACTION_KIND

/* In which steps of a period an action is done. */
typedef enum { TUTTI_IN_EVERY_STEP, TUTTI_IN_LAST_STEP, TUTTI_IN_OTHER_STEPS } tutti_action_steps;

typedef struct {
    tutti_action_kind kind;
    tutti_action_steps steps; /* in which steps of a period the action is done */
    int slot;                 /* kernel, fold: local slot, or micro-batch (0 .. my_nslots); else 0 */
    int node;                 /* kernel: node of the graph, else -1 */
    int bucket;               /* fold, and actions on elements: the bucket of the elements */
    int dst, src;             /* fold: numbers of copies; kernel: dst is the copy that it writes to */
    int exchange;             /* start, tell, wait: index into plan->exchanges, else -1 */
    unsigned when;            /* start, tell, wait: TUTTI_WHEN_* */
    int64_t first, count;     /* actions on elements: the range of elements */
    int from, to;             /* actions on elements: memories, as indices into plan->memories */
    int other;                /* a third memory: the centre for an apply that is pulled, else as the row defines it */
    /* apply: the memory that an action `look` has filled with the number of gradients that are not finite. The update
     * is skipped if that number is not 0; -1 = the update is never skipped */
    int verdict;
    /* apply: the memory that an action `look` has filled with sums of squares, from which the update computes norms; -1
     * = the update needs no norms */
    int norm;
    int share;   /* apply: `from` holds the sum over one of `share` parts of the batch */
    bool begins; /* look: the counts and sums in `to` are set to 0 first */
    int weights; /* look, where norms of tensors are needed: memory of the weights */
    /* apply: the weights are also pulled towards the memory `other`, by the difference of both before the update */
    bool pulled;
    int worker; /* in the loop TUTTI_EACH_ARRIVAL: the worker that the action serves; else 0 */
} tutti_action;

/* True if the action is done in a step that ends a period (ends_period), or in one that does not. */
static inline bool tutti_action_is_due(const tutti_action *a, bool ends_period)
{
    return a->steps == TUTTI_IN_EVERY_STEP || (a->steps == TUTTI_IN_LAST_STEP) == ends_period;
}

/* ---- what an action reads and writes ---- */

/* The places that a flow can name as source or target. */
typedef enum {
    TUTTI_AT_NOTHING, /* as a source: any value; as a target: the action reads the source and writes nothing */
    TUTTI_AT_FROM,
    TUTTI_AT_TO,
    TUTTI_AT_OTHER,
    TUTTI_AT_PULL, /* the memory `other` of an action whose `pulled` is true */
    TUTTI_AT_VERDICT,
    TUTTI_AT_NORM,
    TUTTI_AT_STATES, /* all vectors that the rule keeps beside the weights */
    /* the action's memory `weights`, and the rule's states, if the rule needs norms of tensors; else nothing */
    TUTTI_AT_NORMED_WEIGHTS,
    TUTTI_AT_NORMED_STATES,
    TUTTI_AT_COPY_SRC, /* source and target: copies of the bucket's gradients */
    TUTTI_AT_COPY_DST,
} tutti_action_place;

/* Elements flow from one place to another. WRITES: the target is overwritten. CHANGES: the target's old value is read
 * too. ADDS: the source is added to it. */
typedef enum { TUTTI_FLOW_ENDS, TUTTI_FLOW_WRITES, TUTTI_FLOW_CHANGES, TUTTI_FLOW_ADDS } tutti_flow_kind;
enum { TUTTI_MOST_FLOWS = 5 /* most flows of a row */ };

typedef struct {
    tutti_flow_kind kind;
    tutti_action_place from, to;
} tutti_action_flow;

/* A flow of one action, with the places resolved: a memory and its copy; -1 = nothing. For memories of numbers the
 * range is all numbers. */
typedef struct {
    tutti_flow_kind kind;
    int from, from_copy, to, to_copy;
    int64_t first, count;
} tutti_element_flow;

/* ---- loops over elements ---- */

/* Constants of the rules that move a centre. */
typedef struct {
    const char *said_rho; /* rho as the job gives it: "auto" or a number; NULL = not given */
    double rho;           /* elasticity; 0 = workers are not pulled */
    /* rate of the outer rule; the fraction of its last step that the rule adds to the next step */
    double outer_rate, outer_mu;
} tutti_centre;

/* Returns the fraction of the distance between a worker and the centre by which both move towards each other at the
 * rate `lr`. */
static inline float tutti_centre_alpha(const tutti_centre *c, double lr)
{
    return (float)(lr * c->rho);
}

/* The elements that a loop works on; from, to, other: as in tutti_action. */
typedef struct {
    const struct tutti_element_loop *loop;
    tutti_centre rule;
    /* fraction of a distance, tutti_centre_alpha; for running statistics 1 / nworkers. Varies from step to step */
    float alpha;
    int nworkers;
    float *from, *to, *other;
    int64_t n;
} tutti_elements;

/* One loop, compiled for each instruction set. All versions give equal bits, also for the last elements, which do not
 * fill a vector register. A card finds its own version by the name. */
typedef struct tutti_element_loop {
    const char *name;
    void (*run[TUTTI_NISAS])(const tutti_elements *e);
} tutti_element_loop;
void tutti_elements_run(const tutti_elements *e);

/* ---- the rows of the table of actions ---- */

/* Types of the elements of `from` and `to`. */
typedef enum {
    TUTTI_ON_NO_ELEMENTS,
    TUTTI_ON_F32,   /* both source and target are f32 */
    TUTTI_COUNTED,  /* f32 elements are counted in an i64 number */
    TUTTI_CONVERTED /* source or target is f32, and the other has a 16-bit type */
} tutti_action_types;

typedef struct {
    const char *words; /* name of the action in texts: "update" */
    /* appends details to the words; NULL = nothing to add */
    void (*describe)(const struct tutti_plan *p, const tutti_action *a, struct tutti_strbuf *sb);
    tutti_action_types types;
    /* the action's flows, in this order; for a kernel the graph's node says what it reads and writes */
    tutti_action_flow flows[TUTTI_MOST_FLOWS];
    /* starts: the action starts an exchange. waits: it waits for other ranks. An action that is about an exchange and
     * does not wait tells the exchange the conditions `when` */
    bool starts, waits;
    int visit;    /* 1: a visit begins; -1: it ends */
    bool by_rule; /* the action applies the job's rule */
    /* For rows whose elements only move: `loop` for learned parameters, `statistics` for running statistics, which no
     * rule changes. statistics NULL: `loop` takes all elements of the action, and the padding between them. */
    const tutti_element_loop *loop, *statistics;
    bool stays; /* true if the action is also done in a step that workers skip */
} tutti_action_row;

const tutti_action_row *tutti_action_row_of(tutti_action_kind kind);
/* Writes the flows of an action, with places resolved, in the order of the row; returns how many, at most
 * TUTTI_MOST_ACTION_FLOWS. */
enum { TUTTI_MOST_STATES = 4, TUTTI_MOST_ACTION_FLOWS = TUTTI_MOST_FLOWS + TUTTI_MOST_STATES };
int tutti_action_flows(const struct tutti_plan *p, const tutti_action *a,
                       tutti_element_flow out[TUTTI_MOST_ACTION_FLOWS]);
/* Returns the bytes that the action reads from or writes to vectors; 0 for kernels and for sums of control numbers. */
double tutti_action_bytes(const struct tutti_plan *p, const tutti_action *a);

static inline bool tutti_action_starts(const tutti_action *a)
{
    return tutti_action_row_of(a->kind)->starts;
}
/* True if the action tells an exchange conditions; starts and tells do. */
static inline bool tutti_action_tells(const tutti_action *a)
{
    return a->exchange >= 0 && !tutti_action_row_of(a->kind)->waits;
}
/* True if the action waits for an exchange: for its end, or until it has been told a->when. */
static inline bool tutti_action_awaits(const tutti_action *a)
{
    return a->exchange >= 0 && tutti_action_row_of(a->kind)->waits;
}
static inline bool tutti_action_looks(const tutti_action *a)
{
    return tutti_action_row_of(a->kind)->types == TUTTI_COUNTED;
}
static inline bool tutti_action_updates(const tutti_action *a)
{
    return tutti_action_row_of(a->kind)->by_rule;
}
static inline bool tutti_action_enters(const tutti_action *a)
{
    return tutti_action_row_of(a->kind)->visit > 0;
}
/* True if the action waits for other workers outside of any exchange and visit. */
static inline bool tutti_action_paces(const tutti_action *a)
{
    const tutti_action_row *row = tutti_action_row_of(a->kind);
    return row->waits && a->exchange < 0 && !row->visit;
}
static inline bool tutti_action_leaves(const tutti_action *a)
{
    return tutti_action_row_of(a->kind)->visit < 0;
}

#endif
