/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm.c: tutti's own batch normalisation, in every order and type, by any number of threads, with a merged ReLU
 * and addend: out = relu(normalised in[0] + in[1]). Arithmetic and sums are those of f32.
 *
 * Memory bounds the speed, so the number of times that elements are read decides. Forward reads the input twice and
 * writes the output. Both gradients come from one reduction, and backward_params makes both at once, panel by panel, so
 * that input and gradient are in a cache when they are read a second time. (If it is run apart, it leaves the sums in
 * `saved` for backward_data.) The library reads the input three times in the forward pass, computes the reduction in
 * both backward passes, and cannot merge an addend.
 *
 * If a ReLU is merged, the backward pass finds the gradient's mask by computing the normalised element again. If an
 * addend is merged too, the mask is one bit for each element in `saved`. Then the first backward pass masks dout in
 * place, and the masked dout is the gradient of in[1].
 *
 * saved: for each channel, padding included, its mean, 1 / sqrt(variance + eps), the mean of the output's gradient, and
 * the slope of that gradient over x; then the mask's bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lane_norm_pass.h"

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };
enum { SAVED_MEAN, SAVED_RSTD, SAVED_OFFSET, SAVED_SLOPE, NSAVED };
/* Results larger than STREAM_BYTES are written past the caches: that saves reading each line first. 16 x 512 x 28 x 28:
 * forward 4.1 -> 2.4 ms, input gradient 4.4 -> 2.2 ms, and the convolution that reads them takes as long as before.
 * Only whole lines (LINE bytes) are written past the caches: with half lines (16 channels of bf16 a position, channels
 * last) a Xeon took 100 ns a store, because a partial line goes to memory in pieces. If the third level is larger than
 * 32 MiB, results smaller than 1 / CACHE_PARTS of it are written into it: on a Xeon that reports 480 MiB, elements that
 * were written past it are read again at 10 GB/s, others at 30.
 *
 * Memory is prefetched FETCHED bytes ahead, because the processor's own prefetching ends with each page. On that Xeon,
 * reading 52 MiB: 17 -> 30 GB/s. */
enum { STREAM_BYTES = 1 << 20, CACHE_PARTS = 32, LINE = 64, FETCHED = 2048 };

static bool is_walkable(const tutti_kernel *k, int nthreads, tutti_norm_walk *w)
{
    for (int i = 1; i < k->ninputs; i++)
        if (k->in[i].dtype != k->in[0].dtype || !tutti_order_same(&k->in[i], &k->in[0])) return false;
    return tutti_norm_walk_of(&k->in[0], nthreads, w);
}

static size_t stream_bytes(void)
{
    const long third = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return third / CACHE_PARTS > STREAM_BYTES ? (size_t)(third / CACHE_PARTS) : STREAM_BYTES;
}

static bool keeps_bits(const tutti_kernel *k)
{
    const tutti_batch_norm_attrs *at = k->attrs;
    return at->relu && k->ninputs > 1;
}

/* True if the addend has another order than the input. fused_adapter.c reorders it, but reads f32 (half_adapter.c
 * converts 16 bits to f32). */
static bool is_moved(const tutti_kernel *k, const tutti_kernel_request *r)
{
    return keeps_bits(k) && r->precision == TUTTI_PRECISION_F32 && k->in[0].dtype == TUTTI_F32 &&
           k->in[1].dtype == TUTTI_F32 && !tutti_order_same(&k->in[1], &k->in[0]);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    if (is_moved(k, r)) {
        k->row = &tutti_kernel_fused_adapter;
        return k->row->create(k, r, err);
    }
    if (r->training && tutti_op_batch_norm_needs(k, err) != TUTTI_OK) return TUTTI_ERR_USAGE;
    tutti_norm_walk *w = tutti_alloc(sizeof *w);
    k->state = w;
    if (!is_walkable(k, r->nthreads, w) || k->in[0].dtype != tutti_precision_dtype(r->precision))
        return tutti_fail(err, TUTTI_ERR_USAGE, "inputs of op %s do not lie in one order and type", k->op->name);
    tutti_norm_walk_lanes(w, k->in[0].dtype);
    w->stream_bytes = stream_bytes();
    k->out.dtype = k->in[0].dtype;
    k->out.layout = k->in[0].layout;
    k->out.bytes = k->in[0].bytes;
    k->scratch_bytes = tutti_norm_walk_scratch(w);
    if (!r->training) return TUTTI_OK;
    k->saved_bytes = NSAVED * (size_t)w->padded * sizeof(float);
    if (keeps_bits(k)) k->saved_bytes += (size_t)(tutti_norm_walk_units(w) * 2 * w->row->width / 8);
    k->joint_backward = k->feeds_data = true;
    if (k->ninputs > 1) k->passes_gradient = 2;
    k->writes_dout = keeps_bits(k);
    k->max_dout_parts = keeps_bits(k) ? 2 : 0;
    return TUTTI_OK;
}

