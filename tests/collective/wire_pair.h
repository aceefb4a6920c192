/* SPDX-License-Identifier: Apache-2.0 */
/* wire_pair.h: both ends of the wire tcp in one process, driven by one thread, and a proxy between them that does to
 * the bytes what networks do: hands on a few at a time, flips a bit, resets, stops. After testing.h. */
#ifndef TUTTI_TESTS_WIRE_PAIR_H
#define TUTTI_TESTS_WIRE_PAIR_H

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collective/wire/tcp_impl.h"

enum { PAIR_BYTES = 1 << 22, PAIR_WORDS = 512, MOST_LINKS = 32 };

/* --- the proxy --- */

/* One direction of a connection. 0: from the dialer. */
typedef struct {
    char bytes[1 << 16];
    size_t held, seen; /* seen: bytes that have come this way */
    bool ended;
} proxy_way;

typedef struct {
    int fd[2]; /* of the dialer, of the listener; -1: closed */
    proxy_way way[2];
} proxy_link;

typedef struct {
    int listener, port, target;
    size_t most;                /* bytes at a time; 0: as they come */
    size_t flip_from, flip_bit; /* of the dialer's bytes: that bit of that byte, and of no other; flip_from 0: none */
    size_t reset_after;         /* of the dialer's bytes; 0: never */
    int nlinks, only;           /* only: the link that faults are done to */
    proxy_link *links;
} proxy;

static inline int loopback_socket(int port, bool listens)
{
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (listens)
        assert_true(!bind(fd, (const struct sockaddr *)&a, sizeof a) && !listen(fd, 64));
    else
        assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static inline void proxy_open(proxy *p, int target)
{
    struct sockaddr_in a;
    socklen_t length = sizeof a;
    *p = (proxy){.listener = loopback_socket(0, true), .target = target};
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&a, &length), 0);
    p->port = ntohs(a.sin_port);
    p->links = calloc(MOST_LINKS, sizeof *p->links);
}

