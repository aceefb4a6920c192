/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tile_plain.h: tiles in plain C for gemm_tile_loops.h. Sums follow TDPBF16PS in Intel's manual: for each row, the
 * products of even and of odd elements of k are summed apart; then both sums are added, and the result is added to the
 * tile's sum. Unlike AMX, they do not take subnormal numbers for zero. */
#ifndef TUTTI_GEMM_TILE_PLAIN_H
#define TUTTI_GEMM_TILE_PLAIN_H

#include <stdint.h>
#include <string.h>

typedef struct {
    uint32_t cell[8][16][16];
} tiles;

static inline float tile_number(uint32_t cell)
{
    float number;
    memcpy(&number, &cell, sizeof number);
    return number;
}

static inline void tile_clear(tiles *t, int n)
{
    memset(t->cell[n], 0, sizeof t->cell[n]);
}

static inline void tile_load(tiles *t, int n, const void *from, int64_t apart)
{
    for (int i = 0; i < 16; i++) memcpy(t->cell[n][i], (const char *)from + i * apart, sizeof t->cell[n][i]);
}

static inline void tile_store(tiles *t, int n, void *to, int64_t apart)
{
    for (int i = 0; i < 16; i++) memcpy((char *)to + i * apart, t->cell[n][i], sizeof t->cell[n][i]);
}

static inline void tile_multiply(tiles *t, int c, int a, int b)
{
    for (int i = 0; i < 16; i++) {
        float even[16] = {0}, odd[16] = {0};
        for (int p = 0; p < 16; p++) {
            const float first = tile_number(t->cell[a][i][p] << 16),
                        second = tile_number(t->cell[a][i][p] & 0xffff0000u);
            for (int j = 0; j < 16; j++) {
                even[j] += first * tile_number(t->cell[b][p][j] << 16);
                odd[j] += second * tile_number(t->cell[b][p][j] & 0xffff0000u);
            }
        }
        for (int j = 0; j < 16; j++) {
            const float sum = tile_number(t->cell[c][i][j]) + (even[j] + odd[j]);
            memcpy(&t->cell[c][i][j], &sum, sizeof sum);
        }
    }
}

#endif
