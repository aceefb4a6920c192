/* SPDX-License-Identifier: Apache-2.0 */
/* test_precision.c: values of 16 bits: their copies into row-major f32 and back, their sums; and kernels on them: every
 * op gives, to the bit, what its f32 kernel gives for the same numbers, rounded once. */
#include "kernel/kernel_rig.h"

#include "kernel/choose/candidate.h"
#include "kernel/choose/memory_order.h"

static const tutti_dtype dtypes[] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
enum { NDTYPES = 3 };

/* (2, 5, 3) with dim 1 in blocks of 4: 2 * 2 blocks * 3 * 4 elements, of which 6 * 3 are padding. */
static const tutti_layout blocks = {
    .stride = {24, 12, 4}, .padded = {2, 8, 3}, .ninner = 1, .inner_block = {4}, .inner_dim = {1}};
enum { COUNT = 30, ROOM = 48 };

static tutti_value blocked(tutti_dtype type)
{
    return (tutti_value){
        .shape = {3, {2, 5, 3}}, .layout = &blocks, .bytes = ROOM * tutti_dtype_bytes(type), .dtype = type};
}

static void values_of_any_dtype_go_to_row_major_and_back(void **state)
{
    (void)state;
    for (int t = 0; t < NDTYPES; t++)
        for (int in_blocks = 0; in_blocks < 2; in_blocks++) {
            tutti_value v = blocked(dtypes[t]);
            if (!in_blocks) v.layout = NULL, v.bytes = COUNT * tutti_dtype_bytes(dtypes[t]);
            float plain[COUNT], back[COUNT];
            unsigned char memory[ROOM * sizeof(float) + 1];
            memset(memory, 0x5a, sizeof memory);
            for (int i = 0; i < COUNT; i++) plain[i] = (float)(i - 7) / 4; /* exact in 8 bits of mantissa */
            tutti_value_from_plain(&v, plain, memory);
            assert_int_equal(memory[v.bytes], 0x5a);
            tutti_value_to_plain(&v, memory, back);
            assert_memory_equal(back, plain, sizeof plain);
        }
}

static void values_of_any_dtype_are_added_padding_included(void **state)
{
    (void)state;
    for (int t = 0; t < NDTYPES; t++) {
        const tutti_value v = blocked(dtypes[t]);
        float a[COUNT], b[COUNT], sum[COUNT];
        float x[ROOM + 1], y[ROOM + 1]; /* memory for the widest dtype */
        for (int i = 0; i < COUNT; i++) a[i] = (float)i, b[i] = (float)(3 * i % 11);
        tutti_value_from_plain(&v, a, x);
        tutti_value_from_plain(&v, b, y);
        y[ROOM] = -1;
        tutti_value_sum(&v, (const void *const[]){y, x}, 2, y, 1);
        tutti_value_to_plain(&v, y, sum);
        for (int i = 0; i < COUNT; i++) assert_true(sum[i] == a[i] + b[i]);
        assert_true(y[ROOM] == -1);
    }
}

/* ---- kernels ---- */

/* The library's, whether or not this processor has instructions for it. NULL: none, or not in this build. */
static const tutti_kernel_row *find_row(const char *name, const char *op, tutti_precision precision)
{
    char about[96];
    const tutti_kernel_candidate *c = tutti_candidate_find(name, op, precision);
    tutti_kernel_engine_describe("onednn", about);
    return c && about[0] ? c->row : NULL;
}

/* row: which one computes; NULL = the engine's choice. order: of all inputs, which are of one shape; NULL =
 * row-major. */
static void rig_open(rig *r, const char *engine, const tutti_kernel_row *row, const tutti_value *order,
                     const kernel_case *c, tutti_precision precision, bool training)
{
    tutti_value in[TUTTI_MAX_OP_INPUTS];
    for (int i = 0; i < TUTTI_MAX_OP_INPUTS && order; i++) in[i] = *order;
    rig_make(
        r, c, row,
        &(tutti_kernel_request){
            .engine = engine, .in = order ? in : NULL, .precision = precision, .training = training, .nthreads = 1});
}

