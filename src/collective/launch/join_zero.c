/* SPDX-License-Identifier: Apache-2.0 */
/* join_zero.c: rank 0's side of the rendezvous: collects hellos, judges them, welcomes all or refuses all.
 *
 * A caller with another cookie is refused, and the rendezvous goes on. So is a rank of another epoch, which was left
 * behind when a run joined again. A member that disagrees ends the rendezvous for all, after a second in which the
 * others may still arrive and hear why. A member that leaves before all have come ends it at once. */
#include <errno.h>
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

static const double TELL_S = 2;

/* One connection that rank 0 has accepted. */
typedef struct {
    int fd; /* socket of the caller; -1: the caller has gone, and its place is free */
    tutti_frame frame;
    bool whole; /* true once the caller's whole hello has come, and the caller is a member */
} caller;

typedef struct {
    tutti_joining *j;
    int listeners[TUTTI_ADDRESS_MOST_LISTENERS], nlisteners;
    caller *callers;
    int ncallers, capacity, nmembers;
} reception;

static tutti_join_body *body_of(const caller *c)
{
    return (tutti_join_body *)(void *)c->frame.body;
}

static void drop_caller(const reception *m, caller *c, const char *why)
{
    if (why) tutti_join_send(m->j, c->fd, TUTTI_FRAME_REFUSED, why, strlen(why));
    close(c->fd);
    tutti_frame_release(&c->frame);
    c->fd = -1;
}

static tutti_status open_listeners(reception *m, tutti_failure *err)
{
    const tutti_group_config *config = m->j->config;
    m->listeners[0] = config->master_fd;
    m->nlisteners = config->master_fd >= 0;
    if (m->nlisteners) return TUTTI_OK;
    const int n = tutti_address_listen(&m->j->master, config->master_port, m->listeners);
    if (n < 0 && tutti_open_files_is_limit(errno)) return tutti_open_files_fail(errno, "join: rank 0", err);
    if (n < 0)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: rank 0 cannot listen on %s port %d: %s",
                          config->master_addr, config->master_port, strerror(errno));
    m->nlisteners = n;
    return TUTTI_OK;
}

/* Drops a caller whose whole hello has not come, to make room for a caller that may be a member; false: there is no
 * such caller. */
static bool drop_silent(reception *m)
{
    for (int i = 0; i < m->ncallers; i++)
        if (m->callers[i].fd >= 0 && !m->callers[i].whole) {
            drop_caller(m, &m->callers[i], NULL);
            return true;
        }
    return false;
}

static tutti_status accept_caller(reception *m, int listener, tutti_failure *err)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return tutti_open_files_is_limit(errno) && !drop_silent(m) ? tutti_open_files_fail(errno, "join: rank 0", err)
                                                                   : TUTTI_OK;
    int at = 0;
    while (at < m->ncallers && m->callers[at].fd >= 0) at++;
    m->callers = tutti_grow(m->callers, at, &m->capacity, sizeof *m->callers);
    if (at == m->ncallers) m->ncallers++;
    m->callers[at] = (caller){.fd = fd};
    return TUTTI_OK;
}

/* Returns true if the hello is for this group; otherwise sends the caller an answer. */
static bool is_ours(const reception *m, caller *c)
{
    const tutti_hello *h = &body_of(c)->hello;
    char words[TUTTI_HOST_TEXT + 200];
    if (c->frame.head.kind != TUTTI_FRAME_HELLO || c->frame.head.nbytes < sizeof(tutti_join_body) ||
        h->protocol != m->j->hello.protocol || h->cookie != m->j->hello.cookie) {
        drop_caller(m, c, "join: another job listens here (cookie or protocol differ): choose another MASTER_PORT");
        return false;
    }
    tutti_hello_terminate(&body_of(c)->hello);
    if (c->frame.head.epoch == m->j->epoch) return true;
    snprintf(
        words, sizeof words,
        "join: epoch %u of the group gathers here, and rank %d (host %s, pid %d) is of epoch %u: give all ranks the "
        "same epoch",
        m->j->epoch, h->rank, h->host, h->pid, c->frame.head.epoch);
    drop_caller(m, c, words);
    return false;
}

/* Judges a whole hello. Returns a refusal in err, but drops strangers at once. */
static tutti_status judge_caller(reception *m, caller *c, tutti_failure *err)
{
    tutti_hello *h = &body_of(c)->hello;
    if (!is_ours(m, c)) return TUTTI_OK;
    c->whole = true;
    tutti_status st = tutti_hello_compare(&m->j->hello, m->j->config->fingerprint, h, body_of(c)->fingerprint, err);
    if (st) return st;
    if (h->rank <= 0 || h->rank >= m->j->hello.nranks)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: host %s, pid %d calls itself rank %d of %d", h->host,
                          h->pid, h->rank, h->nranks);
    if (m->j->hellos[h->rank].nranks)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                          "join: two processes call themselves rank %d: pid %d and pid %d on %s", h->rank,
                          m->j->hellos[h->rank].pid, h->pid, h->host);
    m->j->hellos[h->rank] = *h;
    m->j->cores[h->rank] = body_of(c)->cores;
    m->nmembers++;
    return TUTTI_OK;
}

/* Lists the ranks that have not come, such as "rank 1, 5-9". */
static void list_absent(const reception *m, tutti_strbuf *out)
{
    const int n = m->j->hello.nranks;
    const char *comma = "rank ";
    for (int r = 1; r < n; r++) {
        int last = r;
        if (m->j->hellos[r].nranks) continue;
        while (last + 1 < n && !m->j->hellos[last + 1].nranks) last++;
        tutti_strbuf_printf(out, last > r ? "%s%d-%d" : "%s%d", comma, r, last);
        comma = ", ";
        r = last;
    }
}

