/* SPDX-License-Identifier: Apache-2.0 */
/* join_mesh.c: connects the ranks of one host by SOCK_SEQPACKET sockets in the abstract namespace, which leave no file
 * behind.
 *
 * Every rank listens before it says hello to rank 0, so the table of names that rank 0 sends back holds only names that
 * can be connected. The higher rank connects; both send a hello with the cookie and their doorbell. No rank waits for
 * one peer while others are ready: a silent peer is left for later. If a rank ends meanwhile, its peers notice it
 * through the mesh, if they have connected, and rank 0 through the control socket.
 *
 * Each host has a whole mesh and not a star, because a closed socket shows a peer's death to each rank, even while the
 * others compute. At 128 ranks on two cores the mesh takes 0.3 s of the 4 s that the ranks need to begin. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "join_impl.h"
#include "open_files.h"

/* Marks in the epoll set that are no numbers of ranks: this rank's listener; a socket whose rank is not known yet. */
#define LISTENER UINT64_MAX
#define STRANGER ((uint64_t)1 << 32)

enum { NEWS = 64, AGAIN_MS = 10 };

typedef struct {
    tutti_group *g;
    const tutti_hello *hellos;
    int listener, next; /* next: the next rank to connect to */
    int nmissing;
    int *strangers, nstrangers; /* sockets that have sent nothing yet; room for nranks */
    double looked_at;
} meeting;

int tutti_mesh_listen(char name[32], int backlog)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    /* Binding the family alone lets the kernel choose a free abstract name: no two jobs can collide. */
    if (bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) || listen(fd, backlog < 8 ? 8 : backlog) ||
        getsockname(fd, (struct sockaddr *)&address, &length)) {
        int problem = errno;
        close(fd);
        errno = problem;
        return -1;
    }
    size_t n = (size_t)length - offsetof(struct sockaddr_un, sun_path) - 1;
    memset(name, 0, 32);
    memcpy(name, address.sun_path + 1, n < 31 ? n : 31);
    return fd;
}

static bool send_hello(tutti_group *g, int socket)
{
    const tutti_mesh_message m = {.kind = TUTTI_MESH_HELLO, .epoch = g->epoch, .rank = g->rank, .id = g->cookie};
    return tutti_mesh_send(socket, &m, g->peers[g->rank].bell);
}

static bool look_out_for(const tutti_group *g, int fd, uint64_t mark)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = mark};
    return epoll_ctl(g->news, EPOLL_CTL_ADD, fd, &e) == 0;
}

/* --- connecting to lower ranks --- */

/* Returns the socket, or -1 and errno; EAGAIN: the queue of the listener is full. */
static int connect_to(const char *name)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strnlen(name, 31);
    memcpy(address.sun_path + 1, name, n);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&address, length) == 0) return fd;
    int problem = errno;
    close(fd);
    errno = problem;
    return -1;
}

/* Connects to lower ranks as far as that is possible without waiting. */
static tutti_status connect_lower_ranks(meeting *m, tutti_failure *err)
{
    tutti_group *g = m->g;
    for (; m->next < g->rank; m->next++) {
        tutti_peer *p = &g->peers[m->next];
        if (!tutti_group_is_near(g, m->next)) continue;
        p->mesh = connect_to(m->hellos[m->next].mesh_name);
        if (p->mesh < 0 && errno == EAGAIN) return TUTTI_OK;
        if (p->mesh < 0 && tutti_open_files_is_limit(errno)) return tutti_open_files_fail(errno, "join", err);
        if (p->mesh < 0 || !send_hello(g, p->mesh) || !look_out_for(g, p->mesh, (uint64_t)m->next))
            return tutti_fail(err, TUTTI_ERR_PEER, "join: %s is gone: its local socket: %s", p->describe,
                              strerror(errno));
    }
    return TUTTI_OK;
}

/* --- ranks that connect to this one --- */

/* Returns true if the process at the other end of the socket has this user. A stranger (other user, other cookie) is
 * dropped silently. */
static bool same_user(int socket)
{
    struct ucred who;
    socklen_t length = sizeof who;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.uid == geteuid();
}

/* Reads the hello from a socket; returns the sender's rank, -1 = no hello yet, -2 = drop the socket. */
static int take_hello(meeting *m, int socket)
{
    tutti_group *g = m->g;
    tutti_mesh_message said;
    int bell, got = tutti_mesh_receive(socket, &said, &bell);
    if (got == 0) return -1;
    if (got < 0) return -2;
    bool good = said.kind == TUTTI_MESH_HELLO && said.id == g->cookie && said.epoch == g->epoch && said.rank >= 0 &&
                said.rank < g->nranks && said.rank != g->rank && tutti_group_is_near(g, said.rank) && bell >= 0 &&
                g->peers[said.rank].bell < 0;
    if (!good) {
        if (bell >= 0) close(bell);
        return -2;
    }
    g->peers[said.rank].bell = bell;
    return said.rank;
}

static void drop_stranger(meeting *m, int i)
{
    close(m->strangers[i]); /* closing also removes the descriptor from the epoll set */
    m->strangers[i] = m->strangers[--m->nstrangers];
}

