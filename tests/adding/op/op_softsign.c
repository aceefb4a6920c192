/* SPDX-License-Identifier: Apache-2.0 */
/* op_softsign.c: out = in / (1 + |in|), of any shape (Bergstra et al. 2009): a sigmoid with tails that fall slowly.
 *
 * 1 - |out| is 1 / (1 + |in|), whose square is the slope: the gradient follows from the output alone, and the kernel
 * works in place. */
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
    const int64_t n = tutti_shape_count(&k->out.shape);
    const float *x = a->in[0];
    float *y = a->out;
    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1 + fabsf(x[i]));
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const int64_t n = tutti_shape_count(&k->out.shape);
    const float *y = a->out, *dout = a->dout;
    float *din = a->din[0];
    for (int64_t i = 0; i < n; i++) din[i] = dout[i] * (1 - fabsf(y[i])) * (1 - fabsf(y[i]));
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_softsign = {
    .name = "softsign",
    .ninputs = 1,
    .infer = tutti_op_infer_same,
    .flops = tutti_op_flops_each,
    .reference = &reference,
};
