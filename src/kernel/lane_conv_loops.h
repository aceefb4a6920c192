/* SPDX-License-Identifier: Apache-2.0 */
/* lane_conv_loops.h: convolutions whose output channels do not fill vectors: the loops of every row.
 *
 * Output channels lie across vectors, up to three and half a one, which costs half: of 50 channels 3.5 vectors are computed where whole
 * blocks of sixteen are 4, of 20 channels 1.5 where they are 2. A row of a window is one run of kernel * channels floats, its taps.
 * Forward a tile of sums is some positions of a row, backward some taps; either way each number is taken once for all vectors of
 * channels and each vector once for all of the tile, so that loads hide behind products. */
#ifndef TUTTI_LANE_CONV_LOOPS_H
#define TUTTI_LANE_CONV_LOOPS_H

#include "lane_loops.h"

enum {
    CONV_VECTORS = 3,
    CONV_SHORT = 4, /* positions of a tile of several vectors, of one */
    CONV_LONG = TUTTI_CONV_WIDTH,
    CONV_TAPS = TUTTI_CONV_TAPS
};

/* Output channels from the first on, in some vectors and so many lanes of half a one. */
typedef struct {
    int64_t first, rest;
} conv_lanes;

/* The sums of a tile. */
typedef struct {
    vector whole[CONV_LONG][CONV_VECTORS];
    half_vector half[CONV_LONG];
} conv_sums;

/* x[i * apart] * lanes, for each i. */
INLINE void conv_add(conv_sums *sums, const float *x, int64_t apart, const float *lanes, int64_t rest, int n,
                     int nvectors, bool has_rest)
{
    vector whole[CONV_VECTORS];
    half_vector half = {0};
    for (int v = 0; v < nvectors; v++) whole[v] = load(lanes + v * WIDTH);
    if (has_rest) half = load_some_half(lanes + nvectors * WIDTH, rest);
    for (int i = 0; i < n; i++) {
        const vector factor = all(x[i * apart]);
        for (int v = 0; v < nvectors; v++) sums->whole[i][v] = multiply_add(factor, whole[v], sums->whole[i][v]);
        if (has_rest) sums->half[i] = multiply_add_half(lower_half(factor), half, sums->half[i]);
    }
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
    return (half_vector)((__typeof__(v <= zero))v & ~(v <= zero)); /* a NaN stays one */
}

/* --- forward --- */

INLINE void conv_tile(const tutti_conv_call *c, int64_t y, int64_t x, conv_lanes l, int n, int nvectors, bool has_rest)
{
    const int64_t taps = c->kernel * c->channels;
    conv_sums sums;
    conv_begin(&sums, c->bias ? c->bias + l.first : NULL, l.rest, n, nvectors, has_rest);
    for (int64_t row = 0; row < c->kernel; row++) {
        const float *in = c->in + ((y + row) * c->width + x) * c->channels;
        const float *weights = c->weights + row * taps * c->out_channels + l.first;
        for (int64_t t = 0; t < taps; t++)
            conv_add(&sums, in + t, c->channels, weights + t * c->out_channels, l.rest, n, nvectors, has_rest);
    }
    float *out = c->out + (y * c->out_width + x) * c->out_channels + l.first;
    for (int i = 0; i < n; i++, out += c->out_channels) {
        for (int v = 0; v < nvectors; v++)
            store(out + v * WIDTH, c->relu ? rectify(sums.whole[i][v]) : sums.whole[i][v]);
        if (has_rest)
            store_some_half(out + nvectors * WIDTH, c->relu ? rectify_half(sums.half[i]) : sums.half[i], l.rest);
    }
}

/* A last tile that a row does not fill begins earlier and computes some positions twice. */
INLINE void conv_lanes_rows(const tutti_conv_call *c, conv_lanes l, int nvectors, bool has_rest)
{
    const int n = nvectors > 1 ? CONV_SHORT : CONV_LONG;
    for (int64_t y = 0; y < c->out_height; y++) {
        int64_t x = 0;
        for (; x + n <= c->out_width; x += n) conv_tile(c, y, x, l, n, nvectors, has_rest);
        if (x < c->out_width) conv_tile(c, y, c->out_width - n, l, n, nvectors, has_rest);
    }
}

/* --- gradient of the weights --- */

/* Taps from `at` on of a row of the window, the first `known` of which are there already. */
INLINE void conv_taps(const tutti_conv_call *c, int64_t row, int64_t at, int known, conv_lanes l, int nvectors,
                      bool has_rest)
{
    enum { n = CONV_TAPS };
    conv_sums sums;
    conv_begin(&sums, NULL, l.rest, n, nvectors, has_rest);
    for (int64_t y = 0; y < c->out_height; y++) {
        const float *in = c->in + (y + row) * c->width * c->channels + at;
        const float *dout = c->dout + y * c->out_width * c->out_channels + l.first;
        for (int64_t x = 0; x < c->out_width; x++)
            conv_add(&sums, in + x * c->channels, 1, dout + x * c->out_channels, l.rest, n, nvectors, has_rest);
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

/* --- with the number of vectors as a constant --- */

INLINE void conv_lanes_do(const tutti_conv_call *c, conv_lanes l, bool forward, int nvectors, bool has_rest)
{
    if (forward)
        conv_lanes_rows(c, l, nvectors, has_rest);
    else
        conv_lanes_taps(c, l, nvectors, has_rest);
}

INLINE void conv_all(const tutti_conv_call *call, bool forward)
{
    const tutti_conv_call copy = *call, *c = &copy; /* in registers */
    for (int64_t first = 0; first < c->out_channels;) {
        const int64_t n = at_most((c->out_channels - first) / WIDTH, CONV_VECTORS);
        const int64_t left = c->out_channels - first - n * WIDTH;
        const conv_lanes l = {first, left < WIDTH ? left : 0};
        switch (2 * n + (l.rest > 0)) {
        case 1: conv_lanes_do(c, l, forward, 0, true); break;
        case 2: conv_lanes_do(c, l, forward, 1, false); break;
        case 3: conv_lanes_do(c, l, forward, 1, true); break;
        case 4: conv_lanes_do(c, l, forward, 2, false); break;
        case 5: conv_lanes_do(c, l, forward, 2, true); break;
        case 6: conv_lanes_do(c, l, forward, 3, false); break;
        default: conv_lanes_do(c, l, forward, 3, true); break;
        }
        first += n * WIDTH + l.rest;
    }
}

static void conv(const tutti_conv_call *c)
{
    conv_all(c, true);
}

static void conv_gradient(const tutti_conv_call *c)
{
    conv_all(c, false);
}

#endif
