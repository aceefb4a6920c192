/* SPDX-License-Identifier: Apache-2.0 */
/* test_dense_gemm.c: dense by products of our own behind planes: its weights lie in the order of the input, and give
 * what the reference gives to the bit, sums being exact, in training and in evaluation of what was trained, alone or
 * before gradients by the library. It keeps away where weights lie otherwise, or blocks are not full. */
#include "kernel/kernel_rig.h"

#include "kernel/choose/candidate.h"
#include "kernel/choose/dense_ways.h"
#include "kernel/choose/memory_order.h"

static const tutti_dense_attrs units = {.units = 23, .bias = true, .relu = true};
static const kernel_case planes = {"dense", &units, {4, {5, 32, 3, 2}}, true, false, 1, .what = "behind planes"};
static const tutti_order orders[] = {TUTTI_ORDER_NCHW8C, TUTTI_ORDER_NCHW16C, TUTTI_ORDER_NHWC};
enum { NORDERS = sizeof orders / sizeof *orders };

static tutti_kernel_request request_of(const tutti_value *in, const rig *trained)
{
    return (tutti_kernel_request){.engine = "gemm",
                                  .op = &tutti_op_dense,
                                  .attrs = planes.attrs,
                                  .in = in,
                                  .nin = 1,
                                  .training = !trained,
                                  .nthreads = 1,
                                  .params_as = trained ? trained->k.params : NULL};
}

static tutti_value planes_in(tutti_order order, tutti_layout *layout)
{
    tutti_value in = {.shape = planes.in, .dtype = TUTTI_F32};
    tutti_order_apply(order, &in, layout);
    return in;
}

static void assert_same_param(const rig *want, const rig *got, int p)
{
    const int64_t n = count_of(&want->k.params[p].shape);
    float *x = numbers((size_t)n * sizeof *x), *y = numbers((size_t)n * sizeof *y);
    tutti_param_to_plain(&want->k.params[p], want->a.dparam[p], x);
    tutti_param_to_plain(&got->k.params[p], got->a.dparam[p], y);
    assert_memory_equal(x, y, (size_t)n * sizeof *x);
    free(x), free(y);
}

static void assert_same_din(const rig *want, const rig *got)
{
    const int64_t n = count_of(&planes.in);
    float *x = numbers((size_t)n * sizeof *x), *y = numbers((size_t)n * sizeof *y);
    tutti_value_to_plain(&want->k.in[0], want->a.din[0], x);
    tutti_value_to_plain(&got->k.in[0], got->a.din[0], y);
    assert_memory_equal(x, y, (size_t)n * sizeof *x);
    free(x), free(y);
}

/* What this kernel makes in a step, against the reference, whose rig is left open. */
static void assert_trains(rig *want, rig *got)
{
    const tutti_kernel_request plain = {.engine = "reference", .training = true, .nthreads = 1};
    rig_make(want, &planes, NULL, &plain);
    rig_forward(want), rig_forward(got);
    rig_backward(want), rig_backward(got);
    assert_memory_equal(want->a.out, got->a.out, want->k.out.bytes);
    for (int p = 0; p < want->k.nparams; p++) assert_same_param(want, got, p);
    assert_same_din(want, got);
}

static void weights_take_the_order_of_the_planes(tutti_order order)
{
    tutti_layout layout;
    const tutti_value in = planes_in(order, &layout);
    tutti_kernel_request r = request_of(&in, NULL);
    rig want, got, evaluated;
    rig_make(&got, &planes, NULL, &r);
    assert_string_equal(got.k.chosen[TUTTI_PASS_PARAMS].name, "gemm");
    assert_non_null(got.k.params[0].layout);
    assert_trains(&want, &got);
    r = request_of(&in, &got);
    rig_make(&evaluated, &planes, NULL, &r);
    rig_forward(&evaluated);
    assert_memory_equal(want.a.out, evaluated.a.out, want.k.out.bytes);
    rig_close(&want), rig_close(&got), rig_close(&evaluated);
}

static void behind_planes_it_gives_what_the_reference_gives(void **state)
{
    (void)state;
    for (int i = 0; i < NORDERS; i++) weights_take_the_order_of_the_planes(orders[i]);
}

/* The library's gradients behind its forward pass: they read weights in that order. */
static void the_library_reads_its_order(void **state)
{
    (void)state;
    char about[96];
    tutti_kernel_engine_describe("onednn", about);
    if (!about[0]) skip();
    const tutti_kernel_row *library = tutti_candidate_find("onednn", "dense", TUTTI_PRECISION_F32)->row;
    const tutti_kernel_rows rows = {.of = {&tutti_dense_gemm, library, library}};
    for (int i = 0; i < NORDERS; i++) {
        tutti_layout layout;
        const tutti_value in = planes_in(orders[i], &layout);
        tutti_kernel_request r = request_of(&in, NULL);
        rig want, got;
        r.by = &rows;
        rig_make(&got, &planes, NULL, &r);
        assert_trains(&want, &got);
        rig_close(&want), rig_close(&got);
    }
}

static bool fits(tutti_order order, int64_t channels, bool training)
{
    tutti_layout layout;
    tutti_kernel k;
    tutti_value in = {.shape = {4, {2, channels, 3, 3}}, .dtype = TUTTI_F32};
    tutti_order_apply(order, &in, &layout);
    tutti_kernel_request r = request_of(&in, NULL);
    r.training = training;
    assert_int_equal(tutti_kernel_begin(&r, &k, NULL), TUTTI_OK);
    return tutti_dense_gemm_fits(&k, &r, TUTTI_PASS_FORWARD);
}

static void it_keeps_away_where_numbers_are_between_or_weights_lie_otherwise(void **state)
{
    (void)state;
    assert_true(fits(TUTTI_ORDER_NCHW16C, 32, true) && fits(TUTTI_ORDER_NHWC, 33, true));
    assert_false(fits(TUTTI_ORDER_NCHW16C, 33, true));
    assert_true(fits(TUTTI_ORDER_NCHW, 33, false));
    assert_false(fits(TUTTI_ORDER_NHWC, 33, false)); /* weights of nobody's training are row-major */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_planes_it_gives_what_the_reference_gives),
        cmocka_unit_test(the_library_reads_its_order),
        cmocka_unit_test(it_keeps_away_where_numbers_are_between_or_weights_lie_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
