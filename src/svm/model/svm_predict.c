/* SPDX-License-Identifier: Apache-2.0 */
/* svm_predict.c: predicts labels, decision values and probabilities of rows.
 *
 * A block of rows meets one tile of support vectors of one class after the other. A vector of class i counts in the
 * decisions of all pairs with i: its kernel values are made once and summed for each pair. Blocks are dealt out to
 * threads; sums run in the order of the support vectors, so neither threads nor blocks show in the result. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/pool.h"
#include "../solve/svm_tile.h"
#include "../svm_classes.h"
#include "svm_probability.h"

enum {
    BLOCK_MOST = 512,    /* most rows of a block: kernel values of a tile and sums of a pair stay in the second-level
                          * cache */
    SUMS_MOST = 1 << 23, /* most sums of a block of several rows: bounds memory if there are many classes */
    LANES_MOST = 64
};

typedef struct {
    const tutti_svm_model *model;
    int npairs;
    tutti_svm_rows vectors, rows;
    int64_t nrows, block;  /* rows in all; rows of a block */
    tutti_svm_tile **tile; /* [nparts] a tile for each part of the work */
    int nparts;
    double *label, *decisions, *probabilities;
} prediction;

/* Memory of one thread. */
typedef struct {
    tutti_svm_tile *tile;
    double *kernel;     /* [lanes][block] kernel values of a tile */
    double *sum;        /* [npairs][block] sum of each pair's decision */
    double *pairwise;   /* [npairs] P(i | i or j) of one row */
    int *votes;         /* [nclasses] votes of the pairs for each class, of one row */
    int64_t begin, end; /* rows of the thread's current block */
} workbench;

/* Adds the contribution of n support vectors from v on, all of class c, to the sums of the rows of the block. */
static void add_tile(const prediction *x, workbench *b, int c, int64_t v, int n)
{
    const tutti_svm_model *m = x->model;
    const void *row[LANES_MOST];
    tutti_svm_rows rows = x->rows; /* the rows, numbered from 0 at the beginning of the block */
    const int64_t nrows = b->end - b->begin;
    rows.start += b->begin;
    rows.square += b->begin;
    tutti_svm_tile_fill(b->tile, &x->vectors, NULL, v, n);
    tutti_svm_tile_values(b->tile, &(tutti_svm_targets){&rows, NULL, 0, nrows}, b->kernel, x->block);
    for (int i = 0; i < n; i++) row[i] = b->kernel + i * x->block;
    const tutti_svm_kept kept = {row, n, 0, nrows};
    for (int other = 0; other < m->nclasses; other++) {
        if (other == c) continue;
        const int pair =
            other < c ? tutti_svm_pair_number(other, c, m->nclasses) : tutti_svm_pair_number(c, other, m->nclasses);
        const double *coef = m->coef + (other < c ? other : other - 1) * m->nsv + v;
        tutti_svm_kept_sum(TUTTI_SVM_F64, &kept, coef, b->sum + pair * x->block);
    }
}

/* Returns the class with most votes, the first of equals. */
static int most_votes(const tutti_svm_model *m, const double *decision, int *votes)
{
    memset(votes, 0, (size_t)m->nclasses * sizeof *votes);
    int best = 0;
    for (int i = 0, pair = 0; i < m->nclasses; i++)
        for (int j = i + 1; j < m->nclasses; j++, pair++) votes[decision[pair] > 0 ? i : j]++;
    for (int i = 1; i < m->nclasses; i++)
        if (votes[i] > votes[best]) best = i;
    return best;
}

/* Writes label, decisions and probabilities of row `at` of the block. */
static void decide(const prediction *x, workbench *b, int64_t at)
{
    const tutti_svm_model *m = x->model;
    const int64_t row = b->begin + at;
    double *decision = x->decisions ? x->decisions + row * x->npairs : b->pairwise;
    for (int k = 0; k < x->npairs; k++) decision[k] = b->sum[k * x->block + at] - m->rho[k];
    int best;
    if (x->probabilities) {
        double *p = x->probabilities + row * m->nclasses;
        for (int k = 0; k < x->npairs; k++)
            b->pairwise[k] = tutti_svm_platt_value(decision[k], m->prob_a[k], m->prob_b[k]);
        best = tutti_svm_couple(m->nclasses, b->pairwise, p);
    } else {
        best = most_votes(m, decision, b->votes);
    }
    x->label[row] = m->label[best];
}

static void predict_block(const prediction *x, workbench *b)
{
    const tutti_svm_model *m = x->model;
    const int lanes = tutti_svm_tile_lanes(b->tile);
    memset(b->sum, 0, (size_t)(x->npairs * x->block) * sizeof *b->sum);
    int64_t v = 0;
    for (int c = 0; c < m->nclasses; c++)
        for (const int64_t last = v + m->nsv_of[c]; v < last;) {
            const int n = last - v < lanes ? (int)(last - v) : lanes;
            add_tile(x, b, c, v, n);
            v += n;
        }
    for (int64_t i = 0; i < b->end - b->begin; i++) decide(x, b, i);
}

