/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_conv_lanes.c: convolutions whose channels lie innermost (NHWC) and whose output channels fill few vectors badly, by loops in
 * lanes (lane_conv_loops.h), sample by sample.
 *
 * The library computes whole vectors of output channels: of 20 it computes 32, of 50 it computes 64. The loops compute half vectors, too,
 * which cost half. Padding is put around a copy of the sample; the sum of the bias reads the gradient of a sample while it is in a cache.
 * One thread of an EPYC (Zen 4), ms forward, gradient of weights and bias; without lanes the second is by products (onednn_conv_gemm.c)
 * where the input has at least 8 channels and the output twice as many:
 *
 *   convolution, batch                            without         lanes        taken
 *   1 -> 20, 5 x 5, 28 x 28 (LeNet), 64           0.553  0.658    0.461  0.499  yes
 *   20 -> 50, 5 x 5, 12 x 12 (LeNet), 64          2.542  2.123    1.967  2.124  yes
 *   20 -> 50, 3 x 3, 12 x 12, 64                  1.481  1.249    1.337  1.180  yes
 *   20 -> 50, 5 x 5, 12 x 12, pad 2, 64           4.697  4.788    4.520  4.806  yes
 *   3 -> 36, 3 x 3, 32 x 32, pad 1, 64            1.461  1.943    1.313  1.743  yes
 *   20 -> 36, 3 x 3, 28 x 28, pad 1, 16           2.046  1.883    1.591  1.617  yes
 *   128 -> 40, 3 x 3, 14 x 14, pad 1, 16          3.159  2.919    2.920  2.588  yes
 *   256 -> 20, 3 x 3, 14 x 14, pad 1, 16          3.746  4.304    4.130  3.823  no: many inputs
 *   1 -> 6, 5 x 5, 28 x 28, pad 2, 64             0.347  0.384    0.476  0.461  no: less than a vector
 *
 * Vectors of eight waste little and have half the registers: the library keeps those. So it does with more threads, whose weight
 * gradients would have to be summed. */
#include <string.h>

#include "../tensor/elementwise.h"
#include "lane_impl.h"
#include "onednn_impl.h"

enum {
    LEAST_WIDTH = 16,
    MOST_VECTORS = 3,
    MOST_INPUTS = 128
}; /* three vectors: all sums of a position stay in registers */

bool tutti_onednn_convolves_in_lanes(tutti_kernel *k)
{
    const tutti_conv_attrs *at = k->attrs;
    const tutti_onednn_state *s = k->state;
    const int64_t width = tutti_lane_here()->width, in = k->in[0].shape.dim[1], out = k->out.shape.dim[1];
    if (s->failed != dnnl_success || s->nthreads > 1 || at->stride > 1 || at->groups > 1 || at->kernel == 1)
        return false;
    if (width < LEAST_WIDTH || out < width || out / width > MOST_VECTORS || in > MOST_INPUTS) return false;
    if (out % width == 0 || out % width > width / 2) return false;
    if (k->out.shape.dim[3] < TUTTI_CONV_WIDTH || at->kernel * in < TUTTI_CONV_TAPS) return false;
    return tutti_onednn_channels_lie_innermost(k);
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

static tutti_conv_call call_of(const tutti_onednn_windows *w)
{
    return (tutti_conv_call){.channels = w->channels,
                             .width = w->width + 2 * w->pad,
                             .out_channels = w->out_channels,
                             .out_height = w->out_height,
                             .out_width = w->out_width,
                             .kernel = w->kernel,
                             .relu = w->relu};
}

/* Sample i with zeros around it; they are there already. */
static const float *padded(const tutti_onednn_windows *w, const tutti_kernel_args *a, int64_t i)
{
    const float *in = (const float *)a->in[0] + i * plane_of(w);
    float *plane = (float *)((char *)a->scratch + w->tile_at);
    const int64_t row = w->width * w->channels, apart = row + 2 * w->pad * w->channels;
    if (!w->pad) return in;
    for (int64_t y = 0; y < w->height; y++)
        memcpy(plane + (y + w->pad) * apart + w->pad * w->channels, in + y * row, (size_t)row * sizeof *in);
    return plane;
}

static void clear_padding(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    if (w->pad) memset((char *)a->scratch + w->tile_at, 0, (size_t)padded_plane_of(w) * sizeof(float));
}

static void forward(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    const tutti_lane_row *row = tutti_lane_here();
    tutti_conv_call call = call_of(w);
    call.weights = (const float *)((const char *)a->scratch + w->product_at);
    call.bias = w->bias ? a->param[1] : NULL;
    clear_padding(w, a);
    for (int64_t i = 0; i < w->rows / w->out_height; i++) {
        call.in = padded(w, a, i);
        call.out = (float *)a->out + i * out_plane_of(w);
        row->conv(&call);
    }
}

enum { SUMS = 256 }; /* at least (MOST_VECTORS + 1) vectors of any width */

static void gradient(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    const tutti_lane_row *row = tutti_lane_here();
    float *dbias = w->bias ? a->dparam[1] : NULL, sums[SUMS];
    tutti_conv_call call = call_of(w);
    call.dweights = (float *)((char *)a->scratch + w->product_at);
    memset(call.dweights, 0, (size_t)(w->size * w->out_channels) * sizeof(float));
    if (dbias) memset(dbias, 0, (size_t)w->out_channels * sizeof *dbias);
    clear_padding(w, a);
    for (int64_t i = 0; i < w->rows / w->out_height; i++) {
        call.in = padded(w, a, i);
        call.dout = (const float *)a->dout + i * out_plane_of(w);
        row->conv_gradient(&call);
        if (!dbias) continue;
        row->plane_sums(TUTTI_F32, call.dout, w->out_channels, w->out_height * w->out_width, sums);
        tutti_elementwise_add(dbias, sums, w->out_channels);
    }
}

static tutti_onednn_windows begin(const tutti_kernel *k, tutti_onednn_pass *pass)
{
    tutti_onednn_windows w = tutti_onednn_windows_of(k);
    if (w.pad) w.tile_at = tutti_onednn_take(pass, (size_t)padded_plane_of(&w) * sizeof(float));
    w.product_at = tutti_onednn_take(pass, (size_t)(w.size * w.out_channels) * sizeof(float));
    return w;
}

static const_dnnl_memory_desc_t flat(tutti_kernel *k)
{
    return tutti_onednn_typed(k->state, dnnl_f32, &k->params[0].shape, 0, dnnl_cdba);
}

void tutti_onednn_add_lane_product(tutti_kernel *k, const_dnnl_memory_desc_t weights)
{
    tutti_onednn_state *s = k->state;
    const tutti_onednn_windows w = begin(k, &s->forward);
    tutti_onednn_reorder(s, &s->forward, tutti_onednn_at(TUTTI_AT_PARAM, 0), weights,
                         tutti_onednn_at(TUTTI_AT_SCRATCH, w.product_at), flat(k));
    tutti_onednn_add_own(s, &s->forward, forward, &w);
}

void tutti_onednn_add_lane_gradient(tutti_kernel *k, const_dnnl_memory_desc_t weights)
{
    tutti_onednn_state *s = k->state;
    const tutti_onednn_windows w = begin(k, &s->backward_params);
    tutti_onednn_add_own(s, &s->backward_params, gradient, &w);
    tutti_onednn_reorder(s, &s->backward_params, tutti_onednn_at(TUTTI_AT_SCRATCH, w.product_at), flat(k),
                         tutti_onednn_at(TUTTI_AT_DPARAM, 0), weights);
}
