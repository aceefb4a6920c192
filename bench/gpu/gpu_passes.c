/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_passes.c: runs the passes of a kernel as a step does, and reads what they leave.
 *
 * Before a run all memory that the run is to write holds NaN. Between forward and backward the memory that the kernel
 * says it does not read again becomes NaN too: a plan may have given that memory to others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gpu_memory.h"

/* ---- which passes there are ---- */

static bool passes_all(const tutti_kernel *k)
{
    const unsigned all = (1u << k->ninputs) - 1;
    return (k->passes_gradient & all) == all;
}

static bool learns(const tutti_kernel *k)
{
    bool any = false;
    for (int p = 0; p < k->nparams; p++) any = any || k->params[p].kind != TUTTI_PARAM_STATISTIC;
    return any;
}

static bool runs_params(const tutti_kernel *k, gpu_way way)
{
    return k->nparams && (way != GPU_DATA_ONLY || k->feeds_data);
}

static bool runs_data(const tutti_kernel *k, gpu_way way)
{
    return way != GPU_PARAMS_ONLY && !passes_all(k) && !(k->joint_backward && runs_params(k, way));
}

bool gpu_side_has(const gpu_side *s, const gpu_setting *at, gpu_way way)
{
    switch (way) {
    case GPU_ALL: return true;
    case GPU_IN_PLACE: return s->k.in_place && s->k.in[0].bytes == s->k.out.bytes;
    case GPU_DATA_ONLY:
    case GPU_PARAMS_ONLY: return at->training && learns(&s->k);
    case GPU_IN_PARTS: return at->training && s->k.max_dout_parts >= GPU_PARTS;
    default: return false;
    }
}

/* ---- running ---- */

static void point_arguments(gpu_side *s, gpu_way way)
{
    tutti_kernel_args *a = &s->work.args;
    a->out = way == GPU_IN_PLACE ? gpu_at(&s->in[0]) : gpu_at(&s->out);
    for (int i = 0; i < s->k.ninputs; i++) a->din[i] = way == GPU_PARAMS_ONLY ? NULL : gpu_at(&s->din[i]);
    if (way == GPU_IN_PLACE && a->din[0]) a->din[0] = a->dout;
    for (int p = 0; p < s->k.nparams; p++)
        a->dparam[p] =
            way == GPU_DATA_ONLY && s->k.params[p].kind != TUTTI_PARAM_STATISTIC ? NULL : gpu_at(&s->dparam[p]);
    a->ndout_parts = way == GPU_IN_PARTS ? GPU_PARTS : 0;
    for (int p = 0; p < a->ndout_parts; p++) a->dout_parts[p] = p ? gpu_at(&s->part[p]) : a->dout;
}

static void restore(gpu_side *s, gpu_way way)
{
    for (int i = 0; i < s->k.ninputs; i++) gpu_copy(s, &s->in[i], &s->images[i]);
    if (s->dout.nbytes) gpu_copy(s, &s->dout, way == GPU_IN_PARTS ? &s->parts[0] : &s->gradient);
    for (int p = 1; p < GPU_PARTS && s->part[p].nbytes; p++) gpu_copy(s, &s->part[p], &s->parts[p]);
    for (int i = 0; i < s->k.ninputs; i++) gpu_poison(s, &s->din[i]);
    for (int p = 0; p < s->k.nparams; p++) gpu_poison(s, &s->dparam[p]);
    gpu_poison(s, &s->out), gpu_poison(s, &s->saved);
    gpu_poison(s, &s->loss), gpu_poison(s, &s->correct);
}

static void launch(gpu_side *s, tutti_kernel_pass pass)
{
    static const tutti_work_kind kinds[TUTTI_NPASSES] = {TUTTI_WORK_FORWARD, TUTTI_WORK_PARAMS, TUTTI_WORK_DATA};
    tutti_work_launch(s->device, kinds[pass], &s->work);
}

void gpu_side_forward(gpu_side *s, gpu_way way)
{
    restore(s, way);
    point_arguments(s, way);
    gpu_poison(s, &s->scratch);
    launch(s, TUTTI_PASS_FORWARD);
    s->device->finish(s->device);
}

void gpu_side_replace_out(gpu_side *s, const float *out)
{
    void *own = tutti_alloc(s->k.out.bytes);
    tutti_value_from_plain(&s->k.out, out, own);
    gpu_put(s, &s->out, own);
    free(own);
}

/* Poisons what backward does not read. In place the input's memory is the output's. */
static void forget_what_is_not_read(gpu_side *s, gpu_way way)
{
    for (int i = way == GPU_IN_PLACE; i < s->k.ninputs; i++)
        if (!tutti_kernel_reads_again(&s->k, i)) gpu_poison(s, &s->in[i]);
    if (way == GPU_IN_PLACE) gpu_poison(s, &s->out);
    if (!(s->k.backward_reads & TUTTI_READS_OUTPUT)) gpu_poison(s, way == GPU_IN_PLACE ? &s->in[0] : &s->out);
    if (!(s->k.backward_reads & TUTTI_READS_SAVED)) gpu_poison(s, &s->saved);
}

void gpu_side_backward(gpu_side *s, gpu_way way)
{
    forget_what_is_not_read(s, way);
    gpu_poison(s, &s->scratch);
    if (runs_params(&s->k, way)) launch(s, TUTTI_PASS_PARAMS);
    gpu_poison(s, &s->scratch);
    if (runs_data(&s->k, way)) launch(s, TUTTI_PASS_DATA);
    s->device->finish(s->device);
}

