/* SPDX-License-Identifier: Apache-2.0 */
/* tile_conv_amx.c: the weights' gradient of a bf16 convolution by tiles of AMX (tile_conv.h). Four of the eight tiles
 * hold the sums of a group (up to 64 output channels). Two more hold gradients of sixteen channels each, one holds
 * those of the last channels, which may be fewer than sixteen, and one holds taps. For a product over 32 positions, the
 * taps are loaded once for each group. */
#include "tile_conv.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "../../tensor/vector.h"
#include "../gemm/tile_config.h"

enum { SIDE = 16, POSITIONS = 32, TILE = SIDE * POSITIONS, GROUP = TUTTI_TILE_CONV_GROUP / SIDE };

static int64_t taps_of(const tutti_tile_conv *c)
{
    return c->kernel * c->channels;
}

static int64_t ntiles_of(const tutti_tile_conv *c)
{
    return (c->out_channels + SIDE - 1) / SIDE;
}

/* Returns the number of positions in a row of the plane that taps read. */
static int64_t row_of(const tutti_tile_conv *c)
{
    return c->stride == 1 ? c->width : c->out_width + (c->kernel - 1) / c->stride;
}

/* Returns the number of positions of the plane that taps read. */
static int64_t plane_of(const tutti_tile_conv *c)
{
    return (c->out_height + (c->kernel - 1) / c->stride) * row_of(c);
}

/* Returns how many channels have their words side by side at each position of a plane. These are all channels, or
 * sixteen if they fill tiles: then each sixteen channels have a plane, so that the rows of a tile lie close to each
 * other. */
static int64_t lanes_of(const tutti_tile_conv *c)
{
    return c->channels % SIDE == 0 ? SIDE : c->channels;
}

static int64_t nsteps_of(const tutti_tile_conv *c)
{
    return ((c->out_height - 1) * row_of(c) + c->out_width + POSITIONS - 1) / POSITIONS;
}

static int64_t turned_of(const tutti_tile_conv *c)
{
    return nsteps_of(c) * ntiles_of(c) * TILE;
}

static int64_t nplanes_of(const tutti_tile_conv *c)
{
    return c->stride * c->stride * (c->channels / lanes_of(c));
}

/* Returns the offset, in words, of the first word that a tap reads. */
static int64_t tap_at(const tutti_tile_conv *c, int64_t row, int64_t tap)
{
    const int64_t column = tap / c->channels, channel = tap % c->channels, lanes = lanes_of(c);
    const int64_t phase = row % c->stride * c->stride + column % c->stride;
    const int64_t plane = phase * (c->channels / lanes) + channel / lanes;
    return (plane * plane_of(c) + row / c->stride * row_of(c) + column / c->stride) * lanes + channel % lanes;
}

/* Returns the number of words that `pair` writes: all words of the planes, or more if the last tap of the last plane
 * reads beyond them. */
static int64_t pairs_of(const tutti_tile_conv *c)
{
    const int64_t all = nplanes_of(c) * plane_of(c), last = (c->kernel - 1) / c->stride;
    const int64_t read = all - plane_of(c) + nsteps_of(c) * POSITIONS - 1 + last * (row_of(c) + 1);
    return (read > all ? read : all) * lanes_of(c);
}

/* ---- gradients ---- */

typedef struct {
    int64_t y, x;
} position;

/* Writes to `at` the addresses of the gradients of the outputs at the next 32 positions. NULL means that a position has
 * no output. */
static void find_gradients(const tutti_tile_conv *c, const uint16_t *dout, position *next, const uint16_t **at)
{
    const int64_t row = row_of(c);
    for (int i = 0; i < POSITIONS; i++) {
        const bool is_output = next->y < c->out_height && next->x < c->out_width;
        at[i] = is_output ? dout + (next->y * c->out_width + next->x) * c->out_channels : NULL;
        if (++next->x == row) *next = (position){next->y + 1, 0};
    }
}

/* Loads n channels from `first` on; the other lanes are zero. */
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

static void pair_all(const tutti_tile_conv *c, const uint16_t *in, uint32_t *to)
{
    const int64_t there = plane_of(c) * c->channels, paired = there - c->channels;
    for (int64_t i = 0; i < paired; i++) to[i] = in[i] | (uint32_t)in[i + c->channels] << 16;
    for (int64_t i = paired; i < there; i++) to[i] = in[i];
}

/* Returns the address of position (y, x) in the plane of positions that have the remainders `rest`. Returns NULL if it
 * lies outside the input, where no output reads. */
static const uint16_t *input_at(const tutti_tile_conv *c, const uint16_t *in, int64_t y, int64_t x, position rest)
{
    const int64_t down = y * c->stride + rest.y, right = x * c->stride + rest.x;
    return down < c->height && right < c->width ? in + (down * c->width + right) * c->channels : NULL;
}

