/* SPDX-License-Identifier: Apache-2.0 */
/* svm_gather.c: gathers the support vectors on rank 0 and arranges them class by class. Each rank sends four vectors
 * (entries a row, coefficients, indices, values), its rows class by class, in file order within a class. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../svm_training.h"

/* A rank's support vectors, or those of all ranks, rank after rank. */
typedef struct {
    int64_t nrows, nentries;
    int64_t *length; /* [nrows] number of entries of each row */
    double *coef;    /* [nrows][nclasses - 1] coefficients of each row */
    int32_t *index;
    double *value;
} bundle;

static bundle bundle_create(int64_t nrows, int64_t nentries, int ncoefs)
{
    return (bundle){nrows,
                    nentries,
                    tutti_alloc((size_t)(nrows + 1) * sizeof(int64_t)),
                    tutti_alloc(((size_t)nrows * (size_t)ncoefs + 1) * sizeof(double)),
                    tutti_alloc((size_t)(nentries + 1) * sizeof(int32_t)),
                    tutti_alloc((size_t)(nentries + 1) * sizeof(double))};
}

static void bundle_release(bundle *b)
{
    free(b->length);
    free(b->coef);
    free(b->index);
    free(b->value);
}

static bool is_support(const double *coef, int64_t nrows, int ncoefs, int32_t row)
{
    for (int k = 0; k < ncoefs; k++)
        if (coef[k * nrows + row] != 0) return true;
    return false;
}

/* Returns the number of entries of a row; a row of a precomputed kernel has one entry, the row's number. */
static int64_t entries_of(const tutti_svm_training *t, int32_t row)
{
    const int64_t n = t->data->start[row + 1] - t->data->start[row];
    return t->config->kernel.type == TUTTI_SVM_PRECOMPUTED && n > 1 ? 1 : n;
}

/* Collects this rank's support vectors. sizes: [nclasses] rows of each class, then the number of all entries. */
static bundle bundle_own(const tutti_svm_training *t, const tutti_svm_classes *c, const double *coef, int64_t *sizes)
{
    const int64_t nrows = t->data->nrows;
    const int ncoefs = c->n - 1;
    int64_t total = 0;
    for (int k = 0; k < c->n; k++)
        for (int64_t i = 0; i < c->own[k]; i++)
            if (is_support(coef, nrows, ncoefs, c->row[k][i])) {
                sizes[k]++, total++;
                sizes[c->n] += entries_of(t, c->row[k][i]);
            }
    bundle b = bundle_create(total, sizes[c->n], ncoefs);
    int64_t at = 0, entry = 0;
    for (int k = 0; k < c->n; k++)
        for (int64_t i = 0; i < c->own[k]; i++) {
            const int32_t row = c->row[k][i];
            if (!is_support(coef, nrows, ncoefs, row)) continue;
            const int64_t n = b.length[at] = entries_of(t, row), from = t->data->start[row];
            for (int f = 0; f < ncoefs; f++) b.coef[at * ncoefs + f] = coef[f * nrows + row];
            memcpy(b.index + entry, t->data->index + from, (size_t)n * sizeof *b.index);
            memcpy(b.value + entry, t->data->value + from, (size_t)n * sizeof *b.value);
            at++, entry += n;
        }
    return b;
}

/* Gathers the bundles on rank 0. sizes of all ranks: [nranks][nclasses + 1]. */
static tutti_status gather_bundles(const tutti_svm_training *t, const tutti_svm_classes *c, const int64_t *sizes,
                                   const bundle *own, bundle *all, tutti_failure *err)
{
    const int nranks = tutti_comm_size(t->comm), ncoefs = c->n - 1;
    int64_t *rows = tutti_alloc((size_t)nranks * 3 * sizeof *rows), *entries = rows + nranks, *coefs = entries + nranks;
    int64_t nrows = 0, nentries = 0;
    for (int r = 0; r < nranks; r++) {
        for (int k = 0; k < c->n; k++) rows[r] += sizes[(int64_t)r * (c->n + 1) + k];
        entries[r] = sizes[(int64_t)r * (c->n + 1) + c->n];
        coefs[r] = rows[r] * ncoefs;
        nrows += rows[r], nentries += entries[r];
    }
    const bool root = tutti_comm_rank(t->comm) == 0;
    *all = bundle_create(root ? nrows : 0, root ? nentries : 0, ncoefs);
    const tutti_call calls[] = {
        {.in = own->length, .out = all->length, .counts = rows, .type = TUTTI_I64},
        {.in = own->coef, .out = all->coef, .counts = coefs, .type = TUTTI_F64},
        {.in = own->index, .out = all->index, .counts = entries, .type = TUTTI_I32},
        {.in = own->value, .out = all->value, .counts = entries, .type = TUTTI_F64},
    };
    tutti_status st = TUTTI_OK;
    for (size_t i = 0; !st && i < sizeof calls / sizeof *calls; i++) {
        tutti_call call = calls[i];
        call.collective = TUTTI_GATHER;
        st = tutti_comm_run(t->comm, &call, err);
    }
    free(rows);
    return st;
}

