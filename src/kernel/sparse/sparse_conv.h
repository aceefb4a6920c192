/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_conv.h: declarations that the passes of the candidate `sparse` share: shapes, tiles, weights, and lists of
 * nonzero elements.
 *
 * A pass reads one side of the convolution (input or output) and writes the other. The pass works group by group, and
 * for each group in tiles: rows of the side that it writes, from one sample or several. Each thread has scratch for one
 * tile. The results do not depend on the number of threads. */
#ifndef TUTTI_KERNEL_SPARSE_CONV_H
#define TUTTI_KERNEL_SPARSE_CONV_H

#include "../lanes/lane_value.h"
#include "sparse_impl.h"

/* One side of the convolution, input or output. channels: those of one group. */
typedef struct {
    int64_t channels, height, width;
} tutti_sparse_side;

/* How the channels of a group are cut: into n blocks of `size` channels, of which the last may have fewer. */
typedef struct {
    int64_t channels, size, n;
} tutti_sparse_cut;

/* The plan of the forward pass, or of the input gradient (`back`). Such a pass reads `from` and writes `to`. */
typedef struct {
    tutti_sparse_side from, to;
    /* lists: how the channels of the lists are cut into blocks; vectors: how the channels in the lanes are cut: a block
     * has the channels that nvectors vectors hold */
    tutti_sparse_cut lists, vectors;
    int64_t batch, groups, kernel, stride, pad;
    /* dots: true if lists hold elements of `to` and lanes hold channels of `from`; false if lists hold elements of
     * `from` and lanes hold channels of `to` */
    bool back, dots;
    int nvectors;
    int64_t lanes;         /* number of lanes in nvectors vectors */
    int64_t samples, rows; /* a tile of `to`: number of samples, and number of rows of each sample */
    /* largest number of rows of `from` that a tile reads of one sample */
    int64_t from_rows;
    /* offset of the weights in scratch, in bytes; all threads read the same weights */
    size_t weights_at;
    /* tiles_at: offset in scratch of the tiles, one for each thread; tile: bytes of one tile */
    size_t tiles_at, tile;
    size_t value_at, place_at, start_at, sums_at, row_at, dout_at; /* offsets in a tile's scratch of these arrays */
} tutti_sparse_walk;

/* Where a weight lies in its parameter: its offset is n[output] + c[input] + y[row of the kernel] + x[column of the
 * kernel]. */
typedef struct {
    int64_t *n, *c, *y, *x;
} tutti_sparse_offsets;

/* The plan of the weights' gradient from lists of the input (sparse_weights.c). In each direction, input positions are
 * counted from the begin of the padding and divided into `stride` classes: a class is every stride-th position. Each
 * class has taps of its own, at most `reach` in one direction. */
typedef struct {
    tutti_sparse_cut vectors; /* how the output channels are cut into blocks */
    int nvectors;
    int64_t lanes;
    int64_t classes, reach;
    int64_t height, width; /* number of positions of one class, down and along a row */
    int64_t samples, rows; /* a tile: number of samples, and number of rows of each class */
    int64_t row;           /* number of positions in a row of the tile's gradients, including the zeros in front */
    int64_t chunk;         /* number of input channels that a thread computes at once */
    size_t sums_at, tiles_at, tile; /* offsets in scratch, and bytes of one tile (as in tutti_sparse_walk) */
    size_t value_at, place_at, start_at, plane_at, row_at, dout_at;
} tutti_sparse_sum;

/* The plan of the weights' gradient from lists of the output's gradient (sparse_windows.c). A *column* is all input
 * channels of a block at one position (if `folded`: at one position in each row of the kernel). */
typedef struct {
    tutti_sparse_cut inputs;        /* how the input channels are cut into blocks that are computed at once */
    int64_t samples, rows, columns; /* a tile: number of samples, and of rows and columns of outputs of each */
    /* number of rows and columns of inputs that a tile reads of a sample; width is a multiple of the stride */
    int64_t lines, width;
    int64_t unit; /* number of floats in a column */
    bool folded;  /* true if a column holds all rows of the kernel, so that a row of outputs reads one line */
    int nvectors; /* number of vectors that are summed at once in each part */
    /* piece: number of floats in these vectors; pieces: number of pieces in a run, that is, the columns of a window */
    int64_t piece, pieces;
    /* parts: number of pieces that are summed together, one for each row of the kernel (if folded: pieces that follow
     * each other in the run); part_step: floats from one part to the next */
    int64_t parts, part_step;
    int64_t sums;                   /* number of sums for an output channel: pieces * parts * piece */
    int64_t chunk;                  /* number of output channels that a thread computes at once */
    size_t sums_at, tiles_at, tile; /* offsets in scratch, and bytes of one tile (as in tutti_sparse_walk) */
    size_t value_at, place_at, start_at, plane_at, windows_at, windows_of_at;
} tutti_sparse_window;

typedef struct {
    const tutti_sparse_loops *loops;
    tutti_sparse_walk forward, back;
    tutti_sparse_sum gradient;
    tutti_sparse_window windows;
    tutti_sparse_offsets weights;
    tutti_layout out_layout;
    int64_t batch, groups, kernel, stride, pad;
    tutti_sparse_side in, out;
    int nthreads;
    bool relu;
    /* true if the input gradient is computed only where the input is not zero; false if it is computed from lists of
     * the output's gradient */
    bool masked;
    /* true if the weights' gradient is computed from lists of the output's gradient, false if from lists of the
     * input */
    bool outputs;
} tutti_sparse_state;

