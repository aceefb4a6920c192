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

/* Numbers that are not zero, and the place of each. start[x] is where those of position x begin; there is one more
 * start than positions. */
typedef struct {
    float *value;
    int32_t *place, *start;
} tutti_sparse_list;
enum { TUTTI_SPARSE_SLACK = 16 }; /* the loops may write this number of elements behind a list */

/* Appends the numbers of a row of positions that are not zero to a list of n, and returns the new n. Channel c of
 * position x gets place `place` + x * apart + c. The channels of a position lie side by side in segments. */
typedef struct {
    const float *from;
    int64_t positions, position_step;
    int64_t channels, segment, segment_step;
    int64_t place, apart;
    tutti_sparse_list to; /* start: the entries of this row */
    int64_t n;
} tutti_sparse_list_call;
typedef int64_t tutti_sparse_list_loop(const tutti_sparse_list_call *c);

/* Sum i of n runs over positions first + i * stride .. + taps of a row of lists, as far as the row goes. */
typedef struct {
    tutti_sparse_list list;
    int64_t positions, apart; /* the same as above */
    int64_t first, stride, taps;
    const float *weights; /* (taps, apart, vectors) */
    float *sums;          /* n sums, `apart` floats from each other */
    int64_t n, sums_apart;
    int nvectors;
} tutti_sparse_sum_call;
typedef void tutti_sparse_sum_loop(const tutti_sparse_sum_call *c);
enum { TUTTI_SPARSE_SUM_VECTORS = 8 }; /* the largest number of vectors */

/* One channel and its list: gradient (i, j) of ny x nx, at i * row_step + j * step, adds v times the vectors at its
 * place, i rows of positions and j positions earlier. */
typedef struct {
    tutti_sparse_list list;
    int64_t n;
    const float *dout;
    int64_t row; /* positions in a row */
    float *dweights;
    int64_t row_step, step;
    int64_t ny, nx;
    int nvectors;
} tutti_sparse_weight_call;
typedef void tutti_sparse_weight_loop(const tutti_sparse_weight_call *c);
enum { TUTTI_SPARSE_WEIGHT_VECTORS = 2 }; /* the largest number of vectors */

/* Positions begin, begin + step, ... of a row of lists. Sum i, of the i-th number of a list, adds the product of its
 * channel's weights with positions of dout. Those of the first of n lists begin at `first`, of each next one a position
 * later, as far as the row goes. */
typedef struct {
    tutti_sparse_list list;
    float *sums; /* in the order of the list */
    int64_t apart;
    int64_t begin, step, n;
    const float *weights; /* (channels, taps, vectors) */
    const float *dout;    /* (width, vectors) */
    int64_t width, first, taps;
    int nvectors;
} tutti_sparse_dot_call;
typedef void tutti_sparse_dot_loop(const tutti_sparse_dot_call *c);

/* One output channel and its list: sums of `parts` parts, part_step floats apart, add v times the vectors of the window
 * at its place: (parts, vectors). */
typedef struct {
    tutti_sparse_list list;
    int64_t n;
    const float *from;
    const int32_t *windows_of; /* for each place, where its window begins in `from` */
    int64_t part_step;
    float *sums;
    int64_t parts;
    int nvectors;
} tutti_sparse_window_call;
typedef void tutti_sparse_window_loop(const tutti_sparse_window_call *c);
enum {
    TUTTI_SPARSE_WINDOW_VECTORS = 8
}; /* the largest number of vectors; half of it if vectors have fewer than 16
                                           * floats */

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
