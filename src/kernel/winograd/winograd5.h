/* SPDX-License-Identifier: Apache-2.0 */
/* winograd5.h: the three passes of a convolution of 5 x 5 and stride 1 in f32 by Winograd's products F(2 x 2, 5 x 5):
 * 36 multiplications for 4 outputs instead of the 100 of the plain sum (Lavin and Gray, CVPR 2016, arXiv 1509.09308;
 * lane_winograd5_loops.h). All sums, of the transforms too, are f32.
 *
 * ERROR. The bound is that of winograd.h with n = number of terms plus 30. For the input's gradient n is 9 more,
 * because tiles overlap at a position. tests/kernel/test_winograd5.c checks it for every element against float64.
 *
 * Tiles are taken in blocks of whole samples. A block is transformed, multiplied (36 products of matrices) and
 * transformed back. The results do not depend on the number of threads. An infinity or NaN spreads over its whole tile.
 *
 * Activations have channels innermost, in any number whose last vector is full or at most half full. Weights lie as (y,
 * x, input, output). Threads: one at a time for each scratch; the pass itself uses up to `nthreads` threads. */
#ifndef TUTTI_KERNEL_WINOGRAD5_H
#define TUTTI_KERNEL_WINOGRAD5_H

#include "winograd.h"

/* For channels that lie innermost and whose last vector is full or at most half full; a sample has at least 8 tiles. */
extern const tutti_winograd_size tutti_winograd_five;
/* Returns the number of bytes of a block, which is to stay in a cache. */
size_t tutti_winograd5_block_bytes(const tutti_winograd *w);

#endif
