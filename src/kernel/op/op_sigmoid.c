/* SPDX-License-Identifier: Apache-2.0 */
/* op_sigmoid.c: the logistic function, out = 1 / (1 + exp(-in)), of any shape.
 *
 * The gradient follows from the output alone, so the input may be overwritten: the kernel works in place. */
#include <math.h>

#include "../kernel_impl.h"

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)r, (void)err;
    k->backward_reads = TUTTI_READS_OUTPUT;
    k->in_place = true;
    return TUTTI_OK;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    int64_t n = tutti_shape_count(&k->out.shape);
    const float *x = a->in[0];
    float *y = a->out;
    for (int64_t i = 0; i < n; i++) y[i] = 1 / (1 + expf(-x[i]));
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    int64_t n = tutti_shape_count(&k->out.shape);
    const float *y = a->out, *dout = a->dout;
    float *din = a->din[0];
    for (int64_t i = 0; i < n; i++) din[i] = dout[i] * y[i] * (1 - y[i]);
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_sigmoid = {
    .name = "sigmoid",
    .ninputs = 1,
    .infer = tutti_op_infer_same,
    .flops = tutti_op_flops_each,
    .reference = &reference,
};
