/* SPDX-License-Identifier: Apache-2.0 */
/* The chooser: ranges without gaps, policies, what a topology suggests, and what is skipped. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collective/simulate/choose/choose.h"
#include "topology/parsed_topology.h"
#include "tutti/compile.h"

static tutti_choice *chosen(const char *topology, int32_t p, int64_t n)
{
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = p, .in_place = true};
    tutti_topology t = parsed(topology);
    tutti_choice *choice = malloc(sizeof *choice);
    tutti_choose_algorithm(&q, n, &t, choice);
    assert_true(choice->best >= 0);
    return choice;
}

static const tutti_candidate *candidate(const tutti_choice *choice, const char *algorithm)
{
    for (int i = 0; i < choice->ncandidates; i++)
        if (!strcmp(choice->candidates[i].algorithm, algorithm)) return &choice->candidates[i];
    return NULL;
}

static tutti_ranges *ranges_of(int policy, const char *topology, int32_t p, int64_t most)
{
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = p, .in_place = true};
    tutti_topology t = parsed(topology);
    tutti_ranges *ranges = malloc(sizeof *ranges);
    tutti_failure err = {0};
    if (tutti_choose_ranges(tutti_policy_at(policy), 0, &q, most, &t, ranges, &err)) fail_msg("%s", err.text);
    return ranges;
}

static void ranges_have_no_gaps_and_name_what_is_chosen_there(void **state)
{
    (void)state;
    static const char *const topologies[] = {"star", "star,bw=100Gb,lat=1us,soft=50ns", "cluster,hosts=2,ranks=4",
                                             "host,cores=2,cache=1MiB"};
    for (int x = 0; x < 4; x++) {
        tutti_ranges *r = ranges_of(0, topologies[x], 8, 1 << 20);
        assert_true(r->nranges >= 2);
        assert_int_equal(r->ranges[0].first, 1);
        assert_int_equal(r->ranges[r->nranges - 1].last, 1 << 20);
        for (int i = 0; i < r->nranges; i++) {
            assert_true(r->ranges[i].first <= r->ranges[i].last);
            if (i) assert_int_equal(r->ranges[i].first, r->ranges[i - 1].last + 1);
            if (i) assert_string_not_equal(r->ranges[i].algorithm, r->ranges[i - 1].algorithm);
            tutti_choice *choice = chosen(topologies[x], 8, r->ranges[i].first);
            assert_string_equal(choice->candidates[choice->best].algorithm, r->ranges[i].algorithm);
            assert_true(choice->candidates[choice->best].sim.seconds == r->ranges[i].first_s);
            free(choice);
        }
        free(r);
    }
}

/* Jia et al.: hierarchical below a size, ring above. On a star both have closed forms, so the size can be computed. */
static void the_hybrid_policy_crosses_where_the_closed_forms_do(void **state)
{
    (void)state;
    tutti_topology t = parsed("star,bw=100Gb");
    tutti_ranges *r = ranges_of(1, "star,bw=100Gb", 64, 1 << 24);
    assert_int_equal(r->nranges, 2);
    assert_string_equal(r->ranges[0].algorithm, "hierarchical,group=5");
    assert_string_equal(r->ranges[1].algorithm, "ring");
    tutti_closed_form one[2], many[2];
    const char *const names[] = {"hierarchical,group=5", "ring"};
    for (int i = 0; i < 2; i++) {
        assert_true(tutti_simulate_closed_form(names[i], TUTTI_ALLREDUCE, 64, 0, &t, &one[i]));
        assert_true(tutti_simulate_closed_form(names[i], TUTTI_ALLREDUCE, 64, 1000000, &t, &many[i]));
    }
    double slope[2] = {(many[0].seconds - one[0].seconds) / 1e6, (many[1].seconds - one[1].seconds) / 1e6};
    double cross = (one[1].seconds - one[0].seconds) / (slope[0] - slope[1]);
    assert_true(fabs((double)r->ranges[1].first / cross - 1) < 0.01);
    free(r);
}

