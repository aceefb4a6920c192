/* SPDX-License-Identifier: Apache-2.0 */
/* op_avg_pool.c: the mean of each window, (B, C, H, W) -> (B, C, H', W'), as PyTorch's AvgPool2d: padding counts as
 * zeros in the mean. The divisor is kernel * kernel. If output sizes are rounded up (`ceil`), a window may reach beyond
 * the padding; places there do not count in the divisor. */
#include <string.h>

#include "../kernel_impl.h"

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)k, (void)r, (void)err;
    return TUTTI_OK;
}

/* The part of a window that lies inside the input, and the divisor: the number of its elements inside input and
 * padding. */
typedef struct {
    int64_t top, bottom, left, right, area;
} rectangle;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static rectangle window_at(const tutti_pool_attrs *window, const int64_t *in, int64_t y, int64_t x)
{
    rectangle r = {.top = y * window->stride - window->pad, .left = x * window->stride - window->pad};
    r.area =
        smaller(window->kernel, in[2] + window->pad - r.top) * smaller(window->kernel, in[3] + window->pad - r.left);
    r.bottom = smaller(r.top + window->kernel, in[2]);
    r.right = smaller(r.left + window->kernel, in[3]);
    if (r.top < 0) r.top = 0;
    if (r.left < 0) r.left = 0;
    return r;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_pool_attrs window = tutti_op_pool_window(k->attrs);
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    const float *from = a->in[0];
    float *to = a->out;
    for (int64_t p = 0; p < in[0] * in[1]; p++)
        for (int64_t y = 0; y < out[2]; y++)
            for (int64_t x = 0; x < out[3]; x++) {
                rectangle r = window_at(&window, in, y, x);
                double sum = 0;
                for (int64_t i = r.top; i < r.bottom; i++)
                    for (int64_t j = r.left; j < r.right; j++) sum += (double)from[(p * in[2] + i) * in[3] + j];
                *to++ = (float)(sum / (double)r.area);
            }
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_pool_attrs window = tutti_op_pool_window(k->attrs);
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    const float *from = a->dout;
    float *din = a->din[0];
    memset(a->din[0], 0, k->in[0].bytes);
    for (int64_t p = 0; p < in[0] * in[1]; p++)
        for (int64_t y = 0; y < out[2]; y++)
            for (int64_t x = 0; x < out[3]; x++) {
                rectangle r = window_at(&window, in, y, x);
                float share = *from++ / (float)r.area;
                for (int64_t i = r.top; i < r.bottom; i++)
                    for (int64_t j = r.left; j < r.right; j++) din[(p * in[2] + i) * in[3] + j] += share;
            }
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_avg_pool = {
    .name = "avg-pool",
    .fields = {tutti_op_pool_fields, TUTTI_OP_POOL_NFIELDS},
    .attrs_bytes = sizeof(tutti_pool_attrs),
    .ninputs = 1,
    .keeps_zeros = true,
    .infer = tutti_op_pool_infer,
    .flops = tutti_op_pool_flops,
    .reference = &reference,
};
