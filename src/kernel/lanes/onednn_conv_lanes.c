/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_conv_lanes.c: convolutions whose channels lie innermost (NHWC) and whose output channels leave a large part of
 * their vectors empty. The loops of lane_conv_loops.h, or tiles, compute them sample by sample.
 *
 * The library computes whole vectors of output channels: of 20 it computes 32, of 50 it computes 64. Our loops can
 * compute half a vector. On processors that compute a vector of 512 bits as two of 256 (Zen 4), that takes half the
 * time. On other processors half a vector takes as long as a whole one. There the few channels that are left over are
 * computed by lanes that hold taps (lane_conv_left.h). Padding is put around a copy of the sample. The gradient of the
 * bias is summed from a sample's output gradient while this is still in a cache.
 *
 * bf16 is multiplied in pairs (AVX512-BF16), sums are f32 and what is stored is rounded once. A pair is two taps of a
 * row of the window in the forward pass, two output channels in the input's gradient, and two neighbouring positions of
 * a row in the weights' gradient. Elements that do not lie in pairs are joined first: weights once a call, inputs and
 * gradients once a sample.
 *
 * Where the processor has AMX, products use tiles, which are much faster than vectors. The library's tiles compute
 * everything but weights' gradients with up to 64 channels. For these our own tiles (tile_conv.h) are faster, unless
 * both input and output channels fill the library's tiles. Microseconds of that gradient on one thread of a Xeon,
 * library | own:
 *   1 -> 20, 5 x 5, 28 x 28, 64     692 | 312      16 -> 16, 3 x 3, 32 x 32, pad 1, 64   995 | 811
 *   20 -> 50, 5 x 5, 12 x 12, 64   1026 | 397      16 -> 32, 3 x 3, 32 x 32, pad 1, 64  1403 | 1235
 *   3 -> 16, 3 x 3, 32 x 32, 64     454 | 332      32 -> 32, 3 x 3, 16 x 16, pad 1, 64   506 | 538: not taken
 *   24 -> 56, 3 x 3, 14 x 14, 64    736 | 602      64 -> 64, 3 x 3, 56 x 56, pad 1, 16  4396 | 4956: not taken
 *
 * The input's gradient has the taps of a row of the window across lanes, and sums of it are added to a plane of f32
 * that stays in the first level, without a matrix of windows. Our loop is taken where there are at least twice as many
 * outputs as inputs, and where inputs do not fill vectors. If inputs do, the library is faster (32 -> 56, 3 x 3, 16 x
 * 16, pad 1: 2.32 ms by the library, 2.53 by our loop).
 *
 * The next table has milliseconds on one thread of an EPYC (Zen 4). Each group of three numbers is the forward pass,
 * the gradient of weights and bias, and the gradient of the input (- where our loop is not taken); for each precision,
 * the first group is without our loops and the second with them. Without them, gradients in f32 were matrix products
 * with a written matrix of windows, if the input has at least 8 channels and the output at least twice as many:
 *
 *   convolution, batch                      f32                                     bf16
 *   1 -> 20, 5 x 5, 28 x 28 (LeNet), 64     0.60 0.67    -    0.45 0.53    -        0.56 0.40    -    0.26 0.34    -
 *   20 -> 50, 5 x 5, 12 x 12 (LeNet), 64    2.55 2.11 2.12    2.01 2.18 2.03        1.21 1.56 1.79    1.00 1.28 0.99
 *   20 -> 50, 3 x 3, 12 x 12, 64            1.49 1.27    -    1.36 1.20    -        0.74 1.04    -    0.67 0.68    -
 *   20 -> 50, 5 x 5, 12 x 12, pad 2, 64     4.82 4.87 4.78    4.68 4.95 4.54        2.24 2.78 2.69    2.28 2.54 2.22
 *   8 -> 24, 5 x 5, 16 x 16, pad 2, 64      1.68 1.87 2.06    1.59 1.62 1.50        0.90 0.97 1.27    0.70 0.80 0.76
 *   24 -> 56, 3 x 3, 14 x 14, 64            2.63 2.61 2.55    1.99 2.12 2.23        1.20 1.46 1.54    0.97 1.11 1.06
 *   3 -> 36, 3 x 3, 32 x 32, pad 1, 64      1.48 2.11    -    1.39 1.95    -        1.00 1.32    -    0.77 1.18    -
 *   20 -> 36, 3 x 3, 28 x 28, pad 1, 16     2.13 1.90    -    1.64 1.70    -        0.95 1.28    -    0.80 0.88    -
 *   128 -> 40, 3 x 3, 14 x 14, pad 1, 16    3.20 3.18    -    3.01 2.63    -        1.39 1.56    -    1.47 1.37    -
 *
 * For two shapes our loops are not taken: 256 -> 20, 3 x 3, 14 x 14, pad 1 has too many input channels (f32: 3.75 4.30
 * without, 4.13 3.82 with our loops); 1 -> 6, 5 x 5, 28 x 28, pad 2 has output channels for less than a vector (0.35
 * 0.38 without, 0.48 0.46 with).
 *
 * With vectors of eight lanes (AVX2) the library wastes little, and there are only half as many registers. There our
 * loops are better up to 16 input channels (bench/kernels/NOTES.md), and the library computes the rest.
 *
 * Threads share the samples. Each thread sums gradients of weights and bias in memory of its own; then these sums are
 * added in the order of the threads' numbers. */
