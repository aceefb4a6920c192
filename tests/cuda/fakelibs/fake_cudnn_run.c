/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cudnn_run.c: convolutions as products of windows, sample by sample and group by group, in f32. f32 is rounded to
 * TF32 first, unless the convolution's math forbids it. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_cudnn.h"

/* ---- operands ---- */

size_t fake_cudnn_span(const fake_cudnn_tensor *t)
{
    int64_t last = 0;
    for (int i = 0; i < 4; i++) last += (t->dim[i] - 1) * t->stride[i];
    return (size_t)(last + 1) * fakelib_bytes(fake_cudnn_type(t->type));
}

static int64_t count_of(const fake_cudnn_tensor *t)
{
    return t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
}

/* Says where number i of the dense order (n, h, w, c) lies. */
static int64_t place_of(const fake_cudnn_tensor *t, int64_t i)
{
    const int64_t c = i % t->dim[1], w = i / t->dim[1] % t->dim[3], h = i / t->dim[1] / t->dim[3] % t->dim[2],
                  n = i / t->dim[1] / t->dim[3] / t->dim[2];
    return n * t->stride[0] + c * t->stride[1] + h * t->stride[2] + w * t->stride[3];
}

static bool touch_bytes(void *at, size_t nbytes, bool writes)
{
    return writes ? fakelib_writes(at, nbytes) : fakelib_reads(at, nbytes);
}

/* Touches the numbers of a tensor, but not what lies between them. */
static bool touch_tensor(const fake_cudnn_tensor *t, void *at, bool writes)
{
    const size_t each = fakelib_bytes(fake_cudnn_type(t->type));
    const int64_t n = count_of(t);
    if (fake_cudnn_span(t) == (size_t)n * each) return touch_bytes(at, (size_t)n * each, writes);
    for (int64_t i = 0; i < n; i++)
        if (!touch_bytes((char *)at + (size_t)place_of(t, i) * each, each, writes)) return false;
    return true;
}

static bool touch(const fake_cudnn_work *k)
{
    const fake_cudnn_problem *p = &k->problem;
    const size_t weights = fake_cudnn_filter_bytes(&p->w);
    const bool is_in = p->pass == FAKE_CUDNN_BACKWARD_DATA, is_w = p->pass == FAKE_CUDNN_BACKWARD_FILTER,
               is_out = p->pass == FAKE_CUDNN_FORWARD, reads_all = k->beta != 0;
    if (!fakelib_spoil(k->workspace, k->workspace_bytes)) return false;
    if ((!is_in || reads_all) && !touch_tensor(&p->x, k->x, false)) return false;
    if ((!is_w || reads_all) && !fakelib_reads(k->w, weights)) return false;
    if ((!is_out || reads_all) && !touch_tensor(&p->y, k->y, false)) return false;
    if (is_in) return touch_tensor(&p->x, k->x, true);
    return is_w ? fakelib_writes(k->w, weights) : touch_tensor(&p->y, k->y, true);
}

static float as_multiplied(const fake_cudnn_problem *p, float value)
{
    return p->x.type == TUTTI_CUDNN_DATA_FLOAT && p->c.math != TUTTI_CUDNN_FMA_MATH ? fakelib_tf32(value) : value;
}

/* Loads a tensor into the dense order (n, h, w, c). */
static float *load_tensor(const fake_cudnn_problem *p, const fake_cudnn_tensor *t, const void *from)
{
    const int64_t n = count_of(t);
    float *to = fakelib_alloc((size_t)n * sizeof *to);
    for (int64_t i = 0; i < n; i++)
        to[i] = as_multiplied(p, fakelib_get(fake_cudnn_type(t->type), from, place_of(t, i)));
    return to;
}

static float blend(const fake_cudnn_work *k, float sum, float before)
{
    return k->beta != 0 ? k->alpha * sum + k->beta * before : k->alpha * sum;
}

static void store_tensor(const fake_cudnn_work *k, const fake_cudnn_tensor *t, const float *from, void *to)
{
    const fakelib_type type = fake_cudnn_type(t->type);
    for (int64_t i = 0; i < count_of(t); i++) {
        const int64_t at = place_of(t, i);
        fakelib_put(type, to, at, blend(k, from[i], k->beta != 0 ? fakelib_get(type, to, at) : 0));
    }
}

/* Says where weight i of the dense order (k, h, w, c) lies. */
static int64_t weight_at(const fake_cudnn_filter *w, int64_t i)
{
    const int64_t window = w->dim[2] * w->dim[3], c = i % w->dim[1], at = i / w->dim[1] % window,
                  k = i / w->dim[1] / window;
    return w->format == FAKE_CUDNN_NHWC ? i : (k * w->dim[1] + c) * window + at;
}

