/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_conv.c: the candidate `sparse` of f32 convolutions, which skips zeros: which requests it fits, and its three
 * passes.
 *
 * Its output and parameters lie in the requested order; its inputs may lie in any order. The input gradient has two
 * forms. If a ReLU is merged into the convolution, the first backward pass masks the output's gradient (it writes
 * dout), and the zeros of the masked gradient are skipped. If no ReLU is merged, but a ReLU made the input, gradients
 * are computed only where the input is not zero; all other gradients are set to zero. That is right because the ReLU
 * that made the input masks them anyway. The model says so in tutti_kernel_request.rectified. Without either ReLU,
 * zeros that the gradient happens to have are skipped. */
#include <stdlib.h>
#include <string.h>

#include "../choose/order_rule.h"
#include "sparse_conv.h"

TUTTI_ISA_TABLE(tutti_sparse_loops, tutti_sparse);

static const tutti_sparse_loops *loops_here(void)
{
    return tutti_sparse_rows[tutti_isa_here()];
}

static void choose_order(tutti_kernel *k, const tutti_kernel_request *r)
{
    tutti_sparse_state *s = k->state;
    tutti_order_vote vote;
    tutti_order order = r->order;
    if (order == TUTTI_ORDER_NONE) {
        tutti_order_vote_of(k->op, k->attrs, &k->in[0].shape, &k->out.shape, &vote);
        order = tutti_order_rule(r->engine, TUTTI_PRECISION_F32, &vote, 1);
    }
    tutti_order_apply(order, &k->out, &s->out_layout);
}

static tutti_sparse_side side_of(const tutti_value *v, int64_t groups)
{
    return (tutti_sparse_side){v->shape.dim[1] / groups, v->shape.dim[2], v->shape.dim[3]};
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_conv_attrs *at = k->attrs;
    if (k->in[0].dtype != TUTTI_F32 || r->precision != TUTTI_PRECISION_F32 ||
        tutti_order_of(&k->in[0]) == TUTTI_ORDER_NONE)
        return tutti_fail(err, TUTTI_ERR_USAGE, "sparse convolutions take f32 in orders that are known");
    tutti_sparse_state *s = tutti_alloc(sizeof *s);
    k->state = s;
    choose_order(k, r);
    *s = (tutti_sparse_state){.loops = loops_here(),
                              .weights = tutti_sparse_offsets_of(&k->params[0]),
                              .back = {.back = true},
                              .out_layout = s->out_layout,
                              .batch = k->in[0].shape.dim[0],
                              .groups = at->groups,
                              .kernel = at->kernel,
                              .stride = at->stride,
                              .pad = at->pad,
                              .in = side_of(&k->in[0], at->groups),
                              .out = side_of(&k->out, at->groups),
                              .nthreads = r->nthreads < 1 ? 1 : r->nthreads,
                              .relu = at->relu,
                              .masked = r->rectified & 1 && !at->relu && !r->pooled,
                              .outputs = r->pooled || (at->relu && !(r->rectified & 1))};
    tutti_sparse_plan_walk(s, &s->forward, &k->scratch_bytes);
    if (!r->training) return TUTTI_OK;
    size_t gradient = 0, windows = 0, back = 0;
    tutti_sparse_plan_gradient(s, &gradient);
    tutti_sparse_plan_windows(s, &windows);
    tutti_sparse_plan_walk(s, &s->back, &back);
    if (gradient > k->scratch_bytes) k->scratch_bytes = gradient;
    if (windows > k->scratch_bytes) k->scratch_bytes = windows;
    if (back > k->scratch_bytes) k->scratch_bytes = back;
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0);
    k->writes_dout = k->feeds_data = at->relu;
    return TUTTI_OK;
}

static void destroy(tutti_kernel *k)
{
    tutti_sparse_state *s = k->state;
    if (s) free(s->weights.n);
    free(s);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_sparse_state *s = k->state;
    tutti_sparse_run_sums(k, &s->forward, a);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_sparse_state *s = k->state;
    if (s->relu) tutti_lane_mask_dout(k, a, s->nthreads);
    if (tutti_kernel_params_wanted(k, a)) tutti_sparse_run_gradient(k, a);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_sparse_state *s = k->state;
    if (!a->din[0]) return;
    if (s->masked)
        tutti_sparse_run_dots(k, a);
    else
        tutti_sparse_run_sums(k, &s->back, a);
}

void tutti_sparse_conv_skip_outputs(tutti_kernel *k, bool outputs)
{
    tutti_sparse_state *s = k->state;
    s->outputs = outputs;
}

const tutti_kernel_row tutti_sparse_conv = {
    .fuses = true,
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
