/* SPDX-License-Identifier: Apache-2.0 */
/* talk.c: messages of one size between agents, over TCP connections that never block. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/file.h"
#include "../../base/host/build_id.h"
#include "agents_impl.h"

/* Makes the socket raise SIGIO when data or a connection comes; the signal wakes the launcher. */
static void make_signal(int fd)
{
    const int on = 1;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETOWN, getpid());
    (void)fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

tutti_status tutti_agent_listen(tutti_agents *a, tutti_failure *err)
{
    const tutti_agents_options *o = &a->options;
    const bool is_anywhere = !o->leads || !*o->address;
    struct sockaddr_storage name = {0};
    socklen_t size = sizeof name;
    tutti_address address = {.host = ""};
    tutti_status st = TUTTI_OK;
    if (!is_anywhere) st = tutti_address_read(o->address, &address, err);
    if (st) return st;
    if (is_anywhere) snprintf(address.host, sizeof address.host, "0.0.0.0"), address.is_number = true;
    if (o->leads && o->listener >= 0)
        a->listeners[0] = o->listener, a->nlisteners = 1;
    else
        a->nlisteners = tutti_address_listen(&address, o->leads ? o->port : 0, a->listeners);
    if (a->nlisteners < 1) {
        a->nlisteners = 0;
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "agents: cannot listen on %s port %d: %s", address.host,
                          o->leads ? o->port : 0, strerror(errno));
    }
    if (getsockname(a->listeners[0], (struct sockaddr *)&name, &size))
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "agents: the port is unknown: %s", strerror(errno));
    a->port = ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
                                               : ((struct sockaddr_in *)&name)->sin_port);
    for (int i = 0; i < a->nlisteners; i++) make_signal(a->listeners[i]);
    return TUTTI_OK;
}

/* Waits for the end of an attempt to connect. Returns 0, or its errno. */
static int await_connection(int fd, double limit_s)
{
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    int problem = ETIMEDOUT;
    socklen_t size = sizeof problem;
    if (poll(&writable, 1, (int)(limit_s * 1e3) + 1) > 0) (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    return problem;
}

bool tutti_agent_connect(const char *address, int port, double limit_s, tutti_agent_talk *out, bool *refused)
{
    tutti_address a;
    struct addrinfo *found = NULL;
    *out = (tutti_agent_talk){.fd = -1};
    *refused = false;
    if (tutti_address_read(address, &a, NULL) || tutti_address_resolve(&a, port, &found)) return false;
    for (const struct addrinfo *i = found; i && out->fd < 0; i = i->ai_next) {
        const int fd = socket(i->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int problem = fd < 0 || (connect(fd, i->ai_addr, i->ai_addrlen) && errno != EINPROGRESS) ? errno : 0;
        if (!problem) problem = await_connection(fd, limit_s);
        *refused |= problem == ECONNREFUSED;
        if (!problem)
            out->fd = fd;
        else if (fd >= 0)
            close(fd);
    }
    freeaddrinfo(found);
    if (out->fd >= 0) make_signal(out->fd);
    return out->fd >= 0;
}

bool tutti_agent_accept(const tutti_agents *a, tutti_agent_caller *out)
{
    struct sockaddr_storage from = {0};
    for (int i = 0; i < a->nlisteners; i++) {
        socklen_t size = sizeof from;
        const int fd = accept4(a->listeners[i], (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
        if (fd < 0) continue;
        make_signal(fd);
        *out = (tutti_agent_caller){.talk.fd = fd};
        if (getnameinfo((struct sockaddr *)&from, size, out->address, sizeof out->address, NULL, 0, NI_NUMERICHOST))
            out->address[0] = '\0';
        return true;
    }
    return false;
}

void tutti_agent_hang_up(tutti_agent_talk *t)
{
    if (t->fd >= 0) close(t->fd);
    t->fd = -1;
    t->nread = 0;
}

static void put(tutti_agent_talk *t, const tutti_agent_message *m)
{
    /* the other side reads all the time; with a full buffer it counts as lost */
    if (t->fd >= 0 && !tutti_file_send_all(t->fd, m, sizeof *m)) tutti_agent_hang_up(t);
}

void tutti_agent_send(const tutti_agents *a, tutti_agent_talk *t, tutti_agent_message *m)
{
    m->cookie = a->options.cookie;
    m->build = tutti_build_id();
    m->size = sizeof *m;
    put(t, m);
}

void tutti_agent_refuse(const tutti_agents *a, tutti_agent_talk *t, const char *why)
{
    const tutti_agent_message *from = &t->in.message;
    tutti_agent_message m = {.cookie = from->cookie, /* the cookie of the receiver's own run, because it hangs up on any
                                                      * other */
                             .build = from->build,
                             .kind = TUTTI_AGENT_ORDER,
                             .size = sizeof m,
                             .left = a->left,
                             .since_s = -1,
                             .order = {.kind = TUTTI_ORDER_END, .code = TUTTI_ERR_RENDEZVOUS, .listener = -1}};
    snprintf(m.words, sizeof m.words, "the leading agent refuses this agent: %s", why);
    put(t, &m);
    tutti_agent_hang_up(t);
}

int tutti_agent_receive(const tutti_agents *a, tutti_agent_talk *t)
{
    if (t->fd < 0) return -1;
    if (t->nread == sizeof t->in) t->nread = 0; /* the caller has used the last message: begin a new one */
    while (t->nread < sizeof t->in) {
        const ssize_t n = recv(t->fd, t->in.bytes + t->nread, sizeof t->in - t->nread, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
        if (n <= 0) {
            tutti_agent_hang_up(t);
            return -1;
        }
        t->nread += (size_t)n;
    }
    tutti_agent_message *m = &t->in.message;
    m->address[sizeof m->address - 1] = m->words[sizeof m->words - 1] = '\0';
    if (m->cookie == a->options.cookie && m->build == tutti_build_id() && m->size == sizeof *m) return 1;
    if (m->kind == TUTTI_AGENT_HELLO && m->build == tutti_build_id() && m->size == sizeof *m)
        tutti_agent_refuse(a, t, "it belongs to another run");
    else
        tutti_agent_hang_up(t); /* the sender is another build of this program, or no agent at all */
    return -1;
}
