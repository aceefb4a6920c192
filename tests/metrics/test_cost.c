/* SPDX-License-Identifier: Apache-2.0 */
/* test_cost.c: parts sum to the whole to the nanosecond; the table says what is absent. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "metrics/metrics.h"

static void the_parts_sum_to_the_time_between_the_first_and_the_last_look(void **state)
{
    (void)state;
    tutti_cost c;
    const int64_t began = tutti_clock_ns();
    int64_t last = 0, sum = 0;
    tutti_cost_begin(&c, began);
    for (int i = 0; i < 1000; i++) last = tutti_cost_charge(&c, (tutti_cost_part)(i % TUTTI_NCOSTS));
    for (int p = 0; p < TUTTI_NCOSTS; p++) sum += c.ns[p];
    assert_true(sum == last - began);
    assert_true(sum > 0);
}

static void a_stretch_is_charged_to_the_part_that_ends_it(void **state)
{
    (void)state;
    tutti_cost c;
    tutti_cost_begin(&c, tutti_clock_ns());
    tutti_cost_charge(&c, TUTTI_COST_DATA);
    tutti_clock_sleep_s(0.02);
    tutti_cost_charge(&c, TUTTI_COST_UPDATE);
    assert_true(c.ns[TUTTI_COST_UPDATE] >= 20000000);
    assert_true(c.ns[TUTTI_COST_DATA] < c.ns[TUTTI_COST_UPDATE]);
    assert_true(c.ns[TUTTI_COST_EXCHANGE] == 0);
}

static const char *line_of(const char *table, const char *words)
{
    const char *at = strstr(table, words);
    if (!at) fail_msg("no '%s' in: %s", words, table);
    return at;
}

static void shares_are_of_the_whole_and_absent_parts_are_dashes(void **state)
{
    (void)state;
    const double seconds[TUTTI_NCOSTS] = {
        [TUTTI_COST_DATA] = 0.5, [TUTTI_COST_COMPUTE] = 1.0, [TUTTI_COST_EXCHANGE] = 0.25, [TUTTI_COST_OTHER] = 0.25};
    tutti_strbuf table = {0};
    tutti_cost_table(seconds, 2, &table);
    line_of(table.text, "mean of 2 ranks");
    line_of(table.text, "data I/O                     0.500 s    25.0 %");
    line_of(table.text, "forward and backward         1.000 s    50.0 %");
    line_of(table.text, "update on the workers        0.000 s     0.0 %");
    line_of(table.text, "update at the centre               -         -");
    line_of(table.text, "in all                       2.000 s");
    tutti_strbuf_release(&table);
}

static void test_f37_a_rank_that_computes_much_longer_is_named(void **state)
{
    (void)state;
    const double seconds[TUTTI_NCOSTS] = {[TUTTI_COST_COMPUTE] = 2};
    tutti_strbuf words = {0};
    tutti_cost_add_words(&(tutti_cost_more){.slowest = 2, .slowest_s = 4}, seconds, 3, &words);
    assert_string_equal(words.text, "  rank 2 computed for 4 s, the other ranks for 1 s in the mean\n");
    tutti_strbuf_release(&words);
    tutti_cost_add_words(&(tutti_cost_more){.slowest = 2, .slowest_s = 2.5}, seconds, 3, &words);
    tutti_cost_add_words(&(tutti_cost_more){.slowest_s = 2}, seconds, 1, &words);
    assert_int_equal(words.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_sum_to_the_time_between_the_first_and_the_last_look),
        cmocka_unit_test(a_stretch_is_charged_to_the_part_that_ends_it),
        cmocka_unit_test(shares_are_of_the_whole_and_absent_parts_are_dashes),
        cmocka_unit_test(test_f37_a_rank_that_computes_much_longer_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
