/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_conv_bias.c: gradients of convolutions whose channels lie innermost (NHWC), as matrix products over positions.
 *
 * A row of a window is then one run of kernel * channels floats, so the matrix of windows (one row for each position of the
 * output) is built by a copy for each row of a window, and its gradient goes back by an addition for each. A tile of it
 * stays in the second-level cache. With dout (positions, N), windows (positions, K * K * C), weights (N, K * K * C):
 *
 *   dweights = dout^T windows        dwindows = dout weights        dbias = column sums of dout
 *
 * The library's kernels fill vectors with channels. Products are taken (onednn_conv_rules.c) where the output's do not fill blocks of 16 and are at
 * least twice the input's; one thread with AVX-512, ms, weight gradient with bias and input gradient:
 *
 *   convolution, batch                         library       products     taken
 *   20 -> 50, 5 x 5, 12 x 12 (LeNet), 64       1.79  2.22    1.49  1.41   yes
 *   20 -> 50, 3 x 3, 12 x 12, 64               1.10  1.17    0.98  0.92   yes
 *   20 -> 50, 5 x 5, 12 x 12, pad 2, 64        3.26  3.33    3.37  3.07   yes
 *   36 -> 100, 3 x 3, 12 x 12, 64              3.32  3.41    2.96  2.64   yes
 *   24 -> 64, 5 x 5, 14 x 14, pad 2, 16        1.23  1.47    1.58  1.54   no: whole blocks
 *   40 -> 40, 3 x 3, 14 x 14, pad 1, 16        0.65  0.56    0.64  0.64   no: as many outputs
 *   8 -> 8, 3 x 3, 32 x 32, pad 1, 64          1.07  0.99    1.46  2.17   no: as many outputs
 *
 * The sum of the bias is worth it alone: 1 -> 20, 5 x 5, 28 x 28, batch 64: weight gradient 0.74 with the library's, 0.56 so.
 * With more threads the library does it all: products of one tile are too short to be split. */
#include <assert.h>
#include <string.h>

#include "../../tensor/elementwise.h"
#include "onednn_impl.h"

enum { TILE_FLOATS = 64 * 1024, SUM_FLOATS = 1024 };

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool lies_innermost(tutti_onednn_state *s, dnnl_memory_desc_t order, const tutti_shape *shape)
{
    dnnl_data_type_t type = dnnl_data_type_undef;
    dnnl_memory_desc_query(order, dnnl_query_data_type, &type);
    const_dnnl_memory_desc_t innermost = tutti_onednn_ordered(s, type, shape, TUTTI_ORDER_NHWC);
    return s->failed == dnnl_success && tutti_onednn_same_order(order, innermost);
}

bool tutti_onednn_channels_lie_innermost(tutti_kernel *k)
{
    tutti_onednn_state *s = k->state;
    return s->failed == dnnl_success && lies_innermost(s, s->in, &k->in[0].shape) &&
           lies_innermost(s, s->out, &k->out.shape);
}

bool tutti_onednn_sums_bias(tutti_kernel *k)
{
    tutti_onednn_state *s = k->state;
    return s->failed == dnnl_success && s->nthreads == 1 && k->nparams > 1 && lies_innermost(s, s->out, &k->out.shape);
}

tutti_onednn_windows tutti_onednn_windows_of(const tutti_kernel *k)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    tutti_onednn_windows w = {.channels = in[1],
                              .height = in[2],
                              .width = in[3],
                              .out_channels = out[1],
                              .out_height = out[2],
                              .out_width = out[3],
                              .kernel = at->kernel,
                              .pad = at->pad,
                              .stride = at->stride,
                              .rows = out[0] * out[2],
                              .size = at->kernel * at->kernel * in[1],
                              .relu = at->relu,
                              .bias = k->nparams > 1};
    const int64_t fit = TILE_FLOATS / (w.size * w.out_width);
    w.tile = min64(w.rows, fit < 1 ? 1 : fit);
    return w;
}

static size_t tile_bytes(const tutti_onednn_windows *w)
{
    return (size_t)(w->tile * w->out_width * w->size) * sizeof(float);
}

/* The part of one window that is not padding: rows of so many floats, where it lies in the input and in the window. */
typedef struct {
    int64_t in, window, rows, floats;
} window_part;

static window_part part_inside(const tutti_onednn_windows *w, int64_t row, int64_t x)
{
    const int64_t sample = row / w->out_height, top = row % w->out_height - w->pad, left = x - w->pad;
    const int64_t y0 = max64(0, -top), y1 = min64(w->kernel, w->height - top);
    const int64_t x0 = max64(0, -left), x1 = min64(w->kernel, w->width - left);
    if (y0 >= y1 || x0 >= x1) return (window_part){0};
    return (window_part){.in = ((sample * w->height + top + y0) * w->width + left + x0) * w->channels,
                         .window = (y0 * w->kernel + x0) * w->channels,
                         .rows = y1 - y0,
                         .floats = (x1 - x0) * w->channels};
}

/* Of n rows of outputs. */
static void copy_windows(const tutti_onednn_windows *w, const float *in, int64_t first, int64_t n, float *window)
{
    const int64_t in_apart = w->width * w->channels, apart = w->kernel * w->channels;
    for (int64_t row = first; row < first + n; row++)
        for (int64_t x = 0; x < w->out_width; x++, window += w->size) {
            const window_part p = part_inside(w, row, x);
            if (p.rows * p.floats < w->size) memset(window, 0, (size_t)w->size * sizeof *window);
            for (int64_t r = 0; r < p.rows; r++)
                memcpy(window + p.window + r * apart, in + p.in + r * in_apart, (size_t)p.floats * sizeof *window);
        }
}

