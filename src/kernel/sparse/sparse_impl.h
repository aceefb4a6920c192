/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_impl.h: declarations that the files of f32 convolutions that skip zeros (sparse_conv.c) share.
 *
 * A ReLU leaves zeros, and a product with zero adds nothing. So the elements that are not zero are copied side by side
 * into a *list*, each with its place (its index in the row or tile), and only these are multiplied:
 *
 *   forward          sum(y, x, :) += v * weight(c, i, j, :)
 *                    over the list of each position's inputs (tutti_sparse_sum_loop)
 *   input gradient   if a merged ReLU has masked the gradient, the same with the gradient's list and flipped weights.
 *                    If a ReLU made the input, only elements of the input that are not zero need a gradient:
 *                    each is a sum of products of vectors (tutti_sparse_dot_loop)
 *   weight gradient  dweight(c, i, j, :) += v * dout(y, x, :)
 *                    over the list of each channel's inputs (tutti_sparse_weight_loop). If the output's gradient has
 *                    more zeros (a max pool behind the convolution leaves at most one element a window),
 *                    dweight(o, window) += v * in(window of (y, x))
 *                    over the gradient's list of each channel (tutti_sparse_window_loop)
 *
 * In all of these loops the sums stay in registers. The factors are loaded from the first-level cache a vector at a
 * time, without gather instructions.
 *
 * A zero is never multiplied: 0 times an infinite or NaN weight is 0 here, and NaN in dense convolutions. Every other
 * element, NaN included, is multiplied. In the weights' gradient, positions around the output count as gradients of
 * zero. So an infinite input makes the gradient NaN even for taps that do not use this input.
 *
 * After W. Gong et al., SparseTrain (PACT 2020, arXiv 1911.10175): sums in registers, zeros found by vectors; S. Shi
 * and X. Chu, arXiv 1704.07724: lists of non-zeros, outputs innermost. */
#ifndef TUTTI_KERNEL_SPARSE_IMPL_H
#define TUTTI_KERNEL_SPARSE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "../../tensor/isa.h"

/* --- the loops for one instruction set (sparse_vector.c); all elements are floats --- */

/* A list: elements that are not zero, and the place of each. start[x] is the index in the list of the first element of
 * position x. `start` has one more entry than there are positions. */
typedef struct {
    float *value;
    int32_t *place, *start;
} tutti_sparse_list;
enum { TUTTI_SPARSE_SLACK = 16 }; /* the loops may write this number of elements behind a list */

/* Appends the nonzero elements of a row of positions to a list of n elements, and returns the new n. Channel c of
 * position x gets the place `place` + x * apart + c. The channels of a position lie in segments: `segment` channels are
 * side by side, and the next segment begins segment_step floats further. */
typedef struct {
    const float *from;
    int64_t positions, position_step;
    int64_t channels, segment, segment_step;
    int64_t place, apart;
    tutti_sparse_list to; /* the list; start[x] becomes the index of the first entry of position x */
    int64_t n;
} tutti_sparse_list_call;
typedef int64_t tutti_sparse_list_loop(const tutti_sparse_list_call *c);

/* Computes n sums. Sum i adds up the listed elements of `taps` positions, which begin at position first + i * stride of
 * the row, each times its weights. Positions outside the row are left out. */
typedef struct {
    tutti_sparse_list list;
    /* positions: number of positions in a row; apart: distance between the places of neighbouring positions, as in
     * tutti_sparse_list_call */
    int64_t positions, apart;
    int64_t first, stride, taps;
    const float *weights; /* weights in the order (taps, apart, vectors) */
    float *sums;          /* n sums, `sums_apart` floats from each other */
    int64_t n, sums_apart;
    int nvectors;
} tutti_sparse_sum_call;
typedef void tutti_sparse_sum_loop(const tutti_sparse_sum_call *c);
enum { TUTTI_SPARSE_SUM_VECTORS = 8 }; /* the largest nvectors of tutti_sparse_sum_call */

/* Adds to the weights' gradient of one input channel, from the channel's list of n elements. The gradient of weight (i,
 * j) lies at i * row_step + j * step. To it is added each element v, times the vectors of dout that lie i rows and j
 * positions before v's place. */
typedef struct {
    tutti_sparse_list list;
    int64_t n;
    const float *dout;
    int64_t row; /* number of positions in a row of dout */
    float *dweights;
    int64_t row_step, step;
    int64_t ny, nx;
    int nvectors;
} tutti_sparse_weight_call;
typedef void tutti_sparse_weight_loop(const tutti_sparse_weight_call *c);
enum { TUTTI_SPARSE_WEIGHT_VECTORS = 2 }; /* the largest nvectors of tutti_sparse_weight_call */

/* Computes a sum for each listed element of the n positions begin, begin + step, ... of a row. The sum multiplies the
 * weights of the element's channel with `taps` positions of dout. For the first position these positions of dout begin
 * at `first`, and for each next position one later. Positions outside dout's row are left out. */
typedef struct {
    tutti_sparse_list list;
    float *sums; /* one sum for each element of the list, in the list's order */
    int64_t apart;
    int64_t begin, step, n;
    const float *weights; /* weights in the order (channels, taps, vectors) */
    const float *dout;    /* output gradients in the order (width, vectors) */
    int64_t width, first, taps;
    int nvectors;
} tutti_sparse_dot_call;
typedef void tutti_sparse_dot_loop(const tutti_sparse_dot_call *c);

/* Adds to the weights' gradient of one output channel, from the channel's list of n gradients that are not zero. The
 * weights' gradient is `parts` pieces of nvectors vectors, part_step floats from each other. The window of an input has
 * the same form. For each listed gradient, the window at its place is multiplied by the gradient and added. */
typedef struct {
    tutti_sparse_list list;
    int64_t n;
    const float *from;
    const int32_t *windows_of; /* for each place: the offset in `from` of its window */
    int64_t part_step;
    float *sums;
    int64_t parts;
    int nvectors;
} tutti_sparse_window_call;
typedef void tutti_sparse_window_loop(const tutti_sparse_window_call *c);
/* the largest nvectors of tutti_sparse_window_call; half of it if vectors have fewer than 16 floats */
enum { TUTTI_SPARSE_WINDOW_VECTORS = 8 };

typedef struct {
    int width; /* floats in a vector */
    tutti_sparse_list_loop *list;
    tutti_sparse_sum_loop *sum;
    tutti_sparse_weight_loop *weight;
    tutti_sparse_dot_loop *dot;
    tutti_sparse_window_loop *window;
} tutti_sparse_loops;

TUTTI_ISA_DECLARE(tutti_sparse_loops, tutti_sparse);

#endif
