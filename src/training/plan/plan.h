/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: the plan: memories, exchanges and loops of actions, by which a run does its steps. A plan is a frozen value.
 * All ranks have the same plan, except for `mine`, which follows from the rank, and the loops; the handshake compares
 * its hash.
 *
 * A method writes the plan (plan_builder.h). The plan itself only knows what a memory, an exchange, a loop and an
 * action are, not what any of them is for. Proving, printing, timing and binding a plan go through the arrays.
 *
 * Memory. Parameters are packed into one vector of `total` elements, in exchange order (the order in which their
 * gradients become ready). Each bucket is a contiguous range; starts are aligned to 16 elements. Memories of the roles
 * weights, gradients and state hold such vectors, so that one offset is right for all of them. Frozen parameters, which
 * are neither exchanged nor written, lie behind the vector: weights, and centres that are tested, have `nweights`
 * elements. Control numbers (@loss, @correct, @stop) are packed apart, in memories of the role numbers. Activations,
 * their gradients, saved state and scratch share one private memory by life time.
 *
 * Canonical sums (slots = S): this rank holds slots [S*r/p, S*(r+1)/p), that is, nins <= 2 log2 S subtree roots. It
 * runs forward and backward slot by slot, adds gradients of a root's slots in tree order, and exchanges roots. Slot
 * gradients are written into numbered copies of their memory: copy i < roots is root i (the schedule's IN buffer of
 * ordinal i), the others are temporary. A root of 2^m slots at place i needs copies i .. i + m while it is summed (a
 * binary counter: equal subtrees are folded, older += newer), so there are ncopies = max over ranks and roots of i + m
 * + 1 of them. A slot writes everything (statistics and control numbers too) to copy `dst` of its kernel actions. A
 * temporary copy holds old values until then, so a slot must write all of its parts.
 *
 * Micro-batches (accumulate = N) are slots of a rank whose sum is no tree: the first is written into copy 0, each later
 * one into copy 1, which is then folded into copy 0.
 *
 * Threads: any, after build. */
#ifndef TUTTI_PLAN_H
#define TUTTI_PLAN_H

#include "../../base/headway.h"
#include "../../collective/lower/prepare.h"
#include "../graph/graph.h"
#include "action/action.h"
#include "costs.h"
#include "tutti/schedule.h"
#include "tutti/types.h"

/* Values of bucket_bytes in place of a size: LAYER: one exchange for each layer (its parameters together). ALL: one
 * exchange in all. SOONEST: merge so that exchanges end soonest, by tutti_plan_config.costs (up to 1 MiB while costs
 * are not known). */
#define TUTTI_BUCKET_LAYER   (-1)
#define TUTTI_BUCKET_SOONEST (-2)
#define TUTTI_BUCKET_CUT     (-3) /* bucket sizes are those of tutti_plan_config.cut */
#define TUTTI_BUCKET_ALL     INT64_MAX

/* Norms that need all elements of the gradients or of a tensor, and so must be known before any weight is changed. */
typedef enum {
    TUTTI_NO_NORMS,
    TUTTI_NORM_OF_ALL,      /* the norm of all gradients together */
    TUTTI_NORMS_OF_TENSORS, /* for each weight tensor: its norm, and the norm of the elements compared with it
                             * (rule.h) */
} tutti_norms;

enum { TUTTI_PLAN_OWN = 2 };

/* The functions by which a method writes a plan: plan_builder.h. */
typedef struct tutti_emitter tutti_emitter;

/* Schedules that several plans share while they are compared; the plans have the same configuration and hosts.
 * Zero-initialise; release after the plans. */
typedef struct {
    struct tutti_shelved *list;
    int n, room;
} tutti_plan_shelf;
void tutti_plan_shelf_release(tutti_plan_shelf *shelf);