/* Finds where each rank's rows and entries begin in `all`, and arranges them class by class. */
static void arrange(const bundle *all, const int64_t *sizes, int nranks, int nclasses, tutti_svm_model *m)
{
    const int ncoefs = nclasses - 1;
    int64_t *row_at = tutti_alloc((size_t)nranks * sizeof *row_at),
            *entry_at = tutti_alloc((size_t)nranks * sizeof *entry_at), to = 0, entry = 0, row = 0;
    for (int r = 0; r < nranks; r++) {
        row_at[r] = row;
        if (r > 0) entry_at[r] = entry_at[r - 1] + sizes[(int64_t)(r - 1) * (nclasses + 1) + nclasses];
        for (int k = 0; k < nclasses; k++) row += sizes[(int64_t)r * (nclasses + 1) + k];
    }
    for (int k = 0; k < nclasses; k++)
        for (int r = 0; r < nranks; r++)
            for (int64_t i = 0; i < sizes[(int64_t)r * (nclasses + 1) + k]; i++, to++) {
                const int64_t from = row_at[r]++, n = all->length[from];
                for (int f = 0; f < ncoefs; f++) m->coef[f * m->nsv + to] = all->coef[from * ncoefs + f];
                memcpy(m->sv.index + entry, all->index + entry_at[r], (size_t)n * sizeof *all->index);
                memcpy(m->sv.value + entry, all->value + entry_at[r], (size_t)n * sizeof *all->value);
                entry_at[r] += n;
                m->sv.start[to + 1] = entry += n;
                m->nsv_of[k]++;
            }
    free(row_at);
    free(entry_at);
}

static void make_model(const tutti_svm_training *t, const tutti_svm_classes *c, const bundle *all, const int64_t *sizes,
                       tutti_svm_model *m)
{
    const int64_t n = all->nrows;
    *m = (tutti_svm_model){
        .kernel = *tutti_svm_context_kernel(t->context),
        .nclasses = c->n,
        .nsv = n,
        .label = tutti_alloc((size_t)(c->n + 1) * sizeof *m->label),
        .nsv_of = tutti_alloc((size_t)(c->n + 1) * sizeof *m->nsv_of),
        .coef = tutti_alloc(((size_t)n * (size_t)c->n + 1) * sizeof *m->coef),
        .sv = {.nrows = n,
               .total = n,
               .width = t->data->width,
               .start = tutti_alloc((size_t)(n + 1) * sizeof *m->sv.start),
               .index = tutti_alloc((size_t)(all->nentries + 1) * sizeof *m->sv.index),
               .value = tutti_alloc((size_t)(all->nentries + 1) * sizeof *m->sv.value),
               .label = tutti_alloc((size_t)(n + 1) * sizeof *m->sv.label)},
    };
    if (c->n > 0) memcpy(m->label, c->label, (size_t)c->n * sizeof *m->label);
    arrange(all, sizes, tutti_comm_size(t->comm), c->n, m);
}

tutti_status tutti_svm_model_gather(tutti_svm_training *t, const tutti_svm_classes *c, const double *coef,
                                    tutti_svm_model *model, tutti_failure *err)
{
    const int nranks = tutti_comm_size(t->comm);
    const size_t nsizes = (size_t)c->n + 1;
    int64_t *own_sizes = tutti_alloc(nsizes * sizeof *own_sizes),
            *sizes = tutti_alloc(nsizes * (size_t)nranks * sizeof *sizes);
    bundle own = bundle_own(t, c, coef, own_sizes), all = {0};
    tutti_status st = tutti_comm_all_gather(t->comm, own_sizes, sizes, (int64_t)nsizes, TUTTI_I64, err);
    if (!st) st = gather_bundles(t, c, sizes, &own, &all, err);
    if (!st && tutti_comm_rank(t->comm) == 0) make_model(t, c, &all, sizes, model);
    bundle_release(&own);
    bundle_release(&all);
    free(own_sizes);
    free(sizes);
    return st;
}
