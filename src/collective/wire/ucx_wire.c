/* SPDX-License-Identifier: Apache-2.0 */
/* ucx_wire.c: puts over UCP: verbs, TCP, shared memory, whatever UCX finds (UCX_TLS and UCX_NET_DEVICES are its own).
 *
 * One context and one worker a group, an endpoint a peer, made from worker addresses that the group exchanged. A put is one or more
 * active messages whose headers say where the bytes belong. A direct one is one message and, if long, received in place (UCX's
 * rendezvous); the others go in pieces that need no answer before they go and are copied to their place while they are in the
 * cache. Over links with queues the answers of the rendezvous wait behind the data of the other direction: 64 MB over two hosts of two
 * ranks at 300 Mbit/s took 2.5 s with it and takes 1.85 s in pieces (./dev bench hosts); over loopback both take the same.
 * Puts to a peer are numbered; a word says after which put it comes, and waits at the target until all up to that one have
 * landed, so no order of UCX's lanes matters.
 *
 * Rejected: ucp_put_nbx. Where a transport has no put of its own (TCP) UCX 1.13 answers it from the target, and when the
 * sender has died meanwhile that answer ends the target's process (ucp_put_handler, "unexpected error: Endpoint timeout"):
 * a dead rank would take others with it instead of being named. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "wire_impl.h"

enum {
    MOST_STEPS = 256, /* of progress at a time: others want the lock */
    MESSAGE_ID = 0,
    FRAGMENT = 1 << 16 /* bytes of a message */
};

/* Of every message: wire format. */
typedef struct {
    uint64_t address;
    uint64_t number; /* of this put; a word: of the last put before it */
    uint64_t word;
    int32_t rank;
    uint32_t is_word;
} message_head;

typedef struct {
    tutti_put base; /* first */
    struct ucx_wire *w;
    int rank;
    int64_t nflying;     /* messages */
    message_head head[]; /* one a message: UCX reads it until it is over */
} ucx_flight;

typedef struct {
    ucp_ep_h endpoint;   /* NULL: not connected */
    uint64_t sent;       /* puts to it */
    uint64_t landed;     /* puts from it, without a gap */
    uint64_t *early;     /* those beyond a gap */
    message_head *words; /* that wait for puts */
    int nearly, early_room, nwords, words_room;
} ucx_peer;

/* A put from a peer that is being received into place. */
typedef struct {
    struct ucx_wire *w;
    int rank;
    uint64_t number;
} arrival;

typedef struct ucx_wire {
    tutti_wire wire; /* first */
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    ucx_peer *peers;
    tutti_wire_memory *memories;
} ucx_wire;

struct tutti_wire_memory {
    ucx_wire *w;
    uint64_t base;
    size_t nbytes;
    tutti_wire_memory *next;
};

/* --- failures --- */

static tutti_status fail_ucs(tutti_failure *err, const char *what, ucs_status_t status)
{
    return tutti_fail(err, TUTTI_ERR_FAILED, "wire ucx: %s: %s", what, ucs_status_string(status));
}

static void break_peer(ucx_wire *w, int rank, ucs_status_t status)
{
    char *why = w->wire.broken[rank];
    if (!why[0]) snprintf(why, sizeof *w->wire.broken, "its UCX endpoint broke: %s", ucs_status_string(status));
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    ucx_wire *w = arg;
    for (int r = 0; r < w->wire.nranks; r++)
        if (w->peers[r].endpoint == ep) break_peer(w, r, status);
}

/* --- memory --- */

static tutti_status enrol(tutti_wire *base, void *memory, size_t nbytes, tutti_wire_memory **out, tutti_failure *err)
{
    ucx_wire *w = (ucx_wire *)base;
    (void)err;
    *out = tutti_alloc(sizeof **out);
    **out = (tutti_wire_memory){w, (uint64_t)(uintptr_t)memory, nbytes, w->memories};
    w->memories = *out;
    return TUTTI_OK;
}

static void forget(tutti_wire_memory *m)
{
    tutti_wire_memory **at = &m->w->memories;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    free(m);
}

