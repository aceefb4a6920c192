/* SPDX-License-Identifier: Apache-2.0 */
/* test_winograd.c: convolutions by Winograd's products against sums in float64, in every memory order and by every
 * instruction set that this processor has (narrow blocks take narrow vectors), with numbers of channels, sizes and
 * padding that leave tiles and registers part-filled.
 *
 * The bound is proved, not measured: each output is a sum of products in which no term goes through more than
 * `roundings` operations, so its error is at most gamma of that many times the same sum of absolute values, |A^T| ((|G|
 * |g| |G^T|) . (|B^T| |d| |B|)) |A| (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1); that sum is
 * computed here, in float64, from the matrices as they are published. */
#include "kernel/winograd_rig.h"

enum { MOST_OUT = 4, MOST_TAPS = 5 };

static const double G3[IN][3] = {{1. / 4, 0, 0},
                                 {-1. / 6, -1. / 6, -1. / 6},
                                 {-1. / 6, 1. / 6, -1. / 6},
                                 {1. / 24, 1. / 12, 1. / 6},
                                 {1. / 24, -1. / 12, 1. / 6},
                                 {0, 0, 1}},
                    A3[4][IN] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
static const double G5[IN][5] = {{1. / 4, 0, 0, 0, 0},
                                 {-1. / 6, -1. / 6, -1. / 6, -1. / 6, -1. / 6},
                                 {-1. / 6, 1. / 6, -1. / 6, 1. / 6, -1. / 6},
                                 {1. / 24, 1. / 12, 1. / 6, 1. / 3, 2. / 3},
                                 {1. / 24, -1. / 12, 1. / 6, -1. / 3, 2. / 3},
                                 {0, 0, 0, 0, 1}},
                    A5[2][IN] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 1}};

/* Products for kernels of taps x taps, tiles of out x out. */
typedef struct {
    const tutti_winograd_size *size;
    const tutti_kernel_row *row;
    int out, taps;
    const double *g, *a;
    const char *said; /* of its refusal */
} form;
static const form forms[] = {
    {&tutti_winograd_three, &tutti_winograd_conv, 4, 3, &G3[0][0], &A3[0][0], "3 x 3"},
    {&tutti_winograd_five_wide, &tutti_winograd5_wide_conv, 2, 5, &G5[0][0], &A5[0][0], "5 x 5"},
};
enum { NFORMS = sizeof forms / sizeof *forms };

/* Padding of the input is looked up as zeros. */
typedef struct {
    shape s;
    drawn t;
    const form *f;
} problem;

static double input_at(const problem *p, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const shape *s = &p->s;
    if (y < 0 || x < 0 || y >= s->height || x >= s->width) return 0;
    return (double)p->t.d[((n * s->in + c) * s->height + y) * s->width + x];
}

static double gradient_at(const problem *p, int64_t n, int64_t o, int64_t y, int64_t x)
{
    const shape *s = &p->s;
    if (y < 0 || x < 0 || y >= p->t.rows || x >= p->t.columns) return 0;
    return (double)p->t.y[((n * s->out + o) * p->t.rows + y) * p->t.columns + x];
}

static double weight_at(const problem *p, int64_t o, int64_t c, int64_t ky, int64_t kx)
{
    return (double)p->t.g[((o * p->s.in + c) * p->f->taps + ky) * p->f->taps + kx];
}

static void hold(const problem *p, const char *what, int64_t i, double got, double want, double bound)
{
    if (!(fabs(got - want) <= bound))
        fail_msg("%s, %s %d, order %s, %d to %d channels, %d x %d, pad %d: %.9g instead of %.9g, bound %.3g",
                 p->f->said, what, (int)i, tutti_order_name(p->s.order), (int)p->s.in, (int)p->s.out, (int)p->s.height,
                 (int)p->s.width, (int)p->s.pad, got, want, bound);
}

/* --- a convolution (forward, or the gradient of the input: the same with the weights turned round) --- */

typedef struct {
    const problem *p;
    bool back;
} direction;

static double from_at(const direction *d, int64_t n, int64_t c, int64_t y, int64_t x)
{
    return d->back ? gradient_at(d->p, n, c, y, x) : input_at(d->p, n, c, y, x);
}

