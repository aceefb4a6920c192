/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_commands.c: what every row of the table of commands owes its user; `tutti help` lists the rows. */
#include "testing.h"

#include "command_line.h"

typedef struct {
    int rc;
    char *out, *err;
} result;

/* Streams apart. */
static result run(const char *arguments)
{
    result r;
    char path[] = "/tmp/tutti-err-XXXXXX";
    FILE *err = fdopen(mkstemp(path), "r");
    assert_non_null(err);
    tutti_strbuf words = {0};
    tutti_strbuf_printf(&words, "%s 2>'%s'", arguments, path);
    r.out = command_run(words.text, &r.rc);
    r.err = read_stream(err);
    fclose(err);
    remove(path);
    tutti_strbuf_release(&words);
    return r;
}

static void result_release(result *r)
{
    free(r->out);
    free(r->err);
}

/* Calls check(name) for each command that `tutti help` lists; returns how many. */
static int for_each_command(void (*check)(const char *name))
{
    result help = run("help");
    assert_int_equal(help.rc, 0);
    int n = 0;
    for (char *line = strtok(help.out, "\n"); line; line = strtok(NULL, "\n")) {
        char name[32];
        if (strncmp(line, "  ", 2) != 0 || sscanf(line, " %31s", name) != 1) continue;
        check(name);
        n++;
    }
    result_release(&help);
    return n;
}

static void check_help(const char *name)
{
    tutti_strbuf words = {0};
    tutti_strbuf_printf(&words, "%s --help", name);
    result r = run(words.text);
    if (r.rc != 0 || r.err[0] || !r.out[0])
        fail_msg("%s: exit %d, stderr '%s', stdout '%s'", words.text, r.rc, r.err, r.out);
    result_release(&r);
    tutti_strbuf_release(&words);
}

static void check_unknown_flag(const char *name)
{
    tutti_strbuf words = {0};
    tutti_strbuf_printf(&words, "%s --no-such-flag", name);
    result r = run(words.text);
    if (r.rc != 2 || !strstr(r.err, "no-such-flag") || r.out[0])
        fail_msg("%s: exit %d, stderr '%s', stdout '%s'", words.text, r.rc, r.err, r.out);
    result_release(&r);
    tutti_strbuf_release(&words);
}

static void every_command_explains_itself_on_stdout(void **state)
{
    (void)state;
    assert_true(for_each_command(check_help) >= 5);
}

static void every_command_refuses_an_unknown_flag(void **state)
{
    (void)state;
    assert_true(for_each_command(check_unknown_flag) >= 5);
}

static void a_mistyped_command_is_answered_with_the_nearest(void **state)
{
    (void)state;
    result r = run("grpah");
    assert_int_equal(r.rc, 2);
    assert_string_equal(r.err, "tutti: unknown command 'grpah'; did you mean 'graph'? 'tutti help' lists them\n");
    result_release(&r);
    r = run("");
    assert_int_equal(r.rc, 2);
    assert_non_null(strstr(r.err, "usage: tutti COMMAND"));
    result_release(&r);
}

static void an_instruction_set_that_there_is_not_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *isa;
        int code;
    } cases[] = {{"sse9", 2}, {"AVX2", 2}, {"avx", 2}, {"", 0}, {"generic", 0}, {"avx2", 0}, {"avx512", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(setenv("TUTTI_ISA", cases[i].isa, 1), 0);
        result r = run("coll list");
        assert_int_equal(r.rc, cases[i].code);
        if (r.rc) assert_non_null(strstr(r.err, "there are generic, avx2 and avx512"));
        result_release(&r);
    }
    unsetenv("TUTTI_ISA");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_explains_itself_on_stdout),
        cmocka_unit_test(every_command_refuses_an_unknown_flag),
        cmocka_unit_test(a_mistyped_command_is_answered_with_the_nearest),
        cmocka_unit_test(an_instruction_set_that_there_is_not_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