typedef struct {
    int rank, nranks;
    const int32_t *host_of; /* the host of each rank (borrowed); NULL = one host */
    bool prove_later;       /* schedules are proved by tutti_plan_prove, not by tutti_plan_build */
    bool is_draft;          /* the plan is only timed, not printed, hashed or run: activations get no places, costs no
                             * text */
    int64_t batch;          /* samples of a step, over all ranks */
    /* canonical: S, the number of slots; 0 = fast mode (each rank's share is one kernel call, or `accumulate` of
     * them) */
    int slots;
    /* fast mode: number of micro-batches whose gradients a rank sums before they are exchanged; 0 = 1 */
    int accumulate;
    const tutti_emitter *method;
    const char *algorithm; /* algorithm of the exchanges: tutti_plan_algorithms; NULL = "auto" */
    int64_t hybrid_bytes;  /* algorithm "hybrid": exchanges of this size or more are large */
    /* for algorithms that are bound to a topology; NULL = none; must outlive the plan */
    const struct tutti_topology *topology;
    /* neighbouring parameters are merged into buckets up to this size; 0 = one exchange for each parameter; or a
     * TUTTI_BUCKET_... */
    int64_t bucket_bytes;
    /* for TUTTI_BUCKET_CUT: how many exchanged parameters each bucket has, in exchange order (copied) */
    tutti_reals cut;
    tutti_plan_shelf *shelf;       /* owns the schedules, beyond the plan's life; NULL = the plan owns them */
    const tutti_plan_costs *costs; /* times of exchanges (copied); NULL = not known */
    /* true: parameters that the next step reads first are exchanged and updated first; false: those that are ready
     * first */
    bool by_need;
    bool only_finite;  /* no weight is updated before all ranks know that every gradient is finite */
    tutti_norms norms; /* no weight is updated before all ranks know these norms */
    bool replicated;   /* true if every rank updates all weights and keeps all states; false: each rank its slices */
    /* type in which gradients are sent: f32 as they are, or bf16 or f16, each rank's gradients rounded once */
    tutti_dtype sent;
    /* true if partial sums are rounded to `sent` too, wherever a schedule step leaves one; else sums are f32 */
    bool rounds_each;
    bool early;        /* true if a bucket is updated as soon as possible, beside the kernels; else after all kernels */
    int64_t period;    /* steps between two exchanges of weights, where the method has such a period; else 1 */
    bool mean_states;  /* states are averaged whenever weights are */
    int64_t staleness; /* for methods that bound it: local steps by which a worker may be ahead of the slowest */
    double own[TUTTI_PLAN_OWN]; /* values of keys that only the method knows */
    int nstates;                /* number of vectors that the update rule keeps beside the weights */
    const char *const *states;  /* names of the vectors that the update rule keeps beside the weights, borrowed */
    const char *engine;
    int nthreads;
} tutti_plan_config;

/* Writes the algorithms that config.algorithm stands for, with their parameters, to `rows`, and returns how many. None
 * for "rule", and for "auto" where nothing was chosen: the plan takes direct, or split-rail between hosts of several
 * ranks; large exchanges between three or more hosts of one rank take ring. Two for "hybrid[,group=N]" (Jia et al.
 * 2018): hierarchical for small exchanges, ring for large ones. Otherwise one, the algorithm that the text names. */
int tutti_plan_algorithms(const char *text, char rows[2][TUTTI_ALGORITHM_TEXT]);

/* True if values are rounded only once on their way. Each sum is then taken in one step: over the values of all ranks,
 * or over the sums that groups of ranks have made. */
static inline bool tutti_plan_sums_once(const tutti_plan_config *c)
{
    return c->sent != TUTTI_F32 && !c->rounds_each;
}

/* Neighbours in the packed vector that are exchanged together. */
typedef struct {
    int64_t offset, count;    /* range of the packed vector, in elements */
    int first_param, nparams; /* the bucket's parameters: a range in plan->order */
    int parts;                /* > 1: bucket of a split layer; `parts` ranks have a part each, and padding follows */
    int turn;                 /* place in the order of first reads in the next step: 0 = its weights are read first */
} tutti_bucket;
enum { TUTTI_NO_BUCKET = -1, TUTTI_CONTROL_BUCKET = -2 }; /* CONTROL_BUCKET: bucket number of the control numbers */

/* ---- memories ---- */

typedef enum {
    TUTTI_ROLE_WEIGHTS,   /* weights that kernels read */
    TUTTI_ROLE_GRADIENTS, /* gradients that kernels write */
    TUTTI_ROLE_SENT,      /* gradients in the type config.sent, where they are sent in another type than f32 */
    TUTTI_ROLE_STATE,     /* vectors that the rule keeps beside the weights, in its order */
    /* number 0: the centre, the weights that workers agree on while each has weights of its own; then vectors that the
     * centre's rule needs */
    TUTTI_ROLE_CENTRE,
    TUTTI_ROLE_NUMBERS,    /* some numbers, such as the control numbers, instead of a vector of parameters */
    TUTTI_ROLE_TRAVELLING, /* data that ranks that share a layer send each other: the graph's places, in their order */
    /* at rank 0 alone: first the vector that a worker of another host has brought, then the result that it takes
     * along */
    TUTTI_ROLE_SEAT,
    TUTTI_ROLE_ACTIVATIONS, /* activations and the like, packed by life time, in bytes (value_offset and the next
                             * fields) */
    TUTTI_NROLES
} tutti_memory_role;

