/* SPDX-License-Identifier: Apache-2.0 */
/* test_winograd.c: convolutions by Winograd's products against sums in float64, in every memory order and by every instruction set that this
 * processor has (narrow blocks take narrow vectors), with numbers of channels, sizes and padding that leave tiles and registers part-filled.
 *
 * The bound is proved, not measured: each output is a sum of products in which no term goes through more than `roundings` operations, so
 * its error is at most gamma of that many times the same sum of absolute values, |A^T| ((|G| |g| |G^T|) . (|B^T| |d| |B|)) |A| (Higham,
 * Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1); that sum is computed here, in float64, from the matrices as they are
 * published. */
#include "kernel/winograd_rig.h"

enum { OUT = 4, TAPS = 3 };

static const double G[IN][TAPS] = {{1. / 4, 0, 0},
                                   {-1. / 6, -1. / 6, -1. / 6},
                                   {-1. / 6, 1. / 6, -1. / 6},
                                   {1. / 24, 1. / 12, 1. / 6},
                                   {1. / 24, -1. / 12, 1. / 6},
                                   {0, 0, 1}},
                    A[OUT][IN] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};

/* Padding of the input is looked up as zeros. */
typedef struct {
    shape s;
    drawn t;
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
    return (double)p->t.g[((o * p->s.in + c) * 3 + ky) * 3 + kx];
}

static void hold(const problem *p, const char *what, int64_t i, double got, double want, double bound)
{
    if (!(fabs(got - want) <= bound))
        fail_msg("%s %d, order %s, %d to %d channels, %d x %d, pad %d: %.9g instead of %.9g, bound %.3g", what, (int)i,
                 tutti_order_name(p->s.order), (int)p->s.in, (int)p->s.out, (int)p->s.height, (int)p->s.width,
                 (int)p->s.pad, got, want, bound);
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
    return d->back ? weight_at(d->p, from, to, 2 - ky, 2 - kx) : weight_at(d->p, to, from, ky, kx);
}

static void hold_tile(const direction *d, const float *got, int64_t n, int64_t o, int64_t y, int64_t x)
{
    const shape *s = &d->p->s;
    const int64_t channels = d->back ? s->out : s->in, outs = d->back ? s->in : s->out,
                  pad = d->back ? 2 - s->pad : s->pad;
    const int64_t height = d->back ? s->height : d->p->t.rows, width = d->back ? s->width : d->p->t.columns;
    double want[OUT][OUT] = {{0}}, products[IN * IN] = {0}, bound[OUT * OUT];
    for (int64_t c = 0; c < channels; c++) {
        double tile[IN * IN], taps[TAPS * TAPS], turned[IN * IN], weights[IN * IN];
        for (int i = 0; i < IN * IN; i++) tile[i] = from_at(d, n, c, y - pad + i / IN, x - pad + i % IN);
        for (int i = 0; i < TAPS * TAPS; i++) taps[i] = tap_at(d, o, c, i / TAPS, i % TAPS);
        for (int i = 0; i < OUT * OUT * TAPS * TAPS; i++) {
            const int at = i / 9, tap = i % 9;
            want[at / OUT][at % OUT] += taps[tap] * tile[(at / OUT + tap / 3) * IN + at % OUT + tap % 3];
        }
        turn_absolute(&B[0][0], IN, IN, false, tile, turned);
        turn_absolute(&G[0][0], IN, TAPS, false, taps, weights);
        for (int i = 0; i < IN * IN; i++) products[i] += turned[i] * weights[i];
    }
    turn_absolute(&A[0][0], OUT, IN, false, products, bound);
    for (int i = 0; i < OUT && y + i < height; i++)
        for (int j = 0; j < OUT && x + j < width; j++) {
            const int64_t at = ((n * outs + o) * height + y + i) * width + x + j;
            hold(d->p, d->back ? "input gradient" : "output", at, (double)got[at], want[i][j],
                 gamma_of(channels + TRANSFORMS) * bound[i * OUT + j]);
        }
}

static void hold_convolution(const direction *d, const float *got)
{
    const shape *s = &d->p->s;
    const int64_t outs = d->back ? s->in : s->out;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t o = 0; o < outs; o++)
            for (int64_t y = 0; y < (d->back ? s->height : d->p->t.rows); y += OUT)
                for (int64_t x = 0; x < (d->back ? s->width : d->p->t.columns); x += OUT) hold_tile(d, got, n, o, y, x);
}

/* --- gradients of weights and bias --- */

