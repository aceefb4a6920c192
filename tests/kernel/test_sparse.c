/* SPDX-License-Identifier: Apache-2.0 */
/* test_sparse.c: the row `sparse` of convolutions against the reference with small integers, so that sums are exact and
 * == is the test: all three passes at sparsity 0, 0.5, 0.9, 0.99 and 1, kernels of 1 to 11, strides, padding, groups,
 * odd channels, every memory order, one to three threads, both forms of the input gradient; and what becomes of 0 x Inf
 * and of NaN. Under other instruction sets: tests/isa. */
#include "kernel/kernel_rig.h"

#include <math.h>

#include "kernel/choose/memory_order.h"
#include "kernel/sparse/sparse_switch.h"

#define CONV(n, k, s, p, g, has_bias)                                                                                  \
    {                                                                                                                  \
        .out_channels = n, .kernel = k, .stride = s, .pad = p, .groups = g, .bias = has_bias                           \
    }

static const struct {
    tutti_conv_attrs attrs;
    tutti_shape in;
} cases[] = {
    {CONV(16, 1, 1, 0, 1, false), {4, {2, 16, 5, 4}}},
    {CONV(7, 1, 2, 0, 1, true), {4, {3, 5, 6, 7}}},
    {CONV(20, 3, 1, 1, 1, true), {4, {3, 18, 6, 5}}},
    {CONV(150, 3, 1, 1, 1, false), {4, {2, 35, 4, 4}}}, /* several blocks of vectors and lists */
    {CONV(33, 3, 2, 1, 1, true), {4, {2, 40, 7, 6}}},
    {CONV(9, 3, 3, 0, 1, false), {4, {2, 4, 9, 8}}},
    {CONV(17, 5, 1, 2, 1, true), {4, {2, 19, 8, 9}}},
    {CONV(12, 5, 2, 0, 1, false), {4, {1, 3, 11, 10}}},
    {CONV(6, 7, 2, 3, 1, true), {4, {2, 3, 12, 13}}},
    {CONV(10, 11, 4, 2, 1, false), {4, {2, 3, 19, 20}}},
    {CONV(4, 2, 1, 2, 1, false), {4, {2, 3, 4, 3}}}, /* outputs that see nothing but padding */
    {CONV(5, 1, 3, 0, 1, false), {4, {2, 3, 7, 7}}}, /* inputs that nobody sees */
    {CONV(24, 3, 1, 1, 2, true), {4, {2, 36, 5, 5}}},
    {CONV(32, 3, 2, 1, 2, false), {4, {1, 32, 6, 6}}},
    {CONV(8, 3, 1, 1, 1, false), {4, {1, 4, 30, 40}}}, /* several tiles of one sample */
    {CONV(8, 3, 1, 0, 1, false), {4, {70, 3, 5, 5}}},  /* several tiles of samples */
    {CONV(5, 3, 2, 1, 1, true), {4, {1, 17, 9, 75}}},  /* several tiles of a row */
};
enum { NSHAPES = sizeof cases / sizeof *cases };
static const int per_thousand[] = {0, 500, 900, 990, 1000};
enum { NSPARSITIES = sizeof per_thousand / sizeof *per_thousand };

/* Where zeros come from, and what the input gradient skips. */
typedef enum { NOTHING, OWN_RELU, RECTIFIED, POOLED, OWN_RELU_POOLED, NFORMS } form;
static const char *const forms[NFORMS] = {"neither", "a ReLU of its own", "a ReLU before it", "a max pool behind it",
                                          "a ReLU of its own and a max pool behind it"};

static bool has_relu(form f)
{
    return f == OWN_RELU || f == OWN_RELU_POOLED;
}

static bool is_pooled(form f)
{
    return f == POOLED || f == OWN_RELU_POOLED;
}

typedef struct {
    int shape;
    form form;
    tutti_order order;
    int sparsity, nthreads; /* sparsity: in thousandths */
} setting;

static void fail_at(const setting *at, const char *what, int64_t i, float got, float want)
{
    fail_msg("case %d, %s, %s, sparsity %d/1000, %d threads: %s[%d] is %.9g, the reference has %.9g", at->shape,
             forms[at->form], tutti_order_name(at->order), at->sparsity, at->nthreads, what, (int)i, (double)got,
             (double)want);
}

