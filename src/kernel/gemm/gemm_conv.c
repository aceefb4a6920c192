/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_conv.c: convolutions of 1 x 1 as tutti's own matrix products (gemm.h), in f32, and in bf16 if a row of gemm.h
 * multiplies bf16 on this processor. The weights of bf16 products are f32 and are rounded as they are packed. Values
 * are read where they lie. Only a stride needs copies, and then values must have channels last. The input positions
 * that the convolution reads are first copied side by side. The input's gradient is computed for these positions and
 * copied back, and all other positions become zero.
 *
 * With channels last there is one product, whose rows are the positions of all samples: in is (positions, C), out is
 * (positions, N), weights are (N, C). With row-major values there is one product for each sample, whose columns are the
 * sample's positions: in is (C, positions), out is (N, positions).
 *
 *               channels last          row-major
 *   forward     in weights^T           weights in
 *   d weights   dout^T in              dout in^T, samples summed in their order
 *   d input     dout weights           weights^T dout */
#include <stdlib.h>
#include <string.h>

#include "../choose/candidate.h"
#include "../lanes/lane_value.h"
#include "gemm.h"

typedef struct {
    /* the product of each pass. more_params: params for the second and later samples, whose products are added */
    tutti_gemm_plan forward, data, params, more_params;
    tutti_layout out_layout;
    tutti_dtype type; /* the type of activations, and the type that is multiplied */
    bool channels_last;
    int64_t batch, positions, in, out; /* batch size; positions of one sample's output; input and output channels */
    /* height, width: of the input; right: number of positions in a row of the output */
    int64_t stride, height, width, right;
    /* offset in scratch of the copy of the input positions that are read; unused if the stride is 1 */
    size_t picked_at;
    int nthreads;
} state;

bool tutti_gemm_conv_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)pass;
    const tutti_conv_attrs *at = k->attrs;
    const tutti_order order = tutti_order_of(&k->in[0]);
    const tutti_dtype type = tutti_precision_dtype(r->precision);
    if (at->kernel != 1 || at->pad || at->groups != 1 || k->in[0].dtype != type || !tutti_gemm_multiplies(type))
        return false;
    for (int p = 0; p < k->nparams; p++)
        if (k->params[p].layout) return false; /* the parameter already has the order of another row */
    return (order == TUTTI_ORDER_NHWC || (order == TUTTI_ORDER_NCHW && at->stride == 1)) && r->order == order;
}

/* Estimates seconds where this row beats the library. Each pair of numbers is the ms of oneDNN 3.2, then of these
 * products. Both multiply bf16 by AMX on one thread of a Xeon, in training steps of ResNet-50 (batch 16). taken: passes
 * for which this row is chosen:
 *
 *   channels, stride, plane of the output         d weights    d input      taken
 *   256 to 64, 1, 56 x 56                         7.0  9.3     4.4  6.4
 *   512 to 128, 1, 28 x 28                        4.3  4.7     2.7  3.3
 *   256 to 512, 2, 28 x 28                        7.3  8.8     9.9  8.7     d input
 *   512 to 256, 1, 28 x 28                        7.5  6.4     4.5  4.4     d weights
 *   512 to 1024, 2, 14 x 14                       10.2 5.8     8.9  5.3     both
 *   256 to 1024, 1, 14 x 14                       4.1  4.2     1.9  2.3
 *   1024 to 256, 1, 14 x 14                       4.7  3.9     1.7  2.1     d weights
 *   1024 to 512, 1, 14 x 14                       7.5  6.5     3.4  4.5     d weights
 *   1024 to 2048, 2, 7 x 7                        30.2 6.1     12.3 7.0     both
 *   2048 to 512, 1, 7 x 7                         8.5  3.4     3.9  2.8     both
 *   512 to 2048, 1, 7 x 7                         5.5  3.1     3.2  2.8     both
 *
 * The forward pass takes as long as the library's or longer. All other cases have no estimate. */
double tutti_gemm_conv_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    enum { MANY = 512, HALF = 256, FEW_POSITIONS = 1024 };
    static const double OF_LIBRARY[TUTTI_NPASSES] = {1, 0.6, 0.75};
    const tutti_conv_attrs *at = k->attrs;
    const int64_t in = k->in[0].shape.dim[1], out = at->out_channels;
    const int64_t positions = k->out.shape.dim[0] * k->out.shape.dim[2] * k->out.shape.dim[3];
    if (r->precision != TUTTI_PRECISION_BF16 || !tutti_gemm_row_is_here("amx")) return -1;
    const bool weights = in >= MANY && out >= HALF, few = in >= MANY && out >= MANY && positions <= FEW_POSITIONS,
               data = few || (at->stride > 1 && in >= HALF && out >= HALF);
    if (pass == TUTTI_PASS_FORWARD || !(pass == TUTTI_PASS_PARAMS ? weights : data)) return -1;
    return OF_LIBRARY[pass] * tutti_onednn_seconds(k, r, pass);
}

