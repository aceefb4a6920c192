/* SPDX-License-Identifier: Apache-2.0 */
/* svm_problems.h: generated problems of two classes, dealt out to ranks, and what is true of a solution by brute
 * force. */
#ifndef TUTTI_TESTS_SVM_PROBLEMS_H
#define TUTTI_TESTS_SVM_PROBLEMS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "svm/solve/svm_solve.h"

typedef struct {
    tutti_svm_data data; /* the whole set; labels are +1, -1 */
    tutti_svm_config config;
    double cost_positive, cost_negative;
} svm_case;

static inline uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* n samples of `width` features, multiples of 1/16 so that text holds them exactly, `filled` of 16 of them not zero.
 * The label is the sign of a parabola, wrong for one sample in 12. The first `few` samples are of -1, if few > 0, and
 * all others of +1. */
static inline svm_case make_case(int64_t n, int32_t width, int filled, int64_t few)
{
    svm_case c = {.config = {.kernel = {TUTTI_SVM_RBF, 3, 0, 0}, .cost = 1, .eps = 1e-3, .nthreads = 1},
                  .cost_positive = 1,
                  .cost_negative = 1};
    tutti_svm_data *d = &c.data;
    uint64_t state = 42;
    d->nrows = d->total = n, d->width = width;
    d->start = calloc((size_t)n + 1, sizeof *d->start);
    d->index = calloc((size_t)(n * width), sizeof *d->index);
    d->value = calloc((size_t)(n * width), sizeof *d->value);
    d->label = calloc((size_t)n, sizeof *d->label);
    for (int64_t i = 0, at = 0; i < n; i++) {
        double where = 0;
        for (int32_t f = 1; f <= width; f++) {
            const double value = ((int)(next_random(&state) % 33) - 16) / 16.0;
            if (value == 0 || (int)(next_random(&state) % 16) >= filled) continue;
            if (f <= 2) where += f == 1 ? value : value * value;
            d->index[at] = f, d->value[at++] = value;
        }
        d->start[i + 1] = at;
        const bool wrong = next_random(&state) % 12 == 0;
        d->label[i] = (where > 0.3) != wrong ? 1 : -1;
        if (few > 0) d->label[i] = i < few ? -1 : 1;
    }
    tutti_svm_elimination_parse("none", NULL, &c.config.elimination, NULL);
    return c;
}

static inline void release_case(svm_case *c)
{
    free(c->data.start), free(c->data.index), free(c->data.value), free(c->data.label);
}

/* Rows of `rank` of p: the arrays are the whole set's but for start, which the caller frees. */
static inline tutti_svm_data part_of(const tutti_svm_data *whole, int rank, int p)
{
    tutti_svm_data d = *whole;
    d.first = whole->total * rank / p;
    d.nrows = whole->total * (rank + 1) / p - d.first;
    const int64_t at = whole->start[d.first];
    d.start = malloc(((size_t)d.nrows + 1) * sizeof *d.start);
    for (int64_t i = 0; i <= d.nrows; i++) d.start[i] = whole->start[d.first + i] - at;
    d.index += at, d.value += at, d.label += d.first;
    return d;
}

/* Solves a rank's part of the case; alpha: [total] of the whole set, the rank writes its own. */
static inline tutti_status solve_part(tutti_comm *comm, int rank, int p, const svm_case *c, double *alpha,
                                      tutti_svm_pair_result *result, tutti_failure *err)
{
    tutti_svm_data d = part_of(&c->data, rank, p);
    int32_t *row = malloc(((size_t)d.nrows + 1) * sizeof *row);
    int8_t *y = malloc((size_t)d.nrows + 1);
    for (int64_t i = 0; i < d.nrows; i++) row[i] = (int32_t)i, y[i] = d.label[i] > 0 ? 1 : -1;
    const tutti_svm_problem problem = {d.nrows, row, y, c->cost_positive, c->cost_negative, 0, 1};
    tutti_svm_context *context = NULL;
    tutti_status s = tutti_svm_context_create(comm, &d, &c->config, &context, err);
    if (!s) s = tutti_svm_solve(context, &problem, alpha + d.first, result, err);
    tutti_svm_context_destroy(context);
    free(d.start), free(row), free(y);
    return s;
}

static inline double entry_of(const tutti_svm_data *d, int64_t row, int32_t index)
{
    for (int64_t e = d->start[row]; e < d->start[row + 1]; e++)
        if (d->index[e] == index) return d->value[e];
    return 0;
}

static inline double kernel_by_hand(const svm_case *c, int64_t i, int64_t j)
{
    const tutti_svm_data *d = &c->data;
    const tutti_svm_kernel *k = &c->config.kernel;
    const double gamma = k->gamma > 0 ? k->gamma : 1.0 / d->width;
    double dot = 0, apart = 0;
    if (k->type == TUTTI_SVM_PRECOMPUTED) return entry_of(d, i, (int32_t)j + 1);
    for (int32_t f = 1; f <= d->width; f++) {
        const double u = entry_of(d, i, f), v = entry_of(d, j, f);
        dot += u * v, apart += (u - v) * (u - v);
    }
    switch (k->type) {
    case TUTTI_SVM_POLY: return pow(gamma * dot + k->coef0, k->degree);
    case TUTTI_SVM_RBF: return exp(-gamma * apart);
    case TUTTI_SVM_SIGMOID: return tanh(gamma * dot + k->coef0);
    default: return dot;
    }
}

typedef struct {
    double objective, gap, balance; /* balance: sum of y alpha */
    bool in_bounds;
} svm_truth;

/* What is so of alpha. Cost: n^2 kernel values. */
static inline svm_truth truth_of(const svm_case *c, const double *alpha)
{
    svm_truth t = {.in_bounds = true};
    double up = INFINITY, low = -INFINITY;
    for (int64_t i = 0; i < c->data.total; i++) {
        const double y = c->data.label[i], cost = y > 0 ? c->cost_positive : c->cost_negative;
        double g = -1;
        for (int64_t j = 0; j < c->data.total; j++)
            if (alpha[j] != 0) g += y * c->data.label[j] * alpha[j] * kernel_by_hand(c, i, j);
        t.objective += alpha[i] * (g - 1) / 2, t.balance += y * alpha[i];
        t.in_bounds &= alpha[i] >= 0 && alpha[i] <= cost;
        if ((y > 0 ? alpha[i] < cost : alpha[i] > 0) && y * g < up) up = y * g;
        if ((y > 0 ? alpha[i] > 0 : alpha[i] < cost) && y * g > low) low = y * g;
    }
    t.gap = low - up;
    return t;
}

#endif