#include <string.h>

#include "../../tensor/convert.h"
#include "../../tensor/elementwise.h"
#include "../crew.h"
#include "../library/onednn_impl.h"
#include "lane_impl.h"
#include "tile_conv.h"

enum { TILE_BYTES = 400 << 10, MANY_TILE_BYTES = 4 << 20, MANY_SUMS = 64 << 10 };

static const tutti_conv_loops *loops_for(tutti_dtype type)
{
    if (type != TUTTI_BF16) return &tutti_lane_here()->conv;
    return tutti_onednn_multiplies_pairs() ? tutti_lane_conv_bf16() : NULL;
}

static int64_t plane_of(const tutti_onednn_windows *w)
{
    return w->height * w->width * w->channels;
}

static int64_t padded_plane_of(const tutti_onednn_windows *w)
{
    return (w->height + 2 * w->pad) * (w->width + 2 * w->pad) * w->channels;
}

static int64_t out_plane_of(const tutti_onednn_windows *w)
{
    return w->out_height * w->out_width * w->out_channels;
}

static int64_t samples_of(const tutti_onednn_windows *w)
{
    return w->rows / w->out_height;
}

/* Returns the number of words for n elements: a word holds a pair of bf16, or one float. */
static int64_t words_of(const tutti_onednn_windows *w, int64_t n)
{
    return w->type == TUTTI_BF16 ? (n + 1) / 2 : n;
}

static void *scratch_at(const tutti_kernel_args *a, size_t at)
{
    return (char *)a->scratch + at;
}

/* Values that a pass prepares before threads share its samples. */
typedef struct {
    const tutti_onednn_windows *w;
    const tutti_kernel_args *a;
    tutti_conv_call call;
} shared;

/* Returns the bytes of n elements for one thread, in whole cache lines. */
static size_t lines_of(int64_t n, size_t number)
{
    enum { LINE = 64 };
    return ((size_t)n * number + LINE - 1) / LINE * LINE;
}

/* Returns how many sums a thread has: of weights, then of the bias. */
static int64_t sums_of(const tutti_onednn_windows *w)
{
    return w->size * w->out_channels + w->out_channels;
}

static float *sums_at(const tutti_onednn_windows *w, const tutti_kernel_args *a, int thread)
{
    return scratch_at(a, w->product_at + (size_t)thread * lines_of(sums_of(w), sizeof(float)));
}

/* Adds the sums of all other threads to the sums of the first thread. */
static void join_sums(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    const int64_t nparts = w->nthreads < samples_of(w) ? w->nthreads : samples_of(w);
    float *first = sums_at(w, a, 0);
    for (int t = 1; t < nparts; t++) tutti_elementwise_add(first, sums_at(w, a, t), sums_of(w));
    if (w->bias && a->dparam[1])
        memcpy(a->dparam[1], first + w->size * w->out_channels, (size_t)w->out_channels * sizeof *first);
}

static tutti_conv_call call_of(const tutti_onednn_windows *w)
{
    return (tutti_conv_call){.channels = w->channels,
                             .width = w->width + 2 * w->pad,
                             .out_channels = w->out_channels,
                             .out_height = w->out_height,
                             .out_width = w->out_width,
                             .kernel = w->kernel,
                             .nleft = w->nleft,
                             .relu = w->relu};
}