static double tap_at(const direction *d, int64_t to, int64_t from, int64_t ky, int64_t kx)
{
    const int64_t last = d->p->f->taps - 1;
    return d->back ? weight_at(d->p, from, to, last - ky, last - kx) : weight_at(d->p, to, from, ky, kx);
}

static void hold_tile(const direction *d, const float *got, int64_t n, int64_t o, int64_t y, int64_t x)
{
    const form *f = d->p->f;
    const shape *s = &d->p->s;
    const int out = f->out, taps = f->taps, all = out * out * taps * taps;
    const int64_t channels = d->back ? s->out : s->in, outs = d->back ? s->in : s->out,
                  pad = d->back ? taps - 1 - s->pad : s->pad;
    const int64_t height = d->back ? s->height : d->p->t.rows, width = d->back ? s->width : d->p->t.columns;
    double want[MOST_OUT * MOST_OUT] = {0}, products[IN * IN] = {0}, bound[MOST_OUT * MOST_OUT];
    for (int64_t c = 0; c < channels; c++) {
        double tile[IN * IN], tap[MOST_TAPS * MOST_TAPS], turned[IN * IN], weights[IN * IN];
        for (int i = 0; i < IN * IN; i++) tile[i] = from_at(d, n, c, y - pad + i / IN, x - pad + i % IN);
        for (int i = 0; i < taps * taps; i++) tap[i] = tap_at(d, o, c, i / taps, i % taps);
        for (int i = 0; i < all; i++) {
            const int at = i / (taps * taps), k = i % (taps * taps);
            want[at] += tap[k] * tile[(at / out + k / taps) * IN + at % out + k % taps];
        }
        turn_absolute(&B[0][0], IN, IN, false, tile, turned);
        turn_absolute(f->g, IN, taps, false, tap, weights);
        for (int i = 0; i < IN * IN; i++) products[i] += turned[i] * weights[i];
    }
    turn_absolute(f->a, out, IN, false, products, bound);
    for (int i = 0; i < out && y + i < height; i++)
        for (int j = 0; j < out && x + j < width; j++) {
            const int64_t at = ((n * outs + o) * height + y + i) * width + x + j;
            hold(d->p, d->back ? "input gradient" : "output", at, (double)got[at], want[i * out + j],
                 gamma_of(channels + TRANSFORMS) * bound[i * out + j]);
        }
}

static void hold_convolution(const direction *d, const float *got)
{
    const shape *s = &d->p->s;
    const int64_t outs = d->back ? s->in : s->out, side = d->p->f->out;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t o = 0; o < outs; o++)
            for (int64_t y = 0; y < (d->back ? s->height : d->p->t.rows); y += side)
                for (int64_t x = 0; x < (d->back ? s->width : d->p->t.columns); x += side)
                    hold_tile(d, got, n, o, y, x);
}

/* --- gradients of weights and bias --- */

static void hold_weight(const problem *p, const float *got, int64_t o, int64_t c)
{
    const shape *s = &p->s;
    const int out = p->f->out, taps = p->f->taps, all = out * out * taps * taps;
    double want[MOST_TAPS * MOST_TAPS] = {0}, products[IN * IN] = {0}, bound[MOST_TAPS * MOST_TAPS];
    int64_t ntiles = 0;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t y = 0; y < p->t.rows; y += out)
            for (int64_t x = 0; x < p->t.columns; x += out, ntiles++) {
                double tile[IN * IN], grads[MOST_OUT * MOST_OUT], turned[IN * IN], spread[IN * IN];
                for (int i = 0; i < IN * IN; i++) tile[i] = input_at(p, n, c, y - s->pad + i / IN, x - s->pad + i % IN);
                for (int i = 0; i < out * out; i++) grads[i] = gradient_at(p, n, o, y + i / out, x + i % out);
                for (int i = 0; i < all; i++) {
                    const int at = i / (taps * taps), k = i % (taps * taps);
                    want[k] += grads[at] * tile[(at / out + k / taps) * IN + at % out + k % taps];
                }
                turn_absolute(&B[0][0], IN, IN, false, tile, turned);
                turn_absolute(p->f->a, IN, out, true, grads, spread);
                for (int i = 0; i < IN * IN; i++) products[i] += turned[i] * spread[i];
            }
    turn_absolute(p->f->g, taps, IN, true, products, bound);
    for (int i = 0; i < taps * taps; i++) {
        const int64_t at = (o * s->in + c) * taps * taps + i;
        hold(p, "weight gradient", at, (double)got[at], want[i], gamma_of(ntiles + TRANSFORMS) * bound[i]);
    }
}

