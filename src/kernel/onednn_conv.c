/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_conv.c: convolution by oneDNN, direct algorithm. Activations in the order that the library prefers; weights lie
 * row-major in their region and are reordered in scratch, which costs little beside the convolution. */
#include "onednn_impl.h"

typedef struct {
    dnnl_memory_desc_t weights, bias; /* as they lie in the regions; bias NULL = none */
    dnnl_memory_desc_t any_in, any_out, any_weights;
    dnnl_dims_t strides, dilates, pad;
} conv_desc;

static conv_desc describe(tutti_kernel *k, tutti_onednn_state *s)
{
    const tutti_conv_attrs *at = k->attrs;
    conv_desc d = {
        .weights = tutti_onednn_plain(s, &k->params[0].shape),
        .bias = at->bias ? tutti_onednn_plain(s, &k->params[1].shape) : NULL,
        .any_in = tutti_onednn_any(s, &k->in[0].shape),
        .any_out = tutti_onednn_any(s, &k->out.shape),
        .any_weights = tutti_onednn_any(s, &k->params[0].shape),
        .strides = {at->stride, at->stride},
        .pad = {at->pad, at->pad},
    };
    return d;
}

static void build_forward(tutti_kernel *k, tutti_onednn_state *s, conv_desc *d, bool training)
{
    tutti_onednn_ok(s,
                    dnnl_convolution_forward_primitive_desc_create(
                        &s->forward_pd, s->engine, training ? dnnl_forward_training : dnnl_forward_inference,
                        dnnl_convolution_direct, d->any_in, d->any_weights, d->bias, d->any_out, d->strides, d->dilates,
                        d->pad, d->pad, s->attr),
                    "find a convolution");
    if (s->failed != dnnl_success) return;
    tutti_onednn_set_out(k, tutti_onednn_wants(s->forward_pd, DNNL_ARG_DST));
    tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_WEIGHTS, tutti_onednn_at(TUTTI_AT_PARAM, 0), d->weights, false},
        {DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), s->out, true},
        {DNNL_ARG_BIAS, tutti_onednn_at(TUTTI_AT_PARAM, 1), d->bias, false},
    };
    tutti_onednn_add(s, &s->forward, s->forward_pd, args, d->bias ? 4 : 3);
}

static void build_backward_params(tutti_onednn_state *s, conv_desc *d)
{
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_convolution_backward_weights_primitive_desc_create(
                        &pd, s->engine, dnnl_convolution_direct, d->any_in, d->any_weights, d->bias, d->any_out,
                        d->strides, d->dilates, d->pad, d->pad, s->forward_pd, s->attr),
                    "find a convolution's weight gradient");
    if (s->failed != dnnl_success) return;
    tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out, false},
        {DNNL_ARG_DIFF_WEIGHTS, tutti_onednn_at(TUTTI_AT_DPARAM, 0), d->weights, true},
        {DNNL_ARG_DIFF_BIAS, tutti_onednn_at(TUTTI_AT_DPARAM, 1), d->bias, true},
    };
    tutti_onednn_add(s, &s->backward_params, pd, args, d->bias ? 4 : 3);
}

static void build_backward_data(tutti_onednn_state *s, conv_desc *d)
{
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_convolution_backward_data_primitive_desc_create(
                        &pd, s->engine, dnnl_convolution_direct, d->any_in, d->any_weights, d->any_out, d->strides,
                        d->dilates, d->pad, d->pad, s->forward_pd, s->attr),
                    "find a convolution's input gradient");
    if (s->failed != dnnl_success) return;
    tutti_onednn_arg args[] = {
        {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out, false},
        {DNNL_ARG_WEIGHTS, tutti_onednn_at(TUTTI_AT_PARAM, 0), d->weights, false},
        {DNNL_ARG_DIFF_SRC, tutti_onednn_at(TUTTI_AT_DIN, 0), s->in, true},
    };
    tutti_onednn_add(s, &s->backward_data, pd, args, 3);
}

static tutti_status create(tutti_kernel *k, bool training, int nthreads, tutti_failure *err)
{
    tutti_onednn_state *s = tutti_onednn_open(k, nthreads);
    conv_desc d = describe(k, s);
    k->backward_reads = TUTTI_READS_INPUT;
    if (s->failed == dnnl_success) build_forward(k, s, &d, training);
    if (training) build_backward_params(s, &d);
    if (training) build_backward_data(s, &d);
    return tutti_onednn_finish(k, err);
}

const tutti_kernel_row tutti_onednn_conv = {
    .engine = "onednn",
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_params = tutti_onednn_backward_params,
    .backward_data = tutti_onednn_backward_data,
};
