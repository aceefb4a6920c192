/* SPDX-License-Identifier: Apache-2.0 */
/* winograd5.c: the passes of a 5 x 5 convolution by Winograd's products, for channels that do not fill vectors
 * (winograd5.h). For a block of samples, scratch holds for each of the 36 products a matrix (tiles, channels) of the
 * input, one of the output, and a matrix (inputs, outputs) of transformed weights. Products of matrices are computed as
 * convolutions of 1 x 1 by the loops of lane_conv_loops.h, which compute whole vectors and half vectors. So the rows of
 * matrices need no filling. Matrices are one cache line apart from each other, because otherwise all 36 would compete
 * for the same sets of a cache. */
#include "winograd5.h"

#include <string.h>

#include "../../tensor/elementwise.h"
#include "../crew.h"
#include "../gemm/transpose.h"

enum {
    PRODUCTS = TUTTI_WINOGRAD_PRODUCTS,
    TILE = TUTTI_WINOGRAD5_TILE,
    TILE_IN = 6,
    KERNEL = 5,
    LINE = 16,         /* floats in a cache line */
    MASKED = 16,       /* number of lanes of vectors that masked loads and stores do not slow down */
    CACHED = 96 << 10, /* largest number of floats in a block that is to stay in a cache */
    /* index of element (1, 1) of a transformed tile; there the transform of a gradient is the sum of the tile's
     * gradients */
    SUMS = 6 + 1,
};

/* The sizes, scratch and current block of a pass. */
typedef struct {
    const tutti_winograd *w;
    int64_t inputs, outputs, tiles; /* number of input channels, of output channels, and of tiles of a sample */
    /* floats from one matrix to the next: of the input, of the output, of the weights */
    int64_t read_apart, made_apart, turned_apart;
    /* matrices of the input (read), of the output (made), of the weights (turned), and of the transposed weights
     * (over); plane: one plane for each thread */
    float *read, *made, *turned, *over, *plane;
    int64_t first, n; /* the current block: its first sample, and the number of its
                                                   * samples */
    const float *in, *dout, *weights, *bias;
    float *out, *din, *dweights;
    bool relu;
} passage;

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool fills_lanes(const tutti_lane_row *row, int64_t n)
{
    return n >= row->width && n % row->width <= row->width / 2;
}

static int64_t block_floats(const tutti_winograd *w, int64_t samples)
{
    return PRODUCTS * samples * w->down * w->right * (w->in.channels + w->out.channels);
}

static bool plan(const tutti_value *in, const tutti_value *out, int64_t pad, int nthreads, tutti_winograd *w)
{
    *w = (tutti_winograd){.pad = pad, .nthreads = nthreads > 1 ? nthreads : 1, .row = tutti_lane_here()};
    if (!tutti_blocks_of(in, &w->in) || !tutti_blocks_of(out, &w->out)) return false;
    w->down = (w->out.height + TILE - 1) / TILE, w->right = (w->out.width + TILE - 1) / TILE;
    const int64_t cached = CACHED / block_floats(w, 1);
    w->samples = cached < 1 ? 1 : min64(cached, w->out.batch);
    return w->in.block == w->in.channels && w->out.block == w->out.channels && fills_lanes(w->row, w->in.channels) &&
           fills_lanes(w->row, w->out.channels) && w->down * w->right >= TUTTI_CONV_WIDTH &&
           w->in.channels >= TUTTI_CONV_TAPS && pad >= 0 && pad < KERNEL;
}

static void weights_order(const tutti_winograd *w, tutti_layout *to)
{
    const int64_t inputs = w->in.channels, outputs = w->out.channels;
    *to = (tutti_layout){.stride = {1, outputs, KERNEL * inputs * outputs, inputs * outputs},
                         .padded = {outputs, inputs, KERNEL, KERNEL}};
}

/* --- scratch --- */

/* Returns the width of a plane for the input's gradient, in vectors: one vector for each position that tiles cover. */
static int64_t plane_width(const tutti_winograd *w)
{
    return w->right * TILE + TILE_IN - TILE;
}

