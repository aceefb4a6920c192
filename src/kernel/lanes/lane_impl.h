/* SPDX-License-Identifier: Apache-2.0 */
/* lane_impl.h: the rows of loops behind lane_*.c, one an instruction set: AVX-512, AVX2, plain C. Every loop is written
 * once, in lane_*_loops.h, and takes f32, bf16 and f16: numbers are widened in registers, arithmetic is that of f32,
 * and what is written is rounded once. Threads: shared (pure functions). */
#ifndef TUTTI_LANE_IMPL_H
#define TUTTI_LANE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../tensor/isa.h"
#include "../../tensor/tensor.h"

/* --- batch normalisation (lane_norm.c) --- */

/* Channels lie in memory like a pattern that repeats: one number of each, then the next position. After `period` units
 * the pattern begins anew; so many units are a row, and there is a table of a row's length for everything that is one
 * value a channel. */
typedef struct {
    tutti_dtype type; /* of all that follow */
    int64_t period;
    const void *in, *added; /* added: NULL = none */
    void *out, *dout, *din;
    const void *given, *more; /* the gradient that gradient_sums finds; with bits it may be a sum: more, else NULL */
    void *bits;               /* one a number of the output: it is positive. Kept where something is added and relu is
                               * set; NULL in evaluation */
    bool relu;                /* of what is normalised and added */
    bool streams;             /* out and din are written past the caches: units of them are aligned */
    int64_t ahead;            /* bytes that are fetched before they are come to */
} tutti_norm_call;

/* What there is of each channel, for each unit of a row in turn: so many units, one of each kind. In the padding all
 * but the mean is 0. */
enum {
    TUTTI_NORM_MEAN,
    TUTTI_NORM_SCALE, /* normalised: (x - mean) * scale + shift */
    TUTTI_NORM_SHIFT,
    TUTTI_NORM_TILT, /* input gradient: gradient * scale + ((x - mean) * tilt + drop) */
    TUTTI_NORM_DROP,
    TUTTI_NORM_SUM, /* scratch of the sums */
    TUTTI_NORM_PRODUCT,
    TUTTI_NORM_KINDS,
};
typedef struct {
    float *table;
    double *sum;     /* a row's: of x - mean, of gradients */
    double *product; /* of (x - mean)^2, of gradient * (x - mean) */
} tutti_norm_lanes;

/* Numbers that follow each other, from the beginning of a row. */
typedef struct {
    int64_t at, n;
    int64_t unit; /* the number of its first unit among the bits */
} tutti_norm_span;

typedef void tutti_norm_loop(const tutti_norm_call *c, const tutti_norm_lanes *l, const tutti_norm_span *s);

typedef struct {
    tutti_norm_loop *sums;          /* adds to sum, product */
    tutti_norm_loop *normalise;     /* writes out, bits */
    tutti_norm_loop *gradient_sums; /* adds to sum, product; with bits: masks dout */
    tutti_norm_loop *gradient;      /* writes din */
} tutti_norm_loops;

/* --- a number from those at the same place (lane_eltwise.c, lane_add.c), numbers [begin, end) --- */

typedef struct {
    tutti_dtype type;
    const void *x, *y; /* x may be `to`, and y */
    void *to;
    int64_t begin, end;
    bool streams; /* `to` is written past the caches; units of it are aligned */
} tutti_map_call;
typedef void tutti_map_loop(const tutti_map_call *c);

typedef struct {
    tutti_map_loop *relu, *sigmoid, *tanh;                            /* of x */
    tutti_map_loop *relu_gradient, *sigmoid_gradient, *tanh_gradient; /* x the output, y its gradient */
} tutti_map_loops;

typedef struct {
    tutti_dtype type;
    const void *const *parts; /* added in this order; `to` may be one of them */
    int nparts;
    void *to;
    int64_t begin, end;
    bool streams;
} tutti_sum_call;

/* --- a rectangle of numbers from one order and type into another (lane_copy.c) --- */

/* Number (i, j) lies at memory[at + i * step[0] + j * step[1]]; one of the steps is 1. */
typedef struct {
    void *memory;
    tutti_dtype type;
    int64_t at, step[2];
} tutti_lane_view;
/* adds: to what is there, which is f32. The views overlap nothing. */
typedef void tutti_copy_loop(const tutti_lane_view *from, const tutti_lane_view *to, int64_t ni, int64_t nj, bool adds);

/* --- pools over planes whose positions hold several channels side by side (lane_pool.c) --- */

