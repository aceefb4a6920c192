/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_wire.c: the wire tcp: opens and closes plain sockets between hosts, waits for them, and is a row of the table of
 * wires. */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "tcp_impl.h"

enum { MOST_EVENTS = 64, MOST_RETRANSMITS = 5, MOST_SILENCE_MS = 5000 };
static const int64_t WATCH_NS = 1000000000;

bool tutti_tcp_watch(tcp_wire *w, tcp_source *s, bool room, bool is_new)
{
    struct epoll_event e = {.events = EPOLLIN | (room ? EPOLLOUT : 0), .data.ptr = s};
    return epoll_ctl(w->poll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, s->fd, &e) == 0;
}

/* --- the end of connections --- */

void tutti_tcp_end(tcp_connection *c, bool over)
{
    if (c->corked) c->w->ncorked--;
    c->corked = false;
    if (c->source.fd >= 0) close(c->source.fd); /* closing also removes the descriptor from the epoll set */
    c->source.fd = -1;
    c->state = TUTTI_TCP_OVER;
    tutti_tcp_drop_parcels(c, over);
}

void tutti_tcp_break(tcp_connection *c, int problem, const char *format, ...)
{
    tcp_wire *w = c->w;
    tcp_peer *p = &w->peers[c->rank];
    char *why = w->wire.broken[c->rank];
    if (!p->left && !why[0]) {
        va_list args;
        va_start(args, format);
        int n = vsnprintf(why, sizeof *w->wire.broken, format, args);
        va_end(args);
        if (problem && n > 0 && (size_t)n < sizeof *w->wire.broken)
            snprintf(why + n, sizeof *w->wire.broken - (size_t)n, ": %s", strerror(problem));
    }
    for (int k = 0; k < p->nconnections; k++) tutti_tcp_end(&p->connections[k], p->left);
}

static void drop_peer(tutti_wire *base, int rank)
{
    tcp_peer *p = &((tcp_wire *)base)->peers[rank];
    if (p->nconnections) tutti_tcp_break(&p->connections[0], 0, "it is gone");
}

/* --- opening and closing the wire --- */

static tutti_status open_socket_set(tcp_wire *w, tutti_failure *err)
{
    tutti_status st = tutti_tcp_read_settings(&w->arena, &w->settings, err);
    if (st) return st;
    w->poll = epoll_create1(EPOLL_CLOEXEC);
    if (w->poll < 0) return tutti_fail(err, TUTTI_ERR_FAILED, "wire tcp: epoll: %s", strerror(errno));
    st = tutti_tcp_fill_card(w, err);
    return st ? st : tutti_tcp_listen(w, err);
}

