/* SPDX-License-Identifier: Apache-2.0 */
/* lane_winograd_loops.h: convolutions of 3 x 3 by the products F(4 x 4, 3 x 3) of Winograd, as Lavin and Gray wrote
 * them for networks (CVPR 2016, arXiv 1509.09308): the transforms of a tile and the products, for every instruction
 * set. A vector holds channels of one position, so a transform adds whole vectors:
 *
 *   Y = A^T [ (G g G^T) . (B^T d B) ] A       d: 6 x 6 of the input, g: 3 x 3 weights, Y: 4 x 4 of the output
 *
 * "." multiplies 36 pairs of elements and sums over channels: 36 products of matrices. The gradient of the weights is
 * the transpose: A (4 x 4 of dout) A^T times the same B^T d B, summed over tiles, and then G^T (..) G of the sums. */
#ifndef TUTTI_LANE_WINOGRAD_LOOPS_H
#define TUTTI_LANE_WINOGRAD_LOOPS_H

#include "../lanes/lane_loops.h"

enum {
    TILE_IN = 6,
    TILE_OUT = 4,
    TAPS = 3,
    /* number of rows of a product, two vectors each, whose sums stay in registers */
    PRODUCT_ROWS = WIDTH == 16  ? 14
                   : WIDTH == 8 ? 6
                                : 4,
    PRODUCT_LANES = 2 * WIDTH,
};

INLINE vector scaled_add(float a, vector b, vector c)
{
    return multiply_add(all(a), b, c);
}

/* --- transforms in one direction, by the matrices B^T, A^T, A, G, G^T; elements are `apart` vectors from each other
 * --- */

/* Computes to = B^T d for one row or column of a tile. */
INLINE void turn_input(const vector *d, vector *to, int apart)
{
    const vector d0 = d[0], d1 = d[apart], d2 = d[2 * apart], d3 = d[3 * apart], d4 = d[4 * apart], d5 = d[5 * apart];
    const vector a = scaled_add(-4, d2, d4), b = scaled_add(-4, d1, d3), c = d4 - d2, e = d3 - d1;
    to[0] = scaled_add(4, d0, scaled_add(-5, d2, d4));
    to[apart] = a + b;
    to[2 * apart] = a - b;
    to[3 * apart] = scaled_add(2, e, c);
    to[4 * apart] = scaled_add(-2, e, c);
    to[5 * apart] = scaled_add(4, d1, scaled_add(-5, d3, d5));
}

/* Computes to = A^T m for one row or column of a tile. Elements of m are `apart` vectors from each other, those of `to`
 * are `to_apart`. */
INLINE void turn_output(const vector *m, int apart, vector *to, int to_apart)
{
    const vector m1 = m[apart], m2 = m[2 * apart], m3 = m[3 * apart], m4 = m[4 * apart];
    const vector p = m1 + m2, q = m1 - m2, r = m3 + m4, s = m3 - m4;
    to[0] = m[0] + p + r;
    to[to_apart] = scaled_add(2, s, q);
    to[2 * to_apart] = scaled_add(4, r, p);
    to[3 * to_apart] = scaled_add(8, s, q) + m[5 * apart];
}

/* Computes to = A y for one row or column of a tile. */
INLINE void turn_gradient(const vector *y, int apart, vector *to, int to_apart)
{
    const vector y0 = y[0], y1 = y[apart], y2 = y[2 * apart], y3 = y[3 * apart];
    const vector u = y0 + y2, v = y1 + y3, w = scaled_add(4, y2, y0), z = all(2) * scaled_add(4, y3, y1);
    to[0] = y0;
    to[to_apart] = u + v;
    to[2 * to_apart] = u - v;
    to[3 * to_apart] = w + z;
    to[4 * to_apart] = w - z;
    to[5 * to_apart] = y3;
}

/* Computes to = G g for one row or column of a kernel. */
INLINE void turn_weights(const vector *g, int apart, vector *to, int to_apart)
{
    const vector g0 = g[0], g1 = g[apart], g2 = g[2 * apart];
    const vector x = (g0 + g2) * all(-1.0f / 6), y = g1 * all(1.0f / 6);
    const vector z = scaled_add(4, g2, g0) * all(1.0f / 24), w = g1 * all(1.0f / 12);
    to[0] = g0 * all(0.25f);
    to[to_apart] = x - y;
    to[2 * to_apart] = x + y;
    to[3 * to_apart] = z + w;
    to[4 * to_apart] = z - w;
    to[5 * to_apart] = g2;
}

