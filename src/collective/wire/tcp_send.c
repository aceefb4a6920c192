/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_send.c: sends frames into sockets: heads and bytes together, directly from their place.
 *
 * A frame is sent at once if no other frame waits. If the socket has no room, the rest is kept as a parcel and is sent
 * when there is room. A short put is held until its word comes, or until a thread drives the wire. Both then cost one
 * call, and on a card that cuts packets the other end wakes up once. Sent separately, the first packets of a put would
 * arrive alone and wake it for nothing. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "tcp_impl.h"

/* MOST_HELD: bytes of a put that are held back until its word comes; a card cuts up to this number into packets by
 * itself */
enum { MOST_PARTS = 32, MOST_HELD = 1 << 16 };

/* --- the end of parcels --- */

void tutti_tcp_land(tcp_flight *f, bool over)
{
    f->lost |= !over;
    if (--f->nparcels > 0) return;
    f->base.flying = false;
    f->base.over = !f->lost;
    if (f->base.abandoned) free(f);
}

void tutti_tcp_end_parcel(tcp_parcel *p, bool over)
{
    if (p->flight) tutti_tcp_land(p->flight, over);
    free(p);
}

void tutti_tcp_drop_parcels(tcp_connection *c, bool over)
{
    for (uint32_t i = 0; i < TUTTI_TCP_MOST_PINNED; i++) {
        tcp_parcel *p = c->pinned[i];
        c->pinned[i] = NULL;
        if (p && --p->npinned == 0 && p->gone == sizeof p->head + p->nbytes) tutti_tcp_end_parcel(p, over);
    }
    for (tcp_parcel *p = c->first, *next; p; p = next) next = p->next, tutti_tcp_end_parcel(p, over);
    c->first = c->last = NULL;
    c->queued = 0;
}

/* --- writing into the socket --- */

static void want_room(tcp_connection *c, bool wanted)
{
    if (c->waits_for_room == wanted) return;
    c->waits_for_room = wanted;
    if (!tutti_tcp_watch(c->w, &c->source, wanted, false)) tutti_tcp_break(c, errno, "cannot be watched");
}

static void mark_corked(tcp_connection *c, bool corked)
{
    if (c->corked == corked) return;
    c->corked = corked;
    c->w->ncorked += corked ? 1 : -1;
}