static float drawn(const setting *at, uint64_t tensor, int64_t i)
{
    const tutti_random4 r = tutti_random(9, TUTTI_STREAM_TEST, tensor, (uint64_t)i);
    const bool zero = (int)(r.word[1] % 1000) < at->sparsity;
    const int value = 1 + (int)(r.word[0] % 4);
    return zero ? 0 : (float)(tensor && r.word[2] % 2 ? -value : value);
}

/* Tensor 0 is the input: it has no negative numbers, as behind a ReLU. */
static void fill_sparse(const setting *at, uint64_t tensor, const tutti_value *v, const void *memory)
{
    const int64_t n = count_of(&v->shape);
    float *plain = numbers((size_t)n * sizeof *plain);
    for (int64_t i = 0; i < n; i++) plain[i] = drawn(at, tensor, i);
    tutti_value_from_plain(v, plain, (void *)(uintptr_t)memory);
    free(plain);
}

static kernel_case case_of(const setting *at, tutti_conv_attrs *attrs)
{
    *attrs = cases[at->shape].attrs;
    attrs->relu = has_relu(at->form);
    return (kernel_case){.op = "conv", .attrs = attrs, .in = cases[at->shape].in, .exact = true, .what = "sparse"};
}

/* row NULL: the reference's, row-major. */
static void make(rig *r, const setting *at, const kernel_case *c, const tutti_kernel_row *row, tutti_layout *layout)
{
    tutti_value in = {.shape = c->in};
    tutti_order_apply(row ? at->order : TUTTI_ORDER_NCHW, &in, layout);
    rig_make(r, c, row,
             &(tutti_kernel_request){.engine = row ? "sparse" : "reference",
                                     .in = &in,
                                     .training = true,
                                     .nthreads = row ? at->nthreads : 1,
                                     .rectified = at->form == RECTIFIED,
                                     .pooled = is_pooled(at->form),
                                     .order = at->order});
    fill_sparse(at, 0, &r->k.in[0], r->a.in[0]);
    const setting half = {.sparsity = has_relu(at->form) ? 500 : at->sparsity};
    fill_sparse(&half, 1, &r->k.out, r->a.dout);
}

static void assert_same(const setting *at, const char *what, const tutti_value *v, const void *got, const float *want,
                        const float *mask)
{
    const int64_t n = count_of(&v->shape);
    float *plain = numbers((size_t)n * sizeof *plain);
    tutti_value_to_plain(v, got, plain);
    for (int64_t i = 0; i < n; i++) {
        const float wanted = mask && mask[i] <= 0 ? 0 : want[i];
        if (plain[i] != wanted) fail_at(at, what, i, plain[i], wanted);
    }
    void *again = numbers(v->bytes);
    tutti_value_from_plain(v, plain, again);
    if (tutti_value_elements(v) > n) /* padding holds zeros; -0 is one */
        for (int64_t i = 0; i < tutti_value_elements(v); i++)
            if (((float *)again)[i] != ((const float *)got)[i]) fail_at(at, what, i, NAN, 0);
    free(plain), free(again);
}

static void check(const setting *at)
{
    tutti_conv_attrs attrs;
    const kernel_case c = case_of(at, &attrs);
    tutti_layout layout, plain;
    rig want, got;
    make(&want, at, &c, NULL, &plain);
    make(&got, at, &c, &tutti_sparse_conv, &layout);
    assert_int_equal(tutti_order_of(&got.k.out), at->order);
    rig_forward(&want), rig_forward(&got);
    assert_same(at, "output", &got.k.out, got.a.out, want.a.out, NULL);
    rig_backward(&want), rig_backward(&got);
    assert_same(at, "input gradient", &got.k.in[0], got.a.din[0], want.a.din[0],
                at->form == RECTIFIED ? want.a.in[0] : NULL);
    for (int p = 0; p < want.k.nparams; p++)
        for (int64_t i = 0; i < want.k.params[p].elements; i++)
            if (want.a.dparam[p][i] != got.a.dparam[p][i])
                fail_at(at, want.k.params[p].name, i, got.a.dparam[p][i], want.a.dparam[p][i]);
    rig_close(&want), rig_close(&got);
}

static void each_pass_equals_the_reference_at_each_sparsity(void **state)
{
    (void)state;
    static const tutti_order native[] = {TUTTI_ORDER_NHWC, TUTTI_ORDER_NCHW16C};
    for (int shape = 0; shape < NSHAPES; shape++)
        for (int i = 0; i < NSPARSITIES * NFORMS; i++)
            check(&(setting){.shape = shape,
                             .form = (form)(i % NFORMS),
                             .order = native[(shape + i) % 2],
                             .sparsity = per_thousand[i / NFORMS],
                             .nthreads = 1});
}

