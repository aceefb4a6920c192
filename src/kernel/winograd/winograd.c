/* SPDX-License-Identifier: Apache-2.0 */
/* winograd.c: the passes of a 3 x 3 convolution by Winograd's products (winograd.h). For a block of tiles, scratch
 * holds the transforms of what is read and of what is written: one matrix (tiles, channels) for each of the 36
 * products. Scratch also holds the transformed weights, one matrix (inputs, outputs) for each product, in blocks of two
 * vectors of outputs.
 *
 * A block has as many tiles as the second-level cache holds; with many channels it has more, so that reading the
 * weights again for each block costs no more than reading the tiles. A row of a matrix is one cache line longer than
 * its channels, because rows at distances of powers of two would compete for the same few sets of a cache. */
#include "winograd.h"

#include <string.h>

#include "../crew.h"

enum {
    PRODUCTS = TUTTI_WINOGRAD_PRODUCTS,
    MOST_TAPS = 5 * 5,
    LINE = 16,         /* floats in a cache line */
    CACHED = 96 << 10, /* largest number of floats in a block that is to stay in a cache */
    /* number of tiles that products take at once; the number of tiles in a block is a multiple of it */
    LEAST_TILES = 14,
    MOST_WIDTH = 16, /* number of floats in the longest vector */
    /* index of element (1, 1) of a transformed tile; there the transform of a gradient is the sum of the tile's
     * gradients */
    SUMS = 6 + 1,
};

/* One pass. The pass transforms tiles of `from`, multiplies, and transforms products back to `to` (for the weights'
 * gradient: `from` is the input, `to` is dout). */
typedef struct {
    const tutti_winograd *w;
    tutti_blocks from, to;
    int64_t pad, down, right; /* pad: padding; down, right: number of tiles of a sample in each direction */
    int64_t ntiles, block;    /* ntiles: number of tiles of all samples; block: number of tiles of a block */
    int64_t from_row, to_row; /* distance in floats from one row of a matrix to the next */
    /* the matrices of `from` (read), of `to` (made), and of the weights or their gradient (turned) */
    float *read, *made, *turned;
    /* the current block: its first tile, and the number of its tiles */
    int64_t first, n;
    bool begins; /* true while the first block is computed */
    const float *in, *dout, *weights, *bias;
    float *out;
    bool relu, flips; /* relu: a ReLU is applied; flips: the pass is the input's gradient, so weights are flipped */
} passage;

static bool plan(const tutti_value *in, const tutti_value *out, int64_t kernel, int64_t pad, int nthreads,
                 tutti_winograd *w)
{
    *w = (tutti_winograd){.pad = pad, .nthreads = nthreads};
    if (!tutti_blocks_of(in, &w->in) || !tutti_blocks_of(out, &w->out)) return false;
    w->row = tutti_lane_for(w->in.block < w->out.block ? w->in.block : w->out.block);
    w->loops = kernel == w->row->winograd.kernel ? &w->row->winograd : &w->row->winograd5_wide;
    const int64_t width = w->row->width;
    return w->in.channels % width == 0 && w->out.channels % width == 0 && w->in.block % width == 0 &&
           w->out.block % width == 0 && pad >= 0 && pad < kernel;
}

static bool plan_three(const tutti_value *in, const tutti_value *out, int64_t pad, int nthreads, tutti_winograd *w)
{
    return plan(in, out, 3, pad, nthreads, w);
}

static bool plan_five(const tutti_value *in, const tutti_value *out, int64_t pad, int nthreads, tutti_winograd *w)
{
    return plan(in, out, 5, pad, nthreads, w);
}

static int64_t taps_of(const tutti_winograd *w)
{
    return w->loops->kernel * w->loops->kernel;
}

