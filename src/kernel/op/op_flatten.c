/* SPDX-License-Identifier: Apache-2.0 */
/* op_flatten.c: (B, C, H, W) -> (B, C * H * W), as PyTorch's Flatten: the same elements under another shape. In place,
 * nothing is copied. Dense flattens its input by itself; this op serves models that name a flatten layer. */
#include <string.h>

#include "../kernel_impl.h"

static tutti_status infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err)
{
    (void)attrs, (void)nin;
    if (in->ndims < 2) {
        char text[96];
        tutti_shape_text(in, text);
        return tutti_fail(err, TUTTI_ERR_DATA, "wants an input (batch, ...), has %s", text);
    }
    *out = (tutti_shape){2, {in->dim[0], tutti_shape_count(in) / in->dim[0]}};
    return TUTTI_OK;
}

static double flops(const void *attrs, const tutti_shape *in, const tutti_shape *out)
{
    (void)attrs, (void)in, (void)out;
    return 0;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)r, (void)err;
    k->in_place = true;
    return TUTTI_OK;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    if (a->out != a->in[0]) memcpy(a->out, a->in[0], k->out.bytes);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    if (a->din[0] != a->dout) memcpy(a->din[0], a->dout, k->out.bytes);
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_flatten = {
    .name = "flatten",
    .ninputs = 1,
    .keeps_zeros = true,
    .infer = infer,
    .flops = flops,
    .reference = &reference,
};
