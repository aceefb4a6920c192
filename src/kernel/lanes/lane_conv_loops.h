/* SPDX-License-Identifier: Apache-2.0 */
/* lane_conv_loops.h: convolutions whose output channels do not fill vectors: the loops for every instruction set.
 * Included after lane_conv_f32.h or lane_conv_avx512bf16.c, which say what a lane holds: a float, or a pair of bf16,
 * whose two products go to one sum. A step takes CONV_PAIR elements, and an odd last element is taken alone, so nothing
 * is ever multiplied with the filling of a lane.
 *
 * Output channels lie across vectors: up to three whole ones and half a one. Half a vector takes half the time on
 * processors that compute a vector of 512 bits as two of 256: there 50 channels take 3.5 vectors instead of 4 blocks of
 * sixteen, and 20 channels take 1.5 instead of 2. A few channels behind whole vectors may be left to lanes of taps
 * (lane_conv_left.h). A row of a window is one run of kernel * channels elements, its taps. The sums of a tile stay in
 * registers. In the forward pass a tile is some positions of a row; in the weights' gradient, some taps. In the input's
 * gradient lanes are the taps of a row of the window, and a tile is positions below each other, so that an addition to
 * the plane never overlaps the one before. Each element is loaded once for all vectors and each vector once for the
 * whole tile, so that products hide the loads. */
#ifndef TUTTI_LANE_CONV_LOOPS_H
#define TUTTI_LANE_CONV_LOOPS_H

#include "lane_loops.h"

enum {
    CONV_VECTORS = 3,
    CONV_MOST = WIDTH < 16 ? 3 : 4, /* largest number of vectors in a tile; half a vector counts as one */
    /* largest number of vectors in a tile of the weights' gradient, which has CONV_TAPS taps */
    CONV_MOST_TAPS = WIDTH < 16 ? 2 : 4,
    CONV_SHORT = 4, /* number of positions of a tile; it is CONV_LONG if the sums of a longer tile stay in registers */
    CONV_LONG = TUTTI_CONV_WIDTH,
    CONV_SUMS = WIDTH < 16 ? 12 : 24, /* number of vectors of sums that stay in registers */
    CONV_TAPS = TUTTI_CONV_TAPS
};

#include "lane_conv_left.h"

/* A group of lanes, which hold output channels or taps: some whole vectors, and perhaps half a vector behind them.
 * first: the first lane; rest: number of lanes in the half vector. */
typedef struct {
    int64_t first, rest;
} conv_lanes;

/* The factors of a tile. Sum i adds x[i * apart + step * s] * lanes[s * lanes_apart] for each step s. A step takes
 * CONV_PAIR elements of x. */
typedef struct {
    const conv_number *x;
    int64_t apart, step, numbers;
    const float *lanes; /* a lane of bf16 holds a pair, which is as long as a float */
    int64_t lanes_apart;
} conv_run;

/* The sums of a tile. */
typedef struct {
    vector whole[CONV_LONG][CONV_VECTORS];
    half_vector half[CONV_LONG];
} conv_sums;

/* Adds x[i * apart] * lanes, for each i. */
INLINE void conv_add(conv_sums *sums, const conv_number *x, int64_t apart, const float *lanes, conv_lanes l, int n,
                     int nvectors, bool has_rest, bool alone)
{
    vector whole[CONV_VECTORS];
    half_vector half = {0};
    for (int v = 0; v < nvectors; v++) whole[v] = load(lanes + v * WIDTH);
    if (has_rest) half = load_some_half(lanes + nvectors * WIDTH, l.rest);
    for (int i = 0; i < n; i++) {
        const vector factor = alone ? conv_factor_alone(x + i * apart) : conv_factor(x + i * apart);
        for (int v = 0; v < nvectors; v++) sums->whole[i][v] = conv_multiply_add(factor, whole[v], sums->whole[i][v]);
        if (has_rest) sums->half[i] = conv_multiply_add_half(lower_half(factor), half, sums->half[i]);
    }
}

INLINE void conv_add_run(conv_sums *sums, const conv_run *run, conv_lanes l, int n, int nvectors, bool has_rest)
{
    const conv_number *x = run->x;
    const float *lanes = run->lanes;
    for (int64_t i = run->numbers / CONV_PAIR; i > 0; i--, x += run->step, lanes += run->lanes_apart)
        conv_add(sums, x, run->apart, lanes, l, n, nvectors, has_rest, false);
    if (run->numbers % CONV_PAIR) conv_add(sums, x, run->apart, lanes, l, n, nvectors, has_rest, true);
}

INLINE int64_t conv_steps(int64_t numbers)
{
    return (numbers + CONV_PAIR - 1) / CONV_PAIR;
}

INLINE void conv_begin(conv_sums *sums, const float *bias, int64_t rest, int n, int nvectors, bool has_rest)
{
    for (int i = 0; i < n; i++) {
        for (int v = 0; v < nvectors; v++) sums->whole[i][v] = bias ? load(bias + v * WIDTH) : all(0);
        if (has_rest) sums->half[i] = bias ? load_some_half(bias + nvectors * WIDTH, rest) : lower_half(all(0));
    }
}

