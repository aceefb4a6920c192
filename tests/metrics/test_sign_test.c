/* SPDX-License-Identifier: Apache-2.0 */
/* test_sign_test.c: the two-sided sign test against binomial sums worked out by hand. */
#include "testing.h"

#include "metrics/metrics.h"

static void all_of_n_is_two_in_two_to_the_n(void **state)
{
    (void)state;
    assert_true(tutti_sign_test(5, 5) == 0.0625);
    assert_true(tutti_sign_test(0, 5) == 0.0625); /* two-sided */
    assert_true(tutti_sign_test(6, 6) == 0.03125);
    assert_true(tutti_sign_test(1, 1) == 1);
    assert_true(tutti_sign_test(0, 0) == 1);
}

static void the_tail_holds_every_split_that_is_as_uneven(void **state)
{
    (void)state;
    assert_true(tutti_sign_test(4, 5) == 12.0 / 32);     /* 2 (5 + 1) of 32 */
    assert_true(tutti_sign_test(8, 10) == 112.0 / 1024); /* 2 (45 + 10 + 1) of 1,024 */
    assert_true(tutti_sign_test(2, 10) == 112.0 / 1024);
    assert_true(tutti_sign_test(3, 6) == 1); /* an even split is no news: 2 P(X >= 3) is more than 1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_n_is_two_in_two_to_the_n),
        cmocka_unit_test(the_tail_holds_every_split_that_is_as_uneven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
