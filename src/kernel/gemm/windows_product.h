/* SPDX-License-Identifier: Apache-2.0 */
/* windows_product.h: products of windows (gemm_windows.h): C = map(windows W + bias), C being an activation in any
 * order whose channels fill vectors or lie innermost, and the gradient of the weights, dW = dout^T windows.
 *
 * Each element is one chain over k from first to last, as in gemm.h: (tap down, tap right, channel) of a window,
 * positions of all samples. So bits depend on the row of products and the type alone, not on threads, blocks or memory
 * orders.
 *
 * Threads: a plan is frozen and may be shared; scratch belongs to one run at a time. Runs allocate nothing and cannot
 * fail. */
#ifndef TUTTI_WINDOWS_PRODUCT_H
#define TUTTI_WINDOWS_PRODUCT_H

#include "gemm_windows.h"

/* Place of the sums in the output: the sums of the window of line y and column x goes to line top + y * step, column
 * left + x * step of the value; the product's columns become its channels. */
typedef struct {
    tutti_blocks at;
    tutti_dtype type;
    int64_t channel, channels;
    int64_t top, left, step;
} tutti_windows_place;

/* Where the weight of a window's element and a column lies: distances in floats from the first weight. */
typedef struct {
    int64_t first, tap_down, tap_right, channel, column; /* distances of taps, channels and columns; that of channels or
                                                          * that of columns is 1 */
} tutti_windows_weights;

typedef struct {
    const tutti_gemm_row *row;
    tutti_windows from;
    tutti_windows_place to;
    tutti_windows_weights weights;
    tutti_gemm_map map;
    bool has_bias;
    int nthreads;
    /* Filled in by tutti_windows_product_plan. */
    bool in_planes;
    int64_t columns, npanels; /* numbers of columns and of panels, with the channels that fill up the last block */
    /* chunk: channels of a unit of k. Numbers of units: nchunks in a tap, units_block in a block of k, nunits in k */
    int64_t chunk, nchunks, units_block, nunits;
    int64_t panels_m, panels_n;     /* panels of windows and of columns in a block of C */
    int64_t blocks_sample, nblocks; /* blocks of windows: in one sample (planes), and in all samples */
    size_t a_at, sums_at, planes_at, thread_bytes, bias_at, threads_at;
    size_t scratch_bytes;
} tutti_windows_product;

void tutti_windows_product_plan(tutti_windows_product *p);
/* Runs the plan. `bias` begins at the first channel of the whole value that is written. */
void tutti_windows_product_run(const tutti_windows_product *p, const void *memory, const float *weights,
                               const float *bias, void *to, void *scratch);

/* The gradient of the weights: dW has a row of floats for each channel of dout, and a column for each number of a
 * window. */
typedef struct {
    const tutti_gemm_row *row;
    tutti_windows from;
    tutti_blocks dout;
    tutti_dtype dout_type;
    int64_t channel, channels; /* the first channel of dout, and their number */
    int nthreads;
    /* Filled in by tutti_windows_gradient_plan. */
    bool in_planes;
    /* numbers: elements of a window. npanels_m, npanels_n: panels of C. panels_n: panels of C that are summed at
     * once */
    int64_t numbers, npanels_m, npanels_n, panels_n;
    int64_t steps_block, lines_block; /* windows of a block of k; with planes, lines of windows instead */
    size_t b_at, a_at, strip_at, planes_at, thread_bytes;
    size_t scratch_bytes;
} tutti_windows_gradient;

void tutti_windows_gradient_plan(tutti_windows_gradient *g);
void tutti_windows_gradient_run(const tutti_windows_gradient *g, const void *memory, const void *dout, float *dweights,
                                void *scratch);

#endif
