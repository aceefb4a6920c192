/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_products.c: converts weights and activations into the form of the card's library, converts results back, and
 * adds bias and ReLU. */
#include "cuda_products.h"

#include <stdlib.h>

#include "../cuda_rows.h"

/* These repeat the declarations of weights.cu and channels.cu. */
enum { FILL = 8, ACROSS = 32, THREADS = 256, GATHERING = 8 };

typedef struct {
    int64_t n, filters, filled_filters, channels, filled_channels, window;
    int32_t is_last;
} weights_form;

typedef struct {
    int64_t batch, groups, channels, filled, plane;
    int32_t is_nhwc;
} channels_form;

typedef struct {
    const void *out;
    void *d;
    float *sums;
    int64_t rows, columns, stretch;
    int32_t type;
} column_sums;

static tutti_status make(tutti_cuda *c, void **out, tutti_failure *err)
{
    tutti_cuda_products *p = tutti_alloc(sizeof *p);
    const tutti_cuda_wanted weights[] = {{"weights_fill", &p->weights_fill},
                                         {"weights_unfill", &p->weights_unfill},
                                         {"weights_round", &p->weights_round}},
                            channels[] = {{"channels_fill", &p->fill},
                                          {"channels_unfill", &p->unfill},
                                          {"finish", &p->finish},
                                          {"finish_f32", &p->finish_lanes[TUTTI_F32]},
                                          {"finish_bf16", &p->finish_lanes[TUTTI_BF16]},
                                          {"finish_f16", &p->finish_lanes[TUTTI_F16]},
                                          {"columns_f32", &p->columns[TUTTI_F32]},
                                          {"columns_bf16", &p->columns[TUTTI_BF16]},
                                          {"columns_f16", &p->columns[TUTTI_F16]},
                                          {"columns_any", &p->columns_any},
                                          {"columns_gather", &p->columns_gather}};
    p->cuda = c;
    tutti_status st =
        tutti_cuda_find_all(c, tutti_kernel_texts, "weights", weights, sizeof weights / sizeof *weights, err);
    if (!st)
        st = tutti_cuda_find_all(c, tutti_kernel_texts, "channels", channels, sizeof channels / sizeof *channels, err);
    if (!st) st = tutti_cuda_values_of(c, &p->values, err);
    *out = p;
    if (st) free(p);
    return st;
}

static const tutti_cuda_kept keeping = {"products", make, free};

tutti_status tutti_cuda_products_of(tutti_cuda *c, const tutti_cuda_products **out, tutti_failure *err)
{
    void *kept = NULL;
    const tutti_status st = tutti_cuda_keep(c, &keeping, &kept, err);
    *out = kept;
    return st;
}

/* ---- scratch ---- */

/* alignments in bytes. ALIGNMENT: of each piece of scratch; SCRATCH_ALIGNMENT: of the whole scratch */
enum { ALIGNMENT = 256, SCRATCH_ALIGNMENT = 64 };

