/* SPDX-License-Identifier: Apache-2.0 */
/* svm_context.h: declarations that the files of the SVM solver share: the context of a training.
 *
 *   context  rows, tile, threads and buffers of all problems of a training: svm_context.c, svm_travel.c, svm_sum.c
 *   solver   one problem, its state and what is made from it: svm_solve.c, svm_finish.c
 *   set      the working set: members' rows and their kernel matrix: svm_set.c; svm_select.c chooses the members
 *   update   all gradients, from kernel rows that are computed or cached: svm_update.c
 *   rule     when samples are dropped and become active again: svm_eliminate.c
 *   file     saving the state of a solver, and resuming from it: svm_checkpoint.c
 *
 * A rank that is alone calls no collective.
 *
 * Threads: one at a time. */
#ifndef TUTTI_SVM_CONTEXT_H
#define TUTTI_SVM_CONTEXT_H

#include "../../base/arena.h"
#include "../../base/pool.h"
#include "svm_account.h"
#include "svm_cache.h"
#include "svm_offer.h"
#include "svm_solve.h"
#include "svm_state.h"

/* A buffer that grows when needed and is reused. */
typedef struct {
    void *at;
    size_t room;
} tutti_svm_buffer;
void *tutti_svm_buffer_of(tutti_svm_buffer *b, size_t nbytes);

/* Rows gathered from all ranks. */
typedef struct {
    int64_t n;
    tutti_svm_buffer start, index, value, value32, square;
    /* for a precomputed kernel: the rows in the form of targets, as unit vectors */
    tutti_svm_buffer unit_start, unit_index, unit_value, unit_value32;
} tutti_svm_store;

typedef struct {
    double value;     /* gamma (y times the gradient) on the up side, -gamma on the low side: the smaller the value, the
                       * more the sample violates optimality */
    int64_t number;   /* number of the sample; among equal values the highest number comes first */
    int64_t position; /* position of the sample, or its index in a list of candidates */
} tutti_svm_key;

/* A sample that was chosen for the working set. */
typedef struct {
    tutti_svm_candidate is;
    int32_t rank;
    int64_t position; /* position on the rank that owns the sample */
} tutti_svm_pick;

typedef struct tutti_svm_checkpoint tutti_svm_checkpoint; /* declared in svm_checkpoint.h */

struct tutti_svm_context {
    tutti_comm *comm; /* communicator of the ranks; NULL if this rank is alone */
    int rank, nranks;
    const tutti_svm_data *data;
    const tutti_svm_config *config;
    tutti_svm_checkpoint *checkpoint; /* checkpoints of the training; NULL if there are none */
    tutti_svm_kernel kernel;
    tutti_svm_precision precision;
    size_t value_bytes; /* bytes of a kernel value */
    bool precomputed;
    double mean_entries; /* mean over all ranks of the entries of a target */
    double began;
    tutti_pool *pool;
    tutti_svm_tile *tile;
    int lanes;
    tutti_svm_rows sources, targets; /* rows of this rank's samples; the two differ if the kernel is precomputed */
    tutti_arena arena;
    int block; /* the most samples of a working set, an even number */
    tutti_svm_account account;

    tutti_svm_store store;                     /* rows that svm_sum.c gathers */
    tutti_svm_buffer packet, arrivals;         /* buffers in which svm_travel.c sends and receives rows */
    int64_t *nrows_of, *entries_of, *bytes_of; /* [nranks] rows, entries and bytes that each rank sends */

    tutti_f64_at extremes[3], agreed[3];
    tutti_request *extremes_request;
    int offer; /* number of candidates that a rank offers at first for each side (samples whose y alpha may grow, or may
                * shrink) */
    tutti_svm_candidate *offered, *offers;
    tutti_request *offer_request;
};

/* Adds to the sums of targets: sum[t] += sum over s < which->n of weight[s] K(sources[row[s]], targets[target[t]]), for
 * t < ntargets. Tile after tile, each by all threads. */
void tutti_svm_context_add(tutti_svm_context *e, const tutti_svm_rows *sources, const tutti_svm_weighted *which,
                           int64_t ntargets, const int32_t *target, double *sum);
/* Gathers two numbers of each rank into all[2 * nranks]. Collective. */
tutti_status tutti_svm_context_share(tutti_svm_context *e, const int64_t mine[2], int64_t *all, tutti_failure *err);
/* Sums whole numbers over ranks, in place. Collective. */
tutti_status tutti_svm_context_count(tutti_svm_context *e, int64_t *values, int n, tutti_failure *err);

/* --- svm_travel.c --- */
/* Collective. Appends rows row[0 .. n - 1] of every rank, rank after rank. Rank r sends e->nrows_of[r] rows with
 * e->entries_of[r] entries. */
tutti_status tutti_svm_travel(tutti_svm_context *e, tutti_svm_store *store, const int32_t *row, int64_t n,
                              tutti_failure *err);
/* Returns the bytes of these rows on their way, without padding: the same for any number of ranks. */
static inline int64_t tutti_svm_row_bytes(const tutti_svm_context *e, int64_t nrows, int64_t entries)
{
    return nrows * 16 + entries * ((int64_t)e->value_bytes + 4);
}
int64_t tutti_svm_row_entries(const tutti_svm_context *e, int64_t row);
/* Keeps the rows with kept[i] >= 0, in their order; kept[i] becomes the new place. */
void tutti_svm_store_keep(tutti_svm_store *store, int32_t *kept);
tutti_svm_rows tutti_svm_store_sources(const tutti_svm_store *store);
tutti_svm_rows tutti_svm_store_targets(const tutti_svm_context *e, tutti_svm_store *store);
void tutti_svm_store_release(tutti_svm_store *store);

/* --- the solver of one problem --- */

