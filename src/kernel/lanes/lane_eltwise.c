/* SPDX-License-Identifier: Apache-2.0 */
/* lane_eltwise.c: relu, sigmoid and tanh of our own, in place, in every order and type. Gradients follow from the
 * output. */
#include "lane_value.h"

typedef struct {
    tutti_map_loop *forward, *backward;
    int64_t n;
    int nthreads;
    bool moves_zero; /* true if the function of 0 is not 0; then padding is set to 0 afterwards */
} eltwise;

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_map_loops *loops = &tutti_lane_here()->map;
    eltwise *s = tutti_alloc(sizeof *s);
    k->state = s;
    k->backward_reads = TUTTI_READS_OUTPUT;
    k->in_place = true;
    s->nthreads = r->nthreads;
    s->moves_zero = k->op == &tutti_op_sigmoid;
    s->forward = k->op == &tutti_op_relu ? loops->relu : k->op == &tutti_op_tanh ? loops->tanh : loops->sigmoid;
    s->backward = k->op == &tutti_op_relu   ? loops->relu_gradient
                  : k->op == &tutti_op_tanh ? loops->tanh_gradient
                                            : loops->sigmoid_gradient;
    tutti_status st = tutti_lane_like_input(k, r, err);
    if (st == TUTTI_OK) s->n = tutti_value_elements(&k->out);
    return st;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const eltwise *s = k->state;
    const tutti_map_call call = {.type = k->out.dtype, .x = a->in[0], .to = a->out};
    tutti_lane_map(s->forward, &call, s->n, s->nthreads);
    if (s->moves_zero) tutti_lane_clear_padding(&k->out, a->out);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const eltwise *s = k->state;
    const tutti_map_call call = {.type = k->out.dtype, .x = a->out, .y = a->dout, .to = a->din[0]};
    tutti_lane_map(s->backward, &call, s->n, s->nthreads);
}

const tutti_kernel_row tutti_lane_eltwise = {
    .takes_halves = true,
    .create = create,
    .destroy = tutti_lane_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