/* --- puts --- */

static bool is_broken(const ucx_flight *f)
{
    return f->w->wire.broken[f->rank][0] != '\0';
}

static void land(void *request, ucs_status_t status, void *arg)
{
    ucx_flight *f = arg;
    if (status != UCS_OK) break_peer(f->w, f->rank, status);
    ucp_request_free(request);
    if (--f->nflying > 0) return;
    f->base.flying = false;
    f->base.over = !is_broken(f);
    if (f->base.abandoned) free(f);
}

static void send_message(ucx_flight *f, const message_head *head, const void *from, size_t nbytes, bool direct)
{
    const ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                        UCP_OP_ATTR_FIELD_FLAGS,
                                        .flags = direct ? 0 : UCP_AM_SEND_FLAG_EAGER,
                                        .cb = {.send = land},
                                        .user_data = f};
    ucs_status_ptr_t request =
        ucp_am_send_nbx(f->w->peers[f->rank].endpoint, MESSAGE_ID, head, sizeof *head, from, nbytes, &params);
    if (UCS_PTR_IS_PTR(request)) return;
    if (UCS_PTR_IS_ERR(request)) break_peer(f->w, f->rank, UCS_PTR_STATUS(request));
    f->nflying--;
}

static tutti_put *launch(ucx_wire *w, int rank, const message_head *first, const void *from, size_t nbytes, bool direct)
{
    const size_t most = direct ? nbytes : FRAGMENT, n = nbytes > most ? (nbytes + most - 1) / most : 1;
    ucx_flight *f = tutti_alloc(sizeof *f + n * sizeof f->head[0]);
    *f = (ucx_flight){.base = {.flying = true}, .w = w, .rank = rank, .nflying = (int64_t)n};
    for (size_t i = 0; i < n; i++) {
        const size_t at = i * most, left = nbytes - at;
        f->head[i] = *first;
        f->head[i].address += at;
        if (!first->is_word) f->head[i].number = ++w->peers[rank].sent;
        send_message(f, &f->head[i], (const char *)from + at, left < most ? left : most, direct);
    }
    f->base.flying = f->nflying > 0;
    if (f->base.flying || is_broken(f)) return &f->base; /* under way; or never over */
    free(f);
    return NULL;
}

static tutti_put *put(tutti_wire *base, int rank, uint64_t address, const void *from, size_t nbytes, bool direct)
{
    const message_head first = {.address = address, .rank = base->rank};
    return launch((ucx_wire *)base, rank, &first, from, nbytes, direct);
}

static tutti_put *put_word(tutti_wire *base, int rank, uint64_t address, uint64_t word)
{
    ucx_wire *w = (ucx_wire *)base;
    const message_head first = {
        .address = address, .number = w->peers[rank].sent, .word = word, .rank = base->rank, .is_word = 1};
    return launch(w, rank, &first, NULL, 0, false);
}

/* --- arrivals --- */

/* Is it memory that was enrolled? NULL: it is not, or not any more. */
static void *find_memory(const ucx_wire *w, uint64_t address, size_t nbytes)
{
    for (const tutti_wire_memory *m = w->memories; m; m = m->next)
        if (address >= m->base && address - m->base <= m->nbytes && nbytes <= m->nbytes - (address - m->base))
            return (void *)(uintptr_t)address;
    return NULL;
}

/* Counters only grow, whatever came first. */
static void write_word(const ucx_wire *w, const message_head *h)
{
    _Atomic uint64_t *at = h->address % sizeof *at ? NULL : find_memory(w, h->address, sizeof *at);
    if (at && atomic_load(at) < h->word) atomic_store(at, h->word);
}

static void write_ripe_words(const ucx_wire *w, ucx_peer *p)
{
    int kept = 0;
    for (int i = 0; i < p->nwords; i++) {
        if (p->words[i].number <= p->landed)
            write_word(w, &p->words[i]);
        else
            p->words[kept++] = p->words[i];
    }
    p->nwords = kept;
}

