/* SPDX-License-Identifier: Apache-2.0 */
/* lane_impl.h: the tables of loops behind lane_*.c, one for each instruction set: AVX-512, AVX2, plain C. Every loop is
 * written once, in lane_*_loops.h, and takes f32, bf16 and f16: elements are widened in registers, arithmetic is that
 * of f32, and results are rounded once. Threads: shared (pure functions). */
#ifndef TUTTI_LANE_IMPL_H
#define TUTTI_LANE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../tensor/isa.h"
#include "../../tensor/tensor.h"

/* --- batch normalisation (lane_norm.c) --- */

/* Channels lie in memory as a repeating pattern: one number of each channel, then the next position. The pattern begins
 * anew after `period` units, which are a row. For each value that a channel has, there is a table as long as a row. */
typedef struct {
    tutti_dtype type; /* type of all the following memory */
    int64_t period;
    const void *in, *added; /* in: the input; added: the addend, or NULL */
    void *out, *dout, *din;
    const void *given, *more; /* given: the gradient that gradient_sums reads. If `bits` is set, it may be the sum of
                               * two gradients; `more` is the second one, else NULL */
    void *bits;               /* one bit for each number of the output: 1 if the number is positive. Kept if something
                               * is added and relu is set; NULL in evaluation */
    bool relu;                /* true if a ReLU follows the normalised element with its addend */
    bool streams;             /* out and din bypass the caches; their units are aligned */
    int64_t ahead;            /* number of bytes ahead of the loop that are prefetched */
} tutti_norm_call;

/* Values of each channel, as tables over the units of a row: the whole table of one kind, then that of the next. In the
 * padding all values are 0 except the mean. */
enum {
    TUTTI_NORM_MEAN,
    TUTTI_NORM_SCALE, /* `scale` of: normalised = (x - mean) * scale + shift */
    TUTTI_NORM_SHIFT,
    TUTTI_NORM_TILT, /* `tilt` of: input gradient = gradient * scale + ((x - mean) * tilt + drop) */
    TUTTI_NORM_DROP,
    TUTTI_NORM_SUM, /* from this kind on: scratch memory for the sums */
    TUTTI_NORM_PRODUCT,
    TUTTI_NORM_KINDS,
};
typedef struct {
    float *table;
    double *sum;     /* sums of a row: of x - mean, or of gradients */
    double *product; /* sums of (x - mean)^2, or of gradient * (x - mean) */
} tutti_norm_lanes;

/* Elements that lie side by side, from the beginning of a row. */
typedef struct {
    int64_t at, n;
    int64_t unit; /* the index in `bits` of the span's first unit */
} tutti_norm_span;

typedef void tutti_norm_loop(const tutti_norm_call *c, const tutti_norm_lanes *l, const tutti_norm_span *s);

typedef struct {
    tutti_norm_loop *sums;          /* adds to `sum` and `product` */
    tutti_norm_loop *normalise;     /* writes `out` and `bits` */
    tutti_norm_loop *gradient_sums; /* adds to `sum` and `product`; if `bits` is set, masks dout */
    tutti_norm_loop *gradient;      /* writes din */
} tutti_norm_loops;

/* --- elementwise: an element from the elements at the same place (lane_eltwise.c, lane_add.c), for [begin, end) --- */

typedef struct {
    tutti_dtype type;
    const void *x, *y; /* x and y may be `to` */
    void *to;
    int64_t begin, end;
    bool streams; /* `to` bypasses the caches; its units are aligned */
} tutti_map_call;
typedef void tutti_map_loop(const tutti_map_call *c);

typedef struct {
    tutti_map_loop *relu, *sigmoid, *tanh;                            /* loops that compute a function of x */
    tutti_map_loop *relu_gradient, *sigmoid_gradient, *tanh_gradient; /* input gradients; x: the output, y: its
                                                                       * gradient */
} tutti_map_loops;

typedef struct {
    tutti_dtype type;
    const void *const *parts; /* the vectors to add, in this order; `to` may be one of these */
    int nparts;
    void *to;
    int64_t begin, end;
    bool streams;
} tutti_sum_call;

/* --- copying a rectangle of elements from one order and type into another (lane_copy.c) --- */

/* Element (i, j) lies at memory[at + i * step[0] + j * step[1]]; one of the steps is 1. */
typedef struct {
    void *memory;
    tutti_dtype type;
    int64_t at, step[2];
} tutti_lane_view;
/* adds: adds to the numbers in `to`, which are f32. The views do not overlap. */
typedef void tutti_copy_loop(const tutti_lane_view *from, const tutti_lane_view *to, int64_t ni, int64_t nj, bool adds);