static void orders_and_threads_change_nothing(void **state)
{
    (void)state;
    for (int shape = 0; shape < NSHAPES; shape++)
        for (int order = TUTTI_ORDER_NCHW; order < TUTTI_NORDERS; order++)
            check(&(setting){.shape = shape,
                             .form = (form)((shape + order) % NFORMS),
                             .order = (tutti_order)order,
                             .sparsity = 700,
                             .nthreads = 1 + (shape + order) % 3});
}

/* An infinite weight of a channel that is zero everywhere, and a NaN in the input. */
static void a_zero_is_never_multiplied_and_a_nan_always(void **state)
{
    (void)state;
    const setting at = {.shape = 2, .form = NOTHING, .order = TUTTI_ORDER_NHWC, .sparsity = 0, .nthreads = 1};
    tutti_conv_attrs attrs;
    const kernel_case c = case_of(&at, &attrs);
    tutti_layout layout;
    rig r;
    make(&r, &at, &c, &tutti_sparse_conv, &layout);
    const int64_t channels = c.in.dim[1], n = count_of(&c.in), outputs = count_of(&r.k.out.shape);
    float *in = (float *)(uintptr_t)r.a.in[0], *weight = (float *)(uintptr_t)r.a.param[0];
    for (int64_t i = 0; i < n; i += channels) in[i] = i % (2 * channels) ? 0.0f : -0.0f;
    for (int64_t i = 0; i < attrs.out_channels; i++) weight[i * channels * attrs.kernel * attrs.kernel + 4] = INFINITY;
    rig_forward(&r);
    for (int64_t i = 0; i < outputs; i++) assert_true(isfinite(((float *)r.a.out)[i]));
    in[0] = NAN; /* position (0, 0) of the first sample: outputs within reach of it, and no others */
    rig_forward(&r);
    for (int64_t i = 0; i < outputs; i++) {
        const int64_t position = i / attrs.out_channels, width = c.in.dim[3];
        const bool meets = position < width * 2 && position % width < 2;
        assert_int_equal(!!isnan(((float *)r.a.out)[i]), meets);
    }
    rig_close(&r);
}

/* ---- switches ---- */

/* Dense passes of the library's and sparse ones in every mixture, and back: what is multiplied is small and whole, so
 * both are the reference's. */
static void check_switch(const setting *at)
{
    tutti_conv_attrs attrs;
    const kernel_case c = case_of(at, &attrs);
    tutti_layout layout, plain;
    rig want, got;
    make(&want, at, &c, NULL, &plain);
    tutti_value in = {.shape = c.in};
    tutti_order_apply(at->order, &in, &layout);
    const tutti_kernel_request r = {.engine = "onednn",
                                    .in = &in,
                                    .training = true,
                                    .nthreads = at->nthreads,
                                    .rectified = 1,
                                    .pooled = is_pooled(at->form),
                                    .order = at->order};
    rig_make(&got, &c, NULL, &r);
    tutti_kernel_request full = r;
    full.op = got.k.op, full.attrs = &attrs, full.nin = 1;
    tutti_sparse_switch_around(&full, &got.k);
    assert_true(tutti_sparse_is_switch(&got.k));
    free(got.a.scratch);
    got.a.scratch = numbers(got.k.scratch_bytes);
    for (int p = 0; p < got.k.nparams; p++)
        tutti_param_from_plain(&got.k.params[p], want.a.param[p], (float *)(uintptr_t)got.a.param[p]);
    fill_sparse(at, 0, &got.k.in[0], got.a.in[0]);
    rig_forward(&want);
    rig_backward(&want);
    for (unsigned passes = 0; passes < 2u << TUTTI_NPASSES; passes++) {
        const setting half = {.sparsity = has_relu(at->form) ? 500 : at->sparsity};
        tutti_sparse_set_passes(&got.k, passes);
        assert_int_equal(tutti_sparse_passes(&got.k), passes);
        fill_sparse(&half, 1, &got.k.out, got.a.dout);
        rig_forward(&got);
        assert_same(at, "output", &got.k.out, got.a.out, want.a.out, NULL);
        rig_backward(&got);
        const bool masked = at->form != OWN_RELU && !is_pooled(at->form) && passes >> TUTTI_PASS_DATA & 1;
        assert_same(at, "input gradient", &got.k.in[0], got.a.din[0], want.a.din[0], masked ? want.a.in[0] : NULL);
        float *dweights = numbers((size_t)count_of(&got.k.params[0].shape) * sizeof(float));
        tutti_param_to_plain(&got.k.params[0], got.a.dparam[0], dweights);
        for (int64_t i = 0; i < want.k.params[0].elements; i++)
            if (dweights[i] != want.a.dparam[0][i]) fail_at(at, "weight", i, dweights[i], want.a.dparam[0][i]);
        free(dweights);
    }
    rig_close(&want), rig_close(&got);
}

