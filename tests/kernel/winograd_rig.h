/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_rig.h: what tests of convolutions by Winograd's products share: cases of drawn numbers, all three passes of
 * one, and sums of absolute values by the matrices as they are published (points 0, 1, -1, 2, -2 and infinity: tiles of
 * 6 x 6). */
#ifndef TUTTI_TESTS_WINOGRAD_RIG_H
#define TUTTI_TESTS_WINOGRAD_RIG_H

#include "kernel/kernel_rig.h"

#include <math.h>

#include "kernel/winograd/winograd.h"

enum {
    IN = 6,
    TRANSFORMS = 30 /* roundings of the three transforms and of their constants, at most */
};

static const double B[IN][IN] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                                 {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};

typedef struct {
    int64_t n, in, out, height, width, pad;
    tutti_order order;
} shape;

/* A case's tensors, row-major: input, weights, gradient of the output. */
typedef struct {
    int64_t rows, columns; /* of the output */
    int64_t nd, ng, ny;
    float *d, *g, *y;
} drawn;

static inline float *draw_numbers(int64_t n, uint64_t tensor)
{
    float *to = numbers((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        to[i] = tutti_random_unit(tutti_random(11, TUTTI_STREAM_TEST, tensor, (uint64_t)i).word[0]) * 2 - 1;
    return to;
}

static inline drawn draw_case(const shape *s, int64_t kernel)
{
    drawn t = {.rows = s->height + 2 * s->pad - kernel + 1, .columns = s->width + 2 * s->pad - kernel + 1};
    t.nd = s->n * s->in * s->height * s->width;
    t.ng = s->out * s->in * kernel * kernel;
    t.ny = s->n * s->out * t.rows * t.columns;
    t.d = draw_numbers(t.nd, 1), t.g = draw_numbers(t.ng, 2), t.y = draw_numbers(t.ny, 3);
    return t;
}

static inline void forget_case(drawn *t)
{
    free(t->d), free(t->g), free(t->y);
}

/* |M| |x| |M^T|, of m x m to k x k numbers; turned: M is the transpose of what is given. */
static inline void turn_absolute(const double *matrix, int k, int m, bool turned, const double *x, double *to)
{
    double half[IN * IN];
    for (int i = 0; i < k * m; i++) {
        half[i] = 0;
        for (int a = 0; a < m; a++)
            half[i] += fabs(turned ? matrix[a * k + i / m] : matrix[i / m * m + a]) * fabs(x[a * m + i % m]);
    }
    for (int i = 0; i < k * k; i++) {
        to[i] = 0;
        for (int a = 0; a < m; a++)
            to[i] += half[i / k * m + a] * fabs(turned ? matrix[a * k + i % k] : matrix[i % k * m + a]);
    }
}

static inline double gamma_of(int64_t roundings)
{
    const double u = (double)roundings * 0x1p-24;
    return u / (1 - u);
}

/* --- runs --- */

typedef struct {
    tutti_winograd w;
    tutti_value in, out;
    tutti_layout in_layout, out_layout, weights_layout;
    tutti_param_desc weights;
    float *d, *g, *y, *made, *din, *dweights, *dbias;
    void *scratch;
} pass;

static inline void open_pass(pass *r, const tutti_winograd_size *size, const shape *s, const drawn *t, int nthreads)
{
    *r = (pass){.in = tutti_value_plain(&(tutti_shape){4, {s->n, s->in, s->height, s->width}}),
                .out = tutti_value_plain(&(tutti_shape){4, {s->n, s->out, t->rows, t->columns}})};
    tutti_order_apply(s->order, &r->in, &r->in_layout);
    tutti_order_apply(s->order, &r->out, &r->out_layout);
    assert_true(size->plan(&r->in, &r->out, s->pad, nthreads, &r->w));
    size->weights_order(&r->w, &r->weights_layout);
    r->weights = (tutti_param_desc){
        .shape = {4, {s->out, s->in, size->kernel, size->kernel}}, .layout = &r->weights_layout, .elements = t->ng};
    const size_t nweights = (size_t)t->ng * sizeof(float), nscratch = size->scratch(&r->w);
    r->d = numbers(r->in.bytes), r->din = numbers(r->in.bytes);
    r->y = numbers(r->out.bytes), r->made = numbers(r->out.bytes);
    r->g = numbers(nweights), r->dweights = numbers(nweights), r->dbias = numbers((size_t)s->out * sizeof(float));
    r->scratch = numbers(nscratch);
    memset(r->scratch, 0x7f, nscratch);
    tutti_value_from_plain(&r->in, t->d, r->d);
    tutti_value_from_plain(&r->out, t->y, r->y);
    tutti_param_from_plain(&r->weights, t->g, r->g);
    size->forward(&r->w, r->d, r->g, &(tutti_winograd_sum){.out = r->made}, r->scratch);
    size->weight_gradient(&r->w, r->d, r->y, r->dweights, r->dbias, r->scratch);
    size->input_gradient(&r->w, r->y, r->g, r->din, r->scratch);
    assert_guarded(r->scratch, nscratch);
    assert_guarded(r->made, r->out.bytes), assert_guarded(r->din, r->in.bytes);
    assert_guarded(r->dweights, nweights);
}

static inline void close_pass(pass *r)
{
    free(r->d), free(r->g), free(r->y), free(r->made), free(r->din), free(r->dweights), free(r->dbias);
    free(r->scratch);
}

static inline void assert_threads_change_no_bit(const tutti_winograd_size *size, const shape *s)
{
    drawn t = draw_case(s, size->kernel);
    pass one, more;
    open_pass(&one, size, s, &t, 1);
    for (int nthreads = 2; nthreads <= 5; nthreads++) {
        open_pass(&more, size, s, &t, nthreads);
        assert_memory_equal(one.made, more.made, one.out.bytes);
        assert_memory_equal(one.din, more.din, one.in.bytes);
        assert_memory_equal(one.dweights, more.dweights, (size_t)t.ng * sizeof(float));
        assert_memory_equal(one.dbias, more.dbias, (size_t)s->out * sizeof(float));
        close_pass(&more);
    }
    close_pass(&one), forget_case(&t);
}

#endif
