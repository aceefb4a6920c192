/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_loops.h: the loops of every row, included once by each row file after svm_tile_f32.h or svm_tile_f64.h and after it has defined
 *   WIDTH (numbers in a vector), vector, loose (the same, unaligned), whole (integers of the same size),
 *   DOUBLES (in a vector of doubles), wide, loose_wide, fused(a, b, c) and fused_wide(a, b, c): a * b + c, rounded once where the
 *   processor can; widen(const number *): DOUBLES numbers as doubles; low_pairs(a, b), high_pairs(a, b): a0 b0 a1 b1 ... of the lower
 *   and of the upper halves.
 *
 * The kernel's type, and whether data are narrow, are constants where a loop is called, so each becomes a loop of its own.
 *
 * Sums over sources: eight of doubles, source c goes to number c % 8 in ascending order, one fused multiply-add each; then
 * ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { GROUPS = LANES / WIDTH, PARTS = 8 / DOUBLES, CHUNK = 128 };

INLINE vector spread(number v)
{
    return (vector){0} + v;
}

/* All bits set where v < limit. */
INLINE whole below(vector v, vector limit)
{
    return (whole)(v < limit);
}

INLINE vector without(vector v, whole mask)
{
    return (vector)((whole)v & ~mask);
}

/* e^x for x <= 0. */
INLINE vector exp_of(vector x)
{
    static const number term[EXP_TERMS] = EXP_POLYNOMIAL;
    const vector shifted = fused(x, spread(EXP_PER_LN2), spread(EXP_ROUNDER)), k = shifted - EXP_ROUNDER;
    const vector f = fused(k, spread(-(EXP_LN2_LOW)), fused(k, spread(-(EXP_LN2_HIGH)), x));
    vector p = spread(term[0]);
    for (int i = 1; i < EXP_TERMS; i++) p = fused(p, f, spread(term[i]));
    const vector scale = (vector)(((whole)shifted + BIAS) << MANTISSA);
    return without(p * scale, below(x, spread(EXP_LEAST))); /* of a NaN p is one, whatever the scale */
}

/* tanh(z) = sign(z) (1 - e) / (1 + e), e = exp(-2 |z|). */
INLINE vector tanh_of(vector z)
{
    const whole sign = (whole)z & (whole)spread((number)-0.0);
    const vector size = (vector)((whole)z ^ sign), e = exp_of(size * -2), t = (1 - e) / (1 + e);
    return (vector)((whole)t | sign);
}

INLINE vector power_of(vector base, int degree)
{
    vector power = spread(1);
    for (int bit = 1; bit <= degree && bit > 0; bit <<= 1) {
        if (degree & bit) power *= base;
        base *= base;
    }
    return power;
}

/* squares: |u|^2 + |v|^2 */
INLINE vector kernel_of(const tutti_svm_kernel *k, tutti_svm_kernel_type type, vector dot, vector squares)
{
    const vector gamma = spread((number)k->gamma), coef0 = spread((number)k->coef0);
    if (type == TUTTI_SVM_POLY) return power_of(fused(dot, gamma, coef0), k->degree);
    if (type == TUTTI_SVM_SIGMOID) return tanh_of(fused(dot, gamma, coef0));
    if (type != TUTTI_SVM_RBF) return dot;
    const vector distance = fused(spread(-2), dot, squares); /* what is below 0 by rounding becomes 0 */
    return exp_of(without(distance, below(distance, spread(0))) * -gamma);
}

typedef struct {
    vector of[GROUPS];
} block; /* a value for each source */

INLINE void add_entry(block *b, const number *slot, number value)
{
    const vector v = spread(value);
    for (int g = 0; g < GROUPS; g++) b->of[g] = fused(v, *(const vector *)(const void *)(slot + g * WIDTH), b->of[g]);
}

INLINE const number *numbers_of(const tutti_svm_rows *rows)
{
    return PRECISION == TUTTI_SVM_F32 ? (const number *)(const void *)rows->value32
                                      : (const number *)(const void *)rows->value;
}

/* Entries at .. end of a row that some source has, up to CHUNK of them: no branch depends on which. */
typedef struct {
    int64_t at, n;
    int32_t slot[CHUNK];
    number value[CHUNK];
} found;

