/* SPDX-License-Identifier: Apache-2.0 */
/* lane_impl.h: the tables of loops behind lane_*.c, one for each instruction set: AVX-512, AVX2, plain C. Every loop is
 * written once, in lane_*_loops.h, and takes f32, bf16 and f16: elements are widened in registers, arithmetic is that
 * of f32, and results are rounded once. Threads: any (pure functions). */
#ifndef TUTTI_LANE_IMPL_H
#define TUTTI_LANE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../tensor/isa.h"
#include "../../tensor/tensor.h"

/* --- batch normalisation (lane_norm.c) --- */

/* A *unit* is two vectors of floats, or the memory of the same number of elements. Channels lie in memory as a
 * repeating pattern: one element of each channel, then the next position. The pattern begins anew after `period` units,
 * which are a *row*. A table as long as a row holds, for each of its elements, the values of the element's channel,
 * such as the mean. */
typedef struct {
    tutti_dtype type; /* type of the elements at all of the following addresses */
    int64_t period;
    const void *in, *added; /* in: the input; added: the addend, or NULL */
    void *out, *dout, *din;
    const void *given, *more; /* given: the gradient that gradient_sums reads. If `bits` is set, it may be the sum of
                               * two gradients; `more` is the second one, else NULL */
    /* one bit for each element of the output: 1 if the element is positive. Written if something is added and relu is
     * set; NULL in evaluation */
    void *bits;
    bool relu;     /* true if a ReLU follows the normalised element with its addend */
    bool streams;  /* true if stores to out and din bypass the caches; then their units are aligned */
    int64_t ahead; /* number of bytes ahead of the loop that are prefetched */
} tutti_norm_call;

/* Kinds of values that each channel has. The table of a tutti_norm_lanes holds them for the units of a row: for each
 * unit the values of all kinds, one kind after the other. In the padding all values are 0 except the mean. */
enum {
    TUTTI_NORM_MEAN,
    TUTTI_NORM_SCALE, /* the factor in: normalised = (x - mean) * scale + shift */
    TUTTI_NORM_SHIFT,
    TUTTI_NORM_TILT, /* the factor in: input gradient = gradient * scale + ((x - mean) * tilt + drop) */
    TUTTI_NORM_DROP,
    TUTTI_NORM_SUM, /* from this kind on: scratch memory for the sums */
    TUTTI_NORM_PRODUCT,
    TUTTI_NORM_KINDS,
};
typedef struct {
    float *table;
    double *sum;     /* for each lane of a row: the sum of x - mean, or of gradients */
    double *product; /* for each lane of a row: the sum of (x - mean)^2, or of gradient * (x - mean) */
} tutti_norm_lanes;

/* A span: n elements side by side in memory, beginning with a whole row. at: offset of the first element. */
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

/* --- elementwise: each result comes from the elements at the same index (lane_eltwise.c, lane_add.c), for [begin, end)
 * --- */

