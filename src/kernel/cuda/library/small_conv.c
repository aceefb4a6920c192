/* SPDX-License-Identifier: Apache-2.0 */
/* small_conv.c: plans and launches the kernels of small_conv.cu: f32 convolutions with few channels. */
#include "small_conv.h"

#include <stdio.h>

#include "../cuda_rows.h"

/* These repeat constants of small_conv.cu. */
enum { ROWS = 32, THREADS = 256, COLUMNS = 64, MOST_COLUMNS = 1280, NSIZES = 3, LANES = 4, PARTS = 8 };
enum { BLOCKS_EACH = 2 /* number of blocks that a multiprocessor runs at the same time */, LEAST_SLAB = 2 * ROWS };
/* number of filters and of positions of a tile, for each of the NSIZES tile sizes */
static const int filters_of[NSIZES] = {16, 32, 64}, positions_of[NSIZES] = {64, 32, 32};

typedef struct {
    const float *in;
    int32_t positions, height, width, out_height, out_width, groups, channels, filters, window, stride, pad, columns;
} patches_form;

typedef struct {
    const float *weights, *bias;
    float *to;
    int32_t flipped, relu;
} patches_filters;

/* ---- shapes ---- */

/* Returns the convolution of stride 1 that computes the gradients of s's inputs from the gradients of s's outputs. */
static tutti_cudnn_shape turned(const tutti_cudnn_shape *s)
{
    tutti_cudnn_shape t = *s;
    t.in_channels = s->out_channels, t.in_height = s->out_height, t.in_width = s->out_width;
    t.out_channels = s->in_channels, t.out_height = s->in_height, t.out_width = s->in_width;
    t.pad = s->kernel - 1 - s->pad;
    return t;
}

static patches_form form_of(const tutti_cudnn_shape *s, const void *in)
{
    const int64_t channels = s->in_channels / s->groups;
    return (patches_form){.in = in,
                          .positions = (int32_t)(s->batch * s->out_height * s->out_width),
                          .height = (int32_t)s->in_height,
                          .width = (int32_t)s->in_width,
                          .out_height = (int32_t)s->out_height,
                          .out_width = (int32_t)s->out_width,
                          .groups = (int32_t)s->groups,
                          .channels = (int32_t)channels,
                          .filters = (int32_t)(s->out_channels / s->groups),
                          .window = (int32_t)s->kernel,
                          .stride = (int32_t)s->stride,
                          .pad = (int32_t)s->pad,
                          .columns = (int32_t)(s->kernel * s->kernel * channels)};
}

/* Returns the smallest tile that holds all filters, or the largest tile. */
static int size_of(int64_t filters)
{
    int size = 0;
    while (size < NSIZES - 1 && filters_of[size] < filters) size++;
    return size;
}

static int64_t divide_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* ---- which passes our kernels compute ---- */

/* True if the shape is small enough for our kernels: they count a value's elements in 31 bits, rows in 20 bits and
 * places in a window in 15 bits. */
static bool is_countable(const tutti_cudnn_shape *s)
{
    const int64_t in = s->in_channels * s->in_height * s->in_width,
                  out = s->out_channels * s->out_height * s->out_width;
    return s->batch * (in > out ? in : out) < INT32_MAX && s->in_height < 1 << 19 && s->in_width < 1 << 19 &&
           s->out_height < 1 << 19 && s->out_width < 1 << 19 && s->kernel < 1 << 15 &&
           s->out_channels * s->kernel * s->kernel * s->in_channels < INT32_MAX;
}

/* True where our kernels are faster: the library's deterministic f32 convolutions are made for many channels. The
 * library's microseconds on an H200, 64 samples:
 *
 *                                       weights   data  forward
 *     LeNet, 1 to 20, 5x5                   145     78       14
 *     LeNet, 20 to 50, 5x5                  199     41       25
 *     ResNet-20, image to 16                268
 *     ResNet-20, 16 of 32x32            235-250  45-51    43-50
 *     ResNet-20, 16 to 32, stride 2         702     42
 *     ResNet-20, 64 of 8x8                   76
 *
 * These are 0.2 to 7 TFLOP/s. With AlexNet's 64 to 192 filters of 5x5 the library reaches 20 to 38 TFLOP/s. So our
 * kernels take all convolutions of few filters, whose tiles the library leaves empty, and those of more filters that
 * have little arithmetic. The library also computes grouped convolutions and input gradients whose filters would leave
 * half of our smallest tile empty. */
bool tutti_small_conv_fits(const tutti_cudnn_shape *s, tutti_kernel_pass pass)
{
    enum { FEW_FILTERS = 32, MORE_FILTERS = 64, LEAST_FILTERS = 8 };
    const double little = 2e9; /* number of multiplications up to which a convolution counts as little work */
    const bool is_data = pass == TUTTI_PASS_DATA, is_params = pass == TUTTI_PASS_PARAMS;
    if (s->type != TUTTI_F32 || s->rows || !is_countable(s) || (is_data && s->stride != 1)) return false;
    if (pass != TUTTI_PASS_FORWARD && !s->training) return false;
    const tutti_cudnn_shape t = is_data ? turned(s) : *s;
    const patches_form f = form_of(&t, NULL);
    const double work = (double)f.positions * f.groups * f.filters * f.columns;
    if ((s->groups > 1 || is_data) && f.filters < LEAST_FILTERS) return false;
    if (f.filters > FEW_FILTERS && work > little) return false;
    return is_params || (f.filters <= MORE_FILTERS && f.columns <= MOST_COLUMNS);
}

