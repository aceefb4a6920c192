/* SPDX-License-Identifier: Apache-2.0 */
/* simplex.c: the primal simplex method on a dense tableau (Dantzig 1947). The column with the largest gain enters;
 * after many steps without progress the first column with any gain enters (Bland 1977), which cannot cycle. */
#include "simplex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"

static const double TINY = 1e-9;

typedef struct {
    int32_t nrows, width; /* width: number of columns with slack columns and the right-hand side */
    double *cell;         /* the tableau, (nrows + 1) x width; its last row is the goal */
    int32_t *basis;       /* the column of each row's basic variable */
} tableau;

void tutti_lp_init(tutti_lp *lp, int32_t ncolumns)
{
    *lp = (tutti_lp){.ncolumns = ncolumns, .goal = tutti_alloc((size_t)ncolumns * sizeof(double))};
}

void tutti_lp_release(tutti_lp *lp)
{
    free(lp->goal);
    free(lp->rows);
    free(lp->limit);
    *lp = (tutti_lp){0};
}

double *tutti_lp_row(tutti_lp *lp, double limit)
{
    if (lp->nrows == lp->room) {
        lp->rows = tutti_grow(lp->rows, lp->nrows, &lp->room, (size_t)lp->ncolumns * sizeof(double));
        lp->limit = tutti_realloc(lp->limit, (size_t)lp->room * sizeof(double));
    }
    double *row = lp->rows + (size_t)lp->nrows * (size_t)lp->ncolumns;
    memset(row, 0, (size_t)lp->ncolumns * sizeof(double));
    lp->limit[lp->nrows++] = limit;
    return row;
}

static void tableau_fill(const tutti_lp *lp, tableau *t)
{
    t->nrows = lp->nrows;
    t->width = lp->ncolumns + lp->nrows + 1;
    t->cell = tutti_alloc((size_t)(t->nrows + 1) * (size_t)t->width * sizeof(double));
    t->basis = tutti_alloc((size_t)t->nrows * sizeof *t->basis);
    for (int32_t r = 0; r < t->nrows; r++) {
        double *row = t->cell + (size_t)r * (size_t)t->width;
        memcpy(row, lp->rows + (size_t)r * (size_t)lp->ncolumns, (size_t)lp->ncolumns * sizeof(double));
        row[lp->ncolumns + r] = 1;
        row[t->width - 1] = lp->limit[r];
        t->basis[r] = lp->ncolumns + r;
    }
    double *goal = t->cell + (size_t)t->nrows * (size_t)t->width;
    for (int32_t c = 0; c < lp->ncolumns; c++) goal[c] = -lp->goal[c];
}

/* Returns the column that enters the basis; -1 = none would increase the goal. */
static int32_t entering(const tableau *t, bool first)
{
    const double *goal = t->cell + (size_t)t->nrows * (size_t)t->width;
    int32_t best = -1;
    for (int32_t c = 0; c < t->width - 1; c++)
        if (goal[c] < -TINY && (best < 0 || goal[c] < goal[best])) {
            best = c;
            if (first) break;
        }
    return best;
}

/* Returns the row whose variable leaves the basis when column c enters; -1 = no row limits c. */
static int32_t leaving(const tableau *t, int32_t c)
{
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t r = 0; r < t->nrows; r++) {
        const double *row = t->cell + (size_t)r * (size_t)t->width;
        if (row[c] <= TINY) continue;
        double ratio = row[t->width - 1] / row[c];
        if (ratio < least - 1e-12 || (ratio < least + 1e-12 && best >= 0 && t->basis[r] < t->basis[best]))
            least = ratio, best = r;
    }
    return best;
}

static void pivot(tableau *t, int32_t r, int32_t c)
{
    double *row = t->cell + (size_t)r * (size_t)t->width, by = row[c];
    for (int32_t i = 0; i < t->width; i++) row[i] /= by;
    for (int32_t other = 0; other <= t->nrows; other++) {
        double *to = t->cell + (size_t)other * (size_t)t->width, factor = to[c];
        if (other == r || factor == 0) continue;
        for (int32_t i = 0; i < t->width; i++) to[i] -= factor * row[i];
    }
    t->basis[r] = c;
}

bool tutti_lp_solve(const tutti_lp *lp, double *z, double *value)
{
    tableau t;
    tableau_fill(lp, &t);
    int32_t c = 0, idle = 0;
    for (int step = 0; step < 20000 && c >= 0; step++) {
        double before = t.cell[(size_t)t.nrows * (size_t)t.width + (size_t)t.width - 1];
        c = entering(&t, idle > 50);
        int32_t r = c < 0 ? -1 : leaving(&t, c);
        if (r < 0) break;
        pivot(&t, r, c);
        double now = t.cell[(size_t)t.nrows * (size_t)t.width + (size_t)t.width - 1];
        idle = now > before + TINY ? 0 : idle + 1;
    }
    memset(z, 0, (size_t)lp->ncolumns * sizeof *z);
    for (int32_t r = 0; r < t.nrows; r++)
        if (t.basis[r] < lp->ncolumns) z[t.basis[r]] = t.cell[(size_t)r * (size_t)t.width + (size_t)t.width - 1];
    *value = t.cell[(size_t)t.nrows * (size_t)t.width + (size_t)t.width - 1];
    free(t.cell);
    free(t.basis);
    return c < 0;
}
