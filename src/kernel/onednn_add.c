/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_add.c: the sum of several inputs by oneDNN, in the order that the first has; inputs that lie otherwise are reordered.
 * Their gradients are dout in another order; the others' are dout itself. */
#include "onednn_impl.h"

static void build_forward(tutti_kernel *k, tutti_onednn_state *s)
{
    const_dnnl_memory_desc_t orders[TUTTI_MAX_OP_INPUTS];
    float scales[TUTTI_MAX_OP_INPUTS];
    tutti_onednn_arg args[TUTTI_MAX_OP_INPUTS + 1];
    for (int i = 0; i < k->ninputs; i++) {
        orders[i] = s->in;
        scales[i] = 1;
        args[i] = (tutti_onednn_arg){DNNL_ARG_MULTIPLE_SRC + i, tutti_onednn_at(TUTTI_AT_IN, (size_t)i),
                                     tutti_onednn_input(k, i), false};
    }
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(
        s, dnnl_sum_primitive_desc_create(&s->forward_pd, s->engine, s->in, k->ninputs, scales, orders, s->attr),
        "find a sum");
    if (s->failed != dnnl_success) return;
    tutti_onednn_set_out(k, s->in);
    args[k->ninputs] = (tutti_onednn_arg){DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), s->out, true};
    tutti_onednn_add(s, &s->forward, s->forward_pd, args, k->ninputs + 1);
}

static void build_backward(tutti_kernel *k, tutti_onednn_state *s)
{
    for (int i = 0; i < k->ninputs && s->failed == dnnl_success; i++) {
        dnnl_memory_desc_t order = tutti_onednn_input(k, i);
        if (s->failed == dnnl_success && tutti_onednn_same_order(order, s->out))
            k->passes_gradient |= 1u << i;
        else
            tutti_onednn_reorder(s, &s->backward_data, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out,
                                 tutti_onednn_at(TUTTI_AT_DIN, (size_t)i), order);
    }
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    k->in_place = true;
    build_forward(k, s);
    if (r->training) build_backward(k, s);
    return tutti_onednn_finish(k, err);
}

const tutti_kernel_row tutti_onednn_add_row = {
    .engine = "onednn",
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_data = tutti_onednn_backward_data,
};
