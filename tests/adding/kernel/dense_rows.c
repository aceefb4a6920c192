/* SPDX-License-Identifier: Apache-2.0 */
/* dense_rows.c: computes the forward pass of dense in plain C, each output as the product of a row of inputs and a
 * row of weights.
 *
 * Eight sums run side by side, so that no addition waits for the one before it. The order of the sums depends on the
 * length of a row alone. Other rows compute the gradients (joined_adapter.c); where a ReLU is merged they read the
 * output and mask `dout`. */
#include "../choose/dense_ways.h"

enum { CHAINS = 8 };

bool tutti_dense_rows_fit(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)pass;
    return r->precision == TUTTI_PRECISION_F32 && k->in[0].dtype == TUTTI_F32 && !k->in[0].layout &&
           !k->params[0].layout;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_dense_attrs *at = k->attrs;
    if (!tutti_dense_rows_fit(k, r, TUTTI_PASS_FORWARD))
        return tutti_fail(err, TUTTI_ERR_USAGE, "op dense by rows wants row-major matrices of f32");
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0u);
    k->writes_dout = k->feeds_data = at->relu;
    return TUTTI_OK;
}

static float multiply(const float *x, const float *w, int64_t n)
{
    float sum[CHAINS] = {0}, all = 0;
    int64_t i = 0;
    for (; i + CHAINS <= n; i += CHAINS)
        for (int c = 0; c < CHAINS; c++) sum[c] += x[i + c] * w[i + c];
    for (; i < n; i++) sum[i % CHAINS] += x[i] * w[i];
    for (int c = 0; c < CHAINS; c++) all += sum[c];
    return all;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_dense_attrs *at = k->attrs;
    const int64_t batch = k->out.shape.dim[0], units = at->units, n = k->params[0].shape.dim[1];
    const float *x = a->in[0], *w = a->param[0], *bias = at->bias ? a->param[1] : NULL;
    float *y = a->out;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t u = 0; u < units; u++) {
            const float sum = multiply(x + b * n, w + u * n, n) + (bias ? bias[u] : 0);
            y[b * units + u] = at->relu && sum <= 0 ? 0 : sum;
        }
}

const tutti_kernel_row tutti_dense_rows = {
    .fuses = true,
    .create = create,
    .forward = forward,
};
