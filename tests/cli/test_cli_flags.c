/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_flags.c: flags by tables. src/cli belongs to the program, not to the library, so the files themselves are
 * taken in. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.c"
#include "cli/cli_files.c"
#include "cli/cli_numbers.c"

static const tutti_flag flags[] = {
    {"ranks", "N", "processes", 0},
    {"set", "KEY=VALUE", "override", TUTTI_FLAG_MANY},
    {"quiet", NULL, "say less", 0},
    {"out", "FILE", "write to it", 0},
    {"follow", NULL, "go on", 0},
    {"draw", "[FILE.svg]", "print it, or draw it there", TUTTI_FLAG_WRITES | TUTTI_FLAG_OPTIONAL},
};
enum { NFLAGS = sizeof flags / sizeof *flags };

/* Parses words after the command's name; up to seven, NULL ends them. */
static tutti_status parse(const char *const *words, tutti_flags *out, tutti_failure *err)
{
    char *argv[9] = {(char[]){"train"}};
    int argc = 1;
    for (; argc < 8 && words[argc - 1]; argc++) argv[argc] = (char *)(uintptr_t)words[argc - 1];
    return tutti_cli_parse(argc, argv, flags, NFLAGS, out, err);
}

static void both_forms_give_the_same_value(void **state)
{
    (void)state;
    tutti_flags f;
    tutti_failure err = {0};
    const char *const apart[] = {"job.yaml", "--ranks", "4", "--quiet", NULL}, *const joined[] = {"--ranks=4", NULL};
    long n = 0;
    assert_int_equal(parse(apart, &f, &err), TUTTI_OK);
    assert_string_equal(tutti_cli_value(&f, "ranks", ""), "4");
    assert_true(tutti_cli_has(&f, "quiet"));
    assert_int_equal(f.nrest, 1);
    assert_string_equal(f.rest[0], "job.yaml");
    assert_int_equal(parse(joined, &f, &err), TUTTI_OK);
    assert_int_equal(tutti_cli_int(&f, "ranks", (tutti_cli_range){1, 8}, 1, &n, &err), TUTTI_OK);
    assert_int_equal(n, 4);
    assert_false(tutti_cli_has(&f, "quiet"));
}

static void f_is_short_for_follow(void **state)
{
    (void)state;
    tutti_flags f;
    tutti_failure err = {0};
    const char *const words[] = {"7", "-f", NULL};
    assert_int_equal(parse(words, &f, &err), TUTTI_OK);
    assert_true(tutti_cli_has(&f, "follow"));
    assert_int_equal(f.nrest, 1);
    /* a command without the flag does not know the letter */
    assert_int_equal(tutti_cli_parse(2, (char *[]){(char[]){"train"}, (char[]){"-f"}}, flags, 2, &f, &err),
                     TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "'--f'"));
}

static void o_is_short_for_out(void **state)
{
    (void)state;
    tutti_flags f;
    tutti_failure err = {0};
    const char *const words[] = {"-o", "a.txt", "job.yaml", NULL};
    assert_int_equal(parse(words, &f, &err), TUTTI_OK);
    assert_string_equal(tutti_cli_value(&f, "out", ""), "a.txt");
    assert_int_equal(f.nrest, 1);
}

static void a_flag_of_many_keeps_order_and_values_with_equals_signs(void **state)
{
    (void)state;
    tutti_flags f;
    tutti_failure err = {0};
    const char *const words[] = {"--set", "a=1", "--set=b=2", NULL};
    assert_int_equal(parse(words, &f, &err), TUTTI_OK);
    assert_int_equal(f.count[1], 2);
    assert_string_equal(f.value[1][0], "a=1");
    assert_string_equal(f.value[1][1], "b=2");
}

