/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules on packed trees: proved on networks with and without switches, loads equal to the packing's, times beside
 * the ring's where rings do not exist; every connected subset of both DGX-1. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "collective/pack/packers.h"
#include "collective/simulate/simulate.h"
#include "pack_graphs.h"
#include "topology/parsed_topology.h"
#include "tutti/check.h"
#include "tutti/compile.h"
#include "tutti/lower.h"
#include "tutti/schedule.h"

static const tutti_collective served[] = {TUTTI_ALLREDUCE, TUTTI_BROADCAST, TUTTI_REDUCE};

/* "dgx1v,wires=nvlink,gpus=0.2.3" for the GPUs whose bits are set. */
static tutti_topology dgx1_of(bool volta, unsigned bits)
{
    char text[100];
    int n = snprintf(text, sizeof text, "%s,wires=nvlink,gpus=", volta ? "dgx1v" : "dgx1p");
    for (int g = 0; g < 8; g++)
        if (bits >> g & 1) n += snprintf(text + n, sizeof text - (size_t)n, "%s%d", text[n - 1] == '=' ? "" : ".", g);
    return parsed(text);
}

/* As compiled, mapped and one-sided. */
static void prove(const char *name, const tutti_compile_request *q)
{
    static const tutti_wire_class wires[] = {TUTTI_WIRE_MAPPED, TUTTI_WIRE_ONE_SIDED};
    tutti_schedule *s = NULL, *lowered = NULL;
    tutti_check_report report;
    tutti_failure err = {0};
    if (tutti_schedule_compile(name, q, &s, &err)) fail_msg("%s", err.text);
    if (tutti_schedule_check(s, &report, &err)) fail_msg("%s: %s", tutti_collective_name(q->collective), err.text);
    for (int w = 0; w < 2; w++) {
        if (tutti_schedule_lower(s, wires[w], &lowered, &err)) fail_msg("%s", err.text);
        if (tutti_schedule_check(lowered, &report, &err))
            fail_msg("%s, %s: %s", tutti_collective_name(q->collective), tutti_wire_class_name(wires[w]), err.text);
        tutti_schedule_destroy(lowered);
    }
    tutti_schedule_destroy(s);
}

static void prove_all(const char *name, const tutti_topology *t, int32_t nranks)
{
    for (int c = 0; c < 3; c++)
        for (int in_place = 0; in_place < 2; in_place++)
            prove(name, &(tutti_compile_request){.collective = served[c],
                                                 .nranks = nranks,
                                                 .root = served[c] == TUTTI_ALLREDUCE ? 0 : nranks / 2,
                                                 .in_place = in_place,
                                                 .topology = t});
}

static void trees_are_right_on_every_kind_of_network(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        int32_t ranks;
    } cases[] = {
        {"dgx1v,wires=nvlink", 8},
        {"dgx1p,wires=nvlink,gpus=0.1.2.4.5", 5},
        {"dgx1v,wires=nvlink,gpus=0.1.4", 3},
        {"dgx1v,wires=pcie", 8},
        {"dgx1v,wires=split", 8},
        {"dgx1p,wires=split,gpus=0.1.2.4.5", 5},
        {"dgx1v,wires=split,gpus=0.1.4", 3},
        {"dgx2", 16},
        {"nvswitch,gpus=0.1.2.5", 4},
        {"cards,gpus=0.1.2.4,mesh=0-1.1-2x2.2-4.0-4x3", 4},
        {"cards,gpus=0.1.2.4,mesh=0-1.1-2x2", 4},
        {"cards,gpus=3", 1},
        {"star", 1},
        {"star", 2},
        {"star", 5},
        {"torus,x=3,y=3", 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tutti_topology t = parsed(cases[i].topology);
        prove_all("trees,chunks=3", &t, cases[i].ranks);
        prove_all("trees,chunks=1,loss=0", &t, cases[i].ranks);
    }
}

