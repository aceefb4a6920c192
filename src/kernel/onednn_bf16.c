/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_bf16.c: conv and dense by oneDNN on processors that multiply bf16 (AVX512-BF16, AMX): products of bf16, sums in f32, rounded
 * once. What surrounds them stays f32 behind half_adapter.c, which such layers hardly notice: they are bound by memory.
 *
 * Weights lie row-major in f32 and are rounded and reordered in scratch once a call, which reads them once more. Their gradient
 * comes out in f32. A merged ReLU is a post-op; backward it masks the gradient in place, before the weights' gradient.
 *
 * Where the processor does not multiply bf16 the library computes the same by f32 instructions, four times slower than f32
 * itself: kernel.c does not ask for these rows there, but tests do. */
#include "onednn_impl.h"

typedef struct {
    const tutti_conv_attrs *conv; /* NULL: dense */
    bool relu;
    /* as the primitives are asked: activations and weights bf16, the weights' gradient f32, in any order */
    dnnl_memory_desc_t in, out, weights, dweights;
    dnnl_memory_desc_t flat_weights, bias; /* as they lie in the regions; bias NULL = none */
    dnnl_dims_t strides, dilates, pad;
} bf16_desc;

static bf16_desc describe(tutti_kernel *k, tutti_onednn_state *s)
{
    const bool is_conv = k->op == &tutti_op_conv;
    const tutti_conv_attrs *conv = is_conv ? k->attrs : NULL;
    const tutti_dense_attrs *dense = is_conv ? NULL : k->attrs;
    const int64_t groups = conv && conv->groups > 1 ? conv->groups : 0;
    tutti_shape weights = is_conv ? k->params[0].shape : k->in[0].shape; /* (N, C, H, W) is (N, C * H * W) */
    if (dense) weights.dim[0] = dense->units;
    bf16_desc d = {.conv = conv, .relu = conv ? conv->relu : dense->relu};
    d.in = tutti_onednn_typed(s, dnnl_bf16, &k->in[0].shape, 0, dnnl_format_tag_any);
    d.out = tutti_onednn_typed(s, dnnl_bf16, &k->out.shape, 0, dnnl_format_tag_any);
    d.weights = tutti_onednn_typed(s, dnnl_bf16, &weights, groups, dnnl_format_tag_any);
    d.dweights = tutti_onednn_typed(s, dnnl_f32, &weights, groups, dnnl_format_tag_any);
    d.flat_weights = groups ? tutti_onednn_grouped(s, &weights, groups, dnnl_abcde) : tutti_onednn_plain(s, &weights);
    d.bias = k->nparams > 1 ? tutti_onednn_plain(s, &k->params[1].shape) : NULL;
    if (conv) d.strides[0] = d.strides[1] = conv->stride, d.pad[0] = d.pad[1] = conv->pad;
    return d;
}

static dnnl_status_t find_forward(tutti_onednn_state *s, bf16_desc *d, dnnl_prop_kind_t prop)
{
    return d->conv ? dnnl_convolution_forward_primitive_desc_create(
                         &s->forward_pd, s->engine, prop, dnnl_convolution_direct, d->in, d->weights, d->bias, d->out,
                         d->strides, d->dilates, d->pad, d->pad, s->forward_attr)
                   : dnnl_inner_product_forward_primitive_desc_create(&s->forward_pd, s->engine, prop, d->in,
                                                                      d->weights, d->bias, d->out, s->forward_attr);
}

static dnnl_status_t find_params(tutti_onednn_state *s, bf16_desc *d, dnnl_primitive_desc_t *pd)
{
    return d->conv ? dnnl_convolution_backward_weights_primitive_desc_create(
                         pd, s->engine, dnnl_convolution_direct, d->in, d->dweights, d->bias, d->out, d->strides,
                         d->dilates, d->pad, d->pad, s->forward_pd, s->attr)
                   : dnnl_inner_product_backward_weights_primitive_desc_create(pd, s->engine, d->in, d->dweights,
                                                                               d->bias, d->out, s->forward_pd, s->attr);
}

static dnnl_status_t find_data(tutti_onednn_state *s, bf16_desc *d, dnnl_primitive_desc_t *pd)
{
    return d->conv ? dnnl_convolution_backward_data_primitive_desc_create(pd, s->engine, dnnl_convolution_direct, d->in,
                                                                          d->weights, d->out, d->strides, d->dilates,
                                                                          d->pad, d->pad, s->forward_pd, s->attr)
                   : dnnl_inner_product_backward_data_primitive_desc_create(pd, s->engine, d->in, d->weights, d->out,
                                                                            s->forward_pd, s->attr);
}

/* The output in bf16, in the order that the primitive wants; its layout speaks of f32, as all do. */
static void set_out(tutti_kernel *k, tutti_onednn_state *s)
{
    const_dnnl_memory_desc_t wanted = tutti_onednn_wants(s->forward_pd, DNNL_ARG_DST);
    dnnl_memory_desc_t wide = tutti_onednn_retyped(s, wanted, dnnl_f32, &k->out.shape);
    if (s->failed != dnnl_success) return;
    tutti_onednn_set_out(k, wide);
    s->out = tutti_onednn_retyped(s, wanted, dnnl_bf16, &k->out.shape);
    if (s->failed != dnnl_success) return;
    k->out.dtype = TUTTI_BF16;
    k->out.bytes = dnnl_memory_desc_get_size(s->out);
}

static void build_forward(tutti_kernel *k, tutti_onednn_state *s, bf16_desc *d, bool training)
{
    tutti_onednn_ok(s, find_forward(s, d, training ? dnnl_forward_training : dnnl_forward_inference),
                    "find a product of bf16");
    if (s->failed == dnnl_success) set_out(k, s);
    tutti_onednn_add_product(s, d->flat_weights, d->bias);
}

static void build_backward(tutti_onednn_state *s, bf16_desc *d)
{
    dnnl_primitive_desc_t params = NULL, data = NULL;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s, find_params(s, d, &params), "find a weight gradient of bf16");
    tutti_onednn_add_weight_gradient(s, params, d->flat_weights, d->bias);
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s, find_data(s, d, &data), "find an input gradient of bf16");
    tutti_onednn_add_input_gradient(s, data, d->flat_weights);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    if (k->params[0].layout) /* half_adapter.c takes over */
        return tutti_fail(err, TUTTI_ERR_USAGE, "weights of op %s lie in an order that bf16 does not read",
                          k->op->name);
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    if (k->in[0].dtype == TUTTI_BF16 && s->failed == dnnl_success)
        s->in = tutti_onednn_retyped(s, s->in, dnnl_bf16, &k->in[0].shape);
    bf16_desc d = describe(k, s);
    k->backward_reads = TUTTI_READS_INPUT;
    if (d.relu) tutti_onednn_merge_relu(k);
    if (s->failed == dnnl_success) build_forward(k, s, &d, r->training);
    if (r->training && d.relu) tutti_onednn_mask_dout(k);
    if (r->training) build_backward(s, &d);
    return tutti_onednn_finish(k, err);
}

const tutti_kernel_row tutti_onednn_bf16_conv = {
    .engine = "onednn",
    .fuses = true,
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_params = tutti_onednn_backward_params,
    .backward_data = tutti_onednn_backward_data,
};

const tutti_kernel_row tutti_onednn_bf16_dense = {
    .engine = "onednn",
    .fuses = true,
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_params = tutti_onednn_backward_params,
    .backward_data = tutti_onednn_backward_data,
};
