/* SPDX-License-Identifier: Apache-2.0 */
/* test_implicit.c: convolutions by products of windows (implicit_conv.c). Against the reference with small whole
 * numbers, whose sums are exact, so that == is the test: kernels of 1 to 11, strides of 1 to 4, padding, groups,
 * channels that fill nothing, in every order that is read and written, f32 and bf16, 1 to 3 threads. With numbers whose
 * sums are rounded: the same bits at any number of threads and, in f32, in any order. */
#include "kernel/kernel_rig.h"

#include "kernel/choose/candidate.h"
#include "kernel/choose/memory_order.h"

#define CONV(n, k, s, p, g, b)                                                                                         \
    &(const tutti_conv_attrs)                                                                                          \
    {                                                                                                                  \
        .out_channels = n, .kernel = k, .stride = s, .pad = p, .groups = g, .bias = b                                  \
    }
#define CASE(attrs, in, about)                                                                                         \
    {                                                                                                                  \
        "conv", attrs, in, true, false, 1, .what = about                                                               \
    }
#define SHAPE(...)                                                                                                     \
    {                                                                                                                  \
        4,                                                                                                             \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

static const kernel_case cases[] = {
    CASE(CONV(32, 1, 1, 0, 1, true), SHAPE(2, 16, 5, 7), "1 x 1"),
    CASE(CONV(48, 1, 2, 0, 1, false), SHAPE(3, 32, 7, 6), "1 x 1 of stride 2: positions that see nothing"),
    CASE(CONV(16, 1, 3, 1, 1, true), SHAPE(2, 16, 7, 8), "1 x 1 of stride 3, padded"),
    CASE(CONV(40, 2, 1, 0, 1, true), SHAPE(2, 16, 9, 4), "2 x 2"),
    CASE(CONV(64, 3, 1, 1, 1, true), SHAPE(2, 32, 15, 14), "3 x 3, panels that end amid lines"),
    CASE(CONV(20, 3, 1, 4, 1, false), SHAPE(2, 17, 3, 2), "windows in the padding alone, odd channels"),
    CASE(CONV(33, 3, 2, 1, 1, true), SHAPE(2, 48, 9, 8), "3 x 3 of stride 2"),
    CASE(CONV(16, 3, 4, 2, 1, true), SHAPE(3, 16, 10, 13), "3 x 3 of stride 4: classes that see nothing"),
    CASE(CONV(24, 4, 3, 0, 1, false), SHAPE(2, 19, 11, 10), "4 x 4 of stride 3"),
    CASE(CONV(50, 5, 1, 0, 1, true), SHAPE(3, 20, 12, 12), "LeNet's second"),
    CASE(CONV(32, 5, 2, 2, 2, true), SHAPE(2, 64, 9, 9), "5 x 5 of stride 2, two groups"),
    CASE(CONV(9, 3, 1, 1, 3, true), SHAPE(2, 15, 6, 5), "three groups of odd channels"),
    CASE(CONV(6, 3, 1, 1, 6, false), SHAPE(2, 6, 5, 4), "each channel alone"),
    CASE(CONV(32, 7, 2, 3, 1, true), SHAPE(2, 3, 21, 20), "an image, 7 x 7 of stride 2"),
    CASE(CONV(20, 5, 1, 0, 1, true), SHAPE(2, 1, 28, 28), "an image of one channel"),
    CASE(CONV(48, 11, 4, 2, 1, false), SHAPE(2, 3, 35, 31), "an image, 11 x 11 of stride 4"),
    CASE(CONV(16, 3, 2, 5, 1, true), SHAPE(1, 4, 6, 7), "an image padded by more than windows are wide"),
    CASE(CONV(17, 3, 1, 1, 1, true), SHAPE(1, 900, 4, 3), "more channels than a block of k holds"),
    CASE(CONV(70, 3, 1, 1, 1, true), SHAPE(1, 300, 6, 5), "several blocks of k"),
    CASE(CONV(700, 2, 1, 0, 1, false), SHAPE(2, 160, 4, 4), "several blocks of columns"),
};
enum { NCONVS = sizeof cases / sizeof *cases };

typedef struct {
    const char *name;
    tutti_order in, out;
    tutti_precision precision;
    int nthreads;
} setting;

static int taken[TUTTI_NPRECISIONS][TUTTI_NPASSES];

/* trained: NULL = this is what is trained; else whose weights are evaluated. */
static void make_for(rig *r, const kernel_case *c, const setting *at, const rig *trained)
{
    tutti_value in = {.shape = c->in, .dtype = tutti_precision_dtype(at->precision)};
    tutti_layout layout;
    tutti_order_apply(at->in, &in, &layout);
    const tutti_kernel_request request = {.engine = at->name,
                                          .in = &in,
                                          .precision = at->precision,
                                          .training = !trained,
                                          .nthreads = at->nthreads,
                                          .order = at->out,
                                          .params_as = trained ? trained->k.params : NULL};
    rig_make(r, c, NULL, &request);
    r->layout = layout;
    r->k.in[0] = in;
    if (in.layout) r->k.in[0].layout = &r->layout;
}

static void make(rig *r, const kernel_case *c, const setting *at)
{
    make_for(r, c, at, NULL);
}

static bool is_implicit(const rig *r, tutti_kernel_pass pass)
{
    return r->k.chosen[pass].name && !strcmp(r->k.chosen[pass].name, "implicit");
}

static float *plain_of(const tutti_value *v, tutti_order order, const void *memory)
{
    tutti_value there = *v;
    tutti_layout layout;
    float *plain = numbers((size_t)count_of(&v->shape) * sizeof *plain);
    tutti_order_apply(order, &there, &layout);
    tutti_value_to_plain(&there, memory, plain);
    return plain;
}

static void assert_equal(const kernel_case *c, const setting *at, const char *what, float *want, float *got, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (want[i] != got[i])
            fail_msg("%s, %s to %s, %s, %d threads: %s[%d] is %.9g, not %.9g", c->what, tutti_order_name(at->in),
                     tutti_order_name(at->out), tutti_precision_name(at->precision), at->nthreads, what, (int)i,
                     (double)got[i], (double)want[i]);
    free(want), free(got);
}

/* All that two kernels made. */
static void compare(const kernel_case *c, rig *want, const setting *as, rig *got, const setting *at)
{
    const int64_t nin = count_of(&c->in), nout = count_of(&got->k.out.shape);
    assert_equal(c, at, "out", plain_of(&want->k.out, as->out, want->a.out), plain_of(&got->k.out, at->out, got->a.out),
                 nout);
    assert_equal(c, at, "din", plain_of(&want->k.in[0], as->in, want->a.din[0]),
                 plain_of(&got->k.in[0], at->in, got->a.din[0]), nin);
    for (int p = 0; p < want->k.nparams; p++) {
        const int64_t n = count_of(&want->k.params[p].shape);
        float *x = numbers((size_t)n * sizeof *x), *y = numbers((size_t)n * sizeof *y);
        tutti_param_to_plain(&want->k.params[p], want->a.dparam[p], x);
        tutti_param_to_plain(&got->k.params[p], got->a.dparam[p], y);
        assert_equal(c, at, want->k.params[p].name, x, y, n);
    }
}

static void run(rig *r)
{
    rig_forward(r);
    rig_backward(r);
}

static void against_the_reference(const kernel_case *c, const setting *at)
{
    const setting as = {"reference", TUTTI_ORDER_NCHW, TUTTI_ORDER_NCHW, at->precision, 1};
    rig want, got;
    make(&got, c, at);
    if (is_implicit(&got, TUTTI_PASS_FORWARD)) {
        make(&want, c, &as);
        run(&want), run(&got);
        compare(c, &want, &as, &got, at);
        rig_close(&want);
        for (int pass = 0; pass < TUTTI_NPASSES; pass++)
            taken[at->precision][pass] += is_implicit(&got, (tutti_kernel_pass)pass);
    }
    rig_close(&got);
}

static const tutti_order orders[][2] = {{TUTTI_ORDER_NCHW16C, TUTTI_ORDER_NCHW16C},
                                        {TUTTI_ORDER_NHWC, TUTTI_ORDER_NHWC},
                                        {TUTTI_ORDER_NCHW, TUTTI_ORDER_NCHW16C},
                                        {TUTTI_ORDER_NCHW, TUTTI_ORDER_NHWC},
                                        {TUTTI_ORDER_NHWC, TUTTI_ORDER_NCHW16C}};
enum { NORDERS = sizeof orders / sizeof *orders };

static void every_convolution_gives_what_the_reference_gives(void **state)
{
    (void)state;
    char attrs[128];
    for (int i = 0; i < NCONVS; i++) {
        const kernel_case fused = with_relu(&cases[i], attrs, false);
        for (int o = 0; o < NORDERS; o++)
            for (int p = TUTTI_PRECISION_F32; p <= TUTTI_PRECISION_BF16; p++) {
                const setting at = {"implicit", orders[o][0], orders[o][1], (tutti_precision)p, 1 + (i + o) % 3};
                against_the_reference(o % 2 ? &fused : &cases[i], &at);
            }
    }
    for (int pass = 0; pass < TUTTI_NPASSES; pass++) { /* what there is everywhere */
        assert_true(taken[TUTTI_PRECISION_F32][pass] >= NCONVS);
        assert_true(taken[TUTTI_PRECISION_BF16][pass] >= NCONVS);
    }
}

/* Numbers of which sums are rounded: what differs in the order of a sum shows. */
static kernel_case rough(const kernel_case *c)
{
    kernel_case r = *c;
    r.spread = true, r.exact = false;
    return r;
}

static void bits_do_not_depend_on_threads_and_orders(void **state)
{
    (void)state;
    for (int i = 0; i < NCONVS; i++)
        for (int p = TUTTI_PRECISION_F32; p <= TUTTI_PRECISION_BF16; p++) {
            const kernel_case c = rough(&cases[i]);
            const setting one = {"implicit", TUTTI_ORDER_NHWC, TUTTI_ORDER_NHWC, (tutti_precision)p, 1};
            setting other = one;
            other.nthreads = 3;
            if (p == TUTTI_PRECISION_F32 && i % 2) other.in = other.out = TUTTI_ORDER_NCHW16C;
            rig want, got;
            make(&want, &c, &one), make(&got, &c, &other);
            bool same = true; /* all passes are ours in both */
            for (int pass = 0; pass < TUTTI_NPASSES; pass++)
                same =
                    same && is_implicit(&want, (tutti_kernel_pass)pass) && is_implicit(&got, (tutti_kernel_pass)pass);
            if (same) {
                run(&want), run(&got);
                compare(&c, &want, &one, &got, &other);
            }
            rig_close(&want), rig_close(&got);
        }
}

/* Nothing else may read the order of its weights, and no rule says its time. */
static void what_it_trains_is_evaluated_without_asking_for_it(void **state)
{
    (void)state;
    int nordered = 0;
    for (int i = 0; i < NCONVS; i++) {
        const setting by_name = {"implicit", TUTTI_ORDER_NHWC, TUTTI_ORDER_NHWC, TUTTI_PRECISION_F32, 1};
        setting by_auto = by_name;
        by_auto.name = "auto";
        rig trained, evaluated;
        make(&trained, &cases[i], &by_name);
        make_for(&evaluated, &cases[i], &by_auto, &trained);
        rig_forward(&trained), rig_forward(&evaluated);
        if (strncmp(evaluated.k.chosen[TUTTI_PASS_FORWARD].name, "winograd", 8) != 0) { /* which rounds */
            assert_equal(&cases[i], &by_auto, "out", plain_of(&trained.k.out, by_name.out, trained.a.out),
                         plain_of(&evaluated.k.out, by_auto.out, evaluated.a.out), count_of(&trained.k.out.shape));
            nordered += is_implicit(&trained, TUTTI_PASS_FORWARD) && trained.k.params[0].layout;
        }
        rig_close(&trained), rig_close(&evaluated);
    }
    assert_true(nordered > NCONVS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_convolution_gives_what_the_reference_gives),
        cmocka_unit_test(bits_do_not_depend_on_threads_and_orders),
        cmocka_unit_test(what_it_trains_is_evaluated_without_asking_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
