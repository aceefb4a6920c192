/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_conv.c: convolutions of 1 x 1 as matrix products of our own, in f32, where they lie: nothing is brought into another order.
 *
 * Channels last: positions of all samples are the rows of one product; row-major: positions of a sample are the columns of one product a
 * sample. With in (positions, C), out (positions, N), weights (N, C), or each in (C, positions) and so on:
 *
 *               channels last          row-major
 *   forward     in weights^T           weights in
 *   d weights   dout^T in              dout in^T, samples summed in their order
 *   d input     dout weights           weights^T dout */
#include <stdlib.h>
#include <string.h>

#include "../tensor/elementwise.h"
#include "candidate.h"
#include "gemm.h"
#include "lane_value.h"

typedef struct {
    tutti_gemm_plan forward, data, params, more_params; /* more_params: of the second sample on */
    tutti_layout out_layout;
    bool channels_last;
    int64_t batch, positions, in, out; /* positions: of a sample */
    int nthreads;
} state;

bool tutti_gemm_conv_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)pass;
    const tutti_conv_attrs *at = k->attrs;
    const tutti_order order = tutti_order_of(&k->in[0]);
    if (at->kernel != 1 || at->stride != 1 || at->pad || at->groups != 1 || k->in[0].dtype != TUTTI_F32) return false;
    for (int p = 0; p < k->nparams; p++)
        if (k->params[p].layout) return false; /* another row's order */
    return (order == TUTTI_ORDER_NHWC || order == TUTTI_ORDER_NCHW) && r->order == order;
}

/* Rows and columns of the operands from what is multiplied: those of a product of positions or of samples. */
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

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t *in = k->in[0].shape.dim;
    if (!tutti_gemm_conv_fits(k, r, TUTTI_PASS_FORWARD))
        return tutti_fail(err, TUTTI_ERR_USAGE, "products convolve 1 x 1, in f32, row-major or with channels last");
    state *s = tutti_alloc(sizeof *s);
    k->state = s;
    *s = (state){.channels_last = r->order == TUTTI_ORDER_NHWC,
                 .batch = in[0],
                 .in = in[1],
                 .positions = in[2] * in[3],
                 .out = at->out_channels,
                 .nthreads = r->nthreads < 1 ? 1 : r->nthreads};
    tutti_order_apply(r->order, &k->out, &s->out_layout);
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0);
    k->writes_dout = k->feeds_data = r->training && at->relu;
    return make_plans(k, s, r->training, err);
}

static void destroy(tutti_kernel *k)
{
    free(k->state);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    const bool last = s->channels_last;
    const tutti_gemm_operands o = {last ? a->in[0] : a->param[0], last ? a->param[0] : a->in[0],
                                   k->nparams > 1 ? a->param[1] : NULL, a->out};
    tutti_gemm_run(&s->forward, &o, a->scratch);
}

/* In the order of positions. */
static void sum_bias(const state *s, const float *dout, float *dbias)
{
    memset(dbias, 0, (size_t)s->out * sizeof *dbias);
    if (s->channels_last) {
        tutti_elementwise_add_rows(dbias, 0, dout, s->out, s->batch * s->positions, s->out);
        return;
    }
    for (int64_t sample = 0; sample < s->batch; sample++)
        for (int64_t n = 0; n < s->out; n++, dout += s->positions)
            for (int64_t i = 0; i < s->positions; i++) dbias[n] += dout[i];
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    const tutti_conv_attrs *at = k->attrs;
    const float *in = a->in[0], *dout = a->dout;
    if (at->relu)
        tutti_lane_map(tutti_lane_here()->map.relu_gradient, TUTTI_F32, a->out, a->dout, a->dout,
                       tutti_value_elements(&k->out), s->nthreads);
    if (!tutti_kernel_params_wanted(k, a)) return;
    if (at->bias) sum_bias(s, dout, a->dparam[1]);
    const int64_t samples = s->channels_last ? 1 : s->batch;
    for (int64_t i = 0; i < samples; i++) {
        const tutti_gemm_operands o = {
            .a = dout + i * s->out * s->positions, .b = in + i * s->in * s->positions, .c = a->dparam[0]};
        tutti_gemm_run(i == 0 ? &s->params : &s->more_params, &o, a->scratch);
    }
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const state *s = k->state;
    const bool last = s->channels_last;
    if (!a->din[0]) return;
    const tutti_gemm_operands o = {
        .a = last ? a->dout : a->param[0], .b = last ? a->param[0] : a->dout, .c = a->din[0]};
    tutti_gemm_run(&s->data, &o, a->scratch);
}

const tutti_kernel_row tutti_gemm_conv = {
    .engine = "gemm",
    .fuses = true,
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
