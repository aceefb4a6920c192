/* SPDX-License-Identifier: Apache-2.0 */
/* op_conv.c: two-dimensional convolution, (B, C, H, W) -> (B, N, H', W'), as PyTorch's Conv2d: a correlation with a
 * square kernel, and with the same stride and the same zero padding in both directions.
 *
 *   out[b][n][y][x] = bias[n] + sum over c, i, j of weight[n][c][i][j] * in[b][c][y * stride + i - pad][x * stride + j
 *   - pad]
 *
 * With groups the channels of input and output are cut into `groups` parts. Part g of the output reads only part g of
 * the input: c runs over C / groups channels (Krizhevsky et al., NeurIPS 2012).
 *
 * The reference adds up these terms in this order; terms whose index falls into the padding are left out. Gradients sum
 * in double, because they add up batch * H' * W' terms. */
#include <math.h>
#include <string.h>

#include "../kernel_impl.h"

static const tutti_field fields[] = {
    {"out_channels", TUTTI_FIELD_INT, offsetof(tutti_conv_attrs, out_channels), NULL, NULL, 1, INT32_MAX,
     "filters, channels of the output"},
    {"kernel", TUTTI_FIELD_INT, offsetof(tutti_conv_attrs, kernel), NULL, NULL, 1, 32767,
     "height and width of a filter, elements"},
    {"stride", TUTTI_FIELD_INT, offsetof(tutti_conv_attrs, stride), "1", NULL, 1, 32767,
     "distance between windows, elements"},
    {"pad", TUTTI_FIELD_INT, offsetof(tutti_conv_attrs, pad), "0", NULL, 0, 32767,
     "zeros added on each side, elements"},
    {"groups", TUTTI_FIELD_INT, offsetof(tutti_conv_attrs, groups), "1", NULL, 1, INT32_MAX,
     "parts of the channels that do not see each other"},
    {"init", TUTTI_FIELD_CHOICE, offsetof(tutti_conv_attrs, init), "uniform", "uniform|he", 1, 0,
     "start: uniform within 1 / sqrt(fan in), or normal with variance 2 / fan out and no bias"},
    {"bias", TUTTI_FIELD_BOOL, offsetof(tutti_conv_attrs, bias), "true", NULL, 1, 0, "add a number to each channel"},
};

static tutti_status infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err)
{
    (void)nin;
    const tutti_conv_attrs *at = attrs;
    tutti_pool_attrs window = {at->kernel, at->stride, at->pad, false};
    if (in->ndims == 4 && (in->dim[1] % at->groups || at->out_channels % at->groups))
        return tutti_fail(err, TUTTI_ERR_DATA, "%lld input and %lld output channels cannot be cut into %lld groups",
                          (long long)in->dim[1], (long long)at->out_channels, (long long)at->groups);
    return tutti_op_infer_window(&window, at->out_channels, in, out, err);
}

/* Describes the parameters. Initial weights are PyTorch's default, or its kaiming_normal_ with mode fan_out (He et al.,
 * ICCV 2015). */
static int params(const void *attrs, const tutti_shape *in, tutti_param_desc *out)
{
    const tutti_conv_attrs *at = attrs;
    int64_t channels = in->dim[1] / at->groups;
    double window = (double)at->kernel * (double)at->kernel;
    out[0] = (tutti_param_desc){.name = "weight",
                                .shape = {4, {at->out_channels, channels, at->kernel, at->kernel}},
                                .kind = TUTTI_PARAM_WEIGHT};
    out[1] = (tutti_param_desc){.name = "bias", .shape = {1, {at->out_channels}}, .kind = TUTTI_PARAM_BIAS};
    if (at->init == TUTTI_CONV_HE)
        out[0].init_deviation = sqrt(2 / ((double)at->out_channels * window));
    else
        out[0].init_bound = out[1].init_bound = 1 / sqrt((double)channels * window);
    return at->bias ? 2 : 1;
}

