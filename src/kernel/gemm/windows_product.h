/* SPDX-License-Identifier: Apache-2.0 */
/* windows_product.h: products of windows (gemm_windows.h): C = map(windows W + bias), and the gradient of the weights,
 * dW = dout^T windows. C is an activation in any order whose channels fill vectors or lie innermost.
 *
 * Each element is one chain of additions over k from first to last, as in gemm.h. For C, k runs over (tap down, tap
 * right, channel) of a window; for dW, over the positions of all samples. So bits depend only on the row of loops and
 * on the type, not on threads, blocks or memory orders.
 *
 * Threads: any may use a plan at the same time; scratch belongs to one run. Runs allocate nothing and cannot fail. */
#ifndef TUTTI_WINDOWS_PRODUCT_H
#define TUTTI_WINDOWS_PRODUCT_H

#include "gemm_windows.h"

/* Where sums are written in the output: the sums of the window in line y and column x go to line top + y * step and
 * column left + x * step of the value. The product's columns become the value's channels. */
typedef struct {
    tutti_blocks at;
    tutti_dtype type;
    int64_t channel, channels;
    int64_t top, left, step;
} tutti_windows_place;

/* Where a weight lies, given the element of a window and the column that it belongs to. All fields are in floats. */
typedef struct {
    /* first: offset of the first weight; the other fields: distances from a tap, channel or column to the next. The
     * distance of channels or that of columns is 1 */
    int64_t first, tap_down, tap_right, channel, column;
} tutti_windows_weights;

typedef struct {
    const tutti_gemm_row *row;
    tutti_windows from;
    tutti_windows_place to;
    tutti_windows_weights weights;
    tutti_gemm_map map;
    bool has_bias;
    int nthreads;
    /* tutti_windows_product_plan fills in all fields from here on. */
    bool in_planes;
    /* numbers of columns and of panels of columns; the channels that fill up the last block count as columns */
    int64_t columns, npanels;
    /* chunk: channels of a unit of k. Numbers of units: nchunks in a tap, units_block in a block of k, nunits in k */
    int64_t chunk, nchunks, units_block, nunits;
    int64_t panels_m, panels_n; /* numbers of panels of windows and of panels of columns in a block of C */
    /* number of blocks of windows: in one sample (used with planes), and in all samples */
    int64_t blocks_sample, nblocks;
    size_t a_at, sums_at, planes_at, thread_bytes, bias_at, threads_at;
    size_t scratch_bytes;
} tutti_windows_product;

void tutti_windows_product_plan(tutti_windows_product *p);
/* Runs the plan. bias[0] belongs to the first channel of the whole value `to`, not of the channels that this product
 * writes. */
void tutti_windows_product_run(const tutti_windows_product *p, const void *memory, const float *weights,
                               const float *bias, void *to, void *scratch);

/* The gradient of the weights. dW has a row of floats for each channel of dout, and a column for each element of a
 * window. */
typedef struct {
    const tutti_gemm_row *row;
    tutti_windows from;
    tutti_blocks dout;
    tutti_dtype dout_type;
    int64_t channel, channels; /* the first channel of dout, and their number */
    int nthreads;
    /* tutti_windows_gradient_plan fills in all fields from here on. */
    bool in_planes;
    /* numbers: elements of a window. npanels_m, npanels_n: panels of rows and of columns of dW. panels_n: panels of
     * columns that are summed at once */
    int64_t numbers, npanels_m, npanels_n, panels_n;
    /* size of a block of k: windows in steps_block; with planes, lines of windows in lines_block */
    int64_t steps_block, lines_block;
    size_t b_at, a_at, strip_at, planes_at, thread_bytes;
    size_t scratch_bytes;
} tutti_windows_gradient;

void tutti_windows_gradient_plan(tutti_windows_gradient *g);
void tutti_windows_gradient_run(const tutti_windows_gradient *g, const void *memory, const void *dout, float *dweights,
                                void *scratch);

#endif
