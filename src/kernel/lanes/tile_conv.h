/* SPDX-License-Identifier: Apache-2.0 */
/* tile_conv.h: the weights' gradient of a convolution of bf16 by tiles of AMX, sample by sample, with channels
 * innermost.
 *
 * The gradient is a matrix product whose sums run over positions: the gradients of each output channel times the inputs
 * of each tap. A tile holds 32 positions of 16 channels, or of 16 taps in pairs. Positions are counted along the rows
 * of the *input*, so the positions of any tap follow each other in memory, shifted by the tap's own offset: no matrix
 * of windows is needed. The last positions of such a row have no output; their gradients are zeros. So an infinity in
 * the input also makes NaN of taps that do not use it.
 *
 * With a stride the input is split into planes: positions whose rows and columns have the same remainders by the stride
 * lie in one plane, which each tap reads without a stride. Then a tile of taps is filled by the channels of one tap.
 *
 * The caller has put zeros around the input. Threads: any; the configuration of the calling thread's tiles is
 * restored. */
#ifndef TUTTI_TILE_CONV_H
#define TUTTI_TILE_CONV_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t channels, height, width; /* channels, height and width of the input */
    int64_t out_channels, out_height, out_width, kernel, stride;
} tutti_tile_conv;

/* GROUP: number of output channels whose sums stay in tiles; if a convolution has more, they must fill whole tiles.
 * SIDE: side of a tile. */
enum { TUTTI_TILE_CONV_GROUP = 64, TUTTI_TILE_CONV_SIDE = 16 };
static inline bool tutti_tile_conv_fits(int64_t channels, int64_t out_channels, int64_t stride)
{
    return (out_channels <= TUTTI_TILE_CONV_GROUP || out_channels % TUTTI_TILE_CONV_SIDE == 0) &&
           (stride == 1 || channels % TUTTI_TILE_CONV_SIDE == 0);
}

typedef struct {
    /* Return, for a sample, how many 16-bit elements `turn` writes (to a place aligned to 64 bytes), and how many words
     * `pair` writes. */
    int64_t (*turned)(const tutti_tile_conv *c);
    int64_t (*pairs)(const tutti_tile_conv *c);
    /* Copies gradients (out_height, out_width, out_channels) into tiles, each of which holds 32 positions of 16
     * channels. */
    void (*turn)(const tutti_tile_conv *c, const uint16_t *dout, uint16_t *to);
    /* Pairs each element of the input with that of the next position, and writes zeros behind them. */
    void (*pair)(const tutti_tile_conv *c, const uint16_t *in, uint32_t *to);
    /* Adds the products of n samples to sums (out_channels, kernel, kernel, channels). The processor must have AMX, and
     * the process must have asked the system for its use, as oneDNN does. */
    void (*multiply)(const tutti_tile_conv *c, int64_t n, const uint16_t *turned, const uint32_t *pairs, float *sums);
} tutti_tile_conv_loops;

extern const tutti_tile_conv_loops tutti_tile_conv_amx;
/* Returns the loops, or NULL in builds for processors that have no tiles. */
const tutti_tile_conv_loops *tutti_tile_conv_here(void);

#endif
