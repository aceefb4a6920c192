/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: the plan: memories, exchanges and loops of actions, by which a run does its steps. A frozen value, equal on
 * all ranks (its hash is compared in the handshake), but for `mine`, which follows from the rank, and the loops.
 *
 * A method writes it (plan_builder.h): the plan knows what a memory, an exchange, a loop and an action are, and proves,
 * prints, times and binds them by going through the arrays; it does not know what any of them are for.
 *
 * Memory. Parameters are packed in exchange order (the order in which their gradients become ready) into one vector of
 * `total` elements, each bucket a contiguous range, starts aligned to 16 elements. Memories of the roles weights,
 * gradients and state hold such vectors, so that one offset serves them all. Frozen parameters, which nobody exchanges
 * or writes, lie behind it: weights, and centres that are tested, have `nweights` elements. Control numbers (@loss,
 * @correct, @stop) lie apart, packed in memories of the role numbers. Activations, their gradients, saved state and
 * scratch share one private memory by life time.
 *
 * Canonical sums (slots = S): this rank holds slots [S*r/p, S*(r+1)/p), that is, nins <= 2 log2 S subtree roots; it
 * runs forward and backward slot by slot, adds gradients of a root's slots in tree order, and exchanges roots. Slot
 * gradients are written into numbered copies of their memory: copy i < roots is root i (the schedule's IN buffer of
 * ordinal i), the others are temporary. A root of 2^m slots at place i needs copies i .. i + m while it is summed (a
 * binary counter: equal subtrees are folded, older += newer), so there are ncopies = max over ranks and roots of i + m
 * + 1 of them. Everything that a slot writes (statistics and control numbers too) goes to copy `dst` of its kernel
 * actions; a temporary copy holds old values until then, so all of a slot's parts must be written.
 *
 * Micro-batches (accumulate = N) are slots of a rank whose sum is no tree: the first is written into copy 0, each later
 * one into copy 1, which is then folded into copy 0.
 *
 * Threads: frozen after build. */
#ifndef TUTTI_PLAN_H
#define TUTTI_PLAN_H

#include "../../base/headway.h"
#include "../../collective/lower/prepare.h"
#include "../graph/graph.h"
#include "action/action.h"
#include "costs.h"
#include "tutti/schedule.h"
#include "tutti/types.h"

/* As bucket_bytes: one exchange a layer (its parameters together); one in all; so that exchanges end soonest, by
 * tutti_plan_config.costs (up to 1 MiB as long as there are none). */
#define TUTTI_BUCKET_LAYER   (-1)
#define TUTTI_BUCKET_SOONEST (-2)
#define TUTTI_BUCKET_CUT     (-3) /* as tutti_plan_config.cut says */
#define TUTTI_BUCKET_ALL     INT64_MAX

/* What must be known of all elements before one of them is changed. */
typedef enum {
    TUTTI_NO_NORMS,
    TUTTI_NORM_OF_ALL,      /* that of all gradients together */
    TUTTI_NORMS_OF_TENSORS, /* of each weight tensor: its own, and that of what the rule holds it against */
} tutti_norms;

enum { TUTTI_PLAN_OWN = 2 };

/* What a method makes of a configuration: plan_builder.h. */
typedef struct tutti_emitter tutti_emitter;

/* Schedules that several plans of one configuration and hosts share while these are compared. Zero-initialise; release
 * after the plans. */
typedef struct {
    struct tutti_shelved *list;
    int n, room;
} tutti_plan_shelf;
void tutti_plan_shelf_release(tutti_plan_shelf *shelf);

