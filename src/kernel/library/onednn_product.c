/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_product.c: the passes of convolution and dense by oneDNN: arguments of the products, and a ReLU merged as a
 * post-op.
 *
 * In the forward pass the ReLU costs nothing. In the backward pass, the gradient of the sum before the ReLU is dout
 * where out is positive, else 0. The first backward pass, backward_params, masks dout in place, at the speed of memory;
 * the second one finds dout masked. */
#include "onednn_impl.h"

void tutti_onednn_merge_relu(tutti_kernel *k)
{
    tutti_onednn_state *s = k->state;
    dnnl_post_ops_t ops = NULL;
    k->backward_reads |= TUTTI_READS_OUTPUT;
    k->writes_dout = k->feeds_data = true;
    if (s->failed != dnnl_success || !tutti_onednn_ok(s, dnnl_post_ops_create(&ops), "create post-ops")) return;
    tutti_onednn_ok(s, dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0), "merge a ReLU");
    tutti_onednn_ok(s, dnnl_primitive_attr_set_post_ops(s->forward_attr, ops), "merge a ReLU");
    dnnl_post_ops_destroy(ops);
}

void tutti_onednn_mask_dout(tutti_kernel *k)
{
    tutti_onednn_state *s = k->state;
    dnnl_primitive_desc_t forward = NULL, backward = NULL;
    const dnnl_alg_kind_t relu = dnnl_eltwise_relu_use_dst_for_bwd;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_eltwise_forward_primitive_desc_create(&forward, s->engine, dnnl_forward_training, relu, s->out,
                                                               s->out, 0, 0, s->attr),
                    "find a mask");
    if (s->failed == dnnl_success)
        tutti_onednn_ok(s,
                        dnnl_eltwise_backward_primitive_desc_create(&backward, s->engine, relu, s->out, s->out, s->out,
                                                                    0, 0, forward, s->attr),
                        "find a mask");
    dnnl_primitive_desc_destroy(forward);
    if (s->failed != dnnl_success) return;
    const tutti_onednn_arg args[] = {
        {DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), s->out, false},
        {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out, false},
        {DNNL_ARG_DIFF_SRC, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out, true},
    };
    tutti_onednn_add(s, &s->backward_params, backward, args, 3);
    s->nfeeding = s->backward_params.nsteps;
}

void tutti_onednn_add_product(tutti_onednn_state *s, const_dnnl_memory_desc_t weights, const_dnnl_memory_desc_t bias)
{
    if (s->failed != dnnl_success) return;
    const tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_WEIGHTS, tutti_onednn_at(TUTTI_AT_PARAM, 0), weights, false},
        {DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), s->out, true},
        {DNNL_ARG_BIAS, tutti_onednn_at(TUTTI_AT_PARAM, 1), bias, false},
    };
    tutti_onednn_add(s, &s->forward, s->forward_pd, args, bias ? 4 : 3);
}

void tutti_onednn_add_weight_gradient(tutti_onednn_state *s, dnnl_primitive_desc_t taken,
                                      const_dnnl_memory_desc_t weights, const_dnnl_memory_desc_t bias)
{
    if (s->failed != dnnl_success) return;
    const tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out, false},
        {DNNL_ARG_DIFF_WEIGHTS, tutti_onednn_at(TUTTI_AT_DPARAM, 0), weights, true},
        {DNNL_ARG_DIFF_BIAS, tutti_onednn_at(TUTTI_AT_DPARAM, 1), bias, true},
    };
    tutti_onednn_add(s, &s->backward_params, taken, args, bias ? 4 : 3);
}

void tutti_onednn_add_input_gradient(tutti_onednn_state *s, dnnl_primitive_desc_t taken,
                                     const_dnnl_memory_desc_t weights)
{
    if (s->failed != dnnl_success) return;
    const tutti_onednn_arg args[] = {
        {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out, false},
        {DNNL_ARG_WEIGHTS, tutti_onednn_at(TUTTI_AT_PARAM, 0), weights, false},
        {DNNL_ARG_DIFF_SRC, tutti_onednn_at(TUTTI_AT_DIN, 0), s->in, true},
    };
    tutti_onednn_add(s, &s->backward_data, taken, args, 3);
}
