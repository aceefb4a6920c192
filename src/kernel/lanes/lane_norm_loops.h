/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_loops.h: batch normalisation: the loops for every instruction set.
 *
 * The type, and whether a ReLU and an addend are merged, are compile-time constants at each call, so each combination
 * becomes a loop of its own. */
#ifndef TUTTI_LANE_NORM_LOOPS_H
#define TUTTI_LANE_NORM_LOOPS_H

#include "lane_loops.h"

/* Four rows are processed at a time in two cases: if rows are short, so that the table is loaded once for four units;
 * or if a row is as long as a page or longer. For lengths in between, four lines of two buffers in one page are too
 * many for the processor's prefetching (256 channels of bf16: sums of a gradient take 14 ns a unit, and 8 ns row by
 * row). */
enum { ROWS = 4, SHORT_ROW = 4, PAGE_ROW = 64 };

INLINE bool walks_four(int64_t period)
{
    return period <= SHORT_ROW || period >= PAGE_ROW;
}

INLINE unit plus(unit u, unit v)
{
    return (unit){u.a + v.a, u.b + v.b};
}

INLINE unit minus(unit u, unit v)
{
    return (unit){u.a - v.a, u.b - v.b};
}

INLINE unit times(unit u, unit v)
{
    return (unit){u.a * v.a, u.b * v.b};
}

INLINE unit times_plus(unit u, unit v, unit w)
{
    return (unit){multiply_add(u.a, v.a, w.a), multiply_add(u.b, v.b, w.b)};
}

/* How the gradient before the ReLU is found. AS_IT_IS: it is dout. BY_NUMBER: dout where the normalised element,
 * computed again, is positive. BY_BIT: dout where the mask's bit is set. SUM_BY_BIT: the same, of the sum of two
 * gradients. With bits the masked gradient is written to dout, because the addend needs it too. */
typedef enum { AS_IT_IS, BY_NUMBER, BY_BIT, SUM_BY_BIT } mask_kind;

/* The arguments of a loop, in a copy that stays in registers: the compiler must assume that stores of the loop change
 * the original. */
typedef struct {
    tutti_norm_call call;
    tutti_norm_lanes lanes;
    tutti_norm_span span;
} told;

/* Properties of a loop that are compile-time constants, so that each combination becomes a loop of its own. */
typedef struct {
    bool adds, relu, streams;
    mask_kind mask;
    tutti_dtype type;
} kind;

/* The table's values for one unit. */
typedef struct {
    unit mean, scale, shift, tilt, drop;
} entries;

INLINE float *table_at(const tutti_norm_lanes *l, int64_t v, int which)
{
    return l->table + (v * TUTTI_NORM_KINDS + which) * UNIT;
}

INLINE entries entries_at(const tutti_norm_lanes *l, int64_t v)
{
    return (entries){load_table(table_at(l, v, TUTTI_NORM_MEAN)), load_table(table_at(l, v, TUTTI_NORM_SCALE)),
                     load_table(table_at(l, v, TUTTI_NORM_SHIFT)), load_table(table_at(l, v, TUTTI_NORM_TILT)),
                     load_table(table_at(l, v, TUTTI_NORM_DROP))};
}

/* --- sums --- */

typedef struct {
    unit gradient, x; /* gradient: of the output; x: the input minus the mean */
} pair;

/* Reads n elements from `at` on. v: index in the mask of the unit that they belong to. */
typedef pair pair_at(const tutti_norm_call *c, const entries *e, int64_t at, int64_t n, int64_t v, kind k);

INLINE pair number_at(const tutti_norm_call *c, const entries *e, int64_t at, int64_t n, int64_t v, kind k)
{
    (void)v;
    fetch_unit(c->in, at, c->ahead, k.type);
    const unit x = minus(take_of(c->in, at, n, k.type), e->mean);
    return (pair){x, x};
}

INLINE pair gradient_at(const tutti_norm_call *c, const entries *e, int64_t at, int64_t n, int64_t v, kind k)
{
    fetch_unit(c->in, at, c->ahead, k.type);
    fetch_unit(c->given, at, c->ahead, k.type);
    if (k.mask == SUM_BY_BIT) fetch_unit(c->more, at, c->ahead, k.type);
    pair p = {take_of(c->given, at, n, k.type), minus(take_of(c->in, at, n, k.type), e->mean)};
    if (k.mask == SUM_BY_BIT) p.gradient = rounded(plus(p.gradient, take_of(c->more, at, n, k.type)), k.type);
    if (k.mask == BY_NUMBER) {
        const unit y = times_plus(p.x, e->scale, e->shift);
        p.gradient = (unit){keep_positive(p.gradient.a, y.a), keep_positive(p.gradient.b, y.b)};
    }
    if (k.mask >= BY_BIT) {
        p.gradient = keep_unit(p.gradient, ((const pair_bits *)c->bits)[v]);
        put_of(c->dout, at, p.gradient, n, (writing){k.type, .exact = true});
    }
    return p;
}

INLINE void add_to_table(float *table, unit u)
{
    store_table(table, plus(load_table(table), u));
}

