/* SPDX-License-Identifier: Apache-2.0 */
/* test_flows.c: what is due comes in order; messages that come and go take as long as shares say that are found anew at
 * each beginning and end, but for the small part for which shares are kept, whatever else is under way. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>

#include "collective/simulate/events/flows.h"
#include "collective/simulate/events/max_min.h"

enum { NHOSTS = 12, NROUTES = NHOSTS * (NHOSTS - 1) };
static const double KEPT = 1e-3; /* flows.c: GRAIN */

static uint32_t drawn(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(*state >> 8) * below) >> 24);
}

static void what_is_due_comes_in_order(void **state)
{
    (void)state;
    enum { N = 500 };
    uint32_t seed = 7;
    for (int ordered = 0; ordered < 2; ordered++) {
        tutti_due_heap h = {0};
        tutti_due last = {-1, -1};
        tutti_due_heap_reserve(&h, N);
        for (int i = 0; i < N; i++) {
            const tutti_due it = {drawn(&seed, 40), i}; /* many at once */
            if (ordered)
                h.at[i] = it;
            else
                tutti_due_heap_add(&h, it);
        }
        if (ordered) tutti_due_heap_order(&h, N);
        assert_int_equal(h.n, N);
        for (; h.n; tutti_due_heap_drop(&h)) {
            const tutti_due it = h.at[0];
            assert_true(it.when > last.when || (it.when == last.when && it.of > last.of));
            last = it;
        }
        tutti_due_heap_release(&h);
    }
}

typedef struct {
    double begins, bytes, ends;
} message;

static tutti_topology topology_of(const char *text)
{
    tutti_topology t;
    tutti_failure err = {0};
    if (tutti_topology_parse(text, &t, &err)) fail_msg("%s", err.text);
    return t;
}

static int list_routes(tutti_flow_route *routes, int nhosts)
{
    int n = 0;
    for (int src = 0; src < nhosts; src++)
        for (int dst = 0; dst < nhosts; dst++)
            if (src != dst) routes[n++] = (tutti_flow_route){src, dst, 0};
    return n;
}

/* By shares that are found at each beginning and each end. */
static void reference(const tutti_topology *t, const tutti_flow_route *routes, int n, int nhosts, message *m)
{
    tutti_fabric net;
    tutti_max_min s;
    tutti_flow *flows = calloc((size_t)n, sizeof *flows);
    double now = 0;
    tutti_topology_graph(t, nhosts, &net);
    for (int i = 0; i < n; i++)
        flows[i] = (tutti_flow){.src = routes[i].src, .dst = routes[i].dst}, m[i].ends = INFINITY;
    tutti_max_min_begin(t, &net, flows, n, &s);
    for (int left = n; left;) {
        double next = INFINITY;
        tutti_max_min_find(&net, &s);
        for (int i = 0; i < n; i++) {
            if (m[i].begins > now) next = fmin(next, m[i].begins);
            if (s.rest[i] > 0) next = fmin(next, now + s.rest[i] / s.share[i]);
        }
        for (int i = 0; i < n; i++) {
            if (s.rest[i] > 0) {
                s.rest[i] -= (next - now) * s.share[i];
                if (s.rest[i] < 1e-3) s.rest[i] = 0, m[i].ends = next, left--;
            } else if (m[i].begins > now && m[i].begins <= next) {
                assert_true(tutti_max_min_add(&s, i, m[i].bytes));
            }
        }
        now = next;
    }
    tutti_max_min_release(&s);
    tutti_fabric_release(&net);
    free(flows);
}

/* Seconds of the end of each, by what is to be tested. */
static void play(const tutti_topology *t, const tutti_flow_route *routes, int n, int nhosts, const message *m,
                 double *ends)
{
    tutti_flows *f = tutti_flows_create(t, nhosts, routes, n);
    tutti_due_heap begins = {0};
    for (int i = 0; i < n; i++) tutti_due_heap_add(&begins, (tutti_due){m[i].begins, i});
    for (int left = n; left;) {
        const double by = begins.n ? begins.at[0].when : INFINITY;
        if (tutti_flows_end_by(f, by)) {
            double arrives;
            const int64_t route = tutti_flows_take(f, &arrives);
            ends[route] = arrives - tutti_flows_latency(f, route);
            left--;
        } else {
            assert_true(begins.n > 0);
            const int64_t i = begins.at[0].of;
            assert_true(tutti_flows_send(f, i, m[i].bytes, by));
            tutti_due_heap_drop(&begins);
        }
    }
    tutti_due_heap_release(&begins);
    tutti_flows_destroy(f);
}