static int64_t plane_floats(const tutti_winograd *w)
{
    return (w->down * TILE + TILE_IN - TILE) * plane_width(w) * w->row->width;
}

/* Returns a passage with its sizes set, but without memory. */
static passage sizes_of(const tutti_winograd *w)
{
    passage p = {.w = w, .inputs = w->in.channels, .outputs = w->out.channels, .tiles = w->down * w->right};
    p.read_apart = w->samples * p.tiles * p.inputs + LINE;
    p.made_apart = w->samples * p.tiles * p.outputs + LINE;
    p.turned_apart = p.inputs * p.outputs + LINE;
    return p;
}

static passage passage_of(const tutti_winograd *w, void *scratch)
{
    passage p = sizes_of(w);
    p.read = scratch;
    p.made = p.read + PRODUCTS * p.read_apart;
    p.turned = p.made + PRODUCTS * p.made_apart;
    p.over = p.turned + PRODUCTS * p.turned_apart;
    p.plane = p.over + PRODUCTS * p.turned_apart;
    return p;
}

static size_t scratch_bytes(const tutti_winograd *w)
{
    const passage p = sizes_of(w);
    const int64_t matrices = PRODUCTS * (p.read_apart + p.made_apart + 2 * p.turned_apart);
    return (size_t)(matrices + w->nthreads * plane_floats(w)) * sizeof(float);
}

size_t tutti_winograd5_block_bytes(const tutti_winograd *w)
{
    return (size_t)block_floats(w, w->samples) * sizeof(float);
}

/* --- tiles --- */

static int64_t lanes_at(const passage *p, int64_t channel, int64_t channels)
{
    return min64(channels - channel, p->w->row->width);
}

static tutti_winograd_plane plane_of(const tutti_blocks *b, const float *memory, int64_t sample, int64_t channel)
{
    return (tutti_winograd_plane){.at = (float *)(uintptr_t)memory + sample * b->sample_step + channel,
                                  .step = b->channels,
                                  .row = b->width * b->channels,
                                  .height = b->height,
                                  .width = b->width};
}

typedef struct {
    int64_t sample, y, x; /* sample, row and column of the tile's first output */
} tile;

/* Returns tile i of the current block. */
static tile tile_at(const passage *p, int64_t i)
{
    const int64_t at = i % p->tiles;
    return (tile){p->first + i / p->tiles, at / p->w->right * TILE, at % p->w->right * TILE};
}

/* Returns the number of lanes of a tile that are loaded and stored. Without AVX-512, parts of vectors are slow. So
 * whole vectors are used if the excess belongs to the next tile, which is written later, and if the memory to load
 * exists. */
static int64_t lanes_of_tile(const passage *p, tile t, bool is_last, int64_t channel, int64_t channels)
{
    const int64_t width = p->w->row->width;
    const bool whole = width < MASKED && !is_last && t.sample + 1 < p->w->out.batch;
    return whole ? width : lanes_at(p, channel, channels);
}

/* Reads and transforms tiles [begin, end) of the block. */
static void read_inputs(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    const tutti_winograd *w = p->w;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const tile t = tile_at(p, i);
        for (int64_t c = 0; c < p->inputs; c += w->row->width) {
            tutti_winograd_plane plane = plane_of(&w->in, p->in, t.sample, c);
            plane.y = t.y - w->pad, plane.x = t.x - w->pad;
            w->row->winograd5.input(&plane, lanes_of_tile(p, t, i + 1 == end, c, p->inputs),
                                    p->read + i * p->inputs + c, p->read_apart);
        }
    }
}

static void read_gradients(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    const tutti_winograd *w = p->w;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const tile t = tile_at(p, i);
        for (int64_t c = 0; c < p->outputs; c += w->row->width) {
            tutti_winograd_plane plane = plane_of(&w->out, p->dout, t.sample, c);
            plane.y = t.y, plane.x = t.x;
            w->row->winograd5.gradient(&plane, lanes_of_tile(p, t, i + 1 == end, c, p->outputs),
                                       p->made + i * p->outputs + c, p->made_apart);
        }
    }
}

