/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_loops.h: kernel values: the loops of every row, included once by svm_tile_f32_vector.c and
 * svm_tile_f64_vector.c after vector.h and definitions of
 *   number, numbers (EACH of them in a vector), loose_numbers (the same, unaligned), whole_number (of the same size),
 *   LANES and EXP_*; fused(a, b, c): a * b + c, rounded once where the processor can; rectified(v): max(0, v), NaN of a
 *   NaN; as_doubles(const number *): DOUBLES of them; turn(v): EACH vectors of EACH, columns become rows.
 *
 * The kernel's type, and how data lie, are constants where a loop is called, so each becomes a loop of its own.
 *
 * Sums over sources: eight of doubles, source c goes to number c % 8 in ascending order, one fused multiply-add each;
 * then ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
#include <string.h>

typedef whole_number whole __attribute__((vector_size(sizeof(numbers))));

enum {
    GROUPS = LANES / EACH,
    PARTS = 8 / DOUBLES,
    TOGETHER = GROUPS < 8 ? 2 : 1, /* targets at once: eight chains keep a processor busy */
    CHUNK = 128,
    BATCH = 32 /* targets for each strip: 8 KiB of values */
};

INLINE numbers spread(number v)
{
    return v - (numbers){0}; /* C copies v to all elements for the subtraction; subtracting 0 changes no number */
}

/* Returns all bits set where v < limit. */
INLINE whole below(numbers v, numbers limit)
{
    return (whole)(v < limit);
}

INLINE numbers without(numbers v, whole mask)
{
    return (numbers)((whole)v & ~mask);
}

/* Returns e^x for x <= 0. */
INLINE numbers exp_of(numbers x)
{
    static const number term[EXP_TERMS] = EXP_POLYNOMIAL;
    const numbers shifted = fused(x, spread(EXP_PER_LN2), spread(EXP_ROUNDER)), k = shifted - EXP_ROUNDER;
    const numbers f = fused(k, spread(-(EXP_LN2_LOW)), fused(k, spread(-(EXP_LN2_HIGH)), x));
    numbers p = spread(term[0]);
    for (int i = 1; i < EXP_TERMS; i++) p = fused(p, f, spread(term[i]));
    const numbers scale = (numbers)(((whole)shifted + BIAS) << MANTISSA);
    return without(p * scale, below(x, spread(EXP_LEAST))); /* NaN in p stays NaN, whatever the scale */
}

/* Returns tanh(z) = sign(z) (1 - e) / (1 + e), e = exp(-2 |z|). */
INLINE numbers tanh_of(numbers z)
{
    const whole sign = (whole)z & (whole)spread((number)-0.0);
    const numbers size = (numbers)((whole)z ^ sign), e = exp_of(size * -2), t = (1 - e) / (1 + e);
    return (numbers)((whole)t | sign);
}

INLINE numbers power_of(numbers base, int degree)
{
    numbers power = spread(1);
    for (int bit = 1; bit <= degree && bit > 0; bit <<= 1) {
        if (degree & bit) power *= base;
        base *= base;
    }
    return power;
}

/* Returns kernel values from dot = u'v and squares = |u|^2 + |v|^2. */
INLINE numbers kernel_of(const tutti_svm_kernel *k, tutti_svm_kernel_type type, numbers dot, numbers squares)
{
    const numbers gamma = spread((number)k->gamma), coef0 = spread((number)k->coef0);
    if (type == TUTTI_SVM_POLY) return power_of(fused(dot, gamma, coef0), k->degree);
    if (type == TUTTI_SVM_SIGMOID) return tanh_of(fused(dot, gamma, coef0));
    if (type != TUTTI_SVM_RBF) return dot;
    const numbers distance = fused(spread(-2), dot, squares); /* a result below 0 by rounding becomes 0 */
    return exp_of(rectified(distance) * -gamma);
}

typedef struct {
    numbers of[GROUPS];
} block; /* one value for each source */

