/* SPDX-License-Identifier: Apache-2.0 */
/* join_other.c: finds rank 0 and says hello, as a rank other than 0. Rank 0 may start later: this rank tries until the
 * deadline. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/text/strbuf.h"
#include "join_impl.h"
#include "open_files.h"

static const double TELL_S = 5, CONNECT_S = 2, ASK_AGAIN_S = 1;

/* Connects to one address; gives up after timeout_ms, because another address may answer. Returns the socket, or -1 and
 * errno. */
static int connect_to(const struct addrinfo *a, int timeout_ms)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol), problem = 0;
    if (fd < 0) return -1;
    if (connect(fd, a->ai_addr, a->ai_addrlen)) problem = errno;
    if (problem == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        socklen_t length = sizeof problem;
        if (poll(&wait, 1, timeout_ms) <= 0)
            problem = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &length))
            problem = errno;
    }
    if (!problem) return fd;
    close(fd);
    errno = problem;
    return -1;
}

static int connect_once(const struct addrinfo *list, int timeout_ms)
{
    int fd = -1;
    for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        fd = connect_to(a, timeout_ms);
        if (fd < 0 && tutti_open_files_is_limit(errno)) break;
    }
    return fd;
}

static void tell_unreached(tutti_joining *j, const char *why)
{
    char words[400];
    if (!tutti_join_is_time_to_tell(j)) return;
    snprintf(words, sizeof words, "rank %d cannot reach rank 0 at %.200s port %d yet (%.80s); it tries for %g s",
             j->config->rank, j->config->master_addr, j->config->master_port, why, j->config->deadline_s);
    j->config->notice(j->config->notice_arg, words);
}

/* Current addresses of a name, which may appear or change while this rank tries (a cluster's names appear with their
 * hosts). */
typedef struct {
    struct addrinfo *list; /* addresses of the name; NULL: the name is unknown */
    double asked_at;       /* when the name was last looked up; 0: never */
    int problem;           /* error of getaddrinfo */
} addresses;

static void look_up(const tutti_joining *j, addresses *a)
{
    if (a->asked_at > 0 && (j->master.is_number || tutti_clock_s() < a->asked_at + ASK_AGAIN_S)) return;
    if (a->list) freeaddrinfo(a->list);
    a->problem = tutti_address_resolve(&j->master, j->config->master_port, &a->list);
    if (a->problem) a->list = NULL;
    a->asked_at = tutti_clock_s();
}

/* Tries until rank 0 is reached, or the deadline. *problem: errno, 0: the name is unknown. */
static int try_zero(tutti_joining *j, addresses *a, int *problem)
{
    while (true) {
        look_up(j, a);
        const int fd = a->list ? connect_once(a->list, (int)(1e3 * CONNECT_S)) : -1;
        *problem = a->list ? errno : 0;
        if (fd >= 0 || tutti_clock_s() >= j->until || tutti_join_is_given_up(j) || tutti_open_files_is_limit(*problem))
            return fd;
        tell_unreached(j, *problem ? strerror(*problem) : gai_strerror(a->problem));
        tutti_clock_sleep_s(0.01);
    }
}

static tutti_status call_zero(tutti_joining *j, int *out, tutti_failure *err)
{
    char who[32];
    int problem;
    addresses a = {0};
    *out = try_zero(j, &a, &problem);
    if (a.list) freeaddrinfo(a.list);
    if (*out >= 0) return TUTTI_OK;
    snprintf(who, sizeof who, "join: rank %d", j->config->rank);
    if (tutti_open_files_is_limit(problem)) return tutti_open_files_fail(problem, who, err);
    if (!problem)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "%s: MASTER_ADDR '%.200s' could not be resolved within %g s: %s",
                          who, j->config->master_addr, j->config->deadline_s, gai_strerror(a.problem));
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "%s cannot reach rank 0 at %.200s port %d within %g s: %s", who,
                      j->config->master_addr, j->config->master_port, j->config->deadline_s, strerror(problem));
}

/* Waits for rank 0's answer; returns 0 if none came before the deadline. This rank waits two seconds beyond the
 * deadline, because rank 0 knows which rank is missing and can say so. */
static int await_answer(tutti_joining *j, int fd, tutti_frame *f)
{
    int got;
    j->until += 2;
    j->looked_at = tutti_clock_s();
    while ((got = tutti_frame_read(fd, f, TUTTI_HELLO_MAX)) == 0) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (tutti_join_is_late(j) || (poll(&wait, 1, tutti_join_slice_ms(j)) < 0 && errno != EINTR)) break;
    }
    return got;
}

static tutti_status hear_zero(tutti_joining *j, int fd, tutti_failure *err)
{
    tutti_frame f = {0};
    const int got = await_answer(j, fd, &f);
    tutti_status st;
    size_t table = sizeof *j->hellos * (size_t)j->hello.nranks;
    if (got > 0 && f.head.kind == TUTTI_FRAME_WELCOME && f.head.nbytes == table) {
        memcpy(j->hellos, f.body, table);
        st = TUTTI_OK;
    } else if (got > 0 && f.head.kind == TUTTI_FRAME_REFUSED) {
        st = tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "%s", f.body);
    } else {
        st = tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: rank %d: rank 0 at %s port %d %s", j->config->rank,
                        j->config->master_addr, j->config->master_port,
                        got < 0 ? "hung up, or something else listens there" : "did not answer before the deadline");
    }
    tutti_frame_release(&f);
    return st;
}

tutti_status tutti_join_as_other(tutti_group *g, tutti_joining *j, tutti_failure *err)
{
    int fd = -1;
    tutti_join_begin_wait(j, TELL_S);
    tutti_status st = call_zero(j, &fd, err);
    if (st) return st;
    const size_t length = strlen(j->config->fingerprint), nbytes = sizeof(tutti_join_body) + length;
    tutti_join_body *body = tutti_alloc(nbytes + 1);
    body->hello = j->hello;
    tutti_hello_fill_cores(&body->cores);
    memcpy(body->fingerprint, j->config->fingerprint, length);
    tutti_join_send(j, fd, TUTTI_FRAME_HELLO, body, nbytes);
    free(body);
    st = hear_zero(j, fd, err);
    if (st) {
        close(fd);
        return st;
    }
    g->peers[0].control = fd;
    return TUTTI_OK;
}
