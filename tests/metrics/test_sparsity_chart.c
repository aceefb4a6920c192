/* SPDX-License-Identifier: Apache-2.0 */
/* test_sparsity_chart.c: a row a ReLU, as long as its share of zeros, with a mark where it began. */
#include "testing.h"

#include <string.h>

#include "metrics/chart/chart.h"

static void each_relu_has_a_bar_of_its_zeros_and_a_mark_of_the_first_test(void **state)
{
    (void)state;
    const tutti_sparsity_row rows[] = {{"relu<1", 0, 0.5}, {"relu2", 1, 0}};
    tutti_strbuf out = {0};
    tutti_sparsity_chart_svg("run", rows, 2, &out);
    assert_non_null(strstr(out.text, "relu&lt;1"));
    assert_non_null(strstr(out.text, ">50.0<"));
    assert_non_null(strstr(out.text, "width=\"267.0\"")); /* half of 534 */
    assert_non_null(strstr(out.text, "width=\"0.0\""));
    assert_non_null(strstr(out.text, "d=\"M190.0 66.0v16\"")); /* began at 0 */
    assert_non_null(strstr(out.text, "d=\"M724.0 86.0v16\"")); /* at 1 */
    assert_string_equal(out.text + out.length - 7, "</svg>\n");
    tutti_strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_relu_has_a_bar_of_its_zeros_and_a_mark_of_the_first_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