static void refusals_name_the_flag_and_the_nearest_known_one(void **state)
{
    (void)state;
    static const struct {
        const char *words[4], *wanted;
    } cases[] = {
        {{"--rank", "4"}, "unknown flag '--rank'; did you mean '--ranks'?"},
        {{"--nonsense=4"}, "unknown flag '--nonsense'; --help lists the flags"},
        {{"-q"}, "unknown flag '--q'; --help lists the flags"},
        {{"--ranks"}, "--ranks needs a value: N"},
        {{"--quiet=yes"}, "--quiet takes no value"},
        {{"--ranks", "1", "--ranks=2"}, "--ranks is given twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tutti_flags f;
        tutti_failure err = {0};
        assert_int_equal(parse(cases[i].words, &f, &err), TUTTI_ERR_USAGE);
        assert_string_equal(err.text, cases[i].wanted);
    }
}

static void a_value_that_may_be_missing_is_known_by_its_ending(void **state)
{
    (void)state;
    static const struct {
        const char *words[4], *value; /* NULL = none */
        int nrest;
    } cases[] = {
        {{"--draw"}, NULL, 0},
        {{"--draw", "run"}, NULL, 1},
        {{"--draw", "a.svg", "run"}, "a.svg", 1},
        {{"run", "--draw", "a.svg"}, "a.svg", 1},
        {{"--draw=a.png", "run"}, "a.png", 1},
        {{"--draw", ".svg"}, NULL, 1}, /* that is not a name */
        {{"--draw", "--quiet"}, NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tutti_flags f;
        tutti_failure err = {0};
        assert_int_equal(parse(cases[i].words, &f, &err), TUTTI_OK);
        assert_true(tutti_cli_has(&f, "draw"));
        const char *value = tutti_cli_value(&f, "draw", NULL);
        assert_true(!value == !cases[i].value);
        if (value) assert_string_equal(value, cases[i].value);
        assert_int_equal(f.nrest, cases[i].nrest);
        assert_int_equal(tutti_cli_check_flags(&f, &err), TUTTI_OK);
    }
    tutti_flags f;
    tutti_failure err = {0};
    const char *const nothing[] = {"--draw=", NULL};
    assert_int_equal(parse(nothing, &f, &err), TUTTI_OK);
    assert_int_equal(tutti_cli_check_flags(&f, &err), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "--draw: a name is missing");
}

static void help_is_seen_anywhere_and_two_dashes_end_the_flags(void **state)
{
    (void)state;
    tutti_flags f;
    tutti_failure err = {0};
    const char *const help[] = {"x", "-h", NULL}, *const end[] = {"--", "--help", NULL};
    assert_int_equal(parse(help, &f, &err), TUTTI_OK);
    assert_true(f.help);
    assert_int_equal(parse(end, &f, &err), TUTTI_OK);
    assert_false(f.help);
    assert_string_equal(f.rest[0], "--help");
}

static void whole_numbers_have_ranges_and_lists_have_limits(void **state)
{
    (void)state;
    tutti_flags f;
    tutti_failure err = {0};
    long n = 0, list[3];
    tutti_cli_list three = {list, 3, 0};
    const char *const nine[] = {"--ranks", "9", NULL}, *const words[] = {"--ranks=4x", NULL},
                      *const some[] = {"--ranks=1,2,8", NULL}, *const hole[] = {"--ranks=1,,8", NULL};
    assert_int_equal(parse(nine, &f, &err), TUTTI_OK);
    assert_int_equal(tutti_cli_int(&f, "ranks", (tutti_cli_range){1, 8}, 1, &n, &err), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "--ranks: 9 is outside 1 .. 8");
    assert_int_equal(parse(words, &f, &err), TUTTI_OK);
    assert_int_equal(tutti_cli_int(&f, "ranks", (tutti_cli_range){1, 8}, 1, &n, &err), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "--ranks: '4x' is not a whole number");
    assert_int_equal(parse(some, &f, &err), TUTTI_OK);
    assert_int_equal(tutti_cli_ints(&f, "ranks", (tutti_cli_range){1, 8}, &three, &err), TUTTI_OK);
    assert_int_equal(three.n, 3);
    assert_int_equal(list[2], 8);
    assert_int_equal(tutti_cli_ints(&f, "ranks", (tutti_cli_range){1, 8}, &(tutti_cli_list){list, 2, 0}, &err),
                     TUTTI_ERR_USAGE);
    assert_int_equal(parse(hole, &f, &err), TUTTI_OK);
    assert_int_equal(tutti_cli_ints(&f, "ranks", (tutti_cli_range){1, 8}, &(tutti_cli_list){list, 3, 0}, &err),
                     TUTTI_ERR_USAGE);
}

static void lists_go_on_as_they_began(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int n;
        long list[8];
    } cases[] = {
        {"--ranks=1,2,4,..,64", 7, {1, 2, 4, 8, 16, 32, 64}},
        {"--ranks=1,2,3,..,6", 6, {1, 2, 3, 4, 5, 6}},
        {"--ranks=2,5,..,14", 5, {2, 5, 8, 11, 14}},
        {"--ranks=10,20,..,50", 5, {10, 20, 30, 40, 50}}, /* doubling does not lead to 50 */
        {"--ranks=1,3,9,...,81", 5, {1, 3, 9, 27, 81}},
        {"--ranks=0,1,2,..,4", 5, {0, 1, 2, 3, 4}},
        {"--ranks=3,1,2,4,..,8,1", 6, {3, 1, 2, 4, 8, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_flags f;
        tutti_failure err = {0};
        long list[8] = {0};
        tutti_cli_list all = {list, 8, 0};
        const char *const words[] = {cases[i].text, NULL};
        assert_int_equal(parse(words, &f, &err), TUTTI_OK);
        if (tutti_cli_ints(&f, "ranks", (tutti_cli_range){0, 100}, &all, &err))
            fail_msg("%s: %s", cases[i].text, err.text);
        assert_int_equal(all.n, cases[i].n);
        assert_memory_equal(list, cases[i].list, sizeof list);
    }
}

static void a_list_that_cannot_go_on_is_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"--ranks=1,..,64", "--ranks: '..' goes on as two numbers or more began: 1,2,4,..,64"},
        {"--ranks=..,64", "--ranks: '..' goes on as two numbers or more began: 1,2,4,..,64"},
        {"--ranks=1,2,..,64", "--ranks: 1,2,..,64 may go on with 3 or with 4; write a third number"},
        {"--ranks=1,2,4,..,63", "--ranks: neither equal steps nor equal factors lead from 2, 4 to 63"},
        {"--ranks=4,2,1,..,1", "--ranks: neither equal steps nor equal factors lead from 2, 1 to 1"},
        {"--ranks=2,2,..,2", "--ranks: neither equal steps nor equal factors lead from 2, 2 to 2"},
        {"--ranks=0,0,..,0", "--ranks: neither equal steps nor equal factors lead from 0, 0 to 0"},
        {"--ranks=1,2,3,..,64", "--ranks: more than 8 numbers"},
        {"--ranks=1,2,4,..", "--ranks: '..' is not a whole number"},
        {"--ranks=1,2,4,..,..,8", "--ranks: '..' is not a whole number"},
        {"--ranks=1,2,4,..,640", "--ranks: 640 is outside 0 .. 100"},
        {"--ranks=1,2,4,....,64", "--ranks: '....' is not a whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_flags f;
        tutti_failure err = {0};
        long list[8];
        const char *const words[] = {cases[i].text, NULL};
        assert_int_equal(parse(words, &f, &err), TUTTI_OK);
        assert_int_equal(tutti_cli_ints(&f, "ranks", (tutti_cli_range){0, 100}, &(tutti_cli_list){list, 8, 0}, &err),
                         TUTTI_ERR_USAGE);
        assert_string_equal(err.text, cases[i].wanted);
    }
}

static void sizes_know_powers_of_ten_and_of_two(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long long bytes;
    } cases[] = {{"4096", 4096}, {"1KB", 1000}, {"64KiB", 65536}, {"102MB", 102000000}, {"2GiB", 2147483648}};
    tutti_failure err = {0};
    long long bytes = 0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tutti_cli_bytes("--bytes", cases[i].text, &bytes, &err), TUTTI_OK);
        assert_true(bytes == cases[i].bytes);
    }
    const char *wrong[] = {"", "KB", "-1", "1.5MB", "1kb", "9999999999GiB", "1 K"};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(tutti_cli_bytes("--bytes", wrong[i], &bytes, &err), TUTTI_ERR_USAGE);
        assert_non_null(strstr(err.text, "--bytes"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_give_the_same_value),
        cmocka_unit_test(o_is_short_for_out),
        cmocka_unit_test(f_is_short_for_follow),
        cmocka_unit_test(a_flag_of_many_keeps_order_and_values_with_equals_signs),
        cmocka_unit_test(refusals_name_the_flag_and_the_nearest_known_one),
        cmocka_unit_test(a_value_that_may_be_missing_is_known_by_its_ending),
        cmocka_unit_test(help_is_seen_anywhere_and_two_dashes_end_the_flags),
        cmocka_unit_test(whole_numbers_have_ranges_and_lists_have_limits),
        cmocka_unit_test(lists_go_on_as_they_began),
        cmocka_unit_test(a_list_that_cannot_go_on_is_refused_in_words),
        cmocka_unit_test(sizes_know_powers_of_ten_and_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
