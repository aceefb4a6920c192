/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_messages.c: puts, words and reads as frames.
 *
 * A put is one frame, or pieces that the connections of the peer take in turns. Words and requests go over the first
 * connection; they say after which put they come, so nothing else orders the connections. The thread that drives the
 * owner's wire answers a read from the owner's memory, in pieces as a put is. */
#include <netinet/tcp.h>
#include <stdlib.h>

#include "tcp_impl.h"

enum {
    SHORT = 1 << 17,        /* puts of up to this number of bytes are not cut */
    MOST_PIECE = 1 << 20,   /* bytes of the pieces of a longer put: small enough for connections of unequal speed to end
                             * at about the same time */
    SUMMED_PIECE = 1 << 18, /* bytes of a piece with a checksum, which is made while the piece is in the second-level
                             * cache */
    PIECE_UNIT = 1 << 16,
    MOST_UNSENT =
        1 << 19 /* most unsent bytes in the kernel for callers of has_room, which choose late what to send: enough to
                 * keep the link busy until this process wakes up */
};

/* --- sending --- */

/* Returns the bytes of the pieces into which nbytes are cut. */
static size_t piece_of(const tcp_wire *w, const tcp_peer *p, size_t nbytes)
{
    size_t piece = nbytes;
    if (p->nconnections > 1 && nbytes > SHORT) {
        piece = (nbytes / (size_t)p->nconnections / PIECE_UNIT + 1) * PIECE_UNIT;
        if (piece > MOST_PIECE) piece = MOST_PIECE;
    }
    return w->checksum && piece > SUMMED_PIECE ? SUMMED_PIECE : piece;
}

/* Returns the connection with the fewest bytes to send; among equal ones, the next in turn. */
static tcp_connection *connection_of(tcp_peer *p, size_t turn)
{
    tcp_connection *best = &p->connections[turn % (size_t)p->nconnections];
    for (int k = 0; k < p->nconnections; k++)
        if (p->connections[k].queued < best->queued) best = &p->connections[k];
    return best;
}

/* Posts all bytes of a put or an answer; first: the head of the first piece. */
static void post_pieces(tcp_wire *w, tcp_peer *p, const tcp_head *first, const char *from, tcp_flight **flight)
{
    const size_t nbytes = first->nbytes, piece = piece_of(w, p, nbytes);
    const bool put = first->kind == TUTTI_TCP_PUT;
    size_t at = 0, turn = 0;
    do {
        tcp_head head = *first;
        head.nbytes = nbytes - at < piece ? nbytes - at : piece;
        head.address += at;
        if (put) head.number = ++p->order.sent;
        tcp_connection *c = connection_of(p, turn++);
        tutti_tcp_seal(w, &head, from + at);
        /* the last argument: on connection 0 the put's word follows at once */
        tutti_tcp_post(c, &head, from + at, flight, put && c->index == 0);
        at += head.nbytes;
    } while (at < nbytes && p->connections[0].state == TUTTI_TCP_UP);
}

static bool is_lost(const tcp_wire *w, int rank)
{
    return w->wire.broken[rank][0] != '\0';
}

/* Returns the flight of a put; NULL: it has ended already. A put to a peer whose connection broke never ends. */
static tutti_put *launched(const tcp_wire *w, int rank, tcp_flight *f)
{
    if (f && --f->nparcels > 0) return &f->base;
    if (!is_lost(w, rank)) {
        free(f);
        return NULL;
    }
    if (!f) f = tutti_alloc(sizeof *f);
    f->base = (tutti_put){0};
    return &f->base;
}

tutti_put *tutti_tcp_put(tutti_wire *base, int rank, uint64_t address, const void *from, size_t nbytes, bool direct)
{
    tcp_wire *w = (tcp_wire *)base;
    tcp_peer *p = &w->peers[rank];
    tcp_flight *f = NULL;
    (void)direct; /* unused, because every put is received in place */
    const tcp_head first = {.kind = TUTTI_TCP_PUT, .address = address, .nbytes = nbytes};
    if (!p->left && !is_lost(w, rank)) post_pieces(w, p, &first, from, &f);
    return launched(w, rank, f);
}

/* Limits the unsent bytes of a socket. By default a socket accepts 4 MB, which take a tenth of a second at 300 Mbit/s;
 * later frames would wait for them. */
