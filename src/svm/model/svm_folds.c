/* SPDX-License-Identifier: Apache-2.0 */
/* svm_folds.c: cross validation of an SVM. The fold of a sample is a pure function (a permutation of the class's
 * samples that needs no memory), so ranks agree on it without a message. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../data/dataset.h"
#include "../svm_training.h"
#include "svm_probability.h"

/* Returns the fold of the sample with this number in class k. Folds are runs of the permuted class; their lengths
 * differ by at most one. */
static int64_t fold_of(const tutti_svm_classes *c, int k, int64_t number, tutti_svm_split split)
{
    const int64_t place = tutti_sample_order_at(split.seed, k, c->count[k], true, number);
    return ((place + 1) * split.nfolds - 1) / c->count[k];
}

static tutti_svm_classes classes_alike(const tutti_svm_classes *c)
{
    const size_t n = (size_t)c->n;
    tutti_svm_classes out = {.n = c->n,
                             .label = tutti_alloc(n * sizeof *out.label),
                             .count = tutti_alloc(n * sizeof *out.count),
                             .before = tutti_alloc(n * sizeof *out.before),
                             .own = tutti_alloc(n * sizeof *out.own),
                             .row = tutti_alloc(n * sizeof *out.row)};
    memcpy(out.label, c->label, n * sizeof *out.label);
    for (int k = 0; k < c->n; k++) out.row[k] = tutti_alloc((size_t)(c->own[k] + 1) * sizeof **out.row);
    return out;
}

