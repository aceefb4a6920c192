/* SPDX-License-Identifier: Apache-2.0 */
/* op_dense.c: fully connected layer, (B, K) -> (B, N) with N = units, as PyTorch's Linear:
 *
 *   out[b][n] = bias[n] + sum over k of in[b][k] * weight[n][k]
 *
 * An input (B, C, H, W) is read as (B, C * H * W), as if a flatten layer stood before it. So faster rows can read an
 * input in blocks without reordering it. The reference sums in double and rounds once. */
#include <math.h>

#include "../kernel_impl.h"

static const tutti_field fields[] = {
    {"units", TUTTI_FIELD_INT, offsetof(tutti_dense_attrs, units), NULL, NULL, 1, INT32_MAX, "outputs a sample"},
    {"bias", TUTTI_FIELD_BOOL, offsetof(tutti_dense_attrs, bias), "true", NULL, 1, 0, "add a number to each output"},
};

static int64_t fan_in(const tutti_shape *in)
{
    return tutti_shape_count(in) / in->dim[0];
}

static tutti_status infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err)
{
    (void)nin;
    const tutti_dense_attrs *at = attrs;
    if (in->ndims < 2) {
        char text[96];
        tutti_shape_text(in, text);
        return tutti_fail(err, TUTTI_ERR_DATA, "wants an input (batch, ...), has %s", text);
    }
    *out = (tutti_shape){2, {in->dim[0], at->units}};
    return TUTTI_OK;
}

static int params(const void *attrs, const tutti_shape *in, tutti_param_desc *out)
{
    const tutti_dense_attrs *at = attrs;
    double bound = 1 / sqrt((double)fan_in(in)); /* PyTorch's default, the same for weight and bias */
    out[0] = (tutti_param_desc){
        .name = "weight", .shape = {2, {at->units, fan_in(in)}}, .kind = TUTTI_PARAM_WEIGHT, .init_bound = bound};
    out[1] =
        (tutti_param_desc){.name = "bias", .shape = {1, {at->units}}, .kind = TUTTI_PARAM_BIAS, .init_bound = bound};
    return at->bias ? 2 : 1;
}

static bool divide(const void *attrs, int parts, void *out)
{
    const tutti_dense_attrs *at = attrs;
    tutti_dense_attrs *part = out;
    *part = *at;
    part->units = at->units / parts;
    return at->units % parts == 0;
}

static double flops(const void *attrs, const tutti_shape *in, const tutti_shape *out)
{
    const tutti_dense_attrs *at = attrs;
    return (2 * (double)fan_in(in) + (at->bias ? 1 : 0)) * (double)tutti_shape_count(out);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)r, (void)err;
    k->backward_reads = TUTTI_READS_INPUT;
    return TUTTI_OK;
}

enum { CHAINS = 8 }; /* number of sums that are computed at a time, so that no addition waits for another */

/* Describes several sums. Each sum adds n products of elements of a and b. a_step and b_step are the distances between
 * the elements of one sum, and `across` is the distance in b from one sum to the next. */
typedef struct {
    const float *a, *b;
    int64_t a_step, b_step, across, n;
} dots;

static void sum_dots(const dots *d, int64_t first, int64_t count, double *sum)
{
    for (int64_t c = 0; c < count; c++) sum[c] = 0;
    for (int64_t i = 0; i < d->n; i++) {
        const float *b = d->b + i * d->b_step + first * d->across;
        const double a = (double)d->a[i * d->a_step];
        for (int64_t c = 0; c < count; c++) sum[c] += a * (double)b[c * d->across];
    }
}

/* Writes out[c] = sum c + bias[c], rounded once. */
static void write_dots(const dots *d, int64_t count, const float *bias, float *out)
{
    for (int64_t first = 0; first < count; first += CHAINS) {
        double sum[CHAINS];
        const int64_t nsums = count - first < CHAINS ? count - first : CHAINS;
        if (nsums == CHAINS && d->across == 1) /* calls with constants, so that sums stay in registers */
            sum_dots(&(dots){d->a, d->b, d->a_step, d->b_step, 1, d->n}, first, CHAINS, sum);
        else if (nsums == CHAINS)
            sum_dots(d, first, CHAINS, sum);
        else
            sum_dots(d, first, nsums, sum);
        for (int64_t c = 0; c < nsums; c++) out[first + c] = (float)(sum[c] + (bias ? (double)bias[first + c] : 0));
    }
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_dense_attrs *at = k->attrs;
    int64_t batch = k->out.shape.dim[0], n = at->units, nin = fan_in(&k->in[0].shape);
    for (int64_t b = 0; b < batch; b++) {
        const dots d = {(const float *)a->in[0] + b * nin, a->param[0], 1, 1, nin, nin};
        write_dots(&d, n, at->bias ? a->param[1] : NULL, (float *)a->out + b * n);
    }
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_dense_attrs *at = k->attrs;
    int64_t batch = k->out.shape.dim[0], n = at->units, nin = fan_in(&k->in[0].shape);
    static const float one = 1;
    for (int64_t u = 0; u < n; u++) {
        const dots d = {(const float *)a->dout + u, a->in[0], n, nin, 1, batch};
        write_dots(&d, nin, NULL, a->dparam[0] + u * nin);
    }
    const dots ones = {&one, a->dout, 0, n, 1, batch};
    if (at->bias) write_dots(&ones, n, NULL, a->dparam[1]);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_dense_attrs *at = k->attrs;
    int64_t batch = k->out.shape.dim[0], n = at->units, nin = fan_in(&k->in[0].shape);
    for (int64_t b = 0; b < batch; b++) {
        const dots d = {(const float *)a->dout + b * n, a->param[0], 1, nin, 1, n};
        write_dots(&d, nin, NULL, (float *)a->din[0] + b * nin);
    }
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_dense = {
    .name = "dense",
    .fields = {fields, sizeof fields / sizeof *fields},
    .attrs_bytes = sizeof(tutti_dense_attrs),
    .ninputs = 1,
    .relu_at = offsetof(tutti_dense_attrs, relu),
    .divide = divide,
    .infer = infer,
    .params = params,
    .flops = flops,
    .reference = &reference,
};
