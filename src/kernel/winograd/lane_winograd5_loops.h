/* SPDX-License-Identifier: Apache-2.0 */
/* lane_winograd5_loops.h: convolutions of 5 x 5 by Winograd's products F(2 x 2, 5 x 5): the transforms of a tile, for
 * every instruction set. The points of interpolation, the tiles of 6 x 6 and the matrix B are those of
 * lane_winograd_loops.h; A and G are
 *
 *   A^T = 1 1  1 1  1 0      G = 1/4 (1 0 0 0 0), -1/6 (1 1 1 1 1), -1/6 (1 -1 1 -1 1),
 *         0 1 -1 2 -2 1          1/24 (1 2 4 8 16), 1/24 (1 -2 4 -8 16), (0 0 0 0 1)
 *
 * The input's gradient is the transposed forward transform, not a convolution with more padding. For each tile, B (...)
 * B^T is added to what neighbouring tiles have written. So it needs as many tiles as the forward pass. Lanes hold n
 * channels, for any n. */
#ifndef TUTTI_LANE_WINOGRAD5_LOOPS_H
#define TUTTI_LANE_WINOGRAD5_LOOPS_H

#include "lane_winograd_loops.h"

enum { TAPS5 = 5, TILE5_OUT = TUTTI_WINOGRAD5_TILE };

/* --- transforms in one direction, by the matrices A^T, A, B, G, G^T (see the top); elements are `apart` vectors from
 * each other --- */

/* Computes to = A^T m for one row or column of a tile. */
INLINE void turn5_output(const vector *m, int apart, vector *to, int to_apart)
{
    const vector m1 = m[apart], m2 = m[2 * apart], m3 = m[3 * apart], m4 = m[4 * apart];
    to[0] = m[0] + (m1 + m2) + (m3 + m4);
    to[to_apart] = scaled_add(2, m3 - m4, m1 - m2) + m[5 * apart];
}

/* Computes to = A y for one row or column of a tile. */
INLINE void turn5_gradient(const vector *y, int apart, vector *to, int to_apart)
{
    const vector y0 = y[0], y1 = y[apart];
    to[0] = y0;
    to[to_apart] = y0 + y1;
    to[2 * to_apart] = y0 - y1;
    to[3 * to_apart] = scaled_add(2, y1, y0);
    to[4 * to_apart] = scaled_add(-2, y1, y0);
    to[5 * to_apart] = y1;
}

/* Computes to = B m for one row or column of a tile. */
INLINE void turn5_spread(const vector *m, int apart, vector *to, int to_apart)
{
    const vector m0 = m[0], m1 = m[apart], m2 = m[2 * apart], m3 = m[3 * apart], m4 = m[4 * apart], m5 = m[5 * apart];
    const vector p = m1 - m2, q = m3 - m4, s = m1 + m2, t = m3 + m4;
    to[0] = all(4) * m0;
    to[to_apart] = scaled_add(4, m5 - p, all(-2) * q);
    to[2 * to_apart] = scaled_add(-5, m0, scaled_add(-4, s, -t));
    to[3 * to_apart] = scaled_add(-5, m5, scaled_add(2, q, p));
    to[4 * to_apart] = m0 + (s + t);
    to[5 * to_apart] = m5;
}

/* Computes to = G g for one row or column of a kernel. */
INLINE void turn5_weights(const vector *g, int apart, vector *to, int to_apart)
{
    const vector g0 = g[0], g1 = g[apart], g2 = g[2 * apart], g3 = g[3 * apart], g4 = g[4 * apart];
    const vector x = (g0 + g2 + g4) * all(-1.0f / 6), y = (g1 + g3) * all(1.0f / 6);
    const vector z = scaled_add(16, g4, scaled_add(4, g2, g0)) * all(1.0f / 24),
                 w = scaled_add(4, g3, g1) * all(1.0f / 12);
    to[0] = g0 * all(0.25f);
    to[to_apart] = x - y;
    to[2 * to_apart] = x + y;
    to[3 * to_apart] = z + w;
    to[4 * to_apart] = z - w;
    to[5 * to_apart] = g4;
}

