/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_dense.c: fully connected layer by oneDNN.
 *
 * If the input is planes whose channels lie in blocks or innermost (a convolution's output), it is not reordered.
 * Instead weights that are trained get the order of the forward primitive, described as (N, C, H, W). In row-major
 * order that is the same memory as (N, C * H * W). Both gradients are as fast with that order as with orders of their
 * own. For other inputs everything is row-major. Milliseconds of forward, weight gradient and input gradient on one
 * thread of a Xeon with AVX-512, for three orders of the weights:
 *
 *   N x inputs, batch              row-major            forward's order      each pass its own
 *   4096 x 256 * 6 * 6, 64         42.7  44.5  47.6     45.3  44.1  44.7     45.3  43.8  51.3 (reorders: 150 and 48)
 *   4096 x 256 * 6 * 6, 16         23.3  13.9  25.7     25.5  13.4  23.7     25.5  13.6  25.2
 *   4096 x 4096, 64                19.4  20.0  19.1     18.2  18.2  20.8     18.2  17.0  20.3
 *   4096 x 4096, 16                10.4   6.2  11.3      9.3  10.7  11.1      9.3  10.8  11.0
 *   500 x 50 * 4 * 4, 64            0.34  0.27  0.26     0.28  0.28  0.31     the same, channels innermost
 *
 * In the last case putting the input and its gradient into row-major order takes 0.8 ms a step. */
#include "../choose/dense_ways.h"
#include "onednn_impl.h"

typedef struct {
    const_dnnl_memory_desc_t weights, bias, out; /* descriptions of weights, bias and output as they lie in memory;
                                                     * bias is NULL if there is none */
    /* the orders of input and weights for which primitives are looked up */
    const_dnnl_memory_desc_t pick_in, pick_weights;
} dense_desc;

/* True if the input stays in its order and the weights follow it. With row-major weights the library would have only
 * plain loops for such an input. */
static bool follows_input(const tutti_kernel *k, const tutti_kernel_request *r)
{
    return k->in[0].layout && (r->params_as ? k->params[0].layout != NULL : r->training);
}

static dense_desc describe(tutti_kernel *k, tutti_onednn_state *s, const tutti_kernel_request *r)
{
    const tutti_dense_attrs *at = k->attrs;
    const bool follows = follows_input(k, r);
    tutti_shape weights = k->in[0].shape;
    weights.dim[0] = at->units;
    dense_desc d = {
        .weights = tutti_onednn_plain(s, &weights),
        .bias = at->bias ? tutti_onednn_plain(s, &k->params[1].shape) : NULL,
        .out = tutti_onednn_plain(s, &k->out.shape),
        .pick_in = follows ? s->in : tutti_onednn_plain(s, &k->in[0].shape),
    };
    d.pick_weights = follows ? tutti_onednn_any(s, &weights) : d.weights;
    return d;
}

static void build_forward(tutti_kernel *k, tutti_onednn_state *s, dense_desc *d, const tutti_kernel_request *r)
{
    tutti_onednn_ok(s,
                    dnnl_inner_product_forward_primitive_desc_create(
                        &s->forward_pd, s->engine, r->training ? dnnl_forward_training : dnnl_forward_inference,
                        d->pick_in, d->pick_weights, d->bias, d->out, s->forward_attr),
                    "find an inner product");
    if (s->failed != dnnl_success) return;
    const_dnnl_memory_desc_t wanted = tutti_onednn_wants(s->forward_pd, DNNL_ARG_WEIGHTS);
    d->weights = tutti_onednn_param_order(k, r, 0, wanted, d->weights);
    if (r->training) d->pick_weights = d->weights;
    tutti_onednn_set_out(k, TUTTI_ORDER_NCHW, TUTTI_F32);
    tutti_onednn_add_product(s, d->weights, d->bias);
}

static void build_backward_params(tutti_onednn_state *s, const dense_desc *d)
{
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_inner_product_backward_weights_primitive_desc_create(
                        &pd, s->engine, d->pick_in, d->pick_weights, d->bias, d->out, s->forward_pd, s->attr),
                    "find an inner product's weight gradient");
    tutti_onednn_add_weight_gradient(s, pd, d->weights, d->bias);
}

static void build_backward_data(tutti_onednn_state *s, const dense_desc *d)
{
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_inner_product_backward_data_primitive_desc_create(&pd, s->engine, d->pick_in, d->pick_weights,
                                                                           d->out, s->forward_pd, s->attr),
                    "find an inner product's input gradient");
    tutti_onednn_add_input_gradient(s, pd, d->weights);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_dense_attrs *at = k->attrs;
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    dense_desc d = describe(k, s, r);
    k->backward_reads = TUTTI_READS_INPUT;
    if (at->relu) tutti_onednn_merge_relu(k);
    if (s->failed == dnnl_success) build_forward(k, s, &d, r);
    if (r->training && at->relu) tutti_onednn_mask_dout(k);
    if (r->training) build_backward_params(s, &d);
    if (r->training) build_backward_data(s, &d);
    return tutti_onednn_finish(k, err);
}

const tutti_kernel_row tutti_onednn_dense = {
    .fuses = true,
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_params = tutti_onednn_backward_params,
    .backward_data = tutti_onednn_backward_data,
};