/* Does part i of the work: blocks i, i + nparts, ... */
static void predict_part(void *arg, int64_t part, int64_t end_part)
{
    const prediction *x = arg;
    for (; part < end_part; part++) {
        workbench b = {.tile = x->tile[part]};
        b.kernel = tutti_alloc(LANES_MOST * (size_t)x->block * sizeof *b.kernel);
        b.sum = tutti_alloc((size_t)((x->npairs + 1) * x->block) * sizeof *b.sum);
        b.pairwise = tutti_alloc((size_t)(x->npairs + 1) * sizeof *b.pairwise);
        b.votes = tutti_alloc((size_t)x->model->nclasses * sizeof *b.votes);
        for (b.begin = part * x->block; b.begin < x->nrows; b.begin += x->nparts * x->block) {
            b.end = b.begin + x->block < x->nrows ? b.begin + x->block : x->nrows;
            predict_block(x, &b);
        }
        free(b.kernel);
        free(b.sum);
        free(b.pairwise);
        free(b.votes);
    }
}

/* Returns unit vectors in place of the support vectors of a precomputed kernel. The kernel value is the row's entry
 * whose index is the vector's number: the inner product with a vector that has a 1 at that index. The caller releases
 * the vectors. */
static tutti_svm_data unit_vectors(const tutti_svm_data *sv)
{
    const size_t n = (size_t)sv->nrows;
    tutti_svm_data units = {.nrows = sv->nrows, .total = sv->nrows};
    units.start = tutti_alloc((n + 1) * sizeof *units.start);
    units.index = tutti_alloc((n + 1) * sizeof *units.index);
    units.value = tutti_alloc((n + 1) * sizeof *units.value);
    for (int64_t v = 0; v < sv->nrows; v++) {
        units.start[v + 1] = v + 1;
        units.index[v] = (int32_t)sv->value[sv->start[v]];
        units.value[v] = 1;
        if (units.index[v] > units.width) units.width = units.index[v];
    }
    return units;
}

static tutti_svm_rows rows_of(const tutti_svm_data *data)
{
    double *square = tutti_alloc((size_t)(data->nrows + 1) * sizeof *square);
    tutti_svm_rows_measure(data, square, NULL);
    return (tutti_svm_rows){.start = data->start, .index = data->index, .value = data->value, .square = square};
}

/* Makes a tile for each thread and deals out the blocks. */
static tutti_status run(prediction *x, const tutti_svm_kernel *kernel, int32_t width, int nthreads, tutti_failure *err)
{
    x->block = x->npairs ? SUMS_MOST / x->npairs : BLOCK_MOST;
    x->block = x->block < 1 ? 1 : x->block > BLOCK_MOST ? BLOCK_MOST : x->block;
    const int64_t nblocks = (x->nrows + x->block - 1) / x->block;
    x->nparts = nthreads < nblocks ? nthreads : (int)nblocks;
    x->tile = tutti_alloc((size_t)(x->nparts + 1) * sizeof *x->tile);
    tutti_status st = TUTTI_OK;
    for (int i = 0; !st && i < x->nparts; i++)
        st = tutti_svm_tile_create(kernel, TUTTI_SVM_F64, width, &x->tile[i], err);
    if (!st) {
        tutti_pool *pool = tutti_pool_create(x->nparts);
        tutti_pool_for(pool, x->nparts, predict_part, x);
        tutti_pool_destroy(pool);
    }
    for (int i = 0; i < x->nparts; i++)
        if (x->tile[i]) tutti_svm_tile_destroy(x->tile[i]);
    free(x->tile);
    return st;
}

tutti_status tutti_svm_predict(const tutti_svm_model *model, const tutti_svm_data *data, int nthreads, double *label,
                               double *decisions, double *probabilities, tutti_failure *err)
{
    if (probabilities && !(model->prob_a && model->prob_b))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "the model has no probabilities: train it with them (svm-train -b 1), or ask for labels");
    tutti_svm_kernel kernel = model->kernel;
    tutti_svm_data units = {0};
    const tutti_svm_data *vectors = &model->sv;
    if (kernel.type == TUTTI_SVM_PRECOMPUTED) {
        units = unit_vectors(&model->sv);
        vectors = &units;
        kernel.type = TUTTI_SVM_LINEAR;
        if (data->nrows && units.width > data->width) {
            const int32_t width = units.width;
            tutti_svm_data_release(&units);
            return tutti_fail(err, TUTTI_ERR_DATA,
                              "the model wants column %d of a precomputed kernel, the rows have columns up to %d only",
                              width, data->width);
        }
    }
    prediction x = {.model = model,
                    .npairs = model->nclasses * (model->nclasses - 1) / 2,
                    .vectors = rows_of(vectors),
                    .rows = rows_of(data),
                    .nrows = data->nrows,
                    .label = label,
                    .decisions = decisions,
                    .probabilities = probabilities};
    tutti_status st = run(&x, &kernel, data->width > vectors->width ? data->width : vectors->width, nthreads, err);
    free((void *)x.vectors.square);
    free((void *)x.rows.square);
    tutti_svm_data_release(&units);
    return st;
}
