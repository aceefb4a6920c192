/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_impl.h: convolutions of f32 that skip zeros (sparse_conv.c): what their files share.
 *
 * A ReLU leaves zeros, and a product with zero adds nothing. So the numbers that are not zero are put side by side
 * once, each with its place, and only those are multiplied:
 *
 *   forward          sum(y, x, :) += v * weight(c, i, j, :)
 *                    over the list of each position's inputs (tutti_sparse_sum_loop)
 *   input gradient   the same with the gradient's list and with weights turned round, if a merged ReLU has masked the
 *                    gradient. If a ReLU made the input, only elements of the input that are not zero need a gradient:
 *                    each is a sum of products of vectors (tutti_sparse_dot_loop)
 *   weight gradient  dweight(c, i, j, :) += v * dout(y, x, :)
 *                    over the list of each channel's inputs (tutti_sparse_weight_loop). If the output's gradient has
 *                    more zeros (a max pool behind the convolution leaves at most one number a window),
 *                    dweight(o, window) += v * in(window of (y, x))
 *                    over the gradient's list of each channel (tutti_sparse_window_loop)
 *
 * In all of them the sums stay in registers, and the factors come from the first-level cache a vector at a time, with
 * no gather.
 *
 * A zero is never multiplied: 0 times an infinite or NaN weight is 0 here, and NaN elsewhere. Every other number, NaN
 * included, is multiplied. In the weights' gradient, positions around the output count as gradients of zero, so an
 * infinite input makes NaN of taps that it has no part in.
 *
 * After W. Gong et al., SparseTrain (PACT 2020, arXiv 1911.10175): sums in registers, zeros found by vectors; S. Shi
 * and X. Chu, arXiv 1704.07724: lists of non-zeros, outputs innermost. */
#ifndef TUTTI_KERNEL_SPARSE_IMPL_H
#define TUTTI_KERNEL_SPARSE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "../../tensor/isa.h"

/* --- the loops of a row of instructions (sparse_vector.c); all numbers are floats --- */

/* Numbers that are not zero: what they are, and where each was. start[x]: where those of position x begin; there is one
 * more. */
typedef struct {
    float *value;
    int32_t *place, *start;
} tutti_sparse_list;
enum { TUTTI_SPARSE_SLACK = 16 }; /* so many more may be written behind a list */

/* Appends the numbers of a row of positions to a list that has n of them, and returns how many it has then. Channel c
 * of position x gets place `place` + x * apart + c. Channels of a position lie side by side in segments. */
typedef struct {
    const float *from;
    int64_t positions, position_step;
    int64_t channels, segment, segment_step;
    int64_t place, apart;
    tutti_sparse_list to; /* start: of this row */
    int64_t n;
} tutti_sparse_list_call;
typedef int64_t tutti_sparse_list_loop(const tutti_sparse_list_call *c);

/* Sum i of n is that over positions first + i * stride .. + taps of a row of lists, as far as the row goes. */
typedef struct {
    tutti_sparse_list list;
    int64_t positions, apart; /* as above */
    int64_t first, stride, taps;
    const float *weights; /* (taps, apart, vectors) */
    float *sums;          /* n of them, so many floats apart */
    int64_t n, sums_apart;
    int nvectors;
} tutti_sparse_sum_call;
typedef void tutti_sparse_sum_loop(const tutti_sparse_sum_call *c);
enum { TUTTI_SPARSE_SUM_VECTORS = 8 }; /* at most */

/* Of one channel and its list: gradient (i, j) of ny x nx, i * row_step + j * step further, is the sum of v times the
 * vectors at its place, i rows of so many positions and j positions earlier. Added to what is there. */
typedef struct {
    tutti_sparse_list list;
    int64_t n;
    const float *dout;
    int64_t row; /* positions */
    float *dweights;
    int64_t row_step, step;
    int64_t ny, nx;
    int nvectors;
} tutti_sparse_weight_call;
typedef void tutti_sparse_weight_loop(const tutti_sparse_weight_call *c);
enum { TUTTI_SPARSE_WEIGHT_VECTORS = 2 }; /* at most */

/* Positions begin, begin + step, ... of a row of lists: to sum i of the i-th number of a list is added the product of
 * its channel's weights with positions of dout: those of the first of n lists begin at `first`, of the next one one
 * further, as far as the row goes. */
typedef struct {
    tutti_sparse_list list;
    float *sums; /* as the list */
    int64_t apart;
    int64_t begin, step, n;
    const float *weights; /* (channels, taps, vectors) */
    const float *dout;    /* (width, vectors) */
    int64_t width, first, taps;
    int nvectors;
} tutti_sparse_dot_call;
typedef void tutti_sparse_dot_loop(const tutti_sparse_dot_call *c);

/* Of one output channel and its list: sums of so many parts are v times the vectors of the window of its place,
 * part_step floats apart. Added to what is there: (parts, vectors). */
typedef struct {
    tutti_sparse_list list;
    int64_t n;
    const float *from;
    const int32_t *windows_of; /* places: where in `from` their windows begin */
    int64_t part_step;
    float *sums;
    int64_t parts;
    int nvectors;
} tutti_sparse_window_call;
typedef void tutti_sparse_window_loop(const tutti_sparse_window_call *c);
enum { TUTTI_SPARSE_WINDOW_VECTORS = 8 }; /* at most; half of it where vectors have fewer than 16 floats */

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
