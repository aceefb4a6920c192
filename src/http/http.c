/* SPDX-License-Identifier: Apache-2.0 */
/* http.c: the HTTP server on libmicrohttpd: listens, judges requests, collects bodies, sends what routes answer. */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/arena.h"
#include "http_impl.h"

enum { MOST_CONNECTIONS = 512, IDLE_S = 30, HEADER_BYTES = 32768 };
/* The body of a refused request is read up to this size, because a client that still sends does not read. */
enum { MOST_SWALLOWED = 8 * TUTTI_HTTP_MOST_BODY };

static const int CODES[TUTTI_HTTP_CODES] = {200, 201, 202, 204, 304, 400, 401, 403, 404,
                                            405, 409, 413, 415, 421, 422, 500, 503, 0};

/* A request while it comes in. */
typedef struct {
    int route; /* -1 = none */
    int64_t id;
    tutti_role role;
    tutti_strbuf body;
    size_t nswallowed;         /* bytes that were not put into body */
    tutti_http_answer refusal; /* code 200 = it is not refused */
    bool is_answered;
} incoming;

/* ---- answering ---- */

static void count_answer(tutti_http *h, int route, int code, size_t nbytes)
{
    int at = 0;
    while (at < TUTTI_HTTP_CODES - 1 && CODES[at] != code) at++;
    h->counts[route < 0 ? h->options.nroutes : route][at]++;
    h->bytes.out[route < 0 ? TUTTI_HTTP_CONTROL : h->options.routes[route].kind] += nbytes;
}

static void add_headers(struct MHD_Response *r, const tutti_http_answer *a, bool is_page)
{
    MHD_add_response_header(r, "Content-Security-Policy",
                            "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(r, "Cache-Control", is_page ? "no-cache" : "no-store");
    const char *type = a->stream.next ? "text/event-stream" : *a->type ? a->type : "application/json";
    if (a->code != 204) MHD_add_response_header(r, "Content-Type", type);
    if (a->code == 401) MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    for (size_t i = 0; i < sizeof a->header / sizeof a->header[0]; i++) {
        char name[160];
        const char *colon = strchr(a->header[i], ':');
        if (!colon) continue;
        snprintf(name, sizeof name, "%.*s", (int)(colon - a->header[i]), a->header[i]);
        MHD_add_response_header(r, name, colon + 1 + strspn(colon + 1, " "));
    }
}

/* Sends an answer and releases it. */
static enum MHD_Result send_answer(tutti_http *h, struct MHD_Connection *c, int route, tutti_http_answer *a)
{
    const size_t n = a->stream.next ? 0 : a->shared ? a->nshared : a->body.length;
    struct MHD_Response *r;
    if (a->stream.next)
        r = tutti_http_stream_begin(h, &a->stream, c);
    else if (a->shared) /* safe cast: the bytes are only read */
        r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)a->shared, MHD_RESPMEM_PERSISTENT);
    else
        r = MHD_create_response_from_buffer(n, tutti_strbuf_detach(&a->body), MHD_RESPMEM_MUST_FREE);
    tutti_strbuf_release(&a->body);
    if (!r) return MHD_NO;
    add_headers(r, a, route >= 0 && h->options.routes[route].kind == TUTTI_HTTP_PAGE);
    const enum MHD_Result sent = MHD_queue_response(c, (unsigned)a->code, r);
    MHD_destroy_response(r);
    count_answer(h, route, a->code, n);
    return sent;
}

/* ---- judging ---- */