/* Contents of a memory on every rank after a period, as the method declares them; the proof checks it. */
typedef enum {
    TUTTI_HOLDS_ANYTHING,
    TUTTI_HOLDS_ALL, /* the parts of all slots, each exactly once, added in the order that the class of the sum
                      * prescribes */
} tutti_memory_content;

typedef struct {
    const char *name;
    tutti_memory_role role;
    tutti_dtype type;
    int64_t elements; /* elements of one copy */
    int copies;       /* number of copies, one after the other */
    bool is_region;   /* other ranks read or write the memory */
    bool is_common;   /* only rank 0 has this memory; all ranks of its host use it where it lies */
    bool is_lasting;  /* the memory's content lasts from step to step; else only within a step */
    bool is_saved;    /* checkpoints hold it */
    bool differs;     /* true if the content differs between ranks between two periods, so that each rank's is saved */
    tutti_memory_content holds;
} tutti_plan_memory;

/* ---- exchanges ---- */

typedef struct {
    int memory; /* the memory, as an index into plan->memories */
    int copy;   /* the first copy of the memory that takes part */
} tutti_operand;

typedef struct {
    const char *name;   /* name in texts: "gradients of bucket 2" */
    int schedule;       /* index into plan->schedules */
    tutti_operation op; /* the operation of a reduction; sum unless set */
    /* type of the elements that lie in scratch between ranks: bf16 or f16, else the type of the inputs. The builder
     * fills it in */
    tutti_dtype sent;
    /* the ranks that take part: the schedule's rank i is members[i]; NULL = all, in their order */
    const int32_t *members;
    int nmembers;     /* number of members; if members is NULL, the builder fills in all ranks */
    unsigned drivers; /* bit set: the loops in which the members start the exchange. The builder fills it in */
    int bucket;       /* the bucket whose elements are exchanged, TUTTI_CONTROL_BUCKET or TUTTI_NO_BUCKET */
    bool is_travel;   /* the exchange is of data of a split layer, at the graph's `node` */
    int node;
    int64_t first, count; /* range of elements in each copy that the memory has of its vector */
    tutti_operand in;     /* IN buffer k of the schedule is copy in.copy + k */
    tutti_operand out;    /* the same as `in` where the schedule is in place */
    int turn;             /* among exchanges in flight, lower turns progress first */
} tutti_plan_exchange;

/* For an algorithm that depends on the size of an exchange: the schedule for exchanges below `from` bytes, and the
 * schedule from that size on. */
typedef struct {
    int small, large;
    int64_t from;
} tutti_size_pair;

/* ---- loops ---- */

/* True if this step, counted from 0, is the last one of a period. */
static inline bool tutti_ends_period(int64_t step, int64_t period)
{
    return (step + 1) % period == 0;
}

/* How ranks that take steps of their own reach a common memory. Without a common memory all ranks step together. */
typedef enum {
    TUTTI_ADMIT_NOBODY,        /* no rank visits anything */
    TUTTI_ADMIT_BY_ARRIVAL,    /* one rank at a time, in order of arrival */
    TUTTI_ADMIT_IN_RANK_ORDER, /* one rank at a time: rank 0, 1, .. P - 1, 0, .. */
    TUTTI_ADMIT_EVERYBODY,     /* several at a time: if two change the same element, one change is lost */
} tutti_admission;

const char *tutti_admission_words(tutti_admission a); /* returns the words for an admission: "one at a time, in order of
                                                       * arrival" */

/* When the actions of a loop are played. */
typedef enum {
    TUTTI_EACH_STEP,
    /* when an exchange that a step started has ended: the loop consists of parts, and each begins with the wait for one
     * such exchange. The thread that moves bytes plays them beside the other loops; a part is ordered only by what it
     * waits for */
    TUTTI_EACH_END,
    /* at rank 0, beside its other loops: one part for each worker of another host, played for each of that worker's
     * local steps that ends a period. Actions before a part's first exchange are done before the worker begins the
     * step. Only visits order the parts */
    TUTTI_EACH_ARRIVAL,
    TUTTI_EACH_PERIOD, /* after every config.period steps */
    /* between two steps, before a test or a checkpoint: completes the weights that are tested and saved */
    TUTTI_EACH_TEST,
    TUTTI_EACH_SAVE, /* after TUTTI_EACH_TEST, before a checkpoint */
    TUTTI_NDRIVERS
} tutti_loop_driver;
const char *tutti_loop_driver_name(tutti_loop_driver d);

