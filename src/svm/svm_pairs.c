/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs.c: the loop over pairs. What costs, the looks at all members, is in the rows (svm_pairs_impl.h); here one pair moves. */
#include "svm_pairs.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../tensor/elementwise.h"
#include "svm_pairs_impl.h"

enum { WIDEST = 8, ARRAYS = 5 };

static const tutti_svm_pairs_row *row_here(void)
{
    for (int i = 0; i < tutti_svm_pairs_nrows; i++)
        if (strcmp(tutti_svm_pairs_rows[i]->isa, tutti_elementwise_isa()) == 0) return tutti_svm_pairs_rows[i];
    return tutti_svm_pairs_rows[tutti_svm_pairs_nrows - 1];
}

/* Says where its alpha allows alpha y of member c to go. */
static void place_member(const tutti_svm_pairs *p, const tutti_svm_set *s, int64_t c)
{
    const bool grows = p->alpha[c]<p->cost[c], shrinks = p->alpha[c]> 0, positive = p->y[c] > 0;
    s->not_up[c] = (positive ? grows : shrinks) ? 0 : (double)INFINITY;
    s->not_low[c] = (positive ? shrinks : grows) ? 0 : (double)INFINITY;
}

static tutti_svm_set open_set(const tutti_svm_pairs *p)
{
    const int64_t room = (p->n + WIDEST - 1) / WIDEST * WIDEST;
    double *all = tutti_alloc((size_t)(room * ARRAYS) * sizeof *all);
    const tutti_svm_set s = {p->n,       p->matrix,      p->stride,      p->precision,  all,
                             all + room, all + 2 * room, all + 3 * room, all + 4 * room};
    for (int64_t c = 0; c < p->n; c++) {
        s.gamma[c] = p->y[c] * p->gradient[c];
        s.diagonal[c] = p->diagonal[c];
        place_member(p, &s, c);
    }
    for (int64_t c = p->n; c < room; c++) s.not_up[c] = s.not_low[c] = (double)INFINITY;
    return s;
}

static double value_at(const tutti_svm_set *s, int64_t i, int64_t j)
{
    const int64_t at = i * s->stride + j;
    return s->precision == TUTTI_SVM_F32 ? (double)((const float *)s->matrix)[at] : ((const double *)s->matrix)[at];
}

/* Moves alpha y of a member by `by`, a room's whole width being to its bound exactly. Returns by how much it went. */
static double shift(const tutti_svm_pairs *p, const tutti_svm_set *s, int64_t c, double by, bool to_bound)
{
    const double old = p->alpha[c], change = p->y[c] * by;
    p->alpha[c] = !to_bound ? old + change : change > 0 ? p->cost[c] : 0;
    place_member(p, s, c);
    return p->y[c] * (p->alpha[c] - old);
}

/* How far alpha y of a member can go up (direction 1) or down (-1). */
static double room_of(const tutti_svm_pairs *p, int64_t c, double direction)
{
    return p->y[c] * direction > 0 ? p->cost[c] - p->alpha[c] : p->alpha[c];
}

/* The best step of a pair, as far as both have room. */
static void shift_pair(const tutti_svm_pairs *p, const tutti_svm_set *s, int64_t i, int64_t j, double moved[2])
{
    const double curvature = s->diagonal[i] + s->diagonal[j] - 2 * value_at(s, i, j);
    const double room_i = room_of(p, i, 1), room_j = room_of(p, j, -1);
    double by = (s->gamma[j] - s->gamma[i]) / (curvature <= 0 ? TUTTI_SVM_FLAT : curvature);
    if (by > room_i) by = room_i;
    if (by > room_j) by = room_j;
    moved[0] = shift(p, s, i, by, by == room_i);
    moved[1] = shift(p, s, j, -by, by == room_j);
}

tutti_status tutti_svm_pairs_run_row(const tutti_svm_pairs_row *row, const tutti_svm_pairs *p, int64_t *iterations,
                                     tutti_failure *err)
{
    assert(p->n >= 1 && p->until > 0);
    const tutti_svm_set s = open_set(p);
    int64_t done = 0;
    tutti_svm_extremes e = row->scan(&s);
    bool is_number = true;
    while (done < p->most && e.low - e.up >= p->until) {
        const int64_t j = row->partner(&s, e.first);
        double moved[2];
        is_number = j >= 0;
        if (!is_number) break; /* who has e.low would do, were its value a number */
        shift_pair(p, &s, e.first, j, moved);
        if (moved[0] == 0 && moved[1] == 0) break; /* less than the last digit of both */
        e = row->move(&s, e.first, j, moved[0], moved[1]);
        done++;
    }
    for (int64_t c = 0; c < p->n; c++) {
        is_number = is_number && isfinite(s.gamma[c]);
        p->gradient[c] = p->y[c] * s.gamma[c];
    }
    free(s.gamma);
    *iterations = done;
    if (is_number) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA,
                      "a kernel value is no finite number: the data have NaN, infinities or values that overflow");
}

tutti_status tutti_svm_pairs_run(const tutti_svm_pairs *p, int64_t *iterations, tutti_failure *err)
{
    return tutti_svm_pairs_run_row(row_here(), p, iterations, err);
}
