/* SPDX-License-Identifier: Apache-2.0 */
/* by_hand.h: the ranks of a run as processes of the test's, each started with the environment that a launcher would
 * give it, so that one can be killed or stopped by its number. After spawned_run.h. */
#ifndef TUTTI_BY_HAND_H
#define TUTTI_BY_HAND_H

#include <arpa/inet.h>
#include <sys/socket.h>

#include "training/run/spawned_run.h"

typedef struct {
    const char *job;    /* text */
    int nranks;         /* SPAWNED_MAX_RANKS at most */
    const char *wire;   /* TUTTI_WIRE; NULL = none is said */
    const char *hosts;  /* a letter a rank: whose are the same are of one host; NULL = all are */
    const char *set[3]; /* KEY=VALUE, up to the first NULL */
} by_hand;

static inline int by_hand_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0 && getsockname(fd, (struct sockaddr *)&a, &n) == 0);
    close(fd);
    return ntohs(a.sin_port);
}

static inline void by_hand_number(const char *name, int number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    setenv(name, text, 1);
}

/* OUT of the run is DIR/out. */
static inline spawned_run by_hand_start_rank(const run_folder *f, const by_hand *h, int rank, int port)
{
    char path[160], out[160];
    spawned_run r;
    snprintf(r.log, sizeof r.log, "%s/rank%d.log", f->dir, rank);
    snprintf(out, sizeof out, "%s/out", f->dir);
    run_file(f, "job.yaml", h->job, path);
    const char *args[16] = {"tutti", "train", path, "--out", out, "--fresh", "--quiet"};
    for (int i = 0, n = 7; i < 3 && h->set[i]; i++) args[n++] = "--set", args[n++] = h->set[i];
    r.pid = fork();
    assert_true(r.pid >= 0);
    if (r.pid) return r;
    const int fd = open(r.log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(fd, 1);
    dup2(fd, 2);
    by_hand_number("RANK", rank);
    by_hand_number("LOCAL_RANK", rank);
    by_hand_number("WORLD_SIZE", h->nranks);
    by_hand_number("MASTER_PORT", port);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    if (h->wire) setenv("TUTTI_WIRE", h->wire, 1);
    if (h->hosts) setenv("TUTTI_HOST_ID", (char[]){h->hosts[rank], '\0'}, 1);
    execv(TUTTI_PROGRAM, (char *const *)(uintptr_t)args);
    _exit(127);
}

static inline void by_hand_start(const run_folder *f, const by_hand *h, spawned_run ranks[SPAWNED_MAX_RANKS])
{
    const int port = by_hand_port();
    for (int r = 0; r < h->nranks; r++) ranks[r] = by_hand_start_rank(f, h, r, port);
}

static inline void by_hand_expect(const char *log, const char *words)
{
    if (!strstr(log, words)) fail_msg("the log does not say '%s': %s", words, log);
}

#endif
