/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_listen.c: listens for the connections of peers, and drops strangers.
 *
 * A caller has a fixed place and 40 bytes in which to show the token of this process; further bytes are not read. When
 * all places are taken the oldest caller is dropped, so that a silent crowd cannot keep a peer out: a peer speaks as
 * soon as it is connected. The port is closed when all peers have come. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/file.h"
#include "tcp_impl.h"

enum { BACKLOG = 4096, MOST_ACCEPTED = 256 };
static const int64_t PATIENCE_NS = 5000000000;

/* --- the port --- */

/* Opens the port for both families, if the system has both. */
static int open_port(int family, int port)
{
    const tcp_address any = {.family = family == AF_INET6 ? 6 : 4};
    struct sockaddr_storage address;
    const socklen_t length = tutti_tcp_sockaddr(&any, (uint32_t)port, &address);
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (family == AF_INET6) (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
    if (port) (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, BACKLOG) == 0) return fd;
    const int problem = errno;
    close(fd);
    errno = problem;
    return -1;
}

static int open_some_port(int first, int last)
{
    int fd = -1;
    for (int port = first; port <= last && fd < 0; port++) {
        fd = open_port(AF_INET6, port);
        if (fd < 0 && errno != EADDRINUSE) fd = open_port(AF_INET, port);
    }
    return fd;
}

tutti_status tutti_tcp_listen(tcp_wire *w, tutti_failure *err)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    int first = 0, last = 0;
    if (w->settings.ports) tutti_tcp_read_ports(w->settings.ports, &first, &last);
    w->listener = (tcp_source){TUTTI_TCP_LISTENER, open_some_port(first, last)};
    if (w->listener.fd < 0 || getsockname(w->listener.fd, (struct sockaddr *)&name, &length) ||
        !tutti_tcp_watch(w, &w->listener, false, true))
        return tutti_fail(err, TUTTI_ERR_FAILED, "wire tcp: cannot listen%s%s: %s",
                          w->settings.ports ? " on ports " : "", w->settings.ports ? w->settings.ports : "",
                          strerror(errno));
    w->card.port = ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&name)->sin6_port
                                                    : ((struct sockaddr_in *)(void *)&name)->sin_port);
    return TUTTI_OK;
}

static void drop(tcp_caller *caller)
{
    if (caller->source.fd >= 0) close(caller->source.fd);
    caller->source.fd = -1;
}

void tutti_tcp_stop_listening(tcp_wire *w)
{
    for (int i = 0; i < TUTTI_TCP_MOST_CALLERS; i++) drop(&w->callers[i]);
    if (w->listener.fd >= 0) close(w->listener.fd);
    w->listener.fd = -1;
}

void tutti_tcp_drop_silent_callers(tcp_wire *w, int64_t now_ns)
{
    for (int i = 0; i < TUTTI_TCP_MOST_CALLERS; i++)
        if (w->callers[i].source.fd >= 0 && now_ns - w->callers[i].since_ns > PATIENCE_NS) drop(&w->callers[i]);
}

/* Drops the oldest caller and returns its place. NULL: there is no caller. */
static tcp_caller *drop_oldest(tcp_wire *w)
{
    tcp_caller *oldest = NULL;
    for (int i = 0; i < TUTTI_TCP_MOST_CALLERS; i++)
        if (w->callers[i].source.fd >= 0 && (!oldest || w->callers[i].since_ns < oldest->since_ns))
            oldest = &w->callers[i];
    if (oldest) drop(oldest);
    return oldest;
}

static tcp_caller *find_place(tcp_wire *w)
{
    for (int i = 0; i < TUTTI_TCP_MOST_CALLERS; i++)
        if (w->callers[i].source.fd < 0) return &w->callers[i];
    return drop_oldest(w);
}

