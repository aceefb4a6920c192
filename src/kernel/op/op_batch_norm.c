/* SPDX-License-Identifier: Apache-2.0 */
/* op_batch_norm.c: batch normalisation of each channel, (B, C) or (B, C, H, W), as PyTorch's BatchNorm1d and 2d (Ioffe
 * & Szegedy, ICML 2015). Over the n = B * H * W elements of a channel:
 *
 *   training    x^ = (in - mean) / sqrt(variance + eps), out = weight * x^ + bias; variance divides by n
 *   evaluation  the same with the running mean and variance
 *
 * The running mean and variance are parameters of kind statistic: forward in training writes the batch's mean and its
 * variance divided by n - 1 as their "gradients", which the update mixes into them. A batch is the samples of one call,
 * not of all ranks (ghost batch norm: Hoffer et al., NeurIPS 2017). saved: mean and 1 / sqrt(variance + eps) of each
 * channel, float. Sums in double. */
#include <math.h>

#include "../kernel_impl.h"

static const tutti_field fields[] = {
    {"eps", TUTTI_FIELD_REAL, offsetof(tutti_batch_norm_attrs, eps), "1e-5", NULL, 1e-12, 1,
     "added to the variance before its root is taken"},
    {"momentum", TUTTI_FIELD_REAL, offsetof(tutti_batch_norm_attrs, momentum), "0.1", NULL, 0, 1,
     "weight of the newest batch in the running statistics"},
    {"scale_init", TUTTI_FIELD_REAL, offsetof(tutti_batch_norm_attrs, scale_init), "1", NULL, 0, 1e6,
     "start of the weight; 0 lets a residual block start as the identity"},
};

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR, NPARAMS };

static tutti_status infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err)
{
    (void)attrs;
    *out = in[0];
    if (nin == 2 && !tutti_shape_equal(&in[0], &in[1]))
        return tutti_fail(err, TUTTI_ERR_DATA, "wants an addend shaped as its input");
    if (in->ndims == 2 || in->ndims == 4) return TUTTI_OK;
    char text[96];
    tutti_shape_text(in, text);
    return tutti_fail(err, TUTTI_ERR_DATA,
                      "wants an input (batch, channels) or (batch, channels, height, width), has %s", text);
}

static int params(const void *attrs, const tutti_shape *in, tutti_param_desc *out)
{
    const tutti_batch_norm_attrs *at = attrs;
    tutti_shape channels = {1, {in->dim[1]}};
    out[WEIGHT] = (tutti_param_desc){
        .name = "weight", .shape = channels, .kind = TUTTI_PARAM_BIAS, .init_constant = at->scale_init};
    out[BIAS] = (tutti_param_desc){.name = "bias", .shape = channels, .kind = TUTTI_PARAM_BIAS};
    out[RUNNING_MEAN] = (tutti_param_desc){
        .name = "running_mean", .shape = channels, .kind = TUTTI_PARAM_STATISTIC, .take = at->momentum};
    out[RUNNING_VAR] = (tutti_param_desc){.name = "running_var",
                                          .shape = channels,
                                          .kind = TUTTI_PARAM_STATISTIC,
                                          .take = at->momentum,
                                          .init_constant = 1};
    return NPARAMS;
}

static double flops(const void *attrs, const tutti_shape *in, const tutti_shape *out)
{
    (void)attrs, (void)in;
    return 8 * (double)tutti_shape_count(out); /* operations an element: mean 1, variance 3, normalise and scale 4 */
}

/* How to walk over the elements of a channel: in each sample the channel has `plane` neighbouring elements, and the
 * next sample's lie `step` elements further. */
typedef struct {
    int64_t batch, channels, plane, step, n;
} channel_walk;

static channel_walk walk_of(const tutti_shape *s)
{
    channel_walk w = {.batch = s->dim[0], .channels = s->dim[1], .plane = s->ndims == 4 ? s->dim[2] * s->dim[3] : 1};
    w.step = w.channels * w.plane;
    w.n = w.batch * w.plane;
    return w;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    if (!r->training) return TUTTI_OK;
    return tutti_op_batch_norm_needs(k, err);
}

