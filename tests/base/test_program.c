/* SPDX-License-Identifier: Apache-2.0 */
/* Helper programs: found, run where they are told to, their end reported, stopped at the deadline. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/host/program.h"

static void programs_are_looked_for_where_a_shell_would(void **state)
{
    (void)state;
    assert_true(tutti_program_exists("sh"));
    assert_true(tutti_program_exists("/bin/sh"));
    assert_false(tutti_program_exists("no-such-program-of-ours"));
    assert_false(tutti_program_exists("/no/such/program"));
    assert_false(tutti_program_exists("/bin")); /* a folder */
}

/* The last part stays a link: a program may ask by which name it was called. */
static void a_program_is_found_by_its_path_from_the_root(void **state)
{
    (void)state;
    char *folder = NULL, link[300], *found, *real, *expected;
    char *path = strdup(getenv("PATH")), *before = getcwd(NULL, 0);
    assert_int_equal(tutti_program_folder(&folder, NULL), TUTTI_OK);
    real = realpath(folder, NULL);
    snprintf(link, sizeof link, "%s/other-name", folder);
    assert_int_equal(symlink("/bin/sh", link), 0);
    assert_true(asprintf(&expected, "%s/other-name", real) > 0);
    assert_int_equal(chdir(folder), 0);
    found = tutti_program_find("./other-name");
    assert_string_equal(found, expected);
    free(found);
    setenv("PATH", ":/no/such/folder", 1); /* an empty place is the working folder */
    found = tutti_program_find("other-name");
    assert_string_equal(found, expected);
    assert_null(tutti_program_find("sh"));
    setenv("PATH", path, 1);
    assert_null(tutti_program_find("./no-such-program"));
    assert_int_equal(chdir(before), 0);
    assert_int_equal(tutti_file_remove_tree(folder, NULL), TUTTI_OK);
    free(found), free(real), free(expected), free(path), free(before), free(folder);
}

static void helpers_lie_beside_the_program(void **state)
{
    (void)state;
    char out[PATH_MAX] = "as before";
    assert_false(tutti_program_beside("no-such-program-of-ours", out));
    assert_string_equal(out, "as before");
    assert_true(tutti_program_beside("test_program", out));
    assert_string_equal(strrchr(out, '/'), "/test_program");
}

static void a_program_runs_in_its_folder(void **state)
{
    (void)state;
    char *folder = NULL, *text = NULL, path[300];
    size_t n;
    const char *const argv[] = {"sh", "-c", "pwd -P > here; echo lost; echo lost >&2", NULL};
    assert_int_equal(tutti_program_folder(&folder, NULL), TUTTI_OK);
    assert_int_equal(tutti_program_run(argv, folder, 20, NULL), TUTTI_OK);
    assert_true(strlen(folder) < 200);
    strcpy(path, folder);
    strcat(path, "/here");
    assert_int_equal(tutti_file_read(path, 1000, TUTTI_ERR_FAILED, &text, &n, NULL), TUTTI_OK);
    text[strcspn(text, "\n")] = '\0';
    char *real = realpath(folder, NULL);
    assert_string_equal(text, real);
    assert_int_equal(tutti_file_remove_tree(folder, NULL), TUTTI_OK);
    assert_int_equal(access(folder, F_OK), -1);
    free(real), free(text), free(folder);
}

static void how_a_program_ended_is_said(void **state)
{
    (void)state;
    const char *const code[] = {"sh", "-c", "exit 7", NULL}, *const signal[] = {"sh", "-c", "kill -9 $$", NULL},
                      *const none[] = {"no-such-program-of-ours", NULL};
    tutti_failure err = {0};
    assert_int_equal(tutti_program_run(code, NULL, 20, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "ended with 7"));
    assert_int_equal(tutti_program_run(signal, NULL, 20, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "signal 9"));
    assert_int_equal(tutti_program_run(none, NULL, 20, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "no-such-program-of-ours"));
}

static void a_program_is_stopped_at_its_deadline(void **state)
{
    (void)state;
    const char *const argv[] = {"sleep", "60", NULL};
    tutti_failure err = {0};
    const double begin = tutti_clock_s();
    assert_int_equal(tutti_program_run(argv, NULL, 0.1, &err), TUTTI_ERR_FAILED);
    assert_true(tutti_clock_s() - begin < 30);
    assert_non_null(strstr(err.text, "stopped after 0.1 s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_looked_for_where_a_shell_would),
        cmocka_unit_test(a_program_is_found_by_its_path_from_the_root),
        cmocka_unit_test(helpers_lie_beside_the_program),
        cmocka_unit_test(a_program_runs_in_its_folder),
        cmocka_unit_test(how_a_program_ended_is_said),
        cmocka_unit_test(a_program_is_stopped_at_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
