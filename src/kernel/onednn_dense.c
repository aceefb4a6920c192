/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_dense.c: fully connected layer by oneDNN, all in row-major order. An input in another order is put right in
 * scratch: it is small beside the weights, which would have to be reordered in every step otherwise. With 500 units of 800 and
 * batch 64 the three passes take 1.45 ms so, 1.88 ms with weights in the library's order, reorders included. Weights are
 * described as (N, C, H, W), which is the same memory as (N, C * H * W). */
#include "onednn_impl.h"

typedef struct {
    dnnl_memory_desc_t in, weights, bias, out; /* bias NULL = none */
} dense_desc;

static dense_desc describe(tutti_kernel *k, tutti_onednn_state *s)
{
    const tutti_dense_attrs *at = k->attrs;
    tutti_shape weights = k->in[0].shape;
    weights.dim[0] = at->units;
    return (dense_desc){
        .weights = tutti_onednn_plain(s, &weights),
        .bias = at->bias ? tutti_onednn_plain(s, &k->params[1].shape) : NULL,
        .out = tutti_onednn_plain(s, &k->out.shape),
        .in = tutti_onednn_plain(s, &k->in[0].shape),
    };
}

static void build_forward(tutti_kernel *k, tutti_onednn_state *s, const dense_desc *d, bool training)
{
    tutti_onednn_ok(s,
                    dnnl_inner_product_forward_primitive_desc_create(
                        &s->forward_pd, s->engine, training ? dnnl_forward_training : dnnl_forward_inference, d->in,
                        d->weights, d->bias, d->out, s->forward_attr),
                    "find an inner product");
    if (s->failed != dnnl_success) return;
    tutti_onednn_set_out(k, d->out);
    tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_WEIGHTS, tutti_onednn_at(TUTTI_AT_PARAM, 0), d->weights, false},
        {DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), d->out, true},
        {DNNL_ARG_BIAS, tutti_onednn_at(TUTTI_AT_PARAM, 1), d->bias, false},
    };
    tutti_onednn_add(s, &s->forward, s->forward_pd, args, d->bias ? 4 : 3);
}

static void build_backward_params(tutti_onednn_state *s, const dense_desc *d)
{
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_inner_product_backward_weights_primitive_desc_create(&pd, s->engine, d->in, d->weights,
                                                                              d->bias, d->out, s->forward_pd, s->attr),
                    "find an inner product's weight gradient");
    if (s->failed != dnnl_success) return;
    tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), d->out, false},
        {DNNL_ARG_DIFF_WEIGHTS, tutti_onednn_at(TUTTI_AT_DPARAM, 0), d->weights, true},
        {DNNL_ARG_DIFF_BIAS, tutti_onednn_at(TUTTI_AT_DPARAM, 1), d->bias, true},
    };
    tutti_onednn_add(s, &s->backward_params, pd, args, d->bias ? 4 : 3);
}

static void build_backward_data(tutti_onednn_state *s, const dense_desc *d)
{
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_inner_product_backward_data_primitive_desc_create(&pd, s->engine, d->in, d->weights, d->out,
                                                                           s->forward_pd, s->attr),
                    "find an inner product's input gradient");
    if (s->failed != dnnl_success) return;
    tutti_onednn_arg args[] = {
        {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), d->out, false},
        {DNNL_ARG_WEIGHTS, tutti_onednn_at(TUTTI_AT_PARAM, 0), d->weights, false},
        {DNNL_ARG_DIFF_SRC, tutti_onednn_at(TUTTI_AT_DIN, 0), s->in, true},
    };
    tutti_onednn_add(s, &s->backward_data, pd, args, 3);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_dense_attrs *at = k->attrs;
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    dense_desc d = describe(k, s);
    k->backward_reads = TUTTI_READS_INPUT;
    if (at->relu) tutti_onednn_merge_relu(k);
    if (s->failed == dnnl_success) build_forward(k, s, &d, r->training);
    if (r->training && at->relu) tutti_onednn_mask_dout(k);
    if (r->training) build_backward_params(s, &d);
    if (r->training) build_backward_data(s, &d);
    return tutti_onednn_finish(k, err);
}

const tutti_kernel_row tutti_onednn_dense = {
    .engine = "onednn",
    .fuses = true,
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_params = tutti_onednn_backward_params,
    .backward_data = tutti_onednn_backward_data,
};
