/* SPDX-License-Identifier: Apache-2.0 */
/* stop_at.c: stops one rank of a run (SIGSTOP to itself) at an exact place, for stop_phases.py: a library to be
 * preloaded, so that the program itself has no hook. It sees the places by the system calls that are made there.
 *
 *   STOP_AT=RANK:PLACE:N   the N-th time, once. PLACE is one of
 *     listen, meet         rank 0 has opened its port; another one is about to call it
 *     mesh                 it is about to connect to a rank of its host
 *     call=NAME            it is about to send its part of the control call NAME (rank 0: the answer)
 *     long=WORDS           it has said that a long phase begins
 *     sync                 it is about to sync a file of a checkpoint
 *     in=WORDS             it looks for news in the midst of that phase
 *     look, ring           from the control calls in STOP_AFTER on: it looks for news between kernels; it wakes another
 *                          rank in an exchange
 *   STOP_LOG=1             says on standard error which calls and phases there are */
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../src/collective/group/group_impl.h"

static atomic_bool after;               /* one of STOP_AFTER has been */
static char phase[TUTTI_WHAT_TEXT + 8]; /* in which the owner is: "in=tests"; "": none */
static atomic_int nhere;

/* dlsym gives an object's address where a function's is wanted. */
static void *next_of(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static void here(const char *place)
{
    const char *at = getenv("STOP_AT"), *rank = getenv("RANK");
    const char *colon = at ? strchr(at, ':') : NULL, *last = at ? strrchr(at, ':') : NULL;
    if (!colon || !rank || atoi(at) != atoi(rank)) return;
    const size_t n = (size_t)(last - colon - 1);
    if (strlen(place) < n || strncmp(place, colon + 1, n) != 0) return;
    if (atomic_fetch_add(&nhere, 1) + 1 == atoi(last + 1)) kill(getpid(), SIGSTOP);
}

static void say(const char *kind, const char *what)
{
    char line[160];
    const int n = snprintf(line, sizeof line, "stop_at: %s %s=%.100s\n", getenv("RANK"), kind, what);
    if (getenv("STOP_LOG")) (void)!write(STDERR_FILENO, line, (size_t)n);
}

static void see_call(const tutti_frame_head *h)
{
    char place[100];
    const char *wanted = getenv("STOP_AFTER");
    say("call", h->what);
    if (wanted && strstr(wanted, h->what)) atomic_store(&after, true);
    snprintf(place, sizeof place, "call=%s", h->what);
    here(place);
}

static void see_phase(const tutti_mesh_message *m)
{
    char place[TUTTI_WORDS + 8];
    if (m->kind == TUTTI_MESH_LONG_END) phase[0] = '\0';
    if (m->kind != TUTTI_MESH_LONG_BEGIN) return;
    snprintf(phase, sizeof phase, "in=%.60s", m->words);
    say("long", m->words);
    snprintf(place, sizeof place, "long=%s", m->words);
    here(place);
}

ssize_t send(int fd, const void *bytes, size_t nbytes, int flags)
{
    ssize_t (*real)(int, const void *, size_t, int);
    *(void **)&real = next_of("send");
    const tutti_frame_head *h = bytes;
    const bool is_frame = nbytes == sizeof *h && h->magic == TUTTI_FRAME_MAGIC;
    if (is_frame && h->kind >= TUTTI_FRAME_BARRIER && h->kind != TUTTI_FRAME_NOTICE) see_call(h);
    const ssize_t n = real(fd, bytes, nbytes, flags);
    static _Thread_local bool is_notice;
    if (is_notice && !is_frame) see_phase(bytes); /* the body of a notice follows its head */
    is_notice = is_frame && h->kind == TUTTI_FRAME_NOTICE;
    return n;
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    ssize_t (*real)(int, const struct msghdr *, int);
    *(void **)&real = next_of("sendmsg");
    const ssize_t n = real(fd, m, flags);
    const struct iovec *part = m->msg_iov;
    if (m->msg_iovlen == 1 && part->iov_len >= offsetof(tutti_mesh_message, words) &&
        part->iov_len <= sizeof(tutti_mesh_message))
        see_phase(part->iov_base);
    return n;
}

int listen(int fd, int backlog)
{
    int (*real)(int, int);
    *(void **)&real = next_of("listen");
    const int n = real(fd, backlog);
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    if (getsockname(fd, (struct sockaddr *)&own, &length) == 0 && own.ss_family != AF_UNIX) here("listen");
    return n;
}

int connect(int fd, __CONST_SOCKADDR_ARG where, socklen_t length)
{
    const struct sockaddr *to = where.__sockaddr__; /* as the header declares it */
    int (*real)(int, const struct sockaddr *, socklen_t);
    *(void **)&real = next_of("connect");
    const struct sockaddr_un *local = (const struct sockaddr_un *)to;
    if (to->sa_family == AF_INET || to->sa_family == AF_INET6) here("meet");
    if (to->sa_family == AF_UNIX && !local->sun_path[0]) here("mesh");
    return real(fd, to, length);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    int (*real)(struct pollfd *, nfds_t, int);
    *(void **)&real = next_of("poll");
    if (timeout == 0 && phase[0]) here(phase);
    if (timeout == 0 && atomic_load(&after)) here("look");
    return real(fds, n, timeout);
}

ssize_t write(int fd, const void *bytes, size_t nbytes)
{
    ssize_t (*real)(int, const void *, size_t);
    *(void **)&real = next_of("write");
    if (nbytes == 8 && atomic_load(&after)) here("ring");
    return real(fd, bytes, nbytes);
}

static void see_sync(int fd)
{
    char name[32], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(name, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    if (strstr(path, "/checkpoints/")) here("sync");
}

int fsync(int fd)
{
    int (*real)(int);
    *(void **)&real = next_of("fsync");
    see_sync(fd);
    return real(fd);
}

int fdatasync(int fd)
{
    int (*real)(int);
    *(void **)&real = next_of("fdatasync");
    see_sync(fd);
    return real(fd);
}