static float *load_weights(const fake_cudnn_problem *p, const void *from)
{
    const int64_t n = fake_cudnn_filter_count(&p->w);
    float *to = fakelib_alloc((size_t)n * sizeof *to);
    for (int64_t i = 0; i < n; i++)
        to[i] = as_multiplied(p, fakelib_get(fake_cudnn_type(p->w.type), from, weight_at(&p->w, i)));
    return to;
}

static void store_weights(const fake_cudnn_work *k, const float *from, void *to)
{
    const fake_cudnn_filter *w = &k->problem.w;
    const fakelib_type type = fake_cudnn_type(w->type);
    for (int64_t i = 0; i < fake_cudnn_filter_count(w); i++) {
        const int64_t at = weight_at(w, i);
        fakelib_put(type, to, at, blend(k, from[i], k->beta != 0 ? fakelib_get(type, to, at) : 0));
    }
}

/* ---- windows ---- */

/* A part is one sample's group. `in` and `out` are its first numbers, in rows of all channels. */
typedef struct {
    const fake_cudnn_problem *p;
    float *in, *out;
    int64_t channels, filters, k, positions, out_width; /* k: numbers of a window */
    int64_t turn;                                       /* where sums begin */
} part;

static part part_of(const fake_cudnn_problem *p, float *x, float *y, int64_t sample, int64_t group)
{
    const int64_t channels = p->w.dim[1], filters = p->w.dim[0] / p->c.groups, positions = p->y.dim[2] * p->y.dim[3];
    return (part){
        .p = p,
        .in = x + sample * p->x.dim[2] * p->x.dim[3] * p->x.dim[1] + group * channels,
        .out = y + sample * positions * p->y.dim[1] + group * filters,
        .channels = channels,
        .filters = filters,
        .k = channels * p->w.dim[2] * p->w.dim[3],
        .positions = positions,
        .out_width = p->y.dim[3],
    };
}

/* Finds the input's number with which place `at` of the window of an output position begins; NULL: outside. */
static float *input_at(const part *q, int64_t position, int64_t at)
{
    const fake_cudnn_problem *p = q->p;
    const int64_t y = position / q->out_width * p->c.stride[0] - p->c.pad[0] + at / p->w.dim[3] * p->c.dilation[0],
                  x = position % q->out_width * p->c.stride[1] - p->c.pad[1] + at % p->w.dim[3] * p->c.dilation[1];
    if (y < 0 || x < 0 || y >= p->x.dim[2] || x >= p->x.dim[3]) return NULL;
    return q->in + (y * p->x.dim[3] + x) * p->x.dim[1];
}

/* Gathers windows[positions][k]. */
static void gather(const part *q, float *windows)
{
    const size_t row = (size_t)q->channels * sizeof(float);
    for (int64_t position = 0; position < q->positions; position++)
        for (int64_t at = 0; at < q->k / q->channels; at++) {
            const float *from = input_at(q, position, at);
            float *to = windows + position * q->k + at * q->channels;
            if (from)
                memcpy(to, from, row);
            else
                memset(to, 0, row);
        }
}

static void scatter(const part *q, const float *windows)
{
    for (int64_t position = 0; position < q->positions; position++)
        for (int64_t at = 0; at < q->k / q->channels; at++) {
            float *to = input_at(q, position, at);
            const float *from = windows + position * q->k + at * q->channels;
            for (int64_t c = 0; to && c < q->channels; c++) to[c] += from[c];
        }
}

/* Makes to[columns][rows] of from[rows][columns]. */
static void transpose(const float *from, int64_t rows, int64_t columns, float *to)
{
    enum { BLOCK = 32 };
    for (int64_t i = 0; i < rows; i += BLOCK)
        for (int64_t j = 0; j < columns; j += BLOCK)
            for (int64_t r = i; r < rows && r < i + BLOCK; r++)
                for (int64_t c = j; c < columns && c < j + BLOCK; c++) to[c * rows + r] = from[r * columns + c];
}

/* ---- passes: of a part, with the group's weights [filters][k] ---- */

static void forward(const part *q, const float *weights)
{
    float *windows = fakelib_alloc((size_t)(q->positions * q->k) * sizeof(float)),
          *turned = fakelib_alloc((size_t)(q->filters * q->k) * sizeof(float)),
          *sums = fakelib_alloc((size_t)(q->positions * q->filters) * sizeof(float));
    gather(q, windows);
    transpose(weights, q->filters, q->k, turned);
    fakelib_product((int64_t[]){q->positions, q->filters, q->k}, windows, turned, sums);
    for (int64_t i = 0; i < q->positions; i++)
        memcpy(q->out + i * q->p->y.dim[1], sums + i * q->filters, (size_t)q->filters * sizeof(float));
    free(windows);
    free(turned);
    free(sums);
}