static void compare(const char *engine, const kernel_case *c, tutti_precision precision, bool training)
{
    rig wide, half;
    rig_open(&wide, engine, NULL, NULL, c, TUTTI_PRECISION_F32, training);
    rig_open(&half, engine, &tutti_kernel_half_adapter, NULL, c, precision, training);
    assert_int_equal(half.k.out.dtype, tutti_precision_dtype(precision));
    assert_int_equal(elements(&wide.k.out), elements(&half.k.out));
    rig_forward(&wide), rig_forward(&half);
    assert_rounds_to(c, "out", &half.k.out, wide.a.out, half.a.out);
    assert_true(wide.loss == half.loss && wide.correct == half.correct);
    if (training) rig_compare_backward(c, &wide, &half);
    rig_close(&wide);
    rig_close(&half);
}

static void every_op_on_16_bits_is_its_f32_kernel_rounded_once(void **state)
{
    (void)state;
    static const char *const engines[] = {"reference", "auto"};
    for (int e = 0; e < 2; e++) {
        char about[96];
        tutti_kernel_engine_describe(engines[e], about);
        for (int i = 0; i < NCASES && about[0]; i++)
            for (int training = 0; training < 2; training++) {
                compare(engines[e], &kernel_cases[i], TUTTI_PRECISION_BF16, training);
                compare(engines[e], &kernel_cases[i], TUTTI_PRECISION_F16, training);
            }
    }
}

static void ops_with_a_merged_relu_do_so_too(void **state)
{
    (void)state;
    int nfused = 0;
    for (int i = 0; i < NCASES; i++) {
        const tutti_op_row *op = tutti_op_find(kernel_cases[i].op);
        char attrs[128];
        for (int addend = 0; op->relu_at && addend <= op->takes_addend; addend++, nfused++) {
            const kernel_case fused = with_relu(&kernel_cases[i], attrs, addend);
            compare("reference", &fused, TUTTI_PRECISION_F16, true);
            if (find_row("onednn", "conv", TUTTI_PRECISION_F32)) compare("auto", &fused, TUTTI_PRECISION_BF16, true);
        }
    }
    assert_true(nfused > 8);
}

/* ---- products of bf16 ---- */

static void assert_equal_values(const kernel_case *c, const char *what, const tutti_value *v, const void *x,
                                const tutti_value *w, const void *y)
{
    const int64_t n = count_of(&v->shape);
    float *a = numbers((size_t)n * sizeof(float)), *b = numbers((size_t)n * sizeof(float));
    tutti_value_to_plain(v, x, a);
    tutti_value_to_plain(w, y, b);
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i])
            fail_msg("%s, %s: %s[%d] is %g, rounded once %g", c->op, c->what, what, (int)i, (double)b[i], (double)a[i]);
    free(a), free(b);
}

static void compare_products_by(const tutti_kernel_row *row, const kernel_case *c, const tutti_value *order,
                                bool training)
{
    rig stored, native;
    rig_open(&stored, "reference", &tutti_kernel_half_adapter, NULL, c, TUTTI_PRECISION_BF16, training);
    rig_open(&native, "auto", row, order, c, TUTTI_PRECISION_BF16, training);
    stored.k.row->forward(&stored.k, &stored.a);
    native.k.row->forward(&native.k, &native.a);
    assert_equal_values(c, "out", &stored.k.out, stored.a.out, &native.k.out, native.a.out);
    if (training) {
        rig_backward(&stored), rig_backward(&native);
        if (native.k.in[0].dtype == TUTTI_BF16)
            assert_equal_values(c, "din", &stored.k.in[0], stored.a.din[0], &native.k.in[0], native.a.din[0]);
        for (int p = 0; p < stored.k.nparams; p++) {
            const tutti_value v = tutti_value_plain(&stored.k.params[p].shape);
            assert_null(native.k.params[p].layout);
            assert_equal_values(c, "dparam", &v, stored.a.dparam[p], &v, native.a.dparam[p]);
        }
    }
    rig_close(&stored);
    rig_close(&native);
}