size_t tutti_cuda_scratch_take(tutti_kernel *k, size_t nbytes)
{
    const size_t at = k->scratch_bytes;
    k->scratch_bytes = (at + nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

size_t tutti_cuda_workspace_take(tutti_kernel *k, size_t nbytes)
{
    return tutti_cuda_scratch_take(k, nbytes + ALIGNMENT - SCRATCH_ALIGNMENT);
}

void *tutti_cuda_workspace(const tutti_kernel_args *a, size_t at)
{
    char *from = tutti_cuda_scratch_at(a, at);
    return from + (ALIGNMENT - (uintptr_t)from % ALIGNMENT) % ALIGNMENT;
}

/* ---- weights ---- */

int64_t tutti_cuda_weights_filled(const tutti_cuda_weights *w)
{
    return w->groups * w->filled_filters * w->window * w->filled_channels;
}

bool tutti_cuda_weights_same(const tutti_cuda_weights *w)
{
    const bool is_full = w->filled_filters == w->filters && w->filled_channels == w->channels;
    return is_full && (w->is_last != w->rows || w->window == 1 || w->channels == 1);
}

/* Describes the weights for the kernels of weights.cu. A copy from channels last to row-major is described as a copy
 * from row-major to channels last in which channels and window change places: both transpose the same two dims. */
static weights_form form_of(const tutti_cuda_weights *w, int64_t n)
{
    const bool turned = w->rows && w->is_last;
    return (weights_form){.n = n,
                          .filters = w->filters,
                          .filled_filters = w->filled_filters,
                          .channels = turned ? w->window : w->channels,
                          .filled_channels = turned ? w->window : w->filled_channels,
                          .window = turned ? w->channels : w->window,
                          .is_last = w->is_last && !turned};
}

static tutti_cuda_grid one_a_thread(int64_t n)
{
    return tutti_cuda_cover(n, TUTTI_CUDA_THREADS, 1);
}

void tutti_cuda_weights_round(const tutti_cuda_products *p, const tutti_cuda_bias *weights, const tutti_cuda_bias *bias,
                              tutti_dtype type)
{
    tutti_cuda_bias w = *weights, b = *bias;
    int32_t number = (int32_t)type;
    if (!b.from) b.n = 0;
    tutti_cuda_run(p->cuda, p->weights_round, tutti_cuda_cover(w.n ? w.n : b.n, TUTTI_CUDA_THREADS, TUTTI_CUDA_EACH),
                   (void *[]){&w.from, &w.to, &w.n, &b.from, &b.to, &b.n, &number});
}

void tutti_cuda_weights_put(const tutti_cuda_products *p, const tutti_cuda_weights *w, const float *from,
                            tutti_dtype type, void *to)
{
    weights_form f = form_of(w, tutti_cuda_weights_filled(w));
    int32_t number = (int32_t)type;
    if (tutti_cuda_weights_same(w))
        tutti_cuda_weights_round(p, &(tutti_cuda_bias){from, to, f.n}, &(tutti_cuda_bias){0}, type);
    else
        tutti_cuda_run(p->cuda, p->weights_fill, one_a_thread(f.n), (void *[]){&from, &to, &number, &f});
}

void tutti_cuda_weights_take(const tutti_cuda_products *p, const tutti_cuda_weights *w, tutti_dtype type,
                             const void *from, float *to)
{
    weights_form f = form_of(w, w->groups * w->filters * w->window * w->channels);
    int32_t number = (int32_t)type;
    const tutti_shape flat = {1, {f.n}};
    tutti_value there = tutti_value_plain(&flat), here = there;
    there.dtype = type;
    if (tutti_cuda_weights_same(w))
        tutti_cuda_value_move(p->cuda, p->values, (tutti_cuda_place){&there, (void *)(uintptr_t)from},
                              (tutti_cuda_place){&here, to});
    else
        tutti_cuda_run(p->cuda, p->weights_unfill, one_a_thread(f.n), (void *[]){&from, &number, &to, &f});
}

/* ---- activations ---- */

/* Describes the value as rows of channels, one row for each position. A value that has no planes has a single
 * position. */
static channels_form rows_of(const tutti_cuda_channels *ch, const tutti_value *v)
{
    const int64_t channels = ch->groups * ch->channels, all = tutti_shape_count(&v->shape);
    return (channels_form){.batch = v->shape.dim[0],
                           .groups = ch->groups,
                           .channels = ch->channels,
                           .filled = ch->filled,
                           .plane = all / channels / v->shape.dim[0],
                           .is_nhwc = tutti_cuda_is_nhwc(v)};
}

size_t tutti_cuda_channels_bytes(const tutti_cuda_channels *ch, const tutti_value *v, tutti_dtype type)
{
    const channels_form f = rows_of(ch, v);
    return (size_t)(f.batch * f.plane * f.groups * f.filled) * tutti_dtype_bytes(type);
}

bool tutti_cuda_channels_same(const tutti_cuda_channels *ch, const tutti_value *v, tutti_dtype type)
{
    const channels_form f = rows_of(ch, v);
    const bool is_there = f.is_nhwc != ch->rows || f.plane == 1 || f.groups * f.channels == 1;
    return is_there && v->dtype == type && ch->filled == ch->channels;
}

/* Returns the library's form of a value, for the case that no channels are filled up. */
static tutti_value whole_of(const tutti_cuda_channels *ch, const tutti_value *v, tutti_dtype type, tutti_layout *layout)
{
    tutti_value whole = {.shape = v->shape, .dtype = type};
    tutti_order_apply(ch->rows ? TUTTI_ORDER_NCHW : TUTTI_ORDER_NHWC, &whole, layout);
    return whole;
}

void tutti_cuda_channels_put(const tutti_cuda_products *p, const tutti_cuda_channels *ch, tutti_cuda_place from,
                             tutti_dtype type, void *to)
{
    channels_form f = rows_of(ch, from.value);
    int32_t number = (int32_t)from.value->dtype, to_number = (int32_t)type;
    tutti_layout layout;
    if (ch->filled == ch->channels) {
        const tutti_value whole = whole_of(ch, from.value, type, &layout);
        tutti_cuda_value_move(p->cuda, p->values, from, (tutti_cuda_place){&whole, to});
        return;
    }
    tutti_cuda_run(p->cuda, p->fill, one_a_thread(f.batch * f.plane * f.groups * f.filled / FILL),
                   (void *[]){&from.memory, &number, &to, &to_number, &f});
}

void tutti_cuda_channels_take(const tutti_cuda_products *p, const tutti_cuda_channels *ch, tutti_dtype type,
                              const void *from, tutti_cuda_place to)
{
    channels_form f = rows_of(ch, to.value);
    int32_t number = (int32_t)type, to_number = (int32_t)to.value->dtype;
    tutti_layout layout;
    if (ch->filled == ch->channels) {
        const tutti_value whole = whole_of(ch, to.value, type, &layout);
        tutti_cuda_value_move(p->cuda, p->values, (tutti_cuda_place){&whole, (void *)(uintptr_t)from}, to);
        return;
    }
    tutti_cuda_run(p->cuda, p->unfill, one_a_thread(tutti_shape_count(&to.value->shape)),
                   (void *[]){&from, &number, &to.memory, &to_number, &f});
}

void tutti_cuda_finish(const tutti_cuda_products *p, const tutti_cuda_channels *ch, const tutti_cuda_finishing *how,
                       tutti_cuda_place to)
{
    tutti_cuda_finishing h = *how;
    channels_form f = rows_of(ch, to.value);
    int64_t n = tutti_shape_count(&to.value->shape), channels = f.groups * f.channels;
    int32_t number = (int32_t)h.type, to_number = (int32_t)to.value->dtype, relu = h.relu;
    const int lanes = 16 / (int)tutti_dtype_bytes(h.type);
    if (h.from == to.memory && channels % lanes == 0)
        tutti_cuda_run(p->cuda, p->finish_lanes[h.type], tutti_cuda_cover(n, TUTTI_CUDA_THREADS, lanes),
                       (void *[]){&to.memory, &h.bias, &relu, &n, &channels});
    else
        tutti_cuda_run(p->cuda, p->finish, one_a_thread(n),
                       (void *[]){&h.from, &number, &to.memory, &to_number, &h.bias, &relu, &f});
}

/* ---- gradients of a bias ---- */

/* How sums of columns are divided among threads. The division depends on the shape alone, so that sums have one
 * order. */
typedef struct {
    int64_t rows, columns, stretch, nstretches;
    tutti_cuda_grid grid;
    bool in_lanes;
} column_plan;

enum { ROWS_EACH = 8 /* a thread adds up at least this number of rows, if there are enough */, MOST_BLOCKS = 1024 };

static column_plan plan_columns(const tutti_value *v)
{
    const int64_t lanes = 16 / (int64_t)tutti_dtype_bytes(v->dtype), columns = v->shape.dim[1];
    column_plan c = {.rows = tutti_shape_count(&v->shape) / columns, .columns = columns};
    c.in_lanes = columns % lanes == 0;
    const int64_t threads_across = c.in_lanes ? columns / lanes : columns;
    int64_t across = 1;
    while (across < ACROSS && across < threads_across) across *= 2;
    const int64_t down = THREADS / across, blocks = (threads_across + across - 1) / across;
    int64_t most = MOST_BLOCKS / blocks, n = (c.rows + down * ROWS_EACH - 1) / (down * ROWS_EACH);
    if (most < 1) most = 1;
    if (n > most) n = most;
    c.stretch = (c.rows + n - 1) / n;
    c.nstretches = (c.rows + c.stretch - 1) / c.stretch;
    c.grid = (tutti_cuda_grid){{(uint32_t)blocks, (uint32_t)c.nstretches, 1}, {(uint32_t)across, (uint32_t)down, 1}, 0};
    return c;
}

size_t tutti_cuda_columns_scratch(const tutti_value *v)
{
    const column_plan c = plan_columns(v);
    return (size_t)(c.nstretches * c.columns) * sizeof(float);
}

void tutti_cuda_columns_sum(const tutti_cuda_products *p, const tutti_value *v, const tutti_cuda_columns *what)
{
    column_plan c = plan_columns(v);
    float *sums = what->sums, *partial = !sums ? NULL : c.nstretches > 1 ? what->scratch : sums;
    column_sums s = {what->output, what->gradient, partial, c.rows, c.columns, c.stretch, (int32_t)v->dtype};
    tutti_cuda_run(p->cuda, c.in_lanes ? p->columns[v->dtype] : p->columns_any, c.grid, (void *[]){&s});
    if (!sums || c.nstretches == 1) return;
    tutti_cuda_run(p->cuda, p->columns_gather,
                   (tutti_cuda_grid){{(uint32_t)((c.columns + ACROSS - 1) / ACROSS)}, {ACROSS, GATHERING}, 0},
                   (void *[]){&partial, &c.nstretches, &c.columns, &sums});
}