/* Adds unit v of a row to the sums, or n < UNIT elements if the last unit is not full. */
INLINE void sum_unit(const told *w, int64_t at, int64_t v, int64_t n, pair_at *find, kind k)
{
    const entries e = entries_at(&w->lanes, v);
    float *product = table_at(&w->lanes, v, TUTTI_NORM_PRODUCT);
    pair p = find(&w->call, &e, w->span.at + at, n, w->span.unit + at / UNIT, k);
    if (n < UNIT) p.gradient = only_first(p.gradient, n, k.type);
    add_to_table(table_at(&w->lanes, v, TUTTI_NORM_SUM), p.gradient);
    store_table(product, times_plus(p.gradient, p.x, load_table(product)));
}

/* Does what sum_unit does for four rows, from `row` on. The loop adds pairs of pairs, so that no addition waits for
 * many others. */
INLINE void sum_rows(const told *w, int64_t row, int64_t v, pair_at *find, kind k)
{
    const entries e = entries_at(&w->lanes, v);
    pair p[ROWS];
    for (int i = 0; i < ROWS; i++) {
        const int64_t number = (row + i) * w->call.period + v;
        p[i] = find(&w->call, &e, w->span.at + number * UNIT, UNIT, w->span.unit + number, k);
    }
    add_to_table(table_at(&w->lanes, v, TUTTI_NORM_SUM),
                 plus(plus(p[0].gradient, p[1].gradient), plus(p[2].gradient, p[3].gradient)));
    add_to_table(table_at(&w->lanes, v, TUTTI_NORM_PRODUCT),
                 plus(times_plus(p[0].gradient, p[0].x, times(p[1].gradient, p[1].x)),
                      times_plus(p[2].gradient, p[2].x, times(p[3].gradient, p[3].x))));
}

/* Adds the float sums of a span to the sums over all spans, which are doubles. */
INLINE void add_to_doubles(const float *some, double *sum)
{
    for (int64_t i = 0; i < UNIT; i += DOUBLES) store_doubles(sum + i, load_doubles(sum + i) + widen_floats(some + i));
}

INLINE void clear_table(const told *w)
{
    for (int64_t v = 0; v < w->call.period; v++) {
        store_table(table_at(&w->lanes, v, TUTTI_NORM_SUM), (unit){{0}, {0}});
        store_table(table_at(&w->lanes, v, TUTTI_NORM_PRODUCT), (unit){{0}, {0}});
    }
}

INLINE void flush_table(const told *w)
{
    for (int64_t v = 0; v < w->call.period; v++) {
        add_to_doubles(table_at(&w->lanes, v, TUTTI_NORM_SUM), w->lanes.sum + v * UNIT);
        add_to_doubles(table_at(&w->lanes, v, TUTTI_NORM_PRODUCT), w->lanes.product + v * UNIT);
    }
}

INLINE void sum_span(const told *w, pair_at *find, kind k)
{
    const int64_t row = w->call.period * UNIT, rows = w->span.n / row;
    int64_t r = 0;
    clear_table(w);
    for (; walks_four(w->call.period) && r + ROWS <= rows; r += ROWS)
        for (int64_t v = 0; v < w->call.period; v++) sum_rows(w, r, v, find, k);
    for (; r < rows; r++)
        for (int64_t v = 0; v < w->call.period; v++) sum_unit(w, r * row + v * UNIT, v, UNIT, find, k);
    int64_t at = r * row, v = 0;
    for (; at + UNIT <= w->span.n; at += UNIT) sum_unit(w, at, v++, UNIT, find, k);
    if (at < w->span.n) sum_unit(w, at, v, w->span.n - at, find, k);
    flush_table(w);
}

INLINE void sums_typed(const told *w, tutti_dtype type)
{
    sum_span(w, number_at, (kind){.type = type});
}

static void norm_sums(const tutti_norm_call *c, const tutti_norm_lanes *l, const tutti_norm_span *s)
{
    const told copy = {*c, *l, *s}, *w = &copy;
    BY_TYPE(c->type, sums_typed, w)
}

INLINE mask_kind mask_of(const tutti_norm_call *c)
{
    return !c->relu ? AS_IT_IS : !c->bits ? BY_NUMBER : c->more ? SUM_BY_BIT : BY_BIT;
}

INLINE void gradient_sums_typed(const told *w, tutti_dtype type)
{
    switch (mask_of(&w->call)) {
    case AS_IT_IS: sum_span(w, gradient_at, (kind){.mask = AS_IT_IS, .type = type}); break;
    case BY_NUMBER: sum_span(w, gradient_at, (kind){.mask = BY_NUMBER, .type = type}); break;
    case BY_BIT: sum_span(w, gradient_at, (kind){.mask = BY_BIT, .type = type}); break;
    case SUM_BY_BIT: sum_span(w, gradient_at, (kind){.mask = SUM_BY_BIT, .type = type}); break;
    }
}

static void norm_gradient_sums(const tutti_norm_call *c, const tutti_norm_lanes *l, const tutti_norm_span *s)
{
    const told copy = {*c, *l, *s}, *w = &copy;
    BY_TYPE(c->type, gradient_sums_typed, w)
}

