/* SPDX-License-Identifier: Apache-2.0 */
/* test_failure.c: what a failure says when there is too much to say. */
#include "testing.h"

#include <string.h>

#include "tutti/failure.h"

static void of_a_text_that_is_too_long_the_middle_goes(void **state)
{
    (void)state;
    char path[4096];
    tutti_failure err = {0};
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    memcpy(path, "runs/", 5);
    assert_int_equal(tutti_fail(&err, TUTTI_ERR_DATA, "%s: cannot open: no such file", path), TUTTI_ERR_DATA);
    assert_true(strlen(err.text) < sizeof err.text);
    assert_int_equal(strncmp(err.text, "runs/aaa", 8), 0);
    assert_non_null(strstr(err.text, "a ... a"));
    assert_non_null(strstr(err.text, "a: cannot open: no such file"));
    assert_int_equal(tutti_fail_at(&err, "line %d of %s", 7, path), TUTTI_ERR_DATA);
    assert_int_equal(strncmp(err.text, "line 7 of runs/aaa", 18), 0);
    assert_non_null(strstr(err.text, "a: cannot open: no such file"));
}

static void a_place_is_put_in_front(void **state)
{
    (void)state;
    tutti_failure err = {0};
    tutti_fail(&err, TUTTI_ERR_USAGE, "no rank %d", 9);
    assert_int_equal(tutti_fail_at(&err, "job.yaml"), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "job.yaml: no rank 9");
    assert_int_equal(tutti_fail(&err, TUTTI_ERR_USAGE, "again: %s", err.text), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "again: job.yaml: no rank 9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_text_that_is_too_long_the_middle_goes),
        cmocka_unit_test(a_place_is_put_in_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