static void read_both(void *arg, int64_t begin, int64_t end, int thread)
{
    read_inputs(arg, begin, end, thread);
    read_gradients(arg, begin, end, thread);
}

static void write_outputs(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    const tutti_winograd *w = p->w;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const tile t = tile_at(p, i);
        for (int64_t c = 0; c < p->outputs; c += w->row->width) {
            tutti_winograd_plane plane = plane_of(&w->out, p->out, t.sample, c);
            plane.y = t.y, plane.x = t.x, plane.bias = p->bias ? p->bias + c : NULL, plane.relu = p->relu;
            w->row->winograd5.output(p->made + i * p->outputs + c, p->made_apart, lanes_at(p, c, p->outputs), &plane);
        }
    }
}

/* Computes the input's gradient for a vector of channels from c on, of sample i of the block. The tiles are added up in
 * `plane`, which has room for all positions that tiles cover, and then copied to the gradient. */
static void spread_sample(const passage *p, int64_t i, int64_t c, float *plane)
{
    const tutti_winograd *w = p->w;
    const int64_t width = w->row->width, row = plane_width(w) * width, n = lanes_at(p, c, p->inputs);
    const float *from = p->read + i * p->tiles * p->inputs + c;
    memset(plane, 0, (size_t)plane_floats(w) * sizeof *plane);
    for (int64_t t = 0; t < p->tiles; t++)
        w->row->winograd5.spread(from + t * p->inputs, p->read_apart, n,
                                 plane + t / w->right * TILE * row + t % w->right * TILE * width, row);
    const tutti_winograd_plane to = plane_of(&w->in, p->din, p->first + i, c);
    for (int64_t y = 0; y < to.height; y++)
        w->row->winograd5.place(plane + (y + w->pad) * row + w->pad * width, to.width, n, to.at + y * to.row, to.step);
}

/* Computes the input's gradients of samples [begin, end) of the block. */
static void write_inputs(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    float *plane = p->plane + thread * plane_floats(p->w);
    for (int64_t i = begin; i < end; i++)
        for (int64_t c = 0; c < p->inputs; c += p->w->row->width) spread_sample(p, i, c, plane);
}

/* --- products [begin, end) of the 36 products of matrices --- */

/* Describes the product of a matrix (tiles, from) and a matrix (from, to) as a convolution of 1 x 1. */
static tutti_conv_call call_of(const passage *p, int64_t from, int64_t to)
{
    const int64_t ntiles = p->n * p->tiles;
    return (tutti_conv_call){
        .channels = from, .width = ntiles, .out_channels = to, .out_height = 1, .out_width = ntiles, .kernel = 1};
}

static void multiply(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    tutti_conv_call call = call_of(p, p->inputs, p->outputs);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        call.in = p->read + i * p->read_apart;
        call.weights = p->turned + i * p->turned_apart;
        call.out = p->made + i * p->made_apart;
        p->w->row->conv.forward(&call);
    }
}

static void multiply_back(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    tutti_conv_call call = call_of(p, p->outputs, p->inputs);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        call.in = p->made + i * p->made_apart;
        call.weights = p->over + i * p->turned_apart;
        call.out = p->read + i * p->read_apart;
        p->w->row->conv.forward(&call);
    }
}

/* Adds to products [begin, end) of the weights' gradient: matrices (inputs, outputs), each a sum over the tiles of the
 * block. */
static void multiply_gradients(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    tutti_conv_call call = call_of(p, p->inputs, p->outputs);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        call.in = p->read + i * p->read_apart;
        call.dout = p->made + i * p->made_apart;
        call.dweights = p->turned + i * p->turned_apart;
        p->w->row->conv.weight_gradient(&call);
    }
}

/* --- transforms of the weights of inputs [begin, end) --- */

static void turn_weights(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    (void)thread;
    for (int64_t at = begin * p->outputs; at < end * p->outputs; at += p->outputs)
        for (int64_t o = 0; o < p->outputs; o += p->w->row->width)
            p->w->row->winograd5.weights(p->weights + at + o, p->inputs * p->outputs, lanes_at(p, o, p->outputs),
                                         p->turned + at + o, p->turned_apart);
}