typedef struct {
    tutti_svm_context *e;
    const tutti_svm_problem *problem;
    tutti_svm_state state;
    tutti_arena arena;
    int64_t total, positives; /* samples over all ranks, and those of class +1 */
    int64_t *samples_of;      /* [nranks] number of samples of each rank */
    int32_t *target;          /* row of the sample at each position */
    int64_t limit;            /* greatest number of iterations */

    double b_up, b_low;          /* over the active samples: b_up: least gamma of those whose y alpha may grow (up
                                  * side); b_low: greatest gamma of those whose y alpha may shrink (low side) */
    int64_t worst_up, worst_low; /* numbers of the samples with these two gammas */
    int wish;                    /* the largest wish of all ranks (TUTTI_SVM_WISH_...) */

    tutti_svm_key *keys;   /* [own samples] keys of the samples that violate optimality: those of the up side from the
                            * front, those of the low side from the back */
    tutti_svm_key *merged; /* [2 * nranks * block] keys of the candidates of all ranks; only if there are several
                            * ranks */
    tutti_svm_pick *pick;  /* [block] the picks of a round, by ascending number */
    int npicks;

    /* the working set; entry i of each array is of slot i; numbers, alpha and gamma are in the state */
    int32_t *at;    /* index of the member's row in `store` */
    int32_t *owned; /* index of the own sample; -1 if the member belongs to another rank */
    double *y, *cost, *diagonal;
    void *matrix; /* kernel matrix of the members: the row of slot i begins at element i * stride */
    int64_t stride;
    tutti_svm_store store; /* the members' rows, side by side */
    /* scratch memory of a call: one number for each slot */
    double *gradient, *before, *weight, *scratch;
    int32_t *changed, *slots, *mine, *kept; /* scratch memory of a call: one number for each slot; `kept` has two for
                                             * each slot */

    /* kept kernel rows of members that changed */
    tutti_svm_cache *cache; /* NULL if rows are not kept */
    void **kept_row, **missing_row;
    int32_t *missing;

    /* scratch memory of a call: one number for each own sample */
    int64_t *from;
    double *spare;
} tutti_svm_solver;

enum {
    TUTTI_SVM_WISH_SAVE = 1,
    TUTTI_SVM_WISH_STOP = 2 /* this wish and all larger ones mean "stop": 1 + *config->stop */
};

/* --- svm_select.c --- */
/* Collective. Finds b_up, b_low and the strongest wish of all ranks (see tutti_svm_checkpoint_wish). TUTTI_ERR_DATA if
 * gradients are not numbers. */
tutti_status tutti_svm_find_extremes(tutti_svm_solver *s, int wish, tutti_failure *err);
/* Collective. Picks up to `want` of the worst violators that are not members, alternately from both sides. */
tutti_status tutti_svm_select(tutti_svm_solver *s, int want, tutti_failure *err);
/* Brings the n smallest keys to the front, in no order. */
void tutti_svm_put_first(tutti_svm_key *keys, int64_t nkeys, int64_t n);

/* --- svm_set.c --- */
/* Returns the number of slots of a full set that change hands in a round: a quarter, at least two. */
static inline int tutti_svm_set_renewal(int block)
{
    return block < 8 ? 2 : block / 4;
}
/* Keeps the newest `keep` members; the others leave. */
void tutti_svm_set_shrink(tutti_svm_solver *s, int keep);
/* Collective. Adds the picks to the newest `keep` members: their rows travel, and the matrix is completed. */
tutti_status tutti_svm_set_admit(tutti_svm_solver *s, int keep, tutti_failure *err);
/* Collective. Restores the members of a checkpoint, which are the picks in the order of the slots: gathers their rows
 * and computes the matrix. TUTTI_ERR_DATA if the picks form no valid set. */
tutti_status tutti_svm_set_restore(tutti_svm_solver *s, tutti_failure *err);
/* Optimises the set until its gap is below `until`, and updates all active gradients. */
tutti_status tutti_svm_set_optimise(tutti_svm_solver *s, double until, int64_t most, tutti_failure *err);

/* --- svm_update.c --- */
/* Creates the cache of kernel rows if it saves time. */
void tutti_svm_cache_open(tutti_svm_solver *s);
/* Adds the contribution of the changed members to gamma of all active samples. */
void tutti_svm_update(tutti_svm_solver *s, const tutti_svm_rows *sources, int nchanged);

/* --- svm_eliminate.c --- */
/* Returns the number of iterations before the first samples are dropped. */
int64_t tutti_svm_first_elimination(const tutti_svm_elimination *rule, int64_t total);
/* Collective. Drops active samples that cannot belong to a violating pair, judged by the current b_up and b_low. */
tutti_status tutti_svm_eliminate(tutti_svm_solver *s, tutti_failure *err);
/* Collective. Recomputes the gradients of dropped samples and makes all samples active. */
tutti_status tutti_svm_reactivate(tutti_svm_solver *s, tutti_failure *err);

/* --- svm_finish.c --- */
/* Collective. Writes alpha and the result, from a state in which all samples are active. */
tutti_status tutti_svm_finish(tutti_svm_solver *s, double *alpha, tutti_svm_pair_result *result, tutti_failure *err);

/* Returns the bits TUTTI_SVM_UP and TUTTI_SVM_LOW of a sample. */
static inline uint8_t tutti_svm_sides(double y, double alpha, double cost)
{
    const uint8_t below = alpha < cost ? TUTTI_SVM_UP : 0, above = alpha > 0 ? TUTTI_SVM_LOW : 0;
    if (y > 0) return below | above;
    return (uint8_t)((below ? TUTTI_SVM_LOW : 0) | (above ? TUTTI_SVM_UP : 0));
}

#endif
