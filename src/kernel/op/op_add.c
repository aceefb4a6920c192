/* SPDX-License-Identifier: Apache-2.0 */
/* op_add.c: the sum of several inputs of one shape, element by element: the join of a residual block (He et al., CVPR
 * 2016).
 *
 *   out = ((in[0] + in[1]) + in[2]) + ...
 *
 * The gradient of every input is that of the output. If an input has the output's memory order, nothing is computed for
 * it: the layers that use the input's gradient read dout itself (passes_gradient). */
#include <string.h>

#include "../kernel_impl.h"

static tutti_status infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err)
{
    (void)attrs;
    *out = in[0];
    for (int i = 1; i < nin; i++) {
        if (tutti_shape_equal(&in[0], &in[i])) continue;
        char first[96], other[96];
        tutti_shape_text(&in[0], first);
        tutti_shape_text(&in[i], other);
        return tutti_fail(err, TUTTI_ERR_DATA, "input 1 has %s, input %d has %s: only equal shapes can be added", first,
                          i + 1, other);
    }
    return TUTTI_OK;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)r, (void)err;
    k->in_place = true;
    k->passes_gradient = (1u << k->ninputs) - 1;
    return TUTTI_OK;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    int64_t n = tutti_shape_count(&k->out.shape);
    const float *first = a->in[0];
    float *out = a->out;
    for (int i = 1; i < k->ninputs; i++, first = out) {
        const float *other = a->in[i];
        for (int64_t e = 0; e < n; e++) out[e] = first[e] + other[e];
    }
}

/* Copies dout to the gradient of each input. Only plain_adapter.c calls it, which gives each gradient memory of its
 * own. */
static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    for (int i = 0; i < k->ninputs; i++)
        if (a->din[i] && a->din[i] != a->dout) memcpy(a->din[i], a->dout, k->out.bytes);
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_add = {
    .name = "add",
    .ninputs = 2,
    .max_inputs = TUTTI_MAX_OP_INPUTS,
    .infer = infer,
    .flops = tutti_op_flops_each,
    .reference = &reference,
};
