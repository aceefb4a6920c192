/* SPDX-License-Identifier: Apache-2.0 */
/* group_mesh.c: connects the ranks of one host by SOCK_SEQPACKET sockets in the abstract namespace: no file to leave behind.
 *
 * Every rank listens before it says hello to rank 0, so the table of names that rank 0 sends back holds only names that can
 * be connected. The higher rank connects; both send a hello with the cookie and their doorbell. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "group_impl.h"

int tutti_mesh_listen(char name[32], int backlog)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    /* Binding the family alone lets the kernel choose a free abstract name: no two jobs can collide. */
    if (bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) || listen(fd, backlog < 8 ? 8 : backlog) ||
        getsockname(fd, (struct sockaddr *)&address, &length)) {
        close(fd);
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

static int connect_to(const char *name)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strnlen(name, 31);
    memcpy(address.sun_path + 1, name, n);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&address, length) == 0) return fd;
    close(fd);
    return -1;
}

/* A stranger (other user, other cookie) is dropped without a word. */
static bool same_user(int socket)
{
    struct ucred who;
    socklen_t length = sizeof who;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.uid == geteuid();
}

/* Takes the hello of a socket; returns the rank it is from, -1 = not yet, -2 = drop the socket. */
static int take_hello(tutti_group *g, int socket)
{
    tutti_mesh_message m;
    int bell, got = tutti_mesh_receive(socket, &m, &bell);
    if (got == 0) return -1;
    if (got < 0) return -2;
    bool good = m.kind == TUTTI_MESH_HELLO && m.id == g->cookie && m.epoch == g->epoch && m.rank >= 0 &&
                m.rank < g->nranks && m.rank != g->rank && tutti_group_is_near(g, m.rank) && bell >= 0 &&
                g->peers[m.rank].bell < 0;
    if (!good) {
        if (bell >= 0) close(bell);
        return -2;
    }
    g->peers[m.rank].bell = bell;
    return m.rank;
}

static void accept_one(tutti_group *g, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (!same_user(fd)) {
        close(fd);
        return;
    }
    /* The hello follows the connect at once; a peer that stops in between costs us a tenth of a second. */
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int rank = poll(&wait, 1, 100) > 0 ? take_hello(g, fd) : -2;
    if (rank < 0 || g->peers[rank].mesh >= 0 || !send_hello(g, fd)) {
        close(fd);
        return;
    }
    g->peers[rank].mesh = fd;
}

static bool is_missing(const tutti_group *g, int rank)
{
    return rank != g->rank && tutti_group_is_near(g, rank) && (g->peers[rank].mesh < 0 || g->peers[rank].bell < 0);
}

static int count_missing(const tutti_group *g)
{
    int missing = 0;
    for (int r = 0; r < g->nranks; r++) missing += is_missing(g, r);
    return missing;
}

static tutti_status fail_missing(const tutti_group *g, const char *why, tutti_failure *err)
{
    for (int r = 0; r < g->nranks; r++)
        if (is_missing(g, r))
            return tutti_fail(err, TUTTI_ERR_PEER, "join: %s: %s on the local socket", g->peers[r].describe, why);
    return tutti_fail(err, TUTTI_ERR_PEER, "join: %s", why);
}

static tutti_status connect_lower_ranks(tutti_group *g, const tutti_hello *hellos, tutti_failure *err)
{
    for (int r = 0; r < g->rank; r++) {
        tutti_peer *p = &g->peers[r];
        if (!tutti_group_is_near(g, r)) continue;
        p->mesh = connect_to(hellos[r].mesh_name);
        if (p->mesh < 0 || !send_hello(g, p->mesh))
            return tutti_fail(err, TUTTI_ERR_PEER, "join: cannot reach %s on its local socket: %s", p->describe,
                              strerror(errno));
    }
    return TUTTI_OK;
}

tutti_status tutti_mesh_connect(tutti_group *g, int listener, const tutti_hello *hellos, tutti_failure *err)
{
    tutti_patience patience;
    tutti_patience_begin(&patience);
    tutti_status s = connect_lower_ranks(g, hellos, err);
    while (!s && count_missing(g) > 0) {
        double left = tutti_patience_left(g, &patience, "join");
        if (left <= 0) {
            s = fail_missing(g, "no answer before the deadline", err);
            break;
        }
        int n = 0;
        g->polls[n++] = (struct pollfd){.fd = listener, .events = POLLIN};
        for (int r = 0; r < g->rank; r++)
            if (is_missing(g, r)) g->polls[n++] = (struct pollfd){.fd = g->peers[r].mesh, .events = POLLIN};
        if (poll(g->polls, (nfds_t)n, left < 1 ? (int)(left * 1e3) + 1 : 1000) <= 0) continue;
        if (g->polls[0].revents) accept_one(g, listener);
        for (int r = 0; r < g->rank && !s; r++)
            if (is_missing(g, r) && take_hello(g, g->peers[r].mesh) == -2)
                s = tutti_fail(err, TUTTI_ERR_PEER, "join: %s closed its local socket", g->peers[r].describe);
    }
    close(listener);
    return s;
}
