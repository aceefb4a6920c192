/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules on networks: where nothing collides the evaluator equals the closed form of one switch that never blocks;
 * parity mapping makes that true on BiGraph; the mapper never makes a seating worse, and finds that one by itself. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/simulate/simulate.h"
#include "topology/parsed_topology.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static tutti_schedule *compiled(const char *algorithm, int32_t p, const tutti_topology *t)
{
    const tutti_compile_request request = {.collective = TUTTI_ALLREDUCE, .nranks = p, .in_place = true, .topology = t};
    tutti_schedule *s = NULL;
    tutti_failure err = {0};
    if (tutti_schedule_compile(algorithm, &request, &s, &err)) fail_msg("%s: %s", algorithm, err.text);
    return s;
}

static tutti_simulation simulated(const char *algorithm, int32_t p, const tutti_topology *t, int64_t n)
{
    tutti_schedule *s = compiled(algorithm, p, t);
    tutti_simulation sim;
    tutti_failure err = {0};
    if (tutti_simulate_schedule(s, t, n, &sim, &err)) fail_msg("%s: %s", algorithm, err.text);
    tutti_schedule_destroy(s);
    assert_true(sim.lower_s <= sim.seconds * (1 + 1e-9));
    return sim;
}

static double closed_form(const char *algorithm, int32_t p, const char *star, int64_t n)
{
    tutti_topology t = parsed(star);
    tutti_closed_form form;
    assert_true(tutti_simulate_closed_form(algorithm, TUTTI_ALLREDUCE, p, n, &t, &form));
    return form.seconds;
}

