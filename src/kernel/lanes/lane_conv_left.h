/* SPDX-License-Identifier: Apache-2.0 */
/* lane_conv_left.h: computes the few output channels that are left over behind whole vectors, by lanes that hold taps.
 * Included by lane_conv_loops.h.
 *
 * On a processor that starts two vector instructions a cycle, of whole vectors as well as of half ones, half a vector
 * costs as much as a whole one. So of 50 channels the last two would take a fourth vector. The taps of a row of the
 * window lie side by side in memory, so vectors of them are full: 100 taps are 6.25 vectors. In the forward pass the
 * lanes of each sum are added up in the end, for as many sums at a time as a vector has lanes. The weights' gradient
 * needs no such addition. */
#ifndef TUTTI_LANE_CONV_LEFT_H
#define TUTTI_LANE_CONV_LEFT_H

#include "lane_loops.h"

enum { CONV_NUMBERS = WIDTH * CONV_PAIR }; /* number of elements in a vector */

/* --- forward --- */

/* Adds x[i * apart ..] * weights[left * weights_apart ..] to sum (i, left), lane by lane. n elements are multiplied;
 * the other lanes stay as they are. */
INLINE void conv_left_add(vector *sums, const conv_number *x, int64_t apart, const conv_number *weights,
                          int64_t weights_apart, int64_t n, int positions, int nleft)
{
    const bool whole = n == CONV_NUMBERS;
    vector of[TUTTI_CONV_LEFT];
    for (int left = 0; left < nleft; left++) {
        const conv_number *at = weights + left * weights_apart;
        of[left] = whole ? conv_take(at) : conv_take_some(at, n);
    }
    for (int i = 0; i < positions; i++, x += apart) {
        const vector taps = whole ? conv_take(x) : conv_take_some(x, n);
        for (int left = 0; left < nleft; left++)
            sums[i * nleft + left] = conv_multiply_add(taps, of[left], sums[i * nleft + left]);
    }
}

/* Computes a tile of outputs from (y, x) on. `bias` holds the bias of each (position, channel), one a lane. */
INLINE void conv_left_tile(const tutti_conv_call *c, int64_t y, int64_t x, vector bias, int positions, int nleft)
{
    const int64_t taps = c->kernel * c->channels;
    vector sums[WIDTH] = {{0}}, sum = bias;
    for (int64_t row = 0; row < c->kernel; row++) {
        const conv_number *in = (const conv_number *)c->in + ((y + row) * c->width + x) * c->channels;
        const conv_number *weights = (const conv_number *)c->left + row * nleft * taps;
        int64_t at = 0;
        for (; at + CONV_NUMBERS <= taps; at += CONV_NUMBERS)
            conv_left_add(sums, in + at, c->channels, weights + at, taps, CONV_NUMBERS, positions, nleft);
        if (at < taps) conv_left_add(sums, in + at, c->channels, weights + at, taps, taps - at, positions, nleft);
    }
    transpose(sums);
    for (int i = 0; i < WIDTH; i++) sum += sums[i];
    conv_number numbers[WIDTH];
    conv_put(numbers, c->relu ? rectify(sum) : sum);
    conv_number *out = (conv_number *)c->out + (y * c->out_width + x + 1) * c->out_channels - nleft;
    for (int i = 0; i < positions; i++, out += c->out_channels)
        for (int left = 0; left < nleft; left++) out[left] = numbers[i * nleft + left];
}

/* Computes all rows of the output in tiles. A last tile that does not fill its row begins earlier, as in
 * conv_lanes_rows. */
INLINE void conv_left_rows(const tutti_conv_call *c, int nleft)
{
    const int n = WIDTH / nleft < CONV_LONG ? WIDTH / nleft : CONV_LONG;
    float bias[WIDTH] = {0};
    for (int i = 0; i < n * nleft && c->bias; i++) bias[i] = c->bias[c->out_channels - nleft + i % nleft];
    for (int64_t y = 0; y < c->out_height; y++) {
        int64_t x = 0;
        for (; x + n <= c->out_width; x += n) conv_left_tile(c, y, x, load(bias), n, nleft);
        if (x < c->out_width) conv_left_tile(c, y, c->out_width - n, load(bias), n, nleft);
    }
}

/* --- gradient of the weights --- */

/* Multiplies the vectors of taps at x by the factors of one step and adds the products to the sums. */
INLINE void conv_left_step(vector sums[TUTTI_CONV_LEFT_VECTORS][TUTTI_CONV_LEFT], const conv_number *x,
                           const float *dout, int nleft, bool alone)
{
    vector factor[TUTTI_CONV_LEFT];
    for (int left = 0; left < nleft; left++) factor[left] = conv_factor((const conv_number *)(dout + left));
    for (int v = 0; v < TUTTI_CONV_LEFT_VECTORS; v++) {
        const conv_number *at = x + v * CONV_NUMBERS;
        const vector taps = alone ? conv_take_lower(at) : conv_take(at);
        for (int left = 0; left < nleft; left++) sums[v][left] = conv_multiply_add(factor[left], taps, sums[v][left]);
    }
}

/* Computes the weights' gradient for the taps from `at` on of a row of the window. The first `known` of these taps were
 * computed before. */
INLINE void conv_left_taps(const tutti_conv_call *c, int64_t row, int64_t at, int64_t known, int nleft)
{
    const int64_t step = c->channels * CONV_PAIR * CONV_PAIR;
    vector sums[TUTTI_CONV_LEFT_VECTORS][TUTTI_CONV_LEFT] = {{{0}}};
    const float *dout = (const float *)c->dout + c->out_channels - nleft;
    for (int64_t y = 0; y < c->out_height; y++) {
        const conv_number *x = (const conv_number *)c->in + ((y + row) * c->width * c->channels + at) * CONV_PAIR;
        for (int64_t i = c->out_width / CONV_PAIR; i > 0; i--, x += step, dout += c->out_channels)
            conv_left_step(sums, x, dout, nleft, false);
        if (c->out_width % CONV_PAIR) conv_left_step(sums, x, dout, nleft, true), dout += c->out_channels;
    }
    float *to = c->dweights + (row * c->kernel * c->channels + at + 1) * c->out_channels - nleft;
    for (int left = 0; left < nleft; left++) {
        float tap[TUTTI_CONV_LEFT_VECTORS * WIDTH];
        for (int v = 0; v < TUTTI_CONV_LEFT_VECTORS; v++) store(tap + v * WIDTH, sums[v][left]);
        for (int64_t i = known; i < TUTTI_CONV_LEFT_VECTORS * WIDTH; i++) to[i * c->out_channels + left] += tap[i];
    }
}

INLINE void conv_left_weights(const tutti_conv_call *c, int nleft)
{
    enum { n = TUTTI_CONV_LEFT_VECTORS * WIDTH };
    const int64_t taps = c->kernel * c->channels, last = taps - n;
    for (int64_t row = 0; row < c->kernel; row++) {
        int64_t at = 0;
        for (; at <= last; at += n) conv_left_taps(c, row, at, 0, nleft);
        if (at < taps) conv_left_taps(c, row, last, at - last, nleft);
    }
}

#endif
