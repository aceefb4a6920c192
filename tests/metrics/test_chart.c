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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_line_is_thinned_but_keeps_its_spike),
        cmocka_unit_test(empty_and_constant_series_have_a_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