/* Returns the address of sample i. A sample has `numbers` elements. */
static const void *sample(const void *memory, int64_t i, int64_t numbers, tutti_dtype type)
{
    return (const char *)memory + (size_t)(i * numbers) * tutti_dtype_bytes(type);
}

/* --- padding, and conversion to the type of the products --- */

typedef struct {
    void *memory;
    tutti_dtype type;
} plane;

static void copy_numbers(plane from, int64_t at, plane to, int64_t to_at, int64_t n)
{
    const size_t size = tutti_dtype_bytes(to.type);
    const char *source = (const char *)from.memory + (size_t)at * tutti_dtype_bytes(from.type);
    char *target = (char *)to.memory + (size_t)to_at * size;
    if (from.type == to.type)
        memcpy(target, source, (size_t)n * size);
    else
        tutti_convert_from_f32(to.type, (const float *)(const void *)source, target, n);
}

static int64_t begin_of_row(const tutti_onednn_windows *w, int64_t y)
{
    return ((y + w->pad) * (w->width + 2 * w->pad) + w->pad) * w->channels;
}

static bool is_padded_copy(const tutti_onednn_windows *w)
{
    return w->pad || w->in_type != w->type;
}

static void *plane_at(const tutti_onednn_windows *w, const tutti_kernel_args *a, tutti_dtype type, int thread)
{
    return scratch_at(a, w->tile_at + (size_t)thread * lines_of(padded_plane_of(w), tutti_dtype_bytes(type)));
}

/* Returns sample i in the type that is multiplied, with zeros around it. The zeros were written once, by
 * clear_padding. */
static const void *padded(const tutti_onednn_windows *w, const tutti_kernel_args *a, int64_t i, int thread)
{
    const plane in = {(void *)(uintptr_t)sample(a->in[0], i, plane_of(w), w->in_type), w->in_type};
    const plane to = {plane_at(w, a, w->type, thread), w->type};
    const int64_t row = w->width * w->channels;
    if (!is_padded_copy(w)) return in.memory;
    for (int64_t y = 0; y < w->height; y++) copy_numbers(in, y * row, to, begin_of_row(w, y), row);
    return to.memory;
}

static void clear_padding(const tutti_onednn_windows *w, const tutti_kernel_args *a, int thread)
{
    if (w->pad) memset(plane_at(w, a, w->type, thread), 0, (size_t)padded_plane_of(w) * tutti_dtype_bytes(w->type));
}

/* --- pairs --- */

/* Returns the weights as the loops read them: a matrix of f32, or words of pairs of bf16. For pairs the matrix is cut
 * into groups of `group` rows, and in each group rows 2 i and 2 i + 1 are joined. */
static const void *pair_weights(const tutti_onednn_windows *w, const tutti_kernel_args *a, int64_t group, int64_t width)
{
    const tutti_conv_loops *loops = loops_for(w->type);
    const float *flat = scratch_at(a, w->product_at), *end = flat + w->size * w->out_channels;
    uint32_t *to = scratch_at(a, w->weights_at);
    if (!loops->join) return flat;
    for (; flat < end; flat += group * width, to += words_of(w, group) * width)
        loops->join(TUTTI_F32, flat, width, group, width, to);
    return scratch_at(a, w->weights_at);
}

/* Joins each element of a sample with the element of the same channel at the next position. */
static const void *pair_inputs(const tutti_onednn_windows *w, const tutti_kernel_args *a, const void *in, int thread)
{
    const tutti_conv_loops *loops = loops_for(w->type);
    const int64_t n = padded_plane_of(w) - w->channels;
    uint32_t *to = scratch_at(a, w->pairs_at + (size_t)thread * lines_of(padded_plane_of(w), sizeof *to));
    if (!loops->join) return in;
    loops->join(w->type, in, w->channels, 2, n, to);
    loops->join(w->type, (const uint16_t *)in + n, w->channels, 1, w->channels, to + n);
    return to;
}

static int64_t gradient_words_of(const tutti_onednn_windows *w)
{
    return w->out_height * words_of(w, w->out_width) * w->out_channels;
}

