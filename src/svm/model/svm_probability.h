/* SPDX-License-Identifier: Apache-2.0 */
/* svm_probability.h: turns decision values into probabilities. Pure. Threads: any. */
#ifndef TUTTI_SVM_PROBABILITY_H
#define TUTTI_SVM_PROBABILITY_H

#include <stdint.h>

/* Returns 1 / (1 + exp(a decision + b)) without overflow, kept within 1e-7 of 0 and 1. */
double tutti_svm_platt_value(double decision, double a, double b);
/* Finds the most likely a and b of Platt's sigmoid for n decisions of samples with y = +1, -1, by the method of Lin,
 * Lin and Weng, "A note on Platt's probabilistic outputs for support vector machines", Machine Learning 68, 2007. */
void tutti_svm_platt_solve(int64_t n, const double *decision, const int8_t *y, double *a, double *b);
/* Computes probabilities p[nclasses] from pairwise[pair (i, j)] = P(i | i or j), by the second method of Wu, Lin and
 * Weng (JMLR 5, 2004). Returns the most likely class, the lower one of equals. */
int tutti_svm_couple(int nclasses, const double *pairwise, double *p);

#endif