/* Entries of a target row: slots and factors. */
typedef struct {
    const int32_t *slot;
    const number *value;
    int64_t n;
} entries;

INLINE void add_entry(const number *dense, const entries *e, int64_t i, block *b)
{
    const numbers v = spread(e->value[i]);
    const number *slot = dense + (int64_t)e->slot[i] * LANES;
    for (int g = 0; g < GROUPS; g++) b->of[g] = fused(v, *(const numbers *)(const void *)(slot + g * EACH), b->of[g]);
}

/* Adds the entries of one target, or of two together: in one chain each multiply-add waits for the one before; two
 * chains fill each other's waits. */
INLINE void add_entries(const number *dense, const entries *e, int ntargets, block *b)
{
    const int64_t both = ntargets == 1 ? 0 : e[0].n < e[1].n ? e[0].n : e[1].n;
    for (int64_t i = 0; i < both; i++) {
        add_entry(dense, &e[0], i, &b[0]);
        add_entry(dense, &e[1], i, &b[1]);
    }
    for (int k = 0; k < ntargets; k++)
        for (int64_t i = both; i < e[k].n; i++) add_entry(dense, &e[k], i, &b[k]);
}

INLINE const number *numbers_of(const tutti_svm_rows *rows)
{
    return PRECISION == TUTTI_SVM_F32 ? (const number *)(const void *)rows->value32
                                      : (const number *)(const void *)rows->value;
}

/* Entries that some source has, among the next CHUNK entries of a row. */
typedef struct {
    int64_t at, end; /* the rest of the row: from entry `at` to `end` */
    int32_t slot[CHUNK];
    number value[CHUNK];
} found;

/* Finds the entries among the next CHUNK that some source has. No branch depends on whether an entry is found. */
INLINE entries find(const tutti_svm_tile *tile, const tutti_svm_rows *rows, found *f)
{
    const number *value = numbers_of(rows);
    const uint32_t mask = ((uint32_t)1 << tile->bits) - 1;
    const int64_t end = f->end - f->at < CHUNK ? f->end : f->at + CHUNK;
    int64_t n = 0;
    for (; f->at < end; f->at++) {
        const int32_t feature = rows->index[f->at];
        uint32_t h = tutti_svm_home(tile, feature);
        while (tile->table[h].feature != feature && tile->table[h].feature >= 0) h = (h + 1) & mask;
        f->slot[n] = tile->table[h].slot;
        f->value[n] = value[f->at];
        n += tile->table[h].feature >= 0;
    }
    return (entries){f->slot, f->value, n};
}

INLINE void dots(const tutti_svm_tile *tile, const tutti_svm_rows *rows, const int64_t *row, int ntargets, block *b,
                 bool narrow)
{
    entries e[2];
    for (int k = 0; k < ntargets; k++)
        for (int g = 0; g < GROUPS; g++) b[k].of[g] = spread(0);
    if (narrow) {
        for (int k = 0; k < ntargets; k++) {
            const int64_t start = rows->start[row[k]];
            e[k] = (entries){rows->index + start, numbers_of(rows) + start, rows->start[row[k] + 1] - start};
        }
        add_entries(tile->dense, e, ntargets, b);
        return;
    }
    found f[2];
    bool left = false;
    for (int k = 0; k < ntargets; k++) {
        f[k].at = rows->start[row[k]];
        f[k].end = rows->start[row[k] + 1];
        left = left || f[k].at < f[k].end;
    }
    while (left) {
        left = false;
        for (int k = 0; k < ntargets; k++) {
            e[k] = find(tile, rows, &f[k]);
            left = left || f[k].at < f[k].end;
        }
        add_entries(tile->dense, e, ntargets, b);
    }
}

/* Returns the entries of a row from number `at` on whose slots are below a limit. */
INLINE entries entries_below(const tutti_svm_rows *rows, int64_t at, int64_t end, int32_t limit)
{
    int64_t n = 0;
    if (at < end && rows->index[at] < limit) {
        const int64_t most = limit - rows->index[at]; /* number of entries if no feature is missing */
        if (at + most <= end && rows->index[at + most - 1] < limit)
            n = most;
        else
            while (at + n < end && rows->index[at + n] < limit) n++;
    }
    return (entries){rows->index + at, numbers_of(rows) + at, n};
}