static void weights_order(const tutti_winograd *w, tutti_layout *to)
{
    const int64_t width = w->row->width, square = width * width, kernel = w->loops->kernel, taps = taps_of(w);
    *to = (tutti_layout){.stride = {w->in.channels * taps * width, taps * square, kernel * square, square},
                         .padded = {w->out.channels, w->in.channels, kernel, kernel},
                         .ninner = 2,
                         .inner_block = {width, width},
                         .inner_dim = {1, 0}};
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static passage passage_of(const tutti_winograd *w, const tutti_blocks *from, const tutti_blocks *to, int64_t pad)
{
    /* the value that is cut into tiles: the one that is written, or dout for the weights' gradient */
    const tutti_blocks *tiled = to;
    const int64_t tile = w->loops->tile;
    passage p = {.w = w,
                 .from = *from,
                 .to = *to,
                 .pad = pad,
                 .down = (tiled->height + tile - 1) / tile,
                 .right = (tiled->width + tile - 1) / tile,
                 .from_row = from->channels + LINE,
                 .to_row = to->channels + LINE};
    p.ntiles = tiled->batch * p.down * p.right;
    const int64_t both = from->channels + to->channels;
    const int64_t cached = CACHED / (PRODUCTS * both), as_weights = from->channels * to->channels / (2 * both);
    const int64_t wanted = max64(cached, as_weights), blocks = (wanted + LEAST_TILES - 1) / LEAST_TILES;
    p.block = min64(p.ntiles, blocks * LEAST_TILES);
    return p;
}

static int64_t floats_of(const passage *p)
{
    return PRODUCTS * (p->block * (p->from_row + p->to_row) + p->from.channels * p->to_row);
}

/* Returns the bytes of scratch for the forward pass or the input's gradient, whichever needs more. */
static size_t scratch_bytes(const tutti_winograd *w)
{
    const passage there = passage_of(w, &w->in, &w->out, w->pad),
                  back = passage_of(w, &w->out, &w->in, w->loops->kernel - 1 - w->pad);
    return (size_t)max64(floats_of(&there), floats_of(&back)) * sizeof(float);
}

static void place(passage *p, void *scratch)
{
    p->read = scratch;
    p->made = p->read + PRODUCTS * p->block * p->from_row;
    p->turned = p->made + PRODUCTS * p->block * p->to_row;
}

/* --- weights --- */

/* Returns the address, in the first matrix of weights, of the vector of outputs that begins at `lane`, for one
 * input. */
static float *turned_at(const passage *p, int64_t input, int64_t lane)
{
    const int64_t lanes = 2 * p->w->row->width;
    return p->turned + lane / lanes * p->from.channels * lanes +
           input * min64(lanes, p->to.channels - lane / lanes * lanes) + lane % lanes;
}

static int64_t turned_apart(const passage *p)
{
    return p->from.channels * p->to.channels;
}

/* Transforms the weights of a square of inputs and outputs. */
static void turn_square(const passage *p, int64_t from, int64_t to)
{
    const tutti_winograd_loops *l = p->w->loops;
    const int64_t width = p->w->row->width, square = width * width, inputs = p->w->in.channels, taps = taps_of(p->w);
    const int64_t o = p->flips ? from : to, i = p->flips ? to : from;
    const float *weights = p->weights + (o * inputs + i * width) * taps;
    float flipped[MOST_TAPS * MOST_WIDTH * MOST_WIDTH];
    for (int64_t t = 0; t < taps && p->flips; t++) l->square(weights + t * square, flipped + (taps - 1 - t) * square);
    for (int64_t x = 0; x < width; x++)
        l->weights((p->flips ? flipped : weights) + x * width, square, turned_at(p, from + x, to), turned_apart(p));
}

static void turn_weights(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    const int64_t width = p->w->row->width;
    (void)thread;
    for (int64_t to = begin * width; to < end * width; to += width)
        for (int64_t from = 0; from < p->from.channels; from += width) turn_square(p, from, to);
}

/* --- tiles --- */

typedef struct {
    int64_t sample, y, x; /* sample, row and column of the tile's first output */
} tile;

static tile tile_at(const passage *p, int64_t i)
{
    const int64_t of_sample = p->down * p->right, at = i % of_sample, side = p->w->loops->tile;
    return (tile){i / of_sample, at / p->right * side, at % p->right * side};
}

static tutti_winograd_plane plane_of(const tutti_blocks *b, const float *memory, int64_t sample, int64_t channel)
{
    return (tutti_winograd_plane){.at = (float *)memory + sample * b->sample_step + channel / b->block * b->block_step +
                                        channel % b->block,
                                  .step = b->block,
                                  .row = b->width * b->block,
                                  .height = b->height,
                                  .width = b->width};
}

/* Reads and transforms tiles [begin, end) of the block. */
static void read_tiles(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    const tutti_lane_row *row = p->w->row;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const tile t = tile_at(p, p->first + i);
        for (int64_t c = 0; c < p->from.channels; c += row->width) {
            tutti_winograd_plane plane = plane_of(&p->from, p->in, t.sample, c);
            plane.y = t.y - p->pad, plane.x = t.x - p->pad;
            p->w->loops->input(&plane, p->read + i * p->from_row + c, p->block * p->from_row);
        }
    }
}