INLINE half_vector rectify_half(half_vector v)
{
    const half_vector zero = {0};
    return (half_vector)((__typeof__(v <= zero))v & ~(v <= zero)); /* NaN stays NaN */
}

/* --- forward --- */

INLINE void conv_tile(const tutti_conv_call *c, int64_t y, int64_t x, conv_lanes l, int n, int nvectors, bool has_rest)
{
    const int64_t taps = c->kernel * c->channels;
    conv_sums sums;
    conv_begin(&sums, c->bias ? c->bias + l.first : NULL, l.rest, n, nvectors, has_rest);
    for (int64_t row = 0; row < c->kernel; row++) {
        const conv_run run = {(const conv_number *)c->in + ((y + row) * c->width + x) * c->channels,
                              c->channels,
                              CONV_PAIR,
                              taps,
                              (const float *)c->weights + row * conv_steps(taps) * c->out_channels + l.first,
                              c->out_channels};
        conv_add_run(&sums, &run, l, n, nvectors, has_rest);
    }
    conv_number *out = (conv_number *)c->out + (y * c->out_width + x) * c->out_channels + l.first;
    for (int i = 0; i < n; i++, out += c->out_channels) {
        for (int v = 0; v < nvectors; v++)
            conv_put(out + v * WIDTH, c->relu ? rectify(sums.whole[i][v]) : sums.whole[i][v]);
        if (has_rest)
            conv_put_half(out + nvectors * WIDTH, c->relu ? rectify_half(sums.half[i]) : sums.half[i], l.rest);
    }
}

/* Computes all rows of the output in tiles. The last tile of a row may begin earlier, so that it is full, and then
 * computes some positions twice. */
INLINE void conv_lanes_rows(const tutti_conv_call *c, conv_lanes l, int nvectors, bool has_rest)
{
    const int fit = CONV_SUMS / (nvectors + has_rest), n = fit >= CONV_LONG ? CONV_LONG : WIDTH < 16 ? fit : CONV_SHORT;
    for (int64_t y = 0; y < c->out_height; y++) {
        int64_t x = 0;
        for (; x + n <= c->out_width; x += n) conv_tile(c, y, x, l, n, nvectors, has_rest);
        if (x < c->out_width) conv_tile(c, y, c->out_width - n, l, n, nvectors, has_rest);
    }
}

/* --- gradient of the weights --- */

/* Computes the weights' gradient for the taps from `at` on of a row of the window. The first `known` of these taps were
 * computed before. */
INLINE void conv_taps(const tutti_conv_call *c, int64_t row, int64_t at, int known, conv_lanes l, int nvectors,
                      bool has_rest)
{
    enum { n = CONV_TAPS };
    conv_sums sums;
    conv_begin(&sums, NULL, l.rest, n, nvectors, has_rest);
    for (int64_t y = 0; y < c->out_height; y++) {
        const conv_run run = {(const conv_number *)c->in + ((y + row) * c->width * c->channels + at) * CONV_PAIR,
                              CONV_PAIR,
                              c->channels * CONV_PAIR * CONV_PAIR,
                              c->out_width,
                              (const float *)c->dout + y * conv_steps(c->out_width) * c->out_channels + l.first,
                              c->out_channels};
        conv_add_run(&sums, &run, l, n, nvectors, has_rest);
    }
    float *to = c->dweights + (row * c->kernel * c->channels + at) * c->out_channels + l.first;
    for (int i = 0; i < n; i++, to += c->out_channels) {
        if (i < known) continue;
        for (int v = 0; v < nvectors; v++) store(to + v * WIDTH, load(to + v * WIDTH) + sums.whole[i][v]);
        float *rest = to + nvectors * WIDTH;
        if (has_rest) store_some_half(rest, load_some_half(rest, l.rest) + sums.half[i], l.rest);
    }
}

INLINE void conv_lanes_taps(const tutti_conv_call *c, conv_lanes l, int nvectors, bool has_rest)
{
    const int64_t taps = c->kernel * c->channels;
    for (int64_t row = 0; row < c->kernel; row++) {
        int64_t at = 0;
        for (; at + CONV_TAPS <= taps; at += CONV_TAPS) conv_taps(c, row, at, 0, l, nvectors, has_rest);
        const int64_t last = taps - CONV_TAPS;
        if (at < taps) conv_taps(c, row, last, (int)(at - last), l, nvectors, has_rest);
    }
}

/* --- gradient of the input --- */

/* Adds to the input's gradient what a row of the window gets from the output positions (y, x), (y + 1, x), ... The
 * first `known` of these positions were computed before. */