void tutti_tcp_push(tcp_connection *c)
{
    if (c->first) tutti_tcp_flush(c);
    mark_corked(c, false);
    /* setting this option also sends the bytes that were held back */
    (void)setsockopt(c->source.fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

/* Returns the bytes that were sent, 0: there is no room, -1: the connection is over. */
static ssize_t send_parts(tcp_connection *c, struct iovec *parts, size_t nparts, bool more)
{
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = nparts};
    ssize_t n;
    do n = sendmsg(c->source.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0));
    while (n < 0 && errno == EINTR);
    if (n >= 0) {
        mark_corked(c, more);
        return n;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return 0;
    tutti_tcp_break(c, errno, "a send of %zu bytes failed", parts[nparts - 1].iov_len);
    return -1;
}

/* Lists the parts of a parcel that are not sent yet (of head and bytes): 0, 1 or 2. */
static size_t list_parts(tcp_parcel *p, struct iovec *out)
{
    const size_t head = sizeof p->head;
    size_t n = 0;
    if (p->gone < head) out[n++] = (struct iovec){(char *)&p->head + p->gone, head - p->gone};
    const size_t done = p->gone > head ? p->gone - head : 0;
    if (p->nbytes > done && !(p->pins && n))
        out[n++] = (struct iovec){(char *)(uintptr_t)p->from + done, p->nbytes - done};
    return n;
}

static bool is_gone(const tcp_parcel *p)
{
    return p->gone == sizeof p->head + p->nbytes;
}

/* Marks n more bytes of the waiting parcels as sent. */
static void count_gone(tcp_connection *c, size_t n)
{
    c->queued -= n;
    while (c->first) {
        tcp_parcel *p = c->first;
        const size_t left = sizeof p->head + p->nbytes - p->gone, now = n < left ? n : left;
        p->gone += now, n -= now;
        if (!is_gone(p)) return;
        c->first = p->next;
        if (!c->first) c->last = NULL;
        if (p->npinned == 0) tutti_tcp_end_parcel(p, true);
    }
}

/* Sends the first parcel alone: the kernel reads its bytes until it reports that it has finished. */
static ssize_t send_first_pinned(tcp_connection *c)
{
    tcp_parcel *p = c->first;
    const size_t done = p->gone - sizeof p->head;
    ssize_t n = tutti_tcp_send_pinned(c, p, p->from + done, p->nbytes - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return n;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
    tutti_tcp_break(c, errno, "a send of %zu bytes failed", p->nbytes - done);
    return -1;
}

static ssize_t send_some(tcp_connection *c)
{
    struct iovec parts[MOST_PARTS];
    size_t n = 0;
    bool more = false;
    if (c->first->pins && c->first->gone >= sizeof c->first->head) return send_first_pinned(c);
    for (tcp_parcel *p = c->first; p && n + 2 <= MOST_PARTS; p = p->next) {
        n += list_parts(p, parts + n);
        more = p->pins || p->head.kind == TUTTI_TCP_PUT;
        if (p->pins) break; /* pinned bytes go in a call of their own */
    }
    return send_parts(c, parts, n, more);
}

bool tutti_tcp_flush(tcp_connection *c)
{
    bool moved = false;
    while (c->first && c->state == TUTTI_TCP_UP) {
        const ssize_t n = send_some(c);
        if (n < 0) return true;
        if (n == 0) {
            want_room(c, true);
            return moved;
        }
        count_gone(c, (size_t)n);
        moved = true;
    }
    if (c->state == TUTTI_TCP_UP) want_room(c, false);
    return moved;
}

static void keep(tcp_connection *c, const tcp_head *head, const void *from, size_t gone, tcp_flight **flight)
{
    const size_t nbytes = head->kind == TUTTI_TCP_PUT || head->kind == TUTTI_TCP_ANSWER ? head->nbytes : 0;
    tcp_parcel *p = tutti_alloc(sizeof *p);
    *p = (tcp_parcel){.head = *head, .from = from, .nbytes = nbytes, .gone = gone};
    p->pins = gone == 0 && tutti_tcp_may_pin(c, nbytes);
    if (flight && !*flight) {
        *flight = tutti_alloc(sizeof **flight);
        **flight = (tcp_flight){.base = {.flying = true}, .nparcels = 1}; /* one count for this function, so that the
                                                                           * flight does not end before all parcels are
                                                                           * posted */
    }
    if (flight) p->flight = *flight, p->flight->nparcels++;
    if (c->last)
        c->last->next = p;
    else
        c->first = p;
    c->last = p;
    c->queued += sizeof p->head + nbytes - gone;
}

void tutti_tcp_post(tcp_connection *c, const tcp_head *head, const void *from, tcp_flight **flight, bool more)
{
    const bool body = head->kind == TUTTI_TCP_PUT || head->kind == TUTTI_TCP_ANSWER;
    const size_t nbytes = body ? head->nbytes : 0;
    size_t gone = 0;
    const bool held = more && nbytes <= MOST_HELD;
    if (!held && !c->first && c->state == TUTTI_TCP_UP && !tutti_tcp_may_pin(c, nbytes)) {
        struct iovec parts[2] = {{(void *)(uintptr_t)head, sizeof *head}, {(void *)(uintptr_t)from, nbytes}};
        const ssize_t n = send_parts(c, parts, nbytes ? 2 : 1, more);
        if (n < 0) return; /* the caller sees that the connection broke */
        gone = (size_t)n;
        if (gone == sizeof *head + nbytes) return;
    }
    keep(c, head, from, gone, flight);
    if (held)
        mark_corked(c, true);
    else
        tutti_tcp_flush(c);
}