static void compare_products(const kernel_case *c, const tutti_value *order, bool training)
{
    compare_products_by(find_row("onednn", c->op, TUTTI_PRECISION_BF16), c, order, training);
}

/* Where there are no instructions for products of bf16 the library may imitate them (with AVX-512) or not (with
 * less). */
static bool has_products(void)
{
    const tutti_kernel_row *row = find_row("onednn", "conv", TUTTI_PRECISION_BF16);
    const tutti_value in = {.shape = {4, {1, 16, 4, 4}}, .bytes = 512, .dtype = TUTTI_BF16};
    const tutti_kernel_request request = {.engine = "onednn",
                                          .op = &tutti_op_conv,
                                          .attrs = &conv1,
                                          .in = &in,
                                          .nin = 1,
                                          .precision = TUTTI_PRECISION_BF16,
                                          .training = true,
                                          .nthreads = 1};
    tutti_kernel k;
    if (!row || tutti_kernel_create_by(row, &request, &k, NULL) != TUTTI_OK) return false;
    tutti_kernel_destroy(&k);
    return true;
}

/* Blocks of 16 channels are what AVX512-BF16 multiplies, channels last what AMX does. */
static const tutti_order product_orders[] = {TUTTI_ORDER_NCHW16C, TUTTI_ORDER_NHWC};

static tutti_value in_order(tutti_order order, const tutti_shape *shape, tutti_dtype type, tutti_layout *layout)
{
    tutti_value v = {.shape = *shape, .dtype = type};
    tutti_order_apply(order, &v, layout);
    return v;
}

/* Small whole numbers: sums are exact in any order, so that both round the same number. On processors that do not
 * multiply bf16 the library does it by f32 instructions, and jobs use other rows. */
static void products_of_bf16_are_those_of_f32_rounded_once(void **state)
{
    (void)state;
    int ncompared = 0;
    if (!has_products()) {
        print_message("products of bf16: neither this processor nor the library has them\n");
        skip();
    }
    for (int i = 0; i < NCASES; i++) {
        const kernel_case *c = &kernel_cases[i];
        char attrs[128];
        if (!c->exact || !find_row("onednn", c->op, TUTTI_PRECISION_BF16)) continue;
        const kernel_case fused = with_relu(c, attrs, false);
        compare_products(c, NULL, true);
        compare_products(c, NULL, false);
        compare_products(&fused, NULL, true);
        ncompared++;
        for (int o = 0; o < 2 && c->in.ndims == 4; o++) {
            tutti_layout layout;
            const tutti_value in = in_order(product_orders[o], &c->in, TUTTI_BF16, &layout);
            compare_products(&fused, &in, true);
        }
    }
    assert_true(ncompared > 6);
}

/* With channels innermost and outputs that fill vectors badly: in lanes, in pairs (onednn_conv_lanes.c), where
 * AVX512-BF16 multiplies. */