static void read_gradients(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    const tutti_lane_row *row = p->w->row;
    read_tiles(arg, begin, end, thread);
    for (int64_t i = begin; i < end; i++) {
        const tile t = tile_at(p, p->first + i);
        for (int64_t c = 0; c < p->to.channels; c += row->width) {
            tutti_winograd_plane plane = plane_of(&p->to, p->dout, t.sample, c);
            plane.y = t.y, plane.x = t.x;
            p->w->loops->gradient(&plane, p->made + i * p->to_row + c, p->block * p->to_row);
        }
    }
}

static void write_tiles(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    const tutti_lane_row *row = p->w->row;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const tile t = tile_at(p, p->first + i);
        for (int64_t c = 0; c < p->to.channels; c += row->width) {
            tutti_winograd_plane plane = plane_of(&p->to, p->out, t.sample, c);
            plane.y = t.y, plane.x = t.x, plane.bias = p->bias ? p->bias + c : NULL, plane.relu = p->relu;
            p->w->loops->output(p->made + i * p->to_row + c, p->block * p->to_row, &plane);
        }
    }
}

/* --- products [begin, end) of the 36 products of matrices --- */

static void multiply(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    const int64_t lanes = min64(2 * p->w->row->width, p->to.channels);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        tutti_winograd_product product = {.nrows = p->n,
                                          .nsums = p->from.channels,
                                          .nlanes = p->to.channels / lanes * lanes,
                                          .a = p->read + i * p->block * p->from_row,
                                          .b = p->turned + i * turned_apart(p),
                                          .c = p->made + i * p->block * p->to_row,
                                          .a_row = p->from_row,
                                          .a_step = 1,
                                          .b_step = lanes,
                                          .b_block = p->from.channels * lanes,
                                          .c_row = p->to_row};
        p->w->loops->product(&product);
        const int64_t done = product.nlanes;
        if (done == p->to.channels) continue;
        product.b += done * p->from.channels; /* the last block of outputs has only one vector */
        product.c += done;
        product.nlanes = product.b_step = p->to.channels - done;
        p->w->loops->product(&product);
    }
}

/* Computes products [begin, end) of the weights' gradient: matrices (inputs, outputs), each a sum over the tiles of the
 * block. */
static void multiply_gradients(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        p->w->loops->product(&(tutti_winograd_product){.nrows = p->from.channels,
                                                       .nsums = p->n,
                                                       .nlanes = p->to.channels,
                                                       .a = p->read + i * p->block * p->from_row,
                                                       .b = p->made + i * p->block * p->to_row,
                                                       .c = p->turned + i * p->from.channels * p->to_row,
                                                       .a_row = 1,
                                                       .a_step = p->from_row,
                                                       .b_step = p->to_row,
                                                       .b_block = 2 * p->w->row->width,
                                                       .c_row = p->to_row,
                                                       .adds = !p->begins});
}

