/* SPDX-License-Identifier: Apache-2.0 */
/* test_workers_chart.c: the picture of workers and their centre: who is in it, where they end, and what moves. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "metrics/chart/chart.h"

enum { N = 3 };
static const double steps[N] = {10, 20, 30}, centre_x[N] = {0, 1, 2}, centre_y[N] = {0, 0, 0}, x[N] = {0, 1, 4},
                    y[N] = {0, 1, 1}, distance[N] = {0, 1, 2.25};
static const tutti_chart_way ways[] = {{"centre", steps, centre_x, centre_y, NULL, N},
                                       {"worker 0", steps, x, y, distance, N}};

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

static void each_has_a_way_an_end_and_a_dot_that_moves(void **state)
{
    (void)state;
    tutti_strbuf svg = {0};
    tutti_workers_chart_svg("a & b", ways, 2, &svg);
    assert_int_equal(count(svg.text, "<path class=\"way"), 2);
    assert_int_equal(count(svg.text, "<path class=\"line"), 1); /* the centre has no distance from itself */
    assert_int_equal(count(svg.text, "<circle class=\"end"), 2);
    assert_int_equal(count(svg.text, "<circle class=\"moves"), 2);
    assert_int_equal(count(svg.text, "<animate attributeName"), 4);
    assert_non_null(strstr(svg.text, "<title>a &amp; b</title>"));
    assert_non_null(strstr(svg.text, "prefers-color-scheme:dark"));
    assert_non_null(strstr(svg.text, "prefers-reduced-motion:reduce"));
    tutti_strbuf_release(&svg);
}

/* Both lines of the picture share the scale: the worker is twice as far from the centre's end across as up. */
static void a_unit_is_as_long_across_as_up(void **state)
{
    (void)state;
    tutti_strbuf svg = {0};
    double at[2][2];
    tutti_workers_chart_svg("", ways, 2, &svg);
    const char *place = svg.text;
    for (int i = 0; i < 2; i++) {
        place = strstr(place + 1, "<circle class=\"end");
        assert_non_null(place);
        at[i][0] = strtod(strstr(place, "cx=\"") + 4, NULL);
        at[i][1] = strtod(strstr(place, "cy=\"") + 4, NULL);
    }
    const double across = at[0][0] - at[1][0], up = at[1][1] - at[0][1]; /* the worker stands before the centre */
    assert_true(across > 0 && up > 0 && across - 2 * up < 0.2 && 2 * up - across < 0.2);
    tutti_strbuf_release(&svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_a_way_an_end_and_a_dot_that_moves),
        cmocka_unit_test(a_unit_is_as_long_across_as_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