static void count_landing(const ucx_wire *w, ucx_peer *p, uint64_t number)
{
    if (p->nearly == p->early_room) {
        p->early_room = 2 * p->early_room + 8;
        p->early = tutti_realloc(p->early, sizeof *p->early * (size_t)p->early_room);
    }
    p->early[p->nearly++] = number;
    for (int i = 0; i < p->nearly; i++)
        if (p->early[i] == p->landed + 1) {
            p->landed++;
            p->early[i] = p->early[--p->nearly];
            i = -1; /* the next one may stand anywhere */
        }
    write_ripe_words(w, p);
}

static void take_word(const ucx_wire *w, ucx_peer *p, const message_head *h)
{
    if (p->nwords == p->words_room) {
        p->words_room = 2 * p->words_room + 8;
        p->words = tutti_realloc(p->words, sizeof *p->words * (size_t)p->words_room);
    }
    p->words[p->nwords++] = *h;
    write_ripe_words(w, p);
}

static void end_arrival(void *request, ucs_status_t status, size_t length, void *arg)
{
    arrival *a = arg;
    (void)length;
    if (status == UCS_OK)
        count_landing(a->w, &a->w->peers[a->rank], a->number);
    else
        break_peer(a->w, a->rank, status);
    if (request) ucp_request_free(request);
    free(a);
}

static void receive_into_place(ucx_wire *w, const message_head *h, void *to, void *data, size_t length)
{
    arrival *a = tutti_alloc(sizeof *a);
    *a = (arrival){w, h->rank, h->number};
    const ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                        .cb = {.recv_am = end_arrival},
                                        .user_data = a};
    ucs_status_ptr_t request = ucp_am_recv_data_nbx(w->worker, data, to, length, &params);
    if (!UCS_PTR_IS_PTR(request)) end_arrival(NULL, UCS_PTR_STATUS(request), length, a);
}

static ucs_status_t take_message(void *arg, const void *header, size_t header_length, void *data, size_t length,
                                 const ucp_am_recv_param_t *param)
{
    ucx_wire *w = arg;
    message_head h;
    if (header_length != sizeof h) return UCS_OK; /* nobody of ours */
    memcpy(&h, header, sizeof h);
    if (h.rank < 0 || h.rank >= w->wire.nranks || !w->peers[h.rank].endpoint) return UCS_OK;
    if (h.is_word) {
        take_word(w, &w->peers[h.rank], &h);
        return UCS_OK;
    }
    void *to = find_memory(w, h.address, length);
    if (!to) {
        break_peer(w, h.rank, UCS_ERR_INVALID_ADDR); /* its word must not be believed */
        return UCS_OK;
    }
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        receive_into_place(w, &h, to, data, length);
        return UCS_INPROGRESS;
    }
    memcpy(to, data, length);
    count_landing(w, &w->peers[h.rank], h.number);
    return UCS_OK;
}

/* --- life --- */

static tutti_status open_context(ucx_wire *w, tutti_failure *err)
{
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
                                 .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
                                 .estimated_num_eps = (size_t)w->wire.nranks};
    ucs_status_t status = ucp_init(&params, NULL, &w->context);
    if (status != UCS_OK) return fail_ucs(err, "ucp_init", status);
    const ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    status = ucp_worker_create(w->context, &worker, &w->worker);
    if (status != UCS_OK) return fail_ucs(err, "ucp_worker_create", status);
    const ucp_am_handler_param_t handler = {.field_mask =
                                                UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                                                UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                            .id = MESSAGE_ID,
                                            .flags = UCP_AM_FLAG_WHOLE_MSG,
                                            .cb = take_message,
                                            .arg = w};
    status = ucp_worker_set_am_recv_handler(w->worker, &handler);
    if (status != UCS_OK) return fail_ucs(err, "ucp_worker_set_am_recv_handler", status);
    status = ucp_worker_get_address(w->worker, &w->address, &w->address_bytes);
    return status == UCS_OK ? TUTTI_OK : fail_ucs(err, "ucp_worker_get_address", status);
}

