/* SPDX-License-Identifier: Apache-2.0 */
/* test_resume.c: which jobs may go on from each other's checkpoints, and how the difference is said. */
#include "testing.h"

#include <stdlib.h>

#include "training/run/keep/keep.h"

static const char *const free_keys[] = {"ranks", "checkpoint.keep", NULL};

static void expect(const char *there, const char *here, const char *words)
{
    char *differ = tutti_jobs_differ(there, here, free_keys);
    if (words) {
        assert_non_null(differ);
        assert_string_equal(differ, words);
    } else if (differ) {
        fail_msg("%s", differ);
    }
    free(differ);
}

static void equal_jobs_and_free_keys_do_not_differ(void **state)
{
    (void)state;
    expect("seed: 1\nranks: 2\n", "ranks: 4\nseed: 1\n", NULL);
    expect("checkpoint: {keep: 1}\nlist: [1, 2]\n", "checkpoint: {keep: 9}\nlist: [1, 2]\n", NULL);
}

static void each_key_that_differs_is_named_with_both_values(void **state)
{
    (void)state;
    expect("seed: 1\nbatch: 64\n", "seed: 2\nbatch: 32\n", "seed is 1 there, 2 here; batch is 64 there, 32 here");
    expect("a: {b: {c: 1}}\n", "a: {b: {c: 2}}\n", "a.b.c is 1 there, 2 here");
    expect("list: [1, 2]\n", "list: [1, 3]\n", "list is [1, 2] there, [1, 3] here");
    expect("data: {path: \"\"}\n", "data: {path: x}\n", "data.path is '' there, x here");
}

static void a_key_that_only_one_has_is_named(void **state)
{
    (void)state;
    expect("seed: 1\n", "seed: 1\nnew: 3\n", "new is absent there, 3 here");
    expect("seed: 1\nold: 3\n", "seed: 1\n", "old is 3 there, absent here");
    expect("a: {old: 3}\n", "seed: 1\n", "seed is absent there, 1 here; a.old is 3 there, absent here");
}

static void what_cannot_be_read_differs(void **state)
{
    (void)state;
    expect("a: [", "a: 1\n", "one of the jobs cannot be read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_jobs_and_free_keys_do_not_differ),
        cmocka_unit_test(each_key_that_differs_is_named_with_both_values),
        cmocka_unit_test(a_key_that_only_one_has_is_named),
        cmocka_unit_test(what_cannot_be_read_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
