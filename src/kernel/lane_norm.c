/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm.c: batch normalisation of our own, with what may be fused: out = relu(normalised in[0] + in[1]). In 16 bits it reads
 * and writes half as much; arithmetic and sums are those of f32.
 *
 * It is bound by memory, so what counts is how often numbers are read. Forward reads the input twice and writes the output;
 * both gradients come from one reduction, and backward_params makes both at once, panel by panel, so that input and gradient are
 * read a second time while they are in a cache. (Run apart, it leaves the sums in saved for backward_data.) The library's reads the input three times forward, does the reduction in both backward passes, and cannot add.
 *
 * Under a ReLU the gradient's mask is found by computing the normalised number again; where something was added, from one
 * bit a number in saved. Then the first backward pass masks dout in place, and that is the gradient of in[1].
 *
 * saved, for Cp channels, padding included: mean, 1 / sqrt(variance + eps), mean gradient, its slope over x; then the bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../tensor/elementwise.h"
#include "kernel_impl.h"
#include "lane_norm_impl.h"

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };
enum { SAVED_MEAN, SAVED_RSTD, SAVED_OFFSET, SAVED_SLOPE, NSAVED };
enum { TILE_FLOATS = 4096 }; /* of a tile: a third of an L1 cache */
/* Larger results are written past the caches: that saves reading each line first. 16 x 512 x 28 x 28: forward 4.1 -> 2.4 ms,
 * input gradient 4.4 -> 2.2 ms, and the convolution that reads them takes as long as before. */
enum { STREAM_BYTES = 1 << 20, ALIGNMENT = 64 };

typedef struct {
    const tutti_lane_norm_row *row;
    tutti_lane_walk walk;
    int64_t channels, padded, n; /* n: values of a channel */
} lane_norm;

static const tutti_lane_norm_row *row_here(void)
{
    for (int i = 0; i < tutti_lane_norm_nrows; i++)
        if (strcmp(tutti_lane_norm_rows[i]->name, tutti_elementwise_isa()) == 0) return tutti_lane_norm_rows[i];
    return tutti_lane_norm_rows[tutti_lane_norm_nrows - 1];
}

/* All channels of a position lie together: (B, C), or NHWC. */
static bool walk_innermost(const tutti_value *v, tutti_lane_walk *w)
{
    const int64_t *n = v->shape.dim;
    const tutti_layout *l = v->layout;
    const int64_t plane = v->shape.ndims == 4 ? n[2] * n[3] : 1;
    if (!l && plane > 1) return false;
    if (l) {
        bool packed = l->ninner == 0 && (n[1] == 1 || l->stride[1] == 1) && (n[3] == 1 || l->stride[3] == n[1]) &&
                      (n[2] == 1 || l->stride[2] == n[3] * n[1]) && (n[0] == 1 || l->stride[0] == plane * n[1]);
        if (!packed || v->bytes != (size_t)tutti_shape_count(&v->shape) * tutti_dtype_bytes(v->dtype)) return false;
    }
    *w = (tutti_lane_walk){
        .npanels = 1, .nchannels = n[1], .nruns = 1, .npositions = n[0] * plane, .position_step = n[1]};
    return true;
}

/* Blocks of channels: nChw16c, nChw8c. */
static bool walk_blocked(const tutti_value *v, tutti_lane_walk *w)
{
    const int64_t *n = v->shape.dim;
    const tutti_layout *l = v->layout;
    if (!l || v->shape.ndims != 4 || l->ninner != 1 || l->inner_dim[0] != 1) return false;
    const int64_t block = l->inner_block[0];
    if ((n[3] > 1 && l->stride[3] != block) || (n[2] > 1 && l->stride[2] != n[3] * block)) return false;
    for (int d = 0; d < 4; d++)
        if (d != 1 && l->padded[d] != n[d]) return false;
    *w = (tutti_lane_walk){.npanels = l->padded[1] / block,
                           .panel_step = l->stride[1],
                           .nchannels = block,
                           .nruns = n[0],
                           .run_step = l->stride[0],
                           .npositions = n[2] * n[3],
                           .position_step = block};
    return true;
}

static bool same_layout(const tutti_layout *a, const tutti_layout *b)
{
    if (!a || !b) return a == b;
    bool same = a->ninner == b->ninner;
    for (int d = 0; d < TUTTI_MAX_DIMS && same; d++)
        same = a->stride[d] == b->stride[d] && a->padded[d] == b->padded[d];
    for (int i = 0; i < a->ninner && same; i++)
        same = a->inner_block[i] == b->inner_block[i] && a->inner_dim[i] == b->inner_dim[i];
    return same;
}

