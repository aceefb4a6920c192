/* SPDX-License-Identifier: Apache-2.0 */
/* test_agents.c: several agents in one process, whose ranks are only pretended: which of them form an epoch after each
 * kind of loss, with which ranks, and which of them end. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testing.h"

#include "base/clock.h"
#include "collective/agents/agents.h"

enum { MOST = 5 };

/* A host: its agent, and what its pretended ranks do. */
typedef struct {
    tutti_agents *agents; /* NULL = the host is gone */
    tutti_agents_options options;
    tutti_launch_facts facts;
    tutti_launch_order last; /* the last order that was not to wait */
    int base, nranks, world;
    bool ended;
} host;

typedef struct {
    host hosts[MOST];
    int n;
    char lock[64];
    char address[TUTTI_AGENTS_TEXT];
    int port;
    uint64_t cookie;
} cluster;

static bool permits(void *arg, int nranks)
{
    (void)arg;
    return nranks != 3; /* as a job whose batch three ranks do not divide */
}

static void add(cluster *c, int nlocal, int min, int max)
{
    host *h = &c->hosts[c->n];
    tutti_failure err = {0};
    *h = (host){.facts = {.lost = -1, .left = true, .idle = true}};
    h->options = (tutti_agents_options){.leads = c->n == 0,
                                        .address = c->n ? c->address : "127.0.0.1",
                                        .port = c->port,
                                        .cookie = c->cookie,
                                        .nlocal = nlocal,
                                        .min = min,
                                        .max = max,
                                        .max_restarts = 9,
                                        .deadline_s = 0.6,
                                        .lock_path = c->lock,
                                        .listener = -1,
                                        .permits = permits};
    if (tutti_agents_open(&h->options, &h->agents, &err)) fail_msg("%s", err.text);
    if (c->n++ == 0) {
        char text[TUTTI_AGENTS_TEXT];
        tutti_agents_join_text(h->agents, text);
        assert_int_equal(tutti_agents_read_text(text, c->address, &c->port, &c->cookie, &err), TUTTI_OK);
    }
}

static void make(cluster *c, int n, int nlocal, int min, int max)
{
    memset(c, 0, sizeof *c);
    snprintf(c->lock, sizeof c->lock, "/tmp/test_agents_%lld", (long long)tutti_clock_ns());
    c->cookie = 4711;
    for (int i = 0; i < n; i++) add(c, nlocal, min, max);
}

static void drop(cluster *c)
{
    for (int i = 0; i < c->n; i++) tutti_agents_close(c->hosts[i].agents);
    (void)unlink(c->lock);
}

/* The host dies: its sockets close, and nobody answers there. */
static void lose_host(cluster *c, int i)
{
    tutti_agents_close(c->hosts[i].agents);
    c->hosts[i].agents = NULL;
}

static void follow(host *h, const tutti_launch_order *o)
{
    tutti_launch_facts *f = &h->facts;
    if (o->kind == TUTTI_ORDER_NEXT && o->epoch > f->epoch) {
        assert_true(f->left); /* no rank may be in two epochs */
        if (o->base == 0) assert_true(o->listener >= 0);
        *f = (tutti_launch_facts){.epoch = o->epoch, .lost = -1, .plays = o->nranks > 0, .idle = o->nranks == 0};
        h->base = o->base, h->nranks = o->nranks, h->world = o->world;
    }
    if (o->kind == TUTTI_ORDER_BREAK && o->epoch == f->epoch) f->broken = f->left = true, f->plays = false;
    if (o->kind == TUTTI_ORDER_SAVE && o->epoch == f->epoch) f->left = f->idle = true, f->plays = false;
    if (o->kind == TUTTI_ORDER_FINISH) f->idle = true;
    if (o->kind == TUTTI_ORDER_END) h->ended = true;
    if (o->kind != TUTTI_ORDER_WAIT) h->last = *o;
}

static void turn(cluster *c)
{
    for (int i = 0; i < c->n; i++) {
        host *h = &c->hosts[i];
        tutti_launch_order o = {.kind = TUTTI_ORDER_WAIT, .listener = -1};
        if (!h->agents || h->ended) continue;
        tutti_agents_decide(h->agents, &h->facts, &o);
        follow(h, &o);
    }
    tutti_clock_sleep_s(0.001);
}

/* True if all hosts that are left are in the epoch, or in a later one. */
static bool all_in(const cluster *c, uint32_t epoch)
{
    for (int i = 0; i < c->n; i++)
        if (c->hosts[i].agents && !c->hosts[i].ended && c->hosts[i].facts.epoch < epoch) return false;
    return true;
}

