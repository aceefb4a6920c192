/* SPDX-License-Identifier: Apache-2.0 */
/* comm_ranks.h: runs a function as every rank of a communicator of threads; bodies return NULL or what was wrong. */
#ifndef TUTTI_TESTS_COMM_RANKS_H
#define TUTTI_TESTS_COMM_RANKS_H

#include <pthread.h>
#include <stdio.h>

#include "tutti/comm.h"

enum { MOST_COMM_RANKS = 9 };

typedef const char *(*comm_body)(tutti_comm *comm, void *arg);

typedef struct {
    pthread_t thread;
    tutti_comm *comm;
    comm_body body;
    void *arg;
    const char *words;
} comm_thread;

static void *run_comm(void *arg)
{
    comm_thread *t = arg;
    t->words = t->body(t->comm, t->arg);
    tutti_comm_destroy(t->comm);
    return NULL;
}

static inline void run_comms(int nranks, double deadline_s, comm_body body, void *arg)
{
    tutti_comm *comms[MOST_COMM_RANKS];
    comm_thread threads[MOST_COMM_RANKS];
    tutti_failure err = {0};
    assert_int_equal(tutti_comm_create_threads(nranks, deadline_s, comms, &err), TUTTI_OK);
    for (int r = 0; r < nranks; r++) {
        threads[r] = (comm_thread){.comm = comms[r], .body = body, .arg = arg};
        assert_int_equal(pthread_create(&threads[r].thread, NULL, run_comm, &threads[r]), 0);
    }
    for (int r = 0; r < nranks; r++) pthread_join(threads[r].thread, NULL);
    for (int r = 0; r < nranks; r++)
        if (threads[r].words) fail_msg("rank %d of %d: %s", r, nranks, threads[r].words);
}

/* For bodies: returns the words that say what was wrong, and prints what the library said. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s\n", err.text);                                                                         \
            return #condition;                                                                                         \
        }                                                                                                              \
    } while (0)

#endif
