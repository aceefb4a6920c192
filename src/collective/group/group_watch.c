/* SPDX-License-Identifier: Apache-2.0 */
/* group_watch.c: notices dead, lost and aborting ranks by their sockets, records the first failure, and sleeps until
 * something happens.
 *
 * The first failure that a rank notices ends the epoch for this rank for good, and the rank passes it on. A rank sends
 * a DEATH message before it closes its socket. So ranks that give up one after another because of one dead rank all
 * name the dead rank. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/host/file_pass.h"
#include "group_impl.h"

enum { NEWS = 64, LOOK_NS = 100000000 };
static const double LOOK_S = 0.25;

/* --- one message of the mesh --- */

bool tutti_mesh_send(int socket, const tutti_mesh_message *m, int fd)
{
    const size_t nbytes = offsetof(tutti_mesh_message, words) + strlen(m->words) + 1;
    for (;;) {
        if (tutti_file_pass_send(socket, m, nbytes, fd) >= 0) return true;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
        /* The peer has not read hundreds of messages: wait a moment for it, and leave the rest to the deadline. */
        struct pollfd room = {.fd = socket, .events = POLLOUT};
        if (poll(&room, 1, 1000) <= 0) return false;
    }
}

int tutti_mesh_receive(int socket, tutti_mesh_message *m, int *fd)
{
    ssize_t n;
    /* A peer that leaves with unread messages resets the connection. Linux reports that once, before it hands out the
     * peer's last message, its goodbye. */
    do n = tutti_file_pass_receive(socket, m, sizeof *m, fd);
    while (n < 0 && errno == ECONNRESET);
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    if (n < (ssize_t)offsetof(tutti_mesh_message, words)) {
        if (*fd >= 0) close(*fd);
        *fd = -1;
        return -1;
    }
    m->words[sizeof m->words - 1] = '\0';
    return 1;
}

/* --- failure of the epoch --- */

void tutti_group_set_failed(tutti_group *g, int culprit, tutti_status st, const char *words)
{
    if (g->failed) return;
    g->failed = st;
    atomic_store(&g->over, true);
    g->culprit = culprit;
    snprintf(g->words, sizeof g->words, "%s", words);
    tutti_mesh_message m = {.kind = culprit >= 0 ? TUTTI_MESH_DEATH : TUTTI_MESH_ABORT,
                            .epoch = g->epoch,
                            .rank = g->rank,
                            .status = st,
                            .id = (uint64_t)culprit};
    snprintf(m.words, sizeof m.words, "%s", words);
    tutti_group_tell(g, &m);
}

tutti_status tutti_group_report(const tutti_group *g, tutti_failure *err)
{
    return g->failed ? tutti_fail(err, g->failed, "%s", g->words) : TUTTI_OK;
}

void tutti_group_abort(tutti_group *g, const char *words)
{
    tutti_mesh_message m = {.kind = TUTTI_MESH_ABORT, .epoch = g->epoch, .rank = g->rank, .status = TUTTI_ERR_PEER};
    snprintf(m.words, sizeof m.words, "%s ended the run: %s", g->peers[g->rank].describe, words);
    pthread_mutex_lock(&g->abort_lock);
    snprintf(g->abort_words, sizeof g->abort_words, "%s", m.words);
    pthread_mutex_unlock(&g->abort_lock);
    atomic_store(&g->aborted, true);
    atomic_store(&g->over, true);
    tutti_group_tell(g, &m);
    /* wakes this rank's owner, which may sleep */
    if (g->nranks > 1) (void)!write(g->peers[g->rank].bell, &(uint64_t){1}, 8);
}

/* --- incoming messages --- */

void tutti_group_record_death(tutti_group *g, int rank)
{
    char words[TUTTI_WORDS];
    g->peers[rank].state = TUTTI_PEER_DEAD;
    snprintf(words, sizeof words, "%s died: its socket closed without a goodbye", g->peers[rank].describe);
    if (tutti_group_does_without(g, rank))
        tutti_group_record_gone(g, rank, words);
    else
        tutti_group_set_failed(g, rank, TUTTI_ERR_PEER, words);
}