static void hold_bias(const problem *p, const float *got)
{
    const shape *s = &p->s;
    const int64_t plane = p->t.rows * p->t.columns;
    for (int64_t o = 0; o < s->out; o++) {
        double want = 0, absolute = 0;
        for (int64_t n = 0; n < s->n; n++)
            for (int64_t i = 0; i < plane; i++) {
                want += (double)p->t.y[(n * s->out + o) * plane + i];
                absolute += fabs((double)p->t.y[(n * s->out + o) * plane + i]);
            }
        hold(p, "bias gradient", o, (double)got[o], want, gamma_of(s->n * plane) * absolute);
    }
}

/* --- runs --- */

static float *plain_of(const tutti_value *v, const float *from)
{
    float *to = numbers((size_t)tutti_shape_count(&v->shape) * sizeof(float));
    tutti_value_to_plain(v, from, to);
    return to;
}

/* Narrow blocks are those of narrow vectors: 4 channels beside each other take plain C. */
static const shape shapes[] = {
    {2, 16, 32, 9, 7, 1, TUTTI_ORDER_NCHW16C}, {1, 48, 16, 4, 4, 2, TUTTI_ORDER_NCHW16C},
    {3, 64, 48, 6, 5, 0, TUTTI_ORDER_NHWC},    {5, 32, 80, 13, 8, 1, TUTTI_ORDER_NHWC},
    {2, 24, 8, 7, 9, 1, TUTTI_ORDER_NCHW8C},   {1, 16, 40, 5, 6, 2, TUTTI_ORDER_NCHW8C},
    {2, 8, 4, 6, 7, 1, TUTTI_ORDER_NHWC},      {1, 4, 12, 3, 3, 1, TUTTI_ORDER_NHWC},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

static void hold_case(const form *f, const shape *s)
{
    problem p = {*s, draw_case(s, f->taps), f};
    pass r;
    open_pass(&r, f->size, &p.s, &p.t, 1);
    float *made = plain_of(&r.out, r.made), *din = plain_of(&r.in, r.din);
    float *dweights = numbers((size_t)r.weights.elements * sizeof(float));
    tutti_param_to_plain(&r.weights, r.dweights, dweights);
    hold_convolution(&(direction){&p, false}, made);
    hold_convolution(&(direction){&p, true}, din);
    for (int64_t o = 0; o < p.s.out; o++)
        for (int64_t c = 0; c < p.s.in; c++) hold_weight(&p, dweights, o, c);
    hold_bias(&p, r.dbias);
    free(made), free(din), free(dweights);
    close_pass(&r), forget_case(&p.t);
}

/* Those of 3 x 3 with a position more on all sides for 5 x 5. */
static shape shape_for(const form *f, int i)
{
    shape s = shapes[i];
    s.pad += f->taps / 2 - 1;
    return s;
}

static void all_passes_are_within_the_bound(void **state)
{
    (void)state;
    for (int i = 0; i < NFORMS * NSHAPES; i++) {
        const shape s = shape_for(&forms[i / NSHAPES], i % NSHAPES);
        hold_case(&forms[i / NSHAPES], &s);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (int i = 0; i < NFORMS * NSHAPES; i++) {
        const shape s = shape_for(&forms[i / NSHAPES], i % NSHAPES);
        assert_threads_change_no_bit(forms[i / NSHAPES].size, &s);
    }
}

/* --- the row --- */

static const tutti_conv_attrs attrs[NFORMS] = {
    {.out_channels = 32, .kernel = 3, .stride = 1, .pad = 1, .groups = 1, .bias = true},
    {.out_channels = 32, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true},
};
static const kernel_case cases[NFORMS] = {
    {"conv", &attrs[0], {4, {2, 16, 9, 6}}, .spread = true, .what = "of winograd"},
    {"conv", &attrs[1], {4, {2, 16, 9, 6}}, .spread = true, .what = "of winograd5-wide"},
};

/* Of an input with channels innermost. */
static void make_row(rig *r, const form *f, const kernel_case *c, const tutti_param_desc *params_as, tutti_value *in,
                     tutti_layout *layout)
{
    *in = tutti_value_plain(&c->in);
    tutti_order_apply(TUTTI_ORDER_NHWC, in, layout);
    rig_make(r, c, f->row,
             &(tutti_kernel_request){.engine = "onednn",
                                     .in = in,
                                     .training = true,
                                     .nthreads = 1,
                                     .order = TUTTI_ORDER_NHWC,
                                     .params_as = params_as});
    rig_forward(r);
    rig_backward(r);
}

static void compare_orders(const form *f, const kernel_case *c)
{
    rig squares, rows;
    tutti_value in[2];
    tutti_layout layouts[2];
    make_row(&squares, f, c, NULL, &in[0], &layouts[0]);
    tutti_param_desc row_major[2] = {squares.k.params[0], squares.k.params[1]};
    row_major[0].layout = NULL;
    make_row(&rows, f, c, row_major, &in[1], &layouts[1]);
    assert_non_null(squares.k.params[0].layout);
    assert_null(rows.k.params[0].layout);
    assert_memory_equal(squares.a.out, rows.a.out, squares.k.out.bytes);
    assert_memory_equal(squares.a.din[0], rows.a.din[0], squares.k.in[0].bytes);
    const size_t nbytes = (size_t)squares.k.params[0].elements * sizeof(float);
    float *plain = numbers(nbytes);
    tutti_param_to_plain(&squares.k.params[0], squares.a.dparam[0], plain);
    assert_memory_equal(plain, rows.a.dparam[0], nbytes);
    free(plain);
    rig_close(&squares), rig_close(&rows);
}

static void weights_in_any_order_give_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < NFORMS; i++) compare_orders(&forms[i], &cases[i]);
}

