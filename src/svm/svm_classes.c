/* SPDX-License-Identifier: Apache-2.0 */
/* svm_classes.c: finds the classes of a set on all ranks. Each rank lists its labels as they appear; ranks hold the
 * file in order, so their lists, one behind the other, are in order of appearance too. */
#include "svm_classes.h"

#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"

/* Returns the index of a label in a list, or -1. A set has few classes, and neighbouring samples often have the same
 * one. */
static int place_of(int32_t label, const int32_t *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == label) return i;
    return -1;
}

static int add_label(int32_t label, int32_t **list, int n)
{
    if ((n & (n - 1)) == 0) *list = tutti_realloc(*list, (n ? 2 * (size_t)n : 1) * sizeof **list);
    (*list)[n] = label;
    return n + 1;
}

enum { MOST_CLASSES = 4096 }; /* with more classes, labels are values to be fitted */

/* Lists the labels of this rank, and stops if there are too many. An empty list has memory, too: a collective needs an
 * address. */
static int own_labels(const tutti_svm_data *data, int32_t **list)
{
    int n = 0;
    *list = tutti_alloc(sizeof **list);
    for (int64_t i = 0; i < data->nrows && n <= MOST_CLASSES; i++)
        if (place_of((int32_t)data->label[i], *list, n) < 0) n = add_label((int32_t)data->label[i], list, n);
    return n;
}

static tutti_status all_labels(tutti_comm *comm, const tutti_svm_data *data, tutti_svm_classes *c, tutti_failure *err)
{
    const int nranks = tutti_comm_size(comm);
    int32_t *mine = NULL;
    const int64_t nmine = own_labels(data, &mine);
    int64_t *counts = tutti_alloc((size_t)nranks * sizeof *counts), total = 0;
    tutti_status st = tutti_comm_all_gather(comm, &nmine, counts, 1, TUTTI_I64, err);
    for (int r = 0; r < nranks; r++) total += counts[r];
    int32_t *all = tutti_alloc((size_t)(total + 1) * sizeof *all);
    if (!st && total > 0) {
        const tutti_call call = {
            .collective = TUTTI_ALL_GATHER, .in = mine, .out = all, .counts = counts, .type = TUTTI_I32};
        st = tutti_comm_run(comm, &call, err);
    }
    for (int64_t i = 0; !st && i < total; i++)
        if (place_of(all[i], c->label, c->n) < 0) c->n = add_label(all[i], &c->label, c->n);
    if (!st && c->n > MOST_CLASSES)
        st = tutti_fail(err, TUTTI_ERR_DATA, "the labels are of more than %d classes: c_svc tells classes apart",
                        MOST_CLASSES);
    if (c->n == 2 && c->label[0] == -1 && c->label[1] == 1) {
        c->label[0] = 1;
        c->label[1] = -1;
    }
    free(all);
    free(counts);
    free(mine);
    return st;
}

static void own_rows(const tutti_svm_data *data, tutti_svm_classes *c)
{
    for (int64_t i = 0; i < data->nrows; i++) c->own[place_of((int32_t)data->label[i], c->label, c->n)]++;
    for (int k = 0; k < c->n; k++) c->row[k] = tutti_alloc((size_t)(c->own[k] + 1) * sizeof **c->row);
    int64_t *at = tutti_alloc((size_t)c->n * sizeof *at);
    for (int64_t i = 0; i < data->nrows; i++) {
        const int k = place_of((int32_t)data->label[i], c->label, c->n);
        c->row[k][at[k]++] = (int32_t)i;
    }
    free(at);
}

tutti_status tutti_svm_classes_count(tutti_comm *comm, tutti_svm_classes *c, tutti_failure *err)
{
    const int nranks = tutti_comm_size(comm), rank = tutti_comm_rank(comm);
    int64_t *of = tutti_alloc((size_t)nranks * (size_t)c->n * sizeof *of);
    tutti_status st = tutti_comm_all_gather(comm, c->own, of, c->n, TUTTI_I64, err);
    for (int r = 0; !st && r < nranks; r++)
        for (int k = 0; k < c->n; k++) {
            c->count[k] += of[(int64_t)r * c->n + k];
            if (r < rank) c->before[k] += of[(int64_t)r * c->n + k];
        }
    free(of);
    return st;
}

tutti_status tutti_svm_classes_find(tutti_comm *comm, const tutti_svm_data *data, tutti_svm_classes *out,
                                    tutti_failure *err)
{
    tutti_svm_classes c = {0};
    tutti_status st = all_labels(comm, data, &c, err);
    if (!st && c.n > 0) {
        c.count = tutti_alloc((size_t)c.n * sizeof *c.count);
        c.before = tutti_alloc((size_t)c.n * sizeof *c.before);
        c.own = tutti_alloc((size_t)c.n * sizeof *c.own);
        c.row = tutti_alloc((size_t)c.n * sizeof *c.row);
        own_rows(data, &c);
        st = tutti_svm_classes_count(comm, &c, err);
    }
    if (st)
        tutti_svm_classes_release(&c);
    else
        *out = c;
    return st;
}

void tutti_svm_classes_release(tutti_svm_classes *c)
{
    for (int k = 0; k < c->n && c->row; k++) free(c->row[k]);
    free(c->row);
    free(c->own);
    free(c->before);
    free(c->count);
    free(c->label);
    *c = (tutti_svm_classes){0};
}
