/* SPDX-License-Identifier: Apache-2.0 */
/* fake_faults.h: a fault in a process of its own, and what the fake card says of it. */
#ifndef TESTS_FAKE_FAULTS_H
#define TESTS_FAKE_FAULTS_H

#include "testing.h"

#include "fake_card.h"
#include "fake_child.h"

static char *ptx;
static fake_card card;

static inline void open_card(void)
{
    card_open(&card, ptx);
}

/* The child reports one line of the fake card, in which `first` and `second` stand. */
static inline void must_report(void (*what)(void), const char *first, const char *second)
{
    if (!ptx) skip();
    char said[4096];
    const int code = run_in_child(open_card, what, said, sizeof(said));
    if (code != REPORTED || strncmp(said, "fake cuda: ", 11) || !strstr(said, first) || !strstr(said, second))
        fail_msg("code %d: %s", code, said);
    assert_true(strchr(said, '\n') == said + strlen(said) - 1); /* one line */
}

static inline void must_be_silent(void (*what)(void))
{
    if (!ptx) skip();
    char said[4096];
    const int code = run_in_child(open_card, what, said, sizeof(said));
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
    FILE *f = fopen(TUTTI_SOURCE_DIR "/tests/cuda/fake_faults.cu", "r");
    if (!nvrtc || !f) return NULL;
    char *made = nvrtc_ptx_of(nvrtc, f, "compute_90", 1);
    if (!made) exit(1);
    return made;
}

#endif