static void accept_all(meeting *m, tutti_status *s, tutti_failure *err)
{
    int fd;
    while ((fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        /* there are more sockets than members, so some belong to strangers */
        if (m->nstrangers == m->g->nranks) drop_stranger(m, 0);
        if (same_user(fd) && look_out_for(m->g, fd, STRANGER | (uint64_t)fd))
            m->strangers[m->nstrangers++] = fd;
        else
            close(fd);
    }
    if (tutti_open_files_is_limit(errno)) *s = tutti_open_files_fail(errno, "join", err);
}

static void hear_stranger(meeting *m, int fd)
{
    tutti_group *g = m->g;
    int at = 0;
    while (at < m->nstrangers && m->strangers[at] != fd) at++;
    if (at == m->nstrangers) return;
    int rank = take_hello(m, fd);
    if (rank == -1) return;
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)rank};
    if (rank < 0 || g->peers[rank].mesh >= 0 || !send_hello(g, fd) || epoll_ctl(g->news, EPOLL_CTL_MOD, fd, &e)) {
        drop_stranger(m, at);
        return;
    }
    g->peers[rank].mesh = fd;
    m->strangers[at] = m->strangers[--m->nstrangers];
    m->nmissing--;
}

/* --- connecting all ranks of the host --- */

static bool is_missing(const tutti_group *g, int rank)
{
    return rank != g->rank && tutti_group_is_near(g, rank) && (g->peers[rank].mesh < 0 || g->peers[rank].bell < 0);
}

static tutti_status fail_missing(const tutti_group *g, tutti_failure *err)
{
    int first = 0;
    while (!is_missing(g, first)) first++;
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                      "join: %s%s: no answer on the local socket before the deadline of %g s", g->peers[first].describe,
                      tutti_peer_condition(g, first), g->deadline_s);
}

static tutti_status hear_peer(meeting *m, int rank, tutti_failure *err)
{
    tutti_group *g = m->g;
    if (!is_missing(g, rank)) { /* the rank is connected already: it sends a message, or leaves */
        tutti_group_drain(g, rank);
        return TUTTI_OK;
    }
    int from = take_hello(m, g->peers[rank].mesh);
    if (from == -2 || (from >= 0 && from != rank))
        return tutti_fail(err, TUTTI_ERR_PEER, "join: %s has closed its local socket", g->peers[rank].describe);
    m->nmissing -= from >= 0;
    return TUTTI_OK;
}

/* Reads the control sockets between rank 0 and the others: they bring news of ranks that have no mesh socket yet. */
static tutti_status look_around(meeting *m, tutti_failure *err)
{
    tutti_group *g = m->g;
    const double now = tutti_clock_s();
    if (now - m->looked_at > 0.1) {
        m->looked_at = now;
        for (int r = 0; r < g->nranks && !g->failed; r++)
            if (g->peers[r].control >= 0 && !tutti_star_drain(g, r) && g->peers[r].state == TUTTI_PEER_HERE)
                tutti_group_record_death(g, r);
    }
    if (g->failed) return tutti_group_report(g, err);
    for (int r = 0; r < g->nranks; r++)
        if (g->peers[r].state == TUTTI_PEER_LEFT)
            return tutti_fail(err, TUTTI_ERR_PEER, "join: %s has given up", g->peers[r].describe);
    return TUTTI_OK;
}

static tutti_status hear(meeting *m, const struct epoll_event *news, int n, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < n && !st; i++) {
        const uint64_t mark = news[i].data.u64;
        if (mark == LISTENER)
            accept_all(m, &st, err);
        else if (mark & STRANGER)
            hear_stranger(m, (int)(uint32_t)mark);
        else
            st = hear_peer(m, (int)mark, err);
    }
    return st;
}

static tutti_status meet(meeting *m, tutti_failure *err)
{
    tutti_patience patience;
    struct epoll_event news[NEWS];
    tutti_patience_begin(m->g, &patience);
    tutti_status st = TUTTI_OK;
    while (!st && m->nmissing > 0) {
        st = connect_lower_ranks(m, err);
        if (!st) st = look_around(m, err);
        if (!st && tutti_patience_left(m->g, &patience, "join") <= 0) st = fail_missing(m->g, err);
        if (st) break;
        const int n = epoll_wait(m->g->news, news, NEWS, m->next < m->g->rank ? AGAIN_MS : 10 * AGAIN_MS);
        st = hear(m, news, n, err);
    }
    return st;
}

tutti_status tutti_mesh_connect(tutti_group *g, int listener, const tutti_hello *hellos, tutti_failure *err)
{
    meeting m = {.g = g, .hellos = hellos, .listener = listener};
    m.strangers = tutti_alloc(sizeof *m.strangers * (size_t)g->nranks);
    for (int r = 0; r < g->nranks; r++) m.nmissing += is_missing(g, r);
    tutti_status st = TUTTI_OK;
    if (!look_out_for(g, listener, LISTENER)) st = tutti_open_files_fail(errno, "join", err);
    if (!st) st = meet(&m, err);
    while (m.nstrangers > 0) drop_stranger(&m, 0);
    close(listener);
    free(m.strangers);
    return st;
}