typedef struct {
    tutti_dtype type;
    int64_t lanes; /* channels side by side */
    int64_t height, width, out_height, out_width, kernel, stride, pad;
    const void *in;  /* the first number of a plane, forward the input's, backward the gradient of the output's */
    void *to;        /* and of the output's, backward that of the input's gradient */
    uint8_t *winner; /* a byte a number of the output: which element of the window is the largest; NULL = nobody asks */
    bool is_max;
} tutti_pool_call;
/* One row of what is written, the y-th. */
typedef void tutti_pool_loop(const tutti_pool_call *c, int64_t y);

/* Sums over the positions of a plane: sum[l] for each lane. */
typedef void tutti_plane_sums(tutti_dtype type, const void *plane, int64_t lanes, int64_t positions, float *sum);

/* --- convolutions of one sample (onednn_conv_lanes.c) --- */

/* Stride 1, channels innermost, no padding: who calls has put zeros around the input. A row of a window has kernel *
 * channels taps. What lies across lanes (out_channels, of the input's gradient those taps) and does not fill vectors of
 * the row is at most half a one.
 *
 * Loops of bf16 multiply pairs, and the numbers of a pair lie beside each other in a word of 32 bits, the first one
 * below; where an odd number is left over, the second one is zero. What is no pair as it lies in memory, `join` makes
 * one:
 *
 *   forward             in, out as they are; weights (kernel, taps, out_channels): pairs of taps
 *   weight gradient     in: each number and that of the next position; dout: two positions of a row
 *   input gradient      dout as it is; weights (out_channels, kernel, taps): pairs of out_channels
 *
 * A few output channels that are left over behind whole vectors may be computed by lanes of taps instead, forward and
 * in the weights' gradient: nleft, as tutti_conv_left says. */
typedef struct {
    int64_t channels, width; /* of the input */
    int64_t out_channels, out_height, out_width, kernel;
    int64_t nleft;
    bool relu; /* forward */
    const void *in, *dout, *weights;
    const void *left;  /* forward: weights of those channels (kernel, nleft, taps), numbers as they are */
    const float *bias; /* NULL = none */
    void *out;
    float *dweights, *din; /* (kernel, taps, out_channels); as `in` lies; both are added to */
} tutti_conv_call;
/* At least: out_width, kernel * channels; of the input's gradient out_height. */
enum { TUTTI_CONV_WIDTH = 8, TUTTI_CONV_TAPS = 5, TUTTI_CONV_HEIGHT = 4 };
typedef void tutti_conv_loop(const tutti_conv_call *c);

enum {
    TUTTI_CONV_LEFT = 4,
    TUTTI_CONV_LEFT_VECTORS = 4
}; /* so many channels at most, of at least so many vectors of taps a row */
static inline int64_t tutti_conv_left(int width, int64_t taps, int64_t out_channels)
{
    const int64_t left = out_channels % width;
    return left <= TUTTI_CONV_LEFT && out_channels > width && taps >= (int64_t)TUTTI_CONV_LEFT_VECTORS * width ? left
                                                                                                               : 0;
}

typedef struct {
    tutti_conv_loop *forward, *weight_gradient, *input_gradient;
    /* Words of n numbers of rows 2 i and 2 i + 1, rounded if they are f32; rows begin so many numbers apart, and an odd
     * last one is joined with zeros. NULL = numbers are floats. */
    void (*join)(tutti_dtype type, const void *from, int64_t apart, int64_t rows, int64_t n, void *to);
} tutti_conv_loops;

/* --- convolutions of 3 x 3 and 5 x 5 by the products of Winograd (winograd.c) --- */

/* A vector of channels at each position of a sample. */
typedef struct {
    float *at;         /* those of position (0, 0) */
    int64_t step, row; /* floats to the right neighbour, to the one below */
    int64_t height, width;
    int64_t y, x;      /* where a tile begins */
    const float *bias; /* added to outputs, of which the maximum with 0 is taken where relu says so; NULL = none */
    bool relu;
} tutti_winograd_plane;

/* c (rows, lanes) = a (rows, sums) b (sums, lanes), or plus that: strides in floats. Lanes of b are in blocks of two
 * vectors; the last may be one. */
typedef struct {
    int64_t nrows, nsums, nlanes;
    const float *a, *b;
    float *c;
    int64_t a_row, a_step, b_step, b_block, c_row;
    bool adds;
} tutti_winograd_product;

enum { TUTTI_WINOGRAD_PRODUCTS = 36 };

/* Of a tile, 36 vectors `apart` floats from each other: of the 6 x 6 positions of the input from the plane's (y, x) on,
 * of the tile x tile of the output's gradient; and from them those of the output. What lies outside is zero and is not
 * written. Weights are kernel x kernel vectors `tap` floats apart. */
