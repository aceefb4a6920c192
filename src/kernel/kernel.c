/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c: creates and destroys kernels, and copies values and parameters from one memory order into another.
 *
 * A row need not do everything, because adapters wrap it: plain_adapter.c wraps the reference row if an input is not
 * row-major, half_adapter.c a row for f32 if activations have 16 bits, fused_adapter.c a row of the bare op if a ReLU
 * is merged, joined_adapter.c several rows for one op. So every op exists in every precision, and a new op needs only
 * one file. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/text/strbuf.h"
#include "../device/device_row.h"
#include "../tensor/convert.h"
#include "choose/candidate.h"
#include "choose/order_rule.h"
#include "lanes/lane_value.h"

static const char *const precisions[] = {"f32", "bf16", "f16"};
static_assert(sizeof precisions / sizeof *precisions == TUTTI_NPRECISIONS, "a name for each, in their order");

const char *tutti_precision_name(tutti_precision p)
{
    return (unsigned)p < TUTTI_NPRECISIONS ? precisions[p] : "?";
}

const char *tutti_kernel_pass_name(tutti_kernel_pass p)
{
    static const char *const names[] = {"forward", "params", "data"};
    static_assert(sizeof names / sizeof *names == TUTTI_NPASSES, "a name for each, in their order");
    return names[p];
}

tutti_dtype tutti_precision_dtype(tutti_precision p)
{
    static const tutti_dtype dtypes[TUTTI_NPRECISIONS] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
    return dtypes[p];
}

static bool is_library(const char *engine)
{
    return strcmp(engine, "reference") != 0;
}

void tutti_kernel_engine_describe(const char *engine, char out[96])
{
    if (!is_library(engine)) {
        snprintf(out, 96, "reference");
        return;
    }
    tutti_onednn_describe(out);
    if (!out[0] && strcmp(engine, "onednn") != 0) snprintf(out, 96, "without oneDNN");
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
    const char *by = is_library(engine) ? tutti_onednn_multiplies(p) : NULL;
    if (p == TUTTI_PRECISION_F32)
        snprintf(out, 96, "f32");
    else
        snprintf(out, 96, "%s (%s)", tutti_precision_name(p), by ? by : "stored; f32 arithmetic");
}

tutti_value tutti_value_plain(const tutti_shape *shape)
{
    return (tutti_value){.shape = *shape, .bytes = (size_t)tutti_shape_count(shape) * sizeof(float)};
}

/* Describes the parameters: as row-major, or in the orders that params_as gives. */
static void describe_params(tutti_kernel *k, const tutti_shape *in, const tutti_param_desc *params_as)
{
    k->nparams = k->op->params ? k->op->params(k->attrs, in, k->params) : 0;
    for (int i = 0; i < k->nparams; i++) {
        k->params[i].layout = params_as ? params_as[i].layout : NULL;
        k->params[i].elements = params_as ? params_as[i].elements : tutti_shape_count(&k->params[i].shape);
    }
}

tutti_status tutti_kernel_begin(const tutti_kernel_request *r, tutti_kernel *made, tutti_failure *err)
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
    tutti_status st = tutti_kernel_begin(r, &made, err);
    if (st != TUTTI_OK) return st;
    made.row = row;
    st = row->create(&made, r, err);
    if (st == TUTTI_OK)
        *k = made;
    else
        tutti_kernel_destroy(&made);
    return st;
}

static bool is_same_row(const tutti_kernel_rows *by)
{
    bool same = true;
    for (int p = 1; p < TUTTI_NPASSES; p++) same = same && by->of[p] == by->of[0] && by->in_f32[p] == by->in_f32[0];
    return same;
}

/* Returns the row that makes the kernel: the chosen row, or the adapter that must wrap it. The adapter makes its inner
 * kernel from the same request. */
static const tutti_kernel_row *stand_before(const tutti_kernel_rows *by, const tutti_kernel *k, tutti_precision p)
{
    const tutti_kernel_row *row = by->of[TUTTI_PASS_FORWARD];
    if (!is_same_row(by)) return &tutti_kernel_joined_adapter;
    if (by->in_f32[TUTTI_PASS_FORWARD] || (!is_wide(k, p) && !row->takes_halves)) return &tutti_kernel_half_adapter;
    if (is_fused(k) && !row->fuses) return &tutti_kernel_fused_adapter;
    for (int i = 0; i < k->ninputs && row == k->op->reference; i++)
        if (k->in[i].layout) return &tutti_kernel_plain_adapter;
    return row;
}

tutti_status tutti_kernel_create(const tutti_kernel_request *r, tutti_kernel *k, tutti_failure *err)
{
    const tutti_candidate_table table = tutti_candidates();
    tutti_kernel bare;
    tutti_status st = tutti_order_check_forced(err);
    if (r->device && r->device->renew) r->device->renew(r->device);
    if (st == TUTTI_OK && !r->by) return tutti_kernel_create_from(&table, r, k, err);
    if (st == TUTTI_OK) st = tutti_kernel_begin(r, &bare, err);
    if (st != TUTTI_OK) return st;
    const tutti_kernel_row *row = stand_before(r->by, &bare, r->precision);
    for (int p = 0; p < bare.nparams && row == r->op->reference; p++)
        if (bare.params[p].layout)
            return tutti_fail(err, TUTTI_ERR_USAGE,
                              "parameters of op %s lie in an order that its plain loops do not read", r->op->name);
    return tutti_kernel_create_by(row, r, k, err);
}