bool tutti_small_conv_sums(const tutti_small_conv *s, tutti_kernel_pass pass)
{
    return s->cuda && tutti_small_conv_fits(&s->shape, pass);
}

/* ---- preparing ---- */

/* Cuts the positions into slabs, as many as there are blocks of threads that the card runs at the same time. */
static void share_out(tutti_small_conv *s, int multiprocessors)
{
    const patches_form f = form_of(&s->shape, NULL);
    const int64_t filters = filters_of[size_of(f.filters)];
    const int64_t tiles = divide_up(f.columns, COLUMNS) * divide_up(f.filters, filters) * f.groups;
    const int64_t room = BLOCKS_EACH * multiprocessors / tiles;
    int64_t n = divide_up(f.positions, LEAST_SLAB);
    if (n > room) n = room > 1 ? room : 1;
    s->slab = divide_up(divide_up(f.positions, n), ROWS) * ROWS;
    s->nslabs = divide_up(f.positions, s->slab);
}

/* Writes an entry's name: "outputs_16_4" has tiles of 16 filters and reads channels by fours. */
static void name_of(const char *what, const tutti_cudnn_shape *s, char out[32])
{
    const patches_form f = form_of(s, NULL);
    snprintf(out, 32, "%s_%d_%d", what, filters_of[size_of(f.filters)], f.channels % LANES ? 1 : LANES);
}

tutti_status tutti_small_conv_begin(tutti_cuda *c, const tutti_cudnn_shape *s, tutti_small_conv *out,
                                    tutti_failure *err)
{
    const tutti_cudnn_shape t = turned(s);
    char weights[32], forward[32], data[32];
    *out = (tutti_small_conv){.shape = *s};
    share_out(out, tutti_cuda_card_of(c)->multiprocessors);
    name_of("weights", s, weights);
    name_of("outputs", s, forward);
    name_of("outputs", &t, data);
    const tutti_cuda_wanted wanted[] = {
        {weights, &out->weights}, {"slabs_sum", &out->slabs_sum}, {forward, &out->forward}, {data, &out->data}};
    const tutti_status st =
        tutti_cuda_find_all(c, tutti_kernel_texts, "small_conv", wanted, sizeof wanted / sizeof *wanted, err);
    if (!st) out->cuda = c;
    return st;
}

size_t tutti_small_conv_scratch(const tutti_small_conv *s)
{
    const patches_form f = form_of(&s->shape, NULL);
    return s->nslabs > 1 ? sizeof(float) * (size_t)(s->nslabs * f.groups * f.filters * f.columns) : 0;
}

/* ---- passes ---- */

/* Returns the number of tiles of filters, over all groups. */
static uint32_t filter_tiles(const patches_form *f)
{
    return (uint32_t)(divide_up(f->filters, filters_of[size_of(f->filters)]) * f->groups);
}

static void run_outputs(const tutti_small_conv *s, tutti_cuda_function function, patches_form *f, patches_filters *w)
{
    const uint32_t tiles = (uint32_t)divide_up(f->positions, positions_of[size_of(f->filters)]);
    tutti_cuda_run(s->cuda, function, (tutti_cuda_grid){{tiles, filter_tiles(f), 1}, {THREADS, 1, 1}, 0},
                   (void *[]){f, w});
}

void tutti_small_conv_forward(const tutti_small_conv *s, const tutti_cudnn_memory *m, const float *bias, bool relu)
{
    patches_form f = form_of(&s->shape, m->in);
    run_outputs(s, s->forward, &f, &(patches_filters){m->weights, bias, m->out, false, relu});
}

void tutti_small_conv_data(const tutti_small_conv *s, const tutti_cudnn_memory *m)
{
    const tutti_cudnn_shape t = turned(&s->shape);
    patches_form f = form_of(&t, m->out);
    run_outputs(s, s->data, &f, &(patches_filters){m->weights, NULL, m->in, true, false});
}

void tutti_small_conv_params(const tutti_small_conv *s, const tutti_cudnn_memory *m)
{
    patches_form f = form_of(&s->shape, m->in);
    const float *gradient = m->out;
    float *to = m->weights, *sums = s->nslabs > 1 ? m->workspace : to;
    int32_t slab = (int32_t)s->slab, nslabs = (int32_t)s->nslabs, n = f.groups * f.filters * f.columns;
    const uint32_t columns = (uint32_t)divide_up(f.columns, COLUMNS);
    tutti_cuda_run(s->cuda, s->weights,
                   (tutti_cuda_grid){{columns, filter_tiles(&f), (uint32_t)nslabs}, {THREADS, 1, 1}, 0},
                   (void *[]){&f, &gradient, &sums, &slab});
    if (nslabs == 1) return;
    tutti_cuda_run(s->cuda, s->slabs_sum, (tutti_cuda_grid){{(uint32_t)divide_up(n, 32)}, {32, PARTS}, 0},
                   (void *[]){&sums, &to, &n, &nslabs});
}
