/* SPDX-License-Identifier: Apache-2.0 */
/* test_predict_units.c: times, prices and bytes. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "predict/plan/units.h"

static void times_and_prices_are_read_with_their_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } times[] = {{"12h", 43200}, {"90min", 5400}, {"2d", 172800}, {"0.5s", 0.5}, {"1e3s", 1000}},
      prices[] = {{"3/h", 3}, {"0.5/min", 30}, {"48/d", 2}, {"3", 3}, {"0", 0}, {"1/s", 3600}};
    tutti_failure err = {0};
    double value;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (tutti_predict_read_time("t", times[i].text, &value, &err)) fail_msg("%s", err.text);
        assert_true(value == times[i].value);
    }
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++) {
        if (tutti_predict_read_price("p", prices[i].text, &value, &err)) fail_msg("%s", err.text);
        assert_true(value == prices[i].value);
    }
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const times[] = {"",     "12",   "h",    "12 h",  "-1h", "0h",
                                        "nanh", "infs", "12hh", "1e99h", "12H", "111111111111111111111111111111111h"},
                             *const prices[] = {"", "/h", "3/", "3/week", "-3/h", "nan/h", "3/h/h", "three"};
    double value;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        tutti_failure err = {0};
        if (tutti_predict_read_time("--deadline", times[i], &value, &err) != TUTTI_ERR_USAGE)
            fail_msg("'%s' is read as a time", times[i]);
        assert_non_null(strstr(err.text, "--deadline"));
    }
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++) {
        tutti_failure err = {0};
        if (tutti_predict_read_price("--price", prices[i], &value, &err) != TUTTI_ERR_USAGE)
            fail_msg("'%s' is read as a price", prices[i]);
        assert_non_null(strstr(err.text, "--price"));
    }
}

static void words_have_the_unit_that_suits_them(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *words;
    } times[] = {{0, "0.0 s"},    {119.96, "120.0 s"},   {120, "2.0 min"},   {7199, "120.0 min"},
                 {7200, "2.0 h"}, {3.6e8, "100000.0 h"}, {(double)NAN, "-"}, {(double)INFINITY, "-"}};
    static const struct {
        int64_t bytes;
        const char *words;
    } sizes[] = {
        {0, "0 B"}, {1023, "1023 B"}, {1024, "1.00 KiB"}, {1536 << 10, "1.50 MiB"}, {(int64_t)16 << 30, "16.00 GiB"}};
    char words[16];
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        tutti_predict_time_words(times[i].seconds, words);
        assert_string_equal(words, times[i].words);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tutti_predict_bytes_words(sizes[i].bytes, words);
        assert_string_equal(words, sizes[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_and_prices_are_read_with_their_units),
        cmocka_unit_test(what_is_none_is_refused),
        cmocka_unit_test(words_have_the_unit_that_suits_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
