/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs_vector.c: the loops of every instruction set; they handle DOUBLES members at once.
 *
 * The extremes are found first, and their indices in a second pass. Four running extremes of each kind are kept at a
 * time, because each step of a single one would wait for the step before. */
#include <math.h>
#include <string.h>

#include "../../tensor/vector.h"
#include "svm_pairs_impl.h"

enum { CHAINS = 4 };

/* Returns v, or TUTTI_SVM_FLAT where it is not above 0. */
INLINE doubles curved(doubles v)
{
    return choose_doubles(at_least_doubles(all_doubles(0), v), all_doubles(TUTTI_SVM_FLAT), v);
}

INLINE const void *row_of(const tutti_svm_set *s, int64_t i, tutti_svm_precision precision)
{
    return precision == TUTTI_SVM_F32 ? (const void *)((const float *)s->matrix + i * s->stride)
                                      : (const void *)((const double *)s->matrix + i * s->stride);
}

INLINE double value_at(const void *row, int64_t at, tutti_svm_precision precision)
{
    return precision == TUTTI_SVM_F32 ? (double)((const float *)row)[at] : ((const double *)row)[at];
}

/* Loads values from number `at` of a row on: DOUBLES, or the last n < DOUBLES. */
INLINE doubles values_at(const void *row, int64_t at, int64_t n, tutti_svm_precision precision)
{
    if (n >= DOUBLES)
        return precision == TUTTI_SVM_F32 ? widen_floats((const float *)row + at)
                                          : load_doubles((const double *)row + at);
    doubles v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = value_at(row, at + i, precision);
    return v;
}

typedef struct {
    const void *i, *j; /* rows of the kernel matrix of the pair that moves; NULL if none does */
    double a, b;
} motion;

typedef struct {
    doubles up, low;
} found;

INLINE void step(const tutti_svm_set *s, const motion *m, int64_t at, int64_t n, found *f,
                 tutti_svm_precision precision)
{
    doubles up = load_doubles(s->up + at), low = load_doubles(s->low + at);
    if (m) {
        const doubles by = values_at(m->i, at, n, precision) * m->a + values_at(m->j, at, n, precision) * m->b;
        up += by;
        low += by;
        store_doubles(s->up + at, up);
        store_doubles(s->low + at, low);
    }
    f->up = smaller_doubles(up, f->up);
    f->low = larger_doubles(low, f->low);
}

/* Returns the last member whose gamma is `up`. */
INLINE int64_t place_of(const tutti_svm_set *s, double up)
{
    const doubles wanted = all_doubles(up);
    for (int64_t at = (s->n - 1) / DOUBLES * DOUBLES; at >= 0; at -= DOUBLES) {
        const unsigned found_in = bits_of_doubles(equal_doubles(load_doubles(s->up + at), wanted));
        if (found_in) return at + 31 - __builtin_clz(found_in);
    }
    return -1;
}

INLINE tutti_svm_extremes step_all(const tutti_svm_set *set, const motion *m, tutti_svm_precision precision)
{
    const tutti_svm_set copy = *set, *s = &copy; /* a copy, whose pointers no store can change */
    found f[CHAINS];
    for (int c = 0; c < CHAINS; c++) f[c] = (found){all_doubles((double)INFINITY), all_doubles(-(double)INFINITY)};
    int64_t at = 0;
    for (; at + CHAINS * DOUBLES <= s->n; at += CHAINS * DOUBLES)
        for (int c = 0; c < CHAINS; c++) step(s, m, at + c * DOUBLES, DOUBLES, &f[c], precision);
    for (; at + DOUBLES <= s->n; at += DOUBLES) step(s, m, at, DOUBLES, &f[0], precision);
    if (at < s->n) step(s, m, at, s->n - at, &f[0], precision);
    const doubles up = smaller_doubles(smaller_doubles(f[0].up, f[1].up), smaller_doubles(f[2].up, f[3].up)),
                  low = larger_doubles(larger_doubles(f[0].low, f[1].low), larger_doubles(f[2].low, f[3].low));
    tutti_svm_extremes e = {(double)INFINITY, -(double)INFINITY, -1};
    for (int lane = 0; lane < DOUBLES; lane++) {
        if (up[lane] < e.up) e.up = up[lane];
        if (low[lane] > e.low) e.low = low[lane];
    }
    if (e.up < (double)INFINITY) e.first = place_of(s, e.up);
    return e;
}