/* Computes to = G^T u for one row or column of a tile. */
INLINE void turn_weight_gradient(const vector *u, int apart, vector *to, int to_apart)
{
    const vector u1 = u[apart], u2 = u[2 * apart], u3 = u[3 * apart], u4 = u[4 * apart];
    const vector sixth = (u1 + u2) * all(-1.0f / 6), sum = u3 + u4;
    to[0] = scaled_add(0.25f, u[0], scaled_add(1.0f / 24, sum, sixth));
    to[to_apart] = scaled_add(1.0f / 6, u2 - u1, (u3 - u4) * all(1.0f / 12));
    to[2 * to_apart] = scaled_add(1.0f / 6, sum, sixth) + u[5 * apart];
}

/* --- tiles --- */

/* Returns the vector at position (y, x), or zeros if that is outside. */
INLINE vector position_of(const tutti_winograd_plane *p, int64_t y, int64_t x)
{
    return y < 0 || y >= p->height || x < 0 || x >= p->width ? all(0) : load(p->at + y * p->row + x * p->step);
}

INLINE void take_tile(const tutti_winograd_plane *p, int side, vector *to)
{
    const int64_t y = p->y, x = p->x;
    const bool inside = y >= 0 && x >= 0 && y + side <= p->height && x + side <= p->width;
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++)
            to[i * side + j] =
                inside ? load(p->at + (y + i) * p->row + (x + j) * p->step) : position_of(p, y + i, x + j);
}

static void winograd_input(const tutti_winograd_plane *p, float *to, int64_t apart)
{
    vector d[TILE_IN * TILE_IN];
    take_tile(p, TILE_IN, d);
    for (int j = 0; j < TILE_IN; j++) turn_input(d + j, d + j, TILE_IN);
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        for (int j = 0; j < TILE_IN; j++) row[j] = d[i * TILE_IN + j];
        turn_input(row, row, 1);
        for (int j = 0; j < TILE_IN; j++) store(to + (i * TILE_IN + j) * apart, row[j]);
    }
}

static void winograd_gradient(const tutti_winograd_plane *p, float *to, int64_t apart)
{
    vector d[TILE_OUT * TILE_OUT], e[TILE_IN * TILE_OUT];
    take_tile(p, TILE_OUT, d);
    for (int j = 0; j < TILE_OUT; j++) turn_gradient(d + j, TILE_OUT, e + j, TILE_OUT);
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        turn_gradient(e + i * TILE_OUT, 1, row, 1);
        for (int j = 0; j < TILE_IN; j++) store(to + (i * TILE_IN + j) * apart, row[j]);
    }
}

static void winograd_output(const float *from, int64_t apart, const tutti_winograd_plane *p)
{
    const int64_t y = p->y, x = p->x;
    vector e[TILE_IN * TILE_OUT];
    const vector added = p->bias ? load(p->bias) : all(0);
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        for (int j = 0; j < TILE_IN; j++) row[j] = load(from + (i * TILE_IN + j) * apart);
        turn_output(row, 1, e + i * TILE_OUT, 1);
    }
    for (int j = 0; j < TILE_OUT; j++) {
        vector column[TILE_OUT];
        turn_output(e + j, TILE_OUT, column, 1);
        for (int i = 0; i < TILE_OUT && x + j < p->width; i++) {
            const vector sum = column[i] + added;
            if (y + i < p->height) store(p->at + (y + i) * p->row + (x + j) * p->step, p->relu ? rectify(sum) : sum);
        }
    }
}

/* --- weights --- */

/* Transforms the nine weights of a 3 x 3 kernel, vectors that lie `tap` floats from each other. */
static void winograd_weights(const float *from, int64_t tap, float *to, int64_t apart)
{
    vector g[TAPS * TAPS], e[TILE_IN * TAPS];
    for (int i = 0; i < TAPS * TAPS; i++) g[i] = load(from + i * tap);
    for (int j = 0; j < TAPS; j++) turn_weights(g + j, TAPS, e + j, TAPS);
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        turn_weights(e + i * TAPS, 1, row, 1);
        for (int j = 0; j < TILE_IN; j++) store(to + (i * TILE_IN + j) * apart, row[j]);
    }
}