/* Computes to = G^T u for one row or column of a tile. */
INLINE void turn5_weight_gradient(const vector *u, int apart, vector *to, int to_apart)
{
    const vector u1 = u[apart], u2 = u[2 * apart], u3 = u[3 * apart], u4 = u[4 * apart];
    const vector even = (u1 + u2) * all(-1.0f / 6), odd = (u2 - u1) * all(1.0f / 6), sum = u3 + u4, rest = u3 - u4;
    to[0] = scaled_add(0.25f, u[0], scaled_add(1.0f / 24, sum, even));
    to[to_apart] = scaled_add(1.0f / 12, rest, odd);
    to[2 * to_apart] = scaled_add(1.0f / 6, sum, even);
    to[3 * to_apart] = scaled_add(1.0f / 3, rest, odd);
    to[4 * to_apart] = scaled_add(2.0f / 3, sum, even) + u[5 * apart];
}

/* --- n lanes of a vector; `whole` is true if n is WIDTH --- */

INLINE vector load_lanes(const float *from, int64_t n, bool whole)
{
    return whole ? load(from) : load_some(from, n);
}

INLINE void store_lanes(float *to, vector v, int64_t n, bool whole)
{
    if (whole)
        store(to, v);
    else
        store_some(to, v, n);
}

/* Runs a loop on whole vectors, or on parts of vectors. */
#define BY_LANES(n, loop, ...)                                                                                         \
    if ((n) == WIDTH)                                                                                                  \
        loop(__VA_ARGS__, WIDTH, true);                                                                                \
    else                                                                                                               \
        loop(__VA_ARGS__, n, false)

INLINE void take_tile5(const tutti_winograd_plane *p, int side, vector *to, int64_t n, bool whole)
{
    const int64_t y = p->y, x = p->x;
    const bool inside = y >= 0 && x >= 0 && y + side <= p->height && x + side <= p->width;
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            const int64_t at_y = y + i, at_x = x + j;
            const bool is = inside || (at_y >= 0 && at_y < p->height && at_x >= 0 && at_x < p->width);
            to[i * side + j] = is ? load_lanes(p->at + at_y * p->row + at_x * p->step, n, whole) : all(0);
        }
}

INLINE void input5(const tutti_winograd_plane *p, float *to, int64_t apart, int64_t n, bool whole)
{
    vector d[TILE_IN * TILE_IN];
    take_tile5(p, TILE_IN, d, n, whole);
    for (int j = 0; j < TILE_IN; j++) turn_input(d + j, d + j, TILE_IN);
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        for (int j = 0; j < TILE_IN; j++) row[j] = d[i * TILE_IN + j];
        turn_input(row, row, 1);
        for (int j = 0; j < TILE_IN; j++) store_lanes(to + (i * TILE_IN + j) * apart, row[j], n, whole);
    }
}

static void winograd5_input(const tutti_winograd_plane *p, int64_t n, float *to, int64_t apart)
{
    BY_LANES(n, input5, p, to, apart);
}

INLINE void gradient5(const tutti_winograd_plane *p, float *to, int64_t apart, int64_t n, bool whole)
{
    vector d[TILE5_OUT * TILE5_OUT], e[TILE_IN * TILE5_OUT];
    take_tile5(p, TILE5_OUT, d, n, whole);
    for (int j = 0; j < TILE5_OUT; j++) turn5_gradient(d + j, TILE5_OUT, e + j, TILE5_OUT);
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        turn5_gradient(e + i * TILE5_OUT, 1, row, 1);
        for (int j = 0; j < TILE_IN; j++) store_lanes(to + (i * TILE_IN + j) * apart, row[j], n, whole);
    }
}

static void winograd5_gradient(const tutti_winograd_plane *p, int64_t n, float *to, int64_t apart)
{
    BY_LANES(n, gradient5, p, to, apart);
}

INLINE void load_row(const float *from, int64_t apart, int i, vector *row, int64_t n, bool whole)
{
    for (int j = 0; j < TILE_IN; j++) row[j] = load_lanes(from + (i * TILE_IN + j) * apart, n, whole);
}

