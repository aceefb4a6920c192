/* SPDX-License-Identifier: Apache-2.0 */
/* test_winograd5.c: convolutions of 5 x 5 by Winograd's products against sums in float64, by every instruction set that
 * this processor has (TUTTI_ISA), with numbers of channels, sizes and padding that leave vectors, tiles and blocks
 * part-filled.
 *
 * The bound is proved as in test_winograd.c: an output is a sum of products in which no term goes through more than
 * `roundings` operations, so its error is at most gamma of that many times the same sum of absolute values, which is
 * computed here, in float64, from the matrices. */
#include "kernel/winograd/winograd5.h"
#include "kernel/winograd_rig.h"

enum {
    OUT = 2,
    KERNEL = 5,
    TAPS = KERNEL * KERNEL,
    MOST = 64,  /* channels */
    MEETING = 9 /* tiles at a position of the input's gradient */
};

static const double G[IN][KERNEL] = {{1. / 4, 0, 0, 0, 0},
                                     {-1. / 6, -1. / 6, -1. / 6, -1. / 6, -1. / 6},
                                     {-1. / 6, 1. / 6, -1. / 6, 1. / 6, -1. / 6},
                                     {1. / 24, 1. / 12, 1. / 6, 1. / 3, 2. / 3},
                                     {1. / 24, -1. / 12, 1. / 6, -1. / 3, 2. / 3},
                                     {0, 0, 0, 0, 1}},
                    A[OUT][IN] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 1}};

/* What goes in, what comes out in float64 and how far it may be from there. */
typedef struct {
    const float *given;
    double *want, *bound;
    int64_t count;
} tensor;
typedef struct {
    shape s;
    drawn t;
    int64_t rows, columns; /* of the output */
    tensor d, g, y;        /* input, weights, output; what is given of y is its gradient */
} problem;

static tensor tensor_of(const float *given, int64_t n)
{
    return (tensor){given, calloc((size_t)n, sizeof(double)), calloc((size_t)n, sizeof(double)), n};
}

static problem make(const shape *s)
{
    const drawn t = draw_case(s, KERNEL);
    return (problem){*s, t, t.rows, t.columns, tensor_of(t.d, t.nd), tensor_of(t.g, t.ng), tensor_of(t.y, t.ny)};
}

static void forget(problem *p)
{
    tensor *of[] = {&p->d, &p->g, &p->y};
    for (int i = 0; i < 3; i++) free(of[i]->want), free(of[i]->bound);
    forget_case(&p->t);
}

/* Element of a plane, or -1 outside. */
static int64_t at(int64_t plane, int64_t height, int64_t width, int64_t y, int64_t x)
{
    return y < 0 || x < 0 || y >= height || x >= width ? -1 : (plane * height + y) * width + x;
}

static int64_t input_at(const problem *p, int64_t n, int64_t c, int64_t y, int64_t x)
{
    return at(n * p->s.in + c, p->s.height, p->s.width, y - p->s.pad, x - p->s.pad);
}

static int64_t output_at(const problem *p, int64_t n, int64_t o, int64_t y, int64_t x)
{
    return at(n * p->s.out + o, p->rows, p->columns, y, x);
}

/* --- sums as they are written --- */

static void sum_output(problem *p, int64_t n, int64_t o, int64_t y, int64_t x)
{
    const int64_t to = output_at(p, n, o, y, x);
    const double gradient = (double)p->y.given[to];
    for (int64_t c = 0; c < p->s.in; c++)
        for (int64_t t = 0; t < TAPS; t++) {
            const int64_t from = input_at(p, n, c, y + t / KERNEL, x + t % KERNEL), tap = (o * p->s.in + c) * TAPS + t;
            if (from < 0) continue;
            p->y.want[to] += (double)p->d.given[from] * (double)p->g.given[tap];
            p->d.want[from] += gradient * (double)p->g.given[tap];
            p->g.want[tap] += gradient * (double)p->d.given[from];
        }
}

/* --- and of absolute values, by the transforms --- */

/* What is given at such elements; -1 is zero. */
static void numbers_at(const tensor *t, const int64_t *elements, int n, double *to)
{
    for (int i = 0; i < n; i++) to[i] = elements[i] < 0 ? 0 : (double)t->given[elements[i]];
}

static void add_bounds(tensor *t, const int64_t *elements, int n, const double *bound)
{
    for (int i = 0; i < n; i++)
        if (elements[i] >= 0) t->bound[elements[i]] += bound[i];
}