/* Returns true if all sent bytes have arrived. */
static bool is_quiet(const tcp_wire *w)
{
    for (int r = 0; r < w->wire.nranks; r++)
        for (int k = 0; k < w->peers[r].nconnections; k++) {
            const tcp_connection *c = &w->peers[r].connections[k];
            int unacknowledged = 0;
            if (c->state != TUTTI_TCP_UP || w->peers[r].left) continue;
            if (c->first || (ioctl(c->source.fd, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0)) return false;
        }
    return true;
}

static void say_bye(tcp_wire *w)
{
    tcp_head bye = {.kind = TUTTI_TCP_BYE};
    tutti_tcp_seal(w, &bye, NULL);
    for (int r = 0; r < w->wire.nranks; r++)
        for (int k = 0; k < w->peers[r].nconnections; k++) {
            tcp_connection *c = &w->peers[r].connections[k];
            if (c->state == TUTTI_TCP_UP) tutti_tcp_post(c, &bye, NULL, NULL, false);
        }
}

static bool progress(tutti_wire *base);

/* Closes the wire. Closing a socket with unread bytes resets the connection, which may lose bytes on their way, so
 * everything must have arrived before. */
static void close_wire(tutti_wire *base, double flush_s)
{
    tcp_wire *w = (tcp_wire *)base;
    const double until = tutti_clock_s() + flush_s;
    if (flush_s > 0 && !base->halted && w->peers) {
        say_bye(w);
        while (!is_quiet(w) && tutti_clock_s() < until)
            if (!progress(base)) tutti_clock_sleep_s(20e-6);
    }
    for (int r = 0; w->peers && r < base->nranks; r++) {
        tcp_peer *p = &w->peers[r];
        for (int k = 0; k < p->nconnections; k++) tutti_tcp_end(&p->connections[k], false);
        tutti_wire_order_release(&p->order);
        free(p->connections), free(p->card);
    }
    tutti_tcp_stop_listening(w);
    if (w->poll >= 0) close(w->poll);
    tutti_wire_reads_release(&w->reads);
    tutti_arena_release(&w->arena);
    free(w->peers), free(base->broken), free(w);
}

static tutti_status open_wire(int rank, int nranks, tutti_wire **out, tutti_failure *err)
{
    tcp_wire *w = tutti_alloc(sizeof *w);
    w->wire = (tutti_wire){.row = &tutti_wire_tcp, .rank = rank, .nranks = nranks};
    w->wire.broken = tutti_alloc(sizeof *w->wire.broken * (size_t)nranks);
    w->peers = tutti_alloc(sizeof *w->peers * (size_t)nranks);
    w->poll = w->listener.fd = -1;
    for (int i = 0; i < TUTTI_TCP_MOST_CALLERS; i++) w->callers[i].source.fd = -1;
    tutti_status st = open_socket_set(w, err);
    if (st)
        close_wire(&w->wire, 0);
    else
        *out = &w->wire;
    return st;
}

static const void *own_card(tutti_wire *base, size_t *nbytes)
{
    const tcp_wire *w = (const tcp_wire *)base;
    *nbytes = sizeof w->card;
    return &w->card;
}

/* --- connecting --- */

void tutti_tcp_expect(tcp_wire *w, int rank, int nconnections)
{
    tcp_peer *p = &w->peers[rank];
    p->connections = tutti_alloc(sizeof *p->connections * (size_t)nconnections);
    p->nconnections = nconnections;
    for (int k = 0; k < nconnections; k++)
        p->connections[k] = (tcp_connection){.source = {TUTTI_TCP_CONNECTION, -1}, .w = w, .rank = rank, .index = k};
}

void tutti_tcp_adopt(tcp_connection *c, int fd)
{
    tcp_wire *w = c->w;
    tcp_peer *p = &w->peers[c->rank];
    c->source.fd = fd;
    c->state = TUTTI_TCP_UP;
    c->in_got = c->left = 0;
    if (!tutti_tcp_watch(w, &c->source, false, false)) tutti_tcp_break(c, errno, "cannot be watched");
    if (++p->nup == p->nconnections && --w->nawaited == 0) tutti_tcp_stop_listening(w);
}

/* Returns the number of connections to a peer: as many as a rank asks for, otherwise one for each network. On one
 * network one connection carries as much as several (bench/hosts/NOTES.md). */
static int count_connections(const tcp_wire *w, const tcp_peer *p)
{
    const uint32_t own = w->card.nconnections, theirs = p->card->nconnections, more = own > theirs ? own : theirs;
    return more ? (int)more : p->nrails;
}

static tutti_status connect_peer(tutti_wire *base, int rank, const void *address, tutti_failure *err)
{
    tcp_wire *w = (tcp_wire *)base;
    tcp_peer *p = &w->peers[rank];
    p->card = tutti_alloc(sizeof *p->card);
    memcpy(p->card, address, sizeof *p->card);
    p->card->boot_id[sizeof p->card->boot_id - 1] = '\0';
    if (p->card->magic != TUTTI_TCP_MAGIC || p->card->version != TUTTI_TCP_VERSION ||
        p->card->naddresses > TUTTI_TCP_MOST_ADDRESSES || p->card->nconnections > TUTTI_TCP_MOST_CONNECTIONS)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "wire tcp: it speaks version %u of this wire, we %d",
                          p->card->version, TUTTI_TCP_VERSION);
    p->is_here = tutti_tcp_is_here(&w->card, p->card);
    w->nawaited++;
    w->checksum |= p->card->checksum || w->settings.checksum;
    p->dials = (base->rank + rank) % 2 ? base->rank > rank : base->rank < rank;
    if (!p->dials) return TUTTI_OK;
    tutti_tcp_find_ways(w, p);
    if (p->nways == 0) return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "wire tcp: it has no address that is not ours too");
    tutti_tcp_expect(w, rank, count_connections(w, p));
    for (int k = 0; k < p->nconnections; k++) tutti_tcp_dial(&p->connections[k], tutti_clock_ns());
    return TUTTI_OK;
}

/* Returns words about why a peer is not connected. */
static const char *why_not(const tcp_wire *w, const tcp_peer *p)
{
    for (int k = 0; k < p->nconnections; k++)
        if (p->connections[k].why[0]) return p->connections[k].why;
    return w->trouble[0] ? w->trouble
           : p->dials    ? "no answer"
                         : "it has not called (have both a network in common? TUTTI_NET_IF)";
}

static int awaited(tutti_wire *base, const char **why)
{
    const tcp_wire *w = (const tcp_wire *)base;
    for (int r = 0; w->nawaited > 0 && r < base->nranks; r++) {
        const tcp_peer *p = &w->peers[r];
        if (!p->card || (p->nconnections && p->nup == p->nconnections)) continue;
        *why = why_not(w, p);
        return r;
    }
    return -1;
}

/* --- progress --- */

/* Ends a connection without acknowledgements: its host has vanished. A host with a stopped process still acknowledges:
 * its window closes, and it answers probes of the window. */
static void watch_connection(tcp_connection *c)
{
    struct tcp_info info;
    socklen_t length = sizeof info;
    if (c->state != TUTTI_TCP_UP || getsockopt(c->source.fd, IPPROTO_TCP, TCP_INFO, &info, &length)) return;
    if (info.tcpi_unacked > 0 && info.tcpi_retransmits >= MOST_RETRANSMITS && info.tcpi_last_ack_recv > MOST_SILENCE_MS)
        tutti_tcp_break(c, 0, "its host has not answered for %.0f s", 1e-3 * info.tcpi_last_ack_recv);
}

