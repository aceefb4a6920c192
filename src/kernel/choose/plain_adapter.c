/* SPDX-License-Identifier: Apache-2.0 */
/* plain_adapter.c: runs an op's reference kernel on inputs in another memory order than row-major.
 *
 * Inputs are copied into scratch in row-major order, and their gradients are copied back into the inputs' order. The
 * output is row-major. Each copy costs a pass over memory. If a profile shows the copies of an op, write a row that
 * needs none. */
#include <stdlib.h>

#include "../kernel_impl.h"

typedef struct {
    tutti_kernel inner;
    size_t plain_at[TUTTI_MAX_OP_INPUTS]; /* offsets in scratch: input i in row-major order; in backward_data, its
                                           * gradient */
    size_t grad_at[TUTTI_MAX_OP_INPUTS];
} adapter;

static size_t take(tutti_kernel *k, const tutti_value *v)
{
    size_t at = k->scratch_bytes;
    k->scratch_bytes += ((size_t)tutti_shape_count(&v->shape) * sizeof(float) + 63) / 64 * 64;
    return at;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    adapter *a = tutti_alloc(sizeof *a);
    k->state = a;
    tutti_value plain[TUTTI_MAX_OP_INPUTS];
    for (int i = 0; i < k->ninputs; i++) plain[i] = tutti_value_plain(&k->in[i].shape);
    tutti_kernel_request inner = *r;
    inner.engine = "reference";
    inner.by = NULL;
    inner.in = plain;
    tutti_status st = tutti_kernel_create(&inner, &a->inner, err);
    if (st != TUTTI_OK) return st;
    k->saved_bytes = a->inner.saved_bytes;
    k->backward_reads = a->inner.backward_reads;
    k->unread_inputs = a->inner.unread_inputs;
    k->passes_gradient = a->inner.passes_gradient;
    k->feeds_data = a->inner.feeds_data;
    k->scratch_bytes = (a->inner.scratch_bytes + 63) / 64 * 64;
    for (int i = 0; i < k->ninputs; i++) {
        if (!k->in[i].layout) continue;
        k->passes_gradient &= ~(1u << i);
        a->plain_at[i] = take(k, &k->in[i]);
        a->grad_at[i] = r->training ? take(k, &k->in[i]) : 0;
    }
    return TUTTI_OK;
}

static void destroy(tutti_kernel *k)
{
    adapter *a = k->state;
    if (a) tutti_kernel_destroy(&a->inner);
    free(a);
}

/* Returns the arguments for the inner kernel, with inputs copied into row-major order. Inputs that the pass does not
 * read are not copied. */
static tutti_kernel_args plain_args(const tutti_kernel *k, const tutti_kernel_args *args, bool forward)
{
    const adapter *a = k->state;
    tutti_kernel_args plain = *args;
    for (int i = 0; i < k->ninputs; i++) {
        if (!k->in[i].layout) continue;
        float *in = (float *)((char *)args->scratch + a->plain_at[i]);
        if (forward || tutti_kernel_reads_again(k, i)) tutti_value_to_plain(&k->in[i], args->in[i], in);
        plain.in[i] = in;
        if (args->din[i]) plain.din[i] = (float *)((char *)args->scratch + a->grad_at[i]);
    }
    return plain;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *args)
{
    adapter *a = k->state;
    tutti_kernel_args plain = plain_args(k, args, true);
    a->inner.row->forward(&a->inner, &plain);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *args)
{
    adapter *a = k->state;
    if (!a->inner.row->backward_params) return;
    tutti_kernel_args plain = plain_args(k, args, false);
    a->inner.row->backward_params(&a->inner, &plain);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *args)
{
    adapter *a = k->state;
    tutti_kernel_args plain = plain_args(k, args, false);
    a->inner.row->backward_data(&a->inner, &plain);
    for (int i = 0; i < k->ninputs; i++)
        if (k->in[i].layout && args->din[i]) tutti_value_from_plain(&k->in[i], plain.din[i], args->din[i]);
}

const tutti_kernel_row tutti_kernel_plain_adapter = {
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};

tutti_status tutti_kernel_fall_back(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    k->row = &tutti_kernel_plain_adapter;
    return create(k, r, err);
}