/* --- writing outputs and gradients --- */

typedef void map_at(const tutti_norm_call *c, const entries *e, int64_t at, int64_t n, int64_t v, kind k);

INLINE void map_unit(const told *w, int64_t at, int64_t v, int64_t n, map_at *map, kind k)
{
    const entries e = entries_at(&w->lanes, v);
    map(&w->call, &e, w->span.at + at, n, w->span.unit + at / UNIT, k);
}

INLINE void map_span(const told *w, map_at *map, kind k)
{
    const int64_t row = w->call.period * UNIT, rows = w->span.n / row;
    int64_t r = 0;
    for (; walks_four(w->call.period) && r + ROWS <= rows; r += ROWS)
        for (int64_t v = 0; v < w->call.period; v++) {
            const entries e = entries_at(&w->lanes, v);
            for (int i = 0; i < ROWS; i++) {
                const int64_t number = (r + i) * w->call.period + v;
                map(&w->call, &e, w->span.at + number * UNIT, UNIT, w->span.unit + number, k);
            }
        }
    for (; r < rows; r++)
        for (int64_t v = 0; v < w->call.period; v++) map_unit(w, r * row + v * UNIT, v, UNIT, map, k);
    int64_t at = r * row, v = 0;
    for (; at + UNIT <= w->span.n; at += UNIT) map_unit(w, at, v++, UNIT, map, k);
    if (at < w->span.n) map_unit(w, at, v, w->span.n - at, map, k);
    if (k.streams) stream_fence();
}

INLINE void normalise_at(const tutti_norm_call *c, const entries *e, int64_t at, int64_t n, int64_t v, kind k)
{
    fetch_unit(c->in, at, c->ahead, k.type);
    if (k.adds) fetch_unit(c->added, at, c->ahead, k.type);
    if (!k.streams) fetch_unit(c->out, at, c->ahead, k.type);
    unit y = times_plus(minus(take_of(c->in, at, n, k.type), e->mean), e->scale, e->shift);
    if (k.adds) y = plus(y, take_of(c->added, at, n, k.type));
    if (k.adds && k.relu && c->bits) ((pair_bits *)c->bits)[v] = join_lanes(positive(y.a), positive(y.b));
    if (k.relu) y = (unit){rectify(y.a), rectify(y.b)};
    put_of(c->out, at, y, n, (writing){k.type, .streams = k.streams});
}

INLINE void normalise_fused(const told *w, bool adds, bool relu, tutti_dtype type)
{
    if (w->call.streams)
        map_span(w, normalise_at, (kind){.adds = adds, .relu = relu, .streams = true, .type = type});
    else
        map_span(w, normalise_at, (kind){.adds = adds, .relu = relu, .type = type});
}

INLINE void normalise_typed(const told *w, tutti_dtype type)
{
    if (w->call.added && w->call.relu)
        normalise_fused(w, true, true, type);
    else if (w->call.added)
        normalise_fused(w, true, false, type);
    else if (w->call.relu)
        normalise_fused(w, false, true, type);
    else
        normalise_fused(w, false, false, type);
}

static void norm_normalise(const tutti_norm_call *c, const tutti_norm_lanes *l, const tutti_norm_span *s)
{
    const told copy = {*c, *l, *s}, *w = &copy;
    BY_TYPE(c->type, normalise_typed, w)
}

INLINE void input_gradient_at(const tutti_norm_call *c, const entries *e, int64_t at, int64_t n, int64_t v, kind k)
{
    (void)v;
    fetch_unit(c->in, at, c->ahead, k.type);
    fetch_unit(c->dout, at, c->ahead, k.type);
    if (!k.streams) fetch_unit(c->din, at, c->ahead, k.type);
    const unit x = minus(take_of(c->in, at, n, k.type), e->mean);
    unit g = take_of(c->dout, at, n, k.type);
    if (k.mask == BY_NUMBER) {
        const unit y = times_plus(x, e->scale, e->shift);
        g = (unit){keep_positive(g.a, y.a), keep_positive(g.b, y.b)};
    }
    put_of(c->din, at, times_plus(g, e->scale, times_plus(x, e->tilt, e->drop)), n,
           (writing){k.type, .streams = k.streams});
}

INLINE void gradient_typed(const told *w, tutti_dtype type)
{
    const bool by_number = mask_of(&w->call) == BY_NUMBER;
    if (by_number && w->call.streams)
        map_span(w, input_gradient_at, (kind){.mask = BY_NUMBER, .streams = true, .type = type});
    else if (by_number)
        map_span(w, input_gradient_at, (kind){.mask = BY_NUMBER, .type = type});
    else if (w->call.streams)
        map_span(w, input_gradient_at, (kind){.streams = true, .type = type});
    else
        map_span(w, input_gradient_at, (kind){.type = type});
}

static void norm_gradient(const tutti_norm_call *c, const tutti_norm_lanes *l, const tutti_norm_span *s)
{
    const told copy = {*c, *l, *s}, *w = &copy;
    BY_TYPE(c->type, gradient_typed, w)
}

#endif
