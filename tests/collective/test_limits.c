/* SPDX-License-Identifier: Apache-2.0 */
/* What physics allows: cuts against all cuts of small networks, the figures of machines that are known, the order of
 * the bounds, and no schedule below any of them. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/compile/algorithms.h"
#include "collective/pack/simplex.h"
#include "collective/simulate/choose/choose.h"
#include "collective/simulate/choose/tree_rate.h"
#include "topology/parsed_topology.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static double limit_of(const char *text, int32_t p, tutti_collective c, int which, tutti_limit_kind kind)
{
    tutti_topology t = parsed(text);
    tutti_limit limits[TUTTI_NLIMITS];
    tutti_simulate_limits(c, p, 25000000, &t, limits);
    if (limits[which - 1].kind != kind) fail_msg("%s: %s is %s", text, limits[which - 1].name, limits[which - 1].where);
    return limits[which - 1].seconds;
}

static void assert_close(double a, double b)
{
    if (fabs(a - b) > 1e-6 * fabs(b)) fail_msg("%.12g is not %.12g", a, b);
}

static void a_full_dgx1v_is_bound_by_24_sevenths_of_a_link(void **state)
{
    (void)state;
    const char *text = "dgx1v,wires=nvlink";
    const double trees_s = 100e6 / (24.0 / 7 * 20e9);
    assert_close(limit_of(text, 8, TUTTI_ALLREDUCE, 2, TUTTI_LIMIT_BOUND), 100e6 / (6 * 20e9));
    assert_close(limit_of(text, 8, TUTTI_ALLREDUCE, 3, TUTTI_LIMIT_EXACT), trees_s);
    assert_close(limit_of(text, 8, TUTTI_ALLREDUCE, 6, TUTTI_LIMIT_EXACT), trees_s);
    assert_close(limit_of(text, 8, TUTTI_BROADCAST, 5, TUTTI_LIMIT_EXACT), 100e6 / (6 * 20e9));
}

static void hosts_behind_one_switch_are_bound_by_patarasuk_and_yuan(void **state)
{
    (void)state;
    const double share_s = 7.0 / 8 * 100e6 / 1.25e9;
    assert_close(limit_of("star", 8, TUTTI_ALLREDUCE, 3, TUTTI_LIMIT_BOUND), 2 * share_s);
    assert_close(limit_of("star", 8, TUTTI_ALLREDUCE, 4, TUTTI_LIMIT_REACHED), 2 * share_s);
    assert_close(limit_of("star", 8, TUTTI_ALLREDUCE, 6, TUTTI_LIMIT_EXACT), 2 * share_s);
    assert_close(limit_of("star", 8, TUTTI_ALL_GATHER, 4, TUTTI_LIMIT_EXACT), share_s);
    assert_close(limit_of("star", 8, TUTTI_REDUCE_SCATTER, 4, TUTTI_LIMIT_EXACT), share_s);
    assert_close(limit_of("star", 8, TUTTI_GATHER, 2, TUTTI_LIMIT_BOUND), share_s);
    assert_close(limit_of("star", 8, TUTTI_ALLREDUCE, 2, TUTTI_LIMIT_BOUND), 100e6 / 1.25e9);
    assert_close(limit_of("star,add=2GB", 8, TUTTI_ALLREDUCE, 7, TUTTI_LIMIT_BOUND), 7.0 / 8 * 100e6 / 2e9);
    assert_close(limit_of("star", 8, TUTTI_ALL_TO_ALL, 2, TUTTI_LIMIT_BOUND), share_s / 8);
}

static void a_shared_nic_is_the_weak_place_of_a_cluster(void **state)
{
    (void)state;
    tutti_topology t = parsed("cluster,hosts=4,ranks=2");
    tutti_limit limits[TUTTI_NLIMITS];
    tutti_simulate_limits(TUTTI_ALLREDUCE, 8, 25000000, &t, limits);
    assert_close(limits[2].seconds, 2 * 3.0 / 4 * 100e6 / 1.25e9); /* as if each host were one rank */
    assert_non_null(strstr(limits[2].where, "0,1 | 2,3 | 4,5 | 6,7"));
}

/* The latency bound: few large rounds where messages are cheap beside the wire, many small ones where they are not. */
static void latency_counts_rounds_and_messages(void **state)
{
    (void)state;
    assert_close(limit_of("star,lat=10us,soft=1us", 4, TUTTI_ALLREDUCE, 1, TUTTI_LIMIT_BOUND), 13e-6); /* 3 at once */
    assert_close(limit_of("star,lat=1us,soft=10us", 4, TUTTI_ALLREDUCE, 1, TUTTI_LIMIT_BOUND), 22e-6); /* 2 rounds */
    assert_close(limit_of("torus,x=8,y=1,lat=1us,soft=0s", 8, TUTTI_BROADCAST, 1, TUTTI_LIMIT_BOUND), 4e-6);
}

