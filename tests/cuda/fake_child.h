/* SPDX-License-Identifier: Apache-2.0 */
/* fake_child.h: a case in a process of its own, for faults that end it, and what it says there. */
#ifndef TESTS_FAKE_CHILD_H
#define TESTS_FAKE_CHILD_H

#include "testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORTED = 97 };

/* A child runs `opens`, then `what`. said has room of `size` bytes for the child's standard error. Returns the exit
 * status; -N: signal N ended the child. */
static inline int run_in_child(void (*opens)(void), void (*what)(void), char *said, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends[1], 2);
        close(ends[0]);
        signal(SIGSEGV, SIG_DFL);
        signal(SIGABRT, SIG_DFL);
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* what fails here does not go on with the other tests */
        opens();
        what();
        exit(0); /* with what the libraries do at the end */
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t n; used < size - 1 && (n = read(ends[0], said + used, size - 1 - used)) > 0;) used += (size_t)n;
    said[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif
