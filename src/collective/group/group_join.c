/* SPDX-License-Identifier: Apache-2.0 */
/* group_join.c: rendezvous at rank 0: everybody says hello, rank 0 compares, all get the table of members or one refusal.
 *
 * A stranger (other cookie) is sent away and does not disturb; a member that disagrees ends the rendezvous for all, after a
 * second in which the others may still arrive and hear why. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/strbuf.h"
#include "group_impl.h"

enum { HELLO_MAX = 1 << 20 };

/* One connection that rank 0 has accepted. */
typedef struct {
    int fd;
    tutti_frame frame;
    bool whole;
} caller;

typedef struct {
    const tutti_group_config *config;
    tutti_hello hello;
    tutti_hello *hellos; /* nranks */
    int listener, mesh_listener;
    caller *callers;
    int ncallers, capacity;
} joining;

static const tutti_hello *caller_hello(const caller *c)
{
    return (const tutti_hello *)(const void *)c->frame.body;
}

static const char *caller_fingerprint(const caller *c)
{
    return c->frame.body + sizeof(tutti_hello);
}

static void send_frame(int fd, uint32_t kind, const void *body, size_t nbytes)
{
    const tutti_frame_head head = {.magic = TUTTI_FRAME_MAGIC, .epoch = 1, .kind = kind, .nbytes = (uint32_t)nbytes};
    tutti_frame_write(fd, &head, body, 5);
}

static void drop_caller(caller *c, const char *why)
{
    if (why) send_frame(c->fd, TUTTI_FRAME_REFUSED, why, strlen(why));
    close(c->fd);
    tutti_frame_release(&c->frame);
    c->fd = -1;
}

static tutti_status open_listener(const tutti_group_config *config, int *out, tutti_failure *err)
{
    if (config->master_fd >= 0) {
        *out = config->master_fd;
        return TUTTI_OK;
    }
    char port[16];
    snprintf(port, sizeof port, "%d", config->master_port);
    struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int problem = getaddrinfo(config->master_addr, port, &want, &found);
    if (problem)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: MASTER_ADDR '%s': %s", config->master_addr,
                          gai_strerror(problem));
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) ||
        bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, 1024)) {
        tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: rank 0 cannot listen on %s port %s: %s", config->master_addr, port,
                   strerror(errno));
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    *out = fd;
    return fd >= 0 ? TUTTI_OK : TUTTI_ERR_RENDEZVOUS;
}

/* --- rank 0 --- */

static void accept_caller(joining *j)
{
    int fd = accept4(j->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    if (j->ncallers == j->capacity) {
        j->capacity = j->capacity ? 2 * j->capacity : 16;
        j->callers = tutti_realloc(j->callers, sizeof *j->callers * (size_t)j->capacity);
    }
    j->callers[j->ncallers++] = (caller){.fd = fd};
}

/* Judges a whole hello. Returns a refusal in err; strangers are dropped here. */
static tutti_status judge_caller(joining *j, caller *c, tutti_failure *err)
{
    tutti_hello *h = (tutti_hello *)(void *)c->frame.body;
    bool ours = c->frame.head.kind == TUTTI_FRAME_HELLO && c->frame.head.nbytes >= sizeof *h &&
                h->protocol == j->hello.protocol && h->cookie == j->hello.cookie;
    if (!ours) {
        drop_caller(c, "join: another job listens here (cookie or protocol differ): choose another MASTER_PORT");
        return TUTTI_OK;
    }
    tutti_hello_terminate(h);
    c->whole = true;
    tutti_status s = tutti_hello_compare(&j->hello, j->config->fingerprint, h, caller_fingerprint(c), err);
    if (s) return s;
    if (h->rank <= 0 || h->rank >= j->hello.nranks)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: host %s, pid %d calls itself rank %d of %d", h->host,
                          h->pid, h->rank, h->nranks);
    if (j->hellos[h->rank].nranks)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                          "join: two processes call themselves rank %d: pid %d and pid %d on %s", h->rank,
                          j->hellos[h->rank].pid, h->pid, h->host);
    j->hellos[h->rank] = *h;
    return TUTTI_OK;
}

static int count_whole(const joining *j)
{
    int n = 0;
    for (int i = 0; i < j->ncallers; i++) n += j->callers[i].fd >= 0 && j->callers[i].whole;
    return n;
}

static tutti_status fail_absent(const joining *j, tutti_failure *err)
{
    tutti_strbuf text = {0};
    for (int r = 1; r < j->hello.nranks; r++)
        if (!j->hellos[r].nranks) tutti_strbuf_printf(&text, "%s%d", text.length ? ", " : "", r);
    tutti_status s =
        tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: rank 0 (host %s) waited %g s on port %d; not arrived: rank %s",
                   j->hello.host, j->config->deadline_s, j->config->master_port, text.text ? text.text : "?");
    tutti_strbuf_release(&text);
    return s;
}

