/* SPDX-License-Identifier: Apache-2.0 */
/* test_incast.c: who sends how many to one host at a time, what that costs on Ethernet, and who may not: counted by
 * hand. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collective/simulate/choose/choose.h"
#include "collective/simulate/events/flows.h"
#include "topology/parsed_topology.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static tutti_simulation simulated(const char *algorithm, tutti_collective c, int32_t nranks, int64_t n,
                                  const char *topology)
{
    const tutti_topology t = parsed(topology);
    const tutti_compile_request q = {.collective = c, .nranks = nranks, .in_place = true};
    int32_t *host_of = calloc((size_t)nranks, sizeof *host_of);
    tutti_schedule *s = NULL, *low = NULL;
    tutti_simulation sim, fast;
    tutti_time_line line;
    tutti_failure err = {0};
    tutti_topology_hosts(&t, nranks, host_of);
    if (tutti_schedule_compile(algorithm, &q, &s, &err)) fail_msg("%s", err.text);
    if (t.kind == TUTTI_TOPOLOGY_CLUSTER && tutti_schedule_lower_hosts(s, host_of, &low, &err))
        fail_msg("%s", err.text);
    if (tutti_simulate_schedule(low ? low : s, &t, n, &sim, &err)) fail_msg("%s", err.text);
    assert_int_equal(tutti_simulate_line(low ? low : s, &t, &line, &err), TUTTI_OK);
    tutti_time_line_at(&line, n, &fast);
    assert_true(fabs(fast.seconds - sim.seconds) <= 1e-9 * sim.seconds && fast.fan_in == sim.fan_in);
    tutti_schedule_destroy(low);
    tutti_schedule_destroy(s);
    free(host_of);
    return sim;
}

static void senders_to_one_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm, *topology;
        int32_t nranks, fan_in;
    } cases[] = {
        {"direct", "star", 16, 15},
        {"ring", "star", 16, 1},
        {"halving-doubling", "star", 16, 1},
        {"k-nomial,radix=4", "star", 16, 3},
        {"direct", "cluster,hosts=2,ranks=4", 8, 4},
        {"direct", "cluster,hosts=4,ranks=2", 8, 6},
        {"split-rail,group=4", "cluster,hosts=2,ranks=4", 8, 1},
        {"direct", "dgx2", 16, 0}, /* one machine */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tutti_simulation sim =
            simulated(cases[i].algorithm, TUTTI_ALLREDUCE, cases[i].nranks, 1 << 20, cases[i].topology);
        if (sim.fan_in != cases[i].fan_in)
            fail_msg("%s on %s: %d, not %d", cases[i].algorithm, cases[i].topology, sim.fan_in, cases[i].fan_in);
    }
}

/* 15 senders: 14 more than one, each of which costs so much of the rate. */
static void a_port_is_slower_for_each_further_sender(void **state)
{
    (void)state;
    const int64_t n = 16 << 20;
    const double bytes = 4. * (double)n * 15 / 16, rate = 1.25e9;
    const tutti_simulation none = simulated("direct", TUTTI_ALL_GATHER, 16, n, "star,bw=10Gb"),
                           some = simulated("direct", TUTTI_ALL_GATHER, 16, n, "star,bw=10Gb,incast=2%"),
                           ring = simulated("ring", TUTTI_ALL_GATHER, 16, n, "star,bw=10Gb,incast=2%");
    assert_true(fabs(none.transfer_s - bytes / rate) < 1e-9);
    assert_true(fabs(some.transfer_s - bytes / rate * (1 + 0.02 * 14)) < 1e-9);
    assert_true(fabs(ring.transfer_s - bytes / rate) < 1e-9);
    assert_true(some.latency_s == none.latency_s && some.lower_s == none.lower_s);
}

static tutti_candidate chosen(const tutti_policy *policy, int64_t bytes, const char *topology)
{
    const tutti_topology t = parsed(topology);
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 16, .in_place = true};
    tutti_choice *choice = calloc(1, sizeof *choice);
    tutti_choose_by(policy, TUTTI_CHOOSE_STEPS, &q, bytes / TUTTI_ELEMENT_BYTES, &t, choice);
    assert_true(choice->best >= 0);
    const tutti_candidate best = choice->candidates[choice->best];
    int nrefused = 0;
    for (int i = 0; i < choice->ncandidates; i++)
        nrefused += strstr(choice->candidates[i].refusal, "send to one") != NULL;
    assert_true((nrefused > 0) == (policy->most_fan_in > 0));
    free(choice);
    return best;
}

/* 16 hosts of 25 GbE: by links alone nothing is better than that all send to all, up to a GiB. */
static void ethernet_and_a_limit_keep_the_chooser_from_it(void **state)
{
    (void)state;
    tutti_policy any = *tutti_policy_at(0), few = any;
    few.most_fan_in = 4;
    for (int64_t bytes = 64 << 10; bytes <= 1 << 30; bytes <<= 2) {
        assert_string_equal(chosen(&any, bytes, "star,bw=25Gb,lat=5us").algorithm, "direct");
        assert_true(chosen(&few, bytes, "star,bw=25Gb,lat=5us").sim.fan_in <= 4);
    }
    for (int64_t bytes = 16 << 20; bytes <= 1 << 30; bytes <<= 2)
        assert_true(chosen(&any, bytes, "star,bw=25GbE,lat=5us").sim.fan_in < 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(senders_to_one_are_counted),
        cmocka_unit_test(a_port_is_slower_for_each_further_sender),
        cmocka_unit_test(ethernet_and_a_limit_keep_the_chooser_from_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
