/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c: makes kernels: which engine's row computes an op, and values from one memory order into another.
 *
 * An engine without a row for an op is no failure: the op's reference row steps in, behind plain_adapter.c where an input
 * is not row-major, and rows know f32 only: half_adapter.c stands before them where activations have 16 bits. So every
 * engine has every op in every precision, and a new op needs one file only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tensor/convert.h"
#include "../tensor/elementwise.h"
#include "kernel_impl.h"

static const tutti_kernel_engine *const engines[] = {&tutti_kernel_engine_onednn, &tutti_kernel_engine_reference};

static const tutti_kernel_row *find_nothing(const char *op)
{
    (void)op;
    return NULL;
}

static void describe_reference(char out[96])
{
    snprintf(out, 96, "reference");
}

static const tutti_kernel_row *find_no_half(const char *op, tutti_precision precision, bool imitated)
{
    (void)op, (void)precision, (void)imitated;
    return NULL;
}

static const char *multiplies_nothing(tutti_precision precision)
{
    (void)precision;
    return NULL;
}

const tutti_kernel_engine tutti_kernel_engine_reference = {"reference", find_nothing, find_no_half, multiplies_nothing,
                                                           describe_reference};

static const char *const precisions[TUTTI_NPRECISIONS] = {"f32", "bf16", "f16"};

const char *tutti_precision_name(tutti_precision p)
{
    return (unsigned)p < TUTTI_NPRECISIONS ? precisions[p] : "?";
}

tutti_dtype tutti_precision_dtype(tutti_precision p)
{
    static const tutti_dtype dtypes[TUTTI_NPRECISIONS] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
    return dtypes[p];
}

static const tutti_kernel_engine *find_engine(const char *name)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strcmp(engines[i]->name, name) == 0) return engines[i];
    return NULL;
}

void tutti_kernel_engine_describe(const char *engine, char out[96])
{
    const tutti_kernel_engine *e = find_engine(engine);
    out[0] = '\0';
    if (e) e->describe(out);
}

static bool is_wide(const tutti_kernel *k, tutti_precision precision)
{
    bool wide = precision == TUTTI_PRECISION_F32;
    for (int i = 0; i < k->ninputs; i++) wide = wide && k->in[i].dtype == TUTTI_F32;
    return wide;
}

static bool is_fused(const tutti_kernel *k)
{
    return k->op->relu_at && ((const char *)k->attrs)[k->op->relu_at];
}

void tutti_kernel_precision_describe(const char *engine, tutti_precision p, char out[96])
{
    const tutti_kernel_engine *e = find_engine(engine);
    const char *by = e ? e->multiplies(p) : NULL;
    if (p == TUTTI_PRECISION_F32)
        snprintf(out, 96, "f32");
    else
        snprintf(out, 96, "%s (%s)", tutti_precision_name(p), by ? by : "stored; f32 arithmetic");
}

/* The engine's row, or what stands in for it. */
static const tutti_kernel_row *pick_row(const tutti_kernel_engine *e, const tutti_kernel *k)
{
    const tutti_kernel_row *own = e->find(k->op->name), *row = own ? own : k->op->reference;
    if (is_fused(k) && !row->fuses) return &tutti_kernel_fused_adapter;
    for (int i = 0; i < k->ninputs && !own; i++)
        if (k->in[i].layout) return &tutti_kernel_plain_adapter;
    return row;
}

tutti_value tutti_value_plain(const tutti_shape *shape)
{
    return (tutti_value){.shape = *shape, .bytes = (size_t)tutti_shape_count(shape) * sizeof(float)};
}

/* Row-major, or in the orders that they have already. */
static void describe_params(tutti_kernel *k, const tutti_shape *in, const tutti_param_desc *params_as)
{
    k->nparams = k->op->params ? k->op->params(k->attrs, in, k->params) : 0;
    for (int i = 0; i < k->nparams; i++) {
        k->params[i].layout = params_as ? params_as[i].layout : NULL;
        k->params[i].elements = params_as ? params_as[i].elements : tutti_shape_count(&k->params[i].shape);
    }
}

