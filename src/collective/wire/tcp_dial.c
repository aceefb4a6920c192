/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_dial.c: makes the connections to a peer: tries its addresses one after the other, until a host that answers shows
 * the peer's token.
 *
 * Nothing blocks. Of two ranks only one dials; their numbers decide which, so that no rank dials more than others. A
 * peer that refuses is dialed again, because a crowd of strangers may have filled its queue. */
#include <errno.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/file.h"
#include "tcp_impl.h"

static const int64_t ANSWER_NS = 2000000000, PAUSE_NS = 50000000;

/* A connection that is silent for 2 s is probed; five probes without an answer end it. TCP_USER_TIMEOUT would also end
 * connections to a process that is stopped and continued later; tcp_wire.c looks for unacknowledged bytes instead. */
void tutti_tcp_set_options(const tcp_wire *w, int fd, bool is_here)
{
    const struct {
        int level, name, value;
    } options[] = {{IPPROTO_TCP, TCP_NODELAY, 1},
                   {SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, 2},
                   {IPPROTO_TCP, TCP_KEEPINTVL, 1},
                   {IPPROTO_TCP, TCP_KEEPCNT, 5}};
    /* A socket that refuses these options still works. */
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
    const char *congestion = w->settings.congestion ? w->settings.congestion : is_here ? "reno" : NULL;
    if (congestion) (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, (socklen_t)strlen(congestion));
}

static const tcp_way *way_of(const tcp_connection *c)
{
    const tcp_peer *p = &c->w->peers[c->rank];
    return &p->ways[(c->index % p->nrails + c->way - 1) % p->nways];
}

/* Notes why this way to the peer failed, and begins with the next way. */
static void give_up(tcp_connection *c, const char *why)
{
    char address[64];
    tutti_tcp_address_text(&way_of(c)->to, address);
    snprintf(c->why, sizeof c->why, "%s: %s", address, why);
    if (c->source.fd >= 0) close(c->source.fd);
    c->source.fd = -1;
    c->state = TUTTI_TCP_DOWN;
    tutti_tcp_dial(c, tutti_clock_ns());
}

/* Binds the socket to the interface that was asked for. Without the right to bind to a device, only the socket's
 * address decides which interface is used. */
static bool leave_from(const tcp_wire *w, int fd, const tcp_way *way)
{
    struct sockaddr_storage from;
    if (!w->settings.interfaces || way->own < 0) return true;
    const tcp_address *own = &w->card.addresses[way->own];
    (void)setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, own->name, (socklen_t)strlen(own->name));
    const socklen_t length = tutti_tcp_sockaddr(own, 0, &from);
    return bind(fd, (struct sockaddr *)&from, length) == 0;
}

static bool begin(tcp_connection *c, const tcp_way *way)
{
    tcp_wire *w = c->w;
    struct sockaddr_storage to;
    const socklen_t length = tutti_tcp_sockaddr(&way->to, w->peers[c->rank].card->port, &to);
    const int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    c->source.fd = fd;
    tutti_tcp_set_options(w, fd, w->peers[c->rank].is_here);
    return leave_from(w, fd, way) && (connect(fd, (struct sockaddr *)&to, length) == 0 || errno == EINPROGRESS) &&
           tutti_tcp_watch(w, &c->source, true, true);
}

void tutti_tcp_dial(tcp_connection *c, int64_t now_ns)
{
    const tcp_peer *p = &c->w->peers[c->rank];
    c->since_ns = now_ns;
    if (c->way == p->nways) { /* all ways have failed: begins again with the first way after a pause */
        c->way = 0;
        return;
    }
    c->way++;
    c->state = TUTTI_TCP_DIALING;
    if (!begin(c, way_of(c))) give_up(c, strerror(errno));
}

static void greet(tcp_connection *c)
{
    const tcp_wire *w = c->w;
    tcp_hello hello = {.magic = TUTTI_TCP_MAGIC,
                       .version = TUTTI_TCP_VERSION,
                       .rank = w->wire.rank,
                       .connection = (uint32_t)c->index,
                       .nconnections = (uint32_t)w->peers[c->rank].nconnections};
    int problem = 0;
    socklen_t length = sizeof problem;
    if (getsockopt(c->source.fd, SOL_SOCKET, SO_ERROR, &problem, &length)) problem = errno;
    memcpy(hello.token, w->peers[c->rank].card->token, sizeof hello.token);
    if (!problem && !tutti_file_send_all(c->source.fd, &hello, sizeof hello)) problem = errno;
    if (problem || !tutti_tcp_watch(c->w, &c->source, false, false)) {
        give_up(c, strerror(problem ? problem : errno));
        return;
    }
    c->state = TUTTI_TCP_GREETING;
    c->got = 0;
}

static void judge_welcome(tcp_connection *c)
{
    const tcp_hello *h = &c->welcome;
    char why[80];
    const bool ours = h->magic == TUTTI_TCP_MAGIC && h->version == TUTTI_TCP_VERSION && h->rank == c->rank &&
                      !memcmp(h->token, c->w->card.token, sizeof h->token);
    if (ours) {
        tutti_tcp_adopt(c, c->source.fd);
        return;
    }
    if (h->magic == TUTTI_TCP_MAGIC && h->version != TUTTI_TCP_VERSION)
        snprintf(why, sizeof why, "it speaks version %u of this wire, we %d", h->version, TUTTI_TCP_VERSION);
    else
        snprintf(why, sizeof why, "who answers there is not this rank");
    give_up(c, why);
}

static void hear_welcome(tcp_connection *c)
{
    char *to = (char *)&c->welcome;
    const ssize_t n = recv(c->source.fd, to + c->got, sizeof c->welcome - c->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        give_up(c, n < 0 ? strerror(errno) : "who listens there has hung up");
        return;
    }
    c->got += (size_t)n;
    if (c->got == sizeof c->welcome) judge_welcome(c);
}

void tutti_tcp_go_on_dialing(tcp_connection *c)
{
    if (c->state == TUTTI_TCP_DIALING)
        greet(c);
    else if (c->state == TUTTI_TCP_GREETING)
        hear_welcome(c);
}

static void look_at_peer(tcp_peer *p, int64_t now_ns)
{
    for (int k = 0; k < p->nconnections; k++) {
        tcp_connection *c = &p->connections[k];
        const int64_t age = now_ns - c->since_ns;
        if (c->state == TUTTI_TCP_DOWN && age > PAUSE_NS) tutti_tcp_dial(c, now_ns);
        if ((c->state == TUTTI_TCP_DIALING || c->state == TUTTI_TCP_GREETING) && age > ANSWER_NS)
            give_up(c, "no answer");
    }
}

void tutti_tcp_dial_again(tcp_wire *w, int64_t now_ns)
{
    for (int r = 0; r < w->wire.nranks; r++)
        if (w->peers[r].dials && !w->wire.broken[r][0]) look_at_peer(&w->peers[r], now_ns);
}