static void close_endpoints(ucx_wire *w, double until)
{
    const ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    for (int r = 0; r < w->wire.nranks; r++) {
        if (!w->peers[r].endpoint) continue;
        void *request = ucp_ep_close_nbx(w->peers[r].endpoint, &force);
        if (!UCS_PTR_IS_PTR(request)) continue;
        while (!w->wire.halted && ucp_request_check_status(request) == UCS_INPROGRESS && tutti_clock_s() < until)
            ucp_worker_progress(w->worker);
        ucp_request_free(request);
    }
}

static void flush(ucx_wire *w, double until)
{
    const ucp_request_param_t plain = {0};
    void *request = ucp_worker_flush_nbx(w->worker, &plain);
    if (!UCS_PTR_IS_PTR(request)) return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS && tutti_clock_s() < until)
        if (!ucp_worker_progress(w->worker)) tutti_clock_sleep_s(20e-6);
    ucp_request_free(request);
}

static void close_wire(tutti_wire *base, double flush_s)
{
    ucx_wire *w = (ucx_wire *)base;
    if (w->worker && flush_s > 0 && !base->halted) flush(w, tutti_clock_s() + flush_s);
    if (w->worker) close_endpoints(w, tutti_clock_s() + 0.5);
    if (w->address) ucp_worker_release_address(w->worker, w->address);
    if (w->worker) ucp_worker_destroy(w->worker);
    if (w->context) ucp_cleanup(w->context);
    for (int r = 0; r < base->nranks; r++) free(w->peers[r].early), free(w->peers[r].words);
    free(w->peers);
    free(base->broken);
    free(w);
}

static tutti_status open_wire(int rank, int nranks, tutti_wire **out, tutti_failure *err)
{
    ucx_wire *w = tutti_alloc(sizeof *w);
    w->wire = (tutti_wire){.row = &tutti_wire_ucx, .rank = rank, .nranks = nranks};
    w->wire.broken = tutti_alloc(sizeof *w->wire.broken * (size_t)nranks);
    w->peers = tutti_alloc(sizeof *w->peers * (size_t)nranks);
    tutti_status s = open_context(w, err);
    if (s)
        close_wire(&w->wire, 0);
    else
        *out = &w->wire;
    return s;
}

static const void *own_address(tutti_wire *base, size_t *nbytes)
{
    const ucx_wire *w = (const ucx_wire *)base;
    *nbytes = w->address_bytes;
    return w->address;
}

static tutti_status connect_peer(tutti_wire *base, int rank, const void *address, tutti_failure *err)
{
    ucx_wire *w = (ucx_wire *)base;
    const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                                  UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                                    .address = address,
                                    .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                                    .err_handler = {.cb = on_error, .arg = w}};
    ucs_status_t status = ucp_ep_create(w->worker, &params, &w->peers[rank].endpoint);
    return status == UCS_OK ? TUTTI_OK : fail_ucs(err, "no transport to a peer (UCX_TLS, UCX_NET_DEVICES)", status);
}

/* --- progress --- */

static bool progress(tutti_wire *base)
{
    ucx_wire *w = (ucx_wire *)base;
    int steps = 0;
    while (!base->halted && steps < MOST_STEPS && ucp_worker_progress(w->worker)) steps++;
    return steps > 0;
}

static int descriptor(tutti_wire *base)
{
    int fd = -1;
    return ucp_worker_get_efd(((ucx_wire *)base)->worker, &fd) == UCS_OK ? fd : -1;
}

static bool arm(tutti_wire *base)
{
    return base->halted || ucp_worker_arm(((ucx_wire *)base)->worker) != UCS_ERR_BUSY;
}

const tutti_wire_row tutti_wire_ucx = {
    .name = "ucx",
    .help = "puts over what UCX finds: TCP, verbs, shared memory",
    .can = TUTTI_WIRE_CROSSES_HOSTS,
    .open = open_wire,
    .close = close_wire,
    .address = own_address,
    .connect = connect_peer,
    .enrol = enrol,
    .forget = forget,
    .put = put,
    .put_word = put_word,
    .progress = progress,
    .descriptor = descriptor,
    .arm = arm,
};
