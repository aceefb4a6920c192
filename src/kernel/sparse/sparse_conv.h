/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_conv.h: what the passes of the candidate `sparse` share: shapes, tiles, weights, lists of a tile.
 *
 * A pass reads one side of the convolution and writes the other, in tiles of rows of what it writes, by group; each
 * thread has scratch for one tile. What is written does not depend on how many threads there are. */
#ifndef TUTTI_KERNEL_SPARSE_CONV_H
#define TUTTI_KERNEL_SPARSE_CONV_H

#include "../lanes/lane_value.h"
#include "sparse_impl.h"

/* One side: channels of a group. */
typedef struct {
    int64_t channels, height, width;
} tutti_sparse_side;

/* Channels of a group in n blocks of `size`, the last one perhaps smaller. */
typedef struct {
    int64_t channels, size, n;
} tutti_sparse_cut;

/* Forward, or the input gradient (back). */
typedef struct {
    tutti_sparse_side from, to;
    tutti_sparse_cut lists,
        vectors; /* of channels in lists, of channels that are computed at once in so many vectors */
    int64_t batch, groups, kernel, stride, pad;
    bool back, dots; /* dots: what is listed is `to`, and vectors are of `from` */
    int nvectors;
    int64_t lanes;                                                 /* of so many vectors */
    int64_t samples, rows;                                         /* of a tile of `to` */
    int64_t from_rows;                                             /* of `from` that a tile needs, a sample, at most */
    size_t weights_at;                                             /* in scratch, bytes: for all threads */
    size_t tiles_at, tile;                                         /* of all threads, bytes of one */
    size_t value_at, place_at, start_at, sums_at, row_at, dout_at; /* in a tile's */
} tutti_sparse_walk;

/* Where elements of a weight lie: the sum of an offset a coordinate. */
typedef struct {
    int64_t *n, *c, *y, *x;
} tutti_sparse_offsets;

/* The weights' gradient (sparse_weights.c). Along each side input positions, counted from the padding's first on, fall
 * into `stride` classes of every stride-th one, and each class meets taps of its own: so many at most (reach). */
typedef struct {
    tutti_sparse_cut vectors; /* of output channels */
    int nvectors;
    int64_t lanes;
    int64_t classes, reach;
    int64_t height, width;          /* of a class */
    int64_t samples, rows;          /* of a class, in a tile */
    int64_t row;                    /* positions of a row of gradients, with zeros before it */
    int64_t chunk;                  /* input channels that a thread does at once */
    size_t sums_at, tiles_at, tile; /* as above */
    size_t value_at, place_at, start_at, plane_at, row_at, dout_at;
} tutti_sparse_sum;

/* The weights' gradient from the list of the output's (sparse_windows.c). */
typedef struct {
    tutti_sparse_cut inputs;        /* of channels whose sums are made at once */
    int64_t samples, rows, columns; /* of outputs, in a tile */
    int64_t lines, width;           /* of its inputs; the width is a multiple of the stride */
    int64_t unit;                   /* floats of a column: channels, */
    bool folded;                    /* or the kernel's rows times channels: a line a row of outputs then */
    int nvectors;                   /* of a part, summed at once; so many floats: */
    int64_t piece, pieces;          /* of a run of columns */
    int64_t parts, part_step;       /* rows of the kernel; folded: what follows a piece */
    int64_t sums;                   /* floats: pieces * parts * piece */
    int64_t chunk;                  /* output channels that a thread does at once */
    size_t sums_at, tiles_at, tile; /* as above */
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
    bool masked;  /* the input gradient: where the input is not zero; else from the list of the output's gradient */
    bool outputs; /* the weights' gradient: from the list of the output's; else from that of the input */
} tutti_sparse_state;

/* Rows of samples. */
typedef struct {
    int64_t sample, samples, row, rows;
} tutti_sparse_tile;

/* Positions of `to` along a row whose taps follow each other in `from`: forward all of them, back one of `stride`
 * classes. */
typedef struct {
    int64_t begin, step, n; /* positions of `to` */
    int64_t first, stride;  /* of `from`, for the first of them; for the next one so much further */
    int64_t taps, before;   /* how many; of classes before */
} tutti_sparse_class;

int64_t tutti_sparse_nclasses(const tutti_sparse_walk *w);
tutti_sparse_class tutti_sparse_class_of(const tutti_sparse_walk *w, int64_t i);
/* Column of the kernel that is tap `tap` of a class. */
int64_t tutti_sparse_column(const tutti_sparse_walk *w, int64_t class, int64_t tap);
/* Row of `from` that row y of `to` meets at row i of the kernel; -1 = none. And all that rows of a tile meet: [first,
 * end). */
int64_t tutti_sparse_row_of(const tutti_sparse_walk *w, int64_t y, int64_t i);
typedef struct {
    int64_t first, end;
} tutti_sparse_span;
tutti_sparse_span tutti_sparse_span_of(const tutti_sparse_walk *w, const tutti_sparse_tile *t);
int64_t tutti_sparse_ntiles(const tutti_sparse_walk *w);
tutti_sparse_tile tutti_sparse_tile_at(const tutti_sparse_walk *w, int64_t i);

/* Numbers of channels [channel, + nchannels) at positions [position, + npositions * step) of a sample, to or from a
 * view whose first number is the first of them: steps (channel, position). */
typedef struct {
    int64_t sample, channel, nchannels, position, npositions, step;
} tutti_sparse_part;
void tutti_sparse_take(const tutti_lane_place *from, const tutti_sparse_part *part, const tutti_lane_view *to);
void tutti_sparse_give(const tutti_lane_view *from, const tutti_lane_place *to, const tutti_sparse_part *part);

/* Lists of rows of a value, of cut->channels channels from the place's first one on. Row r of sample s of the tile,
 * block b of channels: its starts begin at ((s * rows + r) * cut->n + b) * (width + 1); a position's places are
 * cut->size apart. `buffer`: (width, cut->size) floats. */
void tutti_sparse_list_rows(const tutti_sparse_state *s, const tutti_lane_place *from, const tutti_sparse_cut *cut,
                            const tutti_sparse_tile *rows, const tutti_sparse_list *to, float *buffer);

/* Weights as a walk's loops want them: slabs of a row of the kernel, by (group, block of vectors, block of lists, row);
 * in a slab the classes follow each other, each (taps, listed channels, lanes), of dots (listed channels, taps,
 * lanes). */
void tutti_sparse_fill_slabs(const tutti_kernel *k, const tutti_sparse_walk *w, const tutti_kernel_args *a);
const float *tutti_sparse_slab(const tutti_sparse_walk *w, const tutti_kernel_args *a, int64_t group, int64_t vectors,
                               int64_t lists, int64_t row);
/* Offsets of a weight in its layout; freed as one. */
tutti_sparse_offsets tutti_sparse_offsets_of(const tutti_param_desc *weight);

/* The passes: shapes and scratch, behind what is taken already; then what runs. */
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

/* Channels of block i. */
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