typedef struct {
    tutti_loop_driver driver;
    tutti_action *actions;
    int nactions;
} tutti_loop;

/* tutti_plan_member returns the rank at a place of the exchange's schedule. The next function returns a rank's place,
 * -1 = the rank takes no part. */
static inline int tutti_plan_member(const tutti_plan_exchange *x, int place)
{
    return x->members ? x->members[place] : place;
}
int tutti_plan_place(const tutti_plan_exchange *x, int rank);

/* Returns the index of the first action that starts the exchange; -1 = none. */
int tutti_loop_find_start(const tutti_loop *l, int exchange);

typedef struct tutti_plan {
    tutti_plan_config config;
    const tutti_graph *graph; /* the step graph, borrowed */
    int *order;               /* indices of parameters: in exchange order, then control numbers, then frozen
                               * parameters */
    int first_frozen;         /* index into `order` of the first frozen parameter; = graph->nparams where none is
                               * frozen */
    /* per parameter: offset in the packed vector, or behind it if frozen; for a control number: offset among the
     * control numbers */
    int64_t *param_offset;
    int64_t total;    /* elements of the packed vector */
    int64_t nweights; /* elements of the packed vector and of the frozen parameters behind it */
    tutti_bucket *buckets;
    int nbuckets;
    int *bucket_of;          /* per parameter: its bucket, TUTTI_CONTROL_BUCKET or TUTTI_NO_BUCKET */
    tutti_bucket control;    /* the bucket of the control numbers */
    const char *costs_text;  /* config.costs as text, or NULL */
    tutti_merge_item *items; /* where costs are known: one item for each parameter, in exchange order */
    int nitems;

    tutti_plan_memory *memories;
    int nmemories;
    tutti_prepared *schedules; /* equal schedules are stored once */
    int nschedules;
    tutti_size_pair *pairs;
    int npairs;
    tutti_plan_exchange *exchanges;
    int nexchanges;
    tutti_loop loops[TUTTI_NDRIVERS]; /* the loops of config.rank, by driver */
    /* bit set of drivers: the loops in which some other rank has actions; 0 if all exchanges are between all ranks,
     * because then all ranks have the same loops */
    unsigned other_loops;
    int answer; /* the memory with the weights that are tested, saved and handed on */
    tutti_admission admission;
    bool is_paced; /* some loop waits for the slowest worker */

    int nins;                     /* most roots of any rank, that is, IN buffers of a sum */
    int ncopies;                  /* copies of gradients and control numbers: roots and temporary ones, >= nins */
    int my_first_slot, my_nslots; /* this rank's first slot and number of slots; fast mode: the rank, and 1 or the
                                   * number of micro-batches */
    int64_t my_first_sample, my_nsamples; /* this rank's samples, a range in the global batch */
    int64_t samples_per_call;
    /* bytes of the activations' memory, as it is and as it would be if no activations shared memory */
    int64_t arena_bytes, arena_bytes_without_sharing;
    int64_t arena_bytes_at_least;         /* most bytes that live at one time: no placement needs less */
    int64_t *value_offset, *saved_offset; /* per layer: byte offset of its output, of its saved state; -1 = none */
    int64_t *grad_offset;                 /* per gradient of the graph: its byte offset; -1 = none */
    int64_t *scratch_offset;              /* per node of the graph: byte offset of its kernel's scratch; -1 = none */
    tutti_arena arena;
    void *kept; /* the method's own struct (tutti_builder_keep) */
} tutti_plan;

/* Returns into how many parts, each one kernel call or more, a rank's share of a batch is cut in fast mode: 1, or its
 * micro-batches. */
static inline int tutti_plan_naccumulated(const tutti_plan_config *c)
{
    return c->accumulate > 1 ? c->accumulate : 1;
}

