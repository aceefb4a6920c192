/* SPDX-License-Identifier: Apache-2.0 */
/* ucx_wire.c: the wire over UCP: verbs, TCP, shared memory, whatever UCX finds (UCX_TLS and UCX_NET_DEVICES are UCX's
 * own variables).
 *
 * A group has one context and one worker, and an endpoint for each peer, made from worker addresses that the group
 * exchanged. Its messages: ucx_messages.c. */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "ucx_impl.h"

enum { MOST_STEPS = 256 }; /* most steps of progress in one call, because other threads wait for the lock */
static const double MOST_DROP_S = 0.1;

static tutti_status fail_ucs(const ucx_wire *w, const char *what, ucs_status_t status, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_FAILED, "wire ucx: %s: %s", what, w->ucx.ucs_status_string(status));
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    ucx_wire *w = arg;
    for (int r = 0; r < w->wire.nranks; r++)
        if (w->peers[r].endpoint == ep) tutti_ucx_break(w, r, status);
}

/* --- opening and closing the wire --- */

static tutti_status init_context(ucx_wire *w, const ucp_config_t *config, tutti_failure *err)
{
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
                                 .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
                                 .estimated_num_eps = (size_t)w->wire.nranks};
    const ucs_status_t status = w->ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &w->context);
    return status == UCS_OK ? TUTTI_OK : fail_ucs(w, "ucp_init", status, err);
}

/* Returns true if the user sets one of these variables; then UCX's settings are left alone. Otherwise they are changed
 * for this reason: UCX's TCP ends the process if a send from the caller's memory has gone in part and the rest fails:
 * uct_tcp_ep_sendv completes it twice (seen in 1.13; the lines are in 1.12 to 1.21). So a peer that dies while bytes
 * are sent to it would end this process. Bytes that leave by TCP therefore go through UCX's buffers, which are as large
 * as its largest messages: with UCX's own 8 KiB, 64 MB over four hosts took half as long again. */
static bool asks_for_its_own(void)
{
    return getenv("UCX_ZCOPY_THRESH") || getenv("UCX_TCP_TX_SEG_SIZE") || getenv("UCX_TCP_RX_SEG_SIZE");
}

/* Sets a transport's setting, which before 1.17 is named without the transport. A UCX without the setting is only
 * slower. */
static void set_buffers_of_tcp(ucx_wire *w, ucp_config_t *config)
{
    unsigned major, minor, release;
    w->ucx.ucp_get_version(&major, &minor, &release);
    const bool with_transport = major > 1 || minor >= 17;
    (void)w->ucx.ucp_config_modify(config, with_transport ? "TCP_TX_SEG_SIZE" : "TX_SEG_SIZE", "64k");
}

/* Sets UCX's devices by TUTTI_NET_IF, as for every wire, unless UCX's own variable UCX_NET_DEVICES is set. */
static ucs_status_t choose_devices(const ucx_wire *w, ucp_config_t *config)
{
    const char *interfaces = getenv("TUTTI_NET_IF");
    tutti_strbuf devices = {0};
    if (!interfaces || !*interfaces || getenv("UCX_NET_DEVICES")) return UCS_OK;
    tutti_ucx_name_devices(interfaces, &devices);
    const ucs_status_t status = w->ucx.ucp_config_modify(config, "NET_DEVICES", devices.text ? devices.text : "");
    tutti_strbuf_release(&devices);
    return status;
}

static tutti_status init_configured(ucx_wire *w, bool copies, tutti_failure *err)
{
    ucp_config_t *config;
    ucs_status_t status = w->ucx.ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK) return fail_ucs(w, "ucp_config_read", status, err);
    status = choose_devices(w, config);
    if (status == UCS_OK && copies) {
        status = w->ucx.ucp_config_modify(config, "ZCOPY_THRESH", "inf");
        set_buffers_of_tcp(w, config);
    }
    const tutti_status st =
        status == UCS_OK ? init_context(w, config, err) : fail_ucs(w, "ucp_config_modify", status, err);
    w->ucx.ucp_config_release(config);
    return st;
}

static tutti_status open_context(ucx_wire *w, tutti_failure *err)
{
    const tutti_status st = init_configured(w, false, err);
    if (st || asks_for_its_own() || !tutti_ucx_leaves_host_by_tcp(w)) return st;
    w->ucx.ucp_cleanup(w->context);
    w->context = NULL;
    return init_configured(w, true, err);
}

