/* SPDX-License-Identifier: Apache-2.0 */
/* test_band.c: several curves as one. */
#include "testing.h"

#include "metrics/chart/chart.h"

static void curves_with_the_same_x_are_summed_up_point_by_point(void **state)
{
    (void)state;
    const double x[] = {1, 3, 4}, a[] = {0, 2, 8}, b[] = {4, 4, 0};
    const tutti_curve curves[] = {{x, a, 3}, {x, b, 3}, {x, a, 0}}; /* the last has no points */
    tutti_band band = tutti_band_make(curves, 3, 10);
    assert_int_equal(band.n, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(band.x[i] == x[i]);
        assert_true(band.mean[i] == (a[i] + b[i]) / 2);
        assert_true(band.least[i] == (a[i] < b[i] ? a[i] : b[i]));
        assert_true(band.most[i] == (a[i] < b[i] ? b[i] : a[i]));
    }
    tutti_band_release(&band);
}

static void other_curves_are_interpolated_and_stay_where_they_ended(void **state)
{
    (void)state;
    const double xa[] = {0, 4}, a[] = {0, 4}, xb[] = {1, 2, 5}, b[] = {2, 6, 6};
    const tutti_curve curves[] = {{xa, a, 2}, {xb, b, 3}};
    tutti_band band = tutti_band_make(curves, 2, 5); /* from 1 to 5 */
    const double least[] = {1, 2, 3, 4, 4}, most[] = {2, 6, 6, 6, 6};
    assert_int_equal(band.n, 5);
    for (int i = 0; i < 5; i++) {
        assert_true(band.x[i] == 1 + i);
        assert_true(band.least[i] == least[i]);
        assert_true(band.most[i] == most[i]);
        assert_true(band.mean[i] == (least[i] + most[i]) / 2);
    }
    tutti_band_release(&band);
}

static void single_points_are_one_and_none_is_none(void **state)
{
    (void)state;
    const double xa[] = {2}, a[] = {6}, xb[] = {4}, b[] = {8};
    const tutti_curve curves[] = {{xa, a, 1}, {xb, b, 1}};
    tutti_band band = tutti_band_make(curves, 2, 4);
    assert_int_equal(band.n, 1);
    assert_true(band.x[0] == 4 && band.mean[0] == 7 && band.least[0] == 6 && band.most[0] == 8);
    tutti_band_release(&band);
    band = tutti_band_make(curves, 0, 4);
    assert_int_equal(band.n, 0);
    tutti_band_release(&band);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_with_the_same_x_are_summed_up_point_by_point),
        cmocka_unit_test(other_curves_are_interpolated_and_stay_where_they_ended),
        cmocka_unit_test(single_points_are_one_and_none_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