static tutti_status read_callers(joining *j, const struct pollfd *polls, tutti_failure *err)
{
    tutti_status s = TUTTI_OK;
    for (int i = 0; i < j->ncallers; i++) {
        caller *c = &j->callers[i];
        if (c->fd < 0 || c->whole || !polls[i + 1].revents) continue;
        int got = tutti_frame_read(c->fd, &c->frame, HELLO_MAX);
        if (got < 0) drop_caller(c, NULL);
        if (got > 0) {
            tutti_status this = judge_caller(j, c, s ? NULL : err); /* the first refusal is the one that is told */
            if (!s) s = this;
        }
    }
    return s;
}

static tutti_status collect_callers(joining *j, tutti_failure *err)
{
    double until = tutti_clock_s() + j->config->deadline_s;
    tutti_status refused = TUTTI_OK;
    struct pollfd *polls = NULL;
    while (count_whole(j) < j->hello.nranks - 1) {
        double left = until - tutti_clock_s();
        if (left <= 0) break;
        int before = j->ncallers;
        polls = tutti_realloc(polls, sizeof *polls * (size_t)(before + 1));
        polls[0] = (struct pollfd){.fd = j->listener, .events = POLLIN};
        for (int i = 0; i < before; i++) {
            const caller *c = &j->callers[i];
            polls[i + 1] = (struct pollfd){.fd = c->whole ? -1 : c->fd, .events = POLLIN};
        }
        if (poll(polls, (nfds_t)before + 1, left < 1 ? (int)(left * 1e3) + 1 : 1000) <= 0) continue;
        tutti_status s = read_callers(j, polls, refused ? NULL : err);
        if (s && !refused) {
            refused = s;
            if (until > tutti_clock_s() + 1) until = tutti_clock_s() + 1;
        }
        if (polls[0].revents) accept_caller(j);
    }
    free(polls);
    if (refused) return refused;
    return count_whole(j) < j->hello.nranks - 1 ? fail_absent(j, err) : TUTTI_OK;
}

static tutti_status meet_as_zero(tutti_group *g, joining *j, tutti_failure *err)
{
    tutti_failure own = {0};
    j->hellos[0] = j->hello;
    tutti_status s = open_listener(j->config, &j->listener, &own);
    if (!s) s = collect_callers(j, &own);
    for (int i = 0; i < j->ncallers; i++) {
        caller *c = &j->callers[i];
        if (c->fd < 0) continue;
        if (s || !c->whole) {
            drop_caller(c, s ? own.text : NULL);
            continue;
        }
        send_frame(c->fd, TUTTI_FRAME_WELCOME, j->hellos, sizeof *j->hellos * (size_t)j->hello.nranks);
        g->peers[caller_hello(c)->rank].control = c->fd;
        tutti_frame_release(&c->frame);
    }
    if (j->listener >= 0) close(j->listener);
    free(j->callers);
    return s ? tutti_fail(err, s, "%s", own.text) : TUTTI_OK;
}

/* --- the others --- */

static int connect_once(const struct addrinfo *list)
{
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd < 0) continue;
        if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) return fd;
        int problem = errno;
        close(fd);
        errno = problem;
    }
    return -1;
}

static tutti_status call_zero(const joining *j, double until, int *out, tutti_failure *err)
{
    char port[16];
    snprintf(port, sizeof port, "%d", j->config->master_port);
    struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int problem = getaddrinfo(j->config->master_addr, port, &want, &found);
    if (problem)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: MASTER_ADDR '%s': %s", j->config->master_addr,
                          gai_strerror(problem));
    int fd;
    while ((fd = connect_once(found)) < 0 && tutti_clock_s() < until) tutti_clock_sleep_s(0.01);
    problem = errno;
    freeaddrinfo(found);
    if (fd < 0)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: rank %d cannot reach rank 0 at %s port %s within %g s: %s",
                          j->config->rank, j->config->master_addr, port, j->config->deadline_s, strerror(problem));
    *out = fd;
    return TUTTI_OK;
}