/* Pairs the elements of sixteen channels, which begin at `in`. */
static void pair_plane(const tutti_tile_conv *c, const uint16_t *in, position rest, uint32_t *to)
{
    const int64_t row = row_of(c), n = plane_of(c);
    position next = {0, 0};
    const uint16_t *at = input_at(c, in, 0, 0, rest);
    for (int64_t i = 1; i <= n; i++, to += SIDE) {
        if (++next.x == row) next = (position){next.y + 1, 0};
        const uint16_t *behind = i < n ? input_at(c, in, next.y, next.x, rest) : NULL;
        const __m512i above = _mm512_slli_epi32(channels_at(behind, 0, SIDE), 16);
        _mm512_storeu_si512(to, _mm512_or_si512(channels_at(at, 0, SIDE), above));
        at = behind;
    }
}

static void pair(const tutti_tile_conv *c, const uint16_t *in, uint32_t *to)
{
    const int64_t lanes = lanes_of(c), plane = plane_of(c) * lanes, there = nplanes_of(c) * plane;
    uint32_t *next = to;
    for (int64_t y = 0; y < c->stride && lanes == SIDE; y++)
        for (int64_t x = 0; x < c->stride; x++)
            for (int64_t first = 0; first < c->channels; first += SIDE, next += plane)
                pair_plane(c, in + first, (position){y, x}, next);
    if (lanes != SIDE) pair_all(c, in, to);
    memset(to + there, 0, (size_t)(pairs_of(c) - there) * sizeof *to);
}

/* ---- products ---- */

/* Numbers of the tiles. They are macros because a tile instruction needs its number in its text. */
#define SUMS0         0
#define SUMS1         1
#define SUMS2         2
#define LAST_SUMS     3
#define CHANNELS0     4
#define CHANNELS1     5
#define LAST_CHANNELS 6
#define TAPS          7

/* Configures the thread's tiles for `ntaps` taps side by side. */
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

/* Multiplies one tile of taps with one group of tiles of channels, for n samples. `turned` and `sums` begin at the
 * group's first tile. */
static void multiply_group(const tutti_tile_conv *c, int64_t n, const uint16_t *turned, const uint32_t *pairs,
                           float *sums, int64_t ntiles)
{
    const int64_t all = ntiles_of(c) * TILE, nsteps = nsteps_of(c), apart = pairs_of(c), lanes = lanes_of(c);
    const size_t row = (size_t)(c->kernel * taps_of(c)) * sizeof *sums, pair = (size_t)lanes * 2 * sizeof *pairs;
    char *at = (char *)sums;
    if (ntiles > 1) _tile_loadd(SUMS0, at, row);
    if (ntiles > 2) _tile_loadd(SUMS1, at + SIDE * row, row);
    if (ntiles > 3) _tile_loadd(SUMS2, at + 2 * SIDE * row, row);
    _tile_loadd(LAST_SUMS, at + (size_t)(ntiles - 1) * SIDE * row, row);
    for (int64_t i = 0; i < n; i++, pairs += apart)
        for (int64_t step = 0; step < nsteps; step++, turned += all) {
            _tile_loadd(TAPS, pairs + step * POSITIONS * lanes, pair);
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

/* Multiplies one tile of taps with all groups, while the taps are in the cache. If there are several groups, the last
 * tile of each is whole (tutti_tile_conv_fits). */
static void multiply_taps(const tutti_tile_conv *c, int64_t n, const uint16_t *turned, const uint32_t *pairs,
                          float *sums)
{
    const int64_t ntiles = ntiles_of(c), row = c->kernel * taps_of(c);
    for (int64_t first = 0; first < ntiles; first += GROUP) {
        const int64_t left = ntiles - first;
        multiply_group(c, n, turned + first * TILE, pairs, sums + first * SIDE * row, left < GROUP ? left : GROUP);
    }
}

/* Multiplies all taps with all groups. Restores the configuration of the thread's tiles, because oneDNN remembers its
 * own. */
static void multiply(const tutti_tile_conv *c, int64_t n, const uint16_t *turned, const uint32_t *pairs, float *sums)
{
    const int64_t taps = taps_of(c), whole = taps / SIDE * SIDE;
    tile_config before;
    atomic_signal_fence(memory_order_seq_cst); /* the compiler does not know that tile instructions read memory */
    tile_config_save(&before);
    configure(c, SIDE);
    for (int64_t row = 0; row < c->kernel; row++)
        for (int64_t tap = 0; tap < whole; tap += SIDE)
            multiply_taps(c, n, turned, pairs + tap_at(c, row, tap), sums + row * taps + tap);
    if (whole < taps) configure(c, taps - whole);
    for (int64_t row = 0; row < c->kernel && whole < taps; row++)
        multiply_taps(c, n, turned, pairs + tap_at(c, row, whole), sums + row * taps + whole);
    tile_config_take(&before);
}

const tutti_tile_conv_loops tutti_tile_conv_amx = {turned_of, pairs_of, turn, pair, multiply};
