/* SPDX-License-Identifier: Apache-2.0 */
/* most_carried.c: the most that given trees carry together: maximise sum x, loads x <= room, x >= 0. The simplex method on a dense
 * table: some tens of trees and links. Doing nothing is feasible, so there is one phase; Bland's rule, so it ends. */
#include <stdlib.h>

#include "../../base/arena.h"
#include "pack_impl.h"

/* Rows: links, then the objective. Columns: trees, then slacks, then the right side. */
typedef struct {
    int32_t nrows, ncolumns;
    double *cell;
    int32_t *basic; /* column of each row */
} table;

static double *row_of(const table *t, int32_t row)
{
    return t->cell + (size_t)row * (size_t)(t->ncolumns + 1);
}

static void pivot(table *t, int32_t row, int32_t column)
{
    double *r = row_of(t, row), by = r[column];
    for (int32_t k = 0; k <= t->ncolumns; k++) r[k] /= by;
    for (int32_t i = 0; i <= t->nrows; i++) {
        double *o = row_of(t, i), times = o[column];
        if (i == row || times == 0) continue;
        for (int32_t k = 0; k <= t->ncolumns; k++) o[k] -= times * r[k];
        o[column] = 0;
    }
    t->basic[row] = column;
}

/* False: nothing improves any more. */
static bool improve(table *t)
{
    int32_t column = 0, best = -1;
    const double *objective = row_of(t, t->nrows);
    while (column < t->ncolumns && objective[column] > -1e-9) column++;
    if (column == t->ncolumns) return false;
    for (int32_t i = 0; i < t->nrows; i++) {
        const double *r = row_of(t, i);
        if (r[column] < 1e-9) continue;
        double ratio = r[t->ncolumns] / r[column];
        double least = best < 0 ? 0 : row_of(t, best)[t->ncolumns] / row_of(t, best)[column];
        if (best < 0 || ratio < least - 1e-12 || (ratio < least + 1e-12 && t->basic[i] < t->basic[best])) best = i;
    }
    if (best < 0) return false; /* cannot be: every tree uses a link */
    pivot(t, best, column);
    return true;
}

double tutti_most_carried(const tutti_tree_loads *l, const bool *use, double *x)
{
    table t = {.nrows = l->nlinks, .ncolumns = l->ntrees + l->nlinks};
    t.cell = tutti_alloc((size_t)(t.nrows + 1) * (size_t)(t.ncolumns + 1) * sizeof *t.cell);
    t.basic = tutti_alloc((size_t)(t.nrows + 1) * sizeof *t.basic);
    for (int32_t a = 0; a < l->nlinks; a++) {
        double *r = row_of(&t, a);
        for (int32_t i = 0; i < l->ntrees; i++)
            r[i] = use[i] ? (double)l->load[(size_t)i * (size_t)l->nlinks + (size_t)a] : 0;
        r[l->ntrees + a] = 1, r[t.ncolumns] = l->room[a];
        t.basic[a] = l->ntrees + a;
    }
    for (int32_t i = 0; i < l->ntrees; i++) row_of(&t, t.nrows)[i] = use[i] ? -1 : 0;
    while (improve(&t)) {
    }
    for (int32_t i = 0; i < l->ntrees; i++) x[i] = 0;
    for (int32_t a = 0; a < l->nlinks; a++)
        if (t.basic[a] < l->ntrees) x[t.basic[a]] = row_of(&t, a)[t.ncolumns];
    double most = row_of(&t, t.nrows)[t.ncolumns];
    free(t.cell), free(t.basic);
    return most;
}
