/* SPDX-License-Identifier: Apache-2.0 */
/* implicit_conv.c: convolutions of any kernel, stride, padding and groups as products of windows that are never written
 * to memory (windows_product.h), in f32, and in bf16 if a row of gemm.h multiplies bf16 on this processor. The weights
 * of bf16 products are f32 and are rounded as they are packed.
 *
 *   forward     out = windows of in, W
 *   d weights   dW = dout^T, windows of in
 *   d input     din = windows of dout, W flipped: with a stride of s one such product for each of s x s classes of
 *               positions, each of which uses every s-th tap
 *
 * Weights that are trained have the order that the products read, (out, tap down, tap right, in). Weights in any other
 * order are copied into this order once a call. */
#include <stdlib.h>
#include <string.h>

#include "../../tensor/isa.h"
#include "../choose/candidate.h"
#include "../lanes/lane_value.h"
#include "windows_product.h"

enum { LINE = 64 };

typedef struct {
    tutti_windows_product forward, *data; /* data: an array of stride * stride products */
    tutti_windows_gradient params;
    tutti_blocks in, out;
    tutti_layout out_layout, weights_layout;
    tutti_dtype type;
    int64_t group_in, group_out, window; /* window: elements in one window */
    bool is_direct;                      /* true if the parameter already has the order that the products read */
    bool leaves_out;                     /* true if some class of positions uses no tap, so that its gradient is zero */
    /* the offset in the parameter that each output, each input and each tap adds; NULL if is_direct */
    int64_t *offsets;
    /* offsets in scratch, which begins with the scratch of the products. weights_at: weights (or their gradient) in the
     * order of the products; sums_at: sums of the bias */
    size_t weights_at, sums_at;
} state;

/* ---- fitting ---- */

static tutti_windows windows_of(const tutti_conv_attrs *at, const tutti_blocks *in, const tutti_blocks *out,
                                tutti_dtype type)
{
    return (tutti_windows){.at = *in,
                           .type = type,
                           .channels = in->channels / at->groups,
                           .taps_down = at->kernel,
                           .taps_right = at->kernel,
                           .stride = at->stride,
                           .top = at->pad,
                           .left = at->pad,
                           .down = out->height,
                           .right = out->width};
}

/* True if each group of the convolution begins at a block of channels. */
static bool divides(const tutti_blocks *b, int64_t groups)
{
    return groups == 1 || b->nblocks == 1 || b->channels / groups % b->block == 0;
}

static bool is_written(const tutti_blocks *b, const tutti_gemm_row *row)
{
    return b->nblocks == 1 || b->block % row->vector == 0;
}

/* Describes input and output as blocks. The output gets the request's order, or the input's order if the request has
 * none. */
static bool orders_of(const tutti_kernel *k, const tutti_kernel_request *r, tutti_blocks *in, tutti_blocks *out,
                      tutti_layout *layout, tutti_value *v)
{
    *v = k->out;
    v->dtype = tutti_precision_dtype(r->precision);
    tutti_order_apply(r->order == TUTTI_ORDER_NONE ? tutti_order_of(&k->in[0]) : r->order, v, layout);
    return tutti_blocks_of(&k->in[0], in) && tutti_blocks_of(v, out);
}

bool tutti_implicit_conv_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    const tutti_conv_attrs *at = k->attrs;
    const tutti_gemm_row *row = tutti_gemm_fastest(tutti_precision_dtype(r->precision));
    tutti_blocks in, out;
    tutti_layout layout;
    tutti_value v;
    if (!row || !orders_of(k, r, &in, &out, &layout, &v)) return false;
    if (!divides(&in, at->groups) || !divides(&out, at->groups)) return false;
    const tutti_windows w = windows_of(at, &in, &out, k->in[0].dtype), back = windows_of(at, &out, &in, v.dtype);
    const bool reads = tutti_windows_in_runs(&w, row) || tutti_windows_in_planes(&w, row);
    switch (pass) {
    case TUTTI_PASS_FORWARD: return reads && is_written(&out, row);
    case TUTTI_PASS_PARAMS: return reads;
    default: return tutti_windows_in_runs(&back, row) && is_written(&in, row) && k->in[0].dtype == v.dtype;
    }
}

