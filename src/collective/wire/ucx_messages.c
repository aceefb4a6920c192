/* SPDX-License-Identifier: Apache-2.0 */
/* ucx_messages.c: puts, words and reads as active messages of UCP.
 *
 * A put is one or more messages whose headers give the place of the bytes. If a transport moves bytes one-sidedly
 * (ucx_lanes.c), the put is one message, and the target's transport fetches the bytes straight from the source into
 * their place: UCX's rendezvous, one-sided get, by CMA in shared memory. Over TCP UCX makes that rendezvous of words
 * and messages. So over TCP a direct put is one message, received in place. Other puts go in pieces that need no answer
 * first and are copied to their place while they are in the cache. Over links with queues the answers of the rendezvous
 * wait behind the data of the other direction: 64 MB over two hosts of two ranks at 300 Mbit/s took 2.5 s with the
 * rendezvous and takes 1.85 s in pieces (./dev bench hosts); over loopback both take the same. Puts to a peer are
 * numbered. A word carries the number of the put that it follows, and waits at the target until all puts up to that
 * number have landed. So no order of UCX's lanes matters, and no flush is needed. A read is a word that is answered by
 * a direct message from the owner's memory, sent by the thread that drives the owner's wire: the owner copies nothing,
 * and the answer is received in place.
 *
 * Rejected: ucp_put_nbx and ucp_get_nbx. In UCX 1.13 they are one-sided for memory that UCX itself allocated, or that a
 * card has registered. For other memory UCX_PROTO_INFO=y says "software emulation" in shared memory as over TCP, in
 * both generations of its protocols. A put with a sleeping target does not end. If the sender has died meanwhile, the
 * target's answer to it ends the target's process (ucp_put_handler, "unexpected error: Endpoint timeout"): a dead rank
 * would take others with it instead of being named. Over TCP a get copies on both sides: 100 MB between two processes
 * of a busy machine took 125 to 295 ms, a direct put 51 to 74 ms. Fetching also means that nothing is ever written into
 * memory that its owner has given up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "ucx_impl.h"

enum {
    FRAGMENT = 1 << 16, /* bytes of a piece of a put */
    WORTH_FETCHING =
        1 << 13 /* bytes from which the target fetches a put instead of copying it: 4 KB take 2.9 us fetched and 0.9 us
                 * copied, 16 KB 3.9 us and 8.8 us (ucx_perftest, EPYC Zen 4) */
};

typedef struct {
    tutti_put base; /* must stay the first member, because pointers to it are cast to pointers to the whole struct */
    ucx_wire *w;
    int rank;
    int64_t nflying; /* number of messages that UCX still sends */
    ucx_head head[]; /* head of each message: UCX reads it until the message is over */
} ucx_flight;

/* A message from a peer that is being received into place. */
typedef struct {
    ucx_wire *w;
    ucx_head head;
} arrival;

void tutti_ucx_break(ucx_wire *w, int rank, ucs_status_t status)
{
    char *why = w->wire.broken[rank];
    if (!why[0]) snprintf(why, sizeof *w->wire.broken, "its UCX endpoint broke: %s", w->ucx.ucs_status_string(status));
}

/* --- memory that peers may reach --- */

tutti_status tutti_ucx_enrol(tutti_wire *base, void *memory, size_t nbytes, tutti_wire_memory **out, tutti_failure *err)
{
    ucx_wire *w = (ucx_wire *)base;
    (void)err;
    *out = tutti_wire_memory_add(&w->memories, memory, nbytes);
    return TUTTI_OK;
}

/* --- puts --- */

static bool is_broken(const ucx_flight *f)
{
    return f->w->wire.broken[f->rank][0] != '\0';
}

static void land(void *request, ucs_status_t status, void *arg)
{
    ucx_flight *f = arg;
    if (status != UCS_OK) tutti_ucx_break(f->w, f->rank, status);
    f->w->ucx.ucp_request_free(request);
    if (--f->nflying > 0) return;
    f->base.flying = false;
    f->base.over = !is_broken(f);
    if (f->base.abandoned) free(f);
}

/* The ways in which the bytes of a put or an answer travel: UCP's flags. */
typedef enum {
    AS_UCX_LIKES = 0, /* UCX's default: the message goes whole, and is received in place if it is long */
    IN_PIECES = UCP_AM_SEND_FLAG_EAGER,
    FETCHED = UCP_AM_SEND_FLAG_RNDV,
} ucx_manner;

