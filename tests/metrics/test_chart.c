/* SPDX-License-Identifier: Apache-2.0 */
/* test_chart.c: a chart is well-formed and keeps its extremes however many points there are. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/chart/chart.h"

static void a_long_line_is_thinned_but_keeps_its_spike(void **state)
{
    (void)state;
    enum { N = 200000 };
    double *x = malloc(sizeof(double) * N), *y = malloc(sizeof(double) * N);
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = i == N / 2 ? 10 : 1 + 0.1 * (i % 3);
    }
    tutti_chart_series s = {"a < b & c", x, y, N, .points = false};
    tutti_chart_panel panel = {.title = "loss", .series = &s, .nseries = 1};
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
    tutti_chart_series series[] = {
        {"none", NULL, NULL, 0, .points = true}, {"one", x, y, 1, .points = true}, {"nan", x, bad, 1, .points = true}};
    tutti_chart_panel panel = {.title = "loss", .series = series, .nseries = 3};
    tutti_strbuf out = {0};
    tutti_chart_svg("t", "step", &panel, 1, &out);
    assert_null(strstr(out.text, "nan "));
    assert_null(strstr(out.text, "inf"));
    tutti_strbuf_release(&out);
}

/* Of the first element with these words, the number behind `key`. */
static double figure_of(const char *svg, const char *words, const char *key)
{
    const char *at = strstr(svg, words);
    assert_non_null(at);
    while (memcmp(at, key, strlen(key)) != 0) at--;
    return strtod(at + strlen(key), NULL);
}

