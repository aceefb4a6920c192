/* SPDX-License-Identifier: Apache-2.0 */
/* svm_sigmoid.c: the sigmoid from decision values to probabilities, fitted by Newton's method with a line search. */
#include <math.h>

#include "svm_probability.h"

double tutti_svm_platt_value(double decision, double a, double b)
{
    const double f = decision * a + b, least = 1e-7;
    const double p = f >= 0 ? exp(-f) / (1 + exp(-f)) : 1 / (1 + exp(f));
    return fmin(fmax(p, least), 1 - least);
}

typedef struct {
    int64_t n;
    const double *f;
    const int8_t *y;
    double high, low; /* target probabilities of +1 and -1: a little below 1 and above 0 */
} sigmoid_fit;

static double target_of(const sigmoid_fit *s, int64_t i)
{
    return s->y[i] > 0 ? s->high : s->low;
}

/* Returns the negative logarithm of the likelihood. */
static double cost_at(const sigmoid_fit *s, double a, double b)
{
    double cost = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double v = s->f[i] * a + b, t = target_of(s, i);
        cost += v >= 0 ? t * v + log1p(exp(-v)) : (t - 1) * v + log1p(exp(v));
    }
    return cost;
}

typedef struct {
    double h11, h22, h21, g1, g2;
} derivatives;

static derivatives derive(const sigmoid_fit *s, double a, double b)
{
    derivatives d = {.h11 = 1e-12, .h22 = 1e-12}; /* keeps the matrix of second derivatives positive definite */
    for (int64_t i = 0; i < s->n; i++) {
        const double v = s->f[i] * a + b;
        const double p = v >= 0 ? exp(-v) / (1 + exp(-v)) : 1 / (1 + exp(v)), q = 1 - p;
        const double curvature = p * q, slope = target_of(s, i) - p;
        d.h11 += s->f[i] * s->f[i] * curvature;
        d.h22 += curvature;
        d.h21 += s->f[i] * curvature;
        d.g1 += s->f[i] * slope;
        d.g2 += slope;
    }
    return d;
}

void tutti_svm_platt_solve(int64_t n, const double *decision, const int8_t *y, double *a, double *b)
{
    enum { MOST_STEPS = 100 };
    double npositive = 0;
    for (int64_t i = 0; i < n; i++) npositive += y[i] > 0;
    const double nnegative = (double)n - npositive;
    const sigmoid_fit s = {n, decision, y, (npositive + 1) / (npositive + 2), 1 / (nnegative + 2)};
    *a = 0;
    *b = log((nnegative + 1) / (npositive + 1));
    double cost = cost_at(&s, *a, *b);
    for (int step = 0; step < MOST_STEPS; step++) {
        const derivatives d = derive(&s, *a, *b);
        if (fabs(d.g1) < 1e-5 && fabs(d.g2) < 1e-5) return;
        const double det = d.h11 * d.h22 - d.h21 * d.h21;
        const double da = -(d.h22 * d.g1 - d.h21 * d.g2) / det, db = -(-d.h21 * d.g1 + d.h11 * d.g2) / det;
        const double descent = d.g1 * da + d.g2 * db;
        double length = 1, next = 0;
        for (; length >= 1e-10; length /= 2) { /* halves the step until the cost decreases enough */
            next = cost_at(&s, *a + length * da, *b + length * db);
            if (next < cost + 1e-4 * length * descent) break;
        }
        if (length < 1e-10) return;
        *a += length * da;
        *b += length * db;
        cost = next;
    }
}