typedef struct {
    int rank, nranks;
    const int32_t *host_of; /* the host of each rank (borrowed); NULL = one host */
    bool prove_later;       /* schedules are left to tutti_plan_prove */
    int64_t batch;          /* global */
    int slots;      /* canonical: S; 0 = fast mode (each rank's share is one kernel call, or `accumulate` of them) */
    int accumulate; /* fast mode: micro-batches of a rank, whose gradients it sums before they are exchanged; 0 = 1 */
    const tutti_emitter *method;
    const char *algorithm;                 /* of the exchanges: tutti_plan_algorithms; NULL = "auto" */
    int64_t hybrid_bytes;                  /* of "hybrid": from where on exchanges are large */
    const struct tutti_topology *topology; /* for rows that are bound to one; NULL = none; must outlive the plan */
    int64_t bucket_bytes; /* merge neighbours up to so much; 0 = one exchange a parameter; or a rule as above */
    tutti_reals
        cut; /* of TUTTI_BUCKET_CUT: how many exchanged parameters each bucket has, in exchange order (copied) */
    tutti_plan_shelf *shelf;       /* where its schedules lie, beyond the plan's life; NULL: they are the plan's */
    const tutti_plan_costs *costs; /* what exchanges cost (copied); NULL = not known */
    bool by_need;      /* what the next step reads first is exchanged and updated first; else what was ready first */
    bool only_finite;  /* no weight is updated before all ranks know that every gradient is finite */
    tutti_norms norms; /* ... nor before they know these */
    bool replicated;   /* every rank updates all weights, and keeps all states; else each its slices */
    tutti_dtype sent;  /* what gradients travel in: f32, as they are, or each rank's rounded once, to bf16 or f16 */
    bool rounds_each;  /* ... and partial sums are rounded to it wherever a step leaves one; else sums are f32 */
    bool early;        /* a bucket is updated as soon as it may be, beside the kernels; else after all of them */
    int64_t period;    /* steps between two exchanges of weights, where the method has one; else 1 */
    bool mean_states;  /* states are averaged when weights are */
    int64_t staleness; /* of methods that bound it: by so many local steps a worker may be ahead of the slowest */
    double own[TUTTI_PLAN_OWN]; /* numbers that the method alone knows: keys of its own */
    int nstates;                /* vectors that the rule of updates keeps beside the weights */
    const char *const *states;  /* their names, borrowed */
    const char *engine;
    int nthreads;
} tutti_plan_config;

/* The rows of the table of algorithms that config.algorithm stands for, with their parameters. None of "rule", or
 * "auto" where nobody has chosen: direct, or split-rail between hosts of several ranks; large exchanges between three
 * or more hosts of one rank go by ring. Two of "hybrid[,group=N]" (Jia et al. 2018): hierarchical for small exchanges,
 * ring for large ones. Else the one that it names. */
int tutti_plan_algorithms(const char *text, char rows[2][TUTTI_ALGORITHM_TEXT]);

/* What is rounded to travel is rounded once, so that sums are of all ranks' own, or of groups' sums, in one step. */
static inline bool tutti_plan_sums_once(const tutti_plan_config *c)
{
    return c->sent != TUTTI_F32 && !c->rounds_each;
}

/* Neighbours in the packed vector that travel together. */
typedef struct {
    int64_t offset, count;    /* elements */
    int first_param, nparams; /* in plan->order */
    int parts;                /* > 1: of a split layer; so many ranks have a part each, what behind them is padding */
    int turn;                 /* 0: its weights are read first in a step, then 1, ... */
} tutti_bucket;
enum { TUTTI_NO_BUCKET = -1, TUTTI_CONTROL_BUCKET = -2 }; /* as number of a bucket: the control numbers */

/* ---- memories ---- */

typedef enum {
    TUTTI_ROLE_WEIGHTS,     /* what kernels read */
    TUTTI_ROLE_GRADIENTS,   /* what kernels write */
    TUTTI_ROLE_SENT,        /* gradients as they travel, where that is not as they are: config.sent */
    TUTTI_ROLE_STATE,       /* what the rule keeps beside the weights, in its order */
    TUTTI_ROLE_CENTRE,      /* the weights that workers with weights of their own agree on; then what its rule needs */
    TUTTI_ROLE_NUMBERS,     /* some numbers, such as the control numbers; no vector of parameters */
    TUTTI_ROLE_TRAVELLING,  /* what ranks that share a layer hand each other: a place of the graph's, in their order */
    TUTTI_ROLE_SEAT,        /* at rank 0 alone: what a worker of another host has brought, then what it takes along */
    TUTTI_ROLE_ACTIVATIONS, /* by life time: value_offset and so on; in bytes */
    TUTTI_NROLES
} tutti_memory_role;