static double flops(const void *attrs, const tutti_shape *in, const tutti_shape *out)
{
    const tutti_conv_attrs *at = attrs;
    double terms = (double)(in->dim[1] / at->groups) * (double)at->kernel * (double)at->kernel;
    return (2 * terms + (at->bias ? 1 : 0)) * (double)tutti_shape_count(out);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)r, (void)err;
    k->backward_reads = TUTTI_READS_INPUT;
    return TUTTI_OK;
}

/* The loops over all places at which one weight is used. The three passes differ only in the operands of the
 * addition. */
typedef struct {
    int64_t w, out_w;       /* widths of the input's and the output's planes */
    tutti_window_span y, x; /* output rows and columns for which this weight meets an element inside the input */
    int64_t stride, dy, dx; /* input position = output position * stride + (dy, dx) */
} tap;

static tap tap_at(const tutti_kernel *k, int64_t i, int64_t j)
{
    const tutti_conv_attrs *at = k->attrs;
    const tutti_shape *in = &k->in[0].shape, *out = &k->out.shape;
    return (tap){.w = in->dim[3],
                 .out_w = out->dim[3],
                 .y = tutti_op_window_span(i, at->stride, at->pad, in->dim[2], out->dim[2]),
                 .x = tutti_op_window_span(j, at->stride, at->pad, in->dim[3], out->dim[3]),
                 .stride = at->stride,
                 .dy = i - at->pad,
                 .dx = j - at->pad};
}

static int64_t in_at(const tap *t, int64_t y)
{
    return (y * t->stride + t->dy) * t->w + t->x.first * t->stride + t->dx;
}

static int64_t out_at(const tap *t, int64_t y)
{
    return y * t->out_w + t->x.first;
}

static int64_t plane_at(const tutti_value *v, int64_t b, int64_t channel)
{
    const int64_t *dim = v->shape.dim;
    return (b * dim[1] + channel) * dim[2] * dim[3];
}

/* One weight: its index among the weights, its output channel n and its input channel c. For the weights' gradient it
 * stands for nchains weights, which have the same place in consecutive filters. */
typedef struct {
    int64_t index, n, c;
    int nchains;
} one_weight;

/* A function that does a pass's work for one weight. */
typedef void each_weight(const tutti_kernel *k, const tutti_kernel_args *a, const tap *t, const one_weight *w);

/* Calls `visit` for the weights from first to last, and for each weight for all samples. So each element receives its
 * terms in the order of the formula above. */
static void walk_weights(const tutti_kernel *k, const tutti_kernel_args *a, int most, each_weight *visit)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t ninputs = k->in[0].shape.dim[1] / at->groups, noutputs = at->out_channels / at->groups;
    for (int64_t n = 0, nchains; n < at->out_channels; n += nchains) {
        const int64_t group = n / noutputs;
        nchains = (group + 1) * noutputs - n >= most ? most : 1;
        int64_t index = n * ninputs * at->kernel * at->kernel;
        for (int64_t c = group * ninputs; c < (group + 1) * ninputs; c++)
            for (int64_t i = 0; i < at->kernel; i++)
                for (int64_t j = 0; j < at->kernel; j++, index++) {
                    const tap t = tap_at(k, i, j);
                    visit(k, a, &t, &(one_weight){index, n, c, (int)nchains});
                }
    }
}

/* Adds weight * from to `to`, element by element. Steps of 1 have a loop of their own, which the compiler turns into
 * vectors. */
static void add_row(float *restrict to, int64_t to_step, float weight, const float *restrict from, int64_t from_step,
                    int64_t n)
{
    if (to_step == 1 && from_step == 1)
        for (int64_t x = 0; x < n; x++) to[x] += weight * from[x];
    else
        for (int64_t x = 0; x < n; x++) to[x * to_step] += weight * from[x * from_step];
}