typedef struct {
    int64_t in[MOST][IN * IN], out[MOST][OUT * OUT]; /* elements */
    double d[MOST][IN * IN], y[MOST][IN * IN];       /* transforms */
} tile;

static void take_tile(const problem *p, int64_t n, int64_t y, int64_t x, tile *t)
{
    double given[IN * IN];
    for (int64_t c = 0; c < p->s.in; c++) {
        for (int i = 0; i < IN * IN; i++) t->in[c][i] = input_at(p, n, c, y + i / IN, x + i % IN);
        numbers_at(&p->d, t->in[c], IN * IN, given);
        turn_absolute(&B[0][0], IN, IN, false, given, t->d[c]);
    }
    for (int64_t o = 0; o < p->s.out; o++) {
        for (int i = 0; i < OUT * OUT; i++) t->out[o][i] = output_at(p, n, o, y + i / OUT, x + i % OUT);
        numbers_at(&p->y, t->out[o], OUT * OUT, given);
        turn_absolute(&A[0][0], IN, OUT, true, given, t->y[o]);
    }
}

/* weights: their transforms, (output, input, product). */
static void bound_tile(problem *p, const tile *t, const double *weights, double *gradients)
{
    double of_output[MOST][IN * IN] = {{0}}, of_input[MOST][IN * IN] = {{0}}, bound[IN * IN];
    for (int64_t o = 0; o < p->s.out; o++)
        for (int64_t c = 0; c < p->s.in; c++)
            for (int i = 0; i < IN * IN; i++) {
                const int64_t product = (o * p->s.in + c) * IN * IN + i;
                of_output[o][i] += t->d[c][i] * weights[product];
                of_input[c][i] += t->y[o][i] * weights[product];
                gradients[product] += t->d[c][i] * t->y[o][i];
            }
    for (int64_t o = 0; o < p->s.out; o++)
        turn_absolute(&A[0][0], OUT, IN, false, of_output[o], bound), add_bounds(&p->y, t->out[o], OUT * OUT, bound);
    for (int64_t c = 0; c < p->s.in; c++)
        turn_absolute(&B[0][0], IN, IN, true, of_input[c], bound), add_bounds(&p->d, t->in[c], IN * IN, bound);
}

static void solve(problem *p)
{
    const int64_t nweights = p->s.out * p->s.in;
    double *weights = calloc((size_t)(nweights * IN * IN), sizeof *weights),
           *gradients = calloc((size_t)(nweights * IN * IN), sizeof *gradients), given[TAPS];
    int64_t elements[TAPS];
    tile *t = malloc(sizeof *t);
    for (int64_t i = 0; i < p->y.count; i++)
        sum_output(p, i / (p->rows * p->columns) / p->s.out, i / (p->rows * p->columns) % p->s.out,
                   i / p->columns % p->rows, i % p->columns);
    for (int64_t w = 0; w < nweights; w++) {
        for (int i = 0; i < TAPS; i++) given[i] = (double)p->g.given[w * TAPS + i];
        turn_absolute(&G[0][0], IN, KERNEL, false, given, weights + w * IN * IN);
    }
    for (int64_t n = 0; n < p->s.n; n++)
        for (int64_t y = 0; y < p->rows; y += OUT)
            for (int64_t x = 0; x < p->columns; x += OUT)
                take_tile(p, n, y, x, t), bound_tile(p, t, weights, gradients);
    for (int64_t w = 0; w < nweights; w++) {
        for (int i = 0; i < TAPS; i++) elements[i] = w * TAPS + i;
        turn_absolute(&G[0][0], KERNEL, IN, true, gradients + w * IN * IN, given);
        add_bounds(&p->g, elements, TAPS, given);
    }
    free(t), free(weights), free(gradients);
}

static void hold(const problem *p, const char *what, const tensor *t, const float *got, int64_t roundings)
{
    const double gamma = gamma_of(roundings);
    for (int64_t i = 0; i < t->count; i++)
        if (!(fabs((double)got[i] - t->want[i]) <= gamma * t->bound[i]))
            fail_msg("%s %d, %d to %d channels, %d x %d, pad %d: %.9g instead of %.9g, bound %.3g", what, (int)i,
                     (int)p->s.in, (int)p->s.out, (int)p->s.height, (int)p->s.width, (int)p->s.pad, (double)got[i],
                     t->want[i], gamma * t->bound[i]);
}

/* --- runs --- */