/* --- pools over planes whose positions hold several channels side by side (lane_pool.c) --- */

typedef struct {
    tutti_dtype type;
    int64_t lanes; /* number of channels side by side */
    int64_t height, width, out_height, out_width, kernel, stride, pad;
    const void *in;  /* the first number of a plane: forward of the input, backward of the output's gradient */
    void *to;        /* the first number of a plane: forward of the output, backward of the input's gradient */
    uint8_t *winner; /* for each number of the output, a byte: the index of the largest element of the window; NULL if
                      * not needed */
    bool is_max;
} tutti_pool_call;
/* Computes row y of the output, or in the backward pass of the input's gradient. */
typedef void tutti_pool_loop(const tutti_pool_call *c, int64_t y);

/* Sums over the positions of a plane: sum[l] for each lane l. */
typedef void tutti_plane_sums(tutti_dtype type, const void *plane, int64_t lanes, int64_t positions, float *sum);

/* --- convolutions of one sample (onednn_conv_lanes.c) --- */

/* Stride 1, channels innermost, no padding: the caller has put zeros around the input. A row of a window has kernel *
 * channels taps. Lanes hold out_channels (in the input's gradient, taps). The lanes behind the last whole vector are at
 * most half a vector.
 *
 * Loops of bf16 multiply pairs. The two elements of a pair lie in one word of 32 bits, the first one in the lower half.
 * If an odd element is left over, its partner is zero. `join` makes pairs of elements that do not lie in pairs:
 *
 *   forward             in, out as they are; weights (kernel, taps, out_channels): pairs of taps
 *   weight gradient     in: each element and that of the next position; dout: two positions of a row
 *   input gradient      dout as it is; weights (out_channels, kernel, taps): pairs of out_channels
 *
 * In the forward pass and the weights' gradient, the last `nleft` output channels behind whole vectors may be computed
 * by lanes of taps instead; tutti_conv_left returns their number. */
typedef struct {
    int64_t channels, width; /* channels and width of the input */
    int64_t out_channels, out_height, out_width, kernel;
    int64_t nleft;
    bool relu; /* true if the forward pass takes a ReLU */
    const void *in, *dout, *weights;
    const void *left;  /* forward: weights of the `nleft` channels (kernel, nleft, taps), not in pairs */
    const float *bias; /* NULL if there is none */
    void *out;
    float *dweights, *din; /* both are added to; dweights: (kernel, taps, out_channels); din: in the order of `in` */
} tutti_conv_call;
/* The convolution loops need at least this out_width, this kernel * channels and, in the input's gradient, this
 * out_height. */
enum { TUTTI_CONV_WIDTH = 8, TUTTI_CONV_TAPS = 5, TUTTI_CONV_HEIGHT = 4 };
typedef void tutti_conv_loop(const tutti_conv_call *c);

/* Limits for lanes of taps: at most LEFT channels are left over, and a row has LEFT_VECTORS or more vectors of taps. */
enum { TUTTI_CONV_LEFT = 4, TUTTI_CONV_LEFT_VECTORS = 4 };
static inline int64_t tutti_conv_left(int width, int64_t taps, int64_t out_channels)
{
    const int64_t left = out_channels % width;
    return left <= TUTTI_CONV_LEFT && out_channels > width && taps >= (int64_t)TUTTI_CONV_LEFT_VECTORS * width ? left
                                                                                                               : 0;
}

typedef struct {
    tutti_conv_loop *forward, *weight_gradient, *input_gradient;
    /* Makes words of n elements of rows 2 i and 2 i + 1, rounded if they are f32. Rows begin `apart` elements apart; an
     * odd last row is joined with zeros. NULL if elements are floats. */
    void (*join)(tutti_dtype type, const void *from, int64_t apart, int64_t rows, int64_t n, void *to);
} tutti_conv_loops;

/* --- convolutions of 3 x 3 and 5 x 5 by the products of Winograd (winograd.c) --- */

/* A vector of channels at each position of a sample. */
typedef struct {
    float *at;         /* the vector of position (0, 0) */
    int64_t step, row; /* floats to the right neighbour, and to the neighbour below */
    int64_t height, width;
    int64_t y, x;      /* position where a tile begins */
    const float *bias; /* added to outputs, of which relu takes the maximum with 0; NULL if there is none */
    bool relu;
} tutti_winograd_plane;

/* Computes c (rows, lanes) = a (rows, sums) b (sums, lanes), or adds to c. Strides are in floats. Lanes of b are in
 * blocks of two vectors; the last may be one vector. */