/* What the method declares that a memory holds after a period on every rank: the proof's business. */
typedef enum {
    TUTTI_HOLDS_ANYTHING,
    TUTTI_HOLDS_ALL, /* of every slot's part exactly one, in the order of the sum's class */
} tutti_memory_content;

typedef struct {
    const char *name;
    tutti_memory_role role;
    tutti_dtype type;
    int64_t elements; /* of a copy */
    int copies;       /* one after the other */
    bool is_region;   /* other ranks touch it */
    bool is_common;   /* all ranks of rank 0's host touch rank 0's, where it lies, and have none of their own */
    bool is_lasting;  /* what it holds goes from step to step; else only within one */
    bool is_saved;    /* by checkpoints */
    bool differs;     /* between ranks, between two periods: each rank's is saved */
    tutti_memory_content holds;
} tutti_plan_memory;

/* ---- exchanges ---- */

typedef struct {
    int memory; /* of plan->memories */
    int copy;   /* the first one */
} tutti_operand;

typedef struct {
    const char *name;       /* "gradients of bucket 2" */
    int schedule;           /* of plan->schedules */
    tutti_operation op;     /* sum, unless said */
    tutti_dtype sent;       /* bf16, f16: what lies in scratch between ranks; else what inputs hold. Filled in */
    const int32_t *members; /* whom it is between: the schedule's rank i is members[i]; NULL = all, in their order */
    int nmembers;           /* of all too; filled in where members is NULL */
    unsigned drivers;       /* bit set: in which loops its members start it. Filled in */
    int bucket;             /* whose elements travel, TUTTI_CONTROL_BUCKET or TUTTI_NO_BUCKET */
    bool is_travel;         /* of what a split layer has; `node` of the graph */
    int node;
    int64_t first, count; /* elements of the memories' copies */
    tutti_operand in;     /* IN buffer k of the schedule is copy in.copy + k */
    tutti_operand out;    /* the same as `in` where the schedule is in place */
    int turn;             /* of those in flight, lower ones go on first */
} tutti_plan_exchange;

/* Of an algorithm that goes by size: the schedules for exchanges below so many bytes, and from there on. */
typedef struct {
    int small, large;
    int64_t from;
} tutti_size_pair;

/* ---- loops ---- */

/* Whether this step, counted from 0, is the last one of a period. */
static inline bool tutti_ends_period(int64_t step, int64_t period)
{
    return (step + 1) % period == 0;
}

/* How ranks that take steps of their own come to a common memory. Where there is none they go step by step together. */
typedef enum {
    TUTTI_ADMIT_NOBODY,        /* no rank visits anything */
    TUTTI_ADMIT_BY_ARRIVAL,    /* one at a time, who comes first */
    TUTTI_ADMIT_IN_RANK_ORDER, /* one at a time: rank 0, 1, .. P - 1, 0, .. */
    TUTTI_ADMIT_EVERYBODY,     /* several at a time: what they do to the same element is lost, but for one */
} tutti_admission;

const char *tutti_admission_words(tutti_admission a); /* "one at a time, in order of arrival" */

/* When a loop is gone through. */
typedef enum {
    TUTTI_EACH_STEP,
    /* of exchanges that a step starts: parts, each of which begins with the wait for one of them. Whoever moves bytes
     * plays them beside the other loops; nothing orders a part but what it waits for */
    TUTTI_EACH_END,
    /* at rank 0, beside its other loops: parts, one for each worker of another host, which is gone through for each of
     * that worker's local steps that ends a period. What stands before a part's first exchange is done before the
     * worker begins the step. Parts are ordered by nothing but visits */
    TUTTI_EACH_ARRIVAL,
    TUTTI_EACH_PERIOD, /* after config.period steps */
    TUTTI_EACH_TEST,   /* between two steps, before a test or a checkpoint: the answer is made whole */
    TUTTI_EACH_SAVE,   /* after that, before a checkpoint */
    TUTTI_NDRIVERS
} tutti_loop_driver;
const char *tutti_loop_driver_name(tutti_loop_driver d);