/* What runs over the busiest link is what the bound says, to the byte. */
static void links_carry_what_the_packing_says(void **state)
{
    (void)state;
    static const struct {
        unsigned gpus;
        int64_t num, den; /* strength in links of 20 GB/s */
    } cases[] = {{0xff, 24, 7}, {0x0f, 3, 1}, {0x13, 1, 1}, {0x07, 2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tutti_topology t = dgx1_of(true, cases[i].gpus);
        const tutti_compile_request q = {.nranks = __builtin_popcount(cases[i].gpus), .in_place = true, .topology = &t};
        tutti_schedule *s = NULL;
        tutti_simulation sim;
        const int64_t n = 24 * 1000 * 16;
        assert_int_equal(tutti_schedule_compile("trees,chunks=16,loss=0", &q, &s, NULL), TUTTI_OK);
        assert_int_equal(tutti_simulate_schedule(s, &t, n, &sim, NULL), TUTTI_OK);
        double wanted = 4.0 * (double)n * (double)cases[i].den / ((double)cases[i].num * 20e9);
        if (sim.busy_s < wanted * (1 - 1e-9) || sim.busy_s > wanted * 1.01)
            fail_msg("gpus %02x: the busiest link works %.9g s, %.9g are needed", cases[i].gpus, sim.busy_s, wanted);
        tutti_schedule_destroy(s);
    }
}

static double simulated(const char *name, const tutti_topology *t, int32_t nranks, int64_t n)
{
    const tutti_compile_request q = {.nranks = nranks, .in_place = true, .topology = t};
    tutti_schedule *s = NULL;
    tutti_simulation sim;
    tutti_failure err = {0};
    if (tutti_schedule_compile(name, &q, &s, &err)) fail_msg("%s", err.text);
    if (tutti_simulate_schedule(s, t, n, &sim, &err)) fail_msg("%s", err.text);
    tutti_schedule_destroy(s);
    return sim.seconds;
}

static void trees_beat_the_ring_where_nvlinks_make_none(void **state)
{
    (void)state;
    static const unsigned gpus[] = {0x13, 0x1f, 0xb2, 0xb9};
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        tutti_topology t = dgx1_of(true, gpus[i]);
        int32_t p = __builtin_popcount(gpus[i]);
        double trees = simulated("trees,chunks=32", &t, p, 25600000), ring = simulated("ring", &t, p, 25600000);
        if (trees >= ring) fail_msg("gpus %02x: trees %.6g s, ring %.6g s", gpus[i], trees, ring);
    }
}

static void through_switches_trees_are_direct_in_chunks(void **state)
{
    (void)state;
    tutti_topology t = parsed("dgx2");
    tutti_simulation sims[2];
    static const char *const names[] = {"trees,chunks=1", "direct"};
    for (int i = 0; i < 2; i++) {
        const tutti_compile_request q = {.nranks = 16, .in_place = true, .topology = &t};
        tutti_schedule *s = NULL;
        assert_int_equal(tutti_schedule_compile(names[i], &q, &s, NULL), TUTTI_OK);
        assert_int_equal(tutti_simulate_schedule(s, &t, 160000, &sims[i], NULL), TUTTI_OK);
        tutti_schedule_destroy(s);
    }
    assert_int_equal(sims[0].nmessages, sims[1].nmessages);
    assert_int_equal(sims[0].bytes_most, sims[1].bytes_most);
    assert_int_equal(sims[0].nrounds, sims[1].nrounds);
}

/* Of n elements every host must send and take 2 (hosts - 1) / hosts n: that much over each NIC, and no more. */
static void between_servers_trees_carry_the_least_there_is(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        int32_t hosts, ranks;
    } cases[] = {{"cluster,hosts=4,ranks=4,nics=1,nic=10Gb", 4, 16},
                 {"cluster,hosts=2,ranks=4,nics=1,nic=10Gb", 2, 5},
                 {"cluster,hosts=3,ranks=2,nics=1,nic=10Gb", 3, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tutti_topology t = parsed(cases[i].topology);
        const int64_t n = 840 * 3000;
        double least = 4.0 * (double)n * 2 * (cases[i].hosts - 1) / cases[i].hosts / 1.25e9;
        const tutti_compile_request q = {.nranks = cases[i].ranks, .in_place = true, .topology = &t};
        tutti_schedule *s = NULL;
        tutti_simulation sim;
        assert_int_equal(tutti_schedule_compile("trees,chunks=8", &q, &s, NULL), TUTTI_OK);
        assert_int_equal(tutti_simulate_schedule(s, &t, n, &sim, NULL), TUTTI_OK);
        if (sim.busy_s < least * (1 - 1e-9) || sim.busy_s > least * 1.005)
            fail_msg("%s: the busiest NIC works %.6g s, %.6g are needed", cases[i].topology, sim.busy_s, least);
        tutti_schedule_destroy(s);
        double trees = simulated("trees,chunks=32", &t, cases[i].ranks, 25600000);
        assert_true(trees < simulated("direct", &t, cases[i].ranks, 25600000));
        assert_true(trees < simulated("ring", &t, cases[i].ranks, 25600000));
    }
}

