/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_conv.h: declarations that the passes of the candidate `sparse` share: shapes, tiles, weights, lists of a tile.
 *
 * A pass reads one side of the convolution (input or output) and writes the other. It works group by group, in tiles of
 * rows of the side that it writes. Each thread has scratch for one tile. The results do not depend on the number of
 * threads. */
#ifndef TUTTI_KERNEL_SPARSE_CONV_H
#define TUTTI_KERNEL_SPARSE_CONV_H

#include "../lanes/lane_value.h"
#include "sparse_impl.h"

/* One side of the convolution: the channels of a group. */
typedef struct {
    int64_t channels, height, width;
} tutti_sparse_side;

/* The channels of a group, cut into n blocks of `size`; the last block may be smaller. */
typedef struct {
    int64_t channels, size, n;
} tutti_sparse_cut;

/* The plan of the forward pass, or of the input gradient (`back`). */
typedef struct {
    tutti_sparse_side from, to;
    /* how channels are cut into blocks: those of the lists, and those that are computed at once in nvectors vectors */
    tutti_sparse_cut lists, vectors;
    int64_t batch, groups, kernel, stride, pad;
    bool back, dots; /* dots: lists hold channels of `to`, and vectors hold channels of `from`; else the other way
                      * round */
    int nvectors;
    int64_t lanes;         /* number of lanes in nvectors vectors */
    int64_t samples, rows; /* samples, and rows of each, in a tile of `to` */
    /* rows of `from` that a tile needs for a sample, at most */
    int64_t from_rows;
    /* offset in scratch, in bytes; shared by all threads */
    size_t weights_at;
    /* offset of the tiles of all threads, and bytes of one tile */
    size_t tiles_at, tile;
    size_t value_at, place_at, start_at, sums_at, row_at, dout_at; /* offsets in a tile's scratch of these arrays */
} tutti_sparse_walk;

/* Where the elements of a weight lie: the sum of one offset for each coordinate. */
typedef struct {
    int64_t *n, *c, *y, *x;
} tutti_sparse_offsets;

/* The weights' gradient (sparse_weights.c). In height and in width, input positions are counted from the begin of the
 * padding and divided into `stride` classes: a class is every stride-th position. Each class is multiplied with other
 * taps, at most `reach` in one direction. */
typedef struct {
    tutti_sparse_cut vectors; /* cut of the output channels */
    int nvectors;
    int64_t lanes;
    int64_t classes, reach;
    int64_t height, width;          /* positions of one class, down and along a row */
    int64_t samples, rows;          /* samples, and rows of a class, in a tile */
    int64_t row;                    /* positions of a row of gradients, including the zeros before it */
    int64_t chunk;                  /* number of input channels that a thread does at once */
    size_t sums_at, tiles_at, tile; /* offsets in scratch, and bytes of one tile (as in tutti_sparse_walk) */
    size_t value_at, place_at, start_at, plane_at, row_at, dout_at;
} tutti_sparse_sum;

/* The weights' gradient from the list of the output's gradient (sparse_windows.c). */
typedef struct {
    tutti_sparse_cut inputs;        /* cut of the channels whose sums are made at once */
    int64_t samples, rows, columns; /* samples, rows and columns of outputs in a tile */
    int64_t lines, width;           /* rows and columns of the tile's inputs; the width is a multiple of the stride */
    int64_t unit;                   /* floats of a column: its channels, times the kernel's rows if folded */
    bool folded;                    /* a column holds all rows of the kernel, so a row of outputs needs one line */
    int nvectors;                   /* number of vectors of a part that are summed at once */
    int64_t piece, pieces;          /* floats of these vectors; number of such pieces in a run of columns */
    int64_t parts, part_step;       /* number of rows of the kernel (if folded: of the runs that follow a piece), and
                                     * the floats between them */
    int64_t sums;                   /* in floats: pieces * parts * piece */
    int64_t chunk;                  /* number of output channels that a thread does at once */
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
    bool masked;  /* the input gradient is computed where the input is not zero; else from the list of the output's
                   * gradient */
    bool outputs; /* the weights' gradient uses the list of the output's gradient; false: the input's list */
} tutti_sparse_state;

/* Rows of samples in a tile. */
typedef struct {
    int64_t sample, samples, row, rows;
} tutti_sparse_tile;

/* Positions of `to` along a row whose taps are neighbours in `from`: forward all positions, back one of `stride`
 * classes. */
typedef struct {
    int64_t begin, step, n; /* positions of `to`: first, distance, number */
    int64_t first, stride;  /* position of `from` for the first position of `to`, and distance in `from` to the next
                             * one's */
    int64_t taps, before;   /* number of taps; number of taps of classes before this one */
} tutti_sparse_class;

int64_t tutti_sparse_nclasses(const tutti_sparse_walk *w);
tutti_sparse_class tutti_sparse_class_of(const tutti_sparse_walk *w, int64_t i);
/* Returns the kernel's column that is tap `tap` of a class. */
int64_t tutti_sparse_column(const tutti_sparse_walk *w, int64_t class, int64_t tap);
/* tutti_sparse_row_of returns the row of `from` that row y of `to` uses with row i of the kernel, or -1. The next
 * function returns the range [first, end) of rows that a tile uses. */
int64_t tutti_sparse_row_of(const tutti_sparse_walk *w, int64_t y, int64_t i);
typedef struct {
    int64_t first, end;
} tutti_sparse_span;
tutti_sparse_span tutti_sparse_span_of(const tutti_sparse_walk *w, const tutti_sparse_tile *t);
int64_t tutti_sparse_ntiles(const tutti_sparse_walk *w);
tutti_sparse_tile tutti_sparse_tile_at(const tutti_sparse_walk *w, int64_t i);

/* Copy elements of channels [channel, + nchannels) at positions [position, + npositions * step) of a sample to or from
 * a view (channel, position), whose first element is the first of those elements. */
typedef struct {
    int64_t sample, channel, nchannels, position, npositions, step;
} tutti_sparse_part;
void tutti_sparse_take(const tutti_lane_place *from, const tutti_sparse_part *part, const tutti_lane_view *to);
void tutti_sparse_give(const tutti_lane_view *from, const tutti_lane_place *to, const tutti_sparse_part *part);

/* Lists rows of a value, with cut->channels channels from the place's first one on. For row r of sample s of the tile
 * and block b of channels, the starts begin at ((s * rows + r) * cut->n + b) * (width + 1), and the places of a
 * position are cut->size apart. `buffer` has (width, cut->size) floats. */
void tutti_sparse_list_rows(const tutti_sparse_state *s, const tutti_lane_place *from, const tutti_sparse_cut *cut,
                            const tutti_sparse_tile *rows, const tutti_sparse_list *to, float *buffer);

/* Copies weights into the form of a walk's loops: slabs of one row of the kernel, by (group, block of vectors, block of
 * lists, row). In a slab, classes follow each other, each (taps, listed channels, lanes); for dots, (listed channels,
 * taps, lanes). */
void tutti_sparse_fill_slabs(const tutti_kernel *k, const tutti_sparse_walk *w, const tutti_kernel_args *a);
const float *tutti_sparse_slab(const tutti_sparse_walk *w, const tutti_kernel_args *a, int64_t group, int64_t vectors,
                               int64_t lists, int64_t row);
/* Returns the offsets of a weight in its layout: one piece of memory, to be freed. */
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