static void make_shallow(tcp_connection *c)
{
    if (c->is_shallow || c->state != TUTTI_TCP_UP) return;
    c->is_shallow = true;
    (void)setsockopt(c->source.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){MOST_UNSENT}, sizeof(int));
}

bool tutti_tcp_has_room(tutti_wire *base, int rank)
{
    tcp_wire *w = (tcp_wire *)base;
    tcp_peer *p = &w->peers[rank];
    bool room = p->left || is_lost(w, rank);
    for (int k = 0; k < p->nconnections; k++) {
        make_shallow(&p->connections[k]);
        if (p->connections[k].corked) tutti_tcp_push(&p->connections[k]);
        room |= !p->connections[k].first;
    }
    return room;
}

/* Posts a frame without bytes. */
static void post_word(tcp_wire *w, int rank, const tcp_head *h)
{
    tcp_peer *p = &w->peers[rank];
    tcp_head head = *h;
    if (p->left || is_lost(w, rank)) return;
    tutti_tcp_seal(w, &head, NULL);
    tutti_tcp_post(&p->connections[0], &head, NULL, NULL, false);
}

tutti_put *tutti_tcp_put_word(tutti_wire *base, int rank, uint64_t address, uint64_t word)
{
    tcp_wire *w = (tcp_wire *)base;
    const tcp_head head = {
        .kind = TUTTI_TCP_WORD, .address = address, .number = w->peers[rank].order.sent, .word = word};
    post_word(w, rank, &head);
    return launched(w, rank, NULL);
}

tutti_put *tutti_tcp_read(tutti_wire *base, int rank, uint64_t address, void *to, size_t nbytes)
{
    tcp_wire *w = (tcp_wire *)base;
    tutti_wire_read *r = tutti_wire_reads_begin(&w->reads, to, nbytes);
    const tcp_head head = {.kind = TUTTI_TCP_READ,
                           .address = address,
                           .number = w->peers[rank].order.sent,
                           .word = r->number,
                           .nbytes = nbytes};
    post_word(w, rank, &head);
    return &r->base;
}

/* --- receiving --- */

static void answer(tcp_wire *w, int rank, const tutti_wire_word *ask)
{
    const void *from = tutti_wire_memory_find(w->memories, ask->address, ask->nbytes);
    const tcp_head head = {
        .kind = from ? TUTTI_TCP_ANSWER : TUTTI_TCP_REFUSAL, .word = ask->word, .nbytes = from ? ask->nbytes : 0};
    if (!from)
        post_word(w, rank, &head);
    else if (!w->peers[rank].left && !is_lost(w, rank))
        post_pieces(w, &w->peers[rank], &head, from, NULL);
}

/* Writes a word, or answers a read, whose earlier puts have all landed. */
static void serve(tcp_wire *w, int rank, const tutti_wire_word *word)
{
    if (word->reads)
        answer(w, rank, word);
    else
        tutti_wire_store_word(w->memories, word->address, word->word);
}

static void serve_ripe(tcp_wire *w, int rank)
{
    tutti_wire_word word;
    while (tutti_wire_order_take(&w->peers[rank].order, &word)) serve(w, rank, &word);
}

static void take_word(tcp_wire *w, int rank, const tcp_head *h)
{
    tutti_wire_order *o = &w->peers[rank].order;
    const tutti_wire_word word = {h->address, h->number, h->word, h->nbytes, h->kind == TUTTI_TCP_READ};
    if (word.number <= o->landed) {
        serve(w, rank, &word);
        return;
    }
    tutti_wire_order_add(o, &word);
}

void tutti_tcp_settle(tcp_wire *w, int rank, const tcp_head *h)
{
    switch ((tcp_kind)h->kind) {
    case TUTTI_TCP_PUT:
        tutti_wire_order_land(&w->peers[rank].order, h->number);
        serve_ripe(w, rank);
        break;
    case TUTTI_TCP_WORD:
    case TUTTI_TCP_READ: take_word(w, rank, h); break;
    case TUTTI_TCP_ANSWER: tutti_wire_reads_arrive(&w->reads, h->word, h->nbytes); break;
    case TUTTI_TCP_REFUSAL: tutti_wire_reads_refuse(&w->reads, h->word); break;
    case TUTTI_TCP_BYE: w->peers[rank].left = true; break;
    }
}