static int by_row(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

tutti_status tutti_svm_fold_make(tutti_svm_training *t, const tutti_svm_classes *c, tutti_svm_split split, int fold,
                                 tutti_svm_fold *out, tutti_failure *err)
{
    tutti_svm_fold f = {.kept = classes_alike(c), .left = tutti_alloc((size_t)(t->data->nrows + 1) * sizeof *f.left)};
    const bool each_alone = split.nfolds == t->data->total;
    for (int k = 0; k < c->n; k++)
        for (int64_t i = 0; i < c->own[k]; i++) {
            const int32_t row = c->row[k][i];
            if ((each_alone ? t->data->first + row : fold_of(c, k, c->before[k] + i, split)) == fold)
                f.left[f.nleft++] = row;
            else
                f.kept.row[k][f.kept.own[k]++] = row;
        }
    qsort(f.left, (size_t)f.nleft, sizeof *f.left, by_row);
    const tutti_status st = tutti_svm_classes_count(t->comm, &f.kept, err);
    if (st)
        tutti_svm_fold_release(&f);
    else
        *out = f;
    return st;
}

void tutti_svm_fold_release(tutti_svm_fold *fold)
{
    tutti_svm_classes_release(&fold->kept);
    free(fold->left);
    *fold = (tutti_svm_fold){0};
}

/* Predictions of the models of pairs of classes for the left-out samples of a fold. */
typedef struct {
    int *votes;       /* [nleft][nclasses] votes of the pairs */
    double *pairwise; /* [nleft][npairs] P(i | i or j); only for probabilities */
    double *decision; /* [nleft] decisions of the current pair */
} ballot;

static tutti_status ask_pair(tutti_svm_training *t, const tutti_svm_fold *f, int i, int j, ballot *b,
                             tutti_failure *err)
{
    const int n = f->kept.n, npairs = n * (n - 1) / 2, number = tutti_svm_pair_number(i, j, n);
    tutti_svm_sigmoid sigmoid = {0, 0};
    tutti_svm_part part = {0};
    tutti_status st = TUTTI_OK;
    if (b->pairwise) st = tutti_svm_platt_fit(t, &f->kept, i, j, &sigmoid, err);
    if (!st) st = tutti_svm_part_train(t, &f->kept, i, j, &part, err);
    if (!st) st = tutti_svm_part_decide(t, &part, f->nleft, f->left, b->decision, err);
    for (int64_t s = 0; !st && s < f->nleft; s++) {
        b->votes[s * n + (b->decision[s] > 0 ? i : j)]++;
        if (b->pairwise) b->pairwise[s * npairs + number] = tutti_svm_platt_value(b->decision[s], sigmoid.a, sigmoid.b);
    }
    tutti_svm_part_release(&part);
    return st;
}

static int most_voted(const int *votes, int n)
{
    int best = 0;
    for (int k = 1; k < n; k++)
        if (votes[k] > votes[best]) best = k;
    return best;
}

static void count_ballot(const tutti_svm_fold *f, const ballot *b, double *predicted)
{
    const int n = f->kept.n, npairs = n * (n - 1) / 2;
    double *p = tutti_alloc((size_t)n * sizeof *p);
    for (int64_t s = 0; s < f->nleft; s++) {
        int best = most_voted(b->votes + s * n, n);
        if (b->pairwise) best = tutti_svm_couple(n, b->pairwise + s * npairs, p);
        predicted[f->left[s]] = f->kept.label[best];
    }
    free(p);
}

/* Trains on the samples outside the fold and predicts those in it. No model is trained for a class without samples
 * outside the fold. If only one class has any, it is predicted for every sample. */
static tutti_status run_fold(tutti_svm_training *t, const tutti_svm_fold *f, double *predicted, tutti_failure *err)
{
    const int n = f->kept.n, npairs = n * (n - 1) / 2;
    const size_t nleft = (size_t)f->nleft + 1;
    ballot b = {.votes = tutti_alloc(nleft * (size_t)n * sizeof *b.votes),
                .decision = tutti_alloc(nleft * sizeof *b.decision)};
    bool whole = true; /* true if each class has samples outside the fold: coupling needs a model of every pair */
    for (int k = 0; k < n; k++) whole = whole && f->kept.count[k] > 0;
    if (t->config->probability && whole) b.pairwise = tutti_alloc(nleft * (size_t)npairs * sizeof *b.pairwise);
    tutti_status st = TUTTI_OK;
    for (int i = 0; !st && i < n; i++)
        for (int j = i + 1; !st && j < n; j++)
            if (f->kept.count[i] > 0 && f->kept.count[j] > 0) st = ask_pair(t, f, i, j, &b, err);
    for (int k = 0, others = 0; !st && k < n; k++) {
        for (int o = others = 0; o < n; o++) others += o != k && f->kept.count[o] > 0;
        if (f->kept.count[k] > 0 && others == 0)
            for (int64_t s = 0; s < f->nleft; s++) b.votes[s * n + k]++;
    }
    if (!st) count_ballot(f, &b, predicted);
    free(b.votes);
    free(b.decision);
    free(b.pairwise);
    return st;
}

tutti_status tutti_svm_cross_validate(tutti_comm *comm, const tutti_svm_data *data, const tutti_svm_config *config,
                                      int nfolds, double *predicted, tutti_failure *err)
{
    if (nfolds < 2) return tutti_fail(err, TUTTI_ERR_USAGE, "%d folds: a cross validation wants 2 at least", nfolds);
    tutti_svm_classes classes = {0};
    tutti_svm_training t = {0};
    tutti_status st = tutti_svm_training_begin(comm, data, config, &t, &classes, err);
    if (!st && nfolds > data->total)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%d folds of %lld samples: give at most %lld", nfolds,
                        (long long)data->total, (long long)data->total);
    const int64_t problems =
        (int64_t)classes.n * (classes.n - 1) / 2 * (config->probability ? 1 + TUTTI_SVM_PLATT_FOLDS : 1);
    t.nproblems = (int)(problems > INT_MAX / nfolds ? INT_MAX : problems * nfolds);
    for (int fold = 0; !st && fold < nfolds; fold++) {
        tutti_svm_fold f = {0};
        st = tutti_svm_fold_make(&t, &classes, (tutti_svm_split){config->seed, nfolds}, fold, &f, err);
        if (!st) st = run_fold(&t, &f, predicted, err);
        tutti_svm_fold_release(&f);
    }
    tutti_svm_training_end(&t, &classes);
    return st;
}
