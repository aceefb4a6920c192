/* SPDX-License-Identifier: Apache-2.0 */
/* tile_conv_amx.c: tile_conv.h by AMX. Of the eight tiles four are sums of up to 64 output channels, two hold channels, one the last ones,
 * which need not be sixteen, and one taps: of a product of 32 positions the taps are loaded once. */
#include "tile_conv.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "../tensor/vector.h"
#include "tile_config.h"

enum { SIDE = 16, POSITIONS = 32, TILE = SIDE * POSITIONS };

static int64_t taps_of(const tutti_tile_conv *c)
{
    return c->kernel * c->channels;
}

static int64_t ntiles_of(const tutti_tile_conv *c)
{
    return (c->out_channels + SIDE - 1) / SIDE;
}

static int64_t nsteps_of(const tutti_tile_conv *c)
{
    return ((c->out_height - 1) * c->width + c->out_width + POSITIONS - 1) / POSITIONS;
}

static int64_t turned_of(const tutti_tile_conv *c)
{
    return nsteps_of(c) * ntiles_of(c) * TILE;
}

/* The last pair of the last step, as far as the last tap of the last row sees it; or all that there is. */
static int64_t pairs_of(const tutti_tile_conv *c)
{
    const int64_t read = (nsteps_of(c) * POSITIONS - 2 + (c->kernel - 1) * c->width) * c->channels + taps_of(c);
    const int64_t there = (c->out_height + c->kernel - 1) * c->width * c->channels;
    return read > there ? read : there;
}

/* ---- gradients ---- */

typedef struct {
    int64_t y, x;
} position;

/* Of the next 32 positions, where the gradients of their outputs lie; NULL: there is none. */
static void find_gradients(const tutti_tile_conv *c, const uint16_t *dout, position *next, const uint16_t **at)
{
    for (int i = 0; i < POSITIONS; i++) {
        const bool is_output = next->y < c->out_height && next->x < c->out_width;
        at[i] = is_output ? dout + (next->y * c->out_width + next->x) * c->out_channels : NULL;
        if (++next->x == c->width) *next = (position){next->y + 1, 0};
    }
}

/* n channels from the first on. */
static __m512i channels_at(const uint16_t *at, int64_t first, int64_t n)
{
    return at ? _mm512_cvtepu16_epi32(load_some_halves(at + first, n)) : _mm512_setzero_si512();
}

static void turn(const tutti_tile_conv *c, const uint16_t *dout, uint16_t *to)
{
    position next = {0, 0};
    for (int64_t step = 0; step < nsteps_of(c); step++) {
        const uint16_t *at[POSITIONS];
        find_gradients(c, dout, &next, at);
        for (int64_t first = 0; first < c->out_channels; first += SIDE, to += TILE) {
            const int64_t left = c->out_channels - first, n = left < SIDE ? left : SIDE;
            vector pairs[SIDE];
            for (int i = 0; i < SIDE; i++) {
                const __m512i below = channels_at(at[2 * i], first, n), above = channels_at(at[2 * i + 1], first, n);
                pairs[i] = (vector)_mm512_or_si512(below, _mm512_slli_epi32(above, 16));
            }
            transpose(pairs);
            for (int i = 0; i < SIDE; i++) _mm512_store_si512(to + i * POSITIONS, (__m512i)pairs[i]);
        }
    }
}

/* ---- inputs ---- */

static void pair(const tutti_tile_conv *c, const uint16_t *in, uint32_t *to)
{
    const int64_t there = (c->out_height + c->kernel - 1) * c->width * c->channels, paired = there - c->channels;
    for (int64_t i = 0; i < paired; i++) to[i] = in[i] | (uint32_t)in[i + c->channels] << 16;
    for (int64_t i = paired; i < there; i++) to[i] = in[i];
    memset(to + there, 0, (size_t)(pairs_of(c) - there) * sizeof *to);
}

/* ---- products ---- */

/* Numbers of tiles are parts of instructions' names. */
#define SUMS0         0
#define SUMS1         1
#define SUMS2         2
#define LAST_SUMS     3
#define CHANNELS0     4
#define CHANNELS1     5
#define LAST_CHANNELS 6
#define TAPS          7