/* Joins the gradients of each two neighbouring positions of a row. */
static const void *pair_gradients(const tutti_onednn_windows *w, const tutti_kernel_args *a, const void *dout,
                                  int thread)
{
    const tutti_conv_loops *loops = loops_for(w->type);
    const int64_t row = w->out_width * w->out_channels, words = words_of(w, w->out_width) * w->out_channels;
    uint32_t *to = scratch_at(a, w->gradients_at + (size_t)thread * lines_of(gradient_words_of(w), sizeof *to));
    if (!loops->join) return dout;
    for (int64_t y = 0; y < w->out_height; y++)
        loops->join(w->type, (const uint16_t *)dout + y * row, w->out_channels, w->out_width, w->out_channels,
                    to + y * words);
    return to;
}

/* --- channels that are left over --- */

/* Returns the weights of the channels that are left over, with each channel's taps side by side, in the type that is
 * multiplied. */
static const void *left_weights(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    const float *flat = (const float *)scratch_at(a, w->product_at) + w->out_channels - w->nleft;
    const int64_t taps = w->kernel * w->channels, n = w->kernel * w->nleft * taps;
    float *to = scratch_at(a, w->left_at), *next = to;
    for (int64_t row = 0; row < w->kernel; row++)
        for (int64_t left = 0; left < w->nleft; left++)
            for (int64_t tap = 0; tap < taps; tap++) *next++ = flat[(row * taps + tap) * w->out_channels + left];
    if (w->type != TUTTI_F32) tutti_convert_from_f32(w->type, to, next, n);
    return w->type == TUTTI_F32 ? to : next;
}

/* --- the passes --- */

static void forward_samples(void *arg, int64_t begin, int64_t end, int thread)
{
    const shared *s = arg;
    tutti_conv_call call = s->call;
    clear_padding(s->w, s->a, thread);
    for (int64_t i = begin; i < end; i++) {
        call.in = padded(s->w, s->a, i, thread);
        call.out = (void *)(uintptr_t)sample(s->a->out, i, out_plane_of(s->w), s->w->type);
        loops_for(s->w->type)->forward(&call);
    }
}

static void forward(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    shared s = {w, a, call_of(w)};
    s.call.weights = pair_weights(w, a, w->kernel * w->channels, w->out_channels);
    s.call.left = w->nleft ? left_weights(w, a) : NULL;
    s.call.bias = w->bias ? a->param[1] : NULL;
    tutti_crew_run(w->nthreads, samples_of(w), forward_samples, &s);
}

enum { SUMS = 256 }; /* room for one sum for each output channel: onednn_conv_rules.c accepts fewer channels */

static void add_bias_sums(const tutti_onednn_windows *w, const void *dout, float *dbias)
{
    float sums[SUMS];
    tutti_lane_here()->plane_sums(w->type, dout, w->out_channels, w->out_height * w->out_width, sums);
    tutti_elementwise_add(dbias, sums, w->out_channels);
}

static void weight_gradient_samples(void *arg, int64_t begin, int64_t end, int thread)
{
    const shared *s = arg;
    const tutti_onednn_windows *w = s->w;
    tutti_conv_call call = s->call;
    call.dweights = sums_at(w, s->a, thread);
    memset(call.dweights, 0, (size_t)sums_of(w) * sizeof(float));
    clear_padding(w, s->a, thread);
    for (int64_t i = begin; i < end; i++) {
        const void *dout = sample(s->a->dout, i, out_plane_of(w), w->type);
        call.in = pair_inputs(w, s->a, padded(w, s->a, i, thread), thread);
        call.dout = pair_gradients(w, s->a, dout, thread);
        loops_for(w->type)->weight_gradient(&call);
        if (w->bias) add_bias_sums(w, dout, call.dweights + w->size * w->out_channels);
    }
}

static void weight_gradient(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    shared s = {w, a, call_of(w)};
    tutti_crew_run(w->nthreads, samples_of(w), weight_gradient_samples, &s);
    join_sums(w, a);
}

static tutti_tile_conv tiles_of(const tutti_onednn_windows *w)
{
    return (tutti_tile_conv){.channels = w->channels,
                             .height = w->height + 2 * w->pad,
                             .width = w->width + 2 * w->pad,
                             .out_channels = w->out_channels,
                             .out_height = w->out_height,
                             .out_width = w->out_width,
                             .kernel = w->kernel,
                             .stride = w->stride};
}

static size_t tile_bytes(const tutti_tile_conv *c)
{
    return (size_t)tutti_tile_conv_here()->turned(c) * sizeof(uint16_t) +
           (size_t)tutti_tile_conv_here()->pairs(c) * sizeof(uint32_t);
}