typedef struct {
    tutti_dtype type;
    const void *x, *y; /* the inputs; x and y may be the memory of `to` */
    void *to;
    int64_t begin, end;
    bool streams; /* true if stores to `to` bypass the caches; then its units are aligned */
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

/* A view of a matrix: element (i, j) lies at memory[at + i * step[0] + j * step[1]]. One of the steps is 1. */
typedef struct {
    void *memory;
    tutti_dtype type;
    int64_t at, step[2];
} tutti_lane_view;
/* Copies ni x nj elements. With `adds` they are added to those in `to`, which are f32. The views do not overlap. */
typedef void tutti_copy_loop(const tutti_lane_view *from, const tutti_lane_view *to, int64_t ni, int64_t nj, bool adds);

/* --- pools over planes whose positions hold several channels side by side (lane_pool.c) --- */

typedef struct {
    tutti_dtype type;
    int64_t lanes; /* number of channels side by side */
    int64_t height, width, out_height, out_width, kernel, stride, pad;
    /* first element of the plane to read: of the input (forward), or of the output's gradient (backward) */
    const void *in;
    void *to; /* first element of the plane to write: of the output (forward), or of the input's gradient (backward) */
    /* one byte for each element of the output: the index of the window's largest element in the window; NULL if not
     * needed */
    uint8_t *winner;
    bool is_max;
} tutti_pool_call;
/* Computes row y of the output, or in the backward pass of the input's gradient. */
typedef void tutti_pool_loop(const tutti_pool_call *c, int64_t y);

/* Sums a plane over its positions: writes sum[l] for each lane l. */
typedef void tutti_plane_sums(tutti_dtype type, const void *plane, int64_t lanes, int64_t positions, float *sum);

/* --- convolutions of one sample (onednn_conv_lanes.c) --- */

/* A convolution of stride 1 with channels innermost and no padding, because the caller has put zeros around the input.
 * A *tap* is an element of the window; a row of a window has kernel * channels taps. Lanes hold output channels, or in
 * the input's gradient taps. At most half a vector is left over behind the last whole vector.
 *
 * Loops of bf16 multiply pairs. The two elements of a pair lie in one word of 32 bits, the first one in the lower half.
 * If an odd element is left over, its partner is zero. `join` makes pairs of elements that do not lie side by side:
 *
 *   forward             in, out as they are; weights (kernel, taps, out_channels): pairs of taps
 *   weight gradient     in: each element and that of the next position; dout: two positions of a row
 *   input gradient      dout as it is; weights (out_channels, kernel, taps): pairs of out_channels
 *
 * In the forward pass and the weights' gradient, the last `nleft` output channels behind whole vectors may be computed
 * by lanes of taps instead; tutti_conv_left returns their number. */
typedef struct {
    int64_t channels, width; /* number of channels, and width, of the input */
    int64_t out_channels, out_height, out_width, kernel;
    int64_t nleft;
    bool relu; /* true if the forward pass applies a ReLU */
    const void *in, *dout, *weights;
    const void *left;  /* forward: weights of the `nleft` channels (kernel, nleft, taps), not in pairs */
    const float *bias; /* NULL if there is none */
    void *out;
    /* gradients, to which the loops add; dweights: (kernel, taps, out_channels); din: in the order of `in` */
    float *dweights, *din;
} tutti_conv_call;
/* The convolution loops need at least this out_width, this kernel * channels and, in the input's gradient, this
 * out_height. */
enum { TUTTI_CONV_WIDTH = 8, TUTTI_CONV_TAPS = 5, TUTTI_CONV_HEIGHT = 4 };
typedef void tutti_conv_loop(const tutti_conv_call *c);

/* Limits for lanes that hold taps: at most LEFT output channels are left over, and a row of the window fills at least
 * LEFT_VECTORS vectors of taps. */
enum { TUTTI_CONV_LEFT = 4, TUTTI_CONV_LEFT_VECTORS = 4 };
static inline int64_t tutti_conv_left(int width, int64_t taps, int64_t out_channels)
{
    const int64_t left = out_channels % width;
    return left <= TUTTI_CONV_LEFT && out_channels > width && taps >= (int64_t)TUTTI_CONV_LEFT_VECTORS * width ? left
                                                                                                               : 0;
}

typedef struct {
    tutti_conv_loop *forward, *weight_gradient, *input_gradient;
    /* Joins rows 2 i and 2 i + 1 of n elements each: writes n words, each with one element of both rows, rounded if
     * they are f32. Rows begin `apart` elements from each other. An odd last row is joined with zeros. NULL if elements
     * are floats. */
    void (*join)(tutti_dtype type, const void *from, int64_t apart, int64_t rows, int64_t n, void *to);
} tutti_conv_loops;

/* --- convolutions of 3 x 3 and 5 x 5 by the products of Winograd (winograd.c) --- */

/* A sample, with a vector of channels at each position. */
typedef struct {
    float *at;         /* the vector of position (0, 0) */
    int64_t step, row; /* distances in floats: step to the right neighbour, row to the neighbour below */
    int64_t height, width;
    int64_t y, x; /* first position of the tile */
    /* bias: added to each output, NULL if there is none; relu: then the maximum of output and 0 is taken */
    const float *bias;
    bool relu;
} tutti_winograd_plane;

/* Computes c (rows, lanes) = a (rows, sums) b (sums, lanes), or adds this product to c (`adds`). Distances are in
 * floats. The lanes of b are cut into blocks of two vectors; the last block may have one vector. */
typedef struct {
    int64_t nrows, nsums, nlanes;
    const float *a, *b;
    float *c;
    int64_t a_row, a_step, b_step, b_block, c_row;
    bool adds;
} tutti_winograd_product;

enum { TUTTI_WINOGRAD_PRODUCTS = 36 };

/* The transforms of a tile. A transformed tile is 36 vectors that lie `apart` floats from each other. The functions
 * transform the 6 x 6 input positions from the plane's (y, x) on, the tile x tile positions of the output's gradient,
 * and products back to outputs. Positions outside the plane are read as zero and are not written. Weights are kernel x
 * kernel vectors, `tap` floats from each other. */
typedef struct {
    int64_t kernel, tile; /* sides: kernel 3 with tile 4, or kernel 5 with tile 2; the sum is always 7 */
    void (*input)(const tutti_winograd_plane *p, float *to, int64_t apart);
    void (*gradient)(const tutti_winograd_plane *p, float *to, int64_t apart);
    void (*output)(const float *from, int64_t apart, const tutti_winograd_plane *p);
    void (*weights)(const float *from, int64_t tap, float *to, int64_t apart);
    void (*weight_gradient)(const float *from, int64_t apart, float *to, int64_t tap);
    void (*square)(const float *from, float *to); /* transposes a square of as many vectors as a vector has lanes */
    void (*product)(const tutti_winograd_product *p);
} tutti_winograd_loops;

/* --- convolutions of 5 x 5 whose channels do not fill vectors (winograd5.c) --- */

enum { TUTTI_WINOGRAD5_TILE = 2 };

/* The transforms of tutti_winograd_loops, for tiles of 2 x 2 outputs and n channels, at most a vector of them. */
typedef struct {
    void (*input)(const tutti_winograd_plane *p, int64_t n, float *to, int64_t apart);
    void (*gradient)(const tutti_winograd_plane *p, int64_t n, float *to, int64_t apart);
    void (*output)(const float *from, int64_t apart, int64_t n, const tutti_winograd_plane *p);
    /* Adds the input's gradient of a tile to 6 x 6 whole vectors. Their rows lie to_row floats from each other. */
    void (*spread)(const float *from, int64_t apart, int64_t n, float *to, int64_t to_row);
    /* Stores n lanes of each of `positions` vectors, `step` floats apart. */
    void (*place)(const float *from, int64_t positions, int64_t n, float *to, int64_t step);
    void (*weights)(const float *from, int64_t tap, int64_t n, float *to, int64_t apart);
    void (*weight_gradient)(const float *from, int64_t apart, int64_t n, float *to, int64_t tap);
} tutti_winograd5_loops;

/* --- local response normalisation over a tile of floats (lane_lrn.c) --- */

/* n elements of a tile. The window of element i has the elements i + first * step, i + (first + 1) * step, ..., i +
 * last * step. Elements that belong to no channel are zero. */
typedef struct {
    int64_t n, step;
    int first, last;
    float k, alpha, beta; /* the parameters of LRN; alpha is already divided by the window's size */
    const float *x, *dout;
    float *y;              /* the output, or the input's gradient */
    float *square, *ratio; /* scratch of n floats, with zeros on both sides, as x has them */
} tutti_lrn_call;
typedef void tutti_lrn_loop(const tutti_lrn_call *c);

/* --- dropout (lane_dropout.c) --- */

/* Draws random words as tutti_random does: four words for the counter (a, b), for each b in [first, first + n). For
 * each word it writes a byte, 1 if the word is at least `least`, else 0. */
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

TUTTI_ISA_DECLARE(tutti_lane_row, tutti_lane); /* defined in lane_vector.c */

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

/* Returns the place, in a table with one value for each channel, of the value that belongs to element i in memory.
 * Memory is cut into units of two vectors. A table holds the first vector of the first unit, then its second vector,
 * then the next unit; in memory units of bf16 hold the elements of both vectors in turn. */
static inline int64_t tutti_lane_index(int width, tutti_dtype type, int64_t i)
{
    const int64_t in_unit = i % (2 * width);
    return type == TUTTI_BF16 ? i - in_unit + in_unit % 2 * width + in_unit / 2 : i;
}

#endif
