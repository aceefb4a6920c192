/* SPDX-License-Identifier: Apache-2.0 */
/* transfer_bodies.h: what ranks do to each other's memory (tutti/transfer.h), the same for threads and for processes on
 * hosts; bodies of comm_ranks.h. */
#ifndef TUTTI_TESTS_TRANSFER_BODIES_H
#define TUTTI_TESTS_TRANSFER_BODIES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "comm_ranks.h"
#include "tutti/transfer.h"

enum { ROUNDS = 60, MOST = 300000 };

typedef struct {
    uint64_t arrived, used;
    uint64_t size, where; /* metadata of a dynamic transfer */
    char bytes[MOST];
} mailbox;

static inline unsigned char content(int round, size_t i)
{
    return (unsigned char)(i * 31 + (size_t)round * 7);
}

static inline size_t size_of(int round)
{
    return tutti_random(3, TUTTI_STREAM_TEST, (uint64_t)round, 0).word[0] % (round % 4 ? 2000 : MOST);
}

static inline void dawdle(int round, int who)
{
    const uint32_t word = tutti_random(9, TUTTI_STREAM_TEST, (uint64_t)round, (uint64_t)who).word[0];
    if (word % 5 == 0) tutti_clock_sleep_s(1e-6 * (double)(word % 500));
}

/* Rank 0 writes into the memory of rank 1, round after round. */
static inline const char *static_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    mailbox *m;
    static char sources[MOST_COMM_RANKS][MOST];
    char *source = sources[tutti_comm_rank(comm)];
    (void)arg;
    EXPECT(!tutti_comm_alloc(comm, sizeof *m, (void **)&m, &err));
    for (int e = 0; e < ROUNDS; e++) {
        const size_t n = size_of(e);
        dawdle(e, tutti_comm_rank(comm));
        if (tutti_comm_rank(comm) == 0) {
            for (size_t i = 0; i < n; i++) source[i] = (char)content(e, i);
            EXPECT(!tutti_comm_await(comm, &m->used, (uint64_t)e, 0, &err));
            EXPECT(!tutti_comm_write(comm, 1, m->bytes, source, n, &err));
            EXPECT(!tutti_comm_signal(comm, 1, &m->arrived, (uint64_t)e + 1, &err));
            EXPECT(!tutti_comm_flush(comm, &err));
        } else if (tutti_comm_rank(comm) == 1) {
            EXPECT(!tutti_comm_await(comm, &m->arrived, (uint64_t)e + 1, 0, &err));
            for (size_t i = 0; i < n; i++) EXPECT((unsigned char)m->bytes[i] == content(e, i));
            EXPECT(!tutti_comm_signal(comm, 0, &m->used, (uint64_t)e + 1, &err));
        }
    }
    EXPECT(!tutti_comm_barrier(comm, &err));
    return NULL;
}

/* Rank 0 has tensors of sizes that rank 1 does not know: it is told, and reads. */
static inline const char *dynamic_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    mailbox *m;
    static char got[MOST];
    (void)arg;
    EXPECT(!tutti_comm_alloc(comm, sizeof *m, (void **)&m, &err));
    for (int e = 0; e < ROUNDS; e++) {
        dawdle(e, 7 + tutti_comm_rank(comm));
        if (tutti_comm_rank(comm) == 0) {
            const uint64_t n = size_of(e), at = (uint64_t)e % 64 < MOST - n ? (uint64_t)e % 64 : 0;
            EXPECT(!tutti_comm_await(comm, &m->used, (uint64_t)e, 0, &err));
            for (size_t i = 0; i < n; i++) m->bytes[at + i] = (char)content(e, i);
            EXPECT(!tutti_comm_write(comm, 1, &m->size, &n, sizeof n, &err));
            EXPECT(!tutti_comm_write(comm, 1, &m->where, &at, sizeof at, &err));
            EXPECT(!tutti_comm_signal(comm, 1, &m->arrived, (uint64_t)e + 1, &err));
            EXPECT(!tutti_comm_flush(comm, &err));
        } else {
            EXPECT(!tutti_comm_await(comm, &m->arrived, (uint64_t)e + 1, 0, &err));
            EXPECT(m->size == size_of(e));
            EXPECT(!tutti_comm_read(comm, 0, got, m->bytes + m->where, m->size, &err));
            for (size_t i = 0; i < m->size; i++) EXPECT((unsigned char)got[i] == content(e, i));
            EXPECT(!tutti_comm_signal(comm, 0, &m->used, (uint64_t)e + 1, &err));
        }
    }
    EXPECT(!tutti_comm_barrier(comm, &err)); /* what is read must stay until it has been */
    return NULL;
}