typedef struct {
    tutti_loop_driver driver;
    tutti_action *actions;
    int nactions;
} tutti_loop;

/* The rank in a place of the exchange's schedule; a rank's place, -1: it takes no part. */
static inline int tutti_plan_member(const tutti_plan_exchange *x, int place)
{
    return x->members ? x->members[place] : place;
}
int tutti_plan_place(const tutti_plan_exchange *x, int rank);

/* The first action that starts the exchange; -1 = there is none. */
int tutti_loop_find_start(const tutti_loop *l, int exchange);

typedef struct tutti_plan {
    tutti_plan_config config;
    const tutti_graph *graph; /* borrowed */
    int *order;               /* params in exchange order, then control numbers, then frozen ones */
    int first_frozen;         /* in order; = graph->nparams where there are none */
    int64_t *param_offset;    /* a param: where it lies in the packed vector, or behind; a control number: among them */
    int64_t total;            /* elements of the packed vector */
    int64_t nweights;         /* and of the frozen parameters behind it */
    tutti_bucket *buckets;
    int nbuckets;
    tutti_bucket control;    /* the control numbers */
    const char *costs_text;  /* config.costs as text, or NULL */
    tutti_merge_item *items; /* where costs are known: params in exchange order */
    int nitems;

    tutti_plan_memory *memories;
    int nmemories;
    tutti_prepared *schedules; /* equal ones are one */
    int nschedules;
    tutti_size_pair *pairs;
    int npairs;
    tutti_plan_exchange *exchanges;
    int nexchanges;
    tutti_loop loops[TUTTI_NDRIVERS]; /* config.rank's, by driver */
    unsigned other_loops; /* bit set of drivers: other ranks' that have actions, where exchanges are between some */
    int answer;           /* memory of the weights that are tested, saved and handed on */
    tutti_admission admission;
    bool is_paced; /* some loop waits for the slowest worker */

    int nins;                     /* over ranks: most roots, that is, IN buffers of a sum */
    int ncopies;                  /* that gradients and control numbers have: roots and temporary ones, >= nins */
    int my_first_slot, my_nslots; /* fast mode: rank, 1; of micro-batches as many */
    int64_t my_first_sample, my_nsamples; /* in the global batch */
    int64_t samples_per_call;
    /* activations, bytes */
    int64_t arena_bytes, arena_bytes_without_sharing;
    int64_t arena_bytes_at_least;         /* what lives at a time: no placement needs less */
    int64_t *value_offset, *saved_offset; /* a layer; -1 = none */
    int64_t *grad_offset;                 /* a gradient of the graph; -1 = none */
    int64_t *scratch_offset;              /* a node of the graph; -1 = none */
    tutti_arena arena;
    void *kept; /* in there: the method's own (tutti_builder_keep) */
} tutti_plan;

/* How many parts of a batch, each a kernel call or more, a rank has in fast mode: 1, or its micro-batches. */
static inline int tutti_plan_naccumulated(const tutti_plan_config *c)
{
    return c->accumulate > 1 ? c->accumulate : 1;
}

/* The fewest slots of canonical sums that so many ranks share: a power of two. */
int tutti_plan_slots_for(int nranks);
/* Samples in one kernel call, after checking that batch, ranks, slots and micro-batches go together: what the graph is
 * built for. TUTTI_ERR_USAGE: the words begin with the job's key that is to blame, and say what would do: "slots: 6 is
 * no power of two; use 8". */
tutti_status tutti_plan_samples_per_call(const tutti_plan_config *config, int64_t *out, tutti_failure *err);

/* Of split layers: the ranks that share them are neighbours, the first tutti_graph_parts of them, the next ones, ...; a
 * rank's place among these; where the rank's part of a parameter begins, and how much it is (of others: all); the
 * memory of a datum of theirs. */