/* This row beats the library in two cases. The first is gradients of weights with many channels and few positions. Each
 * pair of numbers is the ms of oneDNN 3.2, then of this row, for 16 samples on one thread of an EPYC (Zen 4). taken:
 * precisions in which the row is chosen:
 *
 *   channels, kernel, stride, plane of the output     bf16           f32            taken
 *   512 to 512, 3, 2, 7 x 7                           34.9 23.6      57.1 43.9      both (64: 155 85.5, 269 159)
 *   1024 to 2048, 1, 2, 7 x 7                         25.0 17.3      38.4 35.1      bf16 (64 samples: 122.6 73.1)
 *   2048 to 512, 1, 1, 7 x 7                          11.4  8.4      16.1 17.2      bf16 (64 samples: 41.2 34.5)
 *   512 to 2048, 1, 1, 7 x 7                           9.2  8.4      16.2 17.2      bf16 (64 samples: 43.6 36.5)
 *   512 to 512, 3, 1, 7 x 7                           20.2 22.1      49.9 37.3      no: f32 by `winograd` 22.1
 *   512 to 1024, 1, 2, 14 x 14                        20.5 19.3      32.1 33.9      no
 *   256 to 256, 3, 2, 14 x 14                         24.6 23.3      40.3 40.3      no
 *   512 to 512, 3, 1, 14 x 14                         67.1 81.4                     no
 *
 * For the shapes that are taken the library is far below its usual speed. Its usual speed is that of a loop in
 * registers, which this row cannot beat (bench/kernels/NOTES.md).
 *
 * The second case is a processor with AVX2 but no AVX-512, with blocks of 8 channels. The numbers are forward, d
 * weights and d input as parts of the peak (16 multiply-adds a cycle; counted cycles of an EPYC of Zen 3, 16 samples,
 * the better of two rounds). With 4 and 64 samples the numbers are about the same. With 1 sample they are 0.58 to 0.82
 * by oneDNN and 0.55 to 0.85 by this row:
 *
 *   channels, kernel, stride, plane of the output     oneDNN             this               taken
 *   512 to 512, 3, 2, 7 x 7                           0.67 0.61 0.67     0.89 0.82 0.84     yes
 *   256 to 512, 3, 2, 7 x 7                           0.67 0.63 0.68     0.90 0.82 0.84     yes
 *   256 to 256, 3, 2, 14 x 14                         0.80 0.66 0.77     0.88 0.79 0.80     yes
 *   128 to 256, 3, 2, 14 x 14                         0.80 0.67 0.78     0.87 0.83 0.78     yes
 *   256 to 384, 5, 2, 7 x 7                           0.84 0.69 0.76     0.90 0.82 0.86     yes
 *   128 to 128, 3, 2, 28 x 28                         0.81 0.70 0.78     0.79 0.74 0.68     no
 *   512 to 1024, 1, 2, 14 x 14                        0.90 0.78 0.82     0.82 0.79 0.82     no
 *   2048 to 512, 1, 1, 7 x 7                          0.91 0.88 0.85     0.89 0.81 0.82     no
 *
 * Other processors have no rule. */
static bool beats_vectors_of_eight(const tutti_kernel *k)
{
    enum { INPUTS = 128, OUTPUTS = 256 };
    const tutti_conv_attrs *at = k->attrs;
    return at->kernel > 1 && at->stride > 1 && k->in[0].shape.dim[1] >= INPUTS && at->out_channels >= OUTPUTS &&
           tutti_order_of(&k->in[0]) == TUTTI_ORDER_NCHW8C;
}

static bool beats_longer_vectors(const tutti_kernel *k, bool half)
{
    enum { MANY = 512, SMALL_PLANE = 49 };
    const tutti_conv_attrs *at = k->attrs;
    const int64_t *out = k->out.shape.dim;
    if (k->in[0].shape.dim[1] < MANY || out[1] < MANY || out[2] * out[3] > SMALL_PLANE) return false;
    return at->kernel > 1 ? at->stride > 1 : half;
}

double tutti_implicit_conv_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    static const double OF_LIBRARY = 0.8;
    const tutti_conv_attrs *at = k->attrs;
    const bool half = r->precision == TUTTI_PRECISION_BF16;
    if (!tutti_isa_by_amd() || at->groups > 1) return -1;
    const bool is_faster = tutti_gemm_row_is_here(half ? "avx512-bf16" : "avx512")
                               ? pass == TUTTI_PASS_PARAMS && beats_longer_vectors(k, half)
                               : !half && tutti_gemm_row_is_here("avx2") && beats_vectors_of_eight(k);
    return is_faster ? OF_LIBRARY * tutti_onednn_seconds(k, r, pass) : -1;
}