tutti_status tutti_op_batch_norm_needs(tutti_kernel *k, tutti_failure *err)
{
    channel_walk w = walk_of(&k->in[0].shape);
    if (w.n < 2) {
        char text[96];
        tutti_shape_text(&k->in[0].shape, text);
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "batch norm of %s has one value a channel and so no variance: give each rank (each slot) more "
            "samples",
            text);
    }
    k->saved_bytes = 2 * (size_t)w.channels * sizeof(float);
    k->backward_reads = TUTTI_READS_INPUT | TUTTI_READS_SAVED;
    if (k->ninputs > 1) k->unread_inputs = 1u << 1; /* backward does not read the second input, which is only added */
    return TUTTI_OK;
}

/* Returns the sum over a channel of (x - shift) * (y - other); if y is NULL, the second factor is 1. */
static double channel_sum(const channel_walk *w, int64_t c, const float *x, double shift, const float *y, double other)
{
    double sum = 0;
    for (int64_t b = 0; b < w->batch; b++) {
        int64_t at = b * w->step + c * w->plane;
        for (int64_t e = at; e < at + w->plane; e++) sum += ((double)x[e] - shift) * (y ? (double)y[e] - other : 1);
    }
    return sum;
}

/* to = scale * (x - mean) + shift + slope * y; if y is NULL, it counts as 0 */
typedef struct {
    double mean, scale, shift, slope;
} affine;

static void channel_map(const channel_walk *w, int64_t c, affine f, const float *x, const float *y, float *to)
{
    for (int64_t b = 0; b < w->batch; b++) {
        int64_t at = b * w->step + c * w->plane;
        for (int64_t e = at; e < at + w->plane; e++)
            to[e] = (float)(f.scale * ((double)x[e] - f.mean) + f.shift + (y ? f.slope * (double)y[e] : 0));
    }
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_batch_norm_attrs *at = k->attrs;
    channel_walk w = walk_of(&k->in[0].shape);
    float *saved_mean = a->saved, *saved_rstd = saved_mean + w.channels;
    for (int64_t c = 0; c < w.channels; c++) {
        double mean = (double)a->param[RUNNING_MEAN][c], variance = (double)a->param[RUNNING_VAR][c];
        if (a->training) {
            mean = channel_sum(&w, c, a->in[0], 0, NULL, 0) / (double)w.n;
            double squares = channel_sum(&w, c, a->in[0], mean, a->in[0], mean);
            variance = squares / (double)w.n;
            a->dparam[RUNNING_MEAN][c] = (float)mean;
            a->dparam[RUNNING_VAR][c] = (float)(squares / (double)(w.n - 1));
            saved_mean[c] = (float)mean;
            saved_rstd[c] = (float)(1 / sqrt(variance + at->eps));
        }
        affine f = {.mean = mean,
                    .scale = (double)a->param[WEIGHT][c] / sqrt(variance + at->eps),
                    .shift = (double)a->param[BIAS][c]};
        channel_map(&w, c, f, a->in[0], NULL, a->out);
    }
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    channel_walk w = walk_of(&k->in[0].shape);
    const float *mean = a->saved, *rstd = mean + w.channels;
    for (int64_t c = 0; c < w.channels; c++) {
        a->dparam[BIAS][c] = (float)channel_sum(&w, c, a->dout, 0, NULL, 0);
        a->dparam[WEIGHT][c] = (float)(channel_sum(&w, c, a->dout, 0, a->in[0], (double)mean[c]) * (double)rstd[c]);
    }
}

/* Computes din = weight * rstd * (dout - mean of dout - x^ * mean of (dout * x^)) */
static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    channel_walk w = walk_of(&k->in[0].shape);
    const float *means = a->saved, *rstds = means + w.channels;
    for (int64_t c = 0; c < w.channels; c++) {
        double mean = (double)means[c], rstd = (double)rstds[c], slope = (double)a->param[WEIGHT][c] * rstd;
        double mean_dout = channel_sum(&w, c, a->dout, 0, NULL, 0) / (double)w.n;
        double mean_product = channel_sum(&w, c, a->dout, 0, a->in[0], mean) * rstd / (double)w.n;
        affine f = {.mean = mean, .scale = -slope * mean_product * rstd, .shift = -slope * mean_dout, .slope = slope};
        channel_map(&w, c, f, a->in[0], a->dout, a->din[0]);
    }
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_batch_norm = {
    .name = "batch-norm",
    .fields = {fields, sizeof fields / sizeof *fields},
    .attrs_bytes = sizeof(tutti_batch_norm_attrs),
    .ninputs = 1,
    .relu_at = offsetof(tutti_batch_norm_attrs, relu),
    .takes_addend = true,
    .infer = infer,
    .params = params,
    .flops = flops,
    .reference = &reference,
};