static void backward_data(const part *q, const float *weights)
{
    float *windows = fakelib_alloc((size_t)(q->positions * q->k) * sizeof(float)),
          *rows = fakelib_alloc((size_t)(q->positions * q->filters) * sizeof(float)),
          *begun = fakelib_alloc((size_t)(q->filters * q->k) * sizeof(float));
    for (int64_t f = 0; f < q->filters; f++) {
        const int64_t from = (f + q->turn) % q->filters;
        memcpy(begun + f * q->k, weights + from * q->k, (size_t)q->k * sizeof(float));
        for (int64_t i = 0; i < q->positions; i++) rows[i * q->filters + f] = q->out[i * q->p->y.dim[1] + from];
    }
    fakelib_product((int64_t[]){q->positions, q->k, q->filters}, rows, begun, windows);
    scatter(q, windows);
    free(windows);
    free(rows);
    free(begun);
}

/* Adds to sums[k][filters]. */
static void backward_filter(const part *q, float *sums)
{
    float *windows = fakelib_alloc((size_t)(q->positions * q->k) * sizeof(float)),
          *begun = fakelib_alloc((size_t)(q->positions * q->k) * sizeof(float)),
          *turned = fakelib_alloc((size_t)(q->positions * q->k) * sizeof(float)),
          *rows = fakelib_alloc((size_t)(q->positions * q->filters) * sizeof(float));
    gather(q, windows);
    for (int64_t i = 0; i < q->positions; i++) {
        const int64_t from = (i + q->turn) % q->positions;
        memcpy(begun + i * q->k, windows + from * q->k, (size_t)q->k * sizeof(float));
        memcpy(rows + i * q->filters, q->out + from * q->p->y.dim[1], (size_t)q->filters * sizeof(float));
    }
    transpose(begun, q->positions, q->k, turned);
    fakelib_product((int64_t[]){q->k, q->filters, q->positions}, turned, rows, sums);
    free(windows);
    free(begun);
    free(turned);
    free(rows);
}

/* ---- the whole ---- */

/* Turns differ from one work of a process to the next and from process to process. Works may run on several cards. */
static int64_t turn_of(const fake_cudnn_work *k)
{
    static _Atomic int64_t turns;
    if (!k->unordered) return 0;
    struct timespec now;
    int64_t none = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    atomic_compare_exchange_strong(&turns, &none, now.tv_nsec);
    return atomic_fetch_add(&turns, 1) + 1;
}

static void compute(const fake_cudnn_work *k, float *x, float *w, float *y)
{
    const fake_cudnn_problem *p = &k->problem;
    const int64_t batch = p->x.dim[0], groups = p->c.groups, each = fake_cudnn_filter_count(&p->w) / groups,
                  turn = turn_of(k);
    float *sums = fakelib_alloc((size_t)each * sizeof *sums);
    for (int64_t group = 0; group < groups; group++) {
        float *weights = w + group * each;
        memset(sums, 0, (size_t)each * sizeof *sums);
        for (int64_t i = 0; i < batch; i++) {
            part q = part_of(p, x, y, (i + turn) % batch, group);
            q.turn = turn;
            if (p->pass == FAKE_CUDNN_FORWARD)
                forward(&q, weights);
            else if (p->pass == FAKE_CUDNN_BACKWARD_DATA)
                backward_data(&q, weights);
            else
                backward_filter(&q, sums);
        }
        const int64_t filters = p->w.dim[0] / groups;
        if (p->pass == FAKE_CUDNN_BACKWARD_FILTER) transpose(sums, each / filters, filters, weights);
    }
    free(sums);
}

static float *zeros(int64_t n)
{
    return fakelib_alloc((size_t)n * sizeof(float));
}

void fake_cudnn_run(void *args)
{
    fake_cudnn_work k;
    memcpy(&k, args, sizeof k);
    const fake_cudnn_problem *p = &k.problem;
    const fake_cudnn_pass pass = p->pass;
    if (!touch(&k)) return;
    float *x = pass == FAKE_CUDNN_BACKWARD_DATA ? zeros(count_of(&p->x)) : load_tensor(p, &p->x, k.x),
          *w = pass == FAKE_CUDNN_BACKWARD_FILTER ? zeros(fake_cudnn_filter_count(&p->w)) : load_weights(p, k.w),
          *y = pass == FAKE_CUDNN_FORWARD ? zeros(count_of(&p->y)) : load_tensor(p, &p->y, k.y);
    compute(&k, x, w, y);
    if (pass == FAKE_CUDNN_FORWARD)
        store_tensor(&k, &p->y, y, k.y);
    else if (pass == FAKE_CUDNN_BACKWARD_DATA)
        store_tensor(&k, &p->x, x, k.x);
    else
        store_weights(&k, w, k.w);
    free(x);
    free(w);
    free(y);
}
