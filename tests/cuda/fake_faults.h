/* SPDX-License-Identifier: Apache-2.0 */
/* fake_faults.h: a fault in a process of its own, and what the fake card says of it. */
#ifndef TESTS_FAKE_FAULTS_H
#define TESTS_FAKE_FAULTS_H

#include "testing.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_card.h"

enum { REPORTED = 97 };

static char *ptx;
static fake_card card;

/* What a child does with an open card; its standard error is what is looked at. */
static inline int run_in_child(void (*what)(void), char *said, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends[1], 2);
        close(ends[0]);
        signal(SIGSEGV, SIG_DFL);
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* what fails here does not go on with the other tests */
        card_open(&card, ptx);
        what();
        exit(0); /* with what the library does at the end */
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t n; used < size - 1 && (n = read(ends[0], said + used, size - 1 - used)) > 0;) used += (size_t)n;
    said[used] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* words: two parts of the line. */
static inline void must_report(void (*what)(void), const char *first, const char *second)
{
    if (!ptx) skip();
    char said[4096];
    const int code = run_in_child(what, said, sizeof(said));
    if (code != REPORTED || strncmp(said, "fake cuda: ", 11) || !strstr(said, first) || !strstr(said, second))
        fail_msg("code %d: %s", code, said);
    assert_true(strchr(said, '\n') == said + strlen(said) - 1); /* one line */
}

static inline void must_be_silent(void (*what)(void))
{
    if (!ptx) skip();
    char said[4096];
    const int code = run_in_child(what, said, sizeof(said));
    if (code || said[0]) fail_msg("code %d: %s", code, said);
}

static inline uint64_t floats(size_t n)
{
    const uint64_t at = card_new(&card, n * sizeof(float));
    card.cuMemsetD32Async(at, 0x3f800000, n, card.stream);
    return at;
}

static inline void wait_for_it(void)
{
    card.cuStreamSynchronize(card.stream);
}

static inline void run(const char *name, unsigned blocks, unsigned threads, unsigned shared, void **args)
{
    card_launch(&card, name, blocks, threads, shared, args);
    wait_for_it();
}

static inline char *compiled(void)
{
    void *nvrtc = nvrtc_open();
    char text[1 << 13];
    FILE *f = fopen(TUTTI_SOURCE_DIR "/tests/cuda/fake_faults.cu", "r");
    if (!nvrtc || !f) return NULL;
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    char *made = nvrtc_ptx(nvrtc, text, "compute_90", 1);
    if (!made) exit(1);
    return made;
}

#endif
