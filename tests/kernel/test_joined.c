/* SPDX-License-Identifier: Apache-2.0 */
/* test_joined.c: passes of one op by different rows give what one row gives, in all mixtures, with a ReLU merged and in
 * 16 bits; rows that do not agree are refused. */
#include "kernel/kernel_rig.h"

#include "kernel/choose/candidate.h"

/* Of an op, each row that can be had here. */
static int list_rows(const char *op, tutti_precision precision, const tutti_kernel_row **out)
{
    char about[96];
    int n = 0;
    tutti_kernel_engine_describe("onednn", about);
    const tutti_kernel_candidate *library = about[0] ? tutti_candidate_find("onednn", op, precision) : NULL;
    out[n++] = tutti_op_find(op)->reference;
    if (library && (precision == TUTTI_PRECISION_F32 || tutti_onednn_multiplies(precision))) out[n++] = library->row;
    return n;
}

static tutti_kernel_request request_by(const tutti_kernel_rows *by, tutti_precision precision)
{
    return (tutti_kernel_request){
        .engine = "auto", .by = by, .precision = precision, .training = true, .nthreads = 1, .order = TUTTI_ORDER_NCHW};
}

static void assert_same(const kernel_case *c, const char *what, const void *want, const void *got, size_t nbytes)
{
    if (memcmp(want, got, nbytes)) fail_msg("%s, %s: %s by several rows is another", c->op, c->what, what);
}

/* Sums are exact: every row gives the same bits. */
static void compare(const kernel_case *c, const tutti_kernel_rows *by, tutti_precision precision)
{
    const tutti_kernel_row *plain = tutti_op_find(c->op)->reference;
    const tutti_kernel_rows one = {.of = {plain, plain, plain}};
    const tutti_kernel_request want_as = request_by(&one, precision), got_as = request_by(by, precision);
    rig want, got;
    rig_make(&want, c, NULL, &want_as), rig_make(&got, c, NULL, &got_as);
    rig_forward(&want), rig_forward(&got);
    rig_backward(&want), rig_backward(&got);
    assert_same(c, "out", want.a.out, got.a.out, want.k.out.bytes);
    assert_same(c, "din", want.a.din[0], got.a.din[0], want.k.in[0].bytes);
    for (int p = 0; p < want.k.nparams; p++) {
        assert_null(got.k.params[p].layout);
        assert_same(c, got.k.params[p].name, want.a.dparam[p], got.a.dparam[p],
                    (size_t)want.k.params[p].elements * sizeof(float));
    }
    rig_close(&want), rig_close(&got);
}

static void mix(const kernel_case *c, tutti_precision precision)
{
    const tutti_kernel_row *rows[2] = {NULL};
    const int n = list_rows(c->op, precision, rows);
    for (int i = 0; i < n * n * n; i++) {
        const tutti_kernel_rows by = {.of = {rows[i % n], rows[i / n % n], rows[i / n / n]}};
        compare(c, &by, precision);
    }
}

static const kernel_case flat = {"dense", &dense10, {2, {5, 12}}, true, false, 1, .what = "two dims"};

static void passes_by_different_rows_give_what_one_gives(void **state)
{
    (void)state;
    char attrs[128];
    const kernel_case fused = with_relu(&flat, attrs, false);
    mix(&flat, TUTTI_PRECISION_F32), mix(&fused, TUTTI_PRECISION_F32);
    mix(&flat, TUTTI_PRECISION_BF16), mix(&fused, TUTTI_PRECISION_BF16);
}

/* A second row that is another by its address, so that the adapter is there on every build. */
static void the_adapter_stands_before_several_rows(void **state)
{
    (void)state;
    const tutti_kernel_row *plain = tutti_op_find("dense")->reference, again = *plain;
    const tutti_kernel_rows by = {.of = {plain, &again, plain}};
    char attrs[128];
    const kernel_case fused = with_relu(&flat, attrs, false);
    const tutti_kernel_request r = request_by(&by, TUTTI_PRECISION_F32);
    rig made;
    rig_make(&made, &fused, NULL, &r);
    assert_ptr_equal(made.k.row, &tutti_kernel_joined_adapter);
    assert_true(made.k.writes_dout && made.k.feeds_data);
    assert_int_equal(made.k.saved_bytes, 0);
    rig_close(&made);
    compare(&flat, &by, TUTTI_PRECISION_F32), compare(&fused, &by, TUTTI_PRECISION_F32);
}

/* Behind planes in blocks the library's weights lie in its order, which plain loops cannot read. */
static void rows_that_want_different_orders_are_refused(void **state)
{
    (void)state;
    const tutti_kernel_row *rows[2] = {NULL};
    if (list_rows("conv", TUTTI_PRECISION_F32, rows) < 2) skip();
    const tutti_kernel_rows by = {.of = {rows[1], rows[0], rows[1]}};
    const tutti_value in = tutti_value_plain(&(tutti_shape){4, {1, 16, 4, 4}});
    tutti_kernel_request r = request_by(&by, TUTTI_PRECISION_F32);
    tutti_kernel k;
    tutti_failure err = {0};
    r.op = &tutti_op_conv, r.attrs = &conv1, r.in = &in, r.nin = 1;
    assert_int_equal(tutti_kernel_create(&r, &k, &err), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "parameters of op conv lie in an order that its plain loops do not read");
}

/* Max-pool keeps where its winners are. */
static void rows_that_keep_something_are_refused(void **state)
{
    (void)state;
    const tutti_kernel_row *plain = tutti_op_find("max-pool")->reference, again = *plain;
    const tutti_kernel_rows by = {.of = {plain, plain, &again}};
    const tutti_value in = tutti_value_plain(&(tutti_shape){4, {1, 2, 4, 4}});
    tutti_kernel_request r = request_by(&by, TUTTI_PRECISION_F32);
    tutti_kernel k;
    tutti_failure err = {0};
    r.op = &tutti_op_max_pool, r.attrs = &pool2, r.in = &in, r.nin = 1;
    assert_int_equal(tutti_kernel_create(&r, &k, &err), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "passes of op max-pool that are to be joined keep something for each other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_by_different_rows_give_what_one_gives),
        cmocka_unit_test(the_adapter_stands_before_several_rows),
        cmocka_unit_test(rows_that_want_different_orders_are_refused),
        cmocka_unit_test(rows_that_keep_something_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