static void what_trees_cannot_serve_is_refused_with_the_reason(void **state)
{
    (void)state;
    tutti_topology host, star = parsed("star"), torus = parsed("torus,x=8,y=8");
    assert_int_equal(tutti_topology_of_this_host(&host, NULL), TUTTI_OK);
    const struct {
        tutti_compile_request q;
        const char *says;
    } cases[] = {
        {{.nranks = 4}, "--topology"},
        {{.nranks = 4, .topology = &host}, "no links"},
        {{.nranks = 4, .slots = 4, .topology = &star}, "canonical"},
        {{.nranks = 65, .topology = &star}, "at most 64"},
        {{.nranks = 64, .topology = &torus}, "at most 32"},
        {{.nranks = 4, .collective = TUTTI_ALL_GATHER, .topology = &star}, "does not serve all-gather"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tutti_schedule *s = NULL;
        tutti_failure err = {0};
        assert_int_equal(tutti_schedule_compile("trees", &cases[i].q, &s, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, cases[i].says)) fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
    }
}

/* Each subset of 3 to 8 GPUs that NVLinks join: packed three ways, and run as schedules. */
static void pack_subset(const tutti_network *machine, bool volta, unsigned bits)
{
    tutti_network g = gpus_of(machine, bits);
    for (int use = 0; use < 2 && tutti_network_connected(&g); use++) {
        tutti_packing exact, mixed, few;
        tutti_fewest_report report;
        tutti_failure err = {0};
        const tutti_fewest_options greedy = {.loss = 0.05};
        if (tutti_packing_exact(&g, (tutti_packing_use)use, 0, &exact, &err)) fail_msg("%02x: %s", bits, err.text);
        if (tutti_packing_by_weights(&g, (tutti_packing_use)use, 0, 0.005, &mixed, &err))
            fail_msg("%02x: %s", bits, err.text);
        if (tutti_packing_fewest(&g, &mixed, &greedy, &few, &report, &err)) fail_msg("%02x: %s", bits, err.text);
        if (tutti_packing_check(&exact, &g, &err) || tutti_packing_check(&mixed, &g, &err) ||
            tutti_packing_check(&few, &g, &err))
            fail_msg("%02x: %s", bits, err.text);
        assert_true(tutti_packing_gap(&exact) == 0 && tutti_packing_gap(&mixed) <= 0.01);
        assert_true(tutti_packing_rate(&few) >= 0.95 * (1 - 1e-6) * tutti_packing_rate(&mixed));
        tutti_packing_release(&exact), tutti_packing_release(&mixed), tutti_packing_release(&few);
    }
    if (tutti_network_connected(&g)) {
        tutti_topology t = dgx1_of(volta, bits);
        prove_all("trees,chunks=2", &t, g.nranks);
    }
    tutti_network_release(&g);
}

static void every_connected_subset_of_a_dgx1_is_packed_and_proved(void **state)
{
    (void)state;
    int n = 0;
    for (int volta = 0; volta < 2; volta++) {
        tutti_network machine = dgx1(volta);
        for (unsigned bits = 1; bits < 256; bits++)
            if (__builtin_popcount(bits) >= 3) pack_subset(&machine, volta, bits), n++;
        tutti_network_release(&machine);
    }
    assert_int_equal(n, 2 * 219);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_right_on_every_kind_of_network),
        cmocka_unit_test(links_carry_what_the_packing_says),
        cmocka_unit_test(trees_beat_the_ring_where_nvlinks_make_none),
        cmocka_unit_test(through_switches_trees_are_direct_in_chunks),
        cmocka_unit_test(between_servers_trees_carry_the_least_there_is),
        cmocka_unit_test(what_trees_cannot_serve_is_refused_with_the_reason),
        cmocka_unit_test(every_connected_subset_of_a_dgx1_is_packed_and_proved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
