/* SPDX-License-Identifier: Apache-2.0 */
/* action.h: actions, what a loop of a plan consists of: one row a kind of action, with its words, what it reads and
 * writes, and its effect on exchanges and visits. Plans are proved, printed and priced by rows; none of these asks for
 * a kind.
 *
 * An action on elements that only moves numbers between vectors has its loop in its row, and the trainer plays it
 * without knowing it. A rule by which a centre moves is such a row. A new one is a file action_<name>.c and its name in
 * TUTTI_ACTIONS. Kernels, exchanges, visits, looks and the job's rule are played by functions of the trainer
 * (run/step/step.c).
 *
 * Threads: shared (frozen tables, pure functions). */
#ifndef TUTTI_ACTION_H
#define TUTTI_ACTION_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../tensor/isa.h"

struct tutti_plan;
struct tutti_strbuf;

/* start: an exchange, with the conditions that hold. tell: an exchange under way hears that more conditions hold. wait:
 * until the exchange that was started last has ended, nothing if it was waited for already; with conditions: until
 * these have been told. pace: wait until no worker is more than config.staleness local steps behind. enter: begin a
 * visit to the common memories, when the plan's admission lets this rank in. leave: end it. look: counts into the
 * number in `to` if some elements of `from` are not finite; where norms are wanted, adds squares to the numbers behind
 * it (tensor/squares.h): theirs, or those of tensors, as tutti_plan_norms_of places them. apply: the job's rule to
 * elements of the weights, from the sums in `from`. The others are described in their files. */
#define TUTTI_ACTIONS(row)                                                                                             \
    row(KERNEL, kernel) row(FOLD, fold) row(START, start) row(TELL, tell) row(WAIT, wait) row(PACE, pace)              \
        row(ENTER, enter) row(LEAVE, leave) row(LOOK, look) row(APPLY, apply) row(ELASTIC, elastic) row(OUTER, outer)  \
            row(MEET, meet) row(COPY, copy) row(CONVERT, convert)

#define TUTTI_ACTION_KIND(KIND, name) TUTTI_DO_##KIND,
typedef enum { TUTTI_ACTIONS(TUTTI_ACTION_KIND) TUTTI_NACTIONS } tutti_action_kind;
#undef TUTTI_ACTION_KIND

/* Of the steps of a period. */
typedef enum { TUTTI_IN_EVERY_STEP, TUTTI_IN_LAST_STEP, TUTTI_IN_OTHER_STEPS } tutti_action_steps;

typedef struct {
    tutti_action_kind kind;
    tutti_action_steps steps; /* in which it is done */
    int slot;                 /* kernel, fold: local slot, or micro-batch (0 .. my_nslots); else 0 */
    int node;                 /* kernel: of the graph, else -1 */
    int bucket;               /* fold, and actions on elements: whose elements */
    int dst, src;             /* fold: of copies; kernel: dst is the copy that it writes to */
    int exchange;             /* start, tell, wait: of plan->exchanges, else -1 */
    unsigned when;            /* start, tell, wait: TUTTI_WHEN_* */
    int64_t first, count;     /* actions on elements: which */
    int from, to;             /* the same: memories */
    int other;                /* a third memory: of an apply that is pulled the centre, else what the row says */
    int verdict;              /* apply: memory of what was looked at: the first number must be 0 for it; -1 = always */
    int norm;    /* apply: memory of what was looked at: the squares behind its first number; -1 = it does not go by
               * them */
    int share;   /* apply: `from` holds the sum over one of so many parts of the batch */
    bool begins; /* look: the numbers in `to` are 0 before it */
    int weights; /* look, where norms of tensors are wanted: memory of those weights */
    bool pulled; /* apply: the weights are pulled towards the memory `other` too, by what both were before */
    int worker;  /* in the loop of arrivals: whose part it belongs to; else 0 */
} tutti_action;

/* Whether it is done in a step that ends a period, or does not. */
static inline bool tutti_action_is_due(const tutti_action *a, bool ends_period)
{
    return a->steps == TUTTI_IN_EVERY_STEP || (a->steps == TUTTI_IN_LAST_STEP) == ends_period;
}

/* ---- what is read and written ---- */

/* Where something comes from or goes to, by the action. */
typedef enum {
    TUTTI_AT_NOTHING, /* comes from: any value; goes to: it is only read */
    TUTTI_AT_FROM,
    TUTTI_AT_TO,
    TUTTI_AT_OTHER,
    TUTTI_AT_PULL, /* `other` of an action that is pulled */
    TUTTI_AT_VERDICT,
    TUTTI_AT_NORM,
    TUTTI_AT_STATES,         /* all that the rule keeps beside the weights */
    TUTTI_AT_NORMED_WEIGHTS, /* `weights` and states where norms of tensors are wanted */
    TUTTI_AT_NORMED_STATES,
    TUTTI_AT_COPY_SRC, /* copies of the bucket's gradients */
    TUTTI_AT_COPY_DST,
} tutti_action_place;