static inline int tutti_plan_group(const tutti_plan *p, int rank)
{
    return rank / tutti_graph_parts(p->graph);
}
static inline int tutti_plan_position(const tutti_plan *p, int rank)
{
    return rank % tutti_graph_parts(p->graph);
}
void tutti_plan_part(const tutti_plan *p, int param, int rank, int64_t *first, int64_t *count);
int tutti_plan_split_memory(const tutti_plan *p, int datum);
/* Elements of the vector that is exchanged by a travel node: of an all-to-all, of the matrix of all blocks. */
int64_t tutti_plan_travel_count(const tutti_plan *p, int node);
/* The first bucket of parameters that all ranks have whole; -1 = there is none. */
int tutti_plan_common_bucket(const tutti_plan *p);

/* The graph's batch must be tutti_plan_samples_per_call. Lowered schedules are hashed here, and proved up to 256
 * ranks, unless config->prove_later; tutti_plan_check_schedules does it at any count. */
tutti_status tutti_plan_build(const tutti_graph *graph, const tutti_plan_config *config, tutti_plan **out,
                              tutti_failure *err);
void tutti_plan_destroy(tutti_plan *p);
/* Completes a plan that was built with prove_later: before it runs, is hashed or printed. */
tutti_status tutti_plan_prove(tutti_plan *p, const tutti_prover *by, tutti_failure *err);

/* The n-th memory of a role, -1 = there is none. Of the numbers: the parts of slots come first, then their sums. */
int tutti_plan_find_memory(const tutti_plan *p, tutti_memory_role role, int n);
int64_t tutti_plan_memory_bytes(const tutti_plan_memory *m);
/* Where a parameter's gradient goes, and where its value is: memories. */
int tutti_plan_gradient_memory(const tutti_plan *p, int param);
int tutti_plan_value_memory(const tutti_plan *p, int param);
/* How many numbers a look counts into, and where in there the squares of a tensor begin: TUTTI_SQUARES_LIMBS of its
 * weights, then as many of what these are held against. -1: it is scaled by no norm, as biases, batch norm's scale and
 * shift, and statistics are. */
int64_t tutti_plan_nlooked(const tutti_plan *p);
int64_t tutti_plan_norms_of(const tutti_plan *p, int param);

char *tutti_plan_print(const tutti_plan *p);
char *tutti_plan_dot(const tutti_plan *p);
uint64_t tutti_plan_hash(const tutti_plan *p); /* of what must be equal on all ranks */
/* Of all that the proof reads: of what is alike on all ranks, and of one rank's loops. Two plans with the same hashes
 * for all their ranks have the same proof. Before the schedules are hashed (tutti_plan_prove) it says nothing. */
uint64_t tutti_plan_covered(const tutti_plan *p);
uint64_t tutti_plan_covered_loops(const tutti_plan *p, int rank);
/* The same as if all ranks were on one host: of what decides the bits of a run. */
tutti_status tutti_plan_hash_on_one_host(const tutti_plan *p, uint64_t *out, tutti_failure *err);
/* Checks each lowered schedule of the plan once; the failure names what travels by it. */
tutti_status tutti_plan_check_schedules(const tutti_plan *p, tutti_failure *err);

/* Elements [*first, *first + *count) of the packed vector that `rank` owns in a bucket: slice (rank, 1, nranks); of a
 * split layer its group's slice of the rank's part. */
void tutti_plan_own_slice(const tutti_plan *p, int bucket, int rank, int64_t *first, int64_t *count);
/* Some rank has actions in it. */
static inline bool tutti_plan_has_loop(const tutti_plan *p, tutti_loop_driver driver)
{
    return p->loops[driver].nactions || p->other_loops >> driver & 1;
}

/* After how many steps all ranks have the same again: a period, where the method has one. */
static inline bool tutti_plan_has_period(const tutti_plan *p)
{
    return p->config.period > 1 || tutti_plan_has_loop(p, TUTTI_EACH_PERIOD);
}
/* What ranks divide: "data", samples alone; "model", every layer that has parameters, among all ranks; "hybrid",
 * both. */