static void destroy(tutti_kernel *k)
{
    tutti_norm_walk *w = k->state;
    if (w) free(w->channel);
    free(w);
}

/* --- a pass --- */

/* The arguments that the callbacks of a tutti_norm_pass find in p->owner. */
typedef struct {
    const tutti_kernel *k;
    const tutti_kernel_args *a;
} run;

static float *saved_at(const tutti_norm_pass *p, int which)
{
    const run *r = p->owner;
    return (float *)r->a->saved + which * p->walk->padded;
}

static bool may_stream(const tutti_norm_pass *p, size_t bytes)
{
    const size_t steps = ((size_t)p->walk->run_step | (size_t)p->walk->at.block_step) * tutti_dtype_bytes(p->call.type);
    return bytes >= p->walk->stream_bytes && (steps | (uintptr_t)p->call.out | (uintptr_t)p->call.din) % LINE == 0;
}

static tutti_norm_pass pass_of(run *r)
{
    const tutti_kernel *k = r->k;
    const tutti_kernel_args *a = r->a;
    const tutti_batch_norm_attrs *at = k->attrs;
    tutti_norm_pass p = {.walk = k->state, .scratch = a->scratch, .owner = r};
    p.call = (tutti_norm_call){.type = k->out.dtype,
                               .period = p.walk->period,
                               .in = a->in[0],
                               .added = k->ninputs > 1 ? a->in[1] : NULL,
                               .out = a->out,
                               .dout = a->dout,
                               .given = a->ndout_parts ? a->dout_parts[0] : a->dout,
                               .more = a->ndout_parts > 1 ? a->dout_parts[1] : NULL,
                               .din = a->din[0],
                               .relu = at->relu,
                               .ahead = FETCHED};
    if (a->training && keeps_bits(k)) p.call.bits = saved_at(&p, NSAVED);
    p.call.streams = may_stream(&p, k->out.bytes);
    tutti_norm_pass_begin(&p);
    return p;
}

/* The channels of a panel: `known` of them exist, the others are padding. */
typedef struct {
    int64_t first, known, end;
} channels;

static channels channels_of(const tutti_norm_pass *p, int64_t panel)
{
    const tutti_blocks *b = &p->walk->at;
    const channels c = {panel * b->block, b->channels, (panel + 1) * b->block};
    return (channels){c.first, c.known < c.end ? c.known : c.end, c.end};
}

/* Writes scale and shift of a panel's channels; 0 in the padding. */
static void find_scales(const tutti_norm_pass *p, int64_t panel, const float *rstd)
{
    const run *r = p->owner;
    const channels at = channels_of(p, panel);
    float *scale = p->channels[TUTTI_NORM_SCALE], *shift = p->channels[TUTTI_NORM_SHIFT];
    for (int64_t ch = at.first; ch < at.end; ch++) {
        scale[ch] = ch < at.known ? r->a->param[WEIGHT][ch] * rstd[ch] : 0;
        shift[ch] = ch < at.known ? r->a->param[BIAS][ch] : 0;
    }
}

/* --- forward --- */

/* Finds a value near the mean of each channel. The value is subtracted before squares are summed, so that the variance
 * loses no digits by cancellation. */
static void find_center(const tutti_norm_pass *p, int64_t panel, const tutti_norm_lanes *l)
{
    tutti_norm_pass_first_mean(p, panel, l, p->channels[TUTTI_NORM_MEAN] + channels_of(p, panel).first);
}

static void find_statistics(const tutti_norm_pass *p, int64_t panel)
{
    const run *r = p->owner;
    const tutti_batch_norm_attrs *attrs = r->k->attrs;
    const channels at = channels_of(p, panel);
    const double n = (double)p->walk->n;
    float *mean = saved_at(p, SAVED_MEAN), *rstd = saved_at(p, SAVED_RSTD), *center = p->channels[TUTTI_NORM_MEAN];
    for (int64_t ch = at.first; ch < at.end; ch++) {
        double sum, product;
        tutti_norm_pass_sums(p, panel, ch - at.first, &sum, &product);
        double squares = product - sum * (sum / n);
        if (squares < 0) squares = 0;
        center[ch] = mean[ch] = (float)((double)center[ch] + sum / n);
        rstd[ch] = (float)(1 / sqrt(squares / n + attrs->eps));
        if (ch >= at.known) continue;
        r->a->dparam[RUNNING_MEAN][ch] = mean[ch];
        r->a->dparam[RUNNING_VAR][ch] = (float)(squares / (n - 1));
    }
    find_scales(p, panel, rstd);
}

