/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_tiles.h: AMX (tiles, products of bf16) for immintrin.h: each thread has eight tiles in each file that
 * includes this. What was not configured, and shapes that do not fit each other, end the program, as the processor
 * would. */
#ifndef TUTTI_EMULATED_TILES_H
#define TUTTI_EMULATED_TILES_H

#include "emulated_bf16.h"

/* As LDTILECFG reads it, and what the tiles hold. */
typedef struct {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config;
    uint8_t tile[8][16][64];
} emulated_tile_state;

static _Thread_local emulated_tile_state emulated_tiles;

static inline void emulated_loadconfig(const void *config)
{
    emulated_tile_state *t = &emulated_tiles;
    memcpy(&t->config, config, sizeof t->config);
    memset(t->tile, 0, sizeof t->tile);
    if (t->config.palette > 1) abort();
    for (int i = 0; i < 8 && t->config.palette; i++)
        if (t->config.rows[i] > 16 || t->config.row_bytes[i] > 64 || !t->config.rows[i] != !t->config.row_bytes[i])
            abort();
}

static inline void emulated_storeconfig(void *config)
{
    memcpy(config, &emulated_tiles.config, sizeof emulated_tiles.config);
}

/* A tile that is configured. */
static inline emulated_tile_state *emulated_tile(int n)
{
    emulated_tile_state *t = &emulated_tiles;
    if (!t->config.palette || !t->config.rows[n]) abort();
    return t;
}

static inline void emulated_tile_zero(int n)
{
    memset(emulated_tile(n)->tile[n], 0, sizeof emulated_tiles.tile[n]);
}

static inline void emulated_tile_loadd(int n, const void *from, size_t apart)
{
    emulated_tile_state *t = emulated_tile(n);
    memset(t->tile[n], 0, sizeof t->tile[n]);
    for (int i = 0; i < t->config.rows[n]; i++)
        memcpy(t->tile[n][i], (const char *)from + (size_t)i * apart, t->config.row_bytes[n]);
}

static inline void emulated_tile_stored(int n, void *to, size_t apart)
{
    const emulated_tile_state *t = emulated_tile(n);
    for (int i = 0; i < t->config.rows[n]; i++)
        memcpy((char *)to + (size_t)i * apart, t->tile[n][i], t->config.row_bytes[n]);
}

/* Eight numbers of 32 bits of a row. */
static inline __m256i emulated_cells(const uint8_t row[64], int upper)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)(row + (upper ? 32 : 0)));
}

/* Even and odd numbers of k are summed apart, then together, then to the sum. Lanes behind the last column are computed
 * and not stored. */
static inline void emulated_tile_dpbf16ps(int c, int a, int b)
{
    emulated_tile_state *t = emulated_tile(c);
    const int rows = emulated_tile(a)->config.rows[a], steps = t->config.row_bytes[a] / 4;
    const int columns = emulated_tile(b)->config.row_bytes[b] / 4;
    if (t->config.rows[c] != rows || t->config.row_bytes[c] / 4 != columns || t->config.rows[b] != steps) abort();
    for (int i = 0; i < rows; i++) {
        __m256 even[2] = {{0}}, odd[2] = {{0}};
        for (int p = 0; p < steps; p++) {
            int pair;
            memcpy(&pair, t->tile[a][i] + 4 * p, sizeof pair);
            const __m256 first = emulated_firsts(_mm256_set1_epi32(pair)),
                         second = emulated_seconds(_mm256_set1_epi32(pair));
            for (int upper = 0; upper < 2; upper++) {
                const __m256i right = emulated_cells(t->tile[b][p], upper);
                even[upper] = emulated_flushed(_mm256_fmadd_ps(first, emulated_firsts(right), even[upper]));
                odd[upper] = emulated_flushed(_mm256_fmadd_ps(second, emulated_seconds(right), odd[upper]));
            }
        }
        __m256 sums[2];
        for (int upper = 0; upper < 2; upper++)
            sums[upper] = emulated_flushed(emulated_flushed((__m256)emulated_cells(t->tile[c][i], upper)) +
                                           emulated_flushed(even[upper] + odd[upper]));
        memcpy(t->tile[c][i], sums, (size_t)columns * 4);
    }
}

#endif
