/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs_loops.h: the loops of every row, included once by each row file after it has defined
 *   WIDTH (doubles in a vector), vector, loose (the same, unaligned), widen(const float *): WIDTH of them as doubles,
 *   smaller(a, b), larger(a, b): of a NaN in a, b; positive(a): a where it is not <= 0, else TUTTI_SVM_FLAT;
 *   equal(a, b), candidates(d, squares, limit): a bit for each lane where a = b; where d > 0 and squares >= limit.
 *
 * Extremes are found first and their places in a second look; four of each at a time, since one would wait for the one before. */
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { CHAINS = 4 };

INLINE vector spread(double v)
{
    return v - (vector){0};
}

INLINE vector load(const double *from)
{
    return *(const loose *)(const void *)from;
}

INLINE void store(double *to, vector v)
{
    *(loose *)(void *)to = v;
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

/* Values from number `at` of a row on: WIDTH, or the n < WIDTH last ones. */
INLINE vector values_at(const void *row, int64_t at, int64_t n, tutti_svm_precision precision)
{
    if (n >= WIDTH) return precision == TUTTI_SVM_F32 ? widen((const float *)row + at) : load((const double *)row + at);
    vector v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = value_at(row, at + i, precision);
    return v;
}

typedef struct {
    const void *i, *j; /* rows of the matrix, NULL: nothing moves */
    double a, b;
} motion;

typedef struct {
    vector up, low;
} found;

INLINE void step(const tutti_svm_set *s, const motion *m, int64_t at, int64_t n, found *f,
                 tutti_svm_precision precision)
{
    vector up = load(s->up + at), low = load(s->low + at);
    if (m) {
        const vector by = values_at(m->i, at, n, precision) * m->a + values_at(m->j, at, n, precision) * m->b;
        up += by;
        low += by;
        store(s->up + at, up);
        store(s->low + at, low);
    }
    f->up = smaller(up, f->up);
    f->low = larger(low, f->low);
}

/* The last member whose gamma is `up`. */
INLINE int64_t place_of(const tutti_svm_set *s, double up)
{
    const vector wanted = spread(up);
    for (int64_t at = (s->n - 1) / WIDTH * WIDTH; at >= 0; at -= WIDTH) {
        const unsigned bits = equal(load(s->up + at), wanted);
        if (bits) return at + 31 - __builtin_clz(bits);
    }
    return -1;
}

INLINE tutti_svm_extremes step_all(const tutti_svm_set *set, const motion *m, tutti_svm_precision precision)
{
    const tutti_svm_set copy = *set, *s = &copy; /* whose pointers no store can change */
    found f[CHAINS];
    for (int c = 0; c < CHAINS; c++) f[c] = (found){spread((double)INFINITY), spread(-(double)INFINITY)};
    int64_t at = 0;
    for (; at + CHAINS * WIDTH <= s->n; at += CHAINS * WIDTH)
        for (int c = 0; c < CHAINS; c++) step(s, m, at + c * WIDTH, WIDTH, &f[c], precision);
    for (; at + WIDTH <= s->n; at += WIDTH) step(s, m, at, WIDTH, &f[0], precision);
    if (at < s->n) step(s, m, at, s->n - at, &f[0], precision);
    const vector up = smaller(smaller(f[0].up, f[1].up), smaller(f[2].up, f[3].up)),
                 low = larger(larger(f[0].low, f[1].low), larger(f[2].low, f[3].low));
    tutti_svm_extremes e = {(double)INFINITY, -(double)INFINITY, -1};
    for (int lane = 0; lane < WIDTH; lane++) {
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

/* The best so far. A division takes as long as all else together; it is needed only where the numerator may reach the best quotient times the
 * denominator: `least` is so much smaller than the best (2^-40) that no rounding matters. */
typedef struct {
    double gamma, diagonal; /* of the first of the pair */
    const void *row;
    double gain;
    vector least;
    int64_t at;
} choice;

/* What n <= WIDTH members promise. */
typedef struct {
    vector squares, curvature;
    unsigned candidates;
} offer;

INLINE offer look(const tutti_svm_set *s, const choice *best, int64_t at, int64_t n, tutti_svm_precision precision)
{
    const vector d = load(s->low + at) - best->gamma, squares = d * d;
    const vector curvature =
        positive((load(s->diagonal + at) + best->diagonal) - values_at(best->row, at, n, precision) * 2);
    return (offer){squares, curvature, candidates(d, squares, curvature * best->least)};
}

/* The same members one by one; seldom, hence apart. */
static __attribute__((noinline)) void weigh(const tutti_svm_set *s, choice *best, int64_t at, int64_t end)
{
    for (; at < end; at += WIDTH) {
        const offer o = look(s, best, at, end - at, s->precision);
        for (unsigned bits = o.candidates; bits; bits &= bits - 1) {
            const int lane = __builtin_ctz(bits);
            const double gain = o.squares[lane] / o.curvature[lane];
            if (!(gain >= best->gain)) continue;
            best->gain = gain;
            best->least = spread(gain * (1 - 0x1p-40));
            best->at = at + lane;
        }
    }
}

INLINE int64_t partner_in(const tutti_svm_set *s, int64_t i, double least, tutti_svm_precision precision)
{
    choice best = {s->up[i], s->diagonal[i], row_of(s, i, precision), least, spread(least * (1 - 0x1p-40)), -1};
    int64_t at = 0;
    for (; at + CHAINS * WIDTH <= s->n; at += CHAINS * WIDTH) {
        unsigned any = 0;
        for (int c = 0; c < CHAINS; c++) any |= look(s, &best, at + c * WIDTH, WIDTH, precision).candidates;
        if (any) weigh(s, &best, at, at + CHAINS * WIDTH);
    }
    weigh(s, &best, at, s->n);
    return best.at;
}

static int64_t partner(const tutti_svm_set *s, int64_t i, double least)
{
    return s->precision == TUTTI_SVM_F32 ? partner_in(s, i, least, TUTTI_SVM_F32)
                                         : partner_in(s, i, least, TUTTI_SVM_F64);
}