/* A tile: the rows [row, row + rows) of the samples [sample, sample + samples). */
typedef struct {
    int64_t sample, samples, row, rows;
} tutti_sparse_tile;

/* A class of positions along a row of `to`: those whose taps are neighbours in `from`. In the forward pass one class
 * has all positions. In the input gradient there are `stride` classes. */
typedef struct {
    int64_t begin, step, n; /* the class's positions in `to`: the first one, the distance to the next, their number */
    /* positions in `from`: of the first tap of the class's first position; distance to that of its next position */
    int64_t first, stride;
    int64_t taps, before; /* taps: number of taps of the class; before: number of taps of all classes before it */
} tutti_sparse_class;

int64_t tutti_sparse_nclasses(const tutti_sparse_walk *w);
tutti_sparse_class tutti_sparse_class_of(const tutti_sparse_walk *w, int64_t i);
/* Returns which column of the kernel is tap number `tap` of a class. */
int64_t tutti_sparse_column(const tutti_sparse_walk *w, int64_t class, int64_t tap);
/* tutti_sparse_row_of returns the row of `from` that row y of `to` reads with row i of the kernel, or -1 if there is
 * none. tutti_sparse_span_of returns the range [first, end) of rows of `from` that a tile reads. */
int64_t tutti_sparse_row_of(const tutti_sparse_walk *w, int64_t y, int64_t i);
typedef struct {
    int64_t first, end;
} tutti_sparse_span;
tutti_sparse_span tutti_sparse_span_of(const tutti_sparse_walk *w, const tutti_sparse_tile *t);
int64_t tutti_sparse_ntiles(const tutti_sparse_walk *w);
tutti_sparse_tile tutti_sparse_tile_at(const tutti_sparse_walk *w, int64_t i);

/* A part of a sample: nchannels channels from `channel` on, at npositions positions, which begin at `position` and are
 * `step` apart. tutti_sparse_take copies it from a value to a view (channel, position), and tutti_sparse_give copies it
 * back. The view's first element is the part's first element. */
typedef struct {
    int64_t sample, channel, nchannels, position, npositions, step;
} tutti_sparse_part;
void tutti_sparse_take(const tutti_lane_place *from, const tutti_sparse_part *part, const tutti_lane_view *to);
void tutti_sparse_give(const tutti_lane_view *from, const tutti_lane_place *to, const tutti_sparse_part *part);

/* Lists the nonzero elements of a tile's rows, for the cut->channels channels of `from`. For row r of sample s of the
 * tile and block b of channels, the entries of `start` begin at ((s * rows + r) * cut->n + b) * (width + 1). Places of
 * neighbouring positions differ by cut->size. `buffer` has (width, cut->size) floats. */
void tutti_sparse_list_rows(const tutti_sparse_state *s, const tutti_lane_place *from, const tutti_sparse_cut *cut,
                            const tutti_sparse_tile *rows, const tutti_sparse_list *to, float *buffer);

/* Copies weights into scratch in the order in which the loops of a walk read them. A *slab* has the weights of one row
 * of the kernel, for one block of vectors and one block of lists of a group. Slabs lie in the order (group, block of
 * vectors, block of lists, row). In a slab classes follow each other, and a class is (taps, listed channels, lanes), or
 * for dots (listed channels, taps, lanes). */
void tutti_sparse_fill_slabs(const tutti_kernel *k, const tutti_sparse_walk *w, const tutti_kernel_args *a);
const float *tutti_sparse_slab(const tutti_sparse_walk *w, const tutti_kernel_args *a, int64_t group, int64_t vectors,
                               int64_t lists, int64_t row);
/* Returns the offsets of a parameter's elements in its layout. All four tables are one piece of memory; the caller
 * frees offsets.n. */
tutti_sparse_offsets tutti_sparse_offsets_of(const tutti_param_desc *weight);

/* The three passes. Functions with `plan` in their names set shapes and reserve scratch; the other functions run a
 * pass. */
void tutti_sparse_plan_walk(tutti_sparse_state *s, tutti_sparse_walk *w, size_t *scratch);
void tutti_sparse_plan_gradient(tutti_sparse_state *s, size_t *scratch);
void tutti_sparse_run_sums(tutti_kernel *k, const tutti_sparse_walk *w, const tutti_kernel_args *a);
void tutti_sparse_run_dots(tutti_kernel *k, const tutti_kernel_args *a);
void tutti_sparse_run_gradient(tutti_kernel *k, const tutti_kernel_args *a);
void tutti_sparse_plan_windows(tutti_sparse_state *s, size_t *scratch);
void tutti_sparse_run_windows(tutti_kernel *k, const tutti_kernel_args *a);

static inline int64_t tutti_sparse_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tutti_sparse_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t tutti_sparse_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit;
}

/* Returns the number of channels of block i. */
static inline int64_t tutti_sparse_block(const tutti_sparse_cut *cut, int64_t i)
{
    return tutti_sparse_min(cut->size, cut->channels - i * cut->size);
}

static inline void *tutti_sparse_at(const void *base, size_t at)
{
    return (char *)(uintptr_t)base + at;
}

static inline size_t tutti_sparse_reserve(size_t *bytes, size_t n)
{
    const size_t at = *bytes;
    *bytes += (n + 63) / 64 * 64;
    return at;
}

#endif
