/* SPDX-License-Identifier: Apache-2.0 */
/* winograd.h: the three passes of a convolution of stride 1 in f32 by Winograd's products. For 3 x 3, F(4 x 4, 3 x 3)
 * takes 36 multiplications for 16 outputs instead of the 144 of the plain sum; for 5 x 5, F(2 x 2, 5 x 5) takes 36 for
 * 4 outputs instead of 100 (Lavin and Gray, CVPR 2016, arXiv 1509.09308; lane_winograd_loops.h,
 * lane_winograd5_loops.h). All sums, of the transforms too, are f32.
 *
 * ERROR. No term of an element goes through more than n roundings, n = number of terms (channels; tiles, for weights)
 * plus 30. So its error is at most n u / (1 - n u) times the same sums of absolute values, |A^T| ((|G| |g| |G^T|) .
 * (|B^T| |d| |B|)) |A|, u = 2^-24; tests/kernel/test_winograd.c checks this bound for every element against float64.
 * For elements in [-1, 1] and 16 to 64 channels the error is 3e-6 to 7e-6 of the largest element.
 *
 * Tiles of outputs are taken in blocks, over all samples in their order; a block is transformed, multiplied (36
 * products of matrices) and transformed back. The results do not depend on the number of threads. Infinities and NaN
 * spread over the whole of a tile.
 *
 * Activations lie in blocks of channels (memory_order.h) that vectors fill, weights in squares. Threads: owner of the
 * scratch; up to `nthreads` of the crew compute. */
#ifndef TUTTI_KERNEL_WINOGRAD_H
#define TUTTI_KERNEL_WINOGRAD_H

#include "../choose/memory_order.h"
#include "../lanes/lane_impl.h"

typedef struct {
    tutti_blocks in, out;
    int64_t pad; /* padding on each side, 0 .. kernel - 1 */
    const tutti_lane_row *row;
    const tutti_winograd_loops *loops; /* for winograd.c: the loops of the row, by the kernel's size */
    int nthreads;
    int64_t down, right, samples; /* for winograd5.h: tiles of a sample, samples of a block; else 0 */
} tutti_winograd;

/* Output of a forward pass: max(0, sum + bias), without the bias or the maximum if those are not set. */
typedef struct {
    const float *bias; /* NULL if the convolution has no bias */
    bool relu;
    float *out;
} tutti_winograd_sum;

/* Differences between kernel sizes. winograd_row.c makes rows of it. */
typedef struct {
    int64_t kernel;
    const char *refusal;
    /* Plans a convolution. Returns false if this size does not take these channels or this order. */
    bool (*plan)(const tutti_value *in, const tutti_value *out, int64_t pad, int nthreads, tutti_winograd *w);
    /* Fills in the order in which the passes read weights, whose elements are (o, i, y, x). */
    void (*weights_order)(const tutti_winograd *w, tutti_layout *to);
    /* Returns the bytes of scratch that are enough for any pass. */
    size_t (*scratch)(const tutti_winograd *w);
    void (*forward)(const tutti_winograd *w, const float *in, const float *weights, const tutti_winograd_sum *sum,
                    void *scratch);
    /* Writes dweights and dbias, and does not add to them. dbias may be NULL. */
    void (*weight_gradient)(const tutti_winograd *w, const float *in, const float *dout, float *dweights, float *dbias,
                            void *scratch);
    void (*input_gradient)(const tutti_winograd *w, const float *dout, const float *weights, float *din, void *scratch);
} tutti_winograd_size;

/* 3 x 3 and 5 x 5 with channels that fill vectors. Weights lie in squares of a vector's width: o innermost, i around
 * it, then taps. */
extern const tutti_winograd_size tutti_winograd_three, tutti_winograd_five_wide;

#endif