static tutti_status hear_zero(const joining *j, int fd, double until, tutti_failure *err)
{
    tutti_frame f = {0};
    int got;
    while ((got = tutti_frame_read(fd, &f, HELLO_MAX)) == 0) {
        double left = until + 2 - tutti_clock_s(); /* rank 0 knows better who is missing: let it speak first */
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (left <= 0 || poll(&wait, 1, (int)(left * 1e3) + 1) < 0) break;
    }
    tutti_status s;
    size_t table = sizeof *j->hellos * (size_t)j->hello.nranks;
    if (got > 0 && f.head.kind == TUTTI_FRAME_WELCOME && f.head.nbytes == table) {
        memcpy(j->hellos, f.body, table);
        s = TUTTI_OK;
    } else if (got > 0 && f.head.kind == TUTTI_FRAME_REFUSED) {
        s = tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "%s", f.body);
    } else {
        s = tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: rank %d: rank 0 at %s port %d %s", j->config->rank,
                       j->config->master_addr, j->config->master_port,
                       got < 0 ? "hung up, or something else listens there" : "did not answer before the deadline");
    }
    tutti_frame_release(&f);
    return s;
}

static tutti_status meet_as_other(tutti_group *g, joining *j, tutti_failure *err)
{
    double until = tutti_clock_s() + j->config->deadline_s;
    int fd = -1;
    tutti_status s = call_zero(j, until, &fd, err);
    if (s) return s;
    size_t length = strlen(j->config->fingerprint);
    char *body = tutti_alloc(sizeof j->hello + length + 1);
    memcpy(body, &j->hello, sizeof j->hello);
    memcpy(body + sizeof j->hello, j->config->fingerprint, length);
    send_frame(fd, TUTTI_FRAME_HELLO, body, sizeof j->hello + length);
    free(body);
    s = hear_zero(j, fd, until, err);
    if (s) {
        close(fd);
        return s;
    }
    g->peers[0].control = fd;
    return TUTTI_OK;
}

/* --- all --- */

static tutti_status open_own(tutti_group *g, joining *j, tutti_failure *err)
{
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    g->peers[g->rank].bell = bell;
    j->mesh_listener = tutti_mesh_listen(j->hello.mesh_name, j->hello.nranks);
    if (bell >= 0 && j->mesh_listener >= 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "join: rank %d: cannot open its local sockets: %s", g->rank,
                      strerror(errno));
}

static tutti_status meet(tutti_group *g, joining *j, tutti_failure *err)
{
    tutti_status s = open_own(g, j, err);
    if (s) return s;
    s = g->rank == 0 ? meet_as_zero(g, j, err) : meet_as_other(g, j, err);
    if (s) {
        close(j->mesh_listener);
        return s;
    }
    for (int r = 0; r < g->nranks; r++) {
        tutti_hello_terminate(&j->hellos[r]);
        tutti_group_name_peer(g, r, j->hellos[r].host, j->hellos[r].pid);
        if (g->peers[r].control >= 0) tutti_star_set_options(g->peers[r].control);
    }
    tutti_hello_number_hosts(g, j->hellos);
    g->spin = g->nmachine <= (j->config->ncores > 0 ? j->config->ncores : tutti_group_count_cores());
    s = tutti_mesh_connect(g, j->mesh_listener, j->hellos, err);
    if (!s) s = tutti_region_create(g, "board", sizeof(tutti_board), &g->board_region, err);
    for (int r = 0; !s && r < g->nranks; r++) g->peers[r].board = tutti_region_base(g->board_region, r);
    if (!s) s = tutti_group_open_wire(g, j->hello.wire, err);
    return s;
}

tutti_status tutti_group_join(const tutti_group_config *config, tutti_group **out, tutti_failure *err)
{
    if (config->nranks < 1 || config->rank < 0 || config->rank >= config->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "join: rank %d of %d ranks", config->rank, config->nranks);
    if (strlen(config->fingerprint) > HELLO_MAX / 2)
        return tutti_fail(err, TUTTI_ERR_USAGE, "join: the fingerprint has %zu bytes, at most %d",
                          strlen(config->fingerprint), HELLO_MAX / 2);
    const char *wire = getenv("TUTTI_WIRE");
    if (wire && *wire && !tutti_wire_find(wire, err)) return TUTTI_ERR_USAGE;
    tutti_group *g = tutti_group_alloc(config->rank, config->nranks, config->deadline_s);
    joining j = {.config = config, .listener = -1, .mesh_listener = -1};
    g->cookie = config->cookie;
    g->spin = config->nranks == 1;
    tutti_hello_fill(&j.hello, config);
    tutti_group_name_peer(g, g->rank, j.hello.host, j.hello.pid);
    tutti_status s = TUTTI_OK;
    if (config->nranks > 1) {
        j.hellos = tutti_alloc(sizeof *j.hellos * (size_t)config->nranks);
        s = meet(g, &j, err);
        free(j.hellos);
    } else if (config->master_fd >= 0) {
        close(config->master_fd);
    }
    if (s)
        tutti_group_leave(g);
    else
        *out = g;
    return s;
}