/* Ranks of other hosts are connected to rank 0 alone, so rank 0 passes on to them that a rank is gone. */
void tutti_group_record_gone(tutti_group *g, int rank, const char *words)
{
    tutti_peer *p = &g->peers[rank];
    if (atomic_load(&p->gone)) return;
    tutti_group_take_phase(g, p, false, "");
    p->state = TUTTI_PEER_DEAD;
    p->last_words = tutti_alloc(strlen(words) + 1);
    memcpy(p->last_words, words, strlen(words) + 1);
    atomic_store(&p->gone, true);
    atomic_fetch_add(&g->ngone, 1);
    tutti_group_drop_on_wire(g, rank);
    if (g->rank != 0 || g->nhosts == 1) return;
    tutti_mesh_message m = {
        .kind = TUTTI_MESH_DEATH, .epoch = g->epoch, .rank = g->rank, .status = TUTTI_ERR_PEER, .id = (uint64_t)rank};
    snprintf(m.words, sizeof m.words, "%s", words);
    tutti_group_tell(g, &m);
}

/* Handles the message of a worker that takes rank 0 for dead although it lives: the wire to that worker must be
 * broken. */
static void handle_despair(tutti_group *g, const tutti_mesh_message *m)
{
    char words[TUTTI_WORDS];
    snprintf(words, sizeof words, "%s has lost rank 0: %.600s", g->peers[m->rank].describe, m->words);
    tutti_group_record_gone(g, m->rank, words);
}

/* Returns true for a status that ends all ranks while the group forms; every rank then ends with it. */
static bool is_of_all(int status)
{
    return status == TUTTI_ERR_RENDEZVOUS || status == TUTTI_ERR_USAGE;
}

static void handle_death(tutti_group *g, const tutti_mesh_message *m)
{
    if (g->rank == 0 && m->id == 0 && tutti_group_does_without(g, m->rank)) {
        handle_despair(g, m);
        return;
    }
    const bool known = m->id < (uint64_t)g->nranks;
    if (known && tutti_group_does_without(g, (int)m->id)) {
        tutti_group_record_gone(g, (int)m->id, m->words);
        return;
    }
    if (known && (int)m->id != g->rank) g->peers[m->id].state = TUTTI_PEER_DEAD;
    tutti_group_set_failed(g, (int)m->id, TUTTI_ERR_PEER, m->words);
}

void tutti_group_handle(tutti_group *g, int from, const tutti_mesh_message *m, int fd)
{
    bool keep = false;
    const bool known = m->epoch == g->epoch && m->rank >= 0 && m->rank < g->nranks && m->rank != g->rank &&
                       (m->rank == from || from == 0);
    tutti_peer *p = known ? &g->peers[m->rank] : NULL;
    switch (p ? (tutti_mesh_kind)m->kind : TUTTI_MESH_HELLO) { /* a message of an older epoch is refused */
    case TUTTI_MESH_REGION:
        keep = fd >= 0 && p->npending < TUTTI_PENDING_FDS;
        if (keep) p->pending[p->npending++] = (tutti_pending_fd){m->id, fd};
        break;
    case TUTTI_MESH_LONG_BEGIN: tutti_group_take_phase(g, p, true, m->words); break;
    case TUTTI_MESH_LONG_END: tutti_group_take_phase(g, p, false, ""); break;
    case TUTTI_MESH_DEATH: handle_death(g, m); break;
    case TUTTI_MESH_ABORT:
        tutti_group_set_failed(g, -1, is_of_all(m->status) ? (tutti_status)m->status : TUTTI_ERR_PEER, m->words);
        break;
    case TUTTI_MESH_GOODBYE:
        if (!atomic_load(&p->gone)) p->state = TUTTI_PEER_LEFT;
        tutti_group_take_phase(g, p, false, "");
        break;
    case TUTTI_MESH_DUMP: tutti_group_dump_asked(g, m->words); break;
    case TUTTI_MESH_WAITING: p->waiting_ns = tutti_clock_ns(); break;
    case TUTTI_MESH_PROGRESS: tutti_group_take_report(p, m->words); break;
    case TUTTI_MESH_PULSE: break; /* the message has no content: its arrival shows that the peer runs */
    case TUTTI_MESH_HELLO: break;
    }
    if (fd >= 0 && !keep) close(fd);
    if (!p) return;
    p->phase.pulse++;
    tutti_star_relay(g, m);
}

