/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_side.c: makes a kernel on a device with memory for it, fills that, and takes it away. */
#include "gpu_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_memory.h"
#include "kernel/choose/memory_order.h"
#include "tensor/convert.h"

/* ---- numbers ---- */

/* A number in [-1, 1), a multiple of 2^-23: a pure function of the tensor's number and the element's. */
static float draw(uint64_t tensor, int64_t i)
{
    uint64_t z = ((uint64_t)i + (tensor << 44)) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (float)(int32_t)((z >> 32 & 0xffffff) - 0x800000) * 0x1p-23f;
}

/* Draws the n numbers of a tensor, times `scale`, plus `shift`, as a value of this type would hold them. */
static float *draw_all(uint64_t tensor, int64_t n, float scale, float shift, tutti_dtype type)
{
    float *plain = tutti_alloc((size_t)n * sizeof *plain);
    for (int64_t i = 0; i < n; i++) plain[i] = shift + scale * draw(tensor, i);
    if (type == TUTTI_F32) return plain;
    uint16_t *halves = tutti_alloc((size_t)n * sizeof *halves);
    tutti_convert_from_f32(type, plain, halves, n);
    tutti_convert_to_f32(type, halves, plain, n);
    free(halves);
    return plain;
}

/* Inputs of sigmoid and tanh reach to where the curves bend; logits differ by more than rounding. */
static float scale_of(const tutti_op_row *op)
{
    return op->is_loss ? 4 : op == &tutti_op_sigmoid || op == &tutti_op_tanh ? 3 : 1;
}

enum { TENSOR_INPUT = 1, TENSOR_GRADIENT = 20, TENSOR_PARAM = 30 };

static bool keep(gpu_side *s, gpu_room *room, const tutti_value *v, const float *plain)
{
    void *own = tutti_alloc(v->bytes);
    tutti_value_from_plain(v, plain, own);
    const bool had = gpu_take(s, room, v->bytes);
    if (had) gpu_put(s, room, own);
    free(own);
    return had;
}

static bool fill_inputs(gpu_side *s, tutti_dtype type)
{
    bool had = true;
    for (int i = 0; i < s->k.ninputs; i++) {
        const tutti_value *v = &s->k.in[i];
        float *plain = draw_all(TENSOR_INPUT + (uint64_t)i, tutti_shape_count(&v->shape), scale_of(s->k.op), 0, type);
        had = had && keep(s, &s->images[i], v, plain);
        free(plain);
    }
    return had;
}

/* Makes the gradient of the output: whole, and in two parts, twice itself and minus itself, whose sum is exact in every
 * type. */
static bool fill_gradient(gpu_side *s, tutti_dtype type)
{
    static const float times[GPU_PARTS] = {2, -1};
    const tutti_value *v = &s->k.out;
    const int64_t n = tutti_shape_count(&v->shape);
    if (!v->bytes) return true;
    float *plain = draw_all(TENSOR_GRADIENT, n, 1, 0, type), *part = tutti_alloc((size_t)n * sizeof *part);
    bool had = keep(s, &s->gradient, v, plain);
    for (int p = 0; p < GPU_PARTS && s->k.max_dout_parts >= GPU_PARTS; p++) {
        for (int64_t i = 0; i < n; i++) part[i] = times[p] * plain[i];
        had = had && keep(s, &s->parts[p], v, part);
    }
    free(plain), free(part);
    return had;
}

/* Draws parameter p. Weights are such that sums of products with them are as large as one of their inputs; variances
 * are above 0, scales around 1. */
static void fill_param(gpu_side *s, int p, tutti_dtype type)
{
    const tutti_param_desc *d = &s->k.params[p];
    const int64_t n = tutti_shape_count(&d->shape);
    float scale = 1, shift = 0;
    if (d->shape.ndims > 1) scale = sqrtf(3 / ((float)n / (float)d->shape.dim[0]));
    if (d->shape.ndims == 1 && d->kind != TUTTI_PARAM_STATISTIC && !strcmp(d->name, "weight")) scale = 0.5f, shift = 1;
    if (!strcmp(d->name, "running_var")) scale = 0.5f, shift = 1;
    float *plain = draw_all(TENSOR_PARAM + (uint64_t)p, n, scale, shift, type),
          *own = tutti_alloc((size_t)d->elements * sizeof *own);
    tutti_param_from_plain(d, plain, own);
    gpu_put(s, &s->param[p], own);
    free(plain), free(own);
}