static void add_to_out(const tutti_kernel *k, const tutti_kernel_args *a, const tap *t, const one_weight *w)
{
    for (int64_t b = 0; b < k->out.shape.dim[0]; b++) {
        const float *in = (const float *)a->in[0] + plane_at(&k->in[0], b, w->c);
        float *out = (float *)a->out + plane_at(&k->out, b, w->n);
        for (int64_t y = t->y.first; y < t->y.end; y++)
            add_row(out + out_at(t, y), 1, a->param[0][w->index], in + in_at(t, y), t->stride, t->x.end - t->x.first);
    }
}

static void add_to_din(const tutti_kernel *k, const tutti_kernel_args *a, const tap *t, const one_weight *w)
{
    for (int64_t b = 0; b < k->out.shape.dim[0]; b++) {
        const float *dout = (const float *)a->dout + plane_at(&k->out, b, w->n);
        float *din = (float *)a->din[0] + plane_at(&k->in[0], b, w->c);
        for (int64_t y = t->y.first; y < t->y.end; y++)
            add_row(din + in_at(t, y), t->stride, a->param[0][w->index], dout + out_at(t, y), 1, t->x.end - t->x.first);
    }
}

/* number of sums that are computed at a time: of one weight's place in several filters, so that no addition waits for
 * another */
enum { CHAINS = 4 };

static void sum_dweights(const tutti_kernel *k, const tutti_kernel_args *a, const tap *t, const one_weight *w)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t *out = k->out.shape.dim, plane = out[2] * out[3];
    double sum[CHAINS] = {0};
    for (int64_t b = 0; b < out[0]; b++)
        for (int64_t y = t->y.first; y < t->y.end; y++) {
            const float *in = (const float *)a->in[0] + plane_at(&k->in[0], b, w->c) + in_at(t, y);
            const float *dout = (const float *)a->dout + plane_at(&k->out, b, w->n) + out_at(t, y);
            if (w->nchains == CHAINS)
                for (int64_t x = 0; x < t->x.end - t->x.first; x++)
                    for (int f = 0; f < CHAINS; f++) sum[f] += (double)dout[f * plane + x] * (double)in[x * t->stride];
            else
                for (int64_t x = 0; x < t->x.end - t->x.first; x++)
                    sum[0] += (double)dout[x] * (double)in[x * t->stride];
        }
    const int64_t filter = k->in[0].shape.dim[1] / at->groups * at->kernel * at->kernel;
    for (int f = 0; f < w->nchains; f++) a->dparam[0][w->index + f * filter] = (float)sum[f];
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t *out = k->out.shape.dim, plane = out[2] * out[3];
    for (int64_t b = 0; b < out[0]; b++)
        for (int64_t n = 0; n < out[1]; n++) {
            float *to = (float *)a->out + plane_at(&k->out, b, n);
            for (int64_t e = 0; e < plane; e++) to[e] = at->bias ? a->param[1][n] : 0;
        }
    walk_weights(k, a, 1, add_to_out);
}

static void bias_gradient(const tutti_kernel *k, const float *dout, float *dbias)
{
    const int64_t *out = k->out.shape.dim;
    int64_t plane = out[2] * out[3];
    for (int64_t n = 0; n < out[1]; n++) {
        double sum = 0;
        for (int64_t b = 0; b < out[0]; b++)
            for (int64_t e = 0; e < plane; e++) sum += (double)dout[(b * out[1] + n) * plane + e];
        dbias[n] = (float)sum;
    }
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_conv_attrs *at = k->attrs;
    walk_weights(k, a, CHAINS, sum_dweights);
    if (at->bias) bias_gradient(k, a->dout, a->dparam[1]);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    memset(a->din[0], 0, k->in[0].bytes);
    walk_weights(k, a, 1, add_to_din);
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_conv = {
    .name = "conv",
    .fields = {fields, sizeof fields / sizeof *fields},
    .attrs_bytes = sizeof(tutti_conv_attrs),
    .ninputs = 1,
    .relu_at = offsetof(tutti_conv_attrs, relu),
    .infer = infer,
    .params = params,
    .flops = flops,
    .reference = &reference,
};
