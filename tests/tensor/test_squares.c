/* SPDX-License-Identifier: Apache-2.0 */
/* test_squares.c: sums of squares are exact: of numbers whose sum is known, in any order, in any cut, over the whole
 * range of f32. */
#include "testing.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/squares.h"

static double value_of(const float *x, int64_t n)
{
    int64_t limbs[TUTTI_SQUARES_LIMBS] = {0};
    assert_true(tutti_squares_add(x, n, limbs));
    return tutti_squares_value(limbs);
}

static void sums_that_a_double_holds_come_out_as_they_are(void **state)
{
    (void)state;
    const float few[] = {3, -4, 0.5f, -0.0f, 0};
    assert_true(value_of(few, 5) == 25.25);
    assert_true(value_of(NULL, 0) == 0);
    float *ones = malloc(100003 * sizeof(float));
    for (int i = 0; i < 100003; i++) ones[i] = i % 2 ? 1.5f : -1.5f;
    assert_true(value_of(ones, 100003) == 100003 * 2.25);
    free(ones);
}

static void the_ends_of_the_range_are_exact_too(void **state)
{
    (void)state;
    const float tiny[] = {FLT_TRUE_MIN, FLT_TRUE_MIN}, huge[] = {FLT_MAX, FLT_MAX, FLT_MAX};
    assert_true(value_of(tiny, 2) == ldexp(2, -298));
    assert_true(value_of(huge, 1) == (double)FLT_MAX * (double)FLT_MAX);
    assert_true(fabs(value_of(huge, 3) / (double)FLT_MAX / (double)FLT_MAX - 3) < 1e-15);
    const float both[] = {FLT_MAX, FLT_TRUE_MIN, -FLT_MIN};
    int64_t limbs[TUTTI_SQUARES_LIMBS] = {0};
    assert_true(tutti_squares_add(both, 3, limbs));
    assert_int_equal(limbs[0] & 1, 1); /* the smallest is still there beside the largest */
}

/* Random bits are numbers of all sizes. */
static float random_float(uint64_t i)
{
    uint64_t h = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    uint32_t bits = (uint32_t)(h >> 32);
    float x;
    if ((bits >> 23 & 255) == 255) bits ^= 1u << 30; /* finite */
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void order_and_cuts_change_no_bit(void **state)
{
    (void)state;
    enum { N = 70001 };
    float *x = malloc(N * sizeof(float)), *back = malloc(N * sizeof(float));
    for (int i = 0; i < N; i++) x[i] = back[N - 1 - i] = random_float((uint64_t)i);
    const double whole = value_of(x, N);
    assert_true(value_of(back, N) == whole);
    for (int nparts = 2; nparts <= 9; nparts++) {
        int64_t sum[TUTTI_SQUARES_LIMBS] = {0};
        for (int p = nparts - 1; p >= 0; p--) { /* as ranks that add up what each has of its slice */
            int64_t part[TUTTI_SQUARES_LIMBS] = {0};
            const int64_t first = (int64_t)p * N / nparts, end = (int64_t)(p + 1) * N / nparts;
            assert_true(tutti_squares_add(x + first, end - first, part));
            for (int i = 0; i < TUTTI_SQUARES_LIMBS; i++) sum[i] += part[i];
        }
        assert_true(tutti_squares_value(sum) == whole);
    }
    free(x), free(back);
}

static void what_is_not_finite_is_told_wherever_it_stands(void **state)
{
    (void)state;
    float x[40];
    for (int at = 0; at < 40; at++)
        for (int nan = 0; nan < 2; nan++) {
            int64_t limbs[TUTTI_SQUARES_LIMBS] = {0};
            for (int i = 0; i < 40; i++) x[i] = 2;
            x[at] = nan ? NAN : -INFINITY;
            assert_false(tutti_squares_add(x, 40, limbs));
            assert_true(tutti_squares_value(limbs) == 39 * 4);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_that_a_double_holds_come_out_as_they_are),
        cmocka_unit_test(the_ends_of_the_range_are_exact_too),
        cmocka_unit_test(order_and_cuts_change_no_bit),
        cmocka_unit_test(what_is_not_finite_is_told_wherever_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