/* Moves on to the next block of tiles. Returns false after the last. */
static bool next_block(passage *p)
{
    p->first += p->n;
    p->n = min64(p->block, p->ntiles - p->first);
    p->begins = p->first == 0;
    return p->n > 0;
}

static void convolve(passage *p)
{
    const int nthreads = p->w->nthreads;
    tutti_crew_run(nthreads, p->to.channels / p->w->row->width, turn_weights, p);
    while (next_block(p)) {
        tutti_crew_run(nthreads, p->n, read_tiles, p);
        tutti_crew_run(nthreads, PRODUCTS, multiply, p);
        tutti_crew_run(nthreads, p->n, write_tiles, p);
    }
}

static void forward(const tutti_winograd *w, const float *in, const float *weights, const tutti_winograd_sum *sum,
                    void *scratch)
{
    passage p = passage_of(w, &w->in, &w->out, w->pad);
    place(&p, scratch);
    p.in = in, p.weights = weights, p.bias = sum->bias, p.relu = sum->relu, p.out = sum->out;
    convolve(&p);
}

static void input_gradient(const tutti_winograd *w, const float *dout, const float *weights, float *din, void *scratch)
{
    passage p = passage_of(w, &w->out, &w->in, w->loops->kernel - 1 - w->pad);
    place(&p, scratch);
    p.in = dout, p.weights = weights, p.flips = true, p.out = din;
    convolve(&p);
}

/* Transforms output channels [begin, end) back, a vector at a time. */
static void turn_back(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    const int64_t width = p->w->row->width, square = width * width, inputs = p->from.channels, taps = taps_of(p->w);
    (void)thread;
    for (int64_t o = begin * width; o < end * width; o += width)
        for (int64_t i = 0; i < inputs; i++)
            p->w->loops->weight_gradient(p->turned + i * p->to_row + o, inputs * p->to_row,
                                         p->out + (o * inputs + i / width * square) * taps + i % width * width, square);
}

/* Adds up the gradient of the bias. Element (1, 1) of a transformed tile of dout is the sum of the tile's gradients. */
static void sum_bias(const passage *p, float *dbias)
{
    const float *sums = p->made + SUMS * p->block * p->to_row;
    if (p->begins) memset(dbias, 0, (size_t)p->to.channels * sizeof *dbias);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t c = 0; c < p->to.channels; c++) dbias[c] += sums[i * p->to_row + c];
}

static void weight_gradient(const tutti_winograd *w, const float *in, const float *dout, float *dweights, float *dbias,
                            void *scratch)
{
    passage p = passage_of(w, &w->in, &w->out, w->pad);
    place(&p, scratch);
    p.in = in, p.dout = dout, p.out = dweights;
    while (next_block(&p)) {
        tutti_crew_run(w->nthreads, p.n, read_gradients, &p);
        tutti_crew_run(w->nthreads, PRODUCTS, multiply_gradients, &p);
        if (dbias) sum_bias(&p, dbias);
    }
    if (dweights) tutti_crew_run(w->nthreads, w->out.channels / w->row->width, turn_back, &p);
}

#define OF_BOTH                                                                                                        \
    .weights_order = weights_order, .scratch = scratch_bytes, .forward = forward, .weight_gradient = weight_gradient,  \
    .input_gradient = input_gradient

const tutti_winograd_size tutti_winograd_three = {
    .kernel = 3,
    .refusal = "winograd convolves 3 x 3 with stride 1, one group, padding of at most 2, f32, and channels that fill "
               "vectors",
    .plan = plan_three,
    OF_BOTH,
};

const tutti_winograd_size tutti_winograd_five_wide = {
    .kernel = 5,
    .refusal = "winograd5-wide convolves 5 x 5 with stride 1, one group, padding of at most 4, f32, and channels that "
               "fill vectors",
    .plan = plan_five,
    OF_BOTH,
};