static void fill_labels(gpu_side *s, int64_t batch, int64_t classes)
{
    int32_t *labels = tutti_alloc((size_t)batch * sizeof *labels);
    for (int64_t i = 0; i < batch; i++) labels[i] = (int32_t)(i * 5 % classes);
    gpu_put(s, &s->labels, labels);
    free(labels);
}

/* ---- memory ---- */

static bool take_values(gpu_side *s, bool training)
{
    const tutti_kernel *k = &s->k;
    bool had = gpu_take(s, &s->out, k->out.bytes);
    for (int i = 0; i < k->ninputs; i++) had = had && gpu_take(s, &s->in[i], k->in[i].bytes);
    if (!training) return had;
    had = had && gpu_take(s, &s->dout, k->out.bytes);
    for (int i = 0; i < k->ninputs; i++)
        if (!(k->passes_gradient >> i & 1)) had = had && gpu_take(s, &s->din[i], k->in[i].bytes);
    for (int p = 1; p < GPU_PARTS && k->max_dout_parts >= GPU_PARTS; p++)
        had = had && gpu_take(s, &s->part[p], k->out.bytes);
    return had;
}

static bool take_memory(gpu_side *s, bool training)
{
    const tutti_kernel *k = &s->k;
    bool had = take_values(s, training) && gpu_take(s, &s->saved, k->saved_bytes) &&
               gpu_take(s, &s->scratch, k->scratch_bytes) && gpu_take(s, &s->drawn, 3 * sizeof(uint64_t)) &&
               gpu_take(s, &s->loss, sizeof(float)) && gpu_take(s, &s->correct, sizeof(int32_t)) &&
               gpu_take(s, &s->labels, (size_t)k->in[0].shape.dim[0] * sizeof(int32_t));
    for (int p = 0; p < k->nparams; p++) {
        const size_t nbytes = (size_t)k->params[p].elements * sizeof(float);
        had = had && gpu_take(s, &s->param[p], nbytes) && (!training || gpu_take(s, &s->dparam[p], nbytes));
    }
    return had;
}

/* Sets the arguments that stay the same from run to run; gpu_passes.c sets the others. */
static void fill_args(gpu_side *s, bool training, uint32_t layer)
{
    tutti_kernel_args *a = &s->work.args;
    const uint64_t drawn[3] = {3, 11, 100};
    s->work.kernel = &s->k;
    for (int i = 0; i < s->k.ninputs; i++) a->in[i] = gpu_at(&s->in[i]);
    for (int p = 0; p < s->k.nparams; p++) a->param[p] = gpu_at(&s->param[p]);
    a->dout = gpu_at(&s->dout), a->saved = gpu_at(&s->saved), a->scratch = gpu_at(&s->scratch);
    a->training = training;
    a->seed = drawn[0], a->step = drawn[1], a->first_sample = drawn[2], a->layer = layer;
    gpu_put(s, &s->drawn, drawn);
    a->drawn = gpu_at(&s->drawn), a->labels = gpu_at(&s->labels);
    a->loss_scale = 1 / (float)s->k.in[0].shape.dim[0];
    a->loss = gpu_at(&s->loss), a->correct = gpu_at(&s->correct);
}

/* ---- a kernel ---- */

/* Describes the kernel's inputs in `in`, whose orders lie in s->layout, and returns their number. */
static int describe_inputs(gpu_side *s, const gpu_place *as, const gpu_case *c, const gpu_setting *at, tutti_value *in)
{
    const int n = at->addend ? 2 : 1 + c->nmore;
    for (int i = 0; i < n; i++) {
        tutti_shape shape = c->in;
        if (i > 0 && c->channels[i - 1]) shape.dim[1] = c->channels[i - 1];
        in[i] = tutti_value_plain(&shape);
        if (c->image) continue;
        in[i].dtype = tutti_precision_dtype(as->precision);
        in[i].bytes = in[i].bytes / sizeof(float) * tutti_dtype_bytes(in[i].dtype);
        if (shape.ndims == 4) tutti_order_apply(as->order, &in[i], &s->layout[i]);
    }
    return n;
}

