/* SPDX-License-Identifier: Apache-2.0 */
/* small_conv.c: shapes and grids of small_conv.cu. */
#include "small_conv.h"

#include "../cuda_rows.h"

/* As small_conv.cu has them. */
enum { TILE = 64, STEP = 16, THREADS = 256, PARTS = 8, OUTPUTS_OF_BLOCK = 16 * THREADS };
/* Of a sum over a window, which a block goes through alone: 12 us for 25 terms, 36 for 144 (the library: 14 and 45), but 110 for 1,250 (41). */
enum { MOST_TERMS = 160 };

typedef struct {
    const float *from, *weights, *bias;
    float *to;
    int32_t batch, from_height, from_width, channels, to_height, to_width, filters, kernel, stride, pad;
    int32_t direction, of_filter, of_place, of_channel, relu;
} window_sum;

static const double MOST_FLOPS = 4e9; /* of a pass */

bool tutti_small_conv_fits(const tutti_cudnn_shape *s)
{
    const double positions = (double)s->batch * (double)s->out_height * (double)s->out_width;
    const double columns = (double)s->kernel * (double)s->kernel * (double)s->in_channels;
    return s->type == TUTTI_F32 && !s->rows && s->groups == 1 &&
           2 * positions * columns * (double)s->out_channels <= MOST_FLOPS &&
           (double)s->batch * (double)s->in_height * (double)s->in_width < INT32_MAX && positions < INT32_MAX;
}

static int64_t divide_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* Filters that a block takes: as few as hold them. */
static int wide_for(int64_t filters)
{
    return filters <= 16 ? 16 : filters <= 32 ? 32 : 64;
}

/* Blocks of both tiles and slabs fill the card about twice; a slab has at least four steps. */
static void share_out(tutti_small_conv *s, int multiprocessors)
{
    tutti_small_shape *h = &s->shape;
    const int64_t tiles = divide_up(h->columns, TILE) * divide_up(h->out_channels, TILE);
    int64_t slabs = divide_up(2 * (int64_t)multiprocessors, tiles);
    if (slabs > divide_up(h->positions, 4 * STEP)) slabs = divide_up(h->positions, 4 * STEP);
    h->slab = (int32_t)(divide_up(divide_up(h->positions, slabs), STEP) * STEP);
    s->slabs = (int32_t)divide_up(h->positions, h->slab);
}

tutti_status tutti_small_conv_begin(tutti_cuda *c, const tutti_cudnn_shape *s, tutti_small_conv *out,
                                    tutti_failure *err)
{
    static const char *const names[] = {"sum_windows_16", "sum_windows_32", "sum_windows_64"};
    *out = (tutti_small_conv){.batch = (int32_t)s->batch};
    out->shape = (tutti_small_shape){.in_channels = (int32_t)s->in_channels,
                                     .in_height = (int32_t)s->in_height,
                                     .in_width = (int32_t)s->in_width,
                                     .out_channels = (int32_t)s->out_channels,
                                     .out_height = (int32_t)s->out_height,
                                     .out_width = (int32_t)s->out_width,
                                     .kernel = (int32_t)s->kernel,
                                     .stride = (int32_t)s->stride,
                                     .pad = (int32_t)s->pad,
                                     .positions = (int32_t)(s->batch * s->out_height * s->out_width),
                                     .columns = (int32_t)(s->kernel * s->kernel * s->in_channels)};
    share_out(out, tutti_cuda_card_of(c)->multiprocessors);
    const tutti_cuda_wanted wanted[] = {{"weights_gradient", &out->weights_gradient},
                                        {"slabs_sum", &out->slabs_sum},
                                        {names[wide_for(s->out_channels) / 32], &out->forward},
                                        {names[wide_for(s->in_channels) / 32], &out->data}};
    const tutti_status st = tutti_cuda_find_all(c, "small_conv", wanted, sizeof wanted / sizeof *wanted, err);
    if (!st) out->cuda = c;
    return st;
}

