/* SPDX-License-Identifier: Apache-2.0 */
/* check_grid.c: cuts the vector at all distinct slice boundaries of a schedule, in order.
 *
 * Boundaries are fractions first/of. Schedules use few different `of`, so each has a table from `first` to the place of
 * the boundary in the grid: finding a slice costs two loads. Fractions are compared by cross products (31 + 31 bits),
 * never rounded. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/divisor.h"
#include "check_impl.h"

enum { MAX_ROWS = 4096 };
static const int64_t MAX_WORK = (int64_t)1 << 27, MAX_UNITS = (int64_t)1 << 52;

static tutti_grid_row *row_of(tutti_grid *g, int32_t of)
{
    if (g->nrows && g->rows[g->last].of == of) return &g->rows[g->last];
    for (int32_t i = 0; i < g->nrows; i++)
        if (g->rows[i].of == of) return &g->rows[g->last = i];
    return NULL;
}

static tutti_status new_row(tutti_grid *g, int32_t of, tutti_failure *err)
{
    g->work += of;
    if (g->nrows >= MAX_ROWS || g->work > MAX_WORK)
        return tutti_fail(err, TUTTI_ERR_FAILED,
                          "slices divide the vector in too many different ways (/%d and %d others)", of, g->nrows);
    g->rows = tutti_realloc(g->rows, sizeof *g->rows * ((size_t)g->nrows + 1));
    g->rows[g->nrows] = (tutti_grid_row){.of = of, .place = tutti_alloc(sizeof(int32_t) * ((size_t)of + 1))};
    g->last = g->nrows++;
    return TUTTI_OK;
}

tutti_status tutti_grid_mark(tutti_grid *g, const tutti_slice *s, tutti_failure *err)
{
    tutti_grid_row *row = row_of(g, s->of);
    if (!row) {
        tutti_status st = new_row(g, s->of, err);
        if (st != TUTTI_OK) return st;
        row = &g->rows[g->last];
    }
    row->place[s->first] = row->place[s->first + s->count] = 1;
    return TUTTI_OK;
}

typedef struct {
    int32_t first, of, row;
} boundary;

static int by_fraction(const void *a, const void *b)
{
    const boundary *x = a, *y = b;
    int64_t left = (int64_t)x->first * y->of, right = (int64_t)y->first * x->of;
    return (left > right) - (left < right);
}

static tutti_status count_units(tutti_grid *g, tutti_failure *err)
{
    g->units = 1;
    for (int32_t i = 0; i < g->nrows; i++) {
        int64_t of = g->rows[i].of, factor = of / tutti_common_divisor(g->units, of);
        if (g->units > MAX_UNITS / factor)
            return tutti_fail(err, TUTTI_ERR_FAILED,
                              "slices divide the vector in ways whose common refinement exceeds 2^52 units");
        g->units *= factor;
    }
    return TUTTI_OK;
}

tutti_status tutti_grid_close(tutti_grid *g, tutti_failure *err)
{
    tutti_status st = count_units(g, err);
    if (st != TUTTI_OK) return st;
    boundary *all = tutti_alloc(sizeof *all * (size_t)(g->work + g->nrows));
    size_t n = 0;
    for (int32_t i = 0; i < g->nrows; i++)
        for (int32_t f = 0; f <= g->rows[i].of; f++)
            if (g->rows[i].place[f]) all[n++] = (boundary){f, g->rows[i].of, i};
    qsort(all, n, sizeof *all, by_fraction);
    g->first = tutti_alloc(sizeof(int32_t) * (n + 1));
    g->of = tutti_alloc(sizeof(int32_t) * (n + 1));
    int32_t place = -1;
    for (int32_t i = 0; i < g->nrows; i++) memset(g->rows[i].place, -1, sizeof(int32_t) * ((size_t)g->rows[i].of + 1));
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || by_fraction(&all[i - 1], &all[i]) != 0) {
            place++;
            g->first[place] = all[i].first;
            g->of[place] = all[i].of;
        }
        g->rows[all[i].row].place[all[i].first] = place;
    }
    g->ncells = place;
    free(all);
    return TUTTI_OK;
}

void tutti_grid_find(tutti_grid *g, const tutti_slice *s, int32_t *lo, int32_t *hi)
{
    const tutti_grid_row *row = row_of(g, s->of);
    *lo = row->place[s->first];
    *hi = row->place[s->first + s->count];
    assert(*lo >= 0 && *hi >= *lo); /* both ends must have been marked as boundaries, else the slice would look empty */
}

void tutti_grid_release(tutti_grid *g)
{
    for (int32_t i = 0; i < g->nrows; i++) free(g->rows[i].place);
    free(g->rows);
    free(g->first);
    free(g->of);
    *g = (tutti_grid){0};
}