static const char *header_of(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Looks at the headers about a body. True: the request is refused, and the answer says why. */
static bool refuses_body(struct MHD_Connection *c, tutti_http_answer *a)
{
    const char *length = header_of(c, "Content-Length"), *type = header_of(c, "Content-Type");
    const bool has_body = header_of(c, "Transfer-Encoding") || (length && strcmp(length, "0"));
    if (length && strtoull(length, NULL, 10) > TUTTI_HTTP_MOST_BODY)
        tutti_http_refuse(a, 413, "too_large", NULL, "a body has at most %d bytes", TUTTI_HTTP_MOST_BODY);
    else if (has_body && (!type || strncasecmp(type, "application/json", 16) || (type[16] && !strchr("; ", type[16]))))
        tutti_http_refuse(a, 415, "wrong_type", NULL, "a body is of the type application/json");
    return a->code != 200;
}

/* Decides by the headers whether a request may go on. True: it is refused. */
static bool refuses(const tutti_http *h, struct MHD_Connection *c, const char *method, const char *path, incoming *in,
                    tutti_http_answer *a)
{
    const char *host = header_of(c, "Host");
    const tutti_guard *g = h->options.guard;
    in->route = tutti_http_match(&h->options, method, path, &in->id);
    const tutti_role need = in->route < 0 ? TUTTI_ROLE_NONE : h->options.routes[in->route].need;
    in->role = tutti_guard_role(g, header_of(c, "Authorization"), header_of(c, "Cookie"));
    if (!host)
        tutti_http_refuse(a, 400, "no_host", NULL, "the header Host is missing");
    else if (!tutti_guard_knows_host(g, host))
        tutti_http_refuse(a, 421, "wrong_host", "behind a proxy, start the server with --allow-host NAME",
                          "this server is not '%s'", host);
    else if (!tutti_guard_knows_origin(g, header_of(c, "Origin")))
        tutti_http_refuse(a, 403, "foreign_origin", NULL, "pages of other servers may not ask this one");
    else if (in->route == -1)
        tutti_http_refuse(a, 404, "no_such_path", NULL, "nothing is served at %s", path);
    else if (in->route == -2)
        tutti_http_refuse(a, 405, "wrong_method", NULL, "%s does not take %s", path, method);
    else if (in->role == TUTTI_ROLE_NONE && need != TUTTI_ROLE_NONE)
        tutti_http_refuse(a, 401, "no_token", "the file `token` in the server's folder has it",
                          "a token is needed: Authorization: Bearer TOKEN");
    else if (in->role < need)
        tutti_http_refuse(a, 403, "read_only", NULL, "this token may read, and not change anything");
    return a->code != 200 || refuses_body(c, a);
}

static enum MHD_Result refuse(tutti_http *h, struct MHD_Connection *c, incoming *in)
{
    in->is_answered = true;
    return send_answer(h, c, in->route < 0 ? -1 : in->route, &in->refusal);
}

static enum MHD_Result begin_request(tutti_http *h, struct MHD_Connection *c, const char *method, const char *path,
                                     void **state)
{
    incoming *in = *state = tutti_alloc(sizeof *in);
    in->refusal.code = 200;
    const char *length = header_of(c, "Content-Length");
    if (!refuses(h, c, method, path, in, &in->refusal)) return MHD_YES;
    return length && strtoull(length, NULL, 10) > MOST_SWALLOWED ? refuse(h, c, in) : MHD_YES;
}

/* Takes a part of a body. MHD_NO: the connection is closed, because it does not end. */
static enum MHD_Result take_body(tutti_http *h, incoming *in, const char *bytes, size_t nbytes)
{
    if (in->is_answered) return MHD_YES;
    if (in->refusal.code == 200 && in->body.length <= TUTTI_HTTP_MOST_BODY) {
        h->bytes.in[h->options.routes[in->route].kind] += nbytes;
        tutti_strbuf_add(&in->body, bytes, nbytes);
        return MHD_YES;
    }
    in->nswallowed += nbytes;
    return in->nswallowed <= MOST_SWALLOWED ? MHD_YES : MHD_NO;
}

static enum MHD_Result answer_request(tutti_http *h, struct MHD_Connection *c, const char *path, incoming *in)
{
    tutti_http_answer a = {.code = 200};
    const tutti_http_route *route = &h->options.routes[in->route];
    const tutti_http_request r = {
        .path = path,
        .body = in->body.text ? in->body.text : "",
        .nbytes = in->body.length,
        .role = in->role,
        .id = in->id,
        .connection = c,
    };
    in->is_answered = true;
    if (in->body.length > TUTTI_HTTP_MOST_BODY) /* a body in chunks does not say its length before */
        tutti_http_refuse(&a, 413, "too_large", NULL, "a body has at most %d bytes", TUTTI_HTTP_MOST_BODY);
    else
        route->answer(h->options.arg, &r, &a);
    return send_answer(h, c, in->route, &a);
}

static enum MHD_Result take_request(void *arg, struct MHD_Connection *c, const char *path, const char *method,
                                    const char *version, const char *bytes, size_t *nbytes, void **state)
{
    tutti_http *h = arg;
    (void)version;
    if (!*state) return begin_request(h, c, method, path, state);
    incoming *in = *state;
    if (*nbytes) {
        const size_t n = *nbytes;
        *nbytes = 0;
        return take_body(h, in, bytes, n);
    }
    if (in->is_answered) return MHD_YES;
    return in->refusal.code != 200 ? refuse(h, c, in) : answer_request(h, c, path, in);
}

static void end_request(void *arg, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
    incoming *in = *state;
    (void)arg, (void)c, (void)code;
    if (!in) return;
    tutti_strbuf_release(&in->body);
    tutti_strbuf_release(&in->refusal.body);
    free(in);
    *state = NULL;
}

/* ---- the server ---- */

/* Opens the socket that listens. -1: see errno. *port: the port that was asked for, then the one that it has. */
static int listen_at(const char *address, int *port)
{
    struct sockaddr_storage at = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&at;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&at;
    socklen_t n = sizeof *four;
    if (inet_pton(AF_INET, address, &four->sin_addr) == 1) {
        at.ss_family = AF_INET;
        four->sin_port = htons((uint16_t)*port);
    } else if (inet_pton(AF_INET6, address, &six->sin6_addr) == 1) {
        at.ss_family = AF_INET6;
        six->sin6_port = htons((uint16_t)*port);
        n = sizeof *six;
    } else {
        errno = EINVAL;
        return -1;
    }
    const int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, n) || listen(fd, 128) || getsockname(fd, (struct sockaddr *)&at, &n)) {
        const int problem = errno;
        close(fd);
        errno = problem;
        return -1;
    }
    *port = ntohs(at.ss_family == AF_INET ? four->sin_port : six->sin6_port);
    return fd;
}