/* Returns how many samples are multiplied at a time. They stay in the second-level cache. If there are many sums, the
 * number is higher, because all sums are read and written once for each such group of samples. */
static int64_t tiled_samples(const tutti_tile_conv *c)
{
    const bool many = c->out_channels * c->channels * c->kernel * c->kernel > MANY_SUMS;
    const int64_t fit = (many ? MANY_TILE_BYTES : TILE_BYTES) / (int64_t)tile_bytes(c);
    return fit > 1 ? fit : 1;
}

static void tiled_samples_of_thread(void *arg, int64_t begin, int64_t end, int thread)
{
    const shared *s = arg;
    const tutti_onednn_windows *w = s->w;
    const tutti_tile_conv tiles = tiles_of(w);
    const tutti_tile_conv_loops *loops = tutti_tile_conv_here();
    const int64_t most = tiled_samples(&tiles), nturned = loops->turned(&tiles), npairs = loops->pairs(&tiles);
    float *sums = sums_at(w, s->a, thread);
    uint16_t *turned = scratch_at(s->a, w->gradients_at + (size_t)thread * lines_of(most * nturned, sizeof *turned));
    uint32_t *pairs = scratch_at(s->a, w->pairs_at + (size_t)thread * lines_of(most * npairs, sizeof *pairs));
    memset(sums, 0, (size_t)sums_of(w) * sizeof *sums);
    clear_padding(w, s->a, thread);
    for (int64_t first = begin; first < end; first += most) {
        const int64_t n = end - first < most ? end - first : most;
        for (int64_t i = 0; i < n; i++) {
            const void *dout = sample(s->a->dout, first + i, out_plane_of(w), w->type);
            loops->turn(&tiles, dout, turned + i * nturned);
            loops->pair(&tiles, padded(w, s->a, first + i, thread), pairs + i * npairs);
            if (w->bias) add_bias_sums(w, dout, sums + w->size * w->out_channels);
        }
        loops->multiply(&tiles, n, turned, pairs, sums);
    }
}

static void tiled_weight_gradient(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    shared s = {.w = w, .a = a};
    tutti_crew_run(w->nthreads, samples_of(w), tiled_samples_of_thread, &s);
    join_sums(w, a);
}

static void input_gradient_samples(void *arg, int64_t begin, int64_t end, int thread)
{
    const shared *s = arg;
    const tutti_onednn_windows *w = s->w;
    const plane sums = {plane_at(w, s->a, TUTTI_F32, thread), TUTTI_F32};
    const int64_t row = w->width * w->channels;
    tutti_conv_call call = s->call;
    call.din = sums.memory;
    for (int64_t i = begin; i < end; i++) {
        const plane din = {(void *)(uintptr_t)sample(s->a->din[0], i, plane_of(w), w->type), w->type};
        call.dout = sample(s->a->dout, i, out_plane_of(w), w->type);
        memset(call.din, 0, (size_t)padded_plane_of(w) * sizeof(float));
        loops_for(w->type)->input_gradient(&call);
        for (int64_t y = 0; y < w->height; y++) copy_numbers(sums, begin_of_row(w, y), din, y * row, row);
    }
}

static void input_gradient(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    shared s = {w, a, call_of(w)};
    s.call.weights = pair_weights(w, a, w->out_channels, w->size);
    tutti_crew_run(w->nthreads, samples_of(w), input_gradient_samples, &s);
}

/* --- building the passes --- */

static tutti_onednn_windows typed_windows_of(const tutti_kernel *k)
{
    tutti_onednn_windows w = tutti_onednn_windows_of(k);
    w.in_type = k->in[0].dtype;
    w.type = k->out.dtype;
    w.nleft = tutti_conv_left(tutti_lane_here()->width, w.kernel * w.channels, w.out_channels);
    w.nthreads = ((const tutti_onednn_state *)k->state)->nthreads;
    return w;
}

/* Reserves scratch for the sums of each thread. */
static void take_sums(tutti_onednn_windows *w, tutti_onednn_pass *pass)
{
    w->product_at = tutti_onednn_take(pass, (size_t)w->nthreads * lines_of(sums_of(w), sizeof(float)));
}

/* Reserves scratch for weights as floats and, if bf16 is multiplied in pairs, for `words` words. */
static void take_weights(tutti_onednn_windows *w, tutti_onednn_pass *pass, int64_t words)
{
    w->product_at = tutti_onednn_take(pass, (size_t)(w->size * w->out_channels) * sizeof(float));
    if (w->type == TUTTI_BF16) w->weights_at = tutti_onednn_take(pass, (size_t)words * sizeof(uint32_t));
}