static void add_windows(const tutti_onednn_windows *w, const float *window, int64_t first, int64_t n, float *din)
{
    const int64_t in_apart = w->width * w->channels, apart = w->kernel * w->channels;
    for (int64_t row = first; row < first + n; row++)
        for (int64_t x = 0; x < w->out_width; x++, window += w->size) {
            const window_part p = part_inside(w, row, x);
            tutti_elementwise_add_rows(din + p.in, in_apart, window + p.window, apart, p.rows, p.floats);
        }
}

/* C (m, n) = A B, or A^T B, plus C if add. A lies (m, k), or (k, m). */
static void multiply(bool transposed, int64_t m, int64_t n, int64_t k, const float *a, const float *b, bool add,
                     float *c)
{
    const dnnl_status_t status =
        dnnl_sgemm(transposed ? 'T' : 'N', 'N', m, n, k, 1, a, transposed ? m : k, b, n, add ? 1 : 0, c, n);
    assert(status == dnnl_success); /* fails by its arguments alone */
    (void)status;
}

static void weight_gradient(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    const float *dout = a->dout;
    float *windows = (float *)((char *)a->scratch + w->tile_at),
          *product = (float *)((char *)a->scratch + w->product_at);
    for (int64_t row = 0; row < w->rows; row += w->tile) {
        const int64_t n = min64(w->tile, w->rows - row);
        copy_windows(w, a->in[0], row, n, windows);
        multiply(true, w->out_channels, w->size, n * w->out_width, dout + row * w->out_width * w->out_channels, windows,
                 row > 0, product);
    }
}

static void input_gradient(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    const float *dout = a->dout, *weights = (const float *)((const char *)a->scratch + w->product_at);
    float *windows = (float *)((char *)a->scratch + w->tile_at), *din = a->din[0];
    const int64_t plane = w->height * w->width * w->channels;
    int64_t cleared = 0; /* samples */
    for (int64_t row = 0; row < w->rows; row += w->tile) {
        const int64_t n = min64(w->tile, w->rows - row), end = (row + n - 1) / w->out_height + 1;
        memset(din + cleared * plane, 0, (size_t)((end - cleared) * plane) * sizeof *din);
        cleared = end;
        multiply(false, n * w->out_width, w->size, w->out_channels, dout + row * w->out_width * w->out_channels,
                 weights, false, windows);
        add_windows(w, windows, row, n, din);
    }
}

/* Many positions side by side, so that an addition is long whatever the number of channels. */
static void sum_bias(const tutti_onednn_windows *w, const tutti_kernel_args *a)
{
    const float *dout = a->dout;
    float *sums = (float *)((char *)a->scratch + w->tile_at), *dbias = a->dparam[1];
    const int64_t n = w->rows * w->out_width * w->out_channels, side = w->tile * w->out_channels;
    memset(sums, 0, (size_t)side * sizeof *sums);
    for (int64_t i = 0; i < n; i += side) tutti_elementwise_add(sums, dout + i, min64(side, n - i));
    memset(dbias, 0, (size_t)w->out_channels * sizeof *dbias);
    for (int64_t i = 0; i < side; i += w->out_channels) tutti_elementwise_add(dbias, sums + i, w->out_channels);
}

void tutti_onednn_add_bias_sum(tutti_kernel *k)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_windows w = tutti_onednn_windows_of(k);
    const int64_t wide = SUM_FLOATS / w.out_channels;
    w.tile = wide < 1 ? 1 : wide;
    w.tile_at = tutti_onednn_take(&s->backward_params, (size_t)(w.tile * w.out_channels) * sizeof(float));
    tutti_onednn_add_own(s, &s->backward_params, sum_bias, &w);
}

void tutti_onednn_add_weight_product(tutti_kernel *k, const_dnnl_memory_desc_t weights)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_windows w = tutti_onednn_windows_of(k);
    const_dnnl_memory_desc_t flat = tutti_onednn_innermost(s, &k->params[0].shape);
    if (w.bias) tutti_onednn_add_bias_sum(k);
    w.tile_at = tutti_onednn_take(&s->backward_params, tile_bytes(&w));
    w.product_at = tutti_onednn_take(&s->backward_params, (size_t)(w.size * w.out_channels) * sizeof(float));
    tutti_onednn_add_own(s, &s->backward_params, weight_gradient, &w);
    tutti_onednn_reorder(s, &s->backward_params, tutti_onednn_at(TUTTI_AT_SCRATCH, w.product_at), flat,
                         tutti_onednn_at(TUTTI_AT_DPARAM, 0), weights);
}

void tutti_onednn_add_input_product(tutti_kernel *k, const_dnnl_memory_desc_t weights)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_windows w = tutti_onednn_windows_of(k);
    const_dnnl_memory_desc_t flat = tutti_onednn_innermost(s, &k->params[0].shape);
    w.tile_at = tutti_onednn_take(&s->backward_data, tile_bytes(&w));
    w.product_at = tutti_onednn_take(&s->backward_data, (size_t)(w.size * w.out_channels) * sizeof(float));
    tutti_onednn_reorder(s, &s->backward_data, tutti_onednn_at(TUTTI_AT_PARAM, 0), weights,
                         tutti_onednn_at(TUTTI_AT_SCRATCH, w.product_at), flat);
    tutti_onednn_add_own(s, &s->backward_data, input_gradient, &w);
}