/* Adds two targets with entries in the same slots. */
INLINE void add_alike(const number *dense, const entries *e, block *b)
{
    for (int64_t i = 0; i < e->n; i++) {
        const number *slot = dense + (int64_t)e->slot[i] * LANES;
        const numbers v[2] = {spread(e[0].value[i]), spread(e[1].value[i])};
        for (int g = 0; g < GROUPS; g++) {
            const numbers sources = *(const numbers *)(const void *)(slot + g * EACH);
            b[0].of[g] = fused(v[0], sources, b[0].of[g]);
            b[1].of[g] = fused(v[1], sources, b[1].of[g]);
        }
    }
}

INLINE bool are_alike(const entries *e)
{
    return e[0].n == e[1].n && memcmp(e[0].slot, e[1].slot, (size_t)e[0].n * sizeof *e[0].slot) == 0;
}

/* A strip of slots: those below a limit, whose entries are added to rows. */
typedef struct {
    const number *dense; /* numbers of the tile's sources */
    const tutti_svm_rows *rows;
    int32_t limit;
} strip;

/* Adds the entries of ntargets rows that lie in a strip. Returns true if a row has more entries behind the strip. */
INLINE bool add_strip(const strip *s, const int64_t *row, int64_t *at, int ntargets, block *to)
{
    const tutti_svm_rows *rows = s->rows;
    block b[2] = {to[0], to[ntargets - 1]}; /* a copy, to keep it in registers */
    entries e[2];
    bool left = false;
    for (int k = 0; k < ntargets; k++) {
        e[k] = entries_below(rows, at[k], rows->start[row[k] + 1], s->limit);
        at[k] += e[k].n;
        left = left || at[k] < rows->start[row[k] + 1];
    }
    if (ntargets == 2 && are_alike(e))
        add_alike(s->dense, e, b);
    else
        add_entries(s->dense, e, ntargets, b);
    for (int k = 0; k < ntargets; k++) to[k] = b[k];
    return left;
}

static void dots_by_strips(const tutti_svm_tile *tile, const tutti_svm_rows *rows, const int64_t *row, int ntargets,
                           block *b)
{
    int64_t at[BATCH];
    bool left = true;
    memset(b, 0, (size_t)ntargets * sizeof *b);
    for (int k = 0; k < ntargets; k++) at[k] = rows->start[row[k]];
    for (strip s = {tile->dense, rows, TUTTI_SVM_STRIP}; left; s.limit += TUTTI_SVM_STRIP) {
        int k = 0;
        left = false;
        for (; k + TOGETHER <= ntargets; k += TOGETHER)
            if (add_strip(&s, row + k, at + k, TOGETHER, b + k)) left = true;
        for (; k < ntargets; k++)
            if (add_strip(&s, row + k, at + k, 1, b + k)) left = true;
    }
}

INLINE void kernels_of(const tutti_svm_tile *tile, const tutti_svm_rows *rows, int64_t row, block *b,
                       tutti_svm_kernel_type type)
{
    const numbers *squares = tile->square, square = spread((number)rows->square[row]);
    for (int g = 0; g < GROUPS; g++) b->of[g] = kernel_of(&tile->kernel, type, b->of[g], squares[g] + square);
}

/* The order in which a loop goes through targets. It handles several targets at a time, as many as let the data that
 * they share stay in registers or in the first-level cache. */
typedef enum { NARROW, WIDE, STRIPS } layout;

/* The kernel and the layout, constants in each loop. */
typedef struct {
    tutti_svm_kernel_type type;
    layout how;
} kind;

