/* SPDX-License-Identifier: Apache-2.0 */
/* wired_ranks.h: a group whose ranks are threads of the test and whose memory is apart: over the wire tcp, each with
 * its progress thread. So ThreadSanitizer sees both threads of every rank. */
#ifndef TUTTI_TEST_WIRED_RANKS_H
#define TUTTI_TEST_WIRED_RANKS_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "collective/launch/join.h"

enum { MOST_WIRED_RANKS = 8 };

typedef struct {
    tutti_group_config config;
    tutti_group *group;
    tutti_failure err;
    pthread_t thread;
} wired_rank;

static inline void *wired_join(void *arg)
{
    wired_rank *r = arg;
    r->err.status = tutti_group_join(&r->config, &r->group, &r->err);
    return NULL;
}

/* As tutti_group_create_threads. Not beside other threads: it sets the environment. */
static inline tutti_status wired_create(int nranks, double deadline_s, tutti_group **out, tutti_failure *err)
{
    wired_rank ranks[MOST_WIRED_RANKS];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) || listen(fd, 64) ||
        getsockname(fd, (struct sockaddr *)&address, &length))
        return tutti_fail(err, TUTTI_ERR_FAILED, "no port on the loopback device");
    setenv("TUTTI_WIRE", "tcp", 1);
    for (int r = 0; r < nranks; r++) {
        ranks[r] = (wired_rank){.config = {.rank = r,
                                           .nranks = nranks,
                                           .local_rank = r,
                                           .master_addr = "127.0.0.1",
                                           .master_port = ntohs(address.sin_port),
                                           .master_fd = r == 0 ? fd : -1,
                                           .cookie = 42,
                                           .deadline_s = deadline_s,
                                           .fingerprint = "threads",
                                           .launcher = "test"}};
        if (pthread_create(&ranks[r].thread, NULL, wired_join, &ranks[r])) abort();
    }
    tutti_status st = TUTTI_OK;
    for (int r = 0; r < nranks; r++) {
        pthread_join(ranks[r].thread, NULL);
        out[r] = ranks[r].group;
        if (!st && ranks[r].err.status) st = tutti_fail(err, ranks[r].err.status, "%s", ranks[r].err.text);
    }
    unsetenv("TUTTI_WIRE");
    return st;
}

#endif
