/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_eltwise.c: relu, sigmoid and tanh by oneDNN, in place and in whatever order the input has. The library has two
 * kinds of each: these compute the gradient from the output. */
#include "onednn_impl.h"

static tutti_status create_eltwise(tutti_kernel *k, dnnl_alg_kind_t alg, const tutti_kernel_request *r,
                                   tutti_failure *err)
{
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    k->backward_reads = TUTTI_READS_OUTPUT;
    k->in_place = true;
    if (s->failed == dnnl_success)
        tutti_onednn_ok(s,
                        dnnl_eltwise_forward_primitive_desc_create(
                            &s->forward_pd, s->engine, r->training ? dnnl_forward_training : dnnl_forward_inference,
                            alg, s->in, s->in, 0, 0, s->attr),
                        "find an elementwise function");
    if (s->failed != dnnl_success) return tutti_onednn_finish(k, err);
    tutti_onednn_set_out(k, s->in);
    tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), s->out, true},
    };
    tutti_onednn_add(s, &s->forward, s->forward_pd, args, 2);
    dnnl_primitive_desc_t pd = NULL;
    if (r->training && s->failed == dnnl_success &&
        tutti_onednn_ok(s,
                        dnnl_eltwise_backward_primitive_desc_create(&pd, s->engine, alg, s->in, s->out, s->out, 0, 0,
                                                                    s->forward_pd, s->attr),
                        "find the gradient of an elementwise function")) {
        tutti_onednn_arg back[] = {
            {DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), s->out, false},
            {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out, false},
            {DNNL_ARG_DIFF_SRC, tutti_onednn_at(TUTTI_AT_DIN, 0), s->in, true},
        };
        tutti_onednn_add(s, &s->backward_data, pd, back, 3);
    }
    return tutti_onednn_finish(k, err);
}

static tutti_status create_relu(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create_eltwise(k, dnnl_eltwise_relu_use_dst_for_bwd, r, err);
}

static tutti_status create_sigmoid(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create_eltwise(k, dnnl_eltwise_logistic_use_dst_for_bwd, r, err);
}

static tutti_status create_tanh(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create_eltwise(k, dnnl_eltwise_tanh_use_dst_for_bwd, r, err);
}

const tutti_kernel_row tutti_onednn_relu = {
    .engine = "onednn",
    .create = create_relu,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_data = tutti_onednn_backward_data,
};

const tutti_kernel_row tutti_onednn_sigmoid = {
    .engine = "onednn",
    .create = create_sigmoid,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_data = tutti_onednn_backward_data,
};

const tutti_kernel_row tutti_onednn_tanh = {
    .engine = "onednn",
    .create = create_tanh,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_data = tutti_onednn_backward_data,
};