void tutti_kernel_destroy(tutti_kernel *k)
{
    if (!k || !k->row) return;
    if (k->row->destroy) k->row->destroy(k);
    *k = (tutti_kernel){0};
}

int64_t tutti_layout_offset(const tutti_layout *l, int d, int64_t x)
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

/* A line of n elements along the innermost dim. row: offset of its first element in the layout. */
typedef struct {
    int dim;
    int64_t n, row;
} row_place;

/* Copies a line into plain memory, or out of it. */
static void copy_row(const tutti_layout *l, const row_place *at, const float *from, float *to, bool into_plain)
{
    bool in_steps = !is_blocked(l, at->dim);
    for (int64_t x = 0; x < at->n; x++) {
        int64_t address = at->row + (in_steps ? x * l->stride[at->dim] : tutti_layout_offset(l, at->dim, x));
        if (into_plain)
            to[x] = from[address];
        else
            to[address] = from[x];
    }
}

/* Copies a tensor between row-major order and a layout, row by row. */
static void walk(const tutti_shape *shape, const tutti_layout *l, const float *from, float *to_plain, float *to_order)
{
    if (l->view.ndims) shape = &l->view;
    int ndims = shape->ndims, lead = TUTTI_MAX_DIMS - ndims; /* dims that are missing at the front count as 1 */
    int64_t n[TUTTI_MAX_DIMS] = {1, 1, 1, 1}, at = 0;
    for (int d = 0; d < ndims; d++) n[lead + d] = shape->dim[d];
    for (int64_t a = 0; a < n[0]; a++)
        for (int64_t b = 0; b < n[1]; b++)
            for (int64_t c = 0; c < n[2]; c++, at += n[3]) {
                const int64_t x[TUTTI_MAX_DIMS - 1] = {a, b, c};
                row_place place = {ndims - 1, n[3], 0};
                for (int d = lead; d < TUTTI_MAX_DIMS - 1; d++) place.row += tutti_layout_offset(l, d - lead, x[d]);
                if (to_plain)
                    copy_row(l, &place, from, to_plain + at, true);
                else
                    copy_row(l, &place, from + at, to_order, false);
            }
}

/* Copies row-major elements into the order of the layout. elements: number of elements in memory in that order, padding
 * included. Padding becomes zero. */
static void to_order(const tutti_shape *shape, const tutti_layout *layout, int64_t elements, const float *plain,
                     float *to)
{
    if (elements > tutti_shape_count(shape)) memset(to, 0, (size_t)elements * sizeof(float));
    walk(shape, layout, plain, NULL, to);
}

/* Copies between a value and row-major f32, through an f32 copy in the value's order. Orders that the loops of lanes/
 * do not know need this. out: from the value to `plain`; else back. */
static void walk_value(const tutti_value *v, void *memory, float *plain, bool out)
{
    const int64_t n = tutti_value_elements(v);
    float *wide = tutti_alloc((size_t)n * sizeof(float));
    if (out) {
        tutti_convert_to_f32(v->dtype, memory, wide, n);
        walk(&v->shape, v->layout, wide, plain, NULL);
    } else {
        to_order(&v->shape, v->layout, n, plain, wide);
        tutti_convert_from_f32(v->dtype, wide, memory, n);
    }
    free(wide);
}

/* Describes `plain` as a row-major f32 value of v's shape. */
static tutti_lane_place rows_of(const tutti_value *v, const float *plain)
{
    const tutti_value rows = tutti_value_plain(&v->shape);
    return tutti_lane_place_of(&rows, plain, 0);
}

void tutti_value_to_plain(const tutti_value *v, const void *from, float *plain)
{
    if (tutti_order_of(v) == TUTTI_ORDER_NONE) {
        walk_value(v, (void *)from, plain, true);
        return;
    }
    const tutti_lane_place own = tutti_lane_place_of(v, from, 0), rows = rows_of(v, plain);
    tutti_lane_move(&own, &rows, rows.at.channels, 1);
}

void tutti_value_from_plain(const tutti_value *v, const float *plain, void *to)
{
    if (tutti_order_of(v) == TUTTI_ORDER_NONE) {
        walk_value(v, to, (float *)plain, false);
        return;
    }
    const tutti_lane_place own = tutti_lane_place_of(v, to, 0), rows = rows_of(v, plain);
    tutti_lane_move(&rows, &own, rows.at.channels, 1);
}

void tutti_value_sum(const tutti_value *v, const void *const *parts, int n, void *out, int nthreads)
{
    tutti_lane_sum(v->dtype, parts, n, out, tutti_value_elements(v), nthreads);
}

uint64_t tutti_param_order_hash(const tutti_param_desc *p)
{
    const tutti_layout *l = p->layout;
    tutti_strbuf text = {0};
    if (!l) return 0;
    for (int d = 0; d < TUTTI_MAX_DIMS; d++)
        tutti_strbuf_printf(&text, "%" PRId64 " %" PRId64 " ", l->stride[d], l->padded[d]);
    for (int i = 0; i < l->ninner; i++)
        tutti_strbuf_printf(&text, "%" PRId64 " of %d ", l->inner_block[i], l->inner_dim[i]);
    const uint64_t hash = tutti_hash(text.text, text.length);
    tutti_strbuf_release(&text);
    return hash;
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
