/* SPDX-License-Identifier: Apache-2.0 */
/* svm_solve.h: solves one SVM problem of two classes by all ranks together.
 *
 * Rows stay where they are; each rank holds y, alpha, gradient and the active flag of its own samples. A round: (1) one
 * allreduce of (gamma, index), the most violating pair; (2) a working set: the newest three quarters of the last one
 * and the worst violators of all ranks, chosen from an all-gather of candidates; (3) its new rows travel to all ranks
 * in one all-gather; (4) every rank solves the same small problem (svm_pairs.h); (5) every rank updates the gradients
 * of its own active samples (svm_tile.h, svm_cache.h); (6) by the elimination rule, samples are dropped, and what was
 * dropped is reconstructed before the end, from rows with alpha > 0 only.
 *
 * Threads: one at a time; runs config->nthreads of its own. */
#ifndef TUTTI_SVM_SOLVE_H
#define TUTTI_SVM_SOLVE_H

#include <stdbool.h>

#include "svm_tile.h"

/* State that a rank keeps for all problems of one training. */
typedef struct tutti_svm_context tutti_svm_context;
/* Collective. Creates a context. comm, data and config are borrowed until destroy. It determines kernel.gamma and the
 * precision (tutti_svm_precision_for). */
tutti_status tutti_svm_context_create(tutti_comm *comm, const tutti_svm_data *data, const tutti_svm_config *config,
                                      tutti_svm_context **out, tutti_failure *err);
void tutti_svm_context_destroy(tutti_svm_context *context);
const tutti_svm_kernel *tutti_svm_context_kernel(const tutti_svm_context *context);

typedef struct {
    int64_t n;          /* number of samples of this problem on this rank */
    const int32_t *row; /* [n] rows of the data, ascending */
    const int8_t *y;    /* [n] class of each sample, +1 or -1 */
    double cost_positive, cost_negative;
    int pair, npairs; /* number of the pair, and number of all pairs, for events */
} tutti_svm_problem;

/* Collective. Solves the problem. alpha: [n], in: a start (zeros, or feasible values of a checkpoint), out: the
 * solution. The result is the same on all ranks. TUTTI_ERR_DATA if a problem has one class only over all ranks. */
tutti_status tutti_svm_solve(tutti_svm_context *context, const tutti_svm_problem *problem, double *alpha,
                             tutti_svm_pair_result *result, tutti_failure *err);

/* Weighted rows: numbers of rows, and the weight of each. */
typedef struct {
    int64_t n;
    const int32_t *row;
    const double *weight;
} tutti_svm_weighted;

/* Collective. Adds kernel values: sum[t] += sum over all ranks' samples s with weight[s] != 0 of weight[s] K(row s, row
 * target[t]), in f64: for recomputed gradients, and decision values of left-out folds. own: this rank's samples;
 * target[]: ntargets own rows. Either may be empty. Rows travel in chunks, so memory is bounded. */
tutti_status tutti_svm_sum_rows(tutti_svm_context *context, const tutti_svm_weighted *own, int64_t ntargets,
                                const int32_t *target, double *sum, tutti_failure *err);

#endif
