/* SPDX-License-Identifier: Apache-2.0 */
/* fused_adapter.c: computes an op with a merged ReLU or addend by a row that computes the bare op. The adapter serves
 * ops with a merged ReLU, and batch norm with a merged second input:
 *
 *   out = max(0, op(in[0]) + in[1]);   dout is masked where out is 0, in place, then op's backward passes see it;
 *   the gradient of in[1] is the masked dout itself.
 *
 * The results have the same bits as op, add and relu as separate layers, because each step rounds in the same way.
 * Merging saves memory (op's output is not kept beside the ReLU's) but no arithmetic. Rows that do the merged work
 * within their loops set `fuses` and need no adapter. Masking works in any memory order. An addend whose order differs
 * from the output's is copied through scratch. */
#include <stdlib.h>
#include <string.h>

#include "memory_order.h"

typedef struct {
    tutti_kernel inner;
    bool adds, same_order; /* adds: there is a second input; same_order: it lies in the output's order */
    /* offsets in scratch of the addend (or its gradient). plain: of a row-major copy; reorder: of a copy in the
     * output's order */
    size_t plain, reorder;
} fused;

static size_t take(tutti_kernel *k, size_t nbytes)
{
    const size_t at = k->scratch_bytes;
    k->scratch_bytes += (nbytes + 63) / 64 * 64;
    return at;
}

static void place_addend(tutti_kernel *k, fused *f)
{
    f->same_order = tutti_order_same(&k->in[1], &k->out);
    if (f->same_order) {
        k->passes_gradient = 1u << 1;
        return;
    }
    k->scratch_bytes = (k->scratch_bytes + 63) / 64 * 64;
    f->plain = take(k, (size_t)tutti_shape_count(&k->out.shape) * sizeof(float));
    f->reorder = take(k, k->out.bytes);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    fused *f = tutti_alloc(sizeof *f);
    k->state = f;
    char *bare = tutti_alloc(k->op->attrs_bytes);
    memcpy(bare, k->attrs, k->op->attrs_bytes);
    bare[k->op->relu_at] = false;
    tutti_kernel_request inner = *r;
    inner.attrs = bare;
    inner.nin = 1;
    tutti_status st = tutti_kernel_create(&inner, &f->inner, err);
    if (st != TUTTI_OK) {
        free(bare);
        return st;
    }
    f->inner.joint_backward = false;
    f->adds = k->ninputs == 2;
    k->out = f->inner.out;
    k->nparams = f->inner.nparams;
    memcpy(k->params, f->inner.params, sizeof k->params);
    k->saved_bytes = f->inner.saved_bytes;
    k->scratch_bytes = f->inner.scratch_bytes;
    k->backward_reads = f->inner.backward_reads | TUTTI_READS_OUTPUT;
    k->unread_inputs = 1u << 1;
    k->writes_dout = k->feeds_data = true;
    k->max_dout_parts = TUTTI_MAX_DOUT_PARTS;
    if (f->adds) place_addend(k, f);
    return TUTTI_OK;
}

/* Destroys the kernel, which may be incomplete and then has no inner kernel. */
static void destroy(tutti_kernel *k)
{
    fused *f = k->state;
    if (!f) return;
    void *bare = (void *)(uintptr_t)f->inner.attrs;
    tutti_kernel_destroy(&f->inner);
    free(bare);
    free(f);
}

/* Returns the addend in the output's order, or NULL if there is none. */
static const float *addend(const tutti_kernel *k, const fused *f, const tutti_kernel_args *a)
{
    if (!f->adds || f->same_order) return f->adds ? a->in[1] : NULL;
    float *plain = (float *)(void *)((char *)a->scratch + f->plain);
    float *reordered = (float *)(void *)((char *)a->scratch + f->reorder);
    tutti_value_to_plain(&k->in[1], a->in[1], plain);
    tutti_value_from_plain(&k->out, plain, reordered);
    return reordered;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    fused *f = k->state;
    f->inner.row->forward(&f->inner, a);
    const int64_t n = tutti_value_elements(&k->out);
    const float *other = addend(k, f, a);
    float *out = a->out;
    for (int64_t i = 0; i < n && other; i++) out[i] += other[i];
    for (int64_t i = 0; i < n; i++) out[i] = out[i] <= 0 ? 0 : out[i];
}

/* Masks dout, then computes the op's parameter gradients. This is the first backward pass, because every op with a
 * merged ReLU has parameters. */
static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    fused *f = k->state;
    const int64_t n = tutti_value_elements(&k->out);
    const float *out = a->out;
    float *dout = a->dout;
    if (a->ndout_parts) tutti_value_sum(&k->out, a->dout_parts, a->ndout_parts, dout, 1);
    for (int64_t i = 0; i < n; i++) dout[i] = out[i] <= 0 ? 0 : dout[i];
    if (f->inner.feeds_data || tutti_kernel_params_wanted(k, a)) f->inner.row->backward_params(&f->inner, a);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    fused *f = k->state;
    if (a->din[0]) f->inner.row->backward_data(&f->inner, a);
    if (f->same_order || !a->din[1]) return; /* then the addend's gradient is dout itself, so nothing is copied */
    float *plain = (float *)(void *)((char *)a->scratch + f->plain);
    tutti_value_to_plain(&k->out, a->dout, plain);
    tutti_value_from_plain(&k->in[1], plain, a->din[1]);
}

const tutti_kernel_row tutti_kernel_fused_adapter = {
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