/* Waits for this epoch; an agent that takes over skips numbers. */
static void until_epoch(cluster *c, uint32_t epoch)
{
    const double until = tutti_clock_s() + 10;
    while (!all_in(c, epoch) && tutti_clock_s() < until) turn(c);
    if (!all_in(c, epoch)) fail_msg("no epoch %u", epoch);
}

static void until_ended(cluster *c, int i, int code)
{
    const double until = tutti_clock_s() + 10;
    while (!c->hosts[i].ended && tutti_clock_s() < until) turn(c);
    assert_true(c->hosts[i].ended);
    assert_int_equal(c->hosts[i].last.code, code);
}

static void expect(const cluster *c, int i, int base, int nranks, int world)
{
    assert_int_equal(c->hosts[i].base, base);
    assert_int_equal(c->hosts[i].nranks, nranks);
    assert_int_equal(c->hosts[i].world, world);
}

static void lose_rank(cluster *c, int i, int lost)
{
    c->hosts[i].facts.broken = c->hosts[i].facts.left = true;
    c->hosts[i].facts.lost = lost;
}

/* ---- tests ---- */

static void a_lost_rank_brings_the_next_epoch_with_the_same_places(void **state)
{
    cluster c;
    (void)state;
    make(&c, 2, 2, 4, 4);
    until_epoch(&c, 1);
    expect(&c, 0, 0, 2, 4);
    expect(&c, 1, 2, 2, 4);
    lose_rank(&c, 1, 3);
    until_epoch(&c, 2);
    expect(&c, 1, 2, 2, 4);
    assert_int_equal(c.hosts[0].last.lost, 3);
    assert_int_equal(c.hosts[1].last.lost, 3);
    c.hosts[0].facts.done = true;
    until_ended(&c, 0, TUTTI_OK);
    until_ended(&c, 1, TUTTI_OK);
    drop(&c);
}

static void a_lost_host_leaves_as_many_ranks_as_the_job_permits(void **state)
{
    cluster c;
    (void)state;
    make(&c, 4, 1, 1, 4);
    until_epoch(&c, 1);
    lose_host(&c, 2);
    until_epoch(&c, 2);
    expect(&c, 0, 0, 1, 2); /* three do not divide the batch */
    expect(&c, 1, 1, 1, 2);
    expect(&c, 3, 2, 0, 2);
    add(&c, 1, 1, 4); /* another host comes: the ranks save, and four go on */
    until_epoch(&c, 3);
    assert_true(c.hosts[0].last.lost_ns == 0);
    expect(&c, 0, 0, 1, 4);
    expect(&c, 4, 3, 1, 4);
    drop(&c);
}

static void the_next_host_leads_when_the_leader_is_lost(void **state)
{
    cluster c;
    (void)state;
    make(&c, 3, 2, 2, 6);
    until_epoch(&c, 1);
    lose_host(&c, 0);
    until_epoch(&c, 2);
    expect(&c, 1, 0, 2, 4);
    expect(&c, 2, 2, 2, 4);
    lose_host(&c, 1); /* one of two is half, and the lock is free */
    until_epoch(&c, c.hosts[2].facts.epoch + 1);
    expect(&c, 2, 0, 2, 2);
    drop(&c);
}

static void two_hosts_of_five_do_not_go_on(void **state)
{
    cluster c;
    (void)state;
    make(&c, 5, 1, 1, 5);
    until_epoch(&c, 1);
    for (int i = 0; i < 3; i++) lose_host(&c, i);
    until_ended(&c, 3, TUTTI_ERR_PEER);
    until_ended(&c, 4, TUTTI_ERR_PEER);
    assert_int_equal(c.hosts[3].facts.epoch, 1);
    drop(&c);
}

static void half_of_the_hosts_goes_on_only_with_the_lock(void **state)
{
    for (int held = 0; held < 2; held++) {
        cluster c;
        (void)state;
        make(&c, 2, 1, 1, 2);
        until_epoch(&c, 1);
        lose_host(&c, 0);
        const int other = held ? open(c.lock, O_RDWR | O_CLOEXEC) : -1;
        if (held) assert_true(other >= 0);
        if (held) assert_int_equal(flock(other, LOCK_EX), 0); /* as the leader on the other side would hold it */
        if (held)
            until_ended(&c, 1, TUTTI_ERR_PEER);
        else
            until_epoch(&c, 2);
        if (held) close(other);
        drop(&c);
    }
}

