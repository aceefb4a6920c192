/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_concat.c: inputs one behind the other along the channels on a card, of any types and orders, in one launch; gradients of all inputs in another.
 * The output has the order of the first input. */
#include "cuda_rows.h"

enum { QUAD = 4 };

/* As concat.cu has it. */
typedef struct {
    void *in[TUTTI_MAX_OP_INPUTS];
    void *out;
    int64_t first[TUTTI_MAX_OP_INPUTS + 1];
    int64_t n, channels, plane;
    int32_t type[TUTTI_MAX_OP_INPUTS], is_nhwc[TUTTI_MAX_OP_INPUTS];
    int32_t ninputs, out_type, out_is_nhwc;
} joining;

typedef struct {
    tutti_cuda *cuda;
    tutti_cuda_function join, part;
    tutti_layout layout;
    joining like; /* without addresses */
    int each;     /* numbers of a thread */
} concat;

/* Numbers of a channel in a row: concat.cu says what a row is. */
static int64_t numbers_a_channel(const joining *j)
{
    return j->out_is_nhwc ? 1 : j->plane;
}

static void describe(const tutti_kernel *k, concat *s)
{
    tutti_blocks b;
    tutti_blocks_of(&k->out, &b);
    joining *j = &s->like;
    const bool planes = k->out.shape.ndims == 4;
    *j = (joining){.n = tutti_value_elements(&k->out),
                   .channels = k->out.shape.dim[1],
                   .plane = planes ? b.plane : b.channels / k->out.shape.dim[1],
                   .ninputs = k->ninputs,
                   .out_type = (int32_t)k->out.dtype,
                   .out_is_nhwc = tutti_cuda_is_nhwc(&k->out)};
    for (int i = 0; i < k->ninputs; i++) {
        j->type[i] = (int32_t)k->in[i].dtype;
        j->is_nhwc[i] = tutti_cuda_is_nhwc(&k->in[i]);
        j->first[i + 1] = j->first[i] + k->in[i].shape.dim[1];
    }
}

/* An input of one channel lies in both orders. */
static bool is_one_order(const tutti_kernel *k, const joining *j)
{
    bool one = true;
    for (int i = 0; i < k->ninputs; i++) one = one && (j->is_nhwc[i] == j->out_is_nhwc || k->in[i].shape.dim[1] == 1);
    return one;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    concat *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    const tutti_status st = tutti_cuda_like_input(k, r, err); /* for its checks */
    if (st) return st;
    tutti_cuda_place_output(k, r, k->in[0].layout ? TUTTI_ORDER_NHWC : TUTTI_ORDER_NCHW, &s->layout);
    describe(k, s);
    const bool one_order = is_one_order(k, &s->like);
    bool quads = one_order;
    for (int i = 0; i <= k->ninputs && one_order; i++) {
        s->like.first[i] *= numbers_a_channel(&s->like);
        quads = quads && s->like.first[i] % QUAD == 0;
    }
    s->each = quads ? QUAD : 1;
    const tutti_cuda_wanted wanted[] = {{quads       ? "join4"
                                         : one_order ? "join1"
                                                     : "join_orders",
                                         &s->join},
                                        {quads       ? "part4"
                                         : one_order ? "part1"
                                                     : "part_orders",
                                         &s->part}};
    return tutti_cuda_find_all(s->cuda, "concat", wanted, sizeof wanted / sizeof *wanted, err);
}

static void run(const concat *s, tutti_cuda_function f, joining *j)
{
    tutti_cuda_run(s->cuda, f, tutti_cuda_cover(j->n, TUTTI_CUDA_THREADS, s->each), (void *[]){j});
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const concat *s = k->state;
    joining j = s->like;
    for (int i = 0; i < k->ninputs; i++) j.in[i] = (void *)(uintptr_t)a->in[i];
    j.out = a->out;
    run(s, s->join, &j);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const concat *s = k->state;
    joining j = s->like;
    for (int i = 0; i < k->ninputs; i++) j.in[i] = a->din[i];
    j.out = a->dout;
    run(s, s->part, &j);
}

const tutti_kernel_row tutti_cuda_concat = {
    .engine = "cuda",
    .device = TUTTI_DEVICE_CUDA,
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
