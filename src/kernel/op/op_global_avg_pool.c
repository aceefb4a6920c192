/* SPDX-License-Identifier: Apache-2.0 */
/* op_global_avg_pool.c: the mean of each plane, (B, C, H, W) -> (B, C), as PyTorch's AdaptiveAvgPool2d(1) and Flatten
 * (Lin et al., ICLR 2014). Sums in double. */
#include "../kernel_impl.h"

static tutti_status infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err)
{
    (void)attrs, (void)nin;
    *out = (tutti_shape){2, {in->dim[0], in->dim[1]}};
    if (in->ndims == 4) return TUTTI_OK;
    char text[96];
    tutti_shape_text(in, text);
    return tutti_fail(err, TUTTI_ERR_DATA, "wants an input (batch, channels, height, width), has %s", text);
}

static double flops(const void *attrs, const tutti_shape *in, const tutti_shape *out)
{
    (void)attrs, (void)out;
    return (double)tutti_shape_count(in);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)k, (void)r, (void)err;
    return TUTTI_OK;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const int64_t *in = k->in[0].shape.dim;
    const int64_t plane = in[2] * in[3];
    const float *from = a->in[0];
    float *out = a->out;
    for (int64_t p = 0; p < in[0] * in[1]; p++) {
        double sum = 0;
        for (int64_t e = 0; e < plane; e++) sum += (double)*from++;
        out[p] = (float)(sum / (double)plane);
    }
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const int64_t *in = k->in[0].shape.dim;
    const int64_t plane = in[2] * in[3];
    const float *dout = a->dout;
    float *din = a->din[0];
    for (int64_t p = 0; p < in[0] * in[1]; p++)
        for (int64_t e = 0; e < plane; e++) *din++ = dout[p] / (float)plane;
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_global_avg_pool = {
    .name = "global-avg-pool",
    .ninputs = 1,
    .keeps_zeros = true,
    .infer = infer,
    .flops = flops,
    .reference = &reference,
};
