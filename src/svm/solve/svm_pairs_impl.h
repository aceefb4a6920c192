/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs_impl.h: declarations that the files of the SMO loop share: the working set in the form that the loops need,
 * and a row of functions for each instruction set (svm_pairs_vector.c). All rows give equal bits, because no
 * multiply-add is fused. */
#ifndef TUTTI_SVM_PAIRS_IMPL_H
#define TUTTI_SVM_PAIRS_IMPL_H

#include "../../tensor/isa.h"
#include "svm_pairs.h"

/* The working set, with an entry for each member. gamma = y G is in `up` if alpha y may grow, in `low` if it may
 * shrink, and in both if the member is free. If not, the entry is an infinity, which is never chosen, whatever is added
 * to it. Arrays have room for whole vectors. */
typedef struct {
    int64_t n;
    const void *matrix;
    int64_t stride;
    tutti_svm_precision precision;
    double *up;             /* gamma on the up side; infinity elsewhere */
    double *low;            /* gamma on the low side; -infinity elsewhere */
    const double *diagonal; /* K(c, c) of each member c */
} tutti_svm_set;

typedef struct {
    double up, low; /* least of up, greatest of low; infinite if there is none */
    int64_t first;  /* the last member with the value `up`; -1 if there is none */
} tutti_svm_extremes;

typedef struct {
    tutti_svm_extremes (*scan)(const tutti_svm_set *s);
    /* adds a K(i, c) + b K(j, c) to each gamma[c], then scans */
    tutti_svm_extremes (*move)(const tutti_svm_set *s, int64_t i, int64_t j, double a, double b);
    /* Among members with d = low[c] - up[i] > 0, returns the last one with the greatest d^2 / (K_ii + K_cc - 2 K_ic),
     * if that is at least `least`; -1 if there is none. `least` changes the time, not the choice. */
    int64_t (*partner)(const tutti_svm_set *s, int64_t i, double least);
} tutti_svm_pairs_row;

#define TUTTI_SVM_FLAT 1e-12 /* replaces a curvature that is not positive, as in LIBSVM */

TUTTI_ISA_DECLARE(tutti_svm_pairs_row, tutti_svm_pairs);

/* Does what tutti_svm_pairs_run does, by a given row; for tests. */
tutti_status tutti_svm_pairs_run_row(const tutti_svm_pairs_row *row, const tutti_svm_pairs *p, int64_t *iterations,
                                     tutti_failure *err);

#endif
