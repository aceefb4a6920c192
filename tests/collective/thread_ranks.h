/* SPDX-License-Identifier: Apache-2.0 */
/* thread_ranks.h: runs a function as every rank of a group of threads. cmocka's assertions belong to the main thread,
 * so a rank returns NULL or static words that say what was wrong. */
#ifndef TUTTI_TEST_THREAD_RANKS_H
#define TUTTI_TEST_THREAD_RANKS_H

#include <pthread.h>
#include <stdio.h>

#include "collective/launch/join.h"

enum { MOST_RANKS = 16 };

typedef const char *(*rank_body)(tutti_group *group, void *arg);

typedef struct {
    pthread_t thread;
    tutti_group *group;
    rank_body body;
    void *arg;
    const char *words;
} rank_thread;

static void *run_rank(void *arg)
{
    rank_thread *t = arg;
    t->words = t->body(t->group, t->arg);
    tutti_group_leave(t->group);
    return NULL;
}

static inline void run_ranks(int nranks, double deadline_s, rank_body body, void *arg)
{
    tutti_group *groups[MOST_RANKS];
    rank_thread threads[MOST_RANKS];
    tutti_failure err = {0};
    assert_int_equal(tutti_group_create_threads(nranks, deadline_s, groups, &err), TUTTI_OK);
    for (int r = 0; r < nranks; r++) {
        threads[r] = (rank_thread){.group = groups[r], .body = body, .arg = arg};
        assert_int_equal(pthread_create(&threads[r].thread, NULL, run_rank, &threads[r]), 0);
    }
    for (int r = 0; r < nranks; r++) pthread_join(threads[r].thread, NULL);
    for (int r = 0; r < nranks; r++)
        if (threads[r].words) fail_msg("rank %d of %d: %s", r, nranks, threads[r].words);
}

/* For bodies: returns the words that say what was wrong. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) return #condition;                                                                           \
    } while (0)

#endif
