/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_spread.c: ratios and quantiles of steps whose times are chosen so that all of it is exact. */
#include "testing.h"

#include "metrics/trace.h"

static void a_few_steps_are_kept_as_ratios_to_their_mean_in_order(void **state)
{
    (void)state;
    double seconds[] = {6, 2, 3, 5}; /* mean 4 */
    tutti_step_spread s;
    tutti_step_spread_take(seconds, 4, &s);
    assert_int_equal(s.n, 4);
    const double want[] = {0.5, 0.75, 1.25, 1.5};
    for (int i = 0; i < 4; i++) assert_true(s.ratio[i] == want[i]);
}

/* 0 .. 64 and 64 more of the mean: the i-th of 33 has i/32 of the steps below it. */
static void of_many_steps_33_quantiles_are_kept(void **state)
{
    (void)state;
    double seconds[65];
    tutti_step_spread s;
    for (int i = 0; i < 65; i++) seconds[(i * 7) % 65] = 32 + i; /* mean 64 */
    tutti_step_spread_take(seconds, 65, &s);
    assert_int_equal(s.n, TUTTI_SPREAD_MOST);
    for (int i = 0; i < 33; i++) assert_true(s.ratio[i] == (32 + 2 * i) / 64.0);
    for (int i = 0; i <= 128; i++) assert_true(tutti_step_spread_quantile(&s, i / 128.0) == 0.5 + i / 128.0);
}

static void quantiles_lie_straight_between_ratios(void **state)
{
    (void)state;
    const tutti_step_spread s = {4, {0.5, 0.75, 1.25, 2}};
    assert_true(tutti_step_spread_quantile(&s, 0) == 0.5);
    assert_true(tutti_step_spread_quantile(&s, 0.5) == 1);
    assert_true(tutti_step_spread_quantile(&s, 0.75) == 1.4375); /* a quarter from the third to the fourth */
    assert_true(tutti_step_spread_quantile(&s, 1) == 2);
}

static void what_is_not_known_is_one(void **state)
{
    (void)state;
    double one[] = {3}, none[] = {0, 0};
    tutti_step_spread s = {2, {1, 2}};
    tutti_step_spread_take(one, 1, &s);
    assert_int_equal(s.n, 0);
    assert_true(tutti_step_spread_quantile(&s, 0.9) == 1);
    s.n = 2;
    tutti_step_spread_take(none, 2, &s);
    assert_int_equal(s.n, 0);
}

/* So that what is written is read again. */
static void ratios_stay_within_bounds(void **state)
{
    (void)state;
    double seconds[] = {0, 4};
    tutti_step_spread s;
    tutti_step_spread_take(seconds, 2, &s);
    assert_int_equal(s.n, 2);
    assert_true(s.ratio[0] == TUTTI_SPREAD_LEAST_RATIO && s.ratio[1] == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_steps_are_kept_as_ratios_to_their_mean_in_order),
        cmocka_unit_test(of_many_steps_33_quantiles_are_kept),
        cmocka_unit_test(quantiles_lie_straight_between_ratios),
        cmocka_unit_test(what_is_not_known_is_one),
        cmocka_unit_test(ratios_stay_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
