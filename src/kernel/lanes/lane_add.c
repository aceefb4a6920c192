/* SPDX-License-Identifier: Apache-2.0 */
/* lane_add.c: tutti's own sum of several inputs, in every order and type. The output has the order of the first input.
 * The gradient of an input in the same order is dout itself; the gradients of other inputs are copies. */
#include "lane_value.h"

typedef struct {
    bool one_order; /* true if all inputs have the same memory order */
    int nthreads;
} add;

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    add *s = tutti_alloc(sizeof *s);
    k->state = s;
    *s = (add){true, r->nthreads};
    tutti_status st = tutti_lane_like_input(k, r, err);
    for (int i = 0; st == TUTTI_OK && i < k->ninputs; i++) {
        const bool same = tutti_order_same(&k->in[i], &k->out);
        s->one_order = s->one_order && same;
        k->passes_gradient |= (unsigned)same << i;
        if (tutti_order_of(&k->in[i]) == TUTTI_ORDER_NONE)
            st = tutti_fail(err, TUTTI_ERR_USAGE, "input %d of op add lies in an order that is not known", i + 1);
    }
    k->in_place = true;
    return st;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const add *s = k->state;
    if (s->one_order) {
        tutti_lane_sum(k->out.dtype, a->in, k->ninputs, a->out, tutti_value_elements(&k->out), s->nthreads);
        return;
    }
    tutti_lane_place from[TUTTI_MAX_OP_INPUTS];
    const tutti_lane_place to = tutti_lane_place_of(&k->out, a->out, 0);
    for (int i = 0; i < k->ninputs; i++) from[i] = tutti_lane_place_of(&k->in[i], a->in[i], 0);
    tutti_lane_add(from, k->ninputs, &to, s->nthreads);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const add *s = k->state;
    const tutti_lane_place dout = tutti_lane_place_of(&k->out, a->dout, 0);
    for (int i = 0; i < k->ninputs; i++) {
        if (k->passes_gradient >> i & 1 || !a->din[i]) continue;
        const tutti_lane_place din = tutti_lane_place_of(&k->in[i], a->din[i], 0);
        tutti_lane_move(&dout, &din, dout.at.channels, s->nthreads);
    }
}

const tutti_kernel_row tutti_lane_add_row = {
    .takes_halves = true,
    .create = create,
    .destroy = tutti_lane_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