static const char *const small[] = {
    "star",
    "dgx1v,gpus=0.1.2.3,wires=nvlink",
    "dgx1p,gpus=0.1.4.5.6,wires=nvlink",
    "dgx1v,gpus=0.5,wires=pcie",
    "bigraph,switches=2,hosts=2",
    "bigraph,switches=4,hosts=1,up=5GB",
    "fat-tree,leaves=2,hosts=2,spines=1,up=7GB",
    "cluster,hosts=2,ranks=2",
    "cluster,hosts=2,ranks=2,bus=3GB,copy=7GB,nic=2GB",
    "torus,x=3,y=2",
    "pcie,sockets=2,switches=1,slots=2",
    "dgx2,gpus=1.2.3",
    "nvswitch,gpus=0.2.3.5",
    "cards,sockets=1,switches=2,slots=2,gpus=0.2.3,mesh=2-3x4",
};
enum { NSMALL = sizeof small / sizeof small[0] };

/* What leaves a set of nodes, by adding it up. */
static double leaves(const tutti_fabric *net, unsigned set)
{
    double sum = 0;
    for (int32_t l = 0; l < net->nlinks; l++)
        if ((set >> net->links[l].src & 1) && !(set >> net->links[l].dst & 1)) sum += net->links[l].bytes_per_s;
    return sum;
}

static void cuts_are_the_least_of_all_cuts(void **state)
{
    (void)state;
    for (int k = 0; k < NSMALL; k++) {
        tutti_topology t = parsed(small[k]);
        tutti_cuts cuts;
        int32_t p = tutti_topology_nseats(&t, 4);
        assert_true(tutti_cuts_init(&t, p, &cuts));
        const tutti_fabric *net = &cuts.net;
        assert_in_range(net->nnodes, 2, 14);
        double least = INFINITY, slices = INFINITY, gather = INFINITY;
        for (unsigned set = 1; set < 1u << net->nnodes; set++) {
            int inside = __builtin_popcount(set & ((1u << p) - 1));
            if (inside == 0 || inside == p) continue;
            double out = leaves(net, set);
            least = fmin(least, out);
            slices = fmin(slices, out / inside);
            if (!(set & 1)) gather = fmin(gather, out / inside);
        }
        tutti_cut a = tutti_cuts_least(&cuts), b = tutti_cuts_gather(&cuts, -1, false),
                  c = tutti_cuts_gather(&cuts, 0, false);
        assert_close(a.bytes_per_s, least);
        assert_close(b.bytes_per_s / tutti_cut_nranks(&cuts, &b), slices);
        assert_close(c.bytes_per_s / tutti_cut_nranks(&cuts, &c), gather);
        free(a.side), free(b.side), free(c.side);
        tutti_cuts_release(&cuts);
    }
}

static void bounds_stand_in_their_order(void **state)
{
    (void)state;
    for (int k = 0; k < NSMALL; k++) {
        tutti_topology t = parsed(small[k]);
        tutti_limit l[TUTTI_NLIMITS];
        int32_t p = tutti_topology_nseats(&t, 4);
        tutti_simulate_limits(TUTTI_ALLREDUCE, p, 1000000, &t, l);
        assert_int_equal(l[5].kind, TUTTI_LIMIT_EXACT);
        if (l[1].seconds > l[2].seconds * 1.000001 && l[1].seconds > l[5].seconds * 1.000001)
            fail_msg("%s: L2 %g above L3 %g and L6 %g", small[k], l[1].seconds, l[2].seconds, l[5].seconds);
        bool slower = l[3].kind == TUTTI_LIMIT_REACHED && l[5].seconds > l[3].seconds * 1.000001;
        if (l[2].seconds > l[5].seconds * 1.000001 || slower)
            fail_msg("%s: L3 %g, L6 %g, L4 %g", small[k], l[2].seconds, l[5].seconds, l[3].seconds);
        if (l[2].kind == TUTTI_LIMIT_EXACT) assert_close(l[2].seconds, l[5].seconds);
    }
}