static void convolutions_of_few_channels_are_those_of_f32_rounded_once(void **state)
{
    (void)state;
    static const tutti_conv_attrs
        valid = {.out_channels = 50, .kernel = 5, .stride = 1, .groups = 1, .bias = true},
        padded = {.out_channels = 50, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true},
        beyond = {.out_channels = 51, .kernel = 3, .stride = 1, .pad = 4, .groups = 1},
        few = {.out_channels = 20, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true},
        odd = {.out_channels = 19, .kernel = 5, .stride = 1, .groups = 1, .bias = true};
    static const kernel_case cases[] = {
        {"conv", &valid, {4, {3, 20, 12, 12}}, true, false, 1, .what = "LeNet's second"},
        {"conv", &few, {4, {2, 1, 28, 28}}, true, false, 1, .what = "one channel, padding"},
        {"conv", &valid, {4, {1, 20, 8, 13}}, true, false, 1, .what = "one sample, an odd row"},
        {"conv", &padded, {4, {2, 20, 21, 9}}, true, false, 1, .what = "padding, an odd row, tiles left over"},
        {"conv", &beyond, {4, {2, 11, 3, 2}}, true, false, 1, .what = "windows in the padding, odd outputs, no bias"},
        {"conv", &odd, {4, {2, 7, 9, 14}}, true, false, 1, .what = "odd channels everywhere"},
    };
    static const tutti_dtype inputs[] = {TUTTI_BF16, TUTTI_F32}; /* an image's are f32 */
    if (!has_products() || !tutti_onednn_multiplies(TUTTI_PRECISION_BF16)) skip();
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const kernel_case *c = &cases[i / 2];
        char attrs[128];
        tutti_layout layout;
        const kernel_case fused = with_relu(c, attrs, false);
        const tutti_value in = in_order(TUTTI_ORDER_NHWC, &c->in, inputs[i % 2], &layout);
        compare_products_by(NULL, c, &in, true); /* as is chosen: in lanes, by tiles */
        compare_products_by(NULL, c, &in, false);
        compare_products_by(NULL, &fused, &in, true);
        compare_products(&fused, &in, true);
    }
}

/* A gradient in two parts is their sum, rounded once, as another kernel would have left it. */
static void compare_parts(const tutti_kernel_row *row, const tutti_value *order, const kernel_case *c,
                          tutti_precision precision)
{
    rig whole, parts;
    rig_open(&whole, "onednn", row, order, c, precision, true);
    rig_open(&parts, "onednn", row, order, c, precision, true);
    assert_int_equal(parts.k.max_dout_parts, 2);
    void *more = fill(c, &parts.k.out, 20);
    const void *both[] = {parts.a.dout, more};
    tutti_value_sum(&whole.k.out, both, 2, whole.a.dout, 1);
    parts.a.ndout_parts = 2;
    memcpy(parts.a.dout_parts, both, sizeof both);
    whole.k.row->forward(&whole.k, &whole.a), rig_backward(&whole);
    parts.k.row->forward(&parts.k, &parts.a), rig_backward(&parts);
    assert_memory_equal(whole.a.dout, parts.a.dout, whole.k.out.bytes);
    assert_memory_equal(whole.a.din[0], parts.a.din[0], whole.k.in[0].bytes);
    for (int p = 0; p < whole.k.nparams; p++)
        assert_memory_equal(whole.a.dparam[p], parts.a.dparam[p], (size_t)whole.k.params[p].elements * sizeof(float));
    free(more);
    rig_close(&whole);
    rig_close(&parts);
}

static void batch_norm_sums_a_gradient_in_two_parts(void **state)
{
    (void)state;
    const tutti_kernel_row *row = find_row("lanes", "batch-norm", TUTTI_PRECISION_F32);
    const kernel_case cases[] = {
        {"batch-norm", &norm, {2, {6, 32}}, false, true, 1, .what = "two dims"},
        {"batch-norm", &norm, {4, {3, 20, 5, 4}}, false, true, 1, .what = "blocks, padded"},
        {"batch-norm", &norm, {4, {4, 64, 48, 48}}, false, true, 1, .what = "past the caches"},
    };
    if (!row) skip();
    for (int i = 0; i < 3 * TUTTI_NORDERS * TUTTI_NPRECISIONS; i++) {
        const kernel_case *c = &cases[i % 3];
        const tutti_order order = (tutti_order)(i / 3 % TUTTI_NORDERS);
        const tutti_precision precision = (tutti_precision)(i / 3 / TUTTI_NORDERS);
        char attrs[128];
        tutti_layout layout;
        const kernel_case fused = with_relu(c, attrs, true);
        if (order == TUTTI_ORDER_NONE || (c->in.ndims != 4 && order != TUTTI_ORDER_NCHW)) continue;
        const tutti_value in = in_order(order, &c->in, tutti_precision_dtype(precision), &layout);
        compare_parts(row, &in, &fused, precision);
    }
}

