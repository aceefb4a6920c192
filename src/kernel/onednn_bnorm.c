/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_bnorm.c: batch normalisation by oneDNN, in whatever order the input has. Where channels fill vectors and one thread
 * computes, lane_norm.c does it instead.
 *
 * saved: the batch's mean and variance (which divides by n), float. The library computes both gradients at once, the
 * parameters' one needs the other: backward_params leaves its input gradient in scratch, backward_data runs alone. */
#include "onednn_impl.h"

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };

static size_t channel_bytes(const tutti_kernel *k)
{
    return (size_t)k->in[0].shape.dim[1] * sizeof(float);
}

static void build_forward(tutti_kernel *k, tutti_onednn_state *s, bool training)
{
    const tutti_batch_norm_attrs *at = k->attrs;
    unsigned flags = dnnl_use_scale | dnnl_use_shift | (training ? 0 : dnnl_use_global_stats);
    tutti_onednn_ok(s,
                    dnnl_batch_normalization_forward_primitive_desc_create(
                        &s->forward_pd, s->engine, training ? dnnl_forward_training : dnnl_forward_inference, s->in,
                        s->in, (float)at->eps, flags, s->attr),
                    "find a batch normalisation");
    if (s->failed != dnnl_success) return;
    tutti_onednn_set_out(k, s->in);
    tutti_onednn_place mean = tutti_onednn_at(TUTTI_AT_SAVED, 0),
                       variance = tutti_onednn_at(TUTTI_AT_SAVED, channel_bytes(k));
    if (!training) {
        mean = tutti_onednn_at(TUTTI_AT_PARAM, RUNNING_MEAN);
        variance = tutti_onednn_at(TUTTI_AT_PARAM, RUNNING_VAR);
    }
    tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_SCALE, tutti_onednn_at(TUTTI_AT_PARAM, WEIGHT), NULL, false},
        {DNNL_ARG_SHIFT, tutti_onednn_at(TUTTI_AT_PARAM, BIAS), NULL, false},
        {DNNL_ARG_MEAN, mean, NULL, training},
        {DNNL_ARG_VARIANCE, variance, NULL, training},
        {DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), s->out, true},
    };
    tutti_onednn_add(s, &s->forward, s->forward_pd, args, 6);
}

/* One of the two backward passes: with the parameters' gradients or without. */
static void build_backward(tutti_kernel *k, tutti_onednn_state *s, bool with_params)
{
    const tutti_batch_norm_attrs *at = k->attrs;
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_batch_normalization_backward_primitive_desc_create(
                        &pd, s->engine, with_params ? dnnl_backward : dnnl_backward_data, s->in, s->out, s->in,
                        (float)at->eps, dnnl_use_scale | dnnl_use_shift, s->forward_pd, s->attr),
                    "find the gradient of a batch normalisation");
    if (s->failed != dnnl_success) return;
    tutti_onednn_pass *pass = with_params ? &s->backward_params : &s->backward_data;
    tutti_onednn_place din = tutti_onednn_at(TUTTI_AT_DIN, 0);
    tutti_onednn_place dweight = tutti_onednn_at(TUTTI_AT_DPARAM, WEIGHT),
                       dbias = tutti_onednn_at(TUTTI_AT_DPARAM, BIAS);
    size_t channels = (channel_bytes(k) + 63) / 64 * 64;
    if (with_params) {
        din = tutti_onednn_at(TUTTI_AT_SCRATCH, 0);
        pass->scratch_bytes = (k->in[0].bytes + 63) / 64 * 64;
    } else { /* the library wants the places even then */
        dweight = tutti_onednn_at(TUTTI_AT_SCRATCH, 0);
        dbias = tutti_onednn_at(TUTTI_AT_SCRATCH, channels);
        pass->scratch_bytes = 2 * channels;
    }
    tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_MEAN, tutti_onednn_at(TUTTI_AT_SAVED, 0), NULL, false},
        {DNNL_ARG_VARIANCE, tutti_onednn_at(TUTTI_AT_SAVED, channel_bytes(k)), NULL, false},
        {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out, false},
        {DNNL_ARG_SCALE, tutti_onednn_at(TUTTI_AT_PARAM, WEIGHT), NULL, false},
        {DNNL_ARG_DIFF_SRC, din, s->in, true},
        {DNNL_ARG_DIFF_SCALE, dweight, NULL, true},
        {DNNL_ARG_DIFF_SHIFT, dbias, NULL, true},
    };
    tutti_onednn_add(s, pass, pd, args, 8);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_batch_norm_attrs *at = k->attrs;
    if (r->nthreads <= 1 && tutti_lane_norm_fits(k)) {
        k->row = &tutti_lane_norm;
        return k->row->create(k, r, err);
    }
    if (at->relu) {
        k->row = &tutti_kernel_fused_adapter;
        return k->row->create(k, r, err);
    }
    if (r->training && tutti_op_batch_norm_needs(k, err) != TUTTI_OK) return TUTTI_ERR_USAGE;
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    if (s->failed == dnnl_success) build_forward(k, s, r->training);
    if (r->training) build_backward(k, s, true);
    if (r->training) build_backward(k, s, false);
    return tutti_onednn_finish(k, err);
}

/* The statistics' "gradients": the mean, and the variance as divided by n - 1. */
static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_onednn_forward(k, a);
    if (!a->training) return;
    int64_t channels = k->in[0].shape.dim[1], n = tutti_shape_count(&k->in[0].shape) / channels;
    const float *mean = a->saved, *variance = mean + channels;
    for (int64_t c = 0; c < channels; c++) {
        a->dparam[RUNNING_MEAN][c] = mean[c];
        a->dparam[RUNNING_VAR][c] = (float)((double)variance[c] * (double)n / (double)(n - 1));
    }
}

const tutti_kernel_row tutti_onednn_batch_norm = {
    .engine = "onednn",
    .fuses = true,
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = forward,
    .backward_params = tutti_onednn_backward_params,
    .backward_data = tutti_onednn_backward_data,
};
