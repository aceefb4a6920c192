/* SPDX-License-Identifier: Apache-2.0 */
/* winograd.h: the three passes of a convolution of stride 1 in f32 by Winograd's products. For 3 x 3, F(4 x 4, 3 x 3)
 * takes 36 multiplications for 16 outputs instead of the 144 of the plain sum; for 5 x 5, F(2 x 2, 5 x 5) takes 36 for
 * 4 outputs instead of 100 (Lavin and Gray, CVPR 2016, arXiv 1509.09308; lane_winograd_loops.h,
 * lane_winograd5_loops.h). All sums, of the transforms too, are f32.
 *
 * ERROR. Each term of an element is rounded at most n times. n is the number of terms (channels; for weights, tiles)
 * plus 30. So the element's error is at most n u / (1 - n u) times the same sums of absolute values, |A^T| ((|G| |g|
 * |G^T|) . (|B^T| |d| |B|)) |A|, with u = 2^-24. tests/kernel/test_winograd.c checks this bound for every element
 * against float64. For elements in [-1, 1] and 16 to 64 channels the error is 3e-6 to 7e-6 of the largest element.
 *
 * Tiles of outputs are taken in blocks, over all samples in their order. A block is transformed, multiplied (36
 * products of matrices) and transformed back. The results do not depend on the number of threads. An infinity or NaN
 * spreads over its whole tile.
 *
 * Activations lie in blocks of channels (memory_order.h) that fill vectors; weights lie in squares (see the end of this
 * file). Threads: one at a time for each scratch; the pass itself uses up to `nthreads` threads. */
#ifndef TUTTI_KERNEL_WINOGRAD_H
#define TUTTI_KERNEL_WINOGRAD_H

#include "../choose/memory_order.h"
#include "../lanes/lane_impl.h"

typedef struct {
    tutti_blocks in, out;
    int64_t pad; /* padding on each side, 0 .. kernel - 1 */
    const tutti_lane_row *row;
    const tutti_winograd_loops *loops; /* used by winograd.c: the loops for the kernel's size */
    int nthreads;
    /* used by winograd5.c, else 0: tiles of a sample down and to the right; number of samples in a block */
    int64_t down, right, samples;
} tutti_winograd;

/* Output of a forward pass: max(0, sum + bias). Without `bias` nothing is added, and without `relu` there is no
 * maximum. */
typedef struct {
    const float *bias; /* NULL if the convolution has no bias */
    bool relu;
    float *out;
} tutti_winograd_sum;

/* The functions that differ between kernel sizes. winograd_row.c makes a kernel row from each such struct. */
typedef struct {
    int64_t kernel;
    const char *refusal;
    /* Plans a convolution. Returns false if these functions cannot compute these channels or this order. */
    bool (*plan)(const tutti_value *in, const tutti_value *out, int64_t pad, int nthreads, tutti_winograd *w);
    /* Fills in the order in which the passes read weights, whose elements are (o, i, y, x). */
    void (*weights_order)(const tutti_winograd *w, tutti_layout *to);
    /* Returns the bytes of scratch that any pass needs at most. */
    size_t (*scratch)(const tutti_winograd *w);
    void (*forward)(const tutti_winograd *w, const float *in, const float *weights, const tutti_winograd_sum *sum,
                    void *scratch);
    /* Writes dweights and dbias; their old values are lost. dbias may be NULL. */
    void (*weight_gradient)(const tutti_winograd *w, const float *in, const float *dout, float *dweights, float *dbias,
                            void *scratch);
    void (*input_gradient)(const tutti_winograd *w, const float *dout, const float *weights, float *din, void *scratch);
} tutti_winograd_size;

/* 3 x 3 and 5 x 5 with channels that fill vectors. Weights lie in squares: a vector of outputs (o) for each of as many
 * inputs (i) as a vector has lanes, and such a square for each tap. */
extern const tutti_winograd_size tutti_winograd_three, tutti_winograd_five_wide;

#endif
