/* SPDX-License-Identifier: Apache-2.0 */
/* fake_libs_faults.h: a fault in a process of its own, with fresh fake libraries, and what they say of it. */
#ifndef TESTS_FAKE_LIBS_FAULTS_H
#define TESTS_FAKE_LIBS_FAULTS_H

#include "fake_libs_rig.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORTED = 97 };

/* Runs it with fresh libraries; says its exit status, and what was on standard error. */
static inline int run_in_child(void (*what)(void), char *said, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends[1], 2);
        close(ends[0]);
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        signal(SIGABRT, SIG_DFL);
        libraries_open();
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

/* The case itself looks at statuses; words NULL: nothing may be reported. */
static inline void must_say(void (*what)(void), const char *words)
{
    char said[4096];
    setenv("TUTTI_FAKE_CUDA_FATAL", "0", 1);
    const int counted = run_in_child(what, said, sizeof said);
    if (counted || (words ? !strstr(said, words) : said[0])) fail_msg("code %d: %s", counted, said);
    unsetenv("TUTTI_FAKE_CUDA_FATAL");
    if (!words) return;
    const int fatal = run_in_child(what, said, sizeof said);
    if (fatal != REPORTED || !strstr(said, words)) fail_msg("code %d: %s", fatal, said);
}

#endif