void tutti_tcp_accept(tcp_wire *w)
{
    for (int i = 0; i < MOST_ACCEPTED && w->listener.fd >= 0; i++) {
        const int fd = accept4(w->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            const int problem = errno;
            if (problem != EMFILE && problem != ENFILE) return;
            if (drop_oldest(w)) continue; /* no descriptor is left: drops a stranger and tries again */
            snprintf(w->trouble, sizeof w->trouble, "%s here (ulimit -n)", strerror(problem));
            return;
        }
        tcp_caller *caller = find_place(w);
        *caller = (tcp_caller){.source = {TUTTI_TCP_CALLER, fd}, .since_ns = tutti_clock_ns()};
        if (!tutti_tcp_watch(w, &caller->source, false, true))
            drop(caller);
        else
            tutti_tcp_hear(w, caller);
    }
}

/* --- callers --- */

/* Returns true if the hello has this process's token. Compares all bytes even if the first differ, so that the time
 * reveals nothing. */
static bool has_token(const tcp_wire *w, const tcp_hello *h)
{
    unsigned differ = 0;
    for (int i = 0; i < TUTTI_TCP_TOKEN; i++) differ |= (unsigned)(h->token[i] ^ w->card.token[i]);
    return differ == 0;
}

/* Returns the connection that this hello is for; NULL: there is none. */
static tcp_connection *find_connection(tcp_wire *w, const tcp_hello *h)
{
    if (h->magic != TUTTI_TCP_MAGIC || h->version != TUTTI_TCP_VERSION || !has_token(w, h)) return NULL;
    if (h->rank < 0 || h->rank >= w->wire.nranks || h->nconnections < 1 ||
        h->nconnections > TUTTI_TCP_MOST_CONNECTIONS || h->connection >= h->nconnections)
        return NULL;
    tcp_peer *p = &w->peers[h->rank];
    if (!p->card || p->dials || w->wire.broken[h->rank][0]) return NULL;
    if (p->nconnections == 0) tutti_tcp_expect(w, h->rank, (int)h->nconnections);
    if ((uint32_t)p->nconnections != h->nconnections || p->connections[h->connection].state != TUTTI_TCP_DOWN)
        return NULL;
    return &p->connections[h->connection];
}

static bool answer(const tcp_wire *w, int fd, const tcp_hello *h, const tcp_peer *p)
{
    tcp_hello welcome = {.magic = TUTTI_TCP_MAGIC,
                         .version = TUTTI_TCP_VERSION,
                         .rank = w->wire.rank,
                         .connection = h->connection,
                         .nconnections = h->nconnections};
    if (p) memcpy(welcome.token, p->card->token, sizeof welcome.token);
    return tutti_file_send_all(fd, &welcome, sizeof welcome);
}

static void judge(tcp_wire *w, tcp_caller *caller)
{
    const tcp_hello *h = &caller->hello;
    tcp_connection *c = find_connection(w, h);
    if (!c) { /* a caller with another version gets an answer, other strangers none */
        if (h->magic == TUTTI_TCP_MAGIC && h->version != TUTTI_TCP_VERSION) (void)answer(w, caller->source.fd, h, NULL);
        drop(caller);
        return;
    }
    if (!answer(w, caller->source.fd, h, &w->peers[c->rank])) {
        drop(caller);
        return;
    }
    const int fd = caller->source.fd;
    caller->source.fd = -1;
    tutti_tcp_set_options(w, fd, w->peers[c->rank].is_here);
    tutti_tcp_adopt(c, fd);
}

void tutti_tcp_hear(tcp_wire *w, tcp_caller *caller)
{
    char *to = (char *)&caller->hello;
    const ssize_t n = recv(caller->source.fd, to + caller->got, sizeof caller->hello - caller->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        drop(caller);
        return;
    }
    caller->got += (size_t)n;
    const tcp_hello *h = &caller->hello;
    if (caller->got >= sizeof h->magic && h->magic != TUTTI_TCP_MAGIC)
        drop(caller);
    else if (caller->got == sizeof *h)
        judge(w, caller);
}
