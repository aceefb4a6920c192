/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_eltwise.c: relu, sigmoid and tanh on a card, in place. Gradients follow from the output. */
#include "cuda_rows.h"

typedef struct {
    tutti_cuda *cuda;
    tutti_cuda_function forward, backward;
} eltwise;

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    eltwise *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    const tutti_status st = tutti_cuda_like_input(k, r, err);
    if (st) return st;
    k->backward_reads = TUTTI_READS_OUTPUT;
    k->in_place = k->in[0].dtype == k->out.dtype;
    const tutti_cuda_wanted wanted[] = {{"map", &s->forward}, {"differentiate", &s->backward}};
    return tutti_cuda_find_by(s->cuda, "eltwise", k->op->name, wanted, 2, err);
}

/* Launches f, which computes to = map(x, y) for all elements. y may be NULL. */
static void map(const eltwise *s, tutti_cuda_function f, tutti_cuda_place x, tutti_cuda_place y, tutti_cuda_place to)
{
    int64_t n = tutti_value_elements(to.value);
    int32_t x_type = (int32_t)x.value->dtype, y_type = (int32_t)y.value->dtype, type = (int32_t)to.value->dtype;
    tutti_cuda_run(s->cuda, f, tutti_cuda_cover(n, TUTTI_CUDA_THREADS, TUTTI_CUDA_EACH),
                   (void *[]){&x.memory, &x_type, &y.memory, &y_type, &to.memory, &type, &n});
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const eltwise *s = k->state;
    const tutti_cuda_place in = {&k->in[0], (void *)(uintptr_t)a->in[0]}, out = {&k->out, a->out};
    map(s, s->forward, in, (tutti_cuda_place){&k->out, NULL}, out);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const eltwise *s = k->state;
    const tutti_cuda_place out = {&k->out, a->out}, dout = {&k->out, a->dout}, din = {&k->in[0], a->din[0]};
    if (a->din[0]) map(s, s->backward, out, dout, din);
}

const tutti_kernel_row tutti_cuda_eltwise = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