/* Elements go from a place to another; changes: what was there is read too; adds: and is a summand. */
typedef enum { TUTTI_FLOW_ENDS, TUTTI_FLOW_WRITES, TUTTI_FLOW_CHANGES, TUTTI_FLOW_ADDS } tutti_flow_kind;
enum { TUTTI_MOST_FLOWS = 5 /* of a row */ };

typedef struct {
    tutti_flow_kind kind;
    tutti_action_place from, to;
} tutti_action_flow;

/* The same of an action: a memory and its copy; -1: nothing. Of memories of numbers the range is all of them. */
typedef struct {
    tutti_flow_kind kind;
    int from, from_copy, to, to_copy;
    int64_t first, count;
} tutti_element_flow;

/* ---- what moves elements ---- */

/* The numbers of a job's rules for a centre. */
typedef struct {
    const char *said_rho;        /* what a job says of it: "auto" or a number; NULL = nothing */
    double rho;                  /* elasticity, 0 = workers go alone */
    double outer_rate, outer_mu; /* of the outer rule */
} tutti_centre;

/* The share of their distance by which workers and centre move towards each other at this rate. */
static inline float tutti_centre_alpha(const tutti_centre *c, double lr)
{
    return (float)(lr * c->rho);
}

/* Elements and where they lie; from, to, other: as in tutti_action. */
typedef struct {
    const struct tutti_element_loop *loop;
    tutti_centre rule;
    float alpha; /* the share of a distance, tutti_centre_alpha; of running statistics 1 / nworkers. It varies from step
                * to step */
    int nworkers;
    float *from, *to, *other;
    int64_t n;
} tutti_elements;

/* One loop, made for each instruction set; all of them, and all their tails, give equal bits. A card finds its own by
 * the name. */
typedef struct tutti_element_loop {
    const char *name;
    void (*run[TUTTI_NISAS])(const tutti_elements *e);
} tutti_element_loop;
void tutti_elements_run(const tutti_elements *e);

/* ---- the rows ---- */

/* Types of the elements of `from` and `to`. */
typedef enum {
    TUTTI_ON_NO_ELEMENTS,
    TUTTI_ON_F32,   /* both */
    TUTTI_COUNTED,  /* f32 are counted in i64 */
    TUTTI_CONVERTED /* f32 and 16 bits */
} tutti_action_types;

typedef struct {
    const char *words; /* "update" */
    void (*describe)(const struct tutti_plan *p, const tutti_action *a,
                     struct tutti_strbuf *sb); /* adds to the words; NULL: nothing */
    tutti_action_types types;
    tutti_action_flow flows[TUTTI_MOST_FLOWS]; /* in this order; of a kernel: what the graph's node says */
    bool starts,
        waits; /* an exchange is started; what comes next waits for others. An exchange that is not waited for is told
                * `when` */
    int visit; /* 1: a visit begins; -1: it ends */
    bool by_rule; /* the job's rule is applied */
    /* Of rows whose elements only move: the loop of what is learned, and that of running statistics, which nobody
     * learns; NULL: all elements of the action alike, and the padding between them. */
    const tutti_element_loop *loop, *statistics;
    bool stays; /* in a step that workers skip */
} tutti_action_row;

const tutti_action_row *tutti_action_row_of(tutti_action_kind kind);
/* Resolved, in the order of the row; returns how many, at most TUTTI_MOST_ACTION_FLOWS. */
enum { TUTTI_MOST_STATES = 4, TUTTI_MOST_ACTION_FLOWS = TUTTI_MOST_FLOWS + TUTTI_MOST_STATES };
int tutti_action_flows(const struct tutti_plan *p, const tutti_action *a,
                       tutti_element_flow out[TUTTI_MOST_ACTION_FLOWS]);
/* Bytes that are read from or written to vectors; of kernels, and of sums of control numbers, 0. */
double tutti_action_bytes(const struct tutti_plan *p, const tutti_action *a);

static inline bool tutti_action_starts(const tutti_action *a)
{
    return tutti_action_row_of(a->kind)->starts;
}
/* A start tells too. */
static inline bool tutti_action_tells(const tutti_action *a)
{
    return a->exchange >= 0 && !tutti_action_row_of(a->kind)->waits;
}
/* Of an exchange: for its end, or until it has been told a->when. */
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
/* Waits for other workers, outside of any exchange and visit. */
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