INLINE void output5(const float *from, int64_t apart, const tutti_winograd_plane *p, int64_t n, bool whole)
{
    const int64_t y = p->y, x = p->x;
    vector e[TILE_IN * TILE5_OUT];
    const vector added = p->bias ? load_lanes(p->bias, n, whole) : all(0);
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        load_row(from, apart, i, row, n, whole);
        turn5_output(row, 1, e + i * TILE5_OUT, 1);
    }
    for (int j = 0; j < TILE5_OUT && x + j < p->width; j++) {
        vector column[TILE5_OUT];
        turn5_output(e + j, TILE5_OUT, column, 1);
        for (int i = 0; i < TILE5_OUT && y + i < p->height; i++) {
            const vector sum = column[i] + added;
            store_lanes(p->at + (y + i) * p->row + (x + j) * p->step, p->relu ? rectify(sum) : sum, n, whole);
        }
    }
}

static void winograd5_output(const float *from, int64_t apart, int64_t n, const tutti_winograd_plane *p)
{
    BY_LANES(n, output5, from, apart, p);
}

INLINE void spread5(const float *from, int64_t apart, float *to, int64_t to_row, int64_t n, bool whole)
{
    vector d[TILE_IN * TILE_IN];
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        load_row(from, apart, i, row, n, whole);
        turn5_spread(row, 1, d + i * TILE_IN, 1);
    }
    for (int j = 0; j < TILE_IN; j++) {
        vector column[TILE_IN];
        turn5_spread(d + j, TILE_IN, column, 1);
        for (int i = 0; i < TILE_IN; i++) {
            float *at = to + i * to_row + j * WIDTH;
            store(at, load(at) + column[i]);
        }
    }
}

static void winograd5_spread(const float *from, int64_t apart, int64_t n, float *to, int64_t to_row)
{
    BY_LANES(n, spread5, from, apart, to, to_row);
}

INLINE void place5(const float *from, int64_t positions, float *to, int64_t step, int64_t n, bool whole)
{
    for (int64_t i = 0; i < positions; i++) store_lanes(to + i * step, load(from + i * WIDTH), n, whole);
}

static void winograd5_place(const float *from, int64_t positions, int64_t n, float *to, int64_t step)
{
    BY_LANES(n, place5, from, positions, to, step);
}

/* --- weights --- */

INLINE void weights5(const float *from, int64_t tap, float *to, int64_t apart, int64_t n, bool whole)
{
    vector g[TAPS5 * TAPS5], e[TILE_IN * TAPS5];
    for (int i = 0; i < TAPS5 * TAPS5; i++) g[i] = load_lanes(from + i * tap, n, whole);
    for (int j = 0; j < TAPS5; j++) turn5_weights(g + j, TAPS5, e + j, TAPS5);
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        turn5_weights(e + i * TAPS5, 1, row, 1);
        for (int j = 0; j < TILE_IN; j++) store_lanes(to + (i * TILE_IN + j) * apart, row[j], n, whole);
    }
}

static void winograd5_weights(const float *from, int64_t tap, int64_t n, float *to, int64_t apart)
{
    BY_LANES(n, weights5, from, tap, to, apart);
}

INLINE void weight_gradient5(const float *from, int64_t apart, float *to, int64_t tap, int64_t n, bool whole)
{
    vector e[TILE_IN * TAPS5], g[TAPS5 * TAPS5];
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        load_row(from, apart, i, row, n, whole);
        turn5_weight_gradient(row, 1, e + i * TAPS5, 1);
    }
    for (int j = 0; j < TAPS5; j++) turn5_weight_gradient(e + j, TAPS5, g + j, TAPS5);
    for (int i = 0; i < TAPS5 * TAPS5; i++) store_lanes(to + i * tap, g[i], n, whole);
}

static void winograd5_weight_gradient(const float *from, int64_t apart, int64_t n, float *to, int64_t tap)
{
    BY_LANES(n, weight_gradient5, from, apart, to, tap);
}

/* --- whole vectors, as winograd.c takes them: the input's transform is that of 3 x 3 --- */

static void wide5_gradient(const tutti_winograd_plane *p, float *to, int64_t apart)
{
    gradient5(p, to, apart, WIDTH, true);
}

static void wide5_output(const float *from, int64_t apart, const tutti_winograd_plane *p)
{
    output5(from, apart, p, WIDTH, true);
}

static void wide5_weights(const float *from, int64_t tap, float *to, int64_t apart)
{
    weights5(from, tap, to, apart, WIDTH, true);
}

static void wide5_weight_gradient(const float *from, int64_t apart, float *to, int64_t tap)
{
    weight_gradient5(from, apart, to, tap, WIDTH, true);
}

#endif