/* Sends nothing to a peer that broke, because it may have no endpoint any more. */
static void send_message(ucx_flight *f, const ucx_head *head, const void *from, size_t nbytes, ucx_manner manner)
{
    if (is_broken(f)) {
        f->nflying--;
        return;
    }
    const ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                        UCP_OP_ATTR_FIELD_FLAGS,
                                        .flags = (uint32_t)manner,
                                        .cb = {.send = land},
                                        .user_data = f};
    ucs_status_ptr_t request = f->w->ucx.ucp_am_send_nbx(f->w->peers[f->rank].endpoint, TUTTI_UCX_MESSAGE, head,
                                                         sizeof *head, from, nbytes, &params);
    if (UCS_PTR_IS_PTR(request)) return;
    if (UCS_PTR_IS_ERR(request)) tutti_ucx_break(f->w, f->rank, UCS_PTR_STATUS(request));
    f->nflying--;
}

static tutti_put *launch(ucx_wire *w, int rank, const ucx_head *first, const void *from, size_t nbytes,
                         ucx_manner manner)
{
    const size_t most = manner == IN_PIECES ? FRAGMENT : nbytes, n = nbytes > most ? (nbytes + most - 1) / most : 1;
    ucx_flight *f = tutti_alloc(sizeof *f + n * sizeof f->head[0]);
    *f = (ucx_flight){.base = {.flying = true}, .w = w, .rank = rank, .nflying = (int64_t)n};
    for (size_t i = 0; i < n; i++) {
        const size_t at = i * most, left = nbytes - at;
        f->head[i] = *first;
        f->head[i].address += at;
        if (first->kind == TUTTI_UCX_PUT) f->head[i].number = ++w->peers[rank].order.sent;
        send_message(f, &f->head[i], (const char *)from + at, left < most ? left : most, manner);
    }
    f->base.flying = f->nflying > 0;
    /* the put is under way, or its connection broke and it will never end */
    if (f->base.flying || is_broken(f)) return &f->base;
    free(f);
    return NULL;
}

/* Returns true if the target's transport fetches a put straight into its place. */
static bool is_fetched(const ucx_peer *p, size_t nbytes)
{
    return p->one_sided && nbytes >= WORTH_FETCHING;
}

size_t tutti_ucx_copied(const tutti_wire *base, int rank, size_t nbytes)
{
    return is_fetched(&((const ucx_wire *)base)->peers[rank], nbytes) ? 0 : nbytes;
}

tutti_put *tutti_ucx_put(tutti_wire *base, int rank, uint64_t address, const void *from, size_t nbytes, bool direct)
{
    ucx_wire *w = (ucx_wire *)base;
    const ucx_head first = {.address = address, .rank = base->rank};
    return launch(w, rank, &first, from, nbytes,
                  is_fetched(&w->peers[rank], nbytes) ? FETCHED
                  : direct                            ? AS_UCX_LIKES
                                                      : IN_PIECES);
}

tutti_put *tutti_ucx_put_word(tutti_wire *base, int rank, uint64_t address, uint64_t word)
{
    ucx_wire *w = (ucx_wire *)base;
    const ucx_head first = {.address = address,
                            .number = w->peers[rank].order.sent,
                            .word = word,
                            .rank = base->rank,
                            .kind = TUTTI_UCX_WORD};
    return launch(w, rank, &first, NULL, 0, IN_PIECES);
}

/* --- reads --- */

tutti_put *tutti_ucx_read(tutti_wire *base, int rank, uint64_t address, void *to, size_t nbytes)
{
    ucx_wire *w = (ucx_wire *)base;
    tutti_wire_read *r = tutti_wire_reads_begin(&w->reads, to, nbytes);
    const ucx_head ask = {.address = address,
                          .number = w->peers[rank].order.sent,
                          .word = r->number,
                          .nbytes = nbytes,
                          .rank = base->rank,
                          .kind = TUTTI_UCX_READ};
    tutti_put_release(launch(w, rank, &ask, NULL, 0, IN_PIECES));
    return &r->base;
}

/* --- messages that arrive --- */