/* ---- plans ---- */

static void plan_forward(const tutti_kernel *k, state *s, const tutti_gemm_row *row, int nthreads)
{
    const tutti_conv_attrs *at = k->attrs;
    s->forward = (tutti_windows_product){.row = row,
                                         .from = windows_of(at, &s->in, &s->out, k->in[0].dtype),
                                         .to = {.at = s->out, .type = s->type, .channels = s->group_out, .step = 1},
                                         .weights = {0, at->kernel * s->group_in, s->group_in, 1, s->window},
                                         .map = at->relu ? TUTTI_GEMM_RELU : TUTTI_GEMM_AS_IS,
                                         .has_bias = at->bias,
                                         .nthreads = nthreads};
    tutti_windows_product_plan(&s->forward);
}

/* One dimension (height or width) of a class of input positions. Positions are counted from the begin of the padding.
 * The class has the positions whose remainder by the stride is `rest`. They are read by the taps rest, rest + stride
 * and so on. A position's last tap belongs to its smallest output position. */
typedef struct {
    /* taps: number of taps; first: the first input position of the class; positions: their number; before: number of
     * output positions before position 0 at which the first window of dout begins */
    int64_t taps, first, positions, before;
} class_of;

static class_of find_class(const tutti_conv_attrs *at, int64_t rest, int64_t size)
{
    const int64_t s = at->stride, taps = rest < at->kernel ? (at->kernel - rest + s - 1) / s : 0;
    const int64_t skipped = at->pad > rest ? (at->pad - rest + s - 1) / s : 0, first = skipped * s + rest - at->pad;
    return (class_of){taps, first, first < size ? (size - first + s - 1) / s : 0, taps - 1 - skipped};
}

static tutti_windows_product plan_class(const tutti_kernel *k, const state *s, int64_t rest_down, int64_t rest_right)
{
    const tutti_conv_attrs *at = k->attrs;
    const class_of y = find_class(at, rest_down, s->in.height), x = find_class(at, rest_right, s->in.width);
    const int64_t tap_right = s->group_in, tap_down = at->kernel * s->group_in;
    const int64_t last =
        (rest_down + at->stride * (y.taps - 1)) * tap_down + (rest_right + at->stride * (x.taps - 1)) * tap_right;
    tutti_windows_product p = {.row = s->forward.row,
                               .from = {.at = s->out,
                                        .type = s->type,
                                        .channels = s->group_out,
                                        .taps_down = y.taps,
                                        .taps_right = x.taps,
                                        .stride = 1,
                                        .top = y.before,
                                        .left = x.before,
                                        .down = y.positions,
                                        .right = x.positions},
                               .to = {.at = s->in,
                                      .type = s->type,
                                      .channels = s->group_in,
                                      .top = y.first,
                                      .left = x.first,
                                      .step = at->stride},
                               .weights = {last, -at->stride * tap_down, -at->stride * tap_right, s->window, 1},
                               .nthreads = s->forward.nthreads};
    if (y.taps && x.taps && y.positions && x.positions) tutti_windows_product_plan(&p);
    return p;
}

static bool is_empty(const tutti_windows_product *p)
{
    return p->scratch_bytes == 0;
}

static size_t in_lines(int64_t nbytes)
{
    return (size_t)(nbytes + LINE - 1) / LINE * LINE;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t plan_back(const tutti_kernel *k, state *s)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t n = at->stride * at->stride;
    size_t most = 0;
    s->params = (tutti_windows_gradient){.row = s->forward.row,
                                         .from = s->forward.from,
                                         .dout = s->out,
                                         .dout_type = s->type,
                                         .channels = s->group_out,
                                         .nthreads = s->forward.nthreads};
    tutti_windows_gradient_plan(&s->params);
    s->data = tutti_alloc((size_t)n * sizeof *s->data);
    for (int64_t i = 0; i < n; i++) {
        s->data[i] = plan_class(k, s, i / at->stride, i % at->stride);
        s->leaves_out = s->leaves_out || is_empty(&s->data[i]);
        most = larger(most, s->data[i].scratch_bytes);
    }
    return larger(most, s->params.scratch_bytes);
}

/* Writes offsets in the parameter's own order: those that outputs add, then those of inputs, then those of taps. A
 * weight lies at the sum of three such offsets. */
