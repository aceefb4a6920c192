/* SPDX-License-Identifier: Apache-2.0 */
/* lane_pool_loops.h: pools over planes whose positions hold several channels: the loops for every instruction set.
 *
 * In the backward pass each element of the input's gradient is gathered from the windows in which it lies, in their
 * order. So each element is written and rounded once, and rows do not depend on each other. If lanes do not fill the
 * last vector, it begins earlier and computes some lanes twice. If there are fewer lanes than a vector has, the rest of
 * the vector is not stored. */
#ifndef TUTTI_LANE_POOL_LOOPS_H
#define TUTTI_LANE_POOL_LOOPS_H

#include "lane_loops.h"

/* The elements [first, end) of a window beginning at `begin` that lie within n. */
typedef struct {
    int64_t first, end;
} reach;

INLINE reach inside(int64_t begin, int64_t kernel, int64_t n)
{
    return (reach){begin < 0 ? -begin : 0, begin + kernel > n ? n - begin : kernel};
}

/* The part of a window that lies inside the plane. */
typedef struct {
    reach ys, xs;
    float area; /* number of elements inside input and padding, by which the mean divides */
} window;

/* Returns the windows [first, end) of `windows` that contain position x. */
INLINE reach windows_of(int64_t x, int64_t kernel, int64_t stride, int64_t pad, int64_t windows)
{
    const int64_t last = (x + pad) / stride + 1, before = x + pad - kernel;
    return (reach){before < 0 ? 0 : before / stride + 1, last < windows ? last : windows};
}

/* Returns the lane at which the vector begins that is to compute lane l and those behind it: l, or an earlier lane if a
 * whole vector would reach beyond the last lane. n: number of lanes that are computed. */
INLINE int64_t begin_at(int64_t l, int64_t lanes, int64_t n)
{
    return n == WIDTH && l + WIDTH > lanes ? lanes - WIDTH : l;
}

INLINE vector take_lanes(const void *from, int64_t at, int64_t n, tutti_dtype type)
{
    return n == WIDTH ? take(from, at, type) : take_some(from, at, n, type);
}

INLINE void put_lanes(void *to, int64_t at, vector v, int64_t n, tutti_dtype type)
{
    if (n == WIDTH)
        put(to, at, v, type);
    else
        put_some(to, at, v, n, type);
}

/* Stores elements that the type can hold exactly, so without rounding. */
INLINE void put_same(void *to, int64_t at, vector v, tutti_dtype type)
{
    if (type == TUTTI_BF16)
        store_halves((uint16_t *)to + at, cut_bf16(v));
    else
        put(to, at, v, type);
}

/* Finds the largest element of a window, the first of equal ones. NaN is larger than all; the last NaN wins. */
INLINE void max_at(const tutti_pool_call *c, window w, int64_t from, int64_t to, int64_t n, tutti_dtype type)
{
    vector best = take_lanes(c->in, from + (w.ys.first * c->width + w.xs.first) * c->lanes, n, type);
    words which = (words)all(0) + (uint32_t)(w.ys.first * c->kernel + w.xs.first);
    for (int64_t y = w.ys.first; y < w.ys.end; y++)
        for (int64_t x = w.xs.first; x < w.xs.end; x++) {
            const vector v = take_lanes(c->in, from + (y * c->width + x) * c->lanes, n, type);
            const lanes_set wins = above(v, best) | is_nan(v);
            best = choose(wins, v, best);
            which = (words)choose(wins, (vector)((words)all(0) + (uint32_t)(y * c->kernel + x)), (vector)which);
        }
    put_lanes(c->to, to, best, n, type);
    if (!c->winner) return;
    if (n == WIDTH)
        store_bytes(c->winner + to, which);
    else
        for (int i = 0; i < n; i++) c->winner[to + i] = (uint8_t)which[i];
}

/* Does what max_at does, for a window that lies inside the plane and whose size is a compile-time constant. */
INLINE void max_of(const tutti_pool_call *c, int64_t from, int64_t to, int kernel, tutti_dtype type)
{
    vector best = take(c->in, from, type);
    words which = {0};
    for (int i = 1; i < kernel * kernel; i++) {
        const vector v = take(c->in, from + (i / kernel * c->width + i % kernel) * c->lanes, type);
        const lanes_set wins = above(v, best) | is_nan(v);
        best = choose(wins, v, best);
        which = (words)choose(wins, (vector)((words)all(0) + (uint32_t)i), (vector)which);
    }
    put_same(c->to, to, best, type);
    if (c->winner) store_bytes(c->winner + to, which);
}

/* Returns the length of a window in one direction, inside input and padding. */
INLINE int64_t window_length(int64_t begin, const tutti_pool_call *c, int64_t n)
{
    return at_most(c->kernel, n + c->pad - begin);
}

/* Returns the area of the window of output position (y, x). */
INLINE float area_at(const tutti_pool_call *c, int64_t y, int64_t x)
{
    return (float)(window_length(y * c->stride - c->pad, c, c->height) *
                   window_length(x * c->stride - c->pad, c, c->width));
}