static void take_plane(tutti_onednn_windows *w, tutti_onednn_pass *pass, tutti_dtype type)
{
    const size_t each = lines_of(padded_plane_of(w), tutti_dtype_bytes(type));
    w->tile_at = tutti_onednn_take(pass, (size_t)w->nthreads * each);
}

static const_dnnl_memory_desc_t flat(tutti_kernel *k)
{
    return tutti_onednn_typed(k->state, dnnl_f32, &k->params[0].shape, 0, dnnl_cdba);
}

void tutti_onednn_add_lane_product(tutti_kernel *k, const_dnnl_memory_desc_t weights)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_windows w = typed_windows_of(k);
    take_weights(&w, &s->forward, w.kernel * words_of(&w, w.kernel * w.channels) * w.out_channels);
    if (w.nleft) w.left_at = tutti_onednn_take(&s->forward, (size_t)(2 * w.nleft * w.size) * sizeof(float));
    if (is_padded_copy(&w)) take_plane(&w, &s->forward, w.type);
    tutti_onednn_reorder(s, &s->forward, tutti_onednn_at(TUTTI_AT_PARAM, 0), weights,
                         tutti_onednn_at(TUTTI_AT_SCRATCH, w.product_at), flat(k));
    tutti_onednn_add_own(s, &s->forward, forward, &w);
}

void tutti_onednn_add_lane_gradient(tutti_kernel *k, const_dnnl_memory_desc_t weights)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_windows w = typed_windows_of(k);
    take_sums(&w, &s->backward_params);
    if (is_padded_copy(&w)) take_plane(&w, &s->backward_params, w.type);
    if (w.type == TUTTI_BF16) {
        const size_t n = (size_t)w.nthreads;
        w.pairs_at = tutti_onednn_take(&s->backward_params, n * lines_of(padded_plane_of(&w), sizeof(uint32_t)));
        w.gradients_at = tutti_onednn_take(&s->backward_params, n * lines_of(gradient_words_of(&w), sizeof(uint32_t)));
    }
    tutti_onednn_add_own(s, &s->backward_params, weight_gradient, &w);
    tutti_onednn_reorder(s, &s->backward_params, tutti_onednn_at(TUTTI_AT_SCRATCH, w.product_at), flat(k),
                         tutti_onednn_at(TUTTI_AT_DPARAM, 0), weights);
}

void tutti_onednn_add_tile_gradient(tutti_kernel *k, const_dnnl_memory_desc_t weights)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_pass *pass = &s->backward_params;
    tutti_onednn_windows w = typed_windows_of(k);
    const tutti_tile_conv tiles = tiles_of(&w);
    const int64_t most = tiled_samples(&tiles);
    const size_t n = (size_t)w.nthreads;
    take_sums(&w, pass);
    if (is_padded_copy(&w)) take_plane(&w, pass, w.type);
    w.gradients_at =
        tutti_onednn_take(pass, n * lines_of(most * tutti_tile_conv_here()->turned(&tiles), sizeof(uint16_t)));
    w.pairs_at = tutti_onednn_take(pass, n * lines_of(most * tutti_tile_conv_here()->pairs(&tiles), sizeof(uint32_t)));
    tutti_onednn_add_own(s, pass, tiled_weight_gradient, &w);
    tutti_onednn_reorder(s, pass, tutti_onednn_at(TUTTI_AT_SCRATCH, w.product_at),
                         tutti_onednn_innermost(s, &k->params[0].shape), tutti_onednn_at(TUTTI_AT_DPARAM, 0), weights);
}

void tutti_onednn_add_lane_spread(tutti_kernel *k, const_dnnl_memory_desc_t weights)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_windows w = typed_windows_of(k);
    take_weights(&w, &s->backward_data, words_of(&w, w.out_channels) * w.size);
    take_plane(&w, &s->backward_data, TUTTI_F32);
    tutti_onednn_reorder(s, &s->backward_data, tutti_onednn_at(TUTTI_AT_PARAM, 0), weights,
                         tutti_onednn_at(TUTTI_AT_SCRATCH, w.product_at),
                         tutti_onednn_innermost(s, &k->params[0].shape));
    tutti_onednn_add_own(s, &s->backward_data, input_gradient, &w);
}
