/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_add.c: the sum of several inputs on a card, of any types and orders, in one launch. The gradient of an input
 * that has the output's order and type is dout itself; gradients of other inputs are copies. */
#include "cuda_rows.h"

/* The struct `addition` of eltwise.cu, declared again with the same fields. */
typedef struct {
    const void *in[TUTTI_MAX_OP_INPUTS];
    void *out;
    int64_t n, channels, plane;
    int32_t type[TUTTI_MAX_OP_INPUTS], is_nhwc[TUTTI_MAX_OP_INPUTS];
    int32_t ninputs, out_type, out_is_nhwc;
} addition;

typedef struct {
    tutti_cuda *cuda;
    const tutti_cuda_values *values;
    tutti_cuda_function sum;
    addition like; /* arguments of the launches; addresses are filled in for each call */
    bool one_order;
} add;

/* Fills in all launch arguments but the addresses. Sets in the kernel which inputs have dout itself as their
 * gradient. */
static void describe(tutti_kernel *k, add *s)
{
    tutti_blocks b;
    tutti_blocks_of(&k->out, &b);
    s->like = (addition){.n = tutti_value_elements(&k->out),
                         .channels = b.channels,
                         .plane = b.plane,
                         .ninputs = k->ninputs,
                         .out_type = (int32_t)k->out.dtype,
                         .out_is_nhwc = tutti_cuda_is_nhwc(&k->out)};
    s->one_order = true;
    for (int i = 0; i < k->ninputs; i++) {
        s->like.type[i] = (int32_t)k->in[i].dtype;
        s->like.is_nhwc[i] = tutti_cuda_is_nhwc(&k->in[i]);
        const bool same = s->like.is_nhwc[i] == s->like.out_is_nhwc;
        s->one_order = s->one_order && same;
        k->passes_gradient |= (unsigned)(same && k->in[i].dtype == k->out.dtype) << i;
    }
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    add *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    tutti_status st = tutti_cuda_like_input(k, r, err);
    if (st) return st;
    k->in_place = k->in[0].dtype == k->out.dtype;
    describe(k, s);
    st = tutti_cuda_values_of(s->cuda, &s->values, err);
    const tutti_cuda_wanted wanted = {s->one_order ? "add" : "add_orders", &s->sum};
    return st ? st : tutti_cuda_find_all(s->cuda, tutti_kernel_texts, "eltwise", &wanted, 1, err);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const add *s = k->state;
    addition sum = s->like;
    for (int i = 0; i < k->ninputs; i++) sum.in[i] = a->in[i];
    sum.out = a->out;
    tutti_cuda_run(s->cuda, s->sum, tutti_cuda_cover(sum.n, TUTTI_CUDA_THREADS, s->one_order ? TUTTI_CUDA_EACH : 1),
                   (void *[]){&sum});
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const add *s = k->state;
    for (int i = 0; i < k->ninputs; i++)
        if (!(k->passes_gradient >> i & 1) && a->din[i])
            tutti_cuda_value_move(s->cuda, s->values, (tutti_cuda_place){&k->out, a->dout},
                                  (tutti_cuda_place){&k->in[i], a->din[i]});
}

const tutti_kernel_row tutti_cuda_add = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
