/* SPDX-License-Identifier: Apache-2.0 */
/* Who sits where: every placement seats each rank once, and parity mapping on BiGraph keeps halving and doubling free
 * of collisions: at most ceil(2M/N) messages of a stage on a directed link between switches. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/parsed_topology.h"
#include "topology/topology_impl.h"

static void every_placement_gives_each_rank_a_seat_of_its_own(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "bigraph,switches=6,hosts=5,place=parity", "bigraph,switches=6,hosts=5,place=round-robin",
        "fat-tree,pods=2,place=round-robin",       "cluster,hosts=5,ranks=3,place=round-robin",
        "pcie,hosts=3,place=round-robin",          "torus,x=2,y=2,place=3.1.0.2",
    };
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        tutti_topology t = parsed(texts[k]);
        int32_t nseats = tutti_topology_nseats(&t, 1);
        uint8_t *taken = calloc((size_t)nseats, 1);
        for (int32_t r = 0; r < nseats; r++) {
            int32_t seat = tutti_topology_seat_of(&t, r);
            assert_in_range(seat, 0, nseats - 1);
            if (taken[seat]++) fail_msg("%s: two ranks on seat %d", texts[k], (int)seat);
        }
        free(taken);
    }
}

static void round_robin_puts_neighbours_behind_different_switches(void **state)
{
    (void)state;
    tutti_topology block = parsed("cluster,hosts=4,ranks=2"),
                   robin = parsed("cluster,hosts=4,ranks=2,place=round-robin");
    for (int32_t r = 0; r < 8; r++) {
        assert_int_equal(tutti_topology_group_of(&block, r), r / 2);
        assert_int_equal(tutti_topology_group_of(&robin, r), r % 4);
    }
}

static void ranks_of_a_host_map_each_others_memory(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t host_of[6];
    } cases[] = {{"host", {0, 0, 0, 0, 0, 0}},
                 {"star", {0, 1, 2, 3, 4, 5}},
                 {"fat-tree", {0, 1, 2, 3, 4, 5}},
                 {"dgx1v", {0, 1, 2, 3, 4, 5}},
                 {"cluster,hosts=3,ranks=2", {0, 0, 2, 2, 4, 4}},
                 {"cluster,hosts=3,ranks=2,place=round-robin", {0, 1, 2, 0, 1, 2}},
                 {"cluster,hosts=9,ranks=2,place=17.3.16.2.0.8", {0, 1, 0, 1, 4, 5}}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        tutti_topology t = parsed(cases[k].text);
        int32_t host_of[6];
        tutti_topology_hosts(&t, 6, host_of);
        assert_memory_equal(host_of, cases[k].host_of, sizeof host_of);
    }
}

typedef struct {
    int most;       /* messages on one link between switches, in any stage */
    int same_layer; /* sends to a host of the same layer behind another switch, all stages */
} load;

static load halving_doubling_load(const tutti_topology *t, int32_t p)
{
    load out = {0, 0};
    int32_t nlinks = tutti_topology_nlinks(t, p), links[TUTTI_MAX_HOPS];
    int *count = malloc((size_t)nlinks * sizeof *count);
    for (int32_t bit = 1; bit < p; bit *= 2) {
        memset(count, 0, (size_t)nlinks * sizeof *count);
        for (int32_t r = 0; r < p; r++) {
            int n = tutti_topology_route(t, r, r ^ bit, 0, links);
            out.same_layer += n > 3;
            for (int i = 0; i < n; i++)
                if (links[i] >= 2 * p && ++count[links[i]] > out.most) out.most = count[links[i]];
        }
    }
    free(count);
    return out;
}

static void parity_mapping_loads_no_link_with_more_than_2m_over_n_messages(void **state)
{
    (void)state;
    for (int32_t n = 4; n <= 32; n *= 2)
        for (int32_t m = 1; m <= 16; m *= 2) {
            char text[64];
            snprintf(text, sizeof text, "bigraph,switches=%d,hosts=%d,place=parity", (int)n, (int)m);
            tutti_topology parity = parsed(text), naive = parity;
            naive.figure[TUTTI_FIGURE_PLACE] = TUTTI_PLACE_BLOCK;
            load best = halving_doubling_load(&parity, n * m), worst = halving_doubling_load(&naive, n * m);
            assert_int_equal(best.most, (2 * m + n - 1) / n);
            assert_int_equal(best.same_layer, 0);
            assert_true(worst.most >= best.most);
        }
}

static void naive_placement_on_16_switches_of_8_hosts_collides_eightfold(void **state)
{
    (void)state;
    tutti_topology naive = parsed("bigraph,switches=16,hosts=8");
    load l = halving_doubling_load(&naive, 128);
    assert_int_equal(l.most, 8);
    assert_int_equal(l.same_layer, 384);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_host_map_each_others_memory),
        cmocka_unit_test(every_placement_gives_each_rank_a_seat_of_its_own),
        cmocka_unit_test(round_robin_puts_neighbours_behind_different_switches),
        cmocka_unit_test(parity_mapping_loads_no_link_with_more_than_2m_over_n_messages),
        cmocka_unit_test(naive_placement_on_16_switches_of_8_hosts_collides_eightfold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