/* Computes values of ntargets targets from number t on. */
INLINE void blocks_of(const tutti_svm_tile *tile, const tutti_svm_targets *targets, int64_t t, int ntargets, block *b,
                      kind is)
{
    const tutti_svm_rows *rows = targets->rows;
    int64_t row[BATCH];
    for (int k = 0; k < ntargets; k++) row[k] = targets->which ? targets->which[t + k] : t + k;
    if (is.how == STRIPS)
        dots_by_strips(tile, rows, row, ntargets, b);
    else
        dots(tile, rows, row, ntargets, b, is.how == NARROW);
    for (int k = 0; k < ntargets; k++) kernels_of(tile, rows, row[k], &b[k], is.type);
}

INLINE doubles fold_parts(const doubles *p)
{
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

INLINE double weighted(const block *b, const double *weight)
{
    doubles part[PARTS];
    for (int i = 0; i < PARTS; i++) part[i] = (doubles){0};
    for (int i = 0; i < LANES / DOUBLES; i++)
        part[i % PARTS] =
            multiply_add_doubles(*(const loose_doubles *)(const void *)(weight + i * DOUBLES),
                                 as_doubles((const number *)(const void *)b + i * DOUBLES), part[i % PARTS]);
    for (int n = PARTS / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++) part[i] = part[i] + part[i + n];
    return fold_doubles(part[0]);
}

INLINE void sum_loop(const tutti_svm_tile *tile, const tutti_svm_targets *targets, const double *weight, double *sum,
                     kind is)
{
    const int64_t end = targets->end;
    int64_t t = targets->begin;
    if (is.how == STRIPS) {
        block b[BATCH];
        for (; t < end; t += BATCH) {
            const int n = end - t < BATCH ? (int)(end - t) : BATCH;
            blocks_of(tile, targets, t, n, b, is);
            for (int k = 0; k < n; k++) sum[t + k] += weighted(&b[k], weight);
        }
        return;
    }
    for (; t + TOGETHER <= end; t += TOGETHER) {
        block b[TOGETHER];
        blocks_of(tile, targets, t, TOGETHER, b, is);
        for (int k = 0; k < TOGETHER; k++) sum[t + k] += weighted(&b[k], weight);
    }
    for (; t < end; t++) {
        block b;
        blocks_of(tile, targets, t, 1, &b, is);
        sum[t] += weighted(&b, weight);
    }
}

/* Stores values of EACH targets (the last may be missing) in their place. */
INLINE void put_square(const block *b, int g, int64_t n, int nsources, number *out, int64_t stride)
{
    numbers v[EACH];
    for (int i = 0; i < EACH; i++) v[i] = b[i].of[g];
    turn(v);
    for (int i = 0; i < EACH && g * EACH + i < nsources; i++) {
        number *to = out + (g * EACH + i) * stride;
        if (n == EACH)
            *(loose_numbers *)(void *)to = v[i];
        else
            memcpy(to, &v[i], (size_t)n * sizeof *to);
    }
}

INLINE void values_loop(const tutti_svm_tile *tile, const tutti_svm_targets *targets, number *out, int64_t stride,
                        kind is)
{
    const int64_t end = targets->end;
    block b[BATCH];
    memset(b, 0, sizeof b);
    for (int64_t t = targets->begin; t < end; t += BATCH) {
        const int n = end - t < BATCH ? (int)(end - t) : BATCH;
        int i = 0;
        if (is.how == STRIPS) {
            blocks_of(tile, targets, t, n, b, is);
            i = n;
        }
        for (; i + TOGETHER <= n; i += TOGETHER) blocks_of(tile, targets, t + i, TOGETHER, &b[i], is);
        for (; i < n; i++) blocks_of(tile, targets, t + i, 1, &b[i], is);
        for (int at = 0; at < n; at += EACH)
            for (int g = 0; g < GROUPS; g++)
                put_square(b + at, g, n - at < EACH ? n - at : EACH, tile->n, out + t + at, stride);
    }
}

/* Calls a loop with the tile's kernel and layout as constants. */
#define BY_LAYOUT(loop, type, ...)                                                                                     \
    if (tile->table)                                                                                                   \
        loop(tile, targets, __VA_ARGS__, (kind){type, WIDE});                                                          \
    else if (tile->strips)                                                                                             \
        loop(tile, targets, __VA_ARGS__, (kind){type, STRIPS});                                                        \
    else                                                                                                               \
        loop(tile, targets, __VA_ARGS__, (kind){type, NARROW})

#define BY_KERNEL(loop, ...)                                                                                           \
    switch (tile->kernel.type) {                                                                                       \
    case TUTTI_SVM_POLY: BY_LAYOUT(loop, TUTTI_SVM_POLY, __VA_ARGS__); break;                                          \
    case TUTTI_SVM_RBF: BY_LAYOUT(loop, TUTTI_SVM_RBF, __VA_ARGS__); break;                                            \
    case TUTTI_SVM_SIGMOID: BY_LAYOUT(loop, TUTTI_SVM_SIGMOID, __VA_ARGS__); break;                                    \
    default: BY_LAYOUT(loop, TUTTI_SVM_LINEAR, __VA_ARGS__); break;                                                    \
    }

static void sum_of_tile(const tutti_svm_tile *tile, const tutti_svm_targets *targets, const double *weight, double *sum)
{
    BY_KERNEL(sum_loop, weight, sum)
}

static void values_of_tile(const tutti_svm_tile *tile, const tutti_svm_targets *targets, void *out,
                           int64_t stride){BY_KERNEL(values_loop, out, stride)}

/* Loads DOUBLES targets, or the last n < DOUBLES. */
INLINE doubles kept_at(const number *from, int64_t n)
{
    if (n == DOUBLES) return as_doubles(from);
    number some[DOUBLES] = {0};
    memcpy(some, from, (size_t)n * sizeof *some);
    return as_doubles(some);
}

INLINE doubles kept_targets(const void *const *row, int n, int64_t t, int64_t ntargets, const double *weight)
{
    doubles part[8];
    for (int i = 0; i < 8; i++) part[i] = (doubles){0};
    for (int c = 0; c < n; c += 8)
        for (int i = 0; i < 8 && c + i < n; i++)
            part[i] = multiply_add_doubles(weight[c + i] - (doubles){0},
                                           kept_at((const number *)row[c + i] + t, ntargets), part[i]);
    return fold_parts(part);
}

static void kept_sum(const tutti_svm_kept *kept, const double *weight, double *sum)
{
    const int64_t end = kept->end;
    int64_t t = kept->begin;
    for (; t + DOUBLES <= end; t += DOUBLES) {
        loose_doubles *to = (loose_doubles *)(void *)(sum + t);
        *to = *to + kept_targets(kept->row, kept->n, t, DOUBLES, weight);
    }
    if (t == end) return;
    const doubles last = kept_targets(kept->row, kept->n, t, end - t, weight);
    for (int64_t i = 0; t + i < end; i++) sum[t + i] += last[i];
}

static double square_of(const double *value, int64_t n)
{
    numbers square = spread(0);
    for (int64_t i = 0; i < n; i++) square = fused(spread((number)value[i]), spread((number)value[i]), square);
    return (double)square[0];
}

static double diagonal_of(const tutti_svm_tile *tile, double square)
{
    const numbers dot = spread((number)square);
    switch (tile->kernel.type) {
    case TUTTI_SVM_POLY: return (double)kernel_of(&tile->kernel, TUTTI_SVM_POLY, dot, dot + dot)[0];
    case TUTTI_SVM_RBF: return (double)kernel_of(&tile->kernel, TUTTI_SVM_RBF, dot, dot + dot)[0];
    case TUTTI_SVM_SIGMOID: return (double)kernel_of(&tile->kernel, TUTTI_SVM_SIGMOID, dot, dot + dot)[0];
    default: return (double)dot[0];
    }
}

#define TILE_ROW                                                                                                       \
    {                                                                                                                  \
        PRECISION, LANES, sum_of_tile, values_of_tile, kept_sum, square_of, diagonal_of                                \
    }