static void find_offsets(const tutti_kernel *k, int64_t *to)
{
    const int64_t *dim = k->params[0].shape.dim;
    const tutti_layout plain = {.stride = {dim[1] * dim[2] * dim[3], dim[2] * dim[3], dim[3], 1}},
                       *layout = k->params[0].layout ? k->params[0].layout : &plain;
    for (int64_t o = 0; o < dim[0]; o++) *to++ = tutti_layout_offset(layout, 0, o);
    for (int64_t c = 0; c < dim[1]; c++) *to++ = tutti_layout_offset(layout, 1, c);
    for (int64_t y = 0; y < dim[2]; y++)
        for (int64_t x = 0; x < dim[3]; x++)
            *to++ = tutti_layout_offset(layout, 2, y) + tutti_layout_offset(layout, 3, x);
}

/* Chooses the order of the weights. Weights that are multiplied in bf16 stay row-major, as the library keeps them, so
 * that passes of this row and of the library can be joined. */
static void order_weights(tutti_kernel *k, const tutti_kernel_request *r)
{
    state *s = k->state;
    tutti_param_desc *p = &k->params[0];
    const int64_t *dim = p->shape.dim, count = tutti_shape_count(&p->shape);
    s->weights_layout =
        (tutti_layout){.stride = {s->window, 1, dim[3] * dim[1], dim[1]}, .padded = {dim[0], dim[1], dim[2], dim[3]}};
    tutti_param_desc wanted = *p;
    wanted.layout = &s->weights_layout, wanted.elements = count;
    /* in these cases row-major has the same bytes as the wanted order */
    const bool alike = dim[1] == 1 || dim[2] * dim[3] == 1;
    if (r->training && !r->params_as && s->type == TUTTI_F32 && !alike) *p = wanted;
    s->is_direct = (alike && !p->layout) || tutti_param_order_hash(p) == tutti_param_order_hash(&wanted);
    s->sums_at = k->scratch_bytes;
    s->weights_at = s->sums_at + in_lines(s->out.nblocks * s->out.block * (int64_t)sizeof(float));
    k->scratch_bytes = s->weights_at + (s->is_direct ? 0 : in_lines(count * (int64_t)sizeof(float)));
    if (s->is_direct) return;
    s->offsets = tutti_alloc((size_t)(dim[0] + dim[1] + dim[2] * dim[3]) * sizeof *s->offsets);
    find_offsets(k, s->offsets);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_conv_attrs *at = k->attrs;
    tutti_value out;
    bool fits = true;
    for (int pass = 0; pass < (r->training ? TUTTI_NPASSES : 1); pass++)
        fits = fits && (pass == TUTTI_PASS_DATA || tutti_implicit_conv_fits(k, r, (tutti_kernel_pass)pass));
    if (!fits)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "products of windows read channels that fill vectors, lie innermost or are few, and write "
                          "the first two, in types that a row multiplies");
    state *s = tutti_alloc(sizeof *s);
    k->state = s;
    *s = (state){.type = tutti_precision_dtype(r->precision)};
    orders_of(k, r, &s->in, &s->out, &s->out_layout, &out);
    k->out = out;
    s->group_in = s->in.channels / at->groups, s->group_out = s->out.channels / at->groups;
    s->window = at->kernel * at->kernel * s->group_in;
    plan_forward(k, s, tutti_gemm_fastest(s->type), r->nthreads < 1 ? 1 : r->nthreads);
    k->scratch_bytes = s->forward.scratch_bytes;
    if (r->training) k->scratch_bytes = larger(k->scratch_bytes, plan_back(k, s));
    k->scratch_bytes = in_lines((int64_t)k->scratch_bytes);
    order_weights(k, r);
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0);
    k->writes_dout = k->feeds_data = r->training && at->relu;
    return TUTTI_OK;
}

static void destroy(tutti_kernel *k)
{
    state *s = k->state;
    if (s) free(s->data), free(s->offsets);
    free(s);
}

/* ---- weights in another order ---- */

static float *floats_at(const tutti_kernel_args *a, size_t at)
{
    return (float *)(void *)((char *)a->scratch + at);
}

/* Copies the taps of one output and one input. */
static void move_taps(const float *from, float *to, const int64_t *tap_at, int64_t ntaps, int64_t apart, bool back)
{
    if (back)
        for (int64_t t = 0; t < ntaps; t++) to[tap_at[t]] = from[t * apart];
    else
        for (int64_t t = 0; t < ntaps; t++) to[t * apart] = from[tap_at[t]];
}