void tutti_group_drain(tutti_group *g, int rank)
{
    tutti_peer *p = &g->peers[rank];
    if (p->mesh >= 0) {
        tutti_mesh_message m;
        int fd, got;
        while ((got = tutti_mesh_receive(p->mesh, &m, &fd)) > 0) tutti_group_handle(g, rank, &m, fd);
        if (got == 0) return;
    } else if (tutti_star_drain(g, rank)) {
        return;
    }
    /* stops listening: the socket of an ended peer brings no more messages */
    (void)epoll_ctl(g->news, EPOLL_CTL_DEL, p->mesh >= 0 ? p->mesh : p->control, NULL);
    p->closed = true; /* the descriptor stays open until the group is left: tutti_group_abort may use it in another
                       * thread */
    tutti_group_take_phase(g, p, false, "");
    if (p->state == TUTTI_PEER_HERE) tutti_group_record_death(g, rank);
}

static void look_at_abort(tutti_group *g)
{
    if (!atomic_load(&g->aborted) || g->failed) return;
    pthread_mutex_lock(&g->abort_lock);
    g->culprit = -1;
    g->failed = TUTTI_ERR_PEER; /* tutti_group_abort has sent the abort to the peers already */
    snprintf(g->words, sizeof g->words, "%s", g->abort_words);
    pthread_mutex_unlock(&g->abort_lock);
}

void tutti_group_watch(tutti_group *g)
{
    tutti_group_sleep(g, NULL, 0, 0, NULL, NULL);
}

tutti_status tutti_group_failure(const tutti_group *g, int *culprit, tutti_failure *err)
{
    if (culprit) *culprit = g->failed ? g->culprit : -1;
    return tutti_group_report(g, err);
}

bool tutti_group_is_over(const tutti_group *g)
{
    return atomic_load(&g->over);
}

void tutti_group_fail(tutti_group *g, tutti_status st, const char *words)
{
    tutti_group_set_failed(g, -1, st, words);
}

double tutti_group_deadline(const tutti_group *group)
{
    return group->deadline_s;
}

double tutti_group_set_deadline(tutti_group *g, double seconds)
{
    const double before = g->deadline_s;
    g->deadline_s = seconds;
    return before;
}

void tutti_group_on_idle(tutti_group *g, void (*look)(void *arg), void *arg)
{
    g->look = look;
    g->look_arg = arg;
}

tutti_status tutti_group_poll(tutti_group *g, tutti_failure *err)
{
    tutti_group_watch(g);
    return tutti_group_report(g, err);
}

/* --- waiting --- */

void tutti_group_ring(tutti_group *g, int rank)
{
    tutti_peer *p = &g->peers[rank];
    const uint32_t asleep = atomic_load(&p->board->asleep);
    const bool hears = asleep == TUTTI_ASLEEP || asleep == TUTTI_ASLEEP_FOR + (uint32_t)g->rank;
    if (hears && atomic_exchange(&p->board->asleep, 0))
        (void)!write(p->bell, &(uint64_t){1}, 8); /* cannot fail: an eventfd takes 2^64 - 2 rings */
}

/* Begins to listen to a peer: to the mesh socket of a near peer, or to the star socket of a far peer, if this rank has
 * one. */
tutti_status tutti_group_look_out(tutti_group *g, int rank, tutti_failure *err)
{
    const tutti_peer *p = &g->peers[rank];
    const int fd = rank == g->rank ? -1 : tutti_group_is_near(g, rank) ? p->mesh : p->control;
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)rank};
    if (fd < 0 || epoll_ctl(g->news, EPOLL_CTL_ADD, fd, &e) == 0 || errno == EEXIST) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "cannot look out for %s: %s", p->describe, strerror(errno));
}