/* Returns the fewest slots of canonical sums that `nranks` ranks can share: a power of two. */
int tutti_plan_slots_for(int nranks);
/* Checks that batch, ranks, slots and micro-batches fit together, and writes the number of samples in one kernel call,
 * which the graph is built for, to *out. TUTTI_ERR_USAGE: the message begins with the job's key that is to blame and
 * says what would work: "slots: 6 is no power of two; use 8". */
tutti_status tutti_plan_samples_per_call(const tutti_plan_config *config, int64_t *out, tutti_failure *err);

/* Split layers: each group of tutti_graph_parts neighbouring ranks shares them. tutti_plan_group: the rank's group. The
 * next function: the rank's place in its group. tutti_plan_part: where the rank's part of a parameter begins, and how
 * many elements it has (all of them if the layer is not split). tutti_plan_split_memory: the memory of a split
 * datum. */
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
/* Returns the elements of the vector that a travel node exchanges; for an all-to-all, of the matrix of all blocks. */
int64_t tutti_plan_travel_count(const tutti_plan *p, int node);
/* Returns the first bucket of parameters that are not split; -1 = none. */
int tutti_plan_common_bucket(const tutti_plan *p);

/* Builds a plan. The graph's batch must be tutti_plan_samples_per_call. Unless config->prove_later, this hashes the
 * lowered schedules, and proves them for up to 256 ranks; tutti_plan_check_schedules proves them for any number. */
tutti_status tutti_plan_build(const tutti_graph *graph, const tutti_plan_config *config, tutti_plan **out,
                              tutti_failure *err);
void tutti_plan_destroy(tutti_plan *p);
/* Completes a plan that was built with prove_later. Call it before the plan runs, is hashed or printed. */
tutti_status tutti_plan_prove(tutti_plan *p, const tutti_prover *by, tutti_failure *err);

/* Returns the n-th memory of a role, with n from 0; -1 = none. For TUTTI_ROLE_NUMBERS the memory of the slots' parts
 * comes first, then that of their sums. */
int tutti_plan_find_memory(const tutti_plan *p, tutti_memory_role role, int n);
int64_t tutti_plan_memory_bytes(const tutti_plan_memory *m);
/* Return the memory that a parameter's gradient is written to, and the memory that holds its value. */
int tutti_plan_gradient_memory(const tutti_plan *p, int param);
int tutti_plan_value_memory(const tutti_plan *p, int param);
/* tutti_plan_nlooked: how many numbers a look adds to. tutti_plan_norms_of: the first of these numbers that holds
 * squares of a parameter's tensor: TUTTI_SQUARES_LIMBS numbers for its weights, then as many for the numbers that the
 * weights are compared with. -1: no norm scales the parameter, as with biases, batch norm's scale and shift, and
 * statistics. */
int64_t tutti_plan_nlooked(const tutti_plan *p);
int64_t tutti_plan_norms_of(const tutti_plan *p, int param);

char *tutti_plan_print(const tutti_plan *p);
char *tutti_plan_dot(const tutti_plan *p);
uint64_t tutti_plan_hash(const tutti_plan *p); /* returns a hash of everything that must be equal on all ranks */
/* Two hashes that together cover all that the proof reads. tutti_plan_covered hashes what is equal on all ranks, the
 * next function hashes the loops of one rank. Two plans with the same hashes for all their ranks have the same proof.
 * The first hash has no meaning before the schedules are hashed (tutti_plan_prove). */
uint64_t tutti_plan_covered(const tutti_plan *p);
uint64_t tutti_plan_covered_loops(const tutti_plan *p, int rank);
/* Hashes the plan as if all ranks were on one host: the hash covers only facts that decide the bits of a run. */
tutti_status tutti_plan_hash_on_one_host(const tutti_plan *p, uint64_t *out, tutti_failure *err);
/* Proves each lowered schedule of the plan once; the failure names the exchange that uses the schedule. */
tutti_status tutti_plan_check_schedules(const tutti_plan *p, tutti_failure *err);

/* Writes the elements [*first, *first + *count) of the packed vector that `rank` owns in a bucket: slice (rank, 1,
 * nranks); in a split layer its group's slice of the rank's part. */
void tutti_plan_own_slice(const tutti_plan *p, int bucket, int rank, int64_t *first, int64_t *count);
/* True if some rank has actions in this loop. */
static inline bool tutti_plan_has_loop(const tutti_plan *p, tutti_loop_driver driver)
{
    return p->loops[driver].nactions || p->other_loops >> driver & 1;
}