typedef struct {
    int64_t nrows, nsums, nlanes;
    const float *a, *b;
    float *c;
    int64_t a_row, a_step, b_step, b_block, c_row;
    bool adds;
} tutti_winograd_product;

enum { TUTTI_WINOGRAD_PRODUCTS = 36 };

/* The transforms of a tile, 36 vectors `apart` floats from each other: those of the 6 x 6 input positions from the
 * plane's (y, x) on, those of tile x tile positions of the output's gradient, and back to outputs. Positions outside
 * the plane are read as zero and are not written. Weights are kernel x kernel vectors, `tap` floats apart. */
typedef struct {
    int64_t kernel, tile; /* kernel 3 with tile 4, or kernel 5 with tile 2: the sum is always 7 */
    void (*input)(const tutti_winograd_plane *p, float *to, int64_t apart);
    void (*gradient)(const tutti_winograd_plane *p, float *to, int64_t apart);
    void (*output)(const float *from, int64_t apart, const tutti_winograd_plane *p);
    void (*weights)(const float *from, int64_t tap, float *to, int64_t apart);
    void (*weight_gradient)(const float *from, int64_t apart, float *to, int64_t tap);
    void (*square)(const float *from, float *to); /* transposes a square: as many vectors as a vector has lanes */
    void (*product)(const tutti_winograd_product *p);
} tutti_winograd_loops;

/* --- convolutions of 5 x 5 whose channels do not fill vectors (winograd5.c) --- */

enum { TUTTI_WINOGRAD5_TILE = 2 };

/* The transforms of tutti_winograd_loops, for tiles of 2 x 2 outputs and n channels, at most a vector of them. */
typedef struct {
    void (*input)(const tutti_winograd_plane *p, int64_t n, float *to, int64_t apart);
    void (*gradient)(const tutti_winograd_plane *p, int64_t n, float *to, int64_t apart);
    void (*output)(const float *from, int64_t apart, int64_t n, const tutti_winograd_plane *p);
    /* Adds the input's gradient of a tile to 6 x 6 whole vectors, `to_row` floats from row to row. */
    void (*spread)(const float *from, int64_t apart, int64_t n, float *to, int64_t to_row);
    /* Stores n lanes of each of `positions` vectors, `step` floats apart. */
    void (*place)(const float *from, int64_t positions, int64_t n, float *to, int64_t step);
    void (*weights)(const float *from, int64_t tap, int64_t n, float *to, int64_t apart);
    void (*weight_gradient)(const float *from, int64_t apart, int64_t n, float *to, int64_t tap);
} tutti_winograd5_loops;

/* --- local response normalisation over a tile of floats (lane_lrn.c) --- */

/* n elements. The neighbours of element i are first * step .. last * step after it; neighbours that lie in no channel
 * are zero. */
typedef struct {
    int64_t n, step;
    int first, last;
    float k, alpha, beta; /* alpha is divided by the size */
    const float *x, *dout;
    float *y;              /* the output, or the input's gradient */
    float *square, *ratio; /* scratch, with zeros on both sides as x has */
} tutti_lrn_call;
typedef void tutti_lrn_loop(const tutti_lrn_call *c);

/* --- dropout (lane_dropout.c) --- */

/* Random words as tutti_random draws them, four for each b of [first, first + n): a byte each, 1 if the word is at
 * least `least`. */
typedef struct {
    uint64_t key, a, first;
    int64_t n;
    uint32_t least;
    uint8_t *lives; /* the result: 4 n bytes */
} tutti_draw_call;

/* to[i] = from[i] * (lives[i] ? scale : 0), for elements [begin, end) */
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

TUTTI_ISA_DECLARE(tutti_lane_row, tutti_lane); /* in lane_vector.c */

static inline const tutti_lane_row *tutti_lane_here(void)
{
    return tutti_lane_rows[tutti_isa_here()];
}
/* Returns the loops of the best instruction set whose vectors this number of lanes fills (the vectors of plain C may be
 * longer). */
const tutti_lane_row *tutti_lane_for(int64_t lanes);

/* Returns loops of bf16 by instructions that multiply it, or NULL if there are none. */
const tutti_conv_loops *tutti_lane_conv_bf16(void);
extern const tutti_conv_loops tutti_lane_conv_avx512bf16;

/* Returns the lane in a table of element i of units in memory. A table holds vector a of the first unit, then its
 * vector b, then the next unit. */
static inline int64_t tutti_lane_index(int width, tutti_dtype type, int64_t i)
{
    const int64_t in_unit = i % (2 * width);
    return type == TUTTI_BF16 ? i - in_unit + in_unit % 2 * width + in_unit / 2 : i;
}

#endif
