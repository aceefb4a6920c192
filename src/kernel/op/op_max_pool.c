/* SPDX-License-Identifier: Apache-2.0 */
/* op_max_pool.c: the largest element of each window, (B, C, H, W) -> (B, C, H', W'), as PyTorch's MaxPool2d: padding
 * counts as minus infinity, the first of equal elements wins, NaN wins over all.
 *
 * saved: for each output the index of its winner within the input plane, int32. */
#include <math.h>
#include <string.h>

#include "../kernel_impl.h"

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_shape *in = &k->in[0].shape;
    if (in->dim[2] * in->dim[3] > INT32_MAX) {
        char text[96];
        tutti_shape_text(in, text);
        return tutti_fail(err, TUTTI_ERR_DATA, "planes of %s are too large for the reference max-pool", text);
    }
    if (!r->training) return TUTTI_OK;
    k->saved_bytes = (size_t)tutti_shape_count(&k->out.shape) * sizeof(int32_t);
    k->backward_reads = TUTTI_READS_SAVED;
    return TUTTI_OK;
}

/* Returns the index of the winner of the window whose corner is (y0, x0), which may lie in the padding. */
static int32_t winner(const float *plane, int64_t h, int64_t w, int64_t y0, int64_t x0, int64_t kernel)
{
    int64_t best = -1;
    for (int64_t y = y0 < 0 ? 0 : y0; y < y0 + kernel && y < h; y++)
        for (int64_t x = x0 < 0 ? 0 : x0; x < x0 + kernel && x < w; x++) {
            float value = plane[y * w + x];
            if (best < 0 || value > plane[best] || isnan(value)) best = y * w + x;
        }
    return (int32_t)best;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_pool_attrs window = tutti_op_pool_window(k->attrs);
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    int32_t *saved = a->saved;
    int64_t at = 0;
    for (int64_t p = 0; p < in[0] * in[1]; p++) {
        const float *plane = (const float *)a->in[0] + p * in[2] * in[3];
        for (int64_t y = 0; y < out[2]; y++)
            for (int64_t x = 0; x < out[3]; x++, at++) {
                int32_t best = winner(plane, in[2], in[3], y * window.stride - window.pad,
                                      x * window.stride - window.pad, window.kernel);
                ((float *)a->out)[at] = plane[best];
                if (k->saved_bytes) saved[at] = best;
            }
    }
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    const int32_t *saved = a->saved;
    const float *dout = a->dout;
    float *din = a->din[0];
    memset(din, 0, k->in[0].bytes);
    int64_t at = 0;
    for (int64_t p = 0; p < in[0] * in[1]; p++)
        for (int64_t e = 0; e < out[2] * out[3]; e++, at++) din[p * in[2] * in[3] + saved[at]] += dout[at];
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_max_pool = {
    .name = "max-pool",
    .fields = {tutti_op_pool_fields, TUTTI_OP_POOL_NFIELDS},
    .attrs_bytes = sizeof(tutti_pool_attrs),
    .ninputs = 1,
    .keeps_zeros = true,
    .picks = true,
    .infer = tutti_op_pool_infer,
    .flops = tutti_op_pool_flops,
    .reference = &reference,
};