typedef struct {
    int64_t kernel, tile; /* 3 and 4, or 5 and 2: together 7 */
    void (*input)(const tutti_winograd_plane *p, float *to, int64_t apart);
    void (*gradient)(const tutti_winograd_plane *p, float *to, int64_t apart);
    void (*output)(const float *from, int64_t apart, const tutti_winograd_plane *p);
    void (*weights)(const float *from, int64_t tap, float *to, int64_t apart);
    void (*weight_gradient)(const float *from, int64_t apart, float *to, int64_t tap);
    void (*square)(const float *from, float *to); /* as many vectors as have lanes, turned */
    void (*product)(const tutti_winograd_product *p);
} tutti_winograd_loops;

/* --- convolutions of 5 x 5 whose channels do not fill vectors (winograd5.c) --- */

enum { TUTTI_WINOGRAD5_TILE = 2 };

/* The same of tiles of 2 x 2 outputs; n channels, at most a vector. */
typedef struct {
    void (*input)(const tutti_winograd_plane *p, int64_t n, float *to, int64_t apart);
    void (*gradient)(const tutti_winograd_plane *p, int64_t n, float *to, int64_t apart);
    void (*output)(const float *from, int64_t apart, int64_t n, const tutti_winograd_plane *p);
    /* Adds the input's gradient of a tile to 6 x 6 whole vectors, `to_row` floats from row to row. */
    void (*spread)(const float *from, int64_t apart, int64_t n, float *to, int64_t to_row);
    /* n lanes of each of so many vectors to memory, `step` floats apart. */
    void (*place)(const float *from, int64_t positions, int64_t n, float *to, int64_t step);
    void (*weights)(const float *from, int64_t tap, int64_t n, float *to, int64_t apart);
    void (*weight_gradient)(const float *from, int64_t apart, int64_t n, float *to, int64_t tap);
} tutti_winograd5_loops;

/* --- local response normalisation over a tile of floats (lane_lrn.c) --- */

/* n numbers; number i's neighbours are first * step .. last * step after it, and there are zeros where those lie in no
 * channel. */
typedef struct {
    int64_t n, step;
    int first, last;
    float k, alpha, beta; /* alpha: divided by the size */
    const float *x, *dout;
    float *y;              /* the output, or the input's gradient */
    float *square, *ratio; /* scratch, with zeros on both sides as x has */
} tutti_lrn_call;
typedef void tutti_lrn_loop(const tutti_lrn_call *c);

/* --- dropout (lane_dropout.c) --- */

/* Random words as tutti_random draws them, four for each b of [first, first + n): a byte each, 1 = the word is at least
 * `least`. */
typedef struct {
    uint64_t key, a, first;
    int64_t n;
    uint32_t least;
    uint8_t *lives; /* 4 n of them */
} tutti_draw_call;

/* to[i] = from[i] * (lives[i] ? scale : 0), numbers [begin, end) */
typedef struct {
    tutti_dtype type;
    const void *from;
    const uint8_t *lives;
    float scale;
    void *to;
    int64_t begin, end;
} tutti_drop_call;

typedef struct {
    int width; /* floats in a vector; a unit is two vectors */
    tutti_norm_loops norm;
    tutti_map_loops map;
    void (*sum)(const tutti_sum_call *c);
    tutti_copy_loop *copy;
    tutti_pool_loop *pool, *pool_gradient;
    tutti_plane_sums *plane_sums;
    tutti_conv_loops conv;
    tutti_winograd_loops winograd, winograd5_wide;
    tutti_winograd5_loops winograd5;
    tutti_lrn_loop *lrn, *lrn_gradient;
    void (*draw)(const tutti_draw_call *c);
    void (*drop)(const tutti_drop_call *c);
} tutti_lane_row;

TUTTI_ISA_DECLARE(tutti_lane_row, tutti_lane); /* lane_vector.c */

static inline const tutti_lane_row *tutti_lane_here(void)
{
    return tutti_lane_rows[tutti_isa_here()];
}
/* The best of those whose vectors so many lanes fill (plain C's are allowed to be longer). */
const tutti_lane_row *tutti_lane_for(int64_t lanes);

/* Loops of bf16 by instructions that multiply it, where there are such; else NULL. */
const tutti_conv_loops *tutti_lane_conv_bf16(void);
extern const tutti_conv_loops tutti_lane_conv_avx512bf16;

/* Where number i of units in memory stands among lanes: vector a's of the first unit, vector b's, then the next
 * unit. */
static inline int64_t tutti_lane_index(int width, tutti_dtype type, int64_t i)
{
    const int64_t in_unit = i % (2 * width);
    return type == TUTTI_BF16 ? i - in_unit + in_unit % 2 * width + in_unit / 2 : i;
}

#endif