INLINE void mean_at(const tutti_pool_call *c, window w, int64_t from, int64_t to, int64_t n, tutti_dtype type)
{
    vector sum = {0};
    for (int64_t y = w.ys.first; y < w.ys.end; y++)
        for (int64_t x = w.xs.first; x < w.xs.end; x++)
            sum += take_lanes(c->in, from + (y * c->width + x) * c->lanes, n, type);
    put_lanes(c->to, to, sum / w.area, n, type);
}

INLINE void pool_row(const tutti_pool_call *c, int64_t y, bool is_max, bool is_whole, tutti_dtype type)
{
    const int64_t top = y * c->stride - c->pad, n = is_whole ? WIDTH : c->lanes;
    const reach ys = inside(top, c->kernel, c->height);
    for (int64_t x = 0; x < c->out_width; x++) {
        const int64_t left = x * c->stride - c->pad;
        const reach xs = inside(left, c->kernel, c->width);
        const window w = {ys, xs, area_at(c, y, x)};
        for (int64_t l = 0; l < c->lanes; l += WIDTH) {
            const int64_t lane = begin_at(l, c->lanes, n);
            const int64_t from = (top * c->width + left) * c->lanes + lane,
                          to = (y * c->out_width + x) * c->lanes + lane;
            if (is_max && is_whole && c->kernel == 2 && ys.end - ys.first == 2 && xs.end - xs.first == 2)
                max_of(c, from, to, 2, type);
            else if (is_max && is_whole && c->kernel == 3 && ys.end - ys.first == 3 && xs.end - xs.first == 3)
                max_of(c, from, to, 3, type);
            else if (is_max)
                max_at(c, w, from, to, n, type);
            else
                mean_at(c, w, from, to, n, type);
        }
    }
}

INLINE void pool_typed(const tutti_pool_call *call, int64_t y, tutti_dtype type)
{
    const tutti_pool_call copy = *call, *c = &copy; /* a copy, to keep it in registers */
    const bool is_whole = c->lanes >= WIDTH;
    if (c->is_max && is_whole)
        pool_row(c, y, true, true, type);
    else if (c->is_max)
        pool_row(c, y, true, false, type);
    else if (is_whole)
        pool_row(c, y, false, true, type);
    else
        pool_row(c, y, false, false, type);
}

static void pool(const tutti_pool_call *c, int64_t y){BY_TYPE(c->type, pool_typed, c, y)}

/* --- backward: `in` is the gradient of the output --- */

INLINE lanes_set is_winner(const tutti_pool_call *c, int64_t at, int64_t n, int64_t element)
{
    if (n == WIDTH) return equal_bytes(c->winner + at, (uint8_t)element);
    bits where = 0;
    for (int i = 0; i < n; i++) where = (bits)(where | (c->winner[at + i] == element) << i);
    return lanes_set_of(where);
}

/* Returns the index of position (y, x) in the window of output position (oy, ox). */
INLINE int64_t element_of(const tutti_pool_call *c, int64_t y, int64_t x, int64_t oy, int64_t ox)
{
    return (y - (oy * c->stride - c->pad)) * c->kernel + x - (ox * c->stride - c->pad);
}

INLINE void gradient_row(const tutti_pool_call *c, int64_t y, bool is_max, bool is_whole, tutti_dtype type)
{
    const reach ys = windows_of(y, c->kernel, c->stride, c->pad, c->out_height);
    const int64_t n = is_whole ? WIDTH : c->lanes;
    for (int64_t x = 0; x < c->width; x++) {
        const reach xs = windows_of(x, c->kernel, c->stride, c->pad, c->out_width);
        for (int64_t l = 0; l < c->lanes; l += WIDTH) {
            const int64_t lane = begin_at(l, c->lanes, n);
            vector sum = {0};
            for (int64_t oy = ys.first; oy < ys.end; oy++)
                for (int64_t ox = xs.first; ox < xs.end; ox++) {
                    const int64_t at = (oy * c->out_width + ox) * c->lanes + lane;
                    const vector g = take_lanes(c->in, at, n, type);
                    sum += is_max ? keep(g, is_winner(c, at, n, element_of(c, y, x, oy, ox))) : g / area_at(c, oy, ox);
                }
            put_lanes(c->to, (y * c->width + x) * c->lanes + lane, sum, n, type);
        }
    }
}

/* Computes a row of the input's gradient if windows neither overlap nor leave gaps: then each gradient and each winner
 * is read once for a whole row of its window. The gradient is added to zero, so that the sign of a zero is that of the
 * general loop. */