static void a_switch_gives_the_same_in_every_mixture_of_passes(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * NFORMS; i++)
        check_switch(&(setting){.shape = 2 + i,
                                .form = (form)(i % NFORMS),
                                .order = i % 2 ? TUTTI_ORDER_NCHW16C : TUTTI_ORDER_NHWC,
                                .sparsity = 600,
                                .nthreads = 1});
}

static void the_rule_takes_more_passes_the_more_is_zero(void **state)
{
    (void)state;
    const tutti_conv_attrs attrs = CONV(128, 3, 1, 1, 1, true);
    const kernel_case c = {.op = "conv", .attrs = &attrs, .in = {4, {1, 64, 8, 8}}, .what = "wide"};
    const tutti_kernel_request r = {.engine = "reference", .training = true, .nthreads = 1, .rectified = 1};
    rig made;
    rig_make(&made, &c, NULL, &r);
    const tutti_value in = made.k.in[0];
    tutti_kernel_request full = r;
    full.op = made.k.op, full.attrs = &attrs, full.in = &in, full.nin = 1;
    assert_int_equal(tutti_sparse_rule(&made.k, 1, 1), 0); /* it is no switch */
    full.rectified = 0;
    tutti_sparse_switch_around(&full, &made.k);
    assert_false(tutti_sparse_is_switch(&made.k)); /* no ReLU made its input */
    full.rectified = 1;
    tutti_sparse_switch_around(&full, &made.k);
    unsigned before = 0;
    for (int percent = 0; percent <= 100; percent += 5) {
        const unsigned passes = tutti_sparse_rule(&made.k, percent / 100.0, 0);
        assert_int_equal(before & ~passes, 0);
        before = passes;
    }
    assert_int_equal(tutti_sparse_rule(&made.k, 0, 0), 0);
    free(made.a.scratch);
    made.a.scratch = numbers(made.k.scratch_bytes);
    rig_close(&made);
}

/* Seven channels: blocks have padding, whose zeros are none of the value's. */
static void zeros_of_a_value_are_counted_without_its_padding(void **state)
{
    (void)state;
    static const tutti_dtype types[] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
    for (int i = 0; i < 3 * TUTTI_NORDERS; i++) {
        const tutti_order order = (tutti_order)(i / 3);
        tutti_value v = {.shape = {4, {2, 7, 3, 5}}, .dtype = types[i % 3]};
        tutti_layout layout;
        if (order == TUTTI_ORDER_NONE) continue;
        tutti_order_apply(order, &v, &layout);
        const tutti_value wide = {
            .shape = v.shape, .layout = v.layout, .bytes = v.bytes / tutti_dtype_bytes(v.dtype) * 4};
        float plain[2 * 7 * 3 * 5], *ordered = numbers(wide.bytes);
        int64_t zeros = 0;
        for (int e = 0; e < 2 * 7 * 3 * 5; e++) {
            plain[e] = e % 3 ? (float)(e % 5 - 2) : e == 6 ? NAN : -0.0f;
            zeros += plain[e] == 0;
        }
        tutti_value_from_plain(&wide, plain, ordered);
        void *memory = numbers(v.bytes);
        tutti_convert_from_f32(v.dtype, ordered, memory, tutti_value_elements(&v));
        assert_int_equal(tutti_value_zeros(&v, memory), zeros);
        free(ordered), free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pass_equals_the_reference_at_each_sparsity),
        cmocka_unit_test(orders_and_threads_change_nothing),
        cmocka_unit_test(a_zero_is_never_multiplied_and_a_nan_always),
        cmocka_unit_test(a_switch_gives_the_same_in_every_mixture_of_passes),
        cmocka_unit_test(the_rule_takes_more_passes_the_more_is_zero),
        cmocka_unit_test(zeros_of_a_value_are_counted_without_its_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