/* Of 1 to 4 samples a block, the last one part-filled; every padding that there is. */
static const shape shapes[] = {
    {5, 20, 50, 12, 12, 0, TUTTI_ORDER_NHWC}, {3, 16, 32, 9, 8, 1, TUTTI_ORDER_NHWC},
    {2, 24, 20, 7, 10, 2, TUTTI_ORDER_NHWC},  {1, 36, 16, 6, 5, 3, TUTTI_ORDER_NHWC},
    {2, 64, 64, 8, 7, 4, TUTTI_ORDER_NHWC},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

static void all_passes_are_within_the_bound(void **state)
{
    (void)state;
    for (int i = 0; i < NSHAPES; i++) {
        problem p = make(&shapes[i]);
        pass r;
        solve(&p);
        open_pass(&r, &tutti_winograd_five, &p.s, &p.t, 1);
        float *made = numbers((size_t)p.y.count * sizeof(float)), *din = numbers((size_t)p.d.count * sizeof(float)),
              *dweights = numbers((size_t)p.g.count * sizeof(float));
        tutti_value_to_plain(&r.out, r.made, made), tutti_value_to_plain(&r.in, r.din, din);
        tutti_param_to_plain(&r.weights, r.dweights, dweights);
        const int64_t tiles = p.s.n * r.w.down * r.w.right;
        hold(&p, "output", &p.y, made, p.s.in + TRANSFORMS);
        hold(&p, "input gradient", &p.d, din, p.s.out + TRANSFORMS + MEETING);
        hold(&p, "weight gradient", &p.g, dweights, tiles + TRANSFORMS);
        for (int64_t o = 0; o < p.s.out; o++) {
            double want = 0, absolute = 0;
            for (int64_t j = 0; j < p.y.count; j++)
                if (j / (p.rows * p.columns) % p.s.out == o)
                    want += (double)p.y.given[j], absolute += fabs((double)p.y.given[j]);
            assert_true(fabs((double)r.dbias[o] - want) <= (double)p.y.count * 0x1p-24 * absolute);
        }
        free(made), free(din), free(dweights);
        close_pass(&r), forget(&p);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (int i = 0; i < NSHAPES; i++) assert_threads_change_no_bit(&tutti_winograd_five, &shapes[i]);
}

/* What it leaves to others. */
static void what_it_cannot_do_is_refused(void **state)
{
    static const struct {
        tutti_conv_attrs attrs;
        int64_t channels, side;
        tutti_order order;
    } others[] = {
        {{.out_channels = 32, .kernel = 3, .stride = 1, .pad = 1, .groups = 1}, 16, 9, TUTTI_ORDER_NHWC},
        {{.out_channels = 32, .kernel = 5, .stride = 2, .pad = 1, .groups = 1}, 16, 20, TUTTI_ORDER_NHWC},
        {{.out_channels = 32, .kernel = 5, .stride = 1, .pad = 1, .groups = 2}, 32, 9, TUTTI_ORDER_NHWC},
        {{.out_channels = 32, .kernel = 5, .stride = 1, .pad = 5, .groups = 1}, 16, 9, TUTTI_ORDER_NHWC},
        {{.out_channels = 32, .kernel = 5, .stride = 1, .pad = 0, .groups = 1}, 3, 12, TUTTI_ORDER_NHWC},
        {{.out_channels = 32, .kernel = 5, .stride = 1, .pad = 0, .groups = 1}, 16, 8, TUTTI_ORDER_NHWC},
        {{.out_channels = 32, .kernel = 5, .stride = 1, .pad = 0, .groups = 1}, 32, 12, TUTTI_ORDER_NCHW16C},
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tutti_value in = tutti_value_plain(&(tutti_shape){4, {2, others[i].channels, others[i].side, others[i].side}});
        tutti_layout layout;
        tutti_kernel k = {0};
        tutti_failure err = {0};
        tutti_order_apply(others[i].order, &in, &layout);
        const tutti_kernel_request r = {.engine = "onednn",
                                        .op = tutti_op_find("conv"),
                                        .attrs = &others[i].attrs,
                                        .in = &in,
                                        .nin = 1,
                                        .training = true,
                                        .nthreads = 1,
                                        .order = others[i].order};
        assert_int_equal(tutti_kernel_create_by(&tutti_winograd5_conv, &r, &k, &err), TUTTI_ERR_USAGE);
        assert_non_null(strstr(err.text, "5 x 5"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_passes_are_within_the_bound),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(what_it_cannot_do_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