/* Sets the sizes of the products' operands: for one product over the positions of all samples, or for one product a
 * sample. */
static void describe(const state *s, const tutti_conv_attrs *at, tutti_gemm *forward, tutti_gemm *data,
                     tutti_gemm *params)
{
    const int64_t all = s->batch * s->positions;
    const tutti_gemm_map map = at->relu ? TUTTI_GEMM_RELU : TUTTI_GEMM_AS_IS;
    if (s->channels_last) {
        *forward = (tutti_gemm){.m = all, .n = s->out, .k = s->in, .transpose_b = true, .map = map};
        if (at->bias) forward->bias = TUTTI_GEMM_BIAS_OF_COLUMNS;
        *data = (tutti_gemm){.m = all, .n = s->in, .k = s->out};
        *params = (tutti_gemm){.m = s->out, .n = s->in, .k = all, .transpose_a = true};
    } else {
        const int64_t in = s->in * s->positions, out = s->out * s->positions;
        *forward = (tutti_gemm){.m = s->out, .n = s->positions, .k = s->in, .map = map};
        *data = (tutti_gemm){.m = s->in, .n = s->positions, .k = s->out, .transpose_a = true};
        *params = (tutti_gemm){.m = s->out, .n = s->in, .k = s->positions, .transpose_b = true};
        if (at->bias) forward->bias = TUTTI_GEMM_BIAS_OF_ROWS;
        forward->batch = data->batch = s->batch;
        forward->apart_b = data->apart_c = in;
        forward->apart_c = data->apart_b = out;
    }
    forward->multiplied = data->multiplied = params->multiplied = s->type;
    forward->type_c = data->type_c = s->type;
    data->type_a = data->type_b = forward->type_a = forward->type_b = TUTTI_F32; /* the weights are always f32 */
    if (s->channels_last)
        forward->type_a = data->type_a = s->type;
    else
        forward->type_b = data->type_b = s->type;
    params->type_a = params->type_b = s->type;
    forward->nthreads = data->nthreads = params->nthreads = s->nthreads;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

static tutti_status make_plans(tutti_kernel *k, state *s, bool training, tutti_failure *err)
{
    tutti_gemm forward, data, params;
    describe(s, k->attrs, &forward, &data, &params);
    tutti_status st = tutti_gemm_plan_make(&forward, &s->forward, err);
    k->scratch_bytes = s->forward.workspace_bytes;
    if (!training || st != TUTTI_OK) return st;
    st = tutti_gemm_plan_make(&data, &s->data, err);
    if (st == TUTTI_OK) st = tutti_gemm_plan_make(&params, &s->params, err);
    params.accumulate = true;
    if (st == TUTTI_OK) st = tutti_gemm_plan_make(&params, &s->more_params, err);
    k->scratch_bytes = most(most(k->scratch_bytes, s->data.workspace_bytes),
                            most(s->params.workspace_bytes, s->more_params.workspace_bytes));
    return st;
}

/* --- strides --- */

static size_t row_bytes(const state *s)
{
    return (size_t)s->in * tutti_dtype_bytes(s->type);
}

static char *picked(const state *s, const tutti_kernel_args *a)
{
    return (char *)a->scratch + s->picked_at;
}

/* Returns the offset of the first input element that row y of the output reads. y counts the rows of all samples. */
static size_t row_at(const state *s, int64_t y)
{
    const int64_t down = s->positions / s->right;
    return (size_t)((y / down * s->height + y % down * s->stride) * s->width) * row_bytes(s);
}

static const void *pick(const state *s, const tutti_kernel_args *a)
{
    const size_t nbytes = row_bytes(s), step = (size_t)s->stride * nbytes;
    char *to = picked(s, a);
    if (s->stride == 1) return a->in[0];
    for (int64_t y = 0; y < s->batch * s->positions / s->right; y++) {
        const char *from = (const char *)a->in[0] + row_at(s, y);
        for (int64_t x = 0; x < s->right; x++, from += step, to += nbytes) memcpy(to, from, nbytes);
    }
    return picked(s, a);
}

/* Copies the input's gradient from the positions that were read back to their places; the other positions become
 * zero. */
static void put_back(const state *s, const tutti_kernel_args *a)
{
    const size_t nbytes = row_bytes(s), step = (size_t)s->stride * nbytes,
                 all = (size_t)(s->batch * s->height * s->width) * nbytes;
    const char *from = picked(s, a);
    char *done = a->din[0];
    for (int64_t y = 0; y < s->batch * s->positions / s->right; y++) {
        char *to = (char *)a->din[0] + row_at(s, y);
        for (int64_t x = 0; x < s->right; x++, from += nbytes, to += step) {
            memset(done, 0, (size_t)(to - done));
            memcpy(to, from, nbytes);
            done = to + nbytes;
        }
    }
    memset(done, 0, (size_t)((char *)a->din[0] + all - done));
}

static void take_picked(tutti_kernel *k, state *s)
{
    enum { LINE = 64 };
    s->picked_at = (k->scratch_bytes + LINE - 1) / LINE * LINE;
    k->scratch_bytes = s->picked_at + (size_t)(s->batch * s->positions) * row_bytes(s);
}

/* --- the row --- */

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    if (!tutti_gemm_conv_fits(k, r, TUTTI_PASS_FORWARD))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "products convolve 1 x 1, row-major (of stride 1) or with channels last, in types that a row "
                          "multiplies");
    state *s = tutti_alloc(sizeof *s);
    k->state = s;
    *s = (state){.type = tutti_precision_dtype(r->precision),
                 .channels_last = r->order == TUTTI_ORDER_NHWC,
                 .batch = in[0],
                 .in = in[1],
                 .positions = out[2] * out[3],
                 .out = at->out_channels,
                 .stride = at->stride,
                 .height = in[2],
                 .width = in[3],
                 .right = out[3],
                 .nthreads = r->nthreads < 1 ? 1 : r->nthreads};
    k->out.dtype = s->type;
    tutti_order_apply(r->order, &k->out, &s->out_layout);
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0);
    k->writes_dout = k->feeds_data = r->training && at->relu;
    const tutti_status st = make_plans(k, s, r->training, err);
    if (st == TUTTI_OK && s->stride > 1) take_picked(k, s);
    return st;
}

