/* SPDX-License-Identifier: Apache-2.0 */
/* test_layer_chart.c: shares, the rows of long models, and models that take no time. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "metrics/chart/chart.h"

static int count(const char *text, const char *words)
{
    int n = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words)) n++;
    return n;
}

static void each_layer_has_a_row_with_its_share(void **state)
{
    (void)state;
    const tutti_layer_cost layers[] = {{"a<b", 100, 150, 50, 8}, {"relu", 0, 100, 0, 0}};
    tutti_strbuf out = {0};
    tutti_layer_chart_svg("run", layers, 2, &out);
    assert_int_equal(count(out.text, ">75.0 %<"), 1);
    assert_int_equal(count(out.text, ">25.0 %<"), 1);
    assert_int_equal(count(out.text, "a&lt;b"), 1);
    assert_int_equal(count(out.text, ">exchange<"), 1);
    assert_string_equal(out.text + out.length - 7, "</svg>\n");
    tutti_strbuf_release(&out);
}

static void a_model_on_one_rank_has_no_exchange_in_its_legend(void **state)
{
    (void)state;
    const tutti_layer_cost layers[] = {{"a", 100, 200, 0, 8}};
    tutti_strbuf out = {0};
    tutti_layer_chart_svg("run", layers, 1, &out);
    assert_int_equal(count(out.text, ">exchange<"), 0);
    tutti_strbuf_release(&out);
}

static void a_long_model_shows_its_forty_longest_layers_and_the_share_of_the_others(void **state)
{
    (void)state;
    enum { N = 100 };
    tutti_layer_cost layers[N];
    char names[N][16];
    tutti_strbuf out = {0};
    for (int l = 0; l < N; l++) {
        snprintf(names[l], sizeof names[l], "layer%d.", l);
        layers[l] = (tutti_layer_cost){names[l], l, 0, 0, 0};
    }
    tutti_layer_chart_svg("run", layers, N, &out);
    assert_int_equal(count(out.text, ">layer"), 40);
    assert_int_equal(count(out.text, ">layer59.<"), 0);
    assert_int_equal(count(out.text, ">layer60.<"), 1);
    assert_int_equal(count(out.text, ">60 other layers<"), 1);
    assert_int_equal(count(out.text, ">1.77 ms, 35.8 %<"), 1); /* 59 * 60 / 2 us of 99 * 100 / 2 */
    assert_int_equal(count(out.text, "height=\"12\""), 41);    /* the others have a bar, */
    assert_int_equal(count(out.text, "stroke=\"#fff\""), 1);   /* which is cut */
    tutti_strbuf_release(&out);
}

static void layers_that_take_no_time_are_drawn_without_numbers_that_are_none(void **state)
{
    (void)state;
    tutti_layer_cost layers[50] = {{0}};
    tutti_strbuf out = {0};
    for (int l = 0; l < 50; l++) layers[l].name = "x";
    tutti_layer_chart_svg("run", layers, 50, &out);
    assert_int_equal(count(out.text, "nan"), 0);
    assert_int_equal(count(out.text, "inf"), 0);
    tutti_strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layer_has_a_row_with_its_share),
        cmocka_unit_test(a_model_on_one_rank_has_no_exchange_in_its_legend),
        cmocka_unit_test(a_long_model_shows_its_forty_longest_layers_and_the_share_of_the_others),
        cmocka_unit_test(layers_that_take_no_time_are_drawn_without_numbers_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
