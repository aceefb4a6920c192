/* SPDX-License-Identifier: Apache-2.0 */
/* test_sort.c: numbers in order. */
#include "testing.h"

#include <math.h>

#include "base/sort.h"

static void numbers_are_put_in_ascending_order(void **state)
{
    (void)state;
    double values[] = {3, -0.5, INFINITY, 3, 1e-9, -INFINITY, -7};
    const double wanted[] = {-INFINITY, -7, -0.5, 1e-9, 3, 3, INFINITY};
    tutti_sort_doubles(values, 7);
    for (int i = 0; i < 7; i++) assert_true(values[i] == wanted[i]);
}

static void none_and_one_stay(void **state)
{
    (void)state;
    double one[] = {2, 1};
    tutti_sort_doubles(NULL, 0);
    tutti_sort_doubles(one, 1);
    assert_true(one[0] == 2 && one[1] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_put_in_ascending_order),
        cmocka_unit_test(none_and_one_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
