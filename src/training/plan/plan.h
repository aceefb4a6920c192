/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: how this run does its steps: order, memory offsets, buckets, schedules, gates. A frozen value, equal on all
 * ranks (its hash is compared in the handshake), but for `mine`, which follows from the rank.
 *
 * Memory. Parameters are packed in exchange order (the order in which their gradients become ready) into one vector of
 * `total` elements, each bucket a contiguous range, starts aligned to 16 elements. Regions on each rank:
 *   weights  total f32                    (all-gather writes here; in place)
 *   grads    nroots * total f32           (reduce-scatter reads all roots, writes root 0's own slice; in place)
 *   states   total f32 each               (what the rule keeps beside the weights; only the own slices are touched)
 * Activations, their gradients, saved state and scratch share one private arena by life time.
 *
 * Gated, the loop is: overlapped reduce-scatters; each rank checks its own slices; one allreduce of one number; updates, or
 * none, all-gathers. A skipped step moves the old weights, so the plan does not depend on the verdict; control numbers
 * (@loss, @correct, @stop) are updated all the same.
 *
 * Canonical sums (slots = S): this rank holds slots [S*r/p, S*(r+1)/p), that is, nroots <= 2 log2 S subtree roots; it
 * runs forward and backward slot by slot, adds gradients of a root's slots in tree order, and exchanges roots. Slot
 * gradients are written into numbered gradient buffers of the region: buffer i < roots is root i (the schedule's IN
 * buffer of ordinal i), the others are temporary. A root of 2^m slots at place i needs buffers i .. i + m while it is
 * summed (a binary counter: equal subtrees are folded, older += newer), so the region has nroots_max = max over ranks
 * and roots of i + m + 1 of them. Everything that a slot writes (statistics and control numbers too) goes to buffer
 * root_dst of its FORWARD and BACKWARD_PARAMS actions; a temporary buffer holds old values until then, so all of a
 * slot's parts must be written.
 *
 * Threads: frozen after build. */
#ifndef TUTTI_PLAN_H
#define TUTTI_PLAN_H

#include "../graph/graph.h"
#include "costs.h"
#include "tutti/schedule.h"

/* As bucket_bytes: one exchange a layer (its parameters together); one in all; so that exchanges end soonest, by
 * tutti_plan_config.costs (up to 1 MiB as long as there are none). */
#define TUTTI_BUCKET_LAYER   (-1)
#define TUTTI_BUCKET_SOONEST (-2)
#define TUTTI_BUCKET_ALL     INT64_MAX

typedef struct {
    int rank, nranks;
    const int32_t *host_of; /* the host of each rank (borrowed); NULL = one host */
    bool prove_later;       /* schedules are left to tutti_plan_prove */
    int64_t batch;          /* global */
    int slots;              /* canonical: S; 0 = fast mode (each rank's share is one kernel call) */
    const char *algorithm;  /* of the exchanges: "direct", ... or "auto": that, or split by rails between hosts */
    int64_t bucket_bytes;   /* merge neighbours up to so much; 0 = one exchange a parameter; or a rule as above */
    const tutti_plan_costs *costs; /* what exchanges cost (copied); NULL = not known */
    bool by_need; /* what the next step reads first is exchanged and updated first; else what was ready first */
    bool gated;   /* no weight is updated before all ranks know that every gradient is finite */
    int nstates;  /* vectors that the rule of updates keeps beside the weights */
    const char *const *states; /* their names, borrowed */
    const char *engine;
    int nthreads;
} tutti_plan_config;

typedef struct {
    int64_t offset, count;                                     /* of the packed vector, elements */
    int first_param, nparams;                                  /* in plan->order */
    tutti_schedule *reduce_scatter, *all_gather;               /* as compiled */
    tutti_schedule *reduce_scatter_mapped, *all_gather_mapped; /* lowered: what runs */
    uint64_t hash;                                             /* of the two lowered schedules */
    int turn; /* 0: its weights are read first in a step, then 1, ... */
} tutti_bucket;

/* A gate: one number of each rank, summed over all, decides whether the step's updates are made. Its exchange is an allreduce
 * of one f32, from `flag` to `verdict`. */
typedef struct {
    tutti_schedule *allreduce, *allreduce_mapped; /* as compiled; lowered: what runs. NULL = no gate */
    uint64_t hash;                                /* of what runs */
} tutti_gate;

/* One step of the loop that run.c plays, in order. */
typedef enum {
    TUTTI_DO_FORWARD, /* node's kernel */
    TUTTI_DO_BACKWARD_PARAMS,
    TUTTI_DO_BACKWARD_DATA,
    TUTTI_DO_SUM,          /* the parts of the gradient of the layer's output are added up */
    TUTTI_DO_FOLD,         /* canonical: slot gradients of a bucket are added to a root (dst) from another (src) */
    TUTTI_DO_READY,        /* bucket: start its reduce-scatter (last slot only) */
    TUTTI_DO_FREE,         /* bucket: tell its all-gather that this rank's weights may be overwritten */
    TUTTI_DO_CHECK,        /* bucket, gated: wait for the reduce-scatter, look at the own slice */
    TUTTI_DO_GATE,         /* tell what was seen, hear what all have seen */
    TUTTI_DO_UPDATE,       /* bucket: wait for the reduce-scatter, update the own slice, start the all-gather */
    TUTTI_DO_WAIT_WEIGHTS, /* bucket: before its first reader of the next step */
    TUTTI_NACTIONS
} tutti_action_kind;
const char *tutti_action_kind_name(tutti_action_kind k);

typedef struct {
    tutti_action_kind kind;
    int slot;               /* local slot (0 .. nslots_mine), 0 in fast mode */
    int layer;              /* forward, backward, sum; else -1 */
    int bucket;             /* fold, ready, free, check, update, wait-weights; else -1 */
    int node;               /* forward, backward, sum: of the graph; else 0 */
    int root_dst, root_src; /* fold: dst += src; root_dst: where forward and backward_params of this slot write */
} tutti_action;

typedef struct {
    tutti_plan_config config;
    const tutti_graph *graph; /* borrowed */
    int *order;               /* params in exchange order */
    int64_t *param_offset;    /* a param: where it lies in the packed vector */
    int64_t total;            /* elements of the packed vector */
    tutti_bucket *buckets;
    int nbuckets;
    tutti_gate gate;
    const char *costs_text;  /* config.costs as text, or NULL */
    tutti_merge_item *items; /* where costs are known: params in exchange order, the control numbers in the last */
    int nitems;
    tutti_action *actions;
    int nactions;
    int nins;                             /* over ranks: most roots, that is, IN buffers of the reduce-scatters */
    int nroots_max;                       /* gradient buffers in the grads region: roots and temporary ones, >= nins */
    int my_first_slot, my_nslots;         /* fast mode: rank, 1 */
    int64_t my_first_sample, my_nsamples; /* in the global batch */
    int64_t samples_per_call;
    /* private arena, bytes */
    int64_t arena_bytes, arena_bytes_without_sharing;
    int64_t arena_bytes_at_least;         /* what lives at a time: no placement needs less */
    int64_t *value_offset, *saved_offset; /* a layer; -1 = none */
    int64_t *grad_offset;                 /* a gradient of the graph; -1 = none */
    int64_t *scratch_offset;              /* a node of the graph; -1 = none */
    tutti_arena arena;
} tutti_plan;

/* Samples in one kernel call, after checking that batch, ranks and slots go together: what the graph is built for.
 * TUTTI_ERR_USAGE names the nearest batch or count that works. */
tutti_status tutti_plan_samples_per_call(const tutti_plan_config *config, int64_t *out, tutti_failure *err);

/* The graph's batch must be tutti_plan_samples_per_call. Lowered schedules are hashed here, and proved up to 256
 * ranks, unless config->prove_later; tutti_plan_check_schedules does it at any count. */
tutti_status tutti_plan_build(const tutti_graph *graph, const tutti_plan_config *config, tutti_plan **out,
                              tutti_failure *err);
void tutti_plan_destroy(tutti_plan *p);
/* Who proves a lowered schedule and hashes it: in a group one rank for all, so that it costs the others nothing. */
typedef struct {
    tutti_status (*prove)(void *who, const tutti_schedule *lowered, uint64_t *hash, tutti_failure *err);
    void *who;
} tutti_prover;
/* Completes a plan that was built with prove_later: before it runs, is hashed or printed. */
tutti_status tutti_plan_prove(tutti_plan *p, const tutti_prover *by, tutti_failure *err);
/* Bytes of the regions of a rank. */
typedef struct {
    int64_t weights, grads, state; /* state: each of config.nstates */
} tutti_plan_memory;
tutti_plan_memory tutti_plan_memory_of(const tutti_plan *p);
char *tutti_plan_print(const tutti_plan *p);
char *tutti_plan_dot(const tutti_plan *p);
uint64_t tutti_plan_hash(const tutti_plan *p); /* of what must be equal on all ranks */
/* Checks each lowered schedule of the plan once; the failure names bucket and collective. */
tutti_status tutti_plan_check_schedules(const tutti_plan *p, tutti_failure *err);

/* Elements [*first, *first + *count) of the packed vector that `rank` owns in a bucket: slice (rank, 1, nranks). */
void tutti_plan_own_slice(const tutti_plan *p, int bucket, int rank, int64_t *first, int64_t *count);
/* The actions of any rank (plan->actions are config.rank's). */
void tutti_plan_list_actions(const tutti_plan *p, int rank, tutti_arena *arena, tutti_action **out, int *nactions);

/* Subtree roots of a rank's slots: the fewest aligned runs of 2^m slots that cover [S r / p, S (r+1) / p), in order.
 * slots 0 (fast mode): the one run (rank, 1). Returns how many, at most TUTTI_MAX_SLOT_RUNS. */
typedef struct {
    int first_slot, nslots;
} tutti_slot_run;
enum { TUTTI_MAX_SLOT_RUNS = 64 };
int tutti_plan_roots(int slots, int nranks, int rank, tutti_slot_run out[TUTTI_MAX_SLOT_RUNS]);

/* Proves over two consecutive steps of all ranks, from actions and lowered schedules together, that every two
 * overlapping accesses to weights, grads, states and arena, one of them a write, are ordered by happens-before. The
 * failure is a counter-example with both accesses. */
tutti_status tutti_plan_check(const tutti_plan *p, tutti_failure *err);

#endif
