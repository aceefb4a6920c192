/* SPDX-License-Identifier: Apache-2.0 */
/* tile_conv.h: the weights' gradient of a convolution of bf16 by tiles of AMX, sample by sample, with channels
 * innermost.
 *
 * It is a product over positions: of each output channel's gradients with each tap's inputs. A tile holds 32 positions
 * of 16 channels, or of 16 taps in pairs. Positions are counted along the rows of the *input*, so that those of any tap
 * follow each other in memory, as far as its first one away: there is no matrix of windows. At the end of such a row
 * there are positions without an output: their gradients are zeros. So an infinity in the input makes NaN of taps that
 * it has no part in, too.
 *
 * With a stride the input is taken apart: positions whose rows, and columns, leave the same rest by it lie in a plane
 * of their own, which each tap that reads them walks over without a stride. Then tiles of taps are filled by channels
 * alone.
 *
 * Who calls has put zeros around the input. Threads: shared; the calling thread's tiles are left configured as they
 * were. */
#ifndef TUTTI_TILE_CONV_H
#define TUTTI_TILE_CONV_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t channels, height, width; /* of the input */
    int64_t out_channels, out_height, out_width, kernel, stride;
} tutti_tile_conv;

/* Output channels whose sums stay in tiles; of more of them tiles are whole. */
enum { TUTTI_TILE_CONV_GROUP = 64, TUTTI_TILE_CONV_SIDE = 16 };
static inline bool tutti_tile_conv_fits(int64_t channels, int64_t out_channels, int64_t stride)
{
    return (out_channels <= TUTTI_TILE_CONV_GROUP || out_channels % TUTTI_TILE_CONV_SIDE == 0) &&
           (stride == 1 || channels % TUTTI_TILE_CONV_SIDE == 0);
}

typedef struct {
    /* For a sample: 16-bit numbers of its turned gradient (whose place is aligned to 64 bytes), words of its pairs. */
    int64_t (*turned)(const tutti_tile_conv *c);
    int64_t (*pairs)(const tutti_tile_conv *c);
    /* Gradients (out_height, out_width, out_channels) as tiles of channels. */
    void (*turn)(const tutti_tile_conv *c, const uint16_t *dout, uint16_t *to);
    /* Each number of the input with that of the next position, and zeros behind them. */
    void (*pair)(const tutti_tile_conv *c, const uint16_t *in, uint32_t *to);
    /* sums (out_channels, kernel, kernel, channels) += the products of n samples. On processors with AMX whose use the
     * process has asked the system for, as oneDNN does. */
    void (*multiply)(const tutti_tile_conv *c, int64_t n, const uint16_t *turned, const uint32_t *pairs, float *sums);
} tutti_tile_conv_loops;

extern const tutti_tile_conv_loops tutti_tile_conv_amx;
/* NULL in builds for processors that have no tiles. */
const tutti_tile_conv_loops *tutti_tile_conv_here(void);

#endif
