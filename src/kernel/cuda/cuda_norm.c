/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_norm.c: batch normalisation on a card, with a merged ReLU and addend. norm.cu computes rows of channels of one
 * type, which all layers have in training in 16 bits with channels last; norm_any.cu (cuda_norm_any.c) computes the
 * rest.
 *
 * Memory bounds the speed. For each element of 16 bits the forward pass moves 6 bytes, or 8.1 bytes with an addend.
 * Both gradients together move 10 bytes, or 12.1 bytes with an addend. Under a ReLU the gradient's mask is found by
 * computing the element again. If something was added, the mask is saved, one bit an element. Then backward_params
 * masks dout in place, and the masked dout is the gradient of the addend, so that gradient is not written again.
 *
 * saved: for each channel its mean, 1 / sqrt(variance + eps), the mean of the output's gradient, and the slope of that
 * gradient over x; then the mask. scratch: two f32 values for each slab and channel. The grid, and so the order of
 * sums, follows from the shape and the number of the card's multiprocessors. */
#include "cuda_norm.h"

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };

/* These repeat the declarations of norm.cu. A block of THREADS threads fits twice on a multiprocessor. */
enum { VECTOR = 8, THREADS = 320, TILE = 8, MOST_TILES = 1024, BLOCKS = 2 };

typedef struct {
    int64_t rows, slab;
    int32_t channels;
} rows_of_channels;

typedef struct {
    const void *x;
    void *partial;
    float *mean, *rstd, *batch_mean, *batch_variance;
    double eps;
} statistics_args;

typedef struct {
    const void *x, *added;
    void *y, *bits;
    const float *mean, *spread, *weight, *bias;
    double eps;
    int32_t runs, relu;
} apply_args;

typedef struct {
    const void *x, *given, *more;
    void *dout;
    const void *bits;
    void *partial;
    const float *mean, *rstd, *weight, *bias;
    float *offset, *slope, *dweight, *dbias;
} reduce_args;

typedef struct {
    const void *x, *dout;
    void *din;
    const float *mean, *rstd, *weight, *bias, *offset, *slope;
} gradient_args;

typedef struct {
    tutti_cuda *cuda;
    tutti_cuda_function statistics, apply, reduce, gradient;
    rows_of_channels rows;
    tutti_cuda_grid grid;
} norm;

static bool has_relu(const tutti_kernel *k)
{
    return ((const tutti_batch_norm_attrs *)k->attrs)->relu;
}

static bool keeps_bits(const tutti_kernel *k)
{
    return has_relu(k) && k->ninputs > 1;
}

static bool is_rows(const tutti_kernel *k)
{
    tutti_blocks b;
    bool fits = tutti_blocks_of(&k->in[0], &b) && b.block == b.channels && b.channels % VECTOR == 0 &&
                b.channels <= (int64_t)MOST_TILES * TILE * VECTOR;
    for (int i = 0; i < k->ninputs; i++)
        fits = fits && k->in[i].dtype == k->out.dtype && tutti_order_same(&k->in[i], &k->in[0]);
    return fits;
}

static int64_t divide_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to;
}

/* Divides the value into tiles of channels and slabs of positions, one block of threads for each pair, so that the
 * blocks fill the card once. Each tile gets the same number of slabs. All tiles have the same width. */
static void share_out(norm *s, const tutti_blocks *b)
{
    const int64_t blocks = (int64_t)BLOCKS * tutti_cuda_card_of(s->cuda)->multiprocessors, rows = b->batch * b->plane;
    const int64_t vectors = b->channels / VECTOR, tiles = divide_up(vectors, TILE), wide = divide_up(vectors, tiles);
    const int64_t high = THREADS / wide, most = divide_up(rows, high);
    int64_t slabs = blocks / tiles;
    if (slabs > most) slabs = most;
    if (slabs < 1) slabs = 1;
    s->rows = (rows_of_channels){rows, divide_up(rows, slabs), (int32_t)b->channels};
    slabs = divide_up(rows, s->rows.slab);
    s->grid =
        (tutti_cuda_grid){.blocks = {(uint32_t)tiles, (uint32_t)slabs}, .threads = {(uint32_t)wide, (uint32_t)high}};
}