size_t tutti_small_conv_scratch(const tutti_small_conv *s)
{
    return sizeof(float) * (size_t)s->slabs * (size_t)s->shape.out_channels * (size_t)s->shape.columns;
}

static void run_windows(const tutti_small_conv *s, tutti_cuda_function f, window_sum *w)
{
    const int wide = wide_for(w->filters), high = OUTPUTS_OF_BLOCK / wide;
    const int64_t positions = (int64_t)w->batch * w->to_height * w->to_width;
    const tutti_cuda_grid grid = {
        .blocks = {(uint32_t)divide_up(positions, high), (uint32_t)divide_up(w->filters, wide)}, .threads = {THREADS}};
    tutti_cuda_run(s->cuda, f, grid, (void *[]){w});
}

void tutti_small_conv_forward(const tutti_small_conv *s, const tutti_cudnn_memory *m, const float *bias, bool relu)
{
    const tutti_small_shape *h = &s->shape;
    window_sum w = {.from = m->in,
                    .weights = m->weights,
                    .bias = bias,
                    .to = m->out,
                    .batch = s->batch,
                    .from_height = h->in_height,
                    .from_width = h->in_width,
                    .channels = h->in_channels,
                    .to_height = h->out_height,
                    .to_width = h->out_width,
                    .filters = h->out_channels,
                    .kernel = h->kernel,
                    .stride = h->stride,
                    .pad = h->pad,
                    .direction = 1,
                    .of_filter = h->columns,
                    .of_place = h->in_channels,
                    .of_channel = 1,
                    .relu = relu};
    run_windows(s, s->forward, &w);
}

bool tutti_small_conv_sums(const tutti_small_conv *s, tutti_kernel_pass pass)
{
    const tutti_small_shape *h = &s->shape;
    if (!s->cuda) return false;
    if (pass == TUTTI_PASS_FORWARD) return h->columns <= MOST_TERMS;
    return pass == TUTTI_PASS_PARAMS || (h->stride == 1 && h->kernel * h->kernel * h->out_channels <= MOST_TERMS);
}

/* The window looks back: an input was seen from position y + pad - place. */
void tutti_small_conv_data(const tutti_small_conv *s, const tutti_cudnn_memory *m)
{
    const tutti_small_shape *h = &s->shape;
    window_sum w = {.from = m->out,
                    .weights = m->weights,
                    .to = m->in,
                    .batch = s->batch,
                    .from_height = h->out_height,
                    .from_width = h->out_width,
                    .channels = h->out_channels,
                    .to_height = h->in_height,
                    .to_width = h->in_width,
                    .filters = h->in_channels,
                    .kernel = h->kernel,
                    .stride = 1,
                    .pad = h->pad,
                    .direction = -1,
                    .of_filter = 1,
                    .of_place = h->in_channels,
                    .of_channel = h->columns};
    run_windows(s, s->data, &w);
}

void tutti_small_conv_params(const tutti_small_conv *s, const tutti_cudnn_memory *m)
{
    tutti_small_shape h = s->shape;
    const float *in = m->in, *gradient = m->out;
    float *partial = m->workspace, *to = m->weights;
    int32_t n = h.out_channels * h.columns, slabs = s->slabs;
    const tutti_cuda_grid tiles = {
        .blocks = {(uint32_t)divide_up(h.columns, TILE), (uint32_t)divide_up(h.out_channels, TILE), (uint32_t)slabs},
        .threads = {THREADS}};
    const tutti_cuda_grid sums = {.blocks = {(uint32_t)divide_up(n, 32)}, .threads = {32, PARTS}};
    tutti_cuda_run(s->cuda, s->weights_gradient, tiles, (void *[]){&in, &gradient, &partial, &h});
    tutti_cuda_run(s->cuda, s->slabs_sum, sums, (void *[]){&partial, &to, &n, &slabs});
}