static void a_precision_says_how_it_computes(void **state)
{
    (void)state;
    char text[96];
    tutti_kernel_precision_describe("reference", TUTTI_PRECISION_F32, text);
    assert_string_equal(text, "f32");
    tutti_kernel_precision_describe("reference", TUTTI_PRECISION_BF16, text);
    assert_string_equal(text, "bf16 (stored; f32 arithmetic)");
    tutti_kernel_precision_describe("onednn", TUTTI_PRECISION_F16, text);
    assert_string_equal(text, "f16 (stored; f32 arithmetic)");
    const char *by = tutti_onednn_multiplies(TUTTI_PRECISION_BF16);
    tutti_kernel_precision_describe("onednn", TUTTI_PRECISION_BF16, text);
    assert_non_null(strstr(text, by ? by : "stored"));
}

static void kernels_on_16_bits_work_in_place_where_f32_ones_do(void **state)
{
    (void)state;
    int nin_place = 0;
    for (int i = 0; i < NCASES; i++) {
        rig apart, same;
        rig_open(&apart, "reference", NULL, NULL, &kernel_cases[i], TUTTI_PRECISION_BF16, true);
        rig_open(&same, "reference", NULL, NULL, &kernel_cases[i], TUTTI_PRECISION_BF16, true);
        if (apart.k.in_place) {
            void *const din = same.a.din[0], *const out = same.a.out;
            same.a.out = (void *)same.a.in[0];
            if (din) same.a.din[0] = same.a.dout;
            apart.k.row->forward(&apart.k, &apart.a), rig_backward(&apart);
            same.k.row->forward(&same.k, &same.a), rig_backward(&same);
            assert_memory_equal(apart.a.out, same.a.out, apart.k.out.bytes);
            if (din) assert_memory_equal(apart.a.din[0], same.a.din[0], apart.k.in[0].bytes);
            same.a.out = out, same.a.din[0] = din;
            nin_place++;
        }
        rig_close(&apart);
        rig_close(&same);
    }
    assert_true(nin_place > 3);
}

static void an_f32_input_needs_no_copy(void **state)
{
    (void)state;
    const tutti_value images = tutti_value_plain(&(tutti_shape){4, {2, 3, 6, 5}});
    const tutti_kernel_request request = {.engine = "reference",
                                          .op = &tutti_op_conv,
                                          .attrs = &conv3,
                                          .in = &images,
                                          .nin = 1,
                                          .precision = TUTTI_PRECISION_BF16,
                                          .training = true,
                                          .nthreads = 1};
    tutti_kernel k;
    assert_int_equal(tutti_kernel_create(&request, &k, NULL), TUTTI_OK);
    assert_int_equal(k.out.bytes, 2 * count_of(&k.out.shape));
    assert_int_equal(k.scratch_bytes, (2 * k.out.bytes + 63) / 64 * 64);
    tutti_kernel_destroy(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_any_dtype_go_to_row_major_and_back),
        cmocka_unit_test(values_of_any_dtype_are_added_padding_included),
        cmocka_unit_test(every_op_on_16_bits_is_its_f32_kernel_rounded_once),
        cmocka_unit_test(ops_with_a_merged_relu_do_so_too),
        cmocka_unit_test(products_of_bf16_are_those_of_f32_rounded_once),
        cmocka_unit_test(convolutions_of_few_channels_are_those_of_f32_rounded_once),
        cmocka_unit_test(batch_norm_sums_a_gradient_in_two_parts),
        cmocka_unit_test(a_precision_says_how_it_computes),
        cmocka_unit_test(kernels_on_16_bits_work_in_place_where_f32_ones_do),
        cmocka_unit_test(an_f32_input_needs_no_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