static void too_few_hosts_are_waited_for_until_the_deadline(void **state)
{
    cluster c;
    (void)state;
    make(&c, 2, 2, 4, 4);
    until_epoch(&c, 1);
    lose_host(&c, 1);
    for (int i = 0; i < 20; i++) turn(&c);
    assert_false(c.hosts[0].ended);
    add(&c, 2, 4, 4);
    until_epoch(&c, 2);
    expect(&c, 2, 2, 2, 4);
    lose_host(&c, 2);
    until_ended(&c, 0, TUTTI_ERR_PEER);
    drop(&c);
}

static void a_rank_that_fails_by_itself_ends_all(void **state)
{
    cluster c;
    (void)state;
    make(&c, 2, 1, 1, 2);
    until_epoch(&c, 1);
    c.hosts[1].facts.code = TUTTI_ERR_DATA;
    until_ended(&c, 0, TUTTI_ERR_DATA);
    until_ended(&c, 1, TUTTI_ERR_DATA);
    drop(&c);
}

static void losses_beyond_the_limit_end_the_run(void **state)
{
    cluster c;
    (void)state;
    make(&c, 2, 1, 2, 2);
    for (uint32_t epoch = 1; epoch <= 10; epoch++) {
        until_epoch(&c, epoch);
        lose_rank(&c, 0, 0);
    }
    until_ended(&c, 1, TUTTI_ERR_PEER);
    drop(&c);
}

static int connect_to(const cluster *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)c->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Bytes of others must neither stop the agents nor be believed. */
static void strangers_are_sent_away(void **state)
{
    cluster c;
    static const char *const words[] = {"GET / HTTP/1.0\r\n\r\n", ""};
    char noise[8192];
    (void)state;
    make(&c, 2, 1, 2, 2);
    until_epoch(&c, 1);
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)(i * 2654435761u >> 13);
    for (int i = 0; i < 3; i++) {
        const int fd = connect_to(&c);
        (void)!send(fd, i < 2 ? words[i] : noise, i < 2 ? strlen(words[i]) : sizeof noise, MSG_NOSIGNAL);
        for (int t = 0; t < 30; t++) turn(&c);
        close(fd);
    }
    assert_int_equal(c.hosts[1].facts.epoch, 1);
    assert_false(c.hosts[0].ended);
    lose_rank(&c, 1, 1);
    until_epoch(&c, 2);
    drop(&c);
}

static void a_caller_that_says_nothing_is_sent_away_at_the_deadline(void **state)
{
    cluster c;
    char byte;
    ssize_t n = -1;
    (void)state;
    make(&c, 1, 1, 1, 1);
    until_epoch(&c, 1);
    const int fd = connect_to(&c);
    const double began = tutti_clock_s();
    while (n < 0 && tutti_clock_s() < began + 10) {
        turn(&c);
        n = recv(fd, &byte, 1, MSG_DONTWAIT);
    }
    assert_int_equal(n, 0); /* the leader has closed it */
    assert_true(tutti_clock_s() - began > 0.5);
    close(fd);
    drop(&c);
}

static void only_texts_of_agents_are_read(void **state)
{
    static const char *const wrong[] = {"", "/", "node", "node:1", "node:1/", "node:1/xyz", "node/12", "a b:1/12"};
    char address[TUTTI_AGENTS_TEXT];
    int port;
    uint64_t cookie;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tutti_agents_read_text(wrong[i], address, &port, &cookie, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_agents_read_text("[fd00::7]:29500/1f", address, &port, &cookie, NULL), TUTTI_OK);
    assert_string_equal(address, "fd00::7");
    assert_int_equal(port, 29500);
    assert_int_equal(cookie, 0x1f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_rank_brings_the_next_epoch_with_the_same_places),
        cmocka_unit_test(a_lost_host_leaves_as_many_ranks_as_the_job_permits),
        cmocka_unit_test(the_next_host_leads_when_the_leader_is_lost),
        cmocka_unit_test(two_hosts_of_five_do_not_go_on),
        cmocka_unit_test(half_of_the_hosts_goes_on_only_with_the_lock),
        cmocka_unit_test(too_few_hosts_are_waited_for_until_the_deadline),
        cmocka_unit_test(a_rank_that_fails_by_itself_ends_all),
        cmocka_unit_test(losses_beyond_the_limit_end_the_run),
        cmocka_unit_test(strangers_are_sent_away),
        cmocka_unit_test(a_caller_that_says_nothing_is_sent_away_at_the_deadline),
        cmocka_unit_test(only_texts_of_agents_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