INLINE void find(const tutti_svm_tile *tile, const tutti_svm_rows *rows, int64_t end, found *f)
{
    const number *value = numbers_of(rows);
    const uint32_t mask = ((uint32_t)1 << tile->bits) - 1;
    int64_t n = 0, at = f->at;
    for (; at < end && n < CHUNK; at++) {
        const int32_t feature = rows->index[at];
        uint32_t h = tutti_svm_home(tile, feature);
        while (tile->table[h].feature != feature && tile->table[h].feature >= 0) h = (h + 1) & mask;
        f->slot[n] = tile->table[h].slot;
        f->value[n] = value[at];
        n += tile->table[h].feature >= 0;
    }
    f->n = n;
    f->at = at;
}

INLINE void dots(const tutti_svm_tile *tile, const tutti_svm_rows *rows, int64_t row, block *b, bool narrow)
{
    const number *dense = tile->dense;
    const int64_t end = rows->start[row + 1];
    for (int g = 0; g < GROUPS; g++) b->of[g] = spread(0);
    if (narrow) {
        const number *value = numbers_of(rows);
        for (int64_t e = rows->start[row]; e < end; e++)
            add_entry(b, dense + (int64_t)rows->index[e] * LANES, value[e]);
        return;
    }
    found f;
    for (f.at = rows->start[row]; f.at < end;) {
        find(tile, rows, end, &f);
        for (int64_t e = 0; e < f.n; e++) add_entry(b, dense + (int64_t)f.slot[e] * LANES, f.value[e]);
    }
}

INLINE void block_of(const tutti_svm_tile *tile, const tutti_svm_rows *rows, int64_t row, block *b,
                     tutti_svm_kernel_type type, bool narrow)
{
    const vector square = spread((number)rows->square[row]);
    const vector *squares = tile->square;
    dots(tile, rows, row, b, narrow);
    for (int g = 0; g < GROUPS; g++) b->of[g] = kernel_of(&tile->kernel, type, b->of[g], squares[g] + square);
}

