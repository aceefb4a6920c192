/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs.c: the SMO loop over pairs of a working set. This file moves one pair after the other. The costly loops
 * over all members are in svm_pairs_vector.c, one version for each instruction set. */
#include "svm_pairs.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../../base/arena.h"
#include "svm_pairs_impl.h"

enum {
    WIDEST = 8,
    APART = 40 /* elements between two arrays: if they began 4 KiB apart, the processor would take a load from one for a
                * load of what was stored to the other, and wait */
};

TUTTI_ISA_TABLE(tutti_svm_pairs_row, tutti_svm_pairs);

/* Puts a member's gamma into `up` if its y alpha may grow, and into `low` if it may shrink; a free member is in
 * both. */
static void place_member(const tutti_svm_pairs *p, const tutti_svm_set *s, int64_t c, double gamma)
{
    const bool grows = p->alpha[c]<p->cost[c], shrinks = p->alpha[c]> 0, positive = p->y[c] > 0;
    s->up[c] = (positive ? grows : shrinks) ? gamma : (double)INFINITY;
    s->low[c] = (positive ? shrinks : grows) ? gamma : -(double)INFINITY;
}

static double gamma_of(const tutti_svm_set *s, int64_t c)
{
    return s->up[c] < (double)INFINITY ? s->up[c] : s->low[c];
}

static tutti_svm_set open_set(const tutti_svm_pairs *p, tutti_arena *arena)
{
    const int64_t room = (p->n + WIDEST - 1) / WIDEST * WIDEST + APART;
    double *all = TUTTI_ARENA_NEW(arena, double, 3 * room);
    const tutti_svm_set s = {p->n, p->matrix, p->stride, p->precision, all, all + room, all + 2 * room};
    for (int64_t c = 0; c < p->n; c++) place_member(p, &s, c, p->y[c] * p->gradient[c]);
    for (int64_t c = p->n; c < room; c++) {
        s.up[c] = (double)INFINITY;
        s.low[c] = -(double)INFINITY;
    }
    memcpy(all + 2 * room, p->diagonal, (size_t)p->n * sizeof *all);
    return s;
}

static double value_at(const tutti_svm_set *s, int64_t i, int64_t j)
{
    const int64_t at = i * s->stride + j;
    return s->precision == TUTTI_SVM_F32 ? (double)((const float *)s->matrix)[at] : ((const double *)s->matrix)[at];
}

/* Moves alpha y of a member by `by`, or with to_bound exactly to its bound. Returns how far it moved. */
static double shift(const tutti_svm_pairs *p, const tutti_svm_set *s, int64_t c, double by, bool to_bound)
{
    const double old = p->alpha[c], change = p->y[c] * by, gamma = gamma_of(s, c);
    p->alpha[c] = !to_bound ? old + change : change > 0 ? p->cost[c] : 0;
    place_member(p, s, c, gamma);
    return p->y[c] * (p->alpha[c] - old);
}

/* Returns by how much y alpha of a member can grow (direction 1) or shrink (-1). */
static double room_of(const tutti_svm_pairs *p, int64_t c, double direction)
{
    return p->y[c] * direction > 0 ? p->cost[c] - p->alpha[c] : p->alpha[c];
}

/* Makes the best step of a pair, as far as both have room. */
static void shift_pair(const tutti_svm_pairs *p, const tutti_svm_set *s, int64_t i, int64_t j, double moved[2])
{
    const double curvature = s->diagonal[i] + s->diagonal[j] - 2 * value_at(s, i, j);
    const double room_i = room_of(p, i, 1), room_j = room_of(p, j, -1);
    double by = (s->low[j] - s->up[i]) / (curvature <= 0 ? TUTTI_SVM_FLAT : curvature);
    if (by > room_i) by = room_i;
    if (by > room_j) by = room_j;
    moved[0] = shift(p, s, i, by, by == room_i);
    moved[1] = shift(p, s, j, -by, by == room_j);
}

/* Finds the partner of the pair's first member. A first search accepts only gains of at least `least`: the gain of the
 * most violating member, estimated with the curvature of two rows at right angles. Mostly some member reaches it;
 * otherwise a second search compares all members. */
static int64_t partner_of(const tutti_svm_pairs_row *row, const tutti_svm_set *s, const tutti_svm_extremes *e)
{
    const double gap = e->low - e->up, diagonal = s->diagonal[e->first];
    const int64_t j = diagonal > 0 ? row->partner(s, e->first, gap * gap / (2 * diagonal)) : -1;
    return j >= 0 ? j : row->partner(s, e->first, -1);
}

static tutti_status check(const tutti_svm_pairs *p, tutti_failure *err)
{
    for (int64_t c = 0; c < p->n; c++)
        if (!(p->cost[c] > 0))
            return tutti_fail(err, TUTTI_ERR_USAGE, "a sample's cost is %g: costs and weights of classes are above 0",
                              p->cost[c]);
    return TUTTI_OK;
}

tutti_status tutti_svm_pairs_run_row(const tutti_svm_pairs_row *row, const tutti_svm_pairs *p, int64_t *iterations,
                                     tutti_failure *err)
{
    assert(p->n >= 1 && p->until > 0);
    if (check(p, err) != TUTTI_OK) return TUTTI_ERR_USAGE;
    tutti_arena arena = {0};
    const tutti_svm_set s = open_set(p, &arena);
    int64_t done = 0;
    tutti_svm_extremes e = row->scan(&s);
    bool is_number = true;
    while (done < p->most && e.low - e.up >= p->until) {
        const int64_t j = partner_of(row, &s, &e);
        double moved[2];
        is_number = j >= 0;
        if (!is_number) break; /* some value is NaN: else the member with gamma e.low would be a partner */
        shift_pair(p, &s, e.first, j, moved);
        if (moved[0] == 0 && moved[1] == 0) break; /* the step is too small to change either alpha */
        e = row->move(&s, e.first, j, moved[0], moved[1]);
        done++;
    }
    for (int64_t c = 0; c < p->n; c++) {
        is_number = is_number && isfinite(gamma_of(&s, c));
        p->gradient[c] = p->y[c] * gamma_of(&s, c);
    }
    tutti_arena_release(&arena);
    *iterations = done;
    if (is_number) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA,
                      "a kernel value is not a finite number: the data have NaN, "
                      "infinities or values that overflow");
}

tutti_status tutti_svm_pairs_run(const tutti_svm_pairs *p, int64_t *iterations, tutti_failure *err)
{
    return tutti_svm_pairs_run_row(tutti_svm_pairs_rows[tutti_isa_here()], p, iterations, err);
}