static void messages_take_what_their_shares_say(void **state)
{
    (void)state;
    const tutti_topology t = topology_of("star,bw=1GB,lat=0us");
    tutti_flow_route routes[NROUTES];
    message m[NROUTES];
    double ends[NROUTES];
    uint32_t seed = 11;
    const int n = list_routes(routes, NHOSTS);
    for (int round = 0; round < 8; round++) {
        const uint32_t sizes[] = {1, 1000, 4, 200}; /* all alike, or far from it */
        double worst = 0;
        for (int i = 0; i < n; i++)
            m[i] = (message){.begins = 1e-4 * drawn(&seed, round < 4 ? 1 : 100000),
                             .bytes = 1e6 * (1 + drawn(&seed, sizes[round % 4]))};
        for (int i = 0; i < n; i++) m[i].begins += 1e-9; /* a reference knows only what is after the beginning */
        reference(&t, routes, n, NHOSTS, m);
        play(&t, routes, n, NHOSTS, m, ends);
        for (int i = 0; i < n; i++) worst = fmax(worst, fabs(ends[i] - m[i].ends) / (m[i].ends - m[i].begins));
        if (worst > 20 * KEPT) fail_msg("round %d: a message takes %.2f %% more or less", round, 100 * worst);
        if (round == 0 && worst > 1e-9) fail_msg("all alike and at once: %g", worst);
    }
}

/* One way lasts long; on another one short messages follow each other, each alone there. */
static void a_long_message_does_not_hold_up_short_ones(void **state)
{
    (void)state;
    const tutti_topology t = topology_of("star,bw=1GB,lat=0us");
    const tutti_flow_route routes[] = {{0, 1, 0}, {2, 3, 0}};
    tutti_flows *f = tutti_flows_create(&t, 4, routes, 2);
    double now = 0;
    assert_true(tutti_flows_send(f, 0, 1e12, 0));
    for (int i = 0; i < 1000; i++) {
        assert_true(tutti_flows_send(f, 1, 1e3, now));
        assert_true(tutti_flows_end_by(f, INFINITY));
        assert_int_equal(tutti_flows_take(f, &now), 1);
    }
    const double alone = 1000 * (1e-6 + tutti_flows_latency(f, 1));
    if (fabs(now - alone) > 2 * KEPT * alone) fail_msg("%g s instead of %g", now, alone);
    tutti_flows_destroy(f);
}

/* A message comes alone for 1 s, then for as long as two do: their port has 2/3 of its rate. */
static void ports_lose_while_several_come_in(void **state)
{
    (void)state;
    const tutti_topology t = topology_of("star,bw=1GB,lat=0us,incast=0.5");
    const tutti_flow_route routes[] = {{0, 3, 0}, {1, 3, 0}, {2, 1, 0}};
    const double expected[] = {2.5, 4, 2};
    tutti_flows *f = tutti_flows_create(&t, 4, routes, 3);
    double arrives;
    assert_true(tutti_flows_send(f, 0, 1.5e9, 0));
    assert_true(tutti_flows_send(f, 2, 2e9, 0)); /* another port's */
    assert_false(tutti_flows_end_by(f, 1));
    assert_true(tutti_flows_send(f, 1, 2e9, 1));
    for (int i = 0; i < 3; i++) {
        assert_true(tutti_flows_end_by(f, INFINITY));
        const int64_t route = tutti_flows_take(f, &arrives);
        const double took = arrives - tutti_flows_latency(f, route);
        if (fabs(took - expected[route]) > 2 * KEPT * expected[route]) fail_msg("route %d: %g s", (int)route, took);
    }
    tutti_flows_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_due_comes_in_order),
        cmocka_unit_test(messages_take_what_their_shares_say),
        cmocka_unit_test(a_long_message_does_not_hold_up_short_ones),
        cmocka_unit_test(ports_lose_while_several_come_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