INLINE wide fold_parts(const wide *p)
{
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

INLINE double weighted(const block *b, const double *weight)
{
    wide part[PARTS];
    double p[8];
    for (int i = 0; i < PARTS; i++) part[i] = (wide){0};
    for (int i = 0; i < LANES / DOUBLES; i++)
        part[i % PARTS] = fused_wide(*(const loose_wide *)(const void *)(weight + i * DOUBLES),
                                     widen((const number *)(const void *)b + i * DOUBLES), part[i % PARTS]);
    memcpy(p, part, sizeof p);
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

INLINE void sum_loop(const tutti_svm_tile *tile, const tutti_svm_rows *rows, const int32_t *which, int64_t begin,
                     int64_t end, const double *weight, double *sum, tutti_svm_kernel_type type, bool narrow)
{
    for (int64_t t = begin; t < end; t++) {
        block b;
        block_of(tile, rows, which ? which[t] : t, &b, type, narrow);
        sum[t] += weighted(&b, weight);
    }
}

/* WIDTH vectors of WIDTH: columns become rows. Each step is a perfect shuffle of all numbers; log2(WIDTH) of them transpose. */
INLINE void transpose(vector *v)
{
    vector w[WIDTH];
    for (int step = 1; step < WIDTH; step *= 2) {
        for (int i = 0; i < WIDTH / 2; i++) {
            w[2 * i] = low_pairs(v[i], v[i + WIDTH / 2]);
            w[2 * i + 1] = high_pairs(v[i], v[i + WIDTH / 2]);
        }
        for (int i = 0; i < WIDTH; i++) v[i] = w[i];
    }
}

/* Values of WIDTH targets (the last ones of them may be missing), to their place. */
INLINE void put_square(const block *b, int g, int64_t n, int nsources, number *out, int64_t stride)
{
    vector v[WIDTH];
    for (int i = 0; i < WIDTH; i++) v[i] = b[i].of[g];
    transpose(v);
    for (int i = 0; i < WIDTH && g * WIDTH + i < nsources; i++) {
        number *to = out + (g * WIDTH + i) * stride;
        if (n == WIDTH)
            *(loose *)(void *)to = v[i];
        else
            memcpy(to, &v[i], (size_t)n * sizeof *to);
    }
}

INLINE void values_loop(const tutti_svm_tile *tile, const tutti_svm_rows *rows, const int32_t *which, int64_t begin,
                        int64_t end, number *out, int64_t stride, tutti_svm_kernel_type type, bool narrow)
{
    block b[WIDTH];
    memset(b, 0, sizeof b);
    for (int64_t t = begin; t < end; t += WIDTH) {
        const int64_t n = end - t < WIDTH ? end - t : WIDTH;
        for (int64_t i = 0; i < n; i++) block_of(tile, rows, which ? which[t + i] : t + i, &b[i], type, narrow);
        for (int g = 0; g < GROUPS; g++) put_square(b, g, n, tile->n, out + t, stride);
    }
}

/* Calls a loop with the tile's kernel and layout as constants. */
#define BY_LAYOUT(loop, type, ...)                                                                                     \
    if (tile->table)                                                                                                   \
        loop(tile, rows, which, begin, end, __VA_ARGS__, type, false);                                                 \
    else                                                                                                               \
        loop(tile, rows, which, begin, end, __VA_ARGS__, type, true)

#define BY_KERNEL(loop, ...)                                                                                           \
    switch (tile->kernel.type) {                                                                                       \
    case TUTTI_SVM_POLY: BY_LAYOUT(loop, TUTTI_SVM_POLY, __VA_ARGS__); break;                                          \
    case TUTTI_SVM_RBF: BY_LAYOUT(loop, TUTTI_SVM_RBF, __VA_ARGS__); break;                                            \
    case TUTTI_SVM_SIGMOID: BY_LAYOUT(loop, TUTTI_SVM_SIGMOID, __VA_ARGS__); break;                                    \
    default: BY_LAYOUT(loop, TUTTI_SVM_LINEAR, __VA_ARGS__); break;                                                    \
    }

static void sum_of_tile(const tutti_svm_tile *tile, const tutti_svm_rows *rows, const int32_t *which, int64_t begin,
                        int64_t end, const double *weight, double *sum)
{
    BY_KERNEL(sum_loop, weight, sum)
}

static void values_of_tile(const tutti_svm_tile *tile, const tutti_svm_rows *rows, const int32_t *which, int64_t begin,
                           int64_t end, void *out, int64_t stride){BY_KERNEL(values_loop, out, stride)}

/* DOUBLES targets, or the n < DOUBLES last ones. */
INLINE wide kept_at(const number *from, int64_t n)
{
    if (n == DOUBLES) return widen(from);
    number some[DOUBLES] = {0};
    memcpy(some, from, (size_t)n * sizeof *some);
    return widen(some);
}

INLINE wide kept_targets(const void *const *row, int n, int64_t t, int64_t ntargets, const double *weight)
{
    wide part[8];
    for (int i = 0; i < 8; i++) part[i] = (wide){0};
    for (int c = 0; c < n; c += 8)
        for (int i = 0; i < 8 && c + i < n; i++)
            part[i] = fused_wide((wide){0} + weight[c + i], kept_at((const number *)row[c + i] + t, ntargets), part[i]);
    return fold_parts(part);
}

static void kept_sum(const void *const *row, int n, int64_t begin, int64_t end, const double *weight, double *sum)
{
    int64_t t = begin;
    for (; t + DOUBLES <= end; t += DOUBLES) {
        loose_wide *to = (loose_wide *)(void *)(sum + t);
        *to = *to + kept_targets(row, n, t, DOUBLES, weight);
    }
    if (t == end) return;
    const wide last = kept_targets(row, n, t, end - t, weight);
    for (int64_t i = 0; t + i < end; i++) sum[t + i] += last[i];
}

static double square_of(const double *value, int64_t n)
{
    vector square = spread(0);
    for (int64_t i = 0; i < n; i++) square = fused(spread((number)value[i]), spread((number)value[i]), square);
    return (double)square[0];
}

static double diagonal_of(const tutti_svm_tile *tile, double square)
{
    const vector dot = spread((number)square);
    switch (tile->kernel.type) {
    case TUTTI_SVM_POLY: return (double)kernel_of(&tile->kernel, TUTTI_SVM_POLY, dot, dot + dot)[0];
    case TUTTI_SVM_RBF: return (double)kernel_of(&tile->kernel, TUTTI_SVM_RBF, dot, dot + dot)[0];
    case TUTTI_SVM_SIGMOID: return (double)kernel_of(&tile->kernel, TUTTI_SVM_SIGMOID, dot, dot + dot)[0];
    default: return (double)dot[0];
    }
}

#define ROW(isa)                                                                                                       \
    {                                                                                                                  \
        isa, PRECISION, LANES, sum_of_tile, values_of_tile, kept_sum, square_of, diagonal_of                           \
    }