static void hear_news(tutti_group *g)
{
    struct epoll_event news[NEWS];
    const int n = epoll_wait(g->news, news, NEWS, 0);
    for (int i = 0; i < n; i++) tutti_group_drain(g, (int)news[i].data.u64);
}

static void empty_bell(const tutti_group *g)
{
    uint64_t rings;
    (void)!read(g->peers[g->rank].bell, &rings, sizeof rings); /* the read does not block */
}

/* Calls the callback before a sleep, but not every time: it reads every peer's memory, and 300 ranks on two cores sleep
 * thousands of times. A rank that waits in vain sleeps again within a second. */
static void look_around(tutti_group *g)
{
    if (!g->look || (g->looked_ns && g->last_watch_ns - g->looked_ns < LOOK_NS)) return;
    g->looked_ns = g->last_watch_ns;
    g->look(g->look_arg);
}

/* Used in groups that survive deaths. A rank whose wire connections are dead while its control socket lives will send
 * nothing more, and may itself wait for this rank: so this rank declares it lost, and sends it that news. In other
 * groups the waits for exchanges check this themselves. */
static void look_at_wire(tutti_group *g)
{
    if (!g->bears || !g->wire || g->failed) return;
    tutti_group_lock(g);
    const int lost = tutti_group_lost_on_wire(g, &g->broken_since);
    tutti_group_unlock(g);
    if (lost < 0 || !tutti_group_does_without(g, lost)) return;
    char words[TUTTI_WORDS];
    snprintf(words, sizeof words, "%s is lost: the wire to it: %.600s", g->peers[lost].describe, g->wire->broken[lost]);
    g->broken_since = 0;
    tutti_group_record_gone(g, lost, words);
}

void tutti_group_sleep(tutti_group *g, struct pollfd *extra, int nextra, double timeout_s, bool (*recheck)(void *),
                       void *arg)
{
    const bool owner = tutti_driver_is_owner(g); /* if the owner does not drive, another thread sleeps on the
                                                  * doorbell */
    tutti_board *own = owner ? g->peers[g->rank].board : NULL;
    struct pollfd polls[TUTTI_MOST_EXTRA + 3] = {{.fd = g->news, .events = POLLIN},
                                                 {.fd = owner ? g->peers[g->rank].bell : -1, .events = POLLIN},
                                                 {.fd = g->signal_fd, .events = POLLIN}};
    for (int i = 0; i < nextra; i++) polls[3 + i] = extra[i];
    g->last_watch_ns = tutti_clock_ns();
    tutti_group_show_pulse(g);
    if (timeout_s > 0 && !g->failed) look_around(g);
    if (timeout_s > LOOK_S && g->nlong) timeout_s = LOOK_S; /* wakes up to look at the progress of long phases */
    if (timeout_s > 0 && g->failed) timeout_s = 0; /* after a failure this call only handles messages that have come */
    bool stay = timeout_s > 0;
    if (stay && own) atomic_store(&own->asleep, g->only ? TUTTI_ASLEEP_FOR + (uint32_t)g->only - 1 : TUTTI_ASLEEP);
    if (stay && recheck && recheck(arg)) stay = false;
    if (atomic_load(&g->aborted)) stay = false;
    const int ready = poll(polls, (nfds_t)(3 + nextra), stay ? (int)(timeout_s * 1e3) + 1 : 0);
    if (timeout_s > 0 && own) atomic_store(&own->asleep, 0);
    look_at_abort(g);
    for (int i = 0; i < nextra; i++) extra[i].revents = ready > 0 ? polls[3 + i].revents : 0;
    if (ready > 0 && polls[1].revents) empty_bell(g);
    if (ready > 0 && polls[2].revents) tutti_group_take_signal(g);
    if (ready > 0 && polls[0].revents) hear_news(g);
    look_at_wire(g);
}
