/* SPDX-License-Identifier: Apache-2.0 */
/* op_conv.c: two-dimensional convolution, (B, C, H, W) -> (B, N, H', W'), as PyTorch's Conv2d: a correlation, square
 * kernel, the same stride and zero padding on both sides.
 *
 *   out[b][n][y][x] = bias[n] + sum over c, i, j of weight[n][c][i][j] * in[b][c][y * stride + i - pad][x * stride + j - pad]
 *
 * With groups the channels of input and output are cut into as many parts, and part g of the output sees part g of the input
 * alone: c runs over C / groups channels (Krizhevsky et al., NeurIPS 2012).
 *
 * The reference keeps to this sum; where an index falls into the padding the term is left out. Gradients sum in double,
 * because they add up batch * H' * W' terms. */
#include <math.h>
#include <string.h>

#include "kernel_impl.h"

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

/* PyTorch's default start, or its kaiming_normal_ with mode fan_out (He et al., ICCV 2015). */
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

/* One weight and one pair of planes: all that the three passes differ in is what is added to what. */
typedef struct {
    int64_t h, w, out_h, out_w; /* of the planes */
    tutti_window_span y, x;     /* output positions at which this weight meets an element of the input */
    int64_t stride, dy, dx;     /* input position = output position * stride + (dy, dx) */
} tap;

static tap tap_at(const tutti_kernel *k, int64_t i, int64_t j)
{
    const tutti_conv_attrs *at = k->attrs;
    const tutti_shape *in = &k->in[0].shape, *out = &k->out.shape;
    return (tap){.h = in->dim[2],
                 .w = in->dim[3],
                 .out_h = out->dim[2],
                 .out_w = out->dim[3],
                 .y = tutti_op_window_span(i, at->stride, at->pad, in->dim[2], out->dim[2]),
                 .x = tutti_op_window_span(j, at->stride, at->pad, in->dim[3], out->dim[3]),
                 .stride = at->stride,
                 .dy = i - at->pad,
                 .dx = j - at->pad};
}

/* Channels of the input that output channel n sees. */
static tutti_window_span channels_of(const tutti_kernel *k, int64_t n)
{
    const tutti_conv_attrs *at = k->attrs;
    int64_t ninputs = k->in[0].shape.dim[1] / at->groups, group = n / (at->out_channels / at->groups);
    return (tutti_window_span){group * ninputs, (group + 1) * ninputs};
}

static void add_to_out(const tap *t, float weight, const float *in, float *out)
{
    for (int64_t y = t->y.first; y < t->y.end; y++) {
        const float *row = in + (y * t->stride + t->dy) * t->w + t->dx;
        float *out_row = out + y * t->out_w;
        for (int64_t x = t->x.first; x < t->x.end; x++) out_row[x] += weight * row[x * t->stride];
    }
}

static void add_to_din(const tap *t, float weight, const float *dout, float *din)
{
    for (int64_t y = t->y.first; y < t->y.end; y++) {
        float *row = din + (y * t->stride + t->dy) * t->w + t->dx;
        const float *dout_row = dout + y * t->out_w;
        for (int64_t x = t->x.first; x < t->x.end; x++) row[x * t->stride] += weight * dout_row[x];
    }
}

static double weight_gradient(const tap *t, const float *in, const float *dout)
{
    double sum = 0;
    for (int64_t y = t->y.first; y < t->y.end; y++) {
        const float *row = in + (y * t->stride + t->dy) * t->w + t->dx;
        const float *dout_row = dout + y * t->out_w;
        for (int64_t x = t->x.first; x < t->x.end; x++) sum += (double)dout_row[x] * (double)row[x * t->stride];
    }
    return sum;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    int64_t plane = in[2] * in[3], out_plane = out[2] * out[3];
    for (int64_t b = 0; b < out[0]; b++)
        for (int64_t n = 0; n < out[1]; n++) {
            float *to = (float *)a->out + (b * out[1] + n) * out_plane;
            for (int64_t e = 0; e < out_plane; e++) to[e] = at->bias ? a->param[1][n] : 0;
            tutti_window_span seen = channels_of(k, n);
            const float *weight = a->param[0] + n * (seen.end - seen.first) * at->kernel * at->kernel;
            for (int64_t c = seen.first; c < seen.end; c++)
                for (int64_t i = 0; i < at->kernel; i++)
                    for (int64_t j = 0; j < at->kernel; j++) {
                        tap t = tap_at(k, i, j);
                        add_to_out(&t, *weight++, (const float *)a->in[0] + (b * in[1] + c) * plane, to);
                    }
        }
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
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    int64_t plane = in[2] * in[3], out_plane = out[2] * out[3];
    float *dweight = a->dparam[0];
    for (int64_t n = 0; n < out[1]; n++) {
        tutti_window_span seen = channels_of(k, n);
        for (int64_t c = seen.first; c < seen.end; c++)
            for (int64_t i = 0; i < at->kernel; i++)
                for (int64_t j = 0; j < at->kernel; j++) {
                    tap t = tap_at(k, i, j);
                    double sum = 0;
                    for (int64_t b = 0; b < out[0]; b++)
                        sum += weight_gradient(&t, (const float *)a->in[0] + (b * in[1] + c) * plane,
                                               (const float *)a->dout + (b * out[1] + n) * out_plane);
                    *dweight++ = (float)sum;
                }
    }
    if (at->bias) bias_gradient(k, a->dout, a->dparam[1]);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    int64_t plane = in[2] * in[3], out_plane = out[2] * out[3];
    memset(a->din[0], 0, k->in[0].bytes);
    for (int64_t b = 0; b < out[0]; b++)
        for (int64_t n = 0; n < out[1]; n++) {
            tutti_window_span seen = channels_of(k, n);
            const float *weight = a->param[0] + n * (seen.end - seen.first) * at->kernel * at->kernel;
            for (int64_t c = seen.first; c < seen.end; c++)
                for (int64_t i = 0; i < at->kernel; i++)
                    for (int64_t j = 0; j < at->kernel; j++) {
                        tap t = tap_at(k, i, j);
                        add_to_din(&t, *weight++, (const float *)a->dout + (b * out[1] + n) * out_plane,
                                   (float *)a->din[0] + (b * in[1] + c) * plane);
                    }
        }
}

static const tutti_kernel_row reference = {
    .engine = "reference",
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
