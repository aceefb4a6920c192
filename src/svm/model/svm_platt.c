/* SPDX-License-Identifier: Apache-2.0 */
/* svm_platt.c: fits the sigmoid of a pair of classes by five-fold cross validation (Platt). */
#include <stdlib.h>

#include "../../base/arena.h"
#include "../checkpoint/svm_checkpoint.h"
#include "svm_probability.h"

/* Decisions and signs of a pair's samples, rank after rank. */
typedef struct {
    int64_t n;
    double *decision;
    int8_t *y;
} verdicts;

static tutti_status gather_verdicts(tutti_comm *comm, const verdicts *own, verdicts *all, tutti_failure *err)
{
    const int nranks = tutti_comm_size(comm);
    int64_t *counts = tutti_alloc((size_t)nranks * sizeof *counts);
    tutti_status st = tutti_comm_all_gather(comm, &own->n, counts, 1, TUTTI_I64, err);
    for (int r = 0; r < nranks; r++) all->n += counts[r];
    all->decision = tutti_alloc((size_t)(all->n + 1) * sizeof *all->decision);
    all->y = tutti_alloc((size_t)(all->n + 1) * sizeof *all->y);
    tutti_call call = {.collective = TUTTI_ALL_GATHER, .counts = counts, .type = TUTTI_F64};
    call.in = own->decision, call.out = all->decision;
    if (!st) st = tutti_comm_run(comm, &call, err);
    call.type = TUTTI_U8, call.in = own->y, call.out = all->y;
    if (!st) st = tutti_comm_run(comm, &call, err);
    free(counts);
    return st;
}

/* Finds the decisions of a fold for its samples of the pair. If one class has no samples outside the fold, the other
 * class is certain. */
static tutti_status ask_fold(tutti_svm_training *t, const tutti_svm_fold *f, const tutti_svm_classes *pair,
                             verdicts *own, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    double *to = own->decision + own->n;
    if (f->kept.count[0] > 0 && f->kept.count[1] > 0) {
        tutti_svm_part part = {0};
        st = tutti_svm_part_train(t, &f->kept, 0, 1, &part, err);
        if (!st) st = tutti_svm_part_decide(t, &part, f->nleft, f->left, to, err);
        tutti_svm_part_release(&part);
    } else {
        for (int64_t s = 0; s < f->nleft; s++) to[s] = (f->kept.count[0] > 0) - (f->kept.count[1] > 0);
    }
    for (int64_t s = 0; s < f->nleft; s++)
        own->y[own->n++] = (int32_t)t->data->label[f->left[s]] == pair->label[0] ? 1 : -1;
    return st;
}

/* Sorts the decisions into file order, so that sums depend neither on folds nor on ranks. */
static void sort_verdicts(verdicts *v, const int32_t *row, int64_t nrows)
{
    int64_t *at = tutti_alloc((size_t)(nrows + 1) * sizeof *at);
    for (int64_t s = 0; s < v->n; s++) at[row[s]] = s + 1;
    verdicts sorted = {.decision = tutti_alloc((size_t)(v->n + 1) * sizeof *sorted.decision),
                       .y = tutti_alloc((size_t)(v->n + 1) * sizeof *sorted.y)};
    for (int64_t i = 0; i < nrows; i++) {
        if (at[i] == 0) continue;
        sorted.decision[sorted.n] = v->decision[at[i] - 1];
        sorted.y[sorted.n++] = v->y[at[i] - 1];
    }
    free(at);
    free(v->decision);
    free(v->y);
    *v = sorted;
}

tutti_status tutti_svm_platt_fit(tutti_svm_training *t, const tutti_svm_classes *c, int i, int j,
                                 tutti_svm_sigmoid *out, tutti_failure *err)
{
    if (tutti_svm_checkpoint_begin_sigmoid(t->context, &out->a, &out->b)) {
        t->solved += TUTTI_SVM_PLATT_FOLDS;
        return TUTTI_OK;
    }
    int32_t label[] = {c->label[i], c->label[j]}, *row[] = {c->row[i], c->row[j]};
    int64_t count[] = {c->count[i], c->count[j]}, before[] = {c->before[i], c->before[j]},
            own_rows[] = {c->own[i], c->own[j]};
    const tutti_svm_classes pair = {2, label, count, before, own_rows, row};
    const size_t n = (size_t)(own_rows[0] + own_rows[1]) + 1;
    verdicts own = {.decision = tutti_alloc(n * sizeof *own.decision), .y = tutti_alloc(n)}, all = {0};
    const tutti_svm_split split = {t->config->seed + 1, TUTTI_SVM_PLATT_FOLDS};
    int32_t *order = tutti_alloc(n * sizeof *order);
    tutti_status st = TUTTI_OK;
    for (int fold = 0; !st && fold < TUTTI_SVM_PLATT_FOLDS; fold++) {
        tutti_svm_fold f = {0};
        st = tutti_svm_fold_make(t, &pair, split, fold, &f, err);
        for (int64_t s = 0; !st && s < f.nleft; s++) order[own.n + s] = f.left[s];
        if (!st) st = ask_fold(t, &f, &pair, &own, err);
        tutti_svm_fold_release(&f);
    }
    if (!st) {
        sort_verdicts(&own, order, t->data->nrows);
        st = gather_verdicts(t->comm, &own, &all, err);
    }
    if (!st) {
        tutti_svm_platt_solve(all.n, all.decision, all.y, &out->a, &out->b);
        tutti_svm_checkpoint_end_sigmoid(t->context, out->a, out->b);
    }
    free(own.decision);
    free(own.y);
    free(all.decision);
    free(all.y);
    free(order);
    return st;
}
