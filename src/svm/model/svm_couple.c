/* SPDX-License-Identifier: Apache-2.0 */
/* svm_couple.c: couples pairwise probabilities of classes into one probability p_i for each class. p minimises the sum
 * over pairs of (r_ji p_i - r_ij p_j)^2 on the simplex, with r_ij = P(i | i or j). This sum is a quadratic form p'Qp;
 * the fixed point iteration of Wu, Lin and Weng finds the minimum. A pass costs O(k^2). */
#include <math.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "../svm_classes.h"
#include "svm_probability.h"

static double pairwise_at(const double *pairwise, int n, int i, int j)
{
    return i < j ? pairwise[tutti_svm_pair_number(i, j, n)] : 1 - pairwise[tutti_svm_pair_number(j, i, n)];
}

static void fill_form(int n, const double *pairwise, double *q)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (j == i) continue;
            const double other = pairwise_at(pairwise, n, j, i);
            q[i * n + i] += other * other;
            q[i * n + j] = -other * pairwise_at(pairwise, n, i, j);
        }
}

/* Computes qp = Qp and returns p'Qp. */
static double apply(int n, const double *q, const double *p, double *qp)
{
    double form = 0;
    for (int i = 0; i < n; i++) {
        qp[i] = 0;
        for (int j = 0; j < n; j++) qp[i] += q[i * n + j] * p[j];
        form += p[i] * qp[i];
    }
    return form;
}

/* Changes p_i so that its optimality condition holds, and scales p back to a sum of 1. */
static void move(int n, const double *q, int i, double *p, double *qp, double *form)
{
    const double by = (*form - qp[i]) / q[i * n + i], scale = 1 / (1 + by);
    p[i] += by;
    *form = (*form + by * (by * q[i * n + i] + 2 * qp[i])) * scale * scale;
    for (int j = 0; j < n; j++) {
        qp[j] = (qp[j] + by * q[i * n + j]) * scale;
        p[j] *= scale;
    }
}

/* Computes p by iteration, for three classes or more. */
static void iterate(int n, const double *pairwise, double *p)
{
    double *q = tutti_alloc((size_t)n * (size_t)n * sizeof *q), *qp = tutti_alloc((size_t)n * sizeof *qp);
    const int most = n > 100 ? n : 100;
    for (int i = 0; i < n; i++) p[i] = 1.0 / n;
    fill_form(n, pairwise, q);
    for (int pass = 0; pass < most; pass++) {
        double form = apply(n, q, p, qp), worst = 0;
        for (int i = 0; i < n; i++) worst = fmax(worst, fabs(qp[i] - form));
        if (worst < 0.005 / n) break;
        for (int i = 0; i < n; i++) move(n, q, i, p, qp, &form);
    }
    free(q);
    free(qp);
}

int tutti_svm_couple(int n, const double *pairwise, double *p)
{
    if (n > 2) {
        iterate(n, pairwise, p);
    } else { /* two classes: their only pair gives p; one class: its probability is 1 */
        p[0] = n == 2 ? pairwise[0] : 1;
        if (n == 2) p[1] = 1 - p[0];
    }
    int best = 0;
    for (int i = 1; i < n; i++)
        if (p[i] > p[best]) best = i;
    return best;
}
