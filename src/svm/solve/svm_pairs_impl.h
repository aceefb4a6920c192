/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs_impl.h: what the files of the SMO loop share: a working set in the form that loops want, and rows of
 * svm_pairs_vector.c, one an instruction set. All rows give equal bits: nothing is fused. */
#ifndef TUTTI_SVM_PAIRS_IMPL_H
#define TUTTI_SVM_PAIRS_IMPL_H

#include "../../tensor/isa.h"
#include "svm_pairs.h"

/* A member's gamma = y G stands in `up` where alpha y may grow, in `low` where
 * it may shrink, in both where it is free; the other place holds the infinity
 * that is never chosen, and stays so whatever is added. Arrays have room for
 * whole vectors. */
typedef struct {
    int64_t n;
    const void *matrix;
    int64_t stride;
    tutti_svm_precision precision;
    double *up;             /* gamma or infinity */
    double *low;            /* gamma or -infinity */
    const double *diagonal; /* K(c, c) */
} tutti_svm_set;

typedef struct {
    double up, low; /* least of up, greatest of low; infinities: there is none */
    int64_t first;  /* the last member that has `up`, -1: none */
} tutti_svm_extremes;

typedef struct {
    tutti_svm_extremes (*scan)(const tutti_svm_set *s);
    /* gamma[c] += (a K(i, c) + b K(j, c)), then as scan */
    tutti_svm_extremes (*move)(const tutti_svm_set *s, int64_t i, int64_t j, double a, double b);
    /* Of those with d = low[c] - up[i] > 0 the last one with the greatest d^2 /
   * (K_ii + K_cc - 2 K_ic), where that is `least` or more; -1: none. What least
   * is changes the time, not the choice. */
    int64_t (*partner)(const tutti_svm_set *s, int64_t i, double least);
} tutti_svm_pairs_row;

#define TUTTI_SVM_FLAT 1e-12 /* stands for a curvature that is not positive, as in LIBSVM */

TUTTI_ISA_DECLARE(tutti_svm_pairs_row, tutti_svm_pairs);

/* tutti_svm_pairs_run by a given row, for tests. */
tutti_status tutti_svm_pairs_run_row(const tutti_svm_pairs_row *row, const tutti_svm_pairs *p, int64_t *iterations,
                                     tutti_failure *err);

#endif