static void ranks_of_a_host_are_a_group_that_is_tried(void **state)
{
    (void)state;
    tutti_choice *c = chosen("cluster,hosts=3,ranks=8", 24, 100000);
    assert_non_null(candidate(c, "hierarchical,group=8"));
    assert_non_null(candidate(c, "split-rail,group=8"));
    free(c);
    c = chosen("cluster,hosts=3,ranks=8,place=round-robin", 24, 100000); /* a host's ranks do not follow each other */
    assert_null(candidate(c, "hierarchical,group=8"));
    free(c);
    c = chosen("torus,x=6,y=4", 24, 100000);
    assert_non_null(candidate(c, "torus,rows=4,columns=6,ways=2"));
    free(c);
}

static void groups_beat_the_flat_ring_where_hosts_share_a_slow_link(void **state)
{
    (void)state;
    tutti_choice *c = chosen("cluster,hosts=2,ranks=2,nic=300Mb", 4, 16000000);
    const tutti_candidate *flat = candidate(c, "ring"), *grouped = candidate(c, "split-rail,group=2");
    assert_true(grouped->sim.seconds < 0.7 * flat->sim.seconds);
    assert_true(c->candidates[c->best].sim.seconds <= grouped->sim.seconds);
    free(c);
}

static void both_ways_of_a_torus_are_faster_than_one(void **state)
{
    (void)state;
    tutti_choice *c = chosen("torus,x=4,y=4,add=1000GB", 16, 16 << 20);
    const tutti_candidate *one = candidate(c, "torus,rows=4,columns=4,ways=1");
    const tutti_candidate *two = candidate(c, "torus,rows=4,columns=4,ways=2");
    assert_true(two->sim.seconds < 0.6 * one->sim.seconds);
    free(c);
}

static void swing_loads_a_ring_of_nodes_less_than_halving_does(void **state)
{
    (void)state;
    tutti_choice *c = chosen("torus,x=64,y=1,add=1000GB", 64, 16 << 20);
    const tutti_candidate *swing = candidate(c, "swing"), *halving = candidate(c, "halving-doubling");
    assert_true(swing->sim.bytes_most < 0.8 * (double)halving->sim.bytes_most);
    assert_true(swing->sim.seconds < 0.8 * halving->sim.seconds);
    free(c);
}

static void what_has_too_many_steps_is_skipped_with_words(void **state)
{
    (void)state;
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 64, .in_place = true};
    tutti_topology t = parsed("star");
    tutti_choice *choice = malloc(sizeof *choice);
    tutti_choose_by(tutti_policy_at(0), 10000, &q, 1000, &t, choice);
    const tutti_candidate *ring = candidate(choice, "ring");
    assert_true(ring->skipped && !ring->can && strstr(ring->refusal, "thousand steps"));
    assert_true(candidate(choice, "halving-doubling")->can && choice->best >= 0);
    tutti_ranges *ranges = malloc(sizeof *ranges);
    assert_int_equal(tutti_choose_ranges(tutti_policy_at(0), 10000, &q, 1000, &t, ranges, NULL), TUTTI_OK);
    assert_non_null(strstr(ranges->skipped, "ring"));
    tutti_failure err = {0};
    assert_int_equal(tutti_choose_ranges(tutti_policy_at(0), 10, &q, 1000, &t, ranges, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "ring"));
    free(ranges);
    free(choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_have_no_gaps_and_name_what_is_chosen_there),
        cmocka_unit_test(the_hybrid_policy_crosses_where_the_closed_forms_do),
        cmocka_unit_test(ranks_of_a_host_are_a_group_that_is_tried),
        cmocka_unit_test(groups_beat_the_flat_ring_where_hosts_share_a_slow_link),
        cmocka_unit_test(both_ways_of_a_torus_are_faster_than_one),
        cmocka_unit_test(swing_loads_a_ring_of_nodes_less_than_halving_does),
        cmocka_unit_test(what_has_too_many_steps_is_skipped_with_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