/* True if ranks hold the same weights only after a period of steps. */
static inline bool tutti_plan_has_period(const tutti_plan *p)
{
    return p->config.period > 1 || tutti_plan_has_loop(p, TUTTI_EACH_PERIOD);
}
/* Returns what ranks divide: "data": only samples; "model": every layer that has parameters, among all ranks; "hybrid":
 * both. */
const char *tutti_plan_parallelism(const tutti_plan *p);
/* Returns the schedule for an exchange of `nbytes` bytes, where an exchange of another size uses `schedule`. */
int tutti_plan_schedule_of_size(const tutti_plan *p, int schedule, int64_t nbytes);
/* Returns the bytes that the rank reads from and writes to memory of other ranks in one invocation of an exchange. */
int64_t tutti_plan_crossed_bytes(const tutti_plan *p, int exchange, int rank);
/* True if every exchange is between all ranks. Then all ranks do the same, and code may look at one rank in place of
 * all. */
bool tutti_plan_is_between_all(const tutti_plan *p);
/* True if ranks take local steps of their own, each over a share of a batch; false: all ranks take part in every
 * step. */
static inline bool tutti_plan_is_async(const tutti_plan *p)
{
    return p->admission != TUTTI_ADMIT_NOBODY;
}
/* True if tutti_plan_is_async and this rank is on another host than rank 0: it reaches the common memories only through
 * exchanges with rank 0. */
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
/* Returns the exchange by which a worker of another host brings the vector of its visit to rank 0, and the exchange by
 * which it takes the result along; -1 = none. */
int tutti_plan_push_of(const tutti_plan *p, int worker);
int tutti_plan_pull_of(const tutti_plan *p, int worker);
/* True if workers of other hosts must send their vectors to rank 0 one after the other. They must if there are several
 * such workers, the admission is not in rank order, and a vector is larger than the buffer of the switch's port to rank
 * 0's host. */
bool tutti_plan_brings_by_turns(const tutti_plan *p);
/* Returns the part of rank 0's loop TUTTI_EACH_ARRIVAL that serves this worker; its `actions` are NULL if there is
 * none. */
tutti_loop tutti_loop_part(const tutti_loop *arrivals, int worker);
/* Returns, for each of the first `nworkers` workers, the part that serves it; the caller frees the array. */
tutti_loop *tutti_loop_parts(const tutti_loop *arrivals, int nworkers);
/* True if the plan fixes which rank takes which share: rank r of P takes r, r + P, ..; false: the first rank to ask
 * takes the next share. */
static inline bool tutti_plan_deals_in_order(const tutti_plan *p)
{
    return p->admission == TUTTI_ADMIT_IN_RANK_ORDER || p->is_paced;
}
/* Lists the loops of any rank (plan->loops are config.rank's). They lie in `arena`. */
void tutti_plan_list_loops(const tutti_plan *p, int rank, tutti_arena *arena, tutti_loop out[TUTTI_NDRIVERS]);

/* Writes the subtree roots of a rank's slots: the fewest aligned runs of 2^m slots that cover [S r / p, S (r+1) / p),
 * in order. slots 0 (fast mode): the one run (rank, 1). Returns how many, at most TUTTI_MAX_SLOT_RUNS. */
typedef struct {
    int first_slot, nslots;
} tutti_slot_run;
enum { TUTTI_MAX_SLOT_RUNS = 64 };
int tutti_plan_roots(int slots, int nranks, int rank, tutti_slot_run out[TUTTI_MAX_SLOT_RUNS]);

/* Proves over consecutive steps of all ranks, from loops and lowered schedules together, that every two overlapping
 * accesses to memories, one of them a write, are ordered by happens-before, and that memories hold what the method
 * declares. The failure is a counter-example with both accesses.
 *
 * If ranks take steps of their own, the order of their visits is unknown, so the proof covers any two visits. It shows
 * that a common memory is touched only in visits, that visits are not nested, and that no visit waits for anything. So
 * a rank that is let in alone stays alone and leaves. In rank order all ranks must visit equally often. A worker of
 * another host and the part that serves it are proved together: they take turns, and the worker takes back the elements
 * that it brought, as its visit has changed them. */
tutti_status tutti_plan_check(const tutti_plan *p, tutti_failure *err);
/* Works as tutti_plan_check. headway, which may be NULL, gets a report now and then, without counts, that the proof is
 * still running. */
tutti_status tutti_plan_check_told(const tutti_plan *p, const tutti_headway *headway, tutti_failure *err);

#endif