static tutti_status open_worker(ucx_wire *w, tutti_failure *err)
{
    const ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucs_status_t status = w->ucx.ucp_worker_create(w->context, &worker, &w->worker);
    if (status != UCS_OK) return fail_ucs(w, "ucp_worker_create", status, err);
    const ucp_am_handler_param_t handler = {.field_mask =
                                                UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                                                UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                            .id = TUTTI_UCX_MESSAGE,
                                            .flags = UCP_AM_FLAG_WHOLE_MSG,
                                            .cb = tutti_ucx_take,
                                            .arg = w};
    status = w->ucx.ucp_worker_set_am_recv_handler(w->worker, &handler);
    if (status != UCS_OK) return fail_ucs(w, "ucp_worker_set_am_recv_handler", status, err);
    ucp_address_t *address;
    size_t nbytes;
    status = w->ucx.ucp_worker_get_address(w->worker, &address, &nbytes);
    if (status != UCS_OK) return fail_ucs(w, "ucp_worker_get_address", status, err);
    tutti_ucx_fill_card(w, address, nbytes);
    w->ucx.ucp_worker_release_address(w->worker, address);
    return TUTTI_OK;
}

static void close_endpoint(ucx_wire *w, int rank, double until)
{
    ucx_peer *p = &w->peers[rank];
    if (!p->endpoint) return;
    const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                     .flags = p->handles ? UCP_EP_CLOSE_FLAG_FORCE : 0};
    void *request = w->ucx.ucp_ep_close_nbx(p->endpoint, &how);
    p->endpoint = NULL;
    if (!UCS_PTR_IS_PTR(request)) return;
    while (!w->wire.halted && w->ucx.ucp_request_check_status(request) == UCS_INPROGRESS && tutti_clock_s() < until)
        w->ucx.ucp_worker_progress(w->worker);
    w->ucx.ucp_request_free(request);
}

static void close_endpoints(ucx_wire *w, double until)
{
    for (int r = 0; r < w->wire.nranks; r++) close_endpoint(w, r, until);
}

/* Closes the peer's endpoint by force: UCX then ends everything that is under way on it. */
static void drop_peer(tutti_wire *base, int rank)
{
    ucx_wire *w = (ucx_wire *)base;
    char *why = base->broken[rank];
    if (!why[0]) snprintf(why, sizeof *base->broken, "it is gone");
    close_endpoint(w, rank, tutti_clock_s() + MOST_DROP_S);
}

static void flush(ucx_wire *w, double until)
{
    const ucp_request_param_t plain = {0};
    void *request = w->ucx.ucp_worker_flush_nbx(w->worker, &plain);
    if (!UCS_PTR_IS_PTR(request)) return;
    while (w->ucx.ucp_request_check_status(request) == UCS_INPROGRESS && tutti_clock_s() < until)
        if (!w->ucx.ucp_worker_progress(w->worker)) tutti_clock_sleep_s(20e-6);
    w->ucx.ucp_request_free(request);
}

static void close_wire(tutti_wire *base, double flush_s)
{
    ucx_wire *w = (ucx_wire *)base;
    if (w->worker && flush_s > 0 && !base->halted) flush(w, tutti_clock_s() + flush_s);
    if (w->worker) close_endpoints(w, tutti_clock_s() + 0.5);
    if (w->worker) w->ucx.ucp_worker_destroy(w->worker);
    if (w->context) w->ucx.ucp_cleanup(w->context);
    for (int r = 0; r < base->nranks; r++) tutti_wire_order_release(&w->peers[r].order);
    tutti_wire_reads_release(&w->reads);
    free(w->card), free(w->peers), free(base->broken), free(w);
}

static tutti_status open_wire(int rank, int nranks, tutti_wire **out, tutti_failure *err)
{
    ucx_wire *w = tutti_alloc(sizeof *w);
    w->wire = (tutti_wire){.row = &tutti_wire_ucx, .rank = rank, .nranks = nranks};
    w->wire.broken = tutti_alloc(sizeof *w->wire.broken * (size_t)nranks);
    w->peers = tutti_alloc(sizeof *w->peers * (size_t)nranks);
    tutti_status st = tutti_ucx_load(&w->ucx, err);
    if (!st) st = open_context(w, err);
    if (!st) st = open_worker(w, err);
    if (st)
        close_wire(&w->wire, 0);
    else
        *out = &w->wire;
    return st;
}