tutti_status tutti_http_open(const tutti_http_options *options, tutti_http **out, tutti_failure *err)
{
    int port = options->port;
    const int fd = listen_at(options->address, &port);
    if (fd < 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "cannot listen at %s, port %d: %s", options->address, options->port,
                          strerror(errno));
    tutti_http *h = tutti_alloc(sizeof *h);
    h->options = *options;
    h->options.guard->port = h->port = port;
    h->counts = tutti_alloc(sizeof *h->counts * (size_t)(options->nroutes + 1));
    h->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, take_request, h,
                                 MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                 (size_t)HEADER_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
                                 end_request, NULL, MHD_OPTION_END);
    const union MHD_DaemonInfo *info = h->daemon ? MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        if (h->daemon)
            MHD_stop_daemon(h->daemon);
        else
            close(fd);
        free(h->counts);
        free(h);
        return tutti_fail(err, TUTTI_ERR_FAILED, "cannot serve HTTP: libmicrohttpd does not start");
    }
    h->descriptor = info->epoll_fd;
    *out = h;
    return TUTTI_OK;
}

void tutti_http_close(tutti_http *h)
{
    if (!h) return;
    h->is_closing = true;
    tutti_http_wake(h); /* the library asks for it before the daemon stops */
    MHD_run(h->daemon);
    MHD_stop_daemon(h->daemon);
    free(h->counts);
    free(h);
}

int tutti_http_port(const tutti_http *h)
{
    return h->port;
}

int tutti_http_descriptor(const tutti_http *h)
{
    return h->descriptor;
}

double tutti_http_limit(const tutti_http *h, double most)
{
    MHD_UNSIGNED_LONG_LONG ms;
    if (MHD_get_timeout(h->daemon, &ms) != MHD_YES || (double)ms / 1e3 > most) return most;
    return (double)ms / 1e3;
}

void tutti_http_run(tutti_http *h)
{
    MHD_run(h->daemon);
}

void tutti_http_count(const tutti_http *h, void (*take)(void *arg, const char *route, int code, uint64_t n), void *arg)
{
    for (int i = 0; i <= h->options.nroutes; i++)
        for (int k = 0; k < TUTTI_HTTP_CODES; k++)
            if (h->counts[i][k])
                take(arg, i < h->options.nroutes ? h->options.routes[i].path : "", CODES[k], h->counts[i][k]);
}

tutti_http_bytes tutti_http_told(const tutti_http *h)
{
    return h->bytes;
}
