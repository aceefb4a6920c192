/* SPDX-License-Identifier: Apache-2.0 */
/* test_chart.c: a chart is well-formed and keeps its extremes however many points there are. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/chart.h"

static void a_long_line_is_thinned_but_keeps_its_spike(void **state)
{
    (void)state;
    enum { N = 200000 };
    double *x = malloc(sizeof(double) * N), *y = malloc(sizeof(double) * N);
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = i == N / 2 ? 10 : 1 + 0.1 * (i % 3);
    }
    tutti_chart_series s = {"a < b & c", x, y, N, false};
    tutti_chart_panel panel = {"loss", &s, 1};
    tutti_strbuf out = {0};
    tutti_chart_svg("t", "step", &panel, 1, &out);
    assert_true(out.length < 40000);
    assert_non_null(strstr(out.text, "a &lt; b &amp; c"));
    assert_non_null(strstr(out.text, " 44.0L")); /* the spike reaches the top of the frame */
    assert_string_equal(out.text + out.length - 7, "</svg>\n");
    tutti_strbuf_release(&out);
    free(x);
    free(y);
}

static void empty_and_constant_series_have_a_frame(void **state)
{
    (void)state;
    double x[] = {3}, y[] = {0}, bad[] = {NAN};
    tutti_chart_series series[] = {{"none", NULL, NULL, 0, true}, {"one", x, y, 1, true}, {"nan", x, bad, 1, true}};
    tutti_chart_panel panel = {"loss", series, 3};
    tutti_strbuf out = {0};
    tutti_chart_svg("t", "step", &panel, 1, &out);
    assert_null(strstr(out.text, "nan "));
    assert_null(strstr(out.text, "inf"));
    tutti_strbuf_release(&out);
}

static void the_number_at_the_end_of_a_line_stands_clear_of_the_legend(void **state)
{
    (void)state;
    double x[] = {1, 2}, y[] = {1, 5};
    tutti_chart_series series[] = {{"up", x, y, 2, true}, {"more", x, y, 0, true}};
    tutti_chart_panel panel = {"accuracy", series, 2};
    tutti_strbuf out = {0};
    tutti_chart_svg("t", "step", &panel, 1, &out);
    const char *legend = strstr(out.text, ">more<"), *number = strstr(out.text, " class=\"title\">5<");
    assert_non_null(legend);
    assert_non_null(number);
    while (memcmp(legend, " y=\"", 4) != 0) legend--;
    while (memcmp(number, " y=\"", 4) != 0) number--;
    assert_true(strtod(number + 4, NULL) >= strtod(legend + 4, NULL) + 14); /* a line of text */
    tutti_strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_line_is_thinned_but_keeps_its_spike),
        cmocka_unit_test(empty_and_constant_series_have_a_frame),
        cmocka_unit_test(the_number_at_the_end_of_a_line_stands_clear_of_the_legend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