static tutti_status fail_absent(const reception *m, tutti_failure *err)
{
    tutti_strbuf text = {0};
    const bool elsewhere = tutti_address_is_elsewhere(&m->j->master);
    list_absent(m, &text);
    tutti_status st =
        tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: rank 0 (host %s) waited %g s on port %d; not arrived: %s%s%s%s",
                   m->j->hello.host, m->j->config->deadline_s, m->j->config->master_port, text.text,
                   elsewhere ? "; they may look elsewhere: MASTER_ADDR '" : "",
                   elsewhere ? m->j->config->master_addr : "", elsewhere ? "' is not an address of this host" : "");
    tutti_strbuf_release(&text);
    return st;
}

static void tell_absent(reception *m)
{
    if (!tutti_join_is_time_to_tell(m->j)) return;
    tutti_strbuf text = {0};
    tutti_strbuf_printf(&text,
                        "rank 0 (host %s, pid %d) waits on port %d for %g s at most; not arrived: ", m->j->hello.host,
                        m->j->hello.pid, m->j->config->master_port, m->j->config->deadline_s);
    list_absent(m, &text);
    m->j->config->notice(m->j->config->notice_arg, text.text);
    tutti_strbuf_release(&text);
}

/* Fails because a member has gone. A member sends nothing between hello and welcome, so an event of its socket is its
 * end. */
static tutti_status fail_gone(const reception *m, caller *c, tutti_failure *err)
{
    const tutti_hello *h = &body_of(c)->hello;
    tutti_strbuf text = {0};
    list_absent(m, &text);
    tutti_status st =
        tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: rank %d (host %s, pid %d) is gone; it was to wait for %s", h->rank,
                   h->host, h->pid, text.text);
    tutti_strbuf_release(&text);
    drop_caller(m, c, NULL);
    return st;
}

static tutti_status read_caller(reception *m, caller *c, tutti_failure *err)
{
    if (c->whole) return fail_gone(m, c, err);
    int got = tutti_frame_read(c->fd, &c->frame, TUTTI_HELLO_MAX);
    if (got < 0) drop_caller(m, c, NULL);
    return got > 0 ? judge_caller(m, c, err) : TUTTI_OK;
}

/* Reads what callers send. Only the first refusal is returned. */
static tutti_status read_callers(reception *m, const struct pollfd *polls, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < m->ncallers; i++) {
        if (m->callers[i].fd < 0 || !polls[i + m->nlisteners].revents) continue;
        tutti_status this = read_caller(m, &m->callers[i], st ? NULL : err);
        if (!st) st = this;
    }
    return st;
}

static int poll_callers(const reception *m, struct pollfd **polls)
{
    const int n = m->nlisteners + m->ncallers;
    *polls = tutti_realloc(*polls, sizeof **polls * (size_t)n);
    for (int i = 0; i < n; i++)
        (*polls)[i] = (struct pollfd){.fd = i < m->nlisteners ? m->listeners[i] : m->callers[i - m->nlisteners].fd,
                                      .events = POLLIN};
    return poll(*polls, (nfds_t)n, tutti_join_slice_ms(m->j));
}

static tutti_status collect_callers(reception *m, tutti_failure *err)
{
    tutti_status refused = TUTTI_OK;
    struct pollfd *polls = NULL;
    tutti_join_begin_wait(m->j, TELL_S);
    while (m->nmembers < m->j->hello.nranks - 1 && !tutti_join_is_late(m->j)) {
        tell_absent(m);
        if (poll_callers(m, &polls) <= 0) continue;
        tutti_status st = read_callers(m, polls, refused ? NULL : err);
        for (int i = 0; i < m->nlisteners && !st; i++)
            if (polls[i].revents) st = accept_caller(m, m->listeners[i], refused ? NULL : err);
        if (!st || refused) continue;
        refused = st;
        if (m->j->until > tutti_clock_s() + 1) m->j->until = tutti_clock_s() + 1;
    }
    free(polls);
    if (refused) return refused;
    return m->nmembers < m->j->hello.nranks - 1 ? fail_absent(m, err) : TUTTI_OK;
}

tutti_status tutti_join_as_zero(tutti_group *g, tutti_joining *j, tutti_failure *err)
{
    tutti_failure own = {0};
    reception m = {.j = j};
    j->hellos[0] = j->hello;
    tutti_status st = open_listeners(&m, &own);
    if (!st) st = collect_callers(&m, &own);
    tutti_hello_fill_cores(&j->cores[0]);
    if (!st) tutti_hello_unite_cores(j->hellos, j->cores, j->hello.nranks);
    for (int i = 0; i < m.ncallers; i++) {
        caller *c = &m.callers[i];
        if (c->fd < 0) continue;
        if (st || !c->whole) {
            drop_caller(&m, c, st ? own.text : NULL);
            continue;
        }
        tutti_join_send(j, c->fd, TUTTI_FRAME_WELCOME, j->hellos, sizeof *j->hellos * (size_t)j->hello.nranks);
        g->peers[body_of(c)->hello.rank].control = c->fd;
        tutti_frame_release(&c->frame);
    }
    for (int i = 0; i < m.nlisteners; i++) close(m.listeners[i]);
    free(m.callers);
    return st ? tutti_fail(err, st, "%s", own.text) : TUTTI_OK;
}