static tutti_status find(norm *s, const tutti_kernel *k, bool training, tutti_failure *err)
{
    const char *reduce = keeps_bits(k) ? "reduce_by_bits" : has_relu(k) ? "reduce_by_formula" : "reduce";
    /* if the mask is saved, `reduce` has already applied it to dout */
    const bool masks = has_relu(k) && !keeps_bits(k);
    const tutti_cuda_wanted wanted[] = {{"apply", &s->apply},
                                        {"statistics", &s->statistics},
                                        {reduce, &s->reduce},
                                        {masks ? "gradient_by_formula" : "gradient", &s->gradient}};
    return tutti_cuda_find_by(s->cuda, "norm", tutti_dtype_name(k->out.dtype), wanted, training ? 4 : 1, err);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    tutti_status st = tutti_cuda_like_input(k, r, err);
    if (!st && r->training) st = tutti_op_batch_norm_needs(k, err);
    if (st) return st;
    if (!is_rows(k)) {
        k->row = &tutti_cuda_norm_any;
        return k->row->create(k, r, err);
    }
    tutti_blocks b;
    norm *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    tutti_blocks_of(&k->in[0], &b);
    share_out(s, &b);
    if (r->training) {
        k->saved_bytes = TUTTI_CUDA_NORM_SAVED * (size_t)b.channels * sizeof(float);
        if (keeps_bits(k)) k->saved_bytes += (size_t)(s->rows.rows * b.channels / VECTOR);
        k->scratch_bytes = (size_t)s->grid.blocks[1] * (size_t)b.channels * 2 * sizeof(float);
        k->feeds_data = true;
        k->passes_gradient = k->ninputs > 1 ? 2 : 0;
        k->writes_dout = keeps_bits(k);
        k->max_dout_parts = keeps_bits(k) ? 2 : 0;
    }
    return find(s, k, r->training, err);
}

static float *saved_at(const tutti_kernel *k, const tutti_kernel_args *a, int which)
{
    return (float *)a->saved + which * ((const norm *)k->state)->rows.channels;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    norm *s = k->state;
    const double eps = ((const tutti_batch_norm_attrs *)k->attrs)->eps;
    apply_args map = {.x = a->in[0],
                      .added = k->ninputs > 1 ? a->in[1] : NULL,
                      .y = a->out,
                      .mean = a->param[RUNNING_MEAN],
                      .spread = a->param[RUNNING_VAR],
                      .weight = a->param[WEIGHT],
                      .bias = a->param[BIAS],
                      .eps = eps,
                      .runs = !a->training,
                      .relu = has_relu(k)};
    if (a->training) {
        statistics_args sums = {.x = a->in[0],
                                .partial = a->scratch,
                                .mean = saved_at(k, a, TUTTI_CUDA_NORM_MEAN),
                                .rstd = saved_at(k, a, TUTTI_CUDA_NORM_RSTD),
                                .batch_mean = a->dparam[RUNNING_MEAN],
                                .batch_variance = a->dparam[RUNNING_VAR],
                                .eps = eps};
        tutti_cuda_run(s->cuda, s->statistics, s->grid, (void *[]){&sums, &s->rows});
        map.mean = sums.mean, map.spread = sums.rstd;
        if (keeps_bits(k)) map.bits = saved_at(k, a, TUTTI_CUDA_NORM_SAVED);
    }
    tutti_cuda_run(s->cuda, s->apply, s->grid, (void *[]){&map, &s->rows});
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    norm *s = k->state;
    reduce_args sums = {.x = a->in[0],
                        .given = a->ndout_parts ? a->dout_parts[0] : a->dout,
                        .more = a->ndout_parts > 1 ? a->dout_parts[1] : NULL,
                        .dout = a->dout,
                        .bits = saved_at(k, a, TUTTI_CUDA_NORM_SAVED),
                        .partial = a->scratch,
                        .mean = saved_at(k, a, TUTTI_CUDA_NORM_MEAN),
                        .rstd = saved_at(k, a, TUTTI_CUDA_NORM_RSTD),
                        .weight = a->param[WEIGHT],
                        .bias = a->param[BIAS],
                        .offset = saved_at(k, a, TUTTI_CUDA_NORM_OFFSET),
                        .slope = saved_at(k, a, TUTTI_CUDA_NORM_SLOPE),
                        .dweight = a->dparam[WEIGHT],
                        .dbias = a->dparam[BIAS]};
    tutti_cuda_run(s->cuda, s->reduce, s->grid, (void *[]){&sums, &s->rows});
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    norm *s = k->state;
    gradient_args map = {.x = a->in[0],
                         .dout = a->dout,
                         .din = a->din[0],
                         .mean = saved_at(k, a, TUTTI_CUDA_NORM_MEAN),
                         .rstd = saved_at(k, a, TUTTI_CUDA_NORM_RSTD),
                         .weight = a->param[WEIGHT],
                         .bias = a->param[BIAS],
                         .offset = saved_at(k, a, TUTTI_CUDA_NORM_OFFSET),
                         .slope = saved_at(k, a, TUTTI_CUDA_NORM_SLOPE)};
    if (a->din[0]) tutti_cuda_run(s->cuda, s->gradient, s->grid, (void *[]){&map, &s->rows});
}

const tutti_kernel_row tutti_cuda_norm = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
