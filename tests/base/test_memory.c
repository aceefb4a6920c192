/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c: what is left is known, what cannot be had is refused before it is asked for, and who has none left
 * says so. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/host/memory.h"

static void more_than_is_left_is_refused_with_both_figures(void **state)
{
    (void)state;
    tutti_failure err = {0};
    assert_true(tutti_memory_left() > 0);
    assert_int_equal(tutti_memory_check(1 << 20, "a part", "take less", &err), TUTTI_OK);
    assert_int_equal(tutti_memory_check(INT64_MAX, "the whole", "take less", &err), TUTTI_ERR_FAILED);
    assert_int_equal(strncmp(err.text, "the whole: 9223372036854.8 MB of memory are needed and ", 54), 0);
    assert_non_null(strstr(err.text, " MB are left: take less"));
}

/* Runs body in a process of its own that gets no addresses more; what it ends with and says. */
static int with_little(void (*body)(void), char said[512])
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {1 << 20, 1 << 20};
        dup2(ends[1], STDERR_FILENO);
        if (!body || setrlimit(RLIMIT_AS, &limit)) _exit(9);
        body();
        _exit(0);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], said, 511);
    said[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void ask_for_much(void)
{
    free(tutti_alloc((size_t)1 << 30));
}

static void ask_an_arena(void)
{
    tutti_arena arena = {0};
    tutti_arena_alloc(&arena, (size_t)1 << 30);
}

static void check_much(void)
{
    tutti_failure err = {0};
    _exit(tutti_memory_check(17 << 20, "it", "take less", &err) == TUTTI_ERR_FAILED &&
                  strstr(err.text, " 0.0 MB are left")
              ? 7
              : 8);
}

static void test_f18_who_gets_none_ends_with_words_and_no_core(void **state)
{
    (void)state;
    char said[512];
    if (TESTING_SANITIZED) skip();
    assert_int_equal(with_little(ask_for_much, said), TUTTI_ERR_FAILED);
    assert_int_equal(strncmp(said, "tutti: no memory for 1073741824 bytes (test_memory.c:", 53), 0);
    assert_int_equal(with_little(ask_an_arena, said), TUTTI_ERR_FAILED);
    assert_non_null(strstr(said, "(arena.c:"));
    assert_int_equal(with_little(check_much, said), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_is_left_is_refused_with_both_figures),
        cmocka_unit_test(test_f18_who_gets_none_ends_with_words_and_no_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