/* Taps: so many side by side. */
static void configure(const tutti_tile_conv *c, int64_t ntaps)
{
    const int64_t last = c->out_channels - (ntiles_of(c) - 1) * SIDE;
    tile_config t = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        const bool is_channels = i == CHANNELS0 || i == CHANNELS1 || i == LAST_CHANNELS;
        t.rows[i] = (uint8_t)(i == LAST_SUMS || i == LAST_CHANNELS ? last : SIDE);
        t.row_bytes[i] = (uint16_t)((is_channels ? SIDE : ntaps) * 4);
    }
    tile_config_take(&t);
}

/* A tile of taps, of n samples. */
static void multiply_taps(const tutti_tile_conv *c, int64_t n, const uint16_t *turned, const uint32_t *pairs,
                          float *sums)
{
    const int64_t ntiles = ntiles_of(c), nsteps = nsteps_of(c), apart = pairs_of(c);
    const size_t row = (size_t)(c->kernel * taps_of(c)) * sizeof *sums, pair = (size_t)c->channels * 2 * sizeof *pairs;
    char *at = (char *)sums;
    if (ntiles > 1) _tile_loadd(SUMS0, at, row);
    if (ntiles > 2) _tile_loadd(SUMS1, at + SIDE * row, row);
    if (ntiles > 3) _tile_loadd(SUMS2, at + 2 * SIDE * row, row);
    _tile_loadd(LAST_SUMS, at + (size_t)(ntiles - 1) * SIDE * row, row);
    for (int64_t i = 0; i < n; i++, pairs += apart)
        for (int64_t step = 0; step < nsteps; step++, turned += ntiles * TILE) {
            _tile_loadd(TAPS, pairs + step * POSITIONS * c->channels, pair);
            if (ntiles > 1) _tile_loadd(CHANNELS0, turned, 2 * POSITIONS);
            if (ntiles > 1) _tile_dpbf16ps(SUMS0, CHANNELS0, TAPS);
            if (ntiles > 2) _tile_loadd(CHANNELS1, turned + TILE, 2 * POSITIONS);
            if (ntiles > 2) _tile_dpbf16ps(SUMS1, CHANNELS1, TAPS);
            if (ntiles > 3) _tile_loadd(CHANNELS0, turned + 2 * TILE, 2 * POSITIONS);
            if (ntiles > 3) _tile_dpbf16ps(SUMS2, CHANNELS0, TAPS);
            _tile_loadd(LAST_CHANNELS, turned + (ntiles - 1) * TILE, 2 * POSITIONS);
            _tile_dpbf16ps(LAST_SUMS, LAST_CHANNELS, TAPS);
        }
    if (ntiles > 1) _tile_stored(SUMS0, at, row);
    if (ntiles > 2) _tile_stored(SUMS1, at + SIDE * row, row);
    if (ntiles > 3) _tile_stored(SUMS2, at + 2 * SIDE * row, row);
    _tile_stored(LAST_SUMS, at + (size_t)(ntiles - 1) * SIDE * row, row);
}

/* oneDNN remembers how it has configured a thread's tiles. */
static void multiply(const tutti_tile_conv *c, int64_t n, const uint16_t *turned, const uint32_t *pairs, float *sums)
{
    const int64_t taps = taps_of(c), whole = taps / SIDE * SIDE;
    tile_config before;
    atomic_signal_fence(memory_order_seq_cst); /* the compiler does not know what tiles load */
    tile_config_save(&before);
    configure(c, SIDE);
    for (int64_t row = 0; row < c->kernel; row++)
        for (int64_t tap = 0; tap < whole; tap += SIDE)
            multiply_taps(c, n, turned, pairs + row * c->width * c->channels + tap, sums + row * taps + tap);
    if (whole < taps) configure(c, taps - whole);
    for (int64_t row = 0; row < c->kernel && whole < taps; row++)
        multiply_taps(c, n, turned, pairs + row * c->width * c->channels + whole, sums + row * taps + whole);
    tile_config_take(&before);
}

const tutti_tile_conv_loops tutti_tile_conv_amx = {turned_of, pairs_of, turn, pair, multiply};