/* Makes the kernel. Without training its parameters are row-major, but with channels last they lie as a kernel in
 * training wants them, as in a job's tests of the weights. */
static tutti_status create(gpu_side *s, const gpu_place *as, const gpu_case *c, const gpu_setting *at,
                           tutti_failure *err)
{
    tutti_value in[TUTTI_MAX_OP_INPUTS];
    const tutti_op_row *op = tutti_op_find(c->op);
    if (c->attrs && op->attrs_bytes <= sizeof s->attrs) memcpy(s->attrs, c->attrs, op->attrs_bytes);
    if (at->relu) *(bool *)(s->attrs + op->relu_at) = true;
    tutti_kernel_request r = {.engine = as->engine,
                              .op = op,
                              .attrs = s->attrs,
                              .in = in,
                              .nin = describe_inputs(s, as, c, at, in),
                              .precision = as->precision,
                              .training = at->training,
                              .nthreads = as->nthreads,
                              .device = as->device,
                              .order = as->order};
    if (!at->training && at->order == TUTTI_ORDER_NHWC) {
        r.training = true;
        const tutti_status st = tutti_kernel_create(&r, &s->trained, err);
        if (st) return st;
        r.training = false, r.params_as = s->trained.params;
    }
    return tutti_kernel_create(&r, &s->k, err);
}

static size_t largest(const tutti_kernel *k)
{
    size_t most = k->out.bytes > k->scratch_bytes ? k->out.bytes : k->scratch_bytes;
    for (int i = 0; i < k->ninputs; i++) most = k->in[i].bytes > most ? k->in[i].bytes : most;
    return most;
}

tutti_status gpu_side_open(gpu_side *s, const gpu_place *as, const gpu_case *c, const gpu_setting *at,
                           tutti_failure *err)
{
    const tutti_dtype type = tutti_precision_dtype(at->precision);
    *s = (gpu_side){.device = as->device};
    const tutti_status st = create(s, as, c, at, err);
    if (st != TUTTI_OK) return st;
    bool had = gpu_take_nan(s, largest(&s->k)) && take_memory(s, at->training) && fill_inputs(s, type);
    if (had && at->training) had = fill_gradient(s, type);
    if (!had) return tutti_fail(err, TUTTI_ERR_FAILED, "%s has no memory left", as->device->name);
    fill_args(s, at->training, as->layer);
    for (int p = 0; p < s->k.nparams; p++) fill_param(s, p, type);
    if (s->k.op->is_loss) fill_labels(s, c->in.dim[0], c->in.dim[1]);
    return as->device->check(as->device, err);
}

void gpu_side_close(gpu_side *s)
{
    gpu_room *const rooms[] = {&s->out,  &s->dout,    &s->saved, &s->scratch,  &s->labels,
                               &s->loss, &s->correct, &s->drawn, &s->gradient, &s->nan};
    if (!s->device) return;
    s->device->finish(s->device);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) gpu_give_back(s, rooms[i]);
    for (int i = 0; i < TUTTI_MAX_OP_INPUTS; i++) {
        gpu_give_back(s, &s->in[i]), gpu_give_back(s, &s->din[i]);
        gpu_give_back(s, &s->images[i]);
    }
    for (int p = 0; p < TUTTI_MAX_OP_PARAMS; p++) gpu_give_back(s, &s->param[p]), gpu_give_back(s, &s->dparam[p]);
    for (int i = 0; i < GPU_PARTS; i++) gpu_give_back(s, &s->part[i]), gpu_give_back(s, &s->parts[i]);
    tutti_kernel_destroy(&s->k), tutti_kernel_destroy(&s->trained);
    *s = (gpu_side){0};
}
