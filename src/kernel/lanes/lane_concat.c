/* SPDX-License-Identifier: Apache-2.0 */
/* lane_concat.c: joins inputs along the channels, in every order and type. The output has the order of the first input.
 * Each input's gradient is a copy of its channels of dout. */
#include "lane_value.h"

typedef struct {
    tutti_layout layout;
    int nthreads;
} concat;

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    concat *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->nthreads = r->nthreads;
    tutti_status st = tutti_lane_like_input(k, r, err);
    for (int i = 1; st == TUTTI_OK && i < k->ninputs; i++)
        if (tutti_order_of(&k->in[i]) == TUTTI_ORDER_NONE)
            st = tutti_fail(err, TUTTI_ERR_USAGE, "input %d of op concat lies in an order that is not known", i + 1);
    if (st == TUTTI_OK) tutti_order_apply(tutti_order_of(&k->in[0]), &k->out, &s->layout);
    return st;
}

/* Copies each input to its channels of the output, or the channels of dout to each input's gradient. */
static void move_all(const tutti_kernel *k, const void *const *in, void *const *din, void *whole)
{
    const concat *s = k->state;
    int64_t channel = 0;
    for (int i = 0; i < k->ninputs; i++) {
        const tutti_lane_place window = tutti_lane_place_of(&k->out, whole, channel);
        const tutti_lane_place own = tutti_lane_place_of(&k->in[i], in ? in[i] : din[i], 0);
        if (in)
            tutti_lane_move(&own, &window, own.at.channels, s->nthreads);
        else if (din[i])
            tutti_lane_move(&window, &own, own.at.channels, s->nthreads);
        channel += own.at.channels;
    }
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    move_all(k, a->in, NULL, a->out);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    move_all(k, NULL, a->din, a->dout);
}

const tutti_kernel_row tutti_lane_concat = {
    .takes_halves = true,
    .create = create,
    .destroy = tutti_lane_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