/* Copies weights from the parameter's order to that of the products, or back. The loop goes by squares of outputs and
 * inputs, whose weights lie near each other in all orders. */
static void move_weights(const tutti_kernel *k, const float *from, float *to, bool back)
{
    enum { SIDE = 16 };
    const state *s = k->state;
    const int64_t *dim = k->params[0].shape.dim, *out = s->offsets, *in = out + dim[0], *taps = in + dim[1];
    for (int64_t first = 0; first < dim[0]; first += SIDE)
        for (int64_t c0 = 0; c0 < dim[1]; c0 += SIDE)
            for (int64_t o = first; o < dim[0] && o < first + SIDE; o++)
                for (int64_t c = c0; c < dim[1] && c < c0 + SIDE; c++) {
                    const int64_t there = out[o] + in[c], here = o * s->window + c;
                    move_taps(from + (back ? here : there), to + (back ? there : here), taps, dim[2] * dim[3], dim[1],
                              back);
                }
}

static const float *weights_of(const tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    float *weights = floats_at(a, s->weights_at);
    if (s->is_direct) return a->param[0];
    move_weights(k, a->param[0], weights, false);
    return weights;
}

static void put_gradient(const tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    const tutti_param_desc *p = &k->params[0];
    if (s->is_direct) return;
    if (p->elements > tutti_shape_count(&p->shape)) memset(a->dparam[0], 0, (size_t)p->elements * sizeof(float));
    move_weights(k, floats_at(a, s->weights_at), a->dparam[0], true);
}

/* ---- passes ---- */

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    const tutti_conv_attrs *at = k->attrs;
    const float *weights = weights_of(k, a);
    for (int64_t g = 0; g < at->groups; g++) {
        tutti_windows_product p = s->forward;
        p.from.channel = g * s->group_in;
        p.to.channel = g * s->group_out;
        tutti_windows_product_run(&p, a->in[0], weights + g * s->group_out * s->window, at->bias ? a->param[1] : NULL,
                                  a->out, a->scratch);
    }
}

/* Sums the output's gradient over all positions, for the gradient of the bias. Each channel's terms are added sample by
 * sample, in the order of positions. */
static void sum_bias(const state *s, const tutti_kernel_args *a)
{
    const tutti_blocks *b = &s->out;
    float *sums = floats_at(a, s->sums_at);
    memset(sums, 0, (size_t)(b->nblocks * b->block) * sizeof *sums);
    for (int64_t i = 0; i < b->batch * b->nblocks; i++)
        tutti_lane_sum_rows(s->type, (const char *)a->dout + (size_t)(i * b->block_step) * tutti_dtype_bytes(s->type),
                            b->plane, b->block, sums + i % b->nblocks * b->block);
    memcpy(a->dparam[1], sums, (size_t)b->channels * sizeof *sums);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    const tutti_conv_attrs *at = k->attrs;
    if (at->relu) tutti_lane_mask_dout(k, a, s->forward.nthreads);
    if (!tutti_kernel_params_wanted(k, a)) return;
    if (at->bias) sum_bias(s, a);
    float *dweights = s->is_direct ? a->dparam[0] : floats_at(a, s->weights_at);
    for (int64_t g = 0; g < at->groups; g++) {
        tutti_windows_gradient p = s->params;
        p.from.channel = g * s->group_in;
        p.channel = g * s->group_out;
        tutti_windows_gradient_run(&p, a->in[0], a->dout, dweights + g * s->group_out * s->window, a->scratch);
    }
    put_gradient(k, a);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    const tutti_conv_attrs *at = k->attrs;
    if (!a->din[0]) return;
    const float *weights = weights_of(k, a);
    if (s->leaves_out) memset(a->din[0], 0, k->in[0].bytes);
    for (int64_t i = 0; i < at->stride * at->stride * at->groups; i++) {
        const int64_t g = i % at->groups;
        tutti_windows_product p = s->data[i / at->groups];
        if (is_empty(&p)) continue;
        p.from.channel = g * s->group_out;
        p.to.channel = g * s->group_in;
        tutti_windows_product_run(&p, a->dout, weights + g * s->group_out * s->window, NULL, a->din[0], a->scratch);
    }
}

const tutti_kernel_row tutti_implicit_conv = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