static void destroy(tutti_kernel *k)
{
    free(k->state);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    const bool last = s->channels_last;
    const void *in = pick(s, a);
    const tutti_gemm_operands o = {last ? in : a->param[0], last ? a->param[0] : in,
                                   k->nparams > 1 ? a->param[1] : NULL, a->out};
    tutti_gemm_run(&s->forward, &o, a->scratch);
}

/* Returns sum plus the n elements at `from`, added one after the other. */
static float add_numbers(tutti_dtype type, const char *from, int64_t n, float sum)
{
    enum { BLOCK = 1024 };
    float wide[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t some = n - i < BLOCK ? n - i : BLOCK;
        tutti_lane_convert(type, from + (size_t)i * tutti_dtype_bytes(type), TUTTI_F32, wide, some, 1);
        for (int64_t x = 0; x < some; x++) sum += wide[x];
    }
    return sum;
}

static void sum_bias(const state *s, const void *dout, float *dbias)
{
    const size_t row = (size_t)s->positions * tutti_dtype_bytes(s->type);
    memset(dbias, 0, (size_t)s->out * sizeof *dbias);
    if (s->channels_last) {
        tutti_lane_sum_rows(s->type, dout, s->batch * s->positions, s->out, dbias);
        return;
    }
    for (int64_t i = 0; i < s->batch * s->out; i++)
        dbias[i % s->out] = add_numbers(s->type, (const char *)dout + (size_t)i * row, s->positions, dbias[i % s->out]);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    const tutti_conv_attrs *at = k->attrs;
    if (at->relu) tutti_lane_mask_dout(k, a, s->nthreads);
    if (!tutti_kernel_params_wanted(k, a)) return;
    if (at->bias) sum_bias(s, a->dout, a->dparam[1]);
    const int64_t samples = s->channels_last ? 1 : s->batch;
    const size_t each = (size_t)s->positions * tutti_dtype_bytes(s->type);
    const char *in = pick(s, a), *dout = a->dout;
    for (int64_t i = 0; i < samples; i++) {
        const tutti_gemm_operands o = {
            .a = dout + (size_t)(i * s->out) * each, .b = in + (size_t)(i * s->in) * each, .c = a->dparam[0]};
        tutti_gemm_run(i == 0 ? &s->params : &s->more_params, &o, a->scratch);
    }
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    const bool last = s->channels_last;
    if (!a->din[0]) return;
    const tutti_gemm_operands o = {.a = last ? a->dout : a->param[0],
                                   .b = last ? a->param[0] : a->dout,
                                   .c = s->stride > 1 ? picked(s, a) : a->din[0]};
    tutti_gemm_run(&s->data, &o, a->scratch);
    if (s->stride > 1) put_back(s, a);
}

const tutti_kernel_row tutti_gemm_conv = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