INLINE void tiled_gradient_row(const tutti_pool_call *c, int64_t y, int64_t kernel, bool is_max, tutti_dtype type)
{
    const int64_t oy = y / kernel, first = y % kernel * kernel;
    const int64_t covered = oy < c->out_height ? c->out_width * kernel : 0;
    const float area = (float)(kernel * kernel);
    for (int64_t l = 0; l < c->lanes; l += WIDTH) {
        const int64_t lane = begin_at(l, c->lanes, WIDTH), row = y * c->width * c->lanes + lane;
        for (int64_t ox = 0; ox < covered / kernel; ox++) {
            const int64_t at = (oy * c->out_width + ox) * c->lanes + lane;
            const vector g = take(c->in, at, type);
            for (int64_t i = 0; i < kernel; i++) {
                const int64_t to = row + (ox * kernel + i) * c->lanes;
                if (is_max)
                    put_same(c->to, to, keep(g, equal_bytes(c->winner + at, (uint8_t)(first + i))) + (vector){0}, type);
                else
                    put(c->to, to, g / area + (vector){0}, type);
            }
        }
        for (int64_t x = covered; x < c->width; x++) put(c->to, row + x * c->lanes, (vector){0}, type);
    }
}

/* True if windows neither overlap nor leave gaps. */
static bool is_tiled(const tutti_pool_call *c)
{
    return c->pad == 0 && c->kernel == c->stride && c->out_width * c->kernel <= c->width;
}

INLINE void pool_gradient_typed(const tutti_pool_call *call, int64_t y, tutti_dtype type)
{
    const tutti_pool_call copy = *call, *c = &copy;
    const bool is_whole = c->lanes >= WIDTH, tiled = is_whole && is_tiled(c);
    if (c->is_max && tiled && c->kernel == 2)
        tiled_gradient_row(c, y, 2, true, type);
    else if (c->is_max && tiled)
        tiled_gradient_row(c, y, c->kernel, true, type);
    else if (tiled)
        tiled_gradient_row(c, y, c->kernel, false, type);
    else if (c->is_max && is_whole)
        gradient_row(c, y, true, true, type);
    else if (c->is_max)
        gradient_row(c, y, true, false, type);
    else if (is_whole)
        gradient_row(c, y, false, true, type);
    else
        gradient_row(c, y, false, false, type);
}

static void pool_gradient(const tutti_pool_call *c, int64_t y)
{
    BY_TYPE(c->type, pool_gradient_typed, c, y)
}

/* --- sums of whole planes --- */

enum { PLANE_TILE = 64, PLANE_VECTORS = 4 };

/* Sums a plane of one lane, whose elements lie side by side. */
INLINE float line_sum(const void *plane, int64_t n, tutti_dtype type)
{
    float sum = 0;
    for (int64_t at = 0; at < n; at += PLANE_TILE * WIDTH) {
        const int64_t end = at_most(n, at + PLANE_TILE * WIDTH);
        vector some = {0}, more = {0};
        int64_t i = at;
        for (; i + 2 * WIDTH <= end; i += 2 * WIDTH) some += take(plane, i, type), more += take(plane, i + WIDTH, type);
        for (; i < end; i += WIDTH) some += take_lanes(plane, i, at_most(end - i, WIDTH), type);
        some += more;
        for (int l = 0; l < WIDTH; l++) sum += some[l];
    }
    return sum;
}

typedef struct {
    const void *memory; /* the plane's elements, in the order (positions, lanes) */
    int64_t lanes, positions;
} pool_plane;

/* Sums nvectors vectors of lanes, from lane l on, over all positions: first the positions of each tile, then the sums
 * of the tiles. */
INLINE void lane_sums(pool_plane p, int64_t l, float *sum, int nvectors, tutti_dtype type)
{
    vector all_tiles[PLANE_VECTORS] = {{0}};
    const int64_t n = at_most(p.lanes - l, WIDTH);
    for (int64_t at = 0; at < p.positions; at += PLANE_TILE) {
        vector some[PLANE_VECTORS] = {{0}};
        for (int64_t i = at; i < at_most(p.positions, at + PLANE_TILE); i++)
            for (int v = 0; v < nvectors; v++)
                some[v] += nvectors > 1 || n == WIDTH ? take(p.memory, i * p.lanes + l + v * WIDTH, type)
                                                      : take_some(p.memory, i * p.lanes + l, n, type);
        for (int v = 0; v < nvectors; v++) all_tiles[v] += some[v];
    }
    for (int v = 0; v < nvectors; v++)
        for (int i = 0; i < WIDTH && l + v * WIDTH + i < p.lanes; i++) sum[l + v * WIDTH + i] = all_tiles[v][i];
}

INLINE void plane_sums_typed(const void *memory, int64_t lanes, int64_t positions, float *sum, tutti_dtype type)
{
    const pool_plane p = {memory, lanes, positions};
    int64_t l = 0;
    if (lanes == 1) {
        *sum = line_sum(memory, positions, type);
        return;
    }
    for (; l + PLANE_VECTORS * WIDTH <= lanes; l += PLANE_VECTORS * WIDTH) lane_sums(p, l, sum, PLANE_VECTORS, type);
    for (; l < lanes; l += WIDTH) lane_sums(p, l, sum, 1, type);
}

static void plane_sums(tutti_dtype type, const void *plane, int64_t lanes, int64_t positions, float *sum)
{
    BY_TYPE(type, plane_sums_typed, plane, lanes, positions, sum)
}

#endif