static bool find_walk(const tutti_kernel *k, lane_norm *s)
{
    tutti_lane_walk *w = &s->walk;
    for (int i = 0; i < k->ninputs; i++)
        if (k->in[i].dtype != k->in[0].dtype || !same_layout(k->in[i].layout, k->in[0].layout)) return false;
    if (!walk_innermost(&k->in[0], w) && !walk_blocked(&k->in[0], w)) return false;
    if (w->nchannels % s->row->width) return false;
    w->tile = TILE_FLOATS / w->position_step;
    if (w->tile < 16) w->tile = 16;
    s->channels = k->in[0].shape.dim[1];
    s->padded = w->npanels * w->nchannels;
    s->n = w->nruns * w->npositions;
    return true;
}

bool tutti_lane_norm_fits(const tutti_kernel *k)
{
    lane_norm s = {.row = row_here()};
    return find_walk(k, &s);
}

static bool keeps_bits(const tutti_kernel *k)
{
    const tutti_batch_norm_attrs *at = k->attrs;
    return at->relu && k->ninputs > 1;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    if (r->training && tutti_op_batch_norm_needs(k, err) != TUTTI_OK) return TUTTI_ERR_USAGE;
    lane_norm *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->row = row_here();
    if (!find_walk(k, s) || k->in[0].dtype != tutti_precision_dtype(r->precision) || r->nthreads > 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "channels of op %s do not lie side by side in whole vectors",
                          k->op->name);
    k->out.dtype = k->in[0].dtype;
    k->out.layout = k->in[0].layout;
    k->out.bytes = k->in[0].bytes;
    k->scratch_bytes = (size_t)s->padded * (2 * sizeof(double) + 3 * sizeof(float));
    if (!r->training) return TUTTI_OK;
    k->saved_bytes = NSAVED * (size_t)s->padded * sizeof(float);
    if (keeps_bits(k)) k->saved_bytes += (size_t)(s->n * s->padded / s->row->width * s->row->bits_bytes);
    k->joint_backward = true;
    if (k->ninputs > 1) k->passes_gradient = 2;
    k->writes_dout = keeps_bits(k);
    k->max_dout_parts = keeps_bits(k) ? 2 : 0;
    return TUTTI_OK;
}

static void destroy(tutti_kernel *k)
{
    free(k->state);
}

static float *saved_at(const lane_norm *s, const tutti_kernel_args *a, int which)
{
    return (float *)a->saved + which * s->padded;
}

/* Where everything lies. Scratch: sum, product, scale, shift, center or, in evaluation, mean. */
static tutti_lane_call call_of(const tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_batch_norm_attrs *at = k->attrs;
    const lane_norm *s = k->state;
    double *doubles = a->scratch;
    float *floats = (float *)(doubles + 2 * s->padded);
    tutti_lane_call c = {.walk = s->walk,
                         .type = k->out.dtype,
                         .in = a->in[0],
                         .added = k->ninputs > 1 ? a->in[1] : NULL,
                         .out = a->out,
                         .dout = a->dout,
                         .given = a->ndout_parts ? a->dout_parts[0] : a->dout,
                         .more = a->ndout_parts > 1 ? a->dout_parts[1] : NULL,
                         .din = a->din[0],
                         .relu = at->relu,
                         .sum = doubles,
                         .product = doubles + s->padded,
                         .center = floats + 2 * s->padded,
                         .at = {.mean = floats + 2 * s->padded, .scale = floats, .shift = floats + s->padded}};
    if (a->training) {
        c.at.mean = saved_at(s, a, SAVED_MEAN);
        c.at.offset = saved_at(s, a, SAVED_OFFSET);
        c.at.slope = saved_at(s, a, SAVED_SLOPE);
        if (keeps_bits(k)) c.bits = saved_at(s, a, NSAVED);
    }
    c.streams = k->out.bytes >= STREAM_BYTES && ((uintptr_t)c.out | (uintptr_t)c.din) % ALIGNMENT == 0;
    return c;
}

/* Scale and shift of a panel's channels; 0 in the padding. */
static void fill_coefficients(const lane_norm *s, const tutti_kernel_args *a, const tutti_lane_call *c, int64_t panel,
                              const float *rstd)
{
    float *scale = (float *)c->at.scale, *shift = (float *)c->at.shift;
    const int64_t first = panel * s->walk.nchannels;
    for (int64_t ch = first; ch < first + s->walk.nchannels; ch++) {
        scale[ch] = ch < s->channels ? a->param[WEIGHT][ch] * rstd[ch] : 0;
        shift[ch] = ch < s->channels ? a->param[BIAS][ch] : 0;
    }
}

static void clear_sums(const lane_norm *s, const tutti_lane_call *c, int64_t panel)
{
    const int64_t first = panel * s->walk.nchannels;
    memset(c->sum + first, 0, (size_t)s->walk.nchannels * sizeof *c->sum);
    memset(c->product + first, 0, (size_t)s->walk.nchannels * sizeof *c->product);
}

