/* SPDX-License-Identifier: Apache-2.0 */
/* test_grow.c: arrays that grow. */
#include "testing.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "tutti/failure.h"

static void an_array_keeps_what_it_has_and_grows_by_a_factor(void **state)
{
    (void)state;
    int32_t capacity = 0, ngrown = 0;
    int64_t *array = NULL;
    for (int32_t n = 0; n < 100000; n++) {
        const int32_t before = capacity;
        array = tutti_grow(array, n, &capacity, sizeof *array);
        assert_true(capacity > n);
        ngrown += capacity != before;
        array[n] = 3 * (int64_t)n;
    }
    assert_true(ngrown < 20);
    for (int32_t n = 0; n < 100000; n++) assert_int_equal(array[n], 3 * n);
    free(array);
}

static void it_may_grow_by_many_at_once(void **state)
{
    (void)state;
    int32_t capacity = 0;
    char *array = tutti_grow(NULL, 999, &capacity, 1);
    assert_true(capacity > 999 && capacity <= 2000);
    array[999] = 1;
    free(array);
}

/* More elements than can be counted: the process ends as one without memory does. */
static void it_does_not_grow_past_what_can_be_counted(void **state)
{
    (void)state;
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        int32_t capacity = 1 << 30;
        close(STDERR_FILENO);
        tutti_grow(NULL, capacity, &capacity, 1);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == TUTTI_ERR_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_keeps_what_it_has_and_grows_by_a_factor),
        cmocka_unit_test(it_may_grow_by_many_at_once),
        cmocka_unit_test(it_does_not_grow_past_what_can_be_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
