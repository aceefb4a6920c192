/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_dense_bf16.c: fully connected layer by oneDNN in bf16, on processors that multiply bf16.
 *
 * If the library multiplies by its GEMM, reordering the weights gains nothing, because GEMM reads rows and columns
 * equally fast. Then the library gets the weights in their own order, rounded to bf16, and writes the gradient in that
 * order. Milliseconds of forward, weight gradient and input gradient of 500 x 50 * 4 * 4 (LeNet), batch 64, on one
 * thread of an EPYC (Zen 4): 0.59 0.62 0.34 with reordered weights, 0.34 0.26 0.29 with weights in their own order. */
#include <string.h>

#include "onednn_impl.h"

typedef struct {
    /* descriptions for which primitives are looked up: activations and weights in bf16, the weights' gradient in f32,
     * each in any order */
    dnnl_memory_desc_t in, out, weights, dweights;
    /* orders in which weights and bias are stored; bias is NULL if there is none */
    dnnl_memory_desc_t flat_weights, bias;
} dense_desc;

static dense_desc describe(tutti_kernel *k, tutti_onednn_state *s)
{
    const tutti_dense_attrs *at = k->attrs;
    tutti_shape weights = k->in[0].shape; /* becomes (units, C, H, W), which is the same memory as (units, C * H * W) */
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

static dnnl_status_t find_forward(tutti_onednn_state *s, const dense_desc *d, bool training, dnnl_primitive_desc_t *pd)
{
    return dnnl_inner_product_forward_primitive_desc_create(pd, s->engine,
                                                            training ? dnnl_forward_training : dnnl_forward_inference,
                                                            d->in, d->weights, d->bias, d->out, s->forward_attr);
}

/* Looks up primitives for weights and their gradient in the order in which they are stored, if GEMM computes them. */
static void take_as_they_lie(tutti_kernel *k, dense_desc *d, bool training)
{
    tutti_onednn_state *s = k->state;
    dnnl_primitive_desc_t pd = NULL;
    tutti_shape weights = k->in[0].shape;
    weights.dim[0] = k->out.shape.dim[1];
    dense_desc flat = *d;
    flat.in = tutti_onednn_ordered(s, dnnl_bf16, &k->in[0].shape, TUTTI_ORDER_NCHW);
    flat.weights = tutti_onednn_ordered(s, dnnl_bf16, &weights, TUTTI_ORDER_NCHW);
    flat.dweights = flat.flat_weights;
    if (s->failed != dnnl_success || find_forward(s, &flat, training, &pd) != dnnl_success) return;
    if (!tutti_onednn_is_gemm(pd)) {
        dnnl_primitive_desc_destroy(pd);
        return;
    }
    dnnl_primitive_desc_destroy(s->forward_pd);
    s->forward_pd = pd;
    *d = flat;
}

static void build_forward(tutti_kernel *k, dense_desc *d, bool training)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_ok(s, find_forward(s, d, training, &s->forward_pd), "find an inner product of bf16");
    if (s->failed == dnnl_success && tutti_onednn_is_gemm(s->forward_pd)) take_as_they_lie(k, d, training);
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
    if (k->params[0].layout) /* in this case half_adapter.c computes the pass in f32 */
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
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_params = tutti_onednn_backward_params,
    .backward_data = tutti_onednn_backward_data,
};
