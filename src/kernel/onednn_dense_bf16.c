/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_dense_bf16.c: dense by oneDNN on processors that multiply bf16, as onednn_conv.c does convolutions: weights lie row-major in f32 and
 * are rounded and reordered in scratch once a call, which reads them once more; their gradient comes out in f32. */
#include "onednn_impl.h"

typedef struct {
    /* as the primitives are asked: activations and weights bf16, the weights' gradient f32, in any order */
    dnnl_memory_desc_t in, out, weights, dweights;
    dnnl_memory_desc_t flat_weights, bias; /* as they lie in the regions; bias NULL = none */
} dense_desc;

static dense_desc describe(tutti_kernel *k, tutti_onednn_state *s)
{
    const tutti_dense_attrs *at = k->attrs;
    tutti_shape weights = k->in[0].shape; /* (N, C, H, W) is (N, C * H * W) */
    weights.dim[0] = at->units;
    return (dense_desc){
        .in = tutti_onednn_typed(s, dnnl_bf16, &k->in[0].shape, 0, dnnl_format_tag_any),
        .out = tutti_onednn_typed(s, dnnl_bf16, &k->out.shape, 0, dnnl_ab),
        .weights = tutti_onednn_typed(s, dnnl_bf16, &weights, 0, dnnl_format_tag_any),
        .dweights = tutti_onednn_typed(s, dnnl_f32, &weights, 0, dnnl_format_tag_any),
        .flat_weights = tutti_onednn_plain(s, &weights),
        .bias = k->nparams > 1 ? tutti_onednn_plain(s, &k->params[1].shape) : NULL,
    };
}

static void build_forward(tutti_kernel *k, dense_desc *d, bool training)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_ok(s,
                    dnnl_inner_product_forward_primitive_desc_create(
                        &s->forward_pd, s->engine, training ? dnnl_forward_training : dnnl_forward_inference, d->in,
                        d->weights, d->bias, d->out, s->forward_attr),
                    "find an inner product of bf16");
    if (s->failed != dnnl_success) return;
    tutti_onednn_set_out(k, TUTTI_ORDER_NCHW, TUTTI_BF16);
    tutti_onednn_add_product(s, d->flat_weights, d->bias);
}

static void build_backward(tutti_onednn_state *s, dense_desc *d)
{
    dnnl_primitive_desc_t params = NULL, data = NULL;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_inner_product_backward_weights_primitive_desc_create(&params, s->engine, d->in, d->dweights,
                                                                              d->bias, d->out, s->forward_pd, s->attr),
                    "find an inner product's weight gradient of bf16");
    tutti_onednn_add_weight_gradient(s, params, d->flat_weights, d->bias);
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_inner_product_backward_data_primitive_desc_create(&data, s->engine, d->in, d->weights, d->out,
                                                                           s->forward_pd, s->attr),
                    "find an inner product's input gradient of bf16");
    tutti_onednn_add_input_gradient(s, data, d->flat_weights);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_dense_attrs *at = k->attrs;
    if (k->params[0].layout) /* half_adapter.c takes over */
        return tutti_fail(err, TUTTI_ERR_USAGE, "weights of op %s lie in an order that bf16 does not read",
                          k->op->name);
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    dense_desc d = describe(k, s);
    k->backward_reads = TUTTI_READS_INPUT;
    if (at->relu) tutti_onednn_merge_relu(k);
    if (s->failed == dnnl_success) build_forward(k, &d, r->training);
    if (r->training && at->relu) tutti_onednn_mask_dout(k);
    if (r->training) build_backward(s, &d);
    return tutti_onednn_finish(k, err);
}

const tutti_kernel_row tutti_onednn_bf16_dense = {
    .engine = "onednn",
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_params = tutti_onednn_backward_params,
    .backward_data = tutti_onednn_backward_data,
};