static void bounds_hold(const tutti_schedule *s, const tutti_topology *t, int64_t n, const char *text)
{
    const tutti_schedule_header *head = tutti_schedule_head(s);
    tutti_simulation sim;
    tutti_bounds bounds;
    tutti_failure err = {0};
    if (tutti_simulate_schedule(s, t, n, &sim, &err)) fail_msg("%s", err.text);
    tutti_simulate_bounds(head->collective, head->nranks, n, t, &bounds);
    if (bounds.best_s > sim.seconds * (1 + 1e-9) || sim.lower_s > sim.seconds * (1 + 1e-9))
        fail_msg("%s %s (%s) on %s, %lld elements: bound %g (%s), lower %g, seconds %g", head->algorithm,
                 tutti_collective_name(head->collective), tutti_wire_class_name(head->wire), text, (long long)n,
                 bounds.best_s, bounds.best, sim.lower_s, sim.seconds);
}

/* As compiled, and lowered as the hosts want it: mixed on a cluster, one-sided elsewhere. */
static void no_schedule_beats_a_bound_on_any_network(void **state)
{
    (void)state;
    int compared = 0;
    for (int k = 0; k < NSMALL; k++)
        for (int a = 0; a < tutti_algorithm_count(); a++)
            for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) {
                tutti_topology t = parsed(small[k]);
                tutti_schedule *s = NULL, *lowered = NULL;
                int32_t host_of[12];
                const tutti_compile_request request = {.collective = (tutti_collective)c,
                                                       .nranks = tutti_topology_nseats(&t, 4),
                                                       .in_place = true,
                                                       .topology = &t};
                if (tutti_schedule_compile(tutti_algorithm_at(a)->name, &request, &s, NULL)) continue;
                tutti_topology_hosts(&t, request.nranks, host_of);
                assert_int_equal(tutti_schedule_lower_hosts(s, host_of, &lowered, NULL), TUTTI_OK);
                for (int64_t n = 48; n < 10000000; n *= 120, compared++) {
                    bounds_hold(s, &t, n, small[k]);
                    bounds_hold(lowered, &t, n, small[k]);
                }
                tutti_schedule_destroy(lowered);
                tutti_schedule_destroy(s);
            }
    assert_true(compared > 500);
}

static void a_host_is_bound_by_its_cores_and_memory_alone(void **state)
{
    (void)state;
    assert_true(limit_of("host,cores=4", 4, TUTTI_ALLREDUCE, 7, TUTTI_LIMIT_BOUND) > 0);
    limit_of("host,cores=4", 4, TUTTI_ALLREDUCE, 3, TUTTI_LIMIT_NONE);
}

static void large_networks_get_weaker_bounds_not_wrong_ones(void **state)
{
    (void)state;
    tutti_topology t = parsed("star");
    tutti_bounds bounds;
    tutti_simulate_bounds(TUTTI_ALLREDUCE, 1024, 25000000, &t, &bounds);
    assert_close(bounds.bandwidth_s, 2 * 1023.0 / 1024 * 100e6 / 1.25e9);
    assert_close(bounds.in_network_s, 100e6 / 1.25e9);
}

static void small_linear_programs_are_solved(void **state)
{
    (void)state;
    tutti_lp lp;
    double z[2], value;
    tutti_lp_init(&lp, 2);
    lp.goal[0] = 3, lp.goal[1] = 5; /* Dantzig's example: x <= 4, 2y <= 12, 3x + 2y <= 18 */
    tutti_lp_row(&lp, 4)[0] = 1;
    tutti_lp_row(&lp, 12)[1] = 2;
    double *row = tutti_lp_row(&lp, 18);
    row[0] = 3, row[1] = 2;
    assert_true(tutti_lp_solve(&lp, z, &value));
    assert_true(value == 36 && z[0] == 2 && z[1] == 6);
    tutti_lp_release(&lp);
    tutti_lp_init(&lp, 1);
    lp.goal[0] = 1; /* nothing limits it */
    tutti_lp_row(&lp, 1)[0] = -1;
    assert_false(tutti_lp_solve(&lp, z, &value));
    tutti_lp_release(&lp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_dgx1v_is_bound_by_24_sevenths_of_a_link),
        cmocka_unit_test(hosts_behind_one_switch_are_bound_by_patarasuk_and_yuan),
        cmocka_unit_test(a_shared_nic_is_the_weak_place_of_a_cluster),
        cmocka_unit_test(latency_counts_rounds_and_messages),
        cmocka_unit_test(cuts_are_the_least_of_all_cuts),
        cmocka_unit_test(bounds_stand_in_their_order),
        cmocka_unit_test(no_schedule_beats_a_bound_on_any_network),
        cmocka_unit_test(a_host_is_bound_by_its_cores_and_memory_alone),
        cmocka_unit_test(large_networks_get_weaker_bounds_not_wrong_ones),
        cmocka_unit_test(small_linear_programs_are_solved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