static void closed_forms_hold_on_networks_where_nothing_collides(void **state)
{
    (void)state;
    static const struct {
        const char *topology, *algorithm, *star;
        int32_t p;
    } cases[] = {
        {"fat-tree,leaves=8,hosts=8,spines=8,hop=0ns", "halving-doubling", "star,bw=12.5GB,lat=2us", 64},
        {"fat-tree,leaves=8,hosts=8,spines=8,hop=0ns", "ring", "star,bw=12.5GB,lat=2us", 64},
        {"fat-tree,pods=4,leaves=4,hosts=4,spines=4,tops=4,hop=0ns", "halving-doubling", "star,bw=12.5GB,lat=2us", 64},
        {"bigraph,switches=8,hosts=4,place=parity", "halving-doubling", "star,bw=12.5GB,lat=2.3us", 32},
        {"dgx2", "halving-doubling", "star,bw=120GB,lat=1us,soft=3.4us,add=300GB", 16},
        {"dgx2", "direct", "star,bw=120GB,lat=1us,soft=3.4us,add=300GB", 16},
        {"torus,x=8,y=1", "ring", "star,bw=12.5GB,lat=1us", 8},
        {"cluster,hosts=8,ranks=1,near=0s,copy=1TB,bus=1TB", "direct", "star", 8},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        for (int64_t n = cases[k].p; n < 100000000; n *= 4096) {
            tutti_topology t = parsed(cases[k].topology);
            double seconds = simulated(cases[k].algorithm, cases[k].p, &t, n).seconds;
            double form = closed_form(cases[k].algorithm, cases[k].p, cases[k].star, n);
            if (fabs(seconds - form) > 1e-6 * form)
                fail_msg("%s on %s, %lld elements: %.9g, closed form %.9g", cases[k].algorithm, cases[k].topology,
                         (long long)n, seconds, form);
        }
}

static void parity_mapping_is_as_fast_as_one_switch_and_naive_seats_are_not(void **state)
{
    (void)state;
    const char *star = "star,bw=12.5GB,lat=2.3us,add=1TB";
    tutti_topology parity = parsed("bigraph,switches=16,hosts=8,add=1TB,place=parity"), far = parity;
    int32_t seat[128];
    for (int32_t r = 0; r < 128; r++) /* in blocks, the farthest partner first */
        for (int32_t bit = seat[r] = 0; bit < 7; bit++) seat[r] |= (r >> bit & 1) << (6 - bit);
    tutti_topology_place(&far, 128, seat);
    double form = closed_form("halving-doubling", 128, star, 25000000);
    double fast = simulated("halving-doubling", 128, &parity, 25000000).seconds;
    double slow = simulated("halving-doubling", 128, &far, 25000000).seconds;
    assert_true(fabs(fast / form - 1) < 1e-3);
    assert_true(slow > 4 * form);
}

static void hashed_paths_collide_and_more_of_them_collide_less(void **state)
{
    (void)state;
    tutti_topology fixed = parsed("fat-tree,leaves=8,hosts=8,spines=8"),
                   one = parsed("fat-tree,leaves=8,hosts=8,spines=8,routing=ecmp"),
                   many = parsed("fat-tree,leaves=8,hosts=8,spines=8,routing=ecmp,paths=32");
    double a = simulated("halving-doubling", 64, &fixed, 25000000).transfer_s;
    double b = simulated("halving-doubling", 64, &one, 25000000).transfer_s;
    double c = simulated("halving-doubling", 64, &many, 25000000).transfer_s;
    assert_true(a < c && c < b && b > 1.2 * a);
}

static void ranks_of_a_host_share_its_nic(void **state)
{
    (void)state;
    tutti_topology shared = parsed("cluster,hosts=2,ranks=4,nics=1"), own = parsed("cluster,hosts=2,ranks=4,nics=4");
    double one = simulated("direct", 8, &shared, 25000000).transfer_s;
    double four = simulated("direct", 8, &own, 25000000).transfer_s;
    assert_true(one > 3.9 * four);
}

/* Lowered as an executor would for the topology's hosts. */
static tutti_schedule *lowered(const tutti_schedule *s, const tutti_topology *t)
{
    const int32_t p = tutti_schedule_head(s)->nranks;
    int32_t *host_of = malloc((size_t)p * sizeof *host_of);
    tutti_schedule *out = NULL;
    tutti_failure err = {0};
    tutti_topology_hosts(t, p, host_of);
    if (tutti_schedule_lower_hosts(s, host_of, &out, &err)) fail_msg("%s", err.text);
    free(host_of);
    return out;
}

static void loads_go_the_way_of_messages_and_signals_cost_theirs(void **state)
{
    (void)state;
    tutti_topology t = parsed("cluster,hosts=1,ranks=2,copy=10GB,bus=20GB,near=1us,soft=2us,add=5GB");
    const tutti_compile_request request = {.collective = TUTTI_REDUCE_SCATTER, .nranks = 2, .in_place = true};
    tutti_schedule *s = NULL, *mapped = NULL;
    tutti_simulation sim;
    assert_int_equal(tutti_schedule_compile("direct", &request, &s, NULL), TUTTI_OK);
    mapped = lowered(s, &t);
    assert_int_equal(tutti_schedule_head(mapped)->wire, TUTTI_WIRE_MAPPED);
    assert_int_equal(tutti_simulate_schedule(mapped, &t, 5000000, &sim, NULL), TUTTI_OK);
    assert_true(fabs(sim.transfer_s - 1e-3) <
                1e-12);                            /* each reads the other's 10 MB at 10 GB/s, together 20 on the bus */
    assert_true(fabs(sim.local_s - 2e-3) < 1e-12); /* and adds 10 MB */
    assert_true(fabs(sim.latency_s - sim.nrounds * 5e-6) < 1e-12); /* before and after: a signal, two waits for it */
    tutti_schedule_destroy(mapped);
    tutti_schedule_destroy(s);
}

static void what_maps_memory_wants_hosts_that_have_it(void **state)
{
    (void)state;
    static const struct {
        const char *lowered_for, *topology, *words; /* NULL: it runs there */
    } cases[] = {
        {"cluster,hosts=2,ranks=2", "cluster,hosts=2,ranks=2", NULL},
        {"cluster,hosts=2,ranks=2", "cluster,hosts=1,ranks=4", NULL},
        {"cluster,hosts=4,ranks=1", "star", NULL},
        {"cluster,hosts=2,ranks=2", "star", "ranks 0 and 1 map each other's memory"},
        {"cluster,hosts=2,ranks=2", "dgx1v", "ranks 0 and 1"},
        {"cluster,hosts=1,ranks=4", "cluster,hosts=2,ranks=2", "ranks 0 and 2"},
        {"cluster,hosts=2,ranks=2", "cluster,hosts=2,ranks=2,place=round-robin", "ranks 0 and 1"},
        {"cluster,hosts=2,ranks=2", "host", "a mixed schedule does not run on a host"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        tutti_topology from = parsed(cases[k].lowered_for), t = parsed(cases[k].topology);
        tutti_schedule *s = compiled("split-rail,group=2", 4, &from), *low = lowered(s, &from);
        tutti_simulation sim;
        tutti_failure err = {0};
        tutti_status status = tutti_simulate_schedule(low, &t, 1000, &sim, &err);
        if (status != (cases[k].words ? TUTTI_ERR_USAGE : TUTTI_OK) ||
            (cases[k].words && !strstr(err.text, cases[k].words)))
            fail_msg("for %s on %s: %d %s", cases[k].lowered_for, cases[k].topology, (int)status, err.text);
        tutti_schedule_destroy(low);
        tutti_schedule_destroy(s);
    }
}

/* The hosts' NICs are the narrow place: what crosses them is the same bytes. */
static void lowering_for_hosts_moves_no_more_between_them(void **state)
{
    (void)state;
    tutti_topology t = parsed("cluster,hosts=3,ranks=4,nic=1Gb");
    static const char *const names[] = {"direct", "ring", "split-rail,group=4", "k-nomial,radix=4",
                                        "hierarchical,group=4"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        tutti_schedule *s = compiled(names[k], 12, &t), *low = lowered(s, &t);
        tutti_simulation as_compiled, as_run;
        assert_int_equal(tutti_simulate_schedule(s, &t, 12000000, &as_compiled, NULL), TUTTI_OK);
        assert_int_equal(tutti_simulate_schedule(low, &t, 12000000, &as_run, NULL), TUTTI_OK);
        assert_int_equal(as_run.bytes_most, as_compiled.bytes_most);
        assert_int_equal(as_run.bottleneck, as_compiled.bottleneck);
        assert_true(as_run.lower_s <= as_run.seconds * (1 + 1e-9));
        if (fabs(as_run.transfer_s / as_compiled.transfer_s - 1) > 0.02)
            fail_msg("%s: %g s, as compiled %g", names[k], as_run.transfer_s, as_compiled.transfer_s);
        tutti_schedule_destroy(low);
        tutti_schedule_destroy(s);
    }
}

/* After EFLOPS: GPUs that leave through NICs of their own share no link with others, wherever ranks sit. */
static void a_nic_for_each_gpu_reaches_the_closed_form_and_a_shared_one_does_not(void **state)
{
    (void)state;
    const double least_s = 2 * 63.0 / 64 * 100e6 / 12e9;
    static const char *const own[] = {"pcie,hosts=8,nics=8,inside=nic",
                                      "pcie,hosts=8,nics=8,inside=nic,place=round-robin"};
    for (int k = 0; k < 2; k++) {
        tutti_topology t = parsed(own[k]);
        double transfer_s = simulated("halving-doubling", 64, &t, 25000000).transfer_s;
        assert_true(fabs(transfer_s / least_s - 1) < 1e-9);
    }
    tutti_topology shared = parsed("pcie,hosts=8,nics=1,place=round-robin");
    assert_true(simulated("halving-doubling", 64, &shared, 25000000).transfer_s > 7 * least_s);
}

static tutti_mapping mapped(const tutti_schedule *s, const tutti_topology *t, const tutti_map_options *options)
{
    tutti_mapping m;
    tutti_failure err = {0};
    if (tutti_map_ranks(s, t, 1000000, options, &m, &err)) fail_msg("%s", err.text);
    return m;
}

static void the_mapper_never_makes_it_worse_and_does_the_same_again(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "bigraph,switches=4,hosts=2",        "torus,x=4,y=2", "dgx1v", "fat-tree,leaves=2,spines=2",
        "cluster,hosts=4,place=round-robin", "torus,x=3,y=5"};
    static const char *const algorithms[] = {"ring", "halving-doubling", "direct"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
        for (int a = 0; a < 3; a++) {
            tutti_topology t = parsed(texts[k]), seated = t;
            tutti_schedule *s = compiled(algorithms[a], 8, &t);
            const tutti_map_options options = {7, 2000, a == 1};
            tutti_mapping m = mapped(s, &t, &options), again = mapped(s, &t, &options);
            assert_true(m.after.seconds <= m.before.seconds && m.lower_s <= m.after.seconds * (1 + 1e-9));
            assert_memory_equal(m.seat, again.seat, 8 * sizeof m.seat[0]);
            tutti_topology_place(&seated, 8, m.seat);
            char *text = tutti_topology_print(&seated);
            seated = parsed(text); /* the seats are valid and survive as text */
            tutti_mapping kept = mapped(s, &seated, &(tutti_map_options){0}); /* no swap: as it is seated */
            assert_true(fabs(kept.before.seconds - m.after.seconds) <= 1e-12 * kept.before.seconds);
            tutti_mapping_release(&kept);
            free(text);
            tutti_mapping_release(&m);
            tutti_mapping_release(&again);
            tutti_schedule_destroy(s);
        }
}

static void the_mapper_finds_a_seating_as_good_as_parity_mapping(void **state)
{
    (void)state;
    tutti_topology naive = parsed("bigraph,switches=8,hosts=2,place=round-robin");
    tutti_schedule *s = compiled("halving-doubling", 16, &naive);
    const tutti_map_options options = {1, 100000, false};
    tutti_mapping m = mapped(s, &naive, &options);
    assert_int_equal(m.before.messages, 2);
    assert_int_equal(m.after.messages, 1);
    assert_true(fabs(m.after.seconds - m.lower_s) < 1e-9 * m.lower_s);
    tutti_mapping_release(&m);
    tutti_schedule_destroy(s);
}

static void the_mapper_lays_a_ring_along_nvlinks(void **state)
{
    (void)state;
    tutti_topology t = parsed("dgx1v");
    tutti_schedule *s = compiled("ring", 8, &t);
    const tutti_map_options options = {1, 20000, false};
    tutti_mapping m = mapped(s, &t, &options);
    assert_true(m.before.seconds > 3 * m.after.seconds);
    assert_int_equal(m.after.messages, 0); /* none over PCIe switches */
    tutti_mapping_release(&m);
    tutti_schedule_destroy(s);
}

static void a_host_has_no_seats_to_choose(void **state)
{
    (void)state;
    tutti_topology host = parsed("host"), small = parsed("torus,x=2,y=2");
    tutti_schedule *s = compiled("ring", 8, &host);
    tutti_mapping m;
    tutti_failure err = {0};
    const tutti_map_options options = {1, 10, false};
    assert_int_equal(tutti_map_ranks(s, &host, 10, &options, &m, &err), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_map_ranks(s, &small, 10, &options, &m, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "1 to 4 ranks"));
    tutti_simulation sim;
    assert_int_equal(tutti_simulate_schedule(s, &small, 10, &sim, &err), TUTTI_ERR_USAGE);
    tutti_schedule_destroy(s);
}

/* Six steps of a ring of four; each waits for 1 ms and moves 1 MB, which takes 1 ms. */
static tutti_simulation ring_on(const char *star)
{
    tutti_topology t = parsed(star);
    return simulated("ring", 4, &t, 1000000);
}

static void a_shaped_link_makes_up_for_idling_as_far_as_its_bucket_goes(void **state)
{
    (void)state;
    const tutti_simulation wire = ring_on("star,bw=1GB,lat=1ms,soft=0s,add=1000TB"),
                           full = ring_on("star,bw=1GB,lat=1ms,soft=0s,add=1000TB,burst=8MiB"),
                           half = ring_on("star,bw=1GB,lat=1ms,soft=0s,add=1000TB,burst=500000B"),
                           slow = ring_on("star,bw=100MB,lat=1ms,soft=0s,add=1000TB,burst=8MiB");
    assert_true(fabs(wire.seconds - 12e-3) < 1e-7);
    assert_true(fabs(full.seconds - 6e-3) < 1e-7);  /* while it waits it earns all that it moves */
    assert_true(fabs(half.seconds - 9e-3) < 1e-7);  /* or the half of it */
    assert_true(fabs(slow.seconds - 60e-3) < 1e-7); /* what binds is the rate: waiting costs nothing */
    assert_true(full.seconds >= full.lower_s && slow.seconds >= slow.lower_s);
}

/* Four ranks up and down a tree: each phase takes 1 ms, and the fullest links carry two of the four. */
static void each_shaped_link_has_a_bucket_of_its_own(void **state)
{
    (void)state;
    const tutti_topology t = parsed("star,bw=1GB,lat=0s,soft=0s,add=1000TB,burst=8MiB"),
                         wires = parsed("star,bw=1GB,lat=0s,soft=0s,add=1000TB"),
                         small = parsed("star,bw=1GB,lat=0s,soft=0s,add=1000TB,burst=100B");
    const tutti_simulation tree = simulated("binomial", 4, &t, 250000), wire = simulated("binomial", 4, &wires, 250000),
                           ring = simulated("ring", 4, &t, 250000);
    assert_true(fabs(wire.seconds - 4e-3) < 1e-7);
    assert_true(fabs(tree.seconds - 2e-3) < 1e-7);
    assert_true(fabs(ring.seconds - 1.5e-3) < 1e-7); /* whose links never idle */
    assert_true(tree.seconds >= tree.lower_s * (1 - 1e-12) && fabs(tree.lower_s - 2e-3) < 1e-7);
    assert_true(fabs(simulated("binomial", 4, &small, 250000).seconds - 4e-3) < 1e-6); /* what it earns is soon spent */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms_hold_on_networks_where_nothing_collides),
        cmocka_unit_test(parity_mapping_is_as_fast_as_one_switch_and_naive_seats_are_not),
        cmocka_unit_test(hashed_paths_collide_and_more_of_them_collide_less),
        cmocka_unit_test(ranks_of_a_host_share_its_nic),
        cmocka_unit_test(loads_go_the_way_of_messages_and_signals_cost_theirs),
        cmocka_unit_test(what_maps_memory_wants_hosts_that_have_it),
        cmocka_unit_test(lowering_for_hosts_moves_no_more_between_them),
        cmocka_unit_test(a_nic_for_each_gpu_reaches_the_closed_form_and_a_shared_one_does_not),
        cmocka_unit_test(a_shaped_link_makes_up_for_idling_as_far_as_its_bucket_goes),
        cmocka_unit_test(each_shaped_link_has_a_bucket_of_its_own),
        cmocka_unit_test(the_mapper_never_makes_it_worse_and_does_the_same_again),
        cmocka_unit_test(the_mapper_finds_a_seating_as_good_as_parity_mapping),
        cmocka_unit_test(the_mapper_lays_a_ring_along_nvlinks),
        cmocka_unit_test(a_host_has_no_seats_to_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
