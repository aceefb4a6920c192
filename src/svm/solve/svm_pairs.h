/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs.h: sequential minimal optimisation within a working set whose kernel matrix is in memory: pairs by
 * second-order selection (Fan, Chen, Lin 2005), until the gap within the set is below `until`.
 *
 * All ranks run it on equal input and get equal bits. Loops over the set run in vector lanes (avx512, avx2, generic:
 * equal bits). Among equal members the last one is taken, which is LIBSVM's choice if members lie in the problem's
 * order. Cost: O(n) an iteration.
 *
 * Threads: one at a time. */
#ifndef TUTTI_SVM_PAIRS_H
#define TUTTI_SVM_PAIRS_H

#include <stdint.h>

#include "tutti/svm.h"

typedef struct {
    int n;
    const double *y;        /* [n] class of each member, +1 or -1 */
    const double *cost;     /* [n] upper bound of alpha, above 0; else TUTTI_ERR_USAGE */
    const double *diagonal; /* [n] K(i, i) */
    const void *matrix;     /* K in f32 or f64, row i from element i * stride on; rows should begin on cache lines */
    int64_t stride;
    tutti_svm_precision precision;
    double until;     /* gap at which the loop ends, > 0 */
    int64_t most;     /* the most iterations */
    double *alpha;    /* [n] in and out; exactly 0 or cost at the bounds */
    double *gradient; /* [n] in and out: G_i = sum_j y_i y_j K_ij alpha_j - 1; gamma_i = y_i G_i */
} tutti_svm_pairs;

/* Runs the loop. *iterations becomes the number of iterations. K_ii + K_jj - 2 K_ij <= 0 counts as 1e-12.
 * TUTTI_ERR_DATA if the matrix holds NaN. */
tutti_status tutti_svm_pairs_run(const tutti_svm_pairs *p, int64_t *iterations, tutti_failure *err);

#endif
