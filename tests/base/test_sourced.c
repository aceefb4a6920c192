/* SPDX-License-Identifier: Apache-2.0 */
/* test_sourced.c: files of figures with their sources: what is read, what is refused and with which line. */
#include "testing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/sourced.h"

static void a_line_is_a_figure_with_its_source_or_a_text(void **state)
{
    (void)state;
    tutti_sourced s;
    tutti_failure err = {0};
    const char text[] =
        "# a card\nabout: a card of 2017\n\n memory\t900GB/s  read:  the data sheet \r\nlaunch 5us assumed: why";
    assert_int_equal(tutti_sourced_parse("card", text, &s, &err), TUTTI_OK);
    assert_int_equal(s.n, 3);
    assert_string_equal(tutti_sourced_get(&s, "about")->value, "a card of 2017");
    assert_null(tutti_sourced_get(&s, "about")->from);
    const tutti_sourced_line *memory = tutti_sourced_get(&s, "memory");
    assert_string_equal(memory->value, "900GB/s");
    assert_string_equal(memory->from, "read");
    assert_string_equal(memory->words, "the data sheet");
    assert_int_equal(memory->line, 4);
    assert_null(tutti_sourced_get(&s, "nothing"));
    tutti_sourced_release(&s);
}

static void what_says_no_source_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"memory 900GB/s\n", "card: line 1"},
        {"memory 900GB/s read\n", "line 1"},
        {"memory 900GB/s read:\n", "line 1"},
        {"memory 900GB/s read the data sheet\n", "line 1"},
        {"\nmemory 900GB/s heard: of it\n", "line 2"},
        {"memory\n", "line 1"},
        {"about:\n", "no words behind 'about:'"},
        {"a 1 read: x\nb 2 read: x\na 3 read: x\n", "line 3: 'a' is given in line 1 already"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tutti_sourced s;
        tutti_failure err = {0};
        assert_int_equal(tutti_sourced_parse("card", bad[i].text, &s, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, bad[i].words)) fail_msg("\"%s\" does not say \"%s\"", err.text, bad[i].words);
    }
}

static tutti_status number(const char *value, const char *unit, double *out)
{
    const tutti_sourced s = {.name = "card"};
    const tutti_sourced_line line = {.line = 7, .key = "k", .value = value};
    tutti_failure err = {0};
    const tutti_status st = tutti_sourced_number(&s, &line, unit, out, &err);
    assert_true(!st == !err.text[0]);
    if (st) assert_non_null(strstr(err.text, "card: line 7: k is"));
    return st;
}

static void numbers_have_the_unit_that_is_wanted(void **state)
{
    (void)state;
    double x = -1;
    assert_true(!number("2GB/s", "B/s", &x) && x == 2e9);
    assert_true(!number("2e9", "B/s", &x) && x == 2e9);
    assert_true(!number("512B", "B", &x) && x == 512);
    assert_true(!number("4us", "s", &x) && x == 4 * 1e-6);
    assert_true(!number("3s", "s", &x) && x == 3);
    assert_true(!number("0", "", &x) && x == 0);
    assert_true(!number("1.5TFLOP/s", "FLOP/s", &x) && x == 1.5e12);
    static const char *const bad[] = {"",       "x",    "-1",     "1e999", "nan",  "inf",  "2GB",
                                      "2G B/s", "0x10", "1e300T", "2Q",    "1e31", "1e29k"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!number(bad[i], "B/s", &x)) fail_msg("'%s' was taken for %g", bad[i], x);
    assert_int_equal(number("2k", "", &x), TUTTI_ERR_DATA);
    assert_int_equal(number("1e300s", "s", &x), TUTTI_ERR_DATA); /* would be printed with 300 digits */
    assert_int_equal(number("1e7", "s", &x), TUTTI_ERR_DATA);
    assert_int_equal(number("12Ms", "s", &x), TUTTI_ERR_DATA);
}

static void texts_of_the_program_are_found_by_name(void **state)
{
    (void)state;
    static const tutti_embedded_text table[] = {{"a", "one"}, {"b", "two"}, {NULL, NULL}};
    assert_string_equal(tutti_embedded_find(table, "b"), "two");
    assert_null(tutti_embedded_find(table, "c"));
    char *names = tutti_embedded_names(table);
    assert_string_equal(names, "a, b");
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_figure_with_its_source_or_a_text),
        cmocka_unit_test(what_says_no_source_is_refused_with_its_line),
        cmocka_unit_test(numbers_have_the_unit_that_is_wanted),
        cmocka_unit_test(texts_of_the_program_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