static void look_round(tcp_wire *w, int64_t now_ns)
{
    w->watched_ns = now_ns;
    if (w->listener.fd >= 0) tutti_tcp_drop_silent_callers(w, now_ns);
    for (int r = 0; r < w->wire.nranks; r++)
        for (int k = 0; k < w->peers[r].nconnections; k++) watch_connection(&w->peers[r].connections[k]);
}

static void push_all(tcp_wire *w)
{
    for (int r = 0; w->ncorked > 0 && r < w->wire.nranks; r++)
        for (int k = 0; k < w->peers[r].nconnections; k++)
            if (w->peers[r].connections[k].corked) tutti_tcp_push(&w->peers[r].connections[k]);
}

static bool handle_connection(tcp_connection *c, uint32_t events)
{
    if (c->state == TUTTI_TCP_DIALING || c->state == TUTTI_TCP_GREETING) {
        tutti_tcp_go_on_dialing(c);
        return true;
    }
    bool moved = false;
    if (c->state == TUTTI_TCP_UP && events & EPOLLERR && c->next_pin) tutti_tcp_unpin(c);
    if (c->state == TUTTI_TCP_UP && events & EPOLLOUT) moved = tutti_tcp_flush(c);
    if (c->state == TUTTI_TCP_UP && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) moved |= tutti_tcp_receive(c);
    return moved;
}

static bool handle(tcp_wire *w, const struct epoll_event *e)
{
    tcp_source *s = e->data.ptr;
    if (s->fd < 0) return false; /* the connection ended while other events were handled */
    switch (s->role) {
    case TUTTI_TCP_LISTENER: tutti_tcp_accept(w); return true;
    case TUTTI_TCP_CALLER: tutti_tcp_hear(w, (tcp_caller *)(void *)s); return true;
    case TUTTI_TCP_CONNECTION: return handle_connection((tcp_connection *)(void *)s, e->events);
    }
    return false;
}

static bool progress(tutti_wire *base)
{
    tcp_wire *w = (tcp_wire *)base;
    struct epoll_event events[MOST_EVENTS];
    bool moved = false;
    if (base->halted) return false;
    if (w->ncorked > 0) push_all(w);
    const int n = epoll_wait(w->poll, events, MOST_EVENTS, 0);
    for (int i = 0; i < n && !base->halted; i++) moved |= handle(w, &events[i]);
    const int64_t now = tutti_clock_ns();
    if (w->nawaited > 0) tutti_tcp_dial_again(w, now);
    if (now - w->watched_ns > WATCH_NS) look_round(w, now);
    return moved;
}

static int descriptor(tutti_wire *base)
{
    return ((tcp_wire *)base)->poll;
}

/* Prepares a sleep on the epoll set, which reports everything by itself; only bytes that are held back must be sent. */
static bool arm(tutti_wire *base)
{
    tcp_wire *w = (tcp_wire *)base;
    if (!base->halted && w->ncorked > 0) push_all(w);
    return true;
}

/* --- memory that peers may reach --- */

static tutti_status enrol(tutti_wire *base, void *memory, size_t nbytes, tutti_wire_memory **out, tutti_failure *err)
{
    (void)err;
    *out = tutti_wire_memory_add(&((tcp_wire *)base)->memories, memory, nbytes);
    (*out)->own = base;
    return TUTTI_OK;
}

/* Forgets memory; bytes on their way to it are discarded. */
static void forget(tutti_wire_memory *m)
{
    const tcp_wire *w = m->own;
    for (int r = 0; r < w->wire.nranks; r++)
        for (int k = 0; k < w->peers[r].nconnections; k++) {
            tcp_connection *c = &w->peers[r].connections[k];
            const uint64_t to = (uint64_t)(uintptr_t)c->to;
            if (c->left && c->in.kind == TUTTI_TCP_PUT && to >= m->base && to - m->base < m->nbytes) c->to = NULL;
        }
    tutti_wire_memory_remove(m);
}

const tutti_wire_row tutti_wire_tcp = {
    .name = "tcp",
    .help = "puts and reads over plain sockets, IPv4 and IPv6",
    .can = TUTTI_WIRE_CROSSES_HOSTS | TUTTI_WIRE_TELLS_ALL,
    .open = open_wire,
    .close = close_wire,
    .address = own_card,
    .connect = connect_peer,
    .awaited = awaited,
    .describe = tutti_tcp_describe,
    .enrol = enrol,
    .forget = forget,
    .put = tutti_tcp_put,
    .has_room = tutti_tcp_has_room,
    .put_word = tutti_tcp_put_word,
    .read = tutti_tcp_read,
    .drop = drop_peer,
    .progress = progress,
    .descriptor = descriptor,
    .arm = arm,
};