double gpu_side_time(gpu_side *s, tutti_kernel_pass pass, int repeats)
{
    enum { ROUNDS = 4 }; /* the first ones warm up */
    double best = 0;
    if (pass == TUTTI_PASS_PARAMS && !runs_params(&s->k, GPU_ALL)) return 0;
    if (pass == TUTTI_PASS_DATA && !runs_data(&s->k, GPU_ALL)) return 0;
    for (int round = 0; round < ROUNDS; round++) {
        const double begin = tutti_clock_s();
        for (int i = 0; i < repeats; i++) launch(s, pass);
        s->device->finish(s->device);
        const double each = (tutti_clock_s() - begin) / repeats;
        if (round >= ROUNDS / 2 && (best <= 0 || each < best)) best = each;
    }
    return best;
}

/* ---- what it left ---- */

static bool is_left(const gpu_side *s, gpu_way way, gpu_vector v)
{
    const bool trains = s->work.args.training;
    switch (v.kind) {
    case GPU_OUT: return v.which == 0 && !s->k.op->is_loss;
    case GPU_LOSS: return v.which == 0 && s->k.op->is_loss;
    case GPU_DIN: return trains && v.which < s->k.ninputs && way != GPU_PARAMS_ONLY;
    case GPU_DPARAM:
        return trains && v.which < s->k.nparams &&
               (way != GPU_DATA_ONLY || s->k.params[v.which].kind == TUTTI_PARAM_STATISTIC);
    default: return false;
    }
}

bool gpu_side_vector_at(const gpu_side *s, gpu_way way, int i, gpu_vector *out)
{
    for (int kind = 0; kind < GPU_NKINDS; kind++)
        for (int which = 0; which < TUTTI_MAX_OP_INPUTS; which++) {
            *out = (gpu_vector){(gpu_kind)kind, which};
            if (is_left(s, way, *out) && i-- == 0) return true;
        }
    return false;
}

tutti_kernel_pass gpu_side_pass_of(const gpu_side *s, gpu_vector v)
{
    if (v.kind == GPU_DIN) return TUTTI_PASS_DATA;
    if (v.kind != GPU_DPARAM || s->k.params[v.which].kind == TUTTI_PARAM_STATISTIC) return TUTTI_PASS_FORWARD;
    return TUTTI_PASS_PARAMS;
}

static float *read_value(const gpu_side *s, const tutti_value *v, const gpu_room *room, int64_t *n)
{
    void *there = gpu_get(s, room);
    *n = tutti_shape_count(&v->shape);
    float *plain = tutti_alloc((size_t)*n * sizeof *plain);
    tutti_value_to_plain(v, there, plain);
    free(there);
    return plain;
}

static float *read_param(const gpu_side *s, int p, int64_t *n)
{
    const tutti_param_desc *d = &s->k.params[p];
    float *there = gpu_get(s, &s->dparam[p]);
    *n = tutti_shape_count(&d->shape);
    float *plain = tutti_alloc((size_t)*n * sizeof *plain);
    tutti_param_to_plain(d, there, plain);
    free(there);
    return plain;
}

static float *read_loss(const gpu_side *s, int64_t *n)
{
    float *loss = gpu_get(s, &s->loss), *both = tutti_alloc(2 * sizeof *both);
    int32_t *correct = gpu_get(s, &s->correct);
    both[0] = *loss, both[1] = (float)*correct;
    free(loss), free(correct);
    *n = 2;
    return both;
}

/* A gradient that is passed on lies in dout, and is read as a value like the output. */
static float *read_din(const gpu_side *s, gpu_way way, int i, int64_t *n)
{
    if (s->k.passes_gradient >> i & 1) return read_value(s, &s->k.out, &s->dout, n);
    return read_value(s, &s->k.in[i], way == GPU_IN_PLACE && i == 0 ? &s->dout : &s->din[i], n);
}

float *gpu_side_read(const gpu_side *s, gpu_way way, gpu_vector v, int64_t *n)
{
    switch (v.kind) {
    case GPU_OUT: return read_value(s, &s->k.out, way == GPU_IN_PLACE ? &s->in[0] : &s->out, n);
    case GPU_DIN: return read_din(s, way, v.which, n);
    case GPU_DPARAM: return read_param(s, v.which, n);
    default: return read_loss(s, n);
    }
}

/* ---- guards ---- */

bool gpu_side_guards_hold(const gpu_side *s, char where[32])
{
    const struct {
        const char *name;
        const gpu_room *rooms;
        int n;
    } all[] = {{"in", s->in, TUTTI_MAX_OP_INPUTS},
               {"din", s->din, TUTTI_MAX_OP_INPUTS},
               {"out", &s->out, 1},
               {"dout", &s->dout, 1},
               {"part", s->part, GPU_PARTS},
               {"param", s->param, TUTTI_MAX_OP_PARAMS},
               {"dparam", s->dparam, TUTTI_MAX_OP_PARAMS},
               {"saved", &s->saved, 1},
               {"scratch", &s->scratch, 1},
               {"loss", &s->loss, 1},
               {"correct", &s->correct, 1},
               {"labels", &s->labels, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int r = 0; r < all[i].n; r++)
            if (!gpu_guard_holds(s, &all[i].rooms[r])) {
                snprintf(where, 32, "%s %d", all[i].name, r);
                return false;
            }
    return true;
}