static void the_number_at_the_end_of_a_line_stands_inside_the_plot(void **state)
{
    (void)state;
    static const struct {
        double y[2];
        const char *words;
    } cases[] = {{{1, 5}, ">5<"},
                 {{5, 1.23456}, ">1.235<"},
                 {{3, 3.00001}, ">3<"},
                 {{1, 12345.6}, ">12346<"},
                 {{100, 33.8806}, ">33.88<"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x[] = {1, 2};
        const tutti_chart_series series = {"up", x, cases[i].y, 2, .points = true};
        const tutti_chart_panel panel = {.title = "speed-up", .series = &series, .nseries = 1};
        tutti_strbuf out = {0}, words = {0};
        tutti_chart_svg("t", "step", &panel, 1, &out);
        tutti_strbuf_printf(&words, "class=\"title\" text-anchor=\"end\"%s", cases[i].words);
        const double px = figure_of(out.text, words.text, " x=\""), py = figure_of(out.text, words.text, " y=\"");
        assert_true(px <= 670 && py >= 44 + 10 && py <= 294); /* the frame */
        tutti_strbuf_release(&out);
        tutti_strbuf_release(&words);
    }
}

static void axes_begin_where_values_are_to_be_judged(void **state)
{
    (void)state;
    static const struct {
        double y[2], least_range;
        const char *lowest;
    } cases[] = {{{7000, 32561}, 0, ">0<"},     {{98.78, 99.42}, 5, ">94<"}, {{98.37, 98.37}, 5, ">93<"},
                 {{98.78, 99.42}, 0, ">98.6<"}, {{0.3, 0.01}, 0, ">0<"},     {{-3, 1}, 0, ">-3<"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x[] = {1, 2};
        const tutti_chart_series series = {"up", x, cases[i].y, 2, .points = false};
        const tutti_chart_panel panel = {
            .title = "a", .series = &series, .nseries = 1, .least_range = cases[i].least_range};
        tutti_strbuf out = {0};
        tutti_chart_svg("t", "step", &panel, 1, &out);
        assert_true(figure_of(out.text, cases[i].lowest, " y=\"") == 298); /* at the foot of the panel */
        tutti_strbuf_release(&out);
    }
}

static void all_ticks_lie_in_the_frame(void **state)
{
    (void)state;
    for (int low = -40; low < 100; low += 7)
        for (int high = low + 1; high < 130; high += 3) {
            double x[] = {1, 2}, y[] = {low + 0.3, high + 0.4};
            const tutti_chart_series series = {"up", x, y, 2, .points = false};
            const tutti_chart_panel panel = {.title = "a", .series = &series, .nseries = 1};
            tutti_strbuf out = {0};
            int nticks = 0;
            tutti_chart_svg("t", "step", &panel, 1, &out);
            for (const char *at = out.text; (at = strstr(at, "class=\"grid\" d=\"M64.0 ")); at++, nticks++) {
                const double level = strtod(at + strlen("class=\"grid\" d=\"M64.0 "), NULL);
                if (level < 44 - 0.1 || level > 294 + 0.1) fail_msg("%d to %d: a tick at %g", low, high, level);
            }
            assert_in_range(nticks, 3, 10);
            tutti_strbuf_release(&out);
        }
}

static void what_holds_until_the_next_is_drawn_as_steps(void **state)
{
    (void)state;
    double x[] = {0, 5, 10}, y[] = {4, 2, 4};
    const tutti_chart_series series = {"active", x, y, 3, .steps = true};
    const tutti_chart_panel panel = {.title = "a", .series = &series, .nseries = 1};
    tutti_strbuf out = {0};
    tutti_chart_svg("t", "step", &panel, 1, &out);
    assert_non_null(strstr(out.text, "d=\"M64 44.0L64 44.0L367 44.0L367 294.0L367 294.0L670 294.0L670 44.0\""));
    tutti_strbuf_release(&out);
}

static void a_mean_leaves_out_what_is_not_finite(void **state)
{
    (void)state;
    enum { N = 24 }; /* two neighbours on each side */
    double y[N], mean[N];
    for (int i = 0; i < N; i++) y[i] = i % 2 ? 3 : 1;
    y[10] = NAN;
    tutti_chart_smooth(y, N, mean);
    assert_true(mean[0] == (1.0 + 3 + 1) / 3 && mean[5] == (3.0 + 1 + 3 + 1 + 3) / 5);
    assert_true(mean[10] == (1.0 + 3 + 3 + 1) / 4);
    for (int i = 0; i < N; i++) y[i] = NAN;
    tutti_chart_smooth(y, N, mean);
    assert_true(isnan(mean[0]) && isnan(mean[N - 1]));
}

static void bands_and_bars_of_a_page_are_drawn_to_scale(void **state)
{
    (void)state;
    const double x[] = {0, 10}, mean[] = {2, 6}, least[] = {0, 5}, most[] = {4, 10}, part[] = {3, 0, 1},
                 other[] = {1, 1, 0};
    const tutti_chart_band bands[] = {{"a<b", x, mean, least, most, 2}, {"none", NULL, NULL, NULL, NULL, 0}};
    const tutti_chart_bar bars[] = {{"long", part}, {"short", other}};
    const char *const parts[] = {"p", "q", "r"};
    tutti_strbuf out = {0};
    tutti_chart_bands_svg(&(tutti_chart_bands){"t", "x", bands, 2, 8, false}, &out);
    assert_non_null(strstr(out.text, "<title>a&lt;b</title>"));
    assert_null(strstr(out.text, "http")); /* a page has its own */
    /* The frame is 42 + 344 wide and 32 + 210 high, values go from 0 to 10: the mean begins at a fifth and the guide
     * lies at four. */
    assert_non_null(strstr(out.text, "d=\"M42.0 200.0L42.0 200.0L386.0 116.0\""));
    assert_non_null(strstr(out.text, "d=\"M42.0 74.0h344.0\""));
    assert_null(strstr(out.text, "nan"));
    tutti_strbuf_release(&out);

    tutti_chart_bars_svg(&(tutti_chart_bars){"t", "x", bars, 2, parts, 3}, &out); /* 328 wide for 4 */
    assert_non_null(
        strstr(out.text, "<rect x=\"14.00\" y=\"51.0\" width=\"246.00\" height=\"14\" fill=\"#2457a6\"><title>p 3<"));
    assert_non_null(
        strstr(out.text, "<rect x=\"260.00\" y=\"51.0\" width=\"82.00\" height=\"14\" fill=\"#2e7d4f\"><title>r 1<"));
    assert_null(strstr(out.text, "q 0"));
    tutti_strbuf_release(&out);
}

static void bands_by_powers_of_ten_are_drawn_to_scale(void **state)
{
    (void)state;
    const double x[] = {0, 10}, mean[] = {10, 1}, least[] = {10, 0}, most[] = {90, 1.5};
    const tutti_chart_band band = {"a", x, mean, least, most, 2};
    tutti_strbuf out = {0};
    tutti_chart_bands_svg(&(tutti_chart_bands){"t", "x", &band, 1, 10, true}, &out);
    /* From 1 to 100, 210 high: 10 lies in the middle, nothing lies at the bottom, and there is a line at 1, 2, 5, .. */
    assert_non_null(strstr(out.text, "d=\"M42.0 137.0L42.0 137.0L386.0 242.0\""));
    assert_non_null(strstr(out.text, "L386.0 242.0L42.0 137.0z\""));
    assert_non_null(strstr(out.text, "d=\"M42.0 137.0h344.0\""));
    int nlevels = 0;
    for (const char *at = out.text; (at = strstr(at, "class=\"grid\"")); at++) nlevels++;
    assert_int_equal(nlevels, 7);
    assert_null(strstr(out.text, "nan"));
    assert_null(strstr(out.text, "inf"));
    tutti_strbuf_release(&out);
    const double none[] = {0, 0};
    const tutti_chart_band nothing = {"a", x, none, none, none, 2};
    tutti_chart_bands_svg(&(tutti_chart_bands){"t", "x", &nothing, 1, NAN, true}, &out);
    assert_null(strstr(out.text, "nan"));
    assert_null(strstr(out.text, "inf"));
    tutti_strbuf_release(&out);
}

static void lines_of_one_colour_differ_in_their_dashes(void **state)
{
    (void)state;
    tutti_strbuf marks[24] = {0};
    for (int i = 0; i < 24; i++) {
        tutti_chart_mark(i, &marks[i]);
        for (int j = 0; j < i; j++) assert_string_not_equal(marks[i].text, marks[j].text);
    }
    for (int i = 0; i < 24; i++) tutti_strbuf_release(&marks[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_line_is_thinned_but_keeps_its_spike),
        cmocka_unit_test(empty_and_constant_series_have_a_frame),
        cmocka_unit_test(the_number_at_the_end_of_a_line_stands_inside_the_plot),
        cmocka_unit_test(axes_begin_where_values_are_to_be_judged),
        cmocka_unit_test(all_ticks_lie_in_the_frame),
        cmocka_unit_test(what_holds_until_the_next_is_drawn_as_steps),
        cmocka_unit_test(a_mean_leaves_out_what_is_not_finite),
        cmocka_unit_test(bands_and_bars_of_a_page_are_drawn_to_scale),
        cmocka_unit_test(bands_by_powers_of_ten_are_drawn_to_scale),
        cmocka_unit_test(lines_of_one_colour_differ_in_their_dashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
