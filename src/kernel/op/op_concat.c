/* SPDX-License-Identifier: Apache-2.0 */
/* op_concat.c: joins several inputs along dim 1, the channels: (B, C1, ...), (B, C2, ...) -> (B, C1 + C2, ...), as
 * PyTorch's cat with dim 1. Inception blocks join their branches in this way (Szegedy et al., CVPR 2015). */
#include <string.h>

#include "../kernel_impl.h"

static tutti_status infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err)
{
    (void)attrs;
    *out = in[0];
    for (int i = 0; i < nin; i++) {
        tutti_shape wanted = in[0];
        if (wanted.ndims > 1) wanted.dim[1] = in[i].dim[1];
        if (wanted.ndims > 1 && tutti_shape_equal(&wanted, &in[i])) {
            if (i > 0) out->dim[1] += in[i].dim[1];
            continue;
        }
        char first[96], other[96];
        tutti_shape_text(&in[0], first);
        tutti_shape_text(&in[i], other);
        return tutti_fail(err, TUTTI_ERR_DATA, "input 1 has %s, input %d has %s: they may differ in dim 1 only", first,
                          i + 1, other);
    }
    return TUTTI_OK;
}

/* Returns 0, because concatenation computes nothing. */
static double flops(const void *attrs, const tutti_shape *in, const tutti_shape *out)
{
    (void)attrs, (void)in, (void)out;
    return 0;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)k, (void)r, (void)err;
    return TUTTI_OK;
}

/* Returns the bytes of one sample of the value. */
static size_t sample_bytes(const tutti_value *v)
{
    return v->bytes / (size_t)v->shape.dim[0];
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    char *to = a->out;
    for (int64_t b = 0; b < k->out.shape.dim[0]; b++)
        for (int i = 0; i < k->ninputs; i++) {
            size_t nbytes = sample_bytes(&k->in[i]);
            memcpy(to, (const char *)a->in[i] + (size_t)b * nbytes, nbytes);
            to += nbytes;
        }
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const char *from = a->dout;
    for (int64_t b = 0; b < k->out.shape.dim[0]; b++)
        for (int i = 0; i < k->ninputs; i++) {
            size_t nbytes = sample_bytes(&k->in[i]);
            if (a->din[i]) memcpy((char *)a->din[i] + (size_t)b * nbytes, from, nbytes);
            from += nbytes;
        }
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_concat = {
    .name = "concat",
    .ninputs = 2,
    .max_inputs = TUTTI_MAX_OP_INPUTS,
    .keeps_zeros = true,
    .infer = infer,
    .flops = flops,
    .reference = &reference,
};
