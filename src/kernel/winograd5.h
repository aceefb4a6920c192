/* SPDX-License-Identifier: Apache-2.0 */
/* winograd5.h: the three passes of a convolution of 5 x 5 and stride 1 in f32 by Winograd's products F(2 x 2, 5 x 5): 36 multiplications for
 * 4 outputs where the sum as it is written takes 100 (Lavin and Gray, CVPR 2016, arXiv 1509.09308; lane_winograd5_loops.h). All sums, of the
 * transforms too, are f32.
 *
 * ERROR. As winograd.h has it: at most gamma of (what is summed plus 30) roundings, times what the same sums of absolute values come to;
 * of the input's gradient plus 9 for the tiles that meet at a position. tests/kernel/test_winograd5.c holds every element to that in float64.
 *
 * Tiles are taken in blocks of whole samples; a block is transformed, multiplied (36 products of matrices) and turned back. What is written
 * does not depend on the number of threads. Infinities and NaN reach the whole of a tile.
 *
 * Activations have their channels innermost, any number of them that tutti_winograd5_of takes; weights lie as (y, x, input, output). Threads:
 * owner of the scratch; up to `nthreads` of the crew compute. */
#ifndef TUTTI_KERNEL_WINOGRAD5_H
#define TUTTI_KERNEL_WINOGRAD5_H

#include "lane_impl.h"
#include "memory_order.h"

typedef struct {
    tutti_blocks in, out;
    int64_t pad;         /* 0 .. 4 */
    int64_t down, right; /* tiles of a sample */
    int64_t samples;     /* of a block */
    const tutti_lane_row *row;
    int nthreads;
} tutti_winograd5;

/* false: channels do not lie innermost or leave more than half a vector unfilled, or a sample has less than 8 tiles. */
bool tutti_winograd5_of(const tutti_value *in, const tutti_value *out, int64_t pad, int nthreads, tutti_winograd5 *w);
void tutti_winograd5_weights_order(const tutti_winograd5 *w, tutti_layout *to);
/* Bytes for any of the passes, and of what a block keeps in the cache. */
size_t tutti_winograd5_scratch(const tutti_winograd5 *w);
size_t tutti_winograd5_block_bytes(const tutti_winograd5 *w);

/* bias: NULL = none. relu: of the sum. */
void tutti_winograd5_forward(const tutti_winograd5 *w, const float *in, const float *weights, const float *bias,
                             bool relu, float *out, void *scratch);
/* dweights, dbias: NULL = nobody wants it. Both are written. */
void tutti_winograd5_weight_gradient(const tutti_winograd5 *w, const float *in, const float *dout, float *dweights,
                                     float *dbias, void *scratch);
void tutti_winograd5_input_gradient(const tutti_winograd5 *w, const float *dout, const float *weights, float *din,
                                    void *scratch);

#endif