static void compare_relu(const form *f, const kernel_case *c)
{
    char memory[128];
    const kernel_case fused = with_relu(c, memory, false);
    rig bare, relu;
    tutti_value in[2];
    tutti_layout layouts[2];
    int64_t ncut = 0;
    make_row(&bare, f, c, NULL, &in[0], &layouts[0]);
    make_row(&relu, f, &fused, NULL, &in[1], &layouts[1]);
    const float *sum = bare.a.out, *out = relu.a.out, *given = bare.a.dout, *masked = relu.a.dout;
    for (int64_t i = 0; i < elements(&bare.k.out); i++) {
        assert_true(out[i] == (sum[i] > 0 ? sum[i] : 0));
        assert_true(masked[i] == (sum[i] > 0 ? given[i] : 0));
        ncut += sum[i] <= 0;
    }
    assert_true(ncut > 0 && ncut < elements(&bare.k.out));
    rig_close(&bare), rig_close(&relu);
}

static void a_merged_relu_masks(void **state)
{
    (void)state;
    for (int i = 0; i < NFORMS; i++) compare_relu(&forms[i], &cases[i]);
}

static void refuse(const form *f, tutti_conv_attrs at, int64_t channels)
{
    tutti_value in = tutti_value_plain(&(tutti_shape){4, {2, channels, 9, 9}});
    tutti_kernel k = {0};
    tutti_failure err = {0};
    const tutti_kernel_request r = {.engine = "onednn",
                                    .op = tutti_op_find("conv"),
                                    .attrs = &at,
                                    .in = &in,
                                    .nin = 1,
                                    .training = true,
                                    .nthreads = 1,
                                    .order = TUTTI_ORDER_NHWC};
    assert_int_equal(tutti_kernel_create_by(f->row, &r, &k, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, f->said));
}

static void what_it_cannot_do_is_refused(void **state)
{
    (void)state;
    for (const form *f = forms; f < forms + NFORMS; f++) {
        const tutti_conv_attrs fine = {.out_channels = 32, .kernel = f->taps, .stride = 1, .pad = 1, .groups = 1};
        tutti_conv_attrs at = fine;
        refuse(f, (at.kernel = 8 - f->taps, at), 16);
        at = fine, refuse(f, (at.stride = 2, at), 16);
        at = fine, refuse(f, (at.groups = 2, at), 16);
        at = fine, refuse(f, (at.pad = f->taps, at), 16);
        at = fine, refuse(f, (at.out_channels = 7, at), 16);
        refuse(f, fine, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_passes_are_within_the_bound),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(weights_in_any_order_give_the_same_bits),
        cmocka_unit_test(a_merged_relu_masks),
        cmocka_unit_test(what_it_cannot_do_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