static void answer(ucx_wire *w, int rank, const tutti_wire_word *ask)
{
    const void *from = tutti_wire_memory_find(w->memories, ask->address, ask->nbytes);
    const ucx_head head = {
        .word = ask->word, .rank = w->wire.rank, .kind = from ? TUTTI_UCX_ANSWER : TUTTI_UCX_REFUSAL};
    tutti_put_release(launch(w, rank, &head, from, from ? ask->nbytes : 0, from ? AS_UCX_LIKES : IN_PIECES));
}

/* Writes the words and answers the reads whose earlier puts have all landed. */
static void serve_ripe(ucx_wire *w, int rank)
{
    tutti_wire_word word;
    while (tutti_wire_order_take(&w->peers[rank].order, &word)) {
        if (word.reads)
            answer(w, rank, &word);
        else
            tutti_wire_store_word(w->memories, word.address, word.word);
    }
}

static void take_word(ucx_wire *w, const ucx_head *h)
{
    const tutti_wire_word word = {h->address, h->number, h->word, h->nbytes, h->kind == TUTTI_UCX_READ};
    tutti_wire_order_add(&w->peers[h->rank].order, &word);
    serve_ripe(w, h->rank);
}

/* Notes that the bytes are in their place. */
static void settle(ucx_wire *w, const ucx_head *h, size_t nbytes)
{
    if (h->kind == TUTTI_UCX_ANSWER) {
        tutti_wire_reads_arrive(&w->reads, h->word, nbytes);
        return;
    }
    tutti_wire_order_land(&w->peers[h->rank].order, h->number);
    serve_ripe(w, h->rank);
}

static void end_arrival(void *request, ucs_status_t status, size_t length, void *arg)
{
    arrival *a = arg;
    if (status == UCS_OK)
        settle(a->w, &a->head, length);
    else
        tutti_ucx_break(a->w, a->head.rank, status);
    if (request) a->w->ucx.ucp_request_free(request);
    free(a);
}

static void receive_into_place(ucx_wire *w, const ucx_head *h, void *to, void *data, size_t length)
{
    arrival *a = tutti_alloc(sizeof *a);
    *a = (arrival){w, *h};
    const ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                        .cb = {.recv_am = end_arrival},
                                        .user_data = a};
    ucs_status_ptr_t request = w->ucx.ucp_am_recv_data_nbx(w->worker, data, to, length, &params);
    if (!UCS_PTR_IS_PTR(request)) end_arrival(NULL, UCS_PTR_STATUS(request), length, a);
}

/* Returns the place of the bytes of a put or an answer; NULL: there is none, so the message must not be trusted. */
static void *place_of(const ucx_wire *w, const ucx_head *h, size_t length)
{
    if (h->kind == TUTTI_UCX_PUT) return tutti_wire_memory_find(w->memories, h->address, length);
    return tutti_wire_reads_place(&w->reads, h->word, 0, length);
}

static ucs_status_t take_bytes(ucx_wire *w, const ucx_head *h, void *data, size_t length, bool in_place)
{
    void *to = place_of(w, h, length);
    if (!to) {
        tutti_ucx_break(w, h->rank, UCS_ERR_INVALID_ADDR);
        return UCS_OK;
    }
    if (in_place) {
        receive_into_place(w, h, to, data, length);
        return UCS_INPROGRESS;
    }
    memcpy(to, data, length);
    w->wire.copied += (int64_t)length;
    settle(w, h, length);
    return UCS_OK;
}

ucs_status_t tutti_ucx_take(void *arg, const void *header, size_t header_length, void *data, size_t length,
                            const ucp_am_recv_param_t *param)
{
    ucx_wire *w = arg;
    ucx_head h;
    if (header_length != sizeof h) return UCS_OK; /* the message is not from this library */
    memcpy(&h, header, sizeof h);
    if (h.rank < 0 || h.rank >= w->wire.nranks || !w->peers[h.rank].endpoint) return UCS_OK;
    switch ((ucx_kind)h.kind) {
    case TUTTI_UCX_WORD:
    case TUTTI_UCX_READ: take_word(w, &h); break;
    case TUTTI_UCX_REFUSAL: tutti_wire_reads_refuse(&w->reads, h.word); break;
    case TUTTI_UCX_PUT:
    case TUTTI_UCX_ANSWER: return take_bytes(w, &h, data, length, param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV);
    }
    return UCS_OK;
}