static void take_running(const tutti_norm_pass *p, int64_t panel, const tutti_norm_lanes *l)
{
    const run *r = p->owner;
    const tutti_batch_norm_attrs *attrs = r->k->attrs;
    const channels at = channels_of(p, panel);
    float *rstd = p->channels[TUTTI_NORM_TILT]; /* this table is free in the forward pass */
    (void)l;
    for (int64_t ch = at.first; ch < at.end; ch++) {
        const bool is = ch < at.known;
        p->channels[TUTTI_NORM_MEAN][ch] = is ? r->a->param[RUNNING_MEAN][ch] : 0;
        rstd[ch] = is ? (float)(1 / sqrt((double)r->a->param[RUNNING_VAR][ch] + attrs->eps)) : 0;
    }
    find_scales(p, panel, rstd);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    run r = {k, a};
    tutti_norm_pass p = pass_of(&r);
    const tutti_norm_loops *loops = &p.walk->row->norm;
    p.before = a->training ? find_center : take_running;
    p.sums = a->training ? loops->sums : NULL;
    p.between = find_statistics;
    p.map = loops->normalise;
    tutti_norm_pass_run(&p);
}

/* --- backward: tables for the gradients --- */

static void take_saved(const tutti_norm_pass *p, int64_t panel, const tutti_norm_lanes *l)
{
    const channels at = channels_of(p, panel);
    (void)l;
    memcpy(p->channels[TUTTI_NORM_MEAN] + at.first, saved_at(p, SAVED_MEAN) + at.first,
           (size_t)(at.end - at.first) * sizeof(float));
    find_scales(p, panel, saved_at(p, SAVED_RSTD));
}

/* Prepares tilt and drop of a panel, for din = scale * (gradient - offset - slope * (x - mean)). offset: the mean
 * gradient; slope: its slope over x. */
static void take_slopes(const tutti_norm_pass *p, int64_t panel)
{
    const channels at = channels_of(p, panel);
    const float *offset = saved_at(p, SAVED_OFFSET), *slope = saved_at(p, SAVED_SLOPE);
    for (int64_t ch = at.first; ch < at.end; ch++) {
        const float scale = p->channels[TUTTI_NORM_SCALE][ch];
        p->channels[TUTTI_NORM_TILT][ch] = -scale * slope[ch];
        p->channels[TUTTI_NORM_DROP][ch] = -scale * offset[ch];
    }
}

static void take_saved_slopes(const tutti_norm_pass *p, int64_t panel, const tutti_norm_lanes *l)
{
    take_saved(p, panel, l);
    take_slopes(p, panel);
}

static void find_slopes(const tutti_norm_pass *p, int64_t panel)
{
    const run *r = p->owner;
    const channels at = channels_of(p, panel);
    const float *rstd = saved_at(p, SAVED_RSTD);
    float *offset = saved_at(p, SAVED_OFFSET), *slope = saved_at(p, SAVED_SLOPE);
    for (int64_t ch = at.first; ch < at.end; ch++) {
        const double root = (double)rstd[ch], n = (double)p->walk->n;
        double sum, product;
        tutti_norm_pass_sums(p, panel, ch - at.first, &sum, &product);
        offset[ch] = (float)(sum / n);
        slope[ch] = (float)(product * root * root / n);
        if (ch >= at.known || !r->a->dparam[BIAS]) continue;
        r->a->dparam[BIAS][ch] = (float)sum;
        r->a->dparam[WEIGHT][ch] = (float)(product * root);
    }
    take_slopes(p, panel);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    run r = {k, a};
    tutti_norm_pass p = pass_of(&r);
    const tutti_norm_loops *loops = &p.walk->row->norm;
    p.before = take_saved;
    p.sums = loops->gradient_sums;
    p.between = find_slopes;
    p.map = k->joint_backward && a->din[0] ? loops->gradient : NULL;
    tutti_norm_pass_run(&p);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    run r = {k, a};
    tutti_norm_pass p = pass_of(&r);
    p.before = take_saved_slopes;
    p.map = p.walk->row->norm.gradient;
    tutti_norm_pass_run(&p);
}

const tutti_kernel_row tutti_lane_norm = {
    .takes_halves = true,
    .fuses = true,
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