static inline const char *refused_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    uint64_t *own, plain = 0;
    (void)arg;
    EXPECT(!tutti_comm_alloc(comm, 64, (void **)&own, &err));
    EXPECT(tutti_comm_write(comm, 1, &plain, own, 8, &err) == TUTTI_ERR_USAGE);
    EXPECT(tutti_comm_write(comm, 1, own + 7, own, 16, &err) == TUTTI_ERR_USAGE);
    EXPECT(tutti_comm_write(comm, 2, own, own, 8, &err) == TUTTI_ERR_USAGE && strstr(err.text, "rank 2"));
    EXPECT(tutti_comm_signal(comm, 1, (uint64_t *)(void *)((char *)own + 4), 1, &err) == TUTTI_ERR_USAGE);
    EXPECT(tutti_comm_read(comm, -1, &plain, own, 8, &err) == TUTTI_ERR_USAGE);
    EXPECT(!tutti_comm_barrier(comm, &err));
    if (tutti_comm_rank(comm) == 0) {
        EXPECT(tutti_comm_await(comm, own, 1, 0.1, &err) == TUTTI_ERR_PEER);
        EXPECT(strstr(err.text, "deadline") && strstr(err.text, "word to reach 1"));
    }
    return NULL;
}

/* Rank 1 writes what arrives in pieces or after a round trip, and reads it back at once: nothing says that it has
 * arrived. */
static inline const char *echo_body(tutti_comm *comm, void *arg)
{
    enum { LONG = 1 << 22 };
    tutti_failure err = {0};
    char *theirs, *source = malloc(LONG), *got = calloc(1, LONG);
    (void)arg;
    EXPECT(!tutti_comm_alloc(comm, LONG, (void **)&theirs, &err));
    for (int e = 0; e < 4 && tutti_comm_rank(comm) == 1; e++) {
        const size_t n = LONG >> 4 * e;
        for (size_t i = 0; i < n; i++) source[i] = (char)content(e, i);
        EXPECT(!tutti_comm_write(comm, 0, theirs, source, n, &err));
        EXPECT(!tutti_comm_read(comm, 0, got, theirs + n - 8, 8, &err)); /* short: overtakes, if it can */
        EXPECT(!memcmp(got, source + n - 8, 8));
        EXPECT(!tutti_comm_read(comm, 0, got, theirs, n, &err));
        EXPECT(!memcmp(got, source, n));
        EXPECT(!tutti_comm_flush(comm, &err));
    }
    EXPECT(!tutti_comm_barrier(comm, &err));
    free(source), free(got);
    return NULL;
}

/* All read from rank 1, which waits, until that is over; what it ended with. */
static inline const char *read_until_over(tutti_comm *comm, void *memory, size_t nbytes, char words[1200])
{
    tutti_failure err = {0};
    tutti_status s = TUTTI_OK;
    char *got = malloc(nbytes);
    if (tutti_comm_rank(comm) == 1) s = tutti_comm_await(comm, memory, 1, 0, &err);
    while (!s) s = tutti_comm_read(comm, 1, got, memory, nbytes, &err);
    free(got); /* nothing is written to it any more */
    EXPECT(s == TUTTI_ERR_PEER);
    snprintf(words, 1200, "%s", err.text);
    return words;
}

#endif