static inline void proxy_reset(proxy_link *l)
{
    const struct linger now = {1, 0};
    for (int i = 0; i < 2; i++) {
        if (l->fd[i] < 0) continue;
        setsockopt(l->fd[i], SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(l->fd[i]);
        l->fd[i] = -1;
    }
}

static inline void proxy_close(proxy *p)
{
    for (int i = 0; i < p->nlinks; i++)
        for (int k = 0; k < 2; k++)
            if (p->links[i].fd[k] >= 0) close(p->links[i].fd[k]);
    close(p->listener);
    free(p->links);
}

static inline bool is_there(int fd, short what)
{
    struct pollfd wait = {.fd = fd, .events = what};
    return poll(&wait, 1, 0) > 0;
}

static inline void proxy_harm(const proxy *p, proxy_way *w, size_t from, size_t n)
{
    if (p->flip_from && p->flip_from >= from && p->flip_from < from + n)
        w->bytes[p->flip_from - from] ^= (char)(1 << p->flip_bit);
}

static inline void proxy_pump_way(proxy *p, proxy_link *l, int from)
{
    proxy_way *w = &l->way[from];
    const bool harmed = l == &p->links[p->only] && from == 0;
    if (w->held == 0 && !w->ended && is_there(l->fd[from], POLLIN)) {
        const size_t room = p->most ? p->most : sizeof w->bytes;
        const ssize_t n = recv(l->fd[from], w->bytes, room, MSG_DONTWAIT);
        w->ended = n == 0 || (n < 0 && errno != EAGAIN);
        if (w->ended) shutdown(l->fd[!from], SHUT_WR);
        if (n > 0 && harmed) proxy_harm(p, w, w->seen, (size_t)n);
        if (n > 0) w->held = (size_t)n, w->seen += (size_t)n;
        if (harmed && p->reset_after && w->seen >= p->reset_after) {
            proxy_reset(l);
            return;
        }
    }
    if (w->held > 0) {
        const ssize_t n = send(l->fd[!from], w->bytes, w->held, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) memmove(w->bytes, w->bytes + n, w->held -= (size_t)n);
    }
}

static inline void proxy_pump(proxy *p)
{
    while (p->nlinks < MOST_LINKS && is_there(p->listener, POLLIN)) {
        proxy_link *l = &p->links[p->nlinks++];
        l->fd[0] = accept(p->listener, NULL, NULL);
        l->fd[1] = loopback_socket(p->target, false);
    }
    for (int i = 0; i < p->nlinks; i++)
        for (int from = 0; from < 2; from++)
            if (p->links[i].fd[0] >= 0) proxy_pump_way(p, &p->links[i], from);
}

/* --- the pair --- */

typedef struct {
    tutti_wire *wire[2];
    tcp_wire *tcp[2];
    char *memory[2]; /* PAIR_WORDS words, then bytes */
    tutti_wire_memory *enrolled[2];
    proxy *between; /* NULL: nothing */
} pair;

static inline void pair_open(pair *p)
{
    tutti_failure err = {0};
    memset(p, 0, sizeof *p);
    for (int r = 0; r < 2; r++) {
        if (tutti_wire_tcp.open(r, 2, &p->wire[r], &err)) fail_msg("%s", err.text);
        p->tcp[r] = (tcp_wire *)p->wire[r];
        p->memory[r] = calloc(1, PAIR_BYTES);
        assert_int_equal(tutti_wire_tcp.enrol(p->wire[r], p->memory[r], PAIR_BYTES, &p->enrolled[r], &err), TUTTI_OK);
    }
}

static inline void pair_turn(pair *p)
{
    for (int r = 0; r < 2; r++)
        if (p->wire[r]) tutti_wire_tcp.progress(p->wire[r]);
    if (p->between) proxy_pump(p->between);
}

/* Rank 1 dials rank 0 (whose port is another's if something stands between), and both are driven until that is done. */
static inline bool pair_connect(pair *p, double limit_s)
{
    tutti_failure err = {0};
    tcp_card zero = p->tcp[0]->card;
    const char *why;
    if (p->between) zero.port = (uint32_t)p->between->port;
    if (tutti_wire_tcp.connect(p->wire[1], 0, &zero, &err)) fail_msg("%s", err.text);
    if (tutti_wire_tcp.connect(p->wire[0], 1, &p->tcp[1]->card, &err)) fail_msg("%s", err.text);
    const double until = tutti_clock_s() + limit_s;
    while (tutti_wire_tcp.awaited(p->wire[0], &why) >= 0 || tutti_wire_tcp.awaited(p->wire[1], &why) >= 0) {
        if (tutti_clock_s() > until) return false;
        pair_turn(p);
    }
    return true;
}

static inline void pair_close(pair *p)
{
    for (int r = 0; r < 2; r++) {
        if (p->enrolled[r]) tutti_wire_tcp.forget(p->enrolled[r]);
        if (p->wire[r]) tutti_wire_tcp.close(p->wire[r], 0);
        free(p->memory[r]);
    }
}

static inline char *bytes_of(const pair *p, int rank)
{
    return p->memory[rank] + PAIR_WORDS * sizeof(uint64_t);
}

static inline uint64_t address_of(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

static inline uint64_t word_of(const pair *p, int rank, int k)
{
    uint64_t word;
    memcpy(&word, p->memory[rank] + 8 * k, sizeof word);
    return word;
}

static inline void put_word(pair *p, int from, int k, uint64_t word)
{
    tutti_put_release(tutti_wire_tcp.put_word(p->wire[from], !from, address_of(p->memory[!from] + 8 * k), word));
}

/* Until word k of `rank` is there; false: not within the limit, or the connection broke. */
static inline bool await_word(pair *p, int rank, int k, uint64_t word)
{
    const double until = tutti_clock_s() + 20;
    while (word_of(p, rank, k) < word) {
        if (tutti_clock_s() > until || p->wire[0]->broken[1][0] || p->wire[1]->broken[0][0]) return false;
        pair_turn(p);
    }
    return true;
}

static inline char content(size_t i)
{
    return (char)(i * 31 + i / 4093);
}

/* Rank `from` puts n bytes at `at` and says so; they are there when the word is. */
static inline void send_and_check(pair *p, int from, size_t at, size_t n, uint64_t turn)
{
    char *source = malloc(n + 1), *there = bytes_of(p, !from) + at;
    for (size_t i = 0; i < n; i++) source[i] = content(i + turn);
    memset(there, 0, n);
    tutti_put *f = tutti_wire_tcp.put(p->wire[from], !from, address_of(there), source, n, true);
    put_word(p, from, from, turn);
    assert_true(await_word(p, !from, from, turn));
    for (size_t i = 0; i < n; i++)
        if (there[i] != content(i + turn)) fail_msg("byte %zu of %zu is wrong", i, n);
    const double until = tutti_clock_s() + 5;
    while (f && f->flying && tutti_clock_s() < until) pair_turn(p);
    assert_true(!f || f->over);
    tutti_put_release(f);
    free(source);
}

#endif