const char *tutti_plan_parallelism(const tutti_plan *p);
/* What an exchange of so many bytes would travel by, where one of another size goes by `schedule`. */
int tutti_plan_schedule_of_size(const tutti_plan *p, int schedule, int64_t nbytes);
/* Bytes that the rank reads from memory of others and writes to it in one invocation of an exchange. */
int64_t tutti_plan_crossed_bytes(const tutti_plan *p, int exchange, int rank);
/* Every exchange is. Then ranks do alike, and one can stand for all. */
bool tutti_plan_is_between_all(const tutti_plan *p);
/* Ranks take local steps of their own, each of a share of a batch, as they come; else all take part in every step. */
static inline bool tutti_plan_is_async(const tutti_plan *p)
{
    return p->admission != TUTTI_ADMIT_NOBODY;
}
/* ... and this one reaches the common memories through exchanges with rank 0 alone, which is on another host. */
static inline bool tutti_plan_is_far(const tutti_plan *p, int rank)
{
    return tutti_plan_is_async(p) && p->config.host_of && p->config.host_of[rank] != p->config.host_of[0];
}
static inline bool tutti_plan_has_far(const tutti_plan *p)
{
    for (int r = 1; r < p->config.nranks; r++)
        if (tutti_plan_is_far(p, r)) return true;
    return false;
}
/* The exchange by which such a worker brings what its visit is about, and the one by which it takes along what came of
 * it; -1: none. */
int tutti_plan_push_of(const tutti_plan *p, int worker);
int tutti_plan_pull_of(const tutti_plan *p, int worker);
/* Not in rank order, several of them, and what they bring is more than the port into rank 0's host holds: they bring
 * one after the other. */
bool tutti_plan_brings_by_turns(const tutti_plan *p);
/* Its part of the loop of arrivals; actions NULL: there is none. */
tutti_loop tutti_loop_part(const tutti_loop *arrivals, int worker);
/* Those of the first nworkers; the caller frees them. */
tutti_loop *tutti_loop_parts(const tutti_loop *arrivals, int nworkers);
/* ... and who takes which share follows from the plan: rank r of P takes r, r + P, ..; else who comes first takes the
 * next one. */
static inline bool tutti_plan_deals_in_order(const tutti_plan *p)
{
    return p->admission == TUTTI_ADMIT_IN_RANK_ORDER || p->is_paced;
}
/* The loops of any rank (plan->loops are config.rank's). */
void tutti_plan_list_loops(const tutti_plan *p, int rank, tutti_arena *arena, tutti_loop out[TUTTI_NDRIVERS]);

/* Subtree roots of a rank's slots: the fewest aligned runs of 2^m slots that cover [S r / p, S (r+1) / p), in order.
 * slots 0 (fast mode): the one run (rank, 1). Returns how many, at most TUTTI_MAX_SLOT_RUNS. */
typedef struct {
    int first_slot, nslots;
} tutti_slot_run;
enum { TUTTI_MAX_SLOT_RUNS = 64 };
int tutti_plan_roots(int slots, int nranks, int rank, tutti_slot_run out[TUTTI_MAX_SLOT_RUNS]);

/* For ranks that take steps of their own, in place of the order of their visits, which nobody knows, any two of them
 * are looked at: a common memory is touched in visits alone, visits are not nested and nothing is waited for in one, so
 * that who is let in alone is alone and leaves; in rank order all visit equally often. A worker of another host and the
 * part that serves it are proved together: they take turns, and what the worker takes along is what its visit has made
 * of what it brought.
 *
 * Proves over consecutive steps of all ranks, from loops and lowered schedules together, that every two overlapping
 * accesses to memories, one of them a write, are ordered by happens-before, and that memories hold what the method
 * declares. The failure is a counter-example with both accesses. */
tutti_status tutti_plan_check(const tutti_plan *p, tutti_failure *err);
/* The same; headway, which may be NULL, hears now and then that it goes on, without counts. */
tutti_status tutti_plan_check_told(const tutti_plan *p, const tutti_headway *headway, tutti_failure *err);

#endif
