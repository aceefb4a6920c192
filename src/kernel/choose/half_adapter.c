/* SPDX-License-Identifier: Apache-2.0 */
/* half_adapter.c: computes activations of 16 bits by a kernel of f32: widens inputs and rounds outputs.
 *
 * The inner kernel is the one that would be chosen for f32, with its memory orders, parameters and saved state. Inputs,
 * output and their gradients lie in 16 bits between kernels and are converted through scratch. The next kernel uses the
 * same scratch, so the wide copies stay in caches or in memory that was used just before. Arithmetic and sums are f32;
 * results are rounded once. */
#include <stdlib.h>

#include "../../tensor/convert.h"
#include "memory_order.h"

/* Offsets of the f32 copies in scratch. NOWHERE means that the value is f32 already or that no pass needs a copy. */
typedef struct {
    tutti_kernel inner;
    /* out_again: the output, if a backward pass reads it */
    size_t in[TUTTI_MAX_OP_INPUTS], din[TUTTI_MAX_OP_INPUTS], out, out_again, dout;
} half;

static const size_t NOWHERE = SIZE_MAX;

static tutti_value as_type(const tutti_value *v, tutti_dtype type)
{
    tutti_value other = *v;
    other.dtype = type;
    other.bytes = (size_t)tutti_value_elements(v) * tutti_dtype_bytes(type);
    return other;
}

static size_t take(tutti_kernel *k, const tutti_value *v)
{
    if (v->dtype == TUTTI_F32 || v->bytes == 0) return NOWHERE;
    const size_t at = k->scratch_bytes;
    k->scratch_bytes += ((size_t)tutti_value_elements(v) * sizeof(float) + 63) / 64 * 64;
    return at;
}

/* Gives the f32 copies their places in scratch. Forward needs copies of inputs and output at the same time. Backward
 * needs copies of the gradients and of the values that it reads. If the inner kernel works in place, so do the
 * copies. */
static void place_copies(tutti_kernel *k, half *h)
{
    const bool over = h->inner.in_place && k->in[0].dtype != TUTTI_F32;
    k->scratch_bytes = (h->inner.scratch_bytes + 63) / 64 * 64;
    for (int i = 0; i < k->ninputs; i++) h->in[i] = h->din[i] = take(k, &k->in[i]);
    h->out = h->dout = over ? h->in[0] : take(k, &k->out);
    h->out_again = k->backward_reads & TUTTI_READS_OUTPUT ? take(k, &k->out) : NOWHERE;
    for (int i = 0; i < k->ninputs; i++)
        if (tutti_kernel_reads_again(k, i)) h->din[i] = take(k, &k->in[i]);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    half *h = tutti_alloc(sizeof *h);
    tutti_value wide[TUTTI_MAX_OP_INPUTS];
    tutti_kernel_request inner = *r;
    tutti_kernel_rows by;
    k->state = h;
    if (r->by) {
        by = (tutti_kernel_rows){.of = {r->by->of[0], r->by->of[1], r->by->of[2]}};
        inner.by = &by;
    }
    for (int i = 0; i < k->ninputs; i++) wide[i] = as_type(&k->in[i], TUTTI_F32);
    inner.in = wide;
    inner.precision = TUTTI_PRECISION_F32;
    tutti_status st = tutti_kernel_create(&inner, &h->inner, err);
    if (st != TUTTI_OK) return st;
    /* the input gradient is rounded after its pass, so backward_params cannot write it as well */
    h->inner.joint_backward = false;
    k->out = as_type(&h->inner.out, tutti_precision_dtype(r->precision));
    k->nparams = h->inner.nparams;
    for (int p = 0; p < k->nparams; p++) k->params[p] = h->inner.params[p];
    k->saved_bytes = h->inner.saved_bytes;
    k->backward_reads = h->inner.backward_reads;
    k->in_place = h->inner.in_place && k->in[0].dtype == k->out.dtype;
    k->passes_gradient = h->inner.passes_gradient;
    k->unread_inputs = h->inner.unread_inputs;
    k->feeds_data = h->inner.feeds_data;
    k->writes_dout = h->inner.writes_dout;
    place_copies(k, h);
    return TUTTI_OK;
}

static void destroy(tutti_kernel *k)
{
    half *h = k->state;
    if (h) tutti_kernel_destroy(&h->inner);
    free(h);
}

static void *copy_at(const tutti_kernel_args *a, size_t at)
{
    return (char *)a->scratch + at;
}

static const void *widened(const tutti_value *v, const void *from, const tutti_kernel_args *a, size_t at)
{
    if (at == NOWHERE || !from) return from;
    tutti_convert_to_f32(v->dtype, from, copy_at(a, at), tutti_value_elements(v));
    return copy_at(a, at);
}

static void narrow(const tutti_value *v, void *to, const tutti_kernel_args *a, size_t at)
{
    if (at != NOWHERE && to) tutti_convert_from_f32(v->dtype, copy_at(a, at), to, tutti_value_elements(v));
}

static void *room(void *to, const tutti_kernel_args *a, size_t at)
{
    return at == NOWHERE || !to ? to : copy_at(a, at);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    half *h = k->state;
    tutti_kernel_args wide = *a;
    for (int i = 0; i < k->ninputs; i++) wide.in[i] = widened(&k->in[i], a->in[i], a, h->in[i]);
    wide.out = room(a->out, a, h->out);
    h->inner.row->forward(&h->inner, &wide);
    narrow(&k->out, a->out, a, h->out);
}

/* Widens the values that both backward passes read. */
static tutti_kernel_args wide_for_backward(const tutti_kernel *k, const tutti_kernel_args *a)
{
    const half *h = k->state;
    tutti_kernel_args wide = *a;
    for (int i = 0; i < k->ninputs; i++)
        if (tutti_kernel_reads_again(k, i)) wide.in[i] = widened(&k->in[i], a->in[i], a, h->in[i]);
    if (k->backward_reads & TUTTI_READS_OUTPUT) wide.out = (void *)widened(&k->out, a->out, a, h->out_again);
    wide.dout = (void *)widened(&k->out, a->dout, a, h->dout);
    return wide;
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    half *h = k->state;
    if (!h->inner.row->backward_params) return;
    const tutti_kernel_args wide = wide_for_backward(k, a);
    h->inner.row->backward_params(&h->inner, &wide);
    /* the inner kernel only set elements of dout to zero, so narrowing rounds nothing */
    if (k->writes_dout) narrow(&k->out, a->dout, a, h->dout);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    half *h = k->state;
    tutti_kernel_args wide = wide_for_backward(k, a);
    for (int i = 0; i < k->ninputs; i++) wide.din[i] = room(a->din[i], a, h->din[i]);
    h->inner.row->backward_data(&h->inner, &wide);
    if (k->writes_dout && k->nparams == 0) narrow(&k->out, a->dout, a, h->dout);
    for (int i = 0; i < k->ninputs; i++)
        if (!(k->passes_gradient >> i & 1)) narrow(&k->in[i], a->din[i], a, h->din[i]);
}

const tutti_kernel_row tutti_kernel_half_adapter = {
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