/* Mean of the first tile. */
static void find_center(const lane_norm *s, const tutti_lane_call *c, int64_t panel)
{
    tutti_lane_call start = *c;
    const int64_t first = panel * s->walk.nchannels;
    start.walk.nruns = 1;
    if (start.walk.npositions > start.walk.tile) start.walk.npositions = start.walk.tile;
    clear_sums(s, c, panel);
    memset(c->center + first, 0, (size_t)s->walk.nchannels * sizeof *c->center);
    s->row->sums(&start, panel);
    for (int64_t ch = first; ch < first + s->walk.nchannels; ch++)
        c->center[ch] = (float)(c->sum[ch] / (double)start.walk.npositions);
}

static void find_statistics(const tutti_kernel *k, const tutti_kernel_args *a, const tutti_lane_call *c, int64_t panel)
{
    const tutti_batch_norm_attrs *at = k->attrs;
    const lane_norm *s = k->state;
    float *mean = saved_at(s, a, SAVED_MEAN), *rstd = saved_at(s, a, SAVED_RSTD);
    const int64_t first = panel * s->walk.nchannels;
    find_center(s, c, panel);
    clear_sums(s, c, panel);
    s->row->sums(c, panel);
    for (int64_t ch = first; ch < first + s->walk.nchannels; ch++) {
        const double shift = c->sum[ch] / (double)s->n;
        double squares = c->product[ch] - c->sum[ch] * shift;
        if (squares < 0) squares = 0;
        mean[ch] = (float)((double)c->center[ch] + shift);
        rstd[ch] = (float)(1 / sqrt(squares / (double)s->n + at->eps));
        if (ch >= s->channels) continue;
        a->dparam[RUNNING_MEAN][ch] = mean[ch];
        a->dparam[RUNNING_VAR][ch] = (float)(squares / (double)(s->n - 1));
    }
}

static void take_running(const tutti_kernel *k, const tutti_kernel_args *a, const tutti_lane_call *c)
{
    const tutti_batch_norm_attrs *at = k->attrs;
    const lane_norm *s = k->state;
    float *rstd = (float *)(void *)c->sum; /* free here */
    for (int64_t ch = 0; ch < s->padded; ch++) {
        const bool is = ch < s->channels;
        ((float *)c->at.mean)[ch] = is ? a->param[RUNNING_MEAN][ch] : 0;
        rstd[ch] = is ? (float)(1 / sqrt((double)a->param[RUNNING_VAR][ch] + at->eps)) : 0;
    }
    for (int64_t panel = 0; panel < s->walk.npanels; panel++) fill_coefficients(s, a, c, panel, rstd);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const lane_norm *s = k->state;
    const tutti_lane_call c = call_of(k, a);
    if (!a->training) take_running(k, a, &c);
    for (int64_t panel = 0; panel < s->walk.npanels; panel++) {
        if (a->training) {
            find_statistics(k, a, &c, panel);
            fill_coefficients(s, a, &c, panel, saved_at(s, a, SAVED_RSTD));
        }
        s->row->normalise(&c, panel);
    }
}

/* din = scale * (gradient - mean of gradient - x^ * mean of (gradient * x^)), x^ = (x - mean) * rstd */
static void reduce_panel(const tutti_kernel *k, const tutti_kernel_args *a, const tutti_lane_call *c, int64_t panel)
{
    const lane_norm *s = k->state;
    const float *rstd = saved_at(s, a, SAVED_RSTD);
    float *offset = saved_at(s, a, SAVED_OFFSET), *slope = saved_at(s, a, SAVED_SLOPE);
    const int64_t first = panel * s->walk.nchannels;
    clear_sums(s, c, panel);
    s->row->gradient_sums(c, panel);
    for (int64_t ch = first; ch < first + s->walk.nchannels; ch++) {
        const double r = (double)rstd[ch];
        offset[ch] = (float)(c->sum[ch] / (double)s->n);
        slope[ch] = (float)(c->product[ch] * r * r / (double)s->n);
        if (ch >= s->channels) continue;
        a->dparam[BIAS][ch] = (float)c->sum[ch];
        a->dparam[WEIGHT][ch] = (float)(c->product[ch] * r);
    }
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const lane_norm *s = k->state;
    const tutti_lane_call c = call_of(k, a);
    for (int64_t panel = 0; panel < s->walk.npanels; panel++) {
        fill_coefficients(s, a, &c, panel, saved_at(s, a, SAVED_RSTD));
        reduce_panel(k, a, &c, panel);
        if (k->joint_backward && c.din) s->row->gradient(&c, panel);
    }
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const lane_norm *s = k->state;
    const tutti_lane_call c = call_of(k, a);
    for (int64_t panel = s->walk.npanels; panel-- > 0;) { /* what backward_params read last may be in a cache */
        fill_coefficients(s, a, &c, panel, saved_at(s, a, SAVED_RSTD));
        s->row->gradient(&c, panel);
    }
}

const tutti_kernel_row tutti_lane_norm = {
    .engine = "onednn",
    .fuses = true,
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
