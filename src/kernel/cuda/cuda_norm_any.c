/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_norm_any.c: batch normalisation on a card for orders and types that cuda_norm.c does not compute (norm_any.cu).
 *
 * If a ReLU is merged, one byte for each element says whether the ReLU let it through. The addend's gradient is written
 * to memory of its own, because its order or type may differ from dout's. */
#include "cuda_norm.h"

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };

/* These repeat the declarations of norm_any.cu. */
typedef struct {
    void *at;
    int64_t sample, channel, position;
    int32_t type;
} any_value;

typedef struct {
    int64_t n, plane;
    int32_t channels;
} channels_of_any;

typedef struct {
    any_value x, added, y;
    void *mask;
    const float *weight, *bias, *running_mean, *running_variance;
    float *mean, *rstd, *batch_mean, *batch_variance;
    double eps;
    int32_t training, relu;
} forward_args;

typedef struct {
    any_value x, dout, din, dadded;
    const void *mask;
    const float *weight, *mean, *rstd;
    float *offset, *slope, *dweight, *dbias;
} backward_args;

typedef struct {
    tutti_cuda *cuda;
    tutti_cuda_function forward, reduce, gradient;
    channels_of_any channels;
    tutti_cuda_grid grid;
} norm;

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_batch_norm_attrs *bn = k->attrs;
    tutti_blocks b;
    norm *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    tutti_blocks_of(&k->in[0], &b);
    s->channels = (channels_of_any){b.batch * b.plane, b.plane, (int32_t)b.channels};
    s->grid = (tutti_cuda_grid){.blocks = {(uint32_t)b.channels}, .threads = {TUTTI_CUDA_THREADS}};
    if (r->training) {
        k->saved_bytes = TUTTI_CUDA_NORM_SAVED * (size_t)b.channels * sizeof(float);
        if (bn->relu) k->saved_bytes += (size_t)(s->channels.n * b.channels);
        k->feeds_data = true;
    }
    const tutti_cuda_wanted wanted[] = {
        {"forward_any", &s->forward}, {"reduce_any", &s->reduce}, {"gradient_any", &s->gradient}};
    return tutti_cuda_find_all(s->cuda, tutti_kernel_texts, "norm_any", wanted, r->training ? 3 : 1, err);
}

static any_value place_of(const tutti_value *v, const void *at)
{
    tutti_blocks b;
    if (!at) return (any_value){0};
    tutti_blocks_of(v, &b);
    const bool side_by_side = b.block == b.channels;
    return (any_value){.at = (void *)(uintptr_t)at,
                       .sample = b.sample_step,
                       .channel = side_by_side ? 1 : b.plane,
                       .position = side_by_side ? b.channels : 1,
                       .type = (int32_t)v->dtype};
}

static float *saved_at(const tutti_kernel *k, const tutti_kernel_args *a, int which)
{
    return (float *)a->saved + which * ((const norm *)k->state)->channels.channels;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    norm *s = k->state;
    const tutti_batch_norm_attrs *bn = k->attrs;
    forward_args f = {.x = place_of(&k->in[0], a->in[0]),
                      .y = place_of(&k->out, a->out),
                      .weight = a->param[WEIGHT],
                      .bias = a->param[BIAS],
                      .running_mean = a->param[RUNNING_MEAN],
                      .running_variance = a->param[RUNNING_VAR],
                      .eps = bn->eps,
                      .training = a->training,
                      .relu = bn->relu};
    if (k->ninputs > 1) f.added = place_of(&k->in[1], a->in[1]);
    if (a->training) {
        f.mean = saved_at(k, a, TUTTI_CUDA_NORM_MEAN), f.rstd = saved_at(k, a, TUTTI_CUDA_NORM_RSTD);
        f.batch_mean = a->dparam[RUNNING_MEAN], f.batch_variance = a->dparam[RUNNING_VAR];
        if (bn->relu) f.mask = saved_at(k, a, TUTTI_CUDA_NORM_SAVED);
    }
    tutti_cuda_run(s->cuda, s->forward, s->grid, (void *[]){&f, &s->channels});
}

static void backward(tutti_kernel *k, const tutti_kernel_args *a, tutti_cuda_function f)
{
    norm *s = k->state;
    const tutti_batch_norm_attrs *bn = k->attrs;
    backward_args b = {.x = place_of(&k->in[0], a->in[0]),
                       .dout = place_of(&k->out, a->dout),
                       .din = place_of(&k->in[0], a->din[0]),
                       .mask = bn->relu ? saved_at(k, a, TUTTI_CUDA_NORM_SAVED) : NULL,
                       .weight = a->param[WEIGHT],
                       .mean = saved_at(k, a, TUTTI_CUDA_NORM_MEAN),
                       .rstd = saved_at(k, a, TUTTI_CUDA_NORM_RSTD),
                       .offset = saved_at(k, a, TUTTI_CUDA_NORM_OFFSET),
                       .slope = saved_at(k, a, TUTTI_CUDA_NORM_SLOPE),
                       .dweight = a->dparam[WEIGHT],
                       .dbias = a->dparam[BIAS]};
    if (k->ninputs > 1) b.dadded = place_of(&k->in[1], a->din[1]);
    tutti_cuda_run(s->cuda, f, s->grid, (void *[]){&b, &s->channels});
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    backward(k, a, ((const norm *)k->state)->reduce);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    backward(k, a, ((const norm *)k->state)->gradient);
}

const tutti_kernel_row tutti_cuda_norm_any = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