static void winograd_weight_gradient(const float *from, int64_t apart, float *to, int64_t tap)
{
    vector e[TILE_IN * TAPS], g[TAPS * TAPS];
    for (int i = 0; i < TILE_IN; i++) {
        vector row[TILE_IN];
        for (int j = 0; j < TILE_IN; j++) row[j] = load(from + (i * TILE_IN + j) * apart);
        turn_weight_gradient(row, 1, e + i * TAPS, 1);
    }
    for (int j = 0; j < TAPS; j++) turn_weight_gradient(e + j, TAPS, g + j, TAPS);
    for (int i = 0; i < TAPS * TAPS; i++) store(to + i * tap, g[i]);
}

static void winograd_square(const float *from, float *to)
{
    vector v[WIDTH];
    for (int i = 0; i < WIDTH; i++) v[i] = load(from + i * WIDTH);
    transpose(v);
    for (int i = 0; i < WIDTH; i++) store(to + i * WIDTH, v[i]);
}

/* --- products --- */

/* Computes n rows of `nvectors` vectors of a product; all sums stay in registers. */
INLINE void product_block(const tutti_winograd_product *p, const float *a, const float *b, float *c, int n,
                          int nvectors)
{
    vector sum[PRODUCT_ROWS][2];
    for (int i = 0; i < n; i++)
        for (int v = 0; v < nvectors; v++) sum[i][v] = p->adds ? load(c + i * p->c_row + v * WIDTH) : all(0);
    for (int64_t s = 0; s < p->nsums; s++, a += p->a_step, b += p->b_step) {
        vector lanes[2];
        for (int v = 0; v < nvectors; v++) lanes[v] = load(b + v * WIDTH);
        for (int i = 0; i < n; i++) {
            const vector factor = all(a[i * p->a_row]);
            for (int v = 0; v < nvectors; v++) sum[i][v] = multiply_add(factor, lanes[v], sum[i][v]);
        }
    }
    for (int i = 0; i < n; i++)
        for (int v = 0; v < nvectors; v++) store(c + i * p->c_row + v * WIDTH, sum[i][v]);
}

#define PRODUCT_CASE(n)                                                                                                \
    case n:                                                                                                            \
        if (n <= PRODUCT_ROWS) product_block(p, a, b, c, n <= PRODUCT_ROWS ? n : 1, nvectors);                         \
        break

INLINE void product_rows(const tutti_winograd_product *p, const float *a, const float *b, float *c, int64_t n,
                         int nvectors)
{
    switch (n) {
        PRODUCT_CASE(1);
        PRODUCT_CASE(2);
        PRODUCT_CASE(3);
        PRODUCT_CASE(4);
        PRODUCT_CASE(5);
        PRODUCT_CASE(6);
        PRODUCT_CASE(7);
        PRODUCT_CASE(8);
        PRODUCT_CASE(9);
        PRODUCT_CASE(10);
        PRODUCT_CASE(11);
        PRODUCT_CASE(12);
        PRODUCT_CASE(13);
        PRODUCT_CASE(14);
    }
}

/* Computes all rows of a product, in groups of about equal size. So 64 rows are not cut into full groups and a small
 * last group. */
INLINE void product_lanes(const tutti_winograd_product *p, const float *b, float *c, int nvectors)
{
    const int64_t nblocks = (p->nrows + PRODUCT_ROWS - 1) / PRODUCT_ROWS;
    for (int64_t i = 0; i < nblocks; i++) {
        const int64_t first = p->nrows * i / nblocks, end = p->nrows * (i + 1) / nblocks;
        product_rows(p, p->a + first * p->a_row, b, c + first * p->c_row, end - first, nvectors);
    }
}

static void winograd_product(const tutti_winograd_product *p)
{
    const float *b = p->b;
    for (int64_t lane = 0; lane < p->nlanes; lane += PRODUCT_LANES, b += p->b_block)
        if (lane + PRODUCT_LANES <= p->nlanes)
            product_lanes(p, b, p->c + lane, 2);
        else
            product_lanes(p, b, p->c + lane, 1);
}

#endif