static void hold_weight(const problem *p, const float *got, int64_t o, int64_t c)
{
    const shape *s = &p->s;
    double want[TAPS * TAPS] = {0}, products[IN * IN] = {0}, bound[TAPS * TAPS];
    int64_t ntiles = 0;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t y = 0; y < p->t.rows; y += OUT)
            for (int64_t x = 0; x < p->t.columns; x += OUT, ntiles++) {
                double tile[IN * IN], grads[OUT * OUT], turned[IN * IN], spread[IN * IN];
                for (int i = 0; i < IN * IN; i++) tile[i] = input_at(p, n, c, y - s->pad + i / IN, x - s->pad + i % IN);
                for (int i = 0; i < OUT * OUT; i++) grads[i] = gradient_at(p, n, o, y + i / OUT, x + i % OUT);
                for (int i = 0; i < OUT * OUT * TAPS * TAPS; i++) {
                    const int at = i / 9, tap = i % 9;
                    want[tap] += grads[at] * tile[(at / OUT + tap / 3) * IN + at % OUT + tap % 3];
                }
                turn_absolute(&B[0][0], IN, IN, false, tile, turned);
                turn_absolute(&A[0][0], IN, OUT, true, grads, spread);
                for (int i = 0; i < IN * IN; i++) products[i] += turned[i] * spread[i];
            }
    turn_absolute(&G[0][0], TAPS, IN, true, products, bound);
    for (int i = 0; i < TAPS * TAPS; i++) {
        const int64_t at = (o * s->in + c) * 9 + i;
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

static void all_passes_are_within_the_bound(void **state)
{
    (void)state;
    for (int i = 0; i < NSHAPES; i++) {
        problem p = {shapes[i], draw_case(&shapes[i], TAPS)};
        pass r;
        open_pass(&r, &tutti_winograd_three, &p.s, &p.t, 1);
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
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (int i = 0; i < NSHAPES; i++) assert_threads_change_no_bit(&tutti_winograd_three, &shapes[i]);
}

/* --- the row --- */

static const tutti_conv_attrs attrs = {
    .out_channels = 32, .kernel = 3, .stride = 1, .pad = 1, .groups = 1, .bias = true};
static const kernel_case a_case = {"conv", &attrs, {4, {2, 16, 9, 6}}, .spread = true, .what = "of winograd"};

/* Of an input with channels innermost. */
static void make_row(rig *r, const kernel_case *c, const tutti_param_desc *params_as, tutti_value *in,
                     tutti_layout *layout)
{
    *in = tutti_value_plain(&c->in);
    tutti_order_apply(TUTTI_ORDER_NHWC, in, layout);
    rig_make(r, c, &tutti_winograd_conv,
             &(tutti_kernel_request){.engine = "onednn",
                                     .in = in,
                                     .training = true,
                                     .nthreads = 1,
                                     .order = TUTTI_ORDER_NHWC,
                                     .params_as = params_as});
    rig_forward(r);
    rig_backward(r);
}

static void weights_in_any_order_give_the_same_bits(void **state)
{
    rig squares, rows;
    tutti_value in[2];
    tutti_layout layouts[2];
    (void)state;
    make_row(&squares, &a_case, NULL, &in[0], &layouts[0]);
    tutti_param_desc row_major[2] = {squares.k.params[0], squares.k.params[1]};
    row_major[0].layout = NULL;
    make_row(&rows, &a_case, row_major, &in[1], &layouts[1]);
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

static void a_merged_relu_masks(void **state)
{
    char memory[128];
    const kernel_case fused = with_relu(&a_case, memory, false);
    rig bare, relu;
    tutti_value in[2];
    tutti_layout layouts[2];
    int64_t ncut = 0;
    (void)state;
    make_row(&bare, &a_case, NULL, &in[0], &layouts[0]);
    make_row(&relu, &fused, NULL, &in[1], &layouts[1]);
    const float *sum = bare.a.out, *out = relu.a.out, *given = bare.a.dout, *masked = relu.a.dout;
    for (int64_t i = 0; i < elements(&bare.k.out); i++) {
        assert_true(out[i] == (sum[i] > 0 ? sum[i] : 0));
        assert_true(masked[i] == (sum[i] > 0 ? given[i] : 0));
        ncut += sum[i] <= 0;
    }
    assert_true(ncut > 0 && ncut < elements(&bare.k.out));
    rig_close(&bare), rig_close(&relu);
}

static void what_it_cannot_do_is_refused(void **state)
{
    static const struct {
        tutti_conv_attrs attrs;
        int64_t channels;
    } others[] = {
        {{.out_channels = 32, .kernel = 5, .stride = 1, .pad = 1, .groups = 1}, 16},
        {{.out_channels = 32, .kernel = 3, .stride = 2, .pad = 1, .groups = 1}, 16},
        {{.out_channels = 32, .kernel = 3, .stride = 1, .pad = 1, .groups = 2}, 16},
        {{.out_channels = 32, .kernel = 3, .stride = 1, .pad = 3, .groups = 1}, 16},
        {{.out_channels = 32, .kernel = 3, .stride = 1, .pad = 1, .groups = 1}, 3},
        {{.out_channels = 7, .kernel = 3, .stride = 1, .pad = 1, .groups = 1}, 16},
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tutti_value in = tutti_value_plain(&(tutti_shape){4, {2, others[i].channels, 9, 9}});
        tutti_kernel k = {0};
        tutti_failure err = {0};
        const tutti_kernel_request r = {.engine = "onednn",
                                        .op = tutti_op_find("conv"),
                                        .attrs = &others[i].attrs,
                                        .in = &in,
                                        .nin = 1,
                                        .training = true,
                                        .nthreads = 1,
                                        .order = TUTTI_ORDER_NHWC};
        assert_int_equal(tutti_kernel_create_by(&tutti_winograd_conv, &r, &k, &err), TUTTI_ERR_USAGE);
        assert_non_null(strstr(err.text, "3 x 3"));
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