static void turn_back(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    (void)thread;
    for (int64_t at = begin * p->outputs; at < end * p->outputs; at += p->outputs)
        for (int64_t o = 0; o < p->outputs; o += p->w->row->width)
            p->w->row->winograd5.weight_gradient(p->turned + at + o, p->turned_apart, lanes_at(p, o, p->outputs),
                                                 p->dweights + at + o, p->inputs * p->outputs);
}

/* Transposes the matrices of transformed weights of products [begin, end). */
static void turn_over(void *arg, int64_t begin, int64_t end, int thread)
{
    const passage *p = arg;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        tutti_transpose(&(tutti_transposition){TUTTI_F32, TUTTI_F32, p->turned + i * p->turned_apart,
                                               p->over + i * p->turned_apart, p->inputs, p->outputs},
                        1);
}

/* --- passes --- */

static bool next_block(passage *p)
{
    p->first += p->n;
    p->n = min64(p->w->samples, p->w->out.batch - p->first);
    return p->n > 0;
}

static void forward(const tutti_winograd *w, const float *in, const float *weights, const tutti_winograd_sum *sum,
                    void *scratch)
{
    passage p = passage_of(w, scratch);
    p.in = in, p.weights = weights, p.bias = sum->bias, p.relu = sum->relu, p.out = sum->out;
    tutti_crew_run(w->nthreads, p.inputs, turn_weights, &p);
    while (next_block(&p)) {
        tutti_crew_run(w->nthreads, p.n * p.tiles, read_inputs, &p);
        tutti_crew_run(w->nthreads, PRODUCTS, multiply, &p);
        tutti_crew_run(w->nthreads, p.n * p.tiles, write_outputs, &p);
    }
}

static void add_bias_sums(const passage *p, float *dbias)
{
    const float *sums = p->made + SUMS * p->made_apart;
    for (int64_t i = 0; i < p->n * p->tiles; i++) tutti_elementwise_add(dbias, sums + i * p->outputs, p->outputs);
}

static void weight_gradient(const tutti_winograd *w, const float *in, const float *dout, float *dweights, float *dbias,
                            void *scratch)
{
    passage p = passage_of(w, scratch);
    p.in = in, p.dout = dout, p.dweights = dweights;
    memset(p.turned, 0, (size_t)(PRODUCTS * p.turned_apart) * sizeof(float));
    if (dbias) memset(dbias, 0, (size_t)p.outputs * sizeof *dbias);
    while (next_block(&p)) {
        tutti_crew_run(w->nthreads, p.n * p.tiles, read_both, &p);
        tutti_crew_run(w->nthreads, PRODUCTS, multiply_gradients, &p);
        if (dbias) add_bias_sums(&p, dbias);
    }
    if (dweights) tutti_crew_run(w->nthreads, p.inputs, turn_back, &p);
}

static void input_gradient(const tutti_winograd *w, const float *dout, const float *weights, float *din, void *scratch)
{
    passage p = passage_of(w, scratch);
    p.dout = dout, p.weights = weights, p.din = din;
    tutti_crew_run(w->nthreads, p.inputs, turn_weights, &p);
    tutti_crew_run(w->nthreads, PRODUCTS, turn_over, &p);
    while (next_block(&p)) {
        tutti_crew_run(w->nthreads, p.n * p.tiles, read_gradients, &p);
        tutti_crew_run(w->nthreads, PRODUCTS, multiply_back, &p);
        tutti_crew_run(w->nthreads, p.n, write_inputs, &p);
    }
}

const tutti_winograd_size tutti_winograd_five = {
    .kernel = 5,
    .refusal = "winograd5 convolves 5 x 5 with stride 1, one group, padding of at most 4, f32, 8 tiles of 2 x 2 or "
               "more, and channels that lie innermost and leave half a vector at most",
    .plan = plan,
    .weights_order = weights_order,
    .scratch = scratch_bytes,
    .forward = forward,
    .weight_gradient = weight_gradient,
    .input_gradient = input_gradient,
};