static tutti_status survey(char out[TUTTI_WIRE_SURVEY], tutti_failure *err)
{
    ucx_wire w = {.wire = {.row = &tutti_wire_ucx, .nranks = 1}};
    unsigned major, minor, release;
    char transports[TUTTI_WIRE_SURVEY - 40];
    tutti_status st = tutti_ucx_load(&w.ucx, err);
    if (!st) st = init_configured(&w, false, err);
    if (st) return st;
    w.ucx.ucp_get_version(&major, &minor, &release);
    tutti_ucx_list_transports(&w, transports, sizeof transports);
    snprintf(out, TUTTI_WIRE_SURVEY, "%u.%u.%u: %s", major, minor, release, transports);
    w.ucx.ucp_cleanup(w.context);
    return TUTTI_OK;
}

static const void *own_address(tutti_wire *base, size_t *nbytes)
{
    const ucx_wire *w = (const ucx_wire *)base;
    *nbytes = w->card_bytes;
    return w->card;
}

static tutti_status connect_peer(tutti_wire *base, int rank, const void *address, tutti_failure *err)
{
    ucx_wire *w = (ucx_wire *)base;
    ucx_peer *p = &w->peers[rank];
    const ucx_card *card = address;
    p->handles = !tutti_ucx_shares_memory(w->card, card);
    const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                                  UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                                    .address = (const ucp_address_t *)(const void *)card->address,
                                    .err_mode = p->handles ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE,
                                    .err_handler = {.cb = on_error, .arg = w}};
    ucs_status_t status = w->ucx.ucp_ep_create(w->worker, &params, &p->endpoint);
    if (status != UCS_OK) return fail_ucs(w, "no transport to a peer (UCX_TLS, UCX_NET_DEVICES)", status, err);
    tutti_ucx_look_at_lanes(w, p);
    return TUTTI_OK;
}

/* Writes "eth0 10.77.0.1, tcp". */
static const char *describe(tutti_wire *base)
{
    ucx_wire *w = (ucx_wire *)base;
    int one_sided = 0, all = 0;
    for (int r = 0; r < base->nranks; r++)
        if (w->peers[r].endpoint) all++, one_sided += w->peers[r].one_sided;
    snprintf(w->words, sizeof w->words, "%s%s%s%s", w->devices, w->devices[0] ? ", " : "", w->transports,
             one_sided == all ? ", one-sided"
             : one_sided      ? ", to some one-sided"
                              : "");
    return w->words;
}

/* --- progress --- */

static bool progress(tutti_wire *base)
{
    ucx_wire *w = (ucx_wire *)base;
    int steps = 0;
    while (!base->halted && steps < MOST_STEPS && w->ucx.ucp_worker_progress(w->worker)) steps++;
    return steps > 0;
}

static int descriptor(tutti_wire *base)
{
    int fd = -1;
    const ucx_wire *w = (const ucx_wire *)base;
    return w->ucx.ucp_worker_get_efd(w->worker, &fd) == UCS_OK ? fd : -1;
}

static bool arm(tutti_wire *base)
{
    const ucx_wire *w = (const ucx_wire *)base;
    return base->halted || w->ucx.ucp_worker_arm(w->worker) != UCS_ERR_BUSY;
}

const tutti_wire_row tutti_wire_ucx = {
    .name = "ucx",
    .help = "puts and reads over what UCX finds: TCP, verbs, shared memory",
    .can = TUTTI_WIRE_CROSSES_HOSTS,
    .open = open_wire,
    .close = close_wire,
    .address = own_address,
    .connect = connect_peer,
    .describe = describe,
    .survey = survey,
    .enrol = tutti_ucx_enrol,
    .forget = tutti_wire_memory_remove,
    .put = tutti_ucx_put,
    .copied = tutti_ucx_copied,
    .put_word = tutti_ucx_put_word,
    .read = tutti_ucx_read,
    .drop = drop_peer,
    .progress = progress,
    .descriptor = descriptor,
    .arm = arm,
};