/* All but what a row fills in. */
static tutti_status begin(const tutti_kernel_request *r, tutti_kernel *made, tutti_failure *err)
{
    tutti_shape shapes[TUTTI_MAX_OP_INPUTS], out;
    *made = (tutti_kernel){.op = r->op, .attrs = r->attrs, .ninputs = r->nin};
    for (int i = 0; i < r->nin; i++) {
        made->in[i] = r->in[i];
        shapes[i] = r->in[i].shape;
    }
    tutti_status st = tutti_op_infer(r->op, r->attrs, shapes, r->nin, &out, err);
    if (st != TUTTI_OK) return st;
    made->out = tutti_value_plain(&out);
    if (r->op->is_loss) made->out.bytes = 0;
    describe_params(made, shapes, r->params_as);
    return TUTTI_OK;
}

tutti_status tutti_kernel_create_by(const tutti_kernel_row *row, const tutti_kernel_request *r, tutti_kernel *k,
                                    tutti_failure *err)
{
    tutti_kernel made;
    tutti_status st = begin(r, &made, err);
    if (st != TUTTI_OK) return st;
    made.row = row;
    st = row->create(&made, r, err);
    if (st == TUTTI_OK)
        *k = made;
    else
        tutti_kernel_destroy(&made);
    return st;
}

tutti_status tutti_kernel_create(const tutti_kernel_request *r, tutti_kernel *k, tutti_failure *err)
{
    const tutti_kernel_engine *e = find_engine(r->engine);
    char about[96] = "";
    tutti_kernel bare;
    if (e) e->describe(about);
    if (!about[0])
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          e ? "engine %s is not in this build; use reference"
                            : "there is no engine %s; there are onednn and reference",
                          r->engine);
    tutti_status st = begin(r, &bare, err);
    if (st != TUTTI_OK) return st;
    if (is_wide(&bare, r->precision)) return tutti_kernel_create_by(pick_row(e, &bare), r, k, err);
    const tutti_kernel_row *half = e->find_half(r->op->name, r->precision, false);
    if (half && tutti_kernel_create_by(half, r, k, NULL) == TUTTI_OK) return TUTTI_OK;
    return tutti_kernel_create_by(&tutti_kernel_half_adapter, r, k, err);
}

void tutti_kernel_destroy(tutti_kernel *k)
{
    if (!k || !k->row) return;
    if (k->row->destroy) k->row->destroy(k);
    *k = (tutti_kernel){0};
}

/* What coordinate x of dim d contributes to the address. */
static int64_t offset_of(const tutti_layout *l, int d, int64_t x)
{
    int64_t offset = 0, inner_stride = 1;
    for (int i = l->ninner - 1; i >= 0; i--) {
        if (l->inner_dim[i] == d) {
            offset += x % l->inner_block[i] * inner_stride;
            x /= l->inner_block[i];
        }
        inner_stride *= l->inner_block[i];
    }
    return offset + x * l->stride[d];
}

static bool is_blocked(const tutti_layout *l, int d)
{
    for (int i = 0; i < l->ninner; i++)
        if (l->inner_dim[i] == d) return true;
    return false;
}

/* Copies one row, the innermost dim of n elements: to_plain or to_order is not NULL and says which way. */
static void copy_row(const tutti_layout *l, int dim, int64_t n, int64_t row, const float *from, float *to_plain,
                     float *to_order)
{
    bool in_steps = !is_blocked(l, dim);
    for (int64_t x = 0; x < n; x++) {
        int64_t address = row + (in_steps ? x * l->stride[dim] : offset_of(l, dim, x));
        if (to_plain)
            to_plain[x] = from[address];
        else
            to_order[address] = from[x];
    }
}

/* Walks a tensor row by row in row-major order. */
static void walk(const tutti_shape *shape, const tutti_layout *l, const float *from, float *to_plain, float *to_order)
{
    if (l->view.ndims) shape = &l->view;
    int ndims = shape->ndims, lead = TUTTI_MAX_DIMS - ndims; /* missing dims count as 1 in front */
    int64_t n[TUTTI_MAX_DIMS] = {1, 1, 1, 1}, at = 0;
    for (int d = 0; d < ndims; d++) n[lead + d] = shape->dim[d];
    for (int64_t a = 0; a < n[0]; a++)
        for (int64_t b = 0; b < n[1]; b++)
            for (int64_t c = 0; c < n[2]; c++, at += n[3]) {
                const int64_t x[TUTTI_MAX_DIMS - 1] = {a, b, c};
                int64_t row = 0;
                for (int d = lead; d < TUTTI_MAX_DIMS - 1; d++) row += offset_of(l, d - lead, x[d]);
                if (to_plain)
                    copy_row(l, ndims - 1, n[3], row, from, to_plain + at, NULL);
                else
                    copy_row(l, ndims - 1, n[3], row, from + at, NULL, to_order);
            }
}