static tutti_svm_extremes scan(const tutti_svm_set *s)
{
    return step_all(s, NULL, TUTTI_SVM_F64);
}

static tutti_svm_extremes move(const tutti_svm_set *s, int64_t i, int64_t j, double a, double b)
{
    const motion m = {row_of(s, i, s->precision), row_of(s, j, s->precision), a, b};
    return s->precision == TUTTI_SVM_F32 ? step_all(s, &m, TUTTI_SVM_F32) : step_all(s, &m, TUTTI_SVM_F64);
}

/* The best partner so far, by the quotient of its gain. A division takes as long as all other work for a member, so it
 * is done only if the numerator is at least `least` times the denominator. `least` is the best quotient, made smaller
 * by 2^-40 so that no rounding matters. */
typedef struct {
    double gamma, diagonal; /* gamma and K(i, i) of the first member of the pair */
    const void *row;
    double gain;
    doubles least;
    int64_t at;
} choice;

/* The gains of n <= DOUBLES members. */
typedef struct {
    doubles squares, curvature;
    unsigned candidates;
} offer;

INLINE offer look(const tutti_svm_set *s, const choice *best, int64_t at, int64_t n, tutti_svm_precision precision)
{
    const doubles d = load_doubles(s->low + at) - best->gamma, squares = d * d;
    const doubles curvature =
        curved((load_doubles(s->diagonal + at) + best->diagonal) - values_at(best->row, at, n, precision) * 2);
    const double_lanes may_win = above_doubles(d, all_doubles(0)) & at_least_doubles(squares, curvature * best->least);
    return (offer){squares, curvature, bits_of_doubles(may_win)};
}

/* Compares members [at, end) with the best, one by one. This is rare, so it is a function of its own. */
static __attribute__((noinline)) void weigh(const tutti_svm_set *s, choice *best, int64_t at, int64_t end)
{
    for (; at < end; at += DOUBLES) {
        const offer o = look(s, best, at, end - at, s->precision);
        for (unsigned left = o.candidates; left; left &= left - 1) {
            const int lane = __builtin_ctz(left);
            const double gain = o.squares[lane] / o.curvature[lane];
            if (!(gain >= best->gain)) continue;
            best->gain = gain;
            best->least = all_doubles(gain * (1 - 0x1p-40));
            best->at = at + lane;
        }
    }
}

INLINE int64_t partner_in(const tutti_svm_set *s, int64_t i, double least, tutti_svm_precision precision)
{
    choice best = {s->up[i], s->diagonal[i], row_of(s, i, precision), least, all_doubles(least * (1 - 0x1p-40)), -1};
    int64_t at = 0;
    for (; at + CHAINS * DOUBLES <= s->n; at += CHAINS * DOUBLES) {
        unsigned any = 0;
        for (int c = 0; c < CHAINS; c++) any |= look(s, &best, at + c * DOUBLES, DOUBLES, precision).candidates;
        if (any) weigh(s, &best, at, at + CHAINS * DOUBLES);
    }
    weigh(s, &best, at, s->n);
    return best.at;
}

static int64_t partner(const tutti_svm_set *s, int64_t i, double least)
{
    return s->precision == TUTTI_SVM_F32 ? partner_in(s, i, least, TUTTI_SVM_F32)
                                         : partner_in(s, i, least, TUTTI_SVM_F64);
}

const tutti_svm_pairs_row TUTTI_ISA_ROW(tutti_svm_pairs) = {scan, move, partner};
