/* SPDX-License-Identifier: Apache-2.0 */
/* http_call.c: connects, sends a request and reads its answer; the socket never blocks, and each wait ends at the
 * deadline. */
#include "http_call.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../collective/launch/address.h"
#include "port_owner.h"

/* Waits until the socket can be read or written. */
static tutti_status wait_for(int fd, short events, double until, tutti_failure *err)
{
    for (;;) {
        const double left = until - tutti_clock_s();
        struct pollfd p = {fd, events, 0};
        const int n = left > 0 ? poll(&p, 1, (int)ceil(1000 * fmin(left, 3600))) : 0;
        if (n > 0) return TUTTI_OK;
        if (n == 0) return tutti_fail(err, TUTTI_ERR_PEER, "the deadline passed");
        if (errno != EINTR) return tutti_fail(err, TUTTI_ERR_FAILED, "poll: %s", strerror(errno));
    }
}

static tutti_status connect_to(const struct addrinfo *a, double until, int *out, tutti_failure *err)
{
    int error = 0;
    socklen_t size = sizeof error;
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return tutti_fail(err, TUTTI_ERR_PEER, "socket: %s", strerror(errno));
    tutti_status st = TUTTI_OK;
    if (connect(fd, a->ai_addr, a->ai_addrlen)) {
        error = errno;
        if (error == EINPROGRESS) {
            st = wait_for(fd, POLLOUT, until, err);
            if (!st && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size)) error = errno;
        }
        if (!st && error) st = tutti_fail(err, TUTTI_ERR_PEER, "%s", strerror(error));
    }
    if (st)
        close(fd);
    else
        *out = fd;
    return st;
}

static tutti_status read_url(const char *url, tutti_address *out, tutti_failure *err)
{
    char host[TUTTI_ADDRESS_HOST + 16];
    const size_t begin = strlen("http://"), n = strlen(url);
    const size_t length = n > begin ? strcspn(url + begin, "/") : 0;
    const bool is_http = !strncasecmp(url, "http://", begin) && length && length < sizeof host;
    if (!strncasecmp(url, "https:", 6))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "%s: this program speaks no TLS; reach the server through `ssh -L` (docs/serving.md)", url);
    if (is_http) snprintf(host, sizeof host, "%.*s", (int)length, url + begin);
    if (!is_http || n > begin + length + 1 || tutti_address_read(host, out, NULL))
        return tutti_fail(err, TUTTI_ERR_USAGE, "'%s' is not an address of the form http://HOST:PORT", url);
    if (!out->port) out->port = 80;
    return TUTTI_OK;
}

static tutti_status open_connection(const tutti_address *a, double until, int *fd, tutti_failure *err)
{
    struct addrinfo *list = NULL;
    const int error = tutti_address_resolve(a, a->port, &list);
    if (error) return tutti_fail(err, TUTTI_ERR_PEER, "%s: %s", a->host, gai_strerror(error));
    tutti_status st = tutti_fail(err, TUTTI_ERR_PEER, "%s: has no address", a->host);
    for (const struct addrinfo *at = list; at && st; at = at->ai_next) st = connect_to(at, until, fd, err);
    freeaddrinfo(list);
    return st;
}

static void write_request(const tutti_http_call *c, const tutti_address *a, tutti_strbuf *out)
{
    const bool is_six = strchr(a->host, ':') != NULL;
    tutti_strbuf_printf(out,
                        "%s %s HTTP/1.1\r\nHost: %s%s%s:%d\r\nAuthorization: Bearer %s\r\nConnection: close\r\n"
                        "Accept: application/json\r\n",
                        c->method, c->path, is_six ? "[" : "", a->host, is_six ? "]" : "", a->port, c->token);
    if (c->key) tutti_strbuf_printf(out, "Idempotency-Key: %s\r\n", c->key);
    if (c->body) tutti_strbuf_puts(out, "Content-Type: application/json\r\n");
    if (c->body || !strcmp(c->method, "POST"))
        tutti_strbuf_printf(out, "Content-Length: %zu\r\n", c->body ? strlen(c->body) : 0);
    tutti_strbuf_puts(out, "\r\n");
    if (c->body) tutti_strbuf_puts(out, c->body);
}

/* Sends all. A server that has refused the request closes before it has read the body: what it said is still to be
 * read, so this is no failure here. */
static tutti_status send_all(int fd, const tutti_strbuf *text, double until, tutti_failure *err)
{
    for (size_t sent = 0; sent < text->length;) {
        const ssize_t n = send(fd, text->text + sent, text->length - sent, MSG_NOSIGNAL);
        if (n >= 0) {
            sent += (size_t)n;
            continue;
        }
        if (errno == EPIPE || errno == ECONNRESET) return TUTTI_OK;
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return tutti_fail(err, TUTTI_ERR_PEER, "%s", strerror(errno));
        const tutti_status st = wait_for(fd, POLLOUT, until, err);
        if (st) return st;
    }
    return TUTTI_OK;
}

static tutti_status receive_all(int fd, double until, tutti_reply *out, tutti_failure *err)
{
    char bytes[16384];
    while (!tutti_reply_is_done(out)) {
        tutti_status st = wait_for(fd, POLLIN, until, err);
        if (st) return st;
        const ssize_t n = recv(fd, bytes, sizeof bytes, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n < 0) return tutti_fail(err, TUTTI_ERR_PEER, "%s", strerror(errno));
        st = n ? tutti_reply_take(out, bytes, (size_t)n, err) : tutti_reply_end(out, err);
        if (st) return st;
    }
    return TUTTI_OK;
}

tutti_status tutti_http_call_make(const tutti_http_call *call, tutti_reply *out, bool *was_sent, tutti_failure *err)
{
    const double until = tutti_clock_s() + call->deadline_s;
    tutti_address address;
    tutti_strbuf request = {0};
    int fd = -1;
    *was_sent = false;
    tutti_status st = read_url(call->url, &address, err);
    if (!st && call->is_own) st = tutti_port_owner_check(address.port, err);
    if (!st) st = open_connection(&address, until, &fd, err);
    if (st) return st;
    *was_sent = true;
    tutti_reply_begin(out, call->max_reply);
    write_request(call, &address, &request);
    st = send_all(fd, &request, until, err);
    if (!st) st = receive_all(fd, until, out, err);
    tutti_strbuf_release(&request);
    close(fd);
    if (st) tutti_reply_release(out);
    return st;
}