static int64_t elements_of(const tutti_value *v)
{
    return (int64_t)(v->bytes / tutti_dtype_bytes(v->dtype));
}

static void wide_to_plain(const tutti_value *v, const float *from, float *plain)
{
    if (v->layout)
        walk(&v->shape, v->layout, from, plain, NULL);
    else
        memcpy(plain, from, (size_t)elements_of(v) * sizeof(float));
}

void tutti_value_to_plain(const tutti_value *v, const void *from, float *plain)
{
    if (v->dtype == TUTTI_F32) {
        wide_to_plain(v, from, plain);
        return;
    }
    float *wide = tutti_alloc((size_t)elements_of(v) * sizeof(float));
    tutti_convert_to_f32(v->dtype, from, wide, elements_of(v));
    wide_to_plain(v, wide, plain);
    free(wide);
}

/* elements: with padding, which becomes zero. */
static void to_order(const tutti_shape *shape, const tutti_layout *layout, int64_t elements, const float *plain,
                     float *to)
{
    if (elements > tutti_shape_count(shape)) memset(to, 0, (size_t)elements * sizeof(float));
    walk(shape, layout, plain, NULL, to);
}

static void plain_to_wide(const tutti_value *v, const float *plain, float *to)
{
    if (v->layout)
        to_order(&v->shape, v->layout, elements_of(v), plain, to);
    else
        memcpy(to, plain, (size_t)elements_of(v) * sizeof(float));
}

void tutti_value_from_plain(const tutti_value *v, const float *plain, void *to)
{
    if (v->dtype == TUTTI_F32) {
        plain_to_wide(v, plain, to);
        return;
    }
    float *wide = tutti_alloc((size_t)elements_of(v) * sizeof(float));
    plain_to_wide(v, plain, wide);
    tutti_convert_from_f32(v->dtype, wide, to, elements_of(v));
    free(wide);
}

/* 16-bit values, widened piece by piece and rounded once; out may be any of the parts. */
static void sum_narrow(const tutti_value *v, const void *const *parts, int n, void *out)
{
    enum { PIECE = 2048 };
    const size_t width = tutti_dtype_bytes(v->dtype);
    float sum[PIECE], part[PIECE];
    for (int64_t at = 0, left = elements_of(v); left > 0; at += PIECE, left -= PIECE) {
        const int64_t count = left < PIECE ? left : PIECE;
        tutti_convert_to_f32(v->dtype, (const char *)parts[0] + (size_t)at * width, sum, count);
        for (int i = 1; i < n; i++) {
            tutti_convert_to_f32(v->dtype, (const char *)parts[i] + (size_t)at * width, part, count);
            tutti_elementwise_add(sum, part, count);
        }
        tutti_convert_from_f32(v->dtype, sum, (char *)out + (size_t)at * width, count);
    }
}

void tutti_value_sum(const tutti_value *v, const void *const *parts, int n, void *out)
{
    const float *inputs[TUTTI_MAX_SUM_PARTS];
    float *output = out;
    if (n == 2 && v->dtype != TUTTI_F32 && (out == parts[0] || out == parts[1])) {
        tutti_convert_add(v->dtype, out, parts[out == parts[0]], elements_of(v));
        return;
    }
    if (v->dtype != TUTTI_F32) {
        sum_narrow(v, parts, n, out);
        return;
    }
    for (int i = 0; i < n; i++) inputs[i] = parts[i];
    tutti_elementwise_reduce(&output, 1, inputs, n, NULL, elements_of(v), false);
}

void tutti_param_to_plain(const tutti_param_desc *p, const float *from, float *plain)
{
    if (p->layout)
        walk(&p->shape, p->layout, from, plain, NULL);
    else
        memcpy(plain, from, (size_t)p->elements * sizeof(float));
}

void tutti_param_from_plain(const tutti_param_desc *p, const float *plain, float *to)
{
    if (p->layout)
        to_order(&p->shape, p->layout, p->elements, plain, to);
    else
        memcpy(to, plain, (size_t)p->elements * sizeof(float));
}