INLINE void conv_spread(const tutti_conv_call *c, int64_t row, int64_t y, int64_t x, int known, conv_lanes l,
                        int nvectors, bool has_rest)
{
    enum { n = CONV_SHORT };
    const int64_t taps = c->kernel * c->channels;
    const conv_run run = {(const conv_number *)c->dout + (y * c->out_width + x) * c->out_channels,
                          c->out_width * c->out_channels,
                          CONV_PAIR,
                          c->out_channels,
                          (const float *)c->weights + row * taps + l.first,
                          c->kernel * taps};
    conv_sums sums;
    conv_begin(&sums, NULL, l.rest, n, nvectors, has_rest);
    conv_add_run(&sums, &run, l, n, nvectors, has_rest);
    float *to = c->din + ((y + row) * c->width + x) * c->channels + l.first;
    for (int i = 0; i < n; i++, to += c->width * c->channels) {
        if (i < known) continue;
        for (int v = 0; v < nvectors; v++) store(to + v * WIDTH, load(to + v * WIDTH) + sums.whole[i][v]);
        float *rest = to + nvectors * WIDTH;
        if (has_rest) store_some_half(rest, load_some_half(rest, l.rest) + sums.half[i], l.rest);
    }
}

INLINE void conv_lanes_spread(const tutti_conv_call *c, conv_lanes l, int nvectors, bool has_rest)
{
    for (int64_t row = 0; row < c->kernel; row++)
        for (int64_t next = 0; next < c->out_height; next += CONV_SHORT) {
            const int64_t y = at_most(next, c->out_height - CONV_SHORT);
            for (int64_t x = 0; x < c->out_width; x++)
                conv_spread(c, row, y, x, (int)(next - y), l, nvectors, has_rest);
        }
}

/* --- calls of the loops with the number of vectors as a constant --- */

typedef enum { CONV_FORWARD, CONV_WEIGHT_GRADIENT, CONV_INPUT_GRADIENT } conv_pass;

INLINE void conv_lanes_do(const tutti_conv_call *c, conv_lanes l, conv_pass pass, int nvectors, bool has_rest)
{
    switch (pass) {
    case CONV_FORWARD: conv_lanes_rows(c, l, nvectors, has_rest); break;
    case CONV_WEIGHT_GRADIENT: conv_lanes_taps(c, l, nvectors, has_rest); break;
    case CONV_INPUT_GRADIENT: conv_lanes_spread(c, l, nvectors, has_rest); break;
    }
}

INLINE int64_t conv_most(conv_pass pass)
{
    return pass == CONV_WEIGHT_GRADIENT ? CONV_MOST_TAPS : CONV_MOST;
}

/* Returns how many whole vectors the next tile has, if nlanes lanes are left. Tiles have one size as far as possible,
 * because small tiles wait for loads. */
INLINE int64_t conv_whole(int64_t nlanes, int64_t most)
{
    const int64_t vectors = (nlanes + WIDTH - 1) / WIDTH, tiles = (vectors + most - 1) / most;
    return at_most(at_most(nlanes / WIDTH, CONV_VECTORS), (vectors + tiles - 1) / tiles);
}

INLINE void conv_all(const tutti_conv_call *call, int64_t nlanes, conv_pass pass)
{
    const tutti_conv_call copy = *call, *c = &copy; /* a copy, to keep it in registers */
    const int64_t most = conv_most(pass);
    for (int64_t first = 0; first < nlanes;) {
        const int64_t n = conv_whole(nlanes - first, most), left = nlanes - first - n * WIDTH;
        const conv_lanes l = {first, left < WIDTH && n < most ? left : 0};
        switch (2 * n + (l.rest > 0)) {
        case 1: conv_lanes_do(c, l, pass, 0, true); break;
        case 2: conv_lanes_do(c, l, pass, 1, false); break;
        case 3: conv_lanes_do(c, l, pass, 1, true); break;
        case 4: conv_lanes_do(c, l, pass, 2, false); break;
        case 5: conv_lanes_do(c, l, pass, 2, true); break;
        case 6: conv_lanes_do(c, l, pass, 3, false); break;
        default: conv_lanes_do(c, l, pass, 3, true); break;
        }
        first += n * WIDTH + l.rest;
    }
}

INLINE void conv_left_do(const tutti_conv_call *c, conv_pass pass, int nleft)
{
    if (pass == CONV_FORWARD)
        conv_left_rows(c, nleft);
    else
        conv_left_weights(c, nleft);
}

/* Computes the channels that fill whole vectors or half of one, then the channels that are left over
 * (lane_conv_left.h). */
INLINE void conv_channels(const tutti_conv_call *c, conv_pass pass)
{
    conv_all(c, c->out_channels - c->nleft, pass);
    switch (c->nleft) {
    case 1: conv_left_do(c, pass, 1); break;
    case 2: conv_left_do(c, pass, 2); break;
    case 3: conv_left_do(c, pass, 3); break;
    case 4: conv_left_do(c, pass, 4); break;
    default: break;
    }
}

static void conv_forward(const tutti_conv_call *c)
{
    conv_channels(c, CONV_FORWARD);
}

static void conv_weight_gradient(const tutti_conv_call *c)
{
    conv_channels(c, CONV_WEIGHT_GRADIENT);
}

static void conv_input_gradient(const tutti_conv_call *c)
{
    conv_all(c, c->kernel * c->channels, CONV_INPUT_GRADIENT);
}

#endif
