/* SPDX-License-Identifier: Apache-2.0 */
/* Max-flow against every cut, and the cuts of two machines. */
#include "testing.h"

#include "collective/pack/maxflow.h"
#include "pack_graphs.h"

static int64_t cut_value(const tutti_network *g, unsigned side)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < g->narcs; i++)
        if (side >> g->arcs[i].src & 1 && !(side >> g->arcs[i].dst & 1)) sum += g->arcs[i].capacity;
    return sum;
}

static int64_t least_cut(const tutti_network *g, int32_t s, int32_t t)
{
    int64_t least = INT64_MAX;
    for (unsigned side = 0; side < 1u << g->nnodes; side++)
        if (side >> s & 1 && !(side >> t & 1) && cut_value(g, side) < least) least = cut_value(g, side);
    return least;
}

static void max_flow_equals_the_least_of_all_cuts(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        int32_t n = 2 + (int32_t)(seed % 6);
        tutti_network g = random_network(seed, n, seed % 2 ? 3 : (int64_t)1 << 40, seed % 3 == 0);
        tutti_maxflow *f = tutti_maxflow_of(&g, 0);
        for (int32_t t = 1; t < n; t++) {
            bool side[8];
            unsigned bits = 0;
            int64_t flow = tutti_maxflow_solve(f, 0, t, TUTTI_MAXFLOW_UNBOUNDED), out = 0;
            assert_int_equal(flow, least_cut(&g, 0, t));
            tutti_maxflow_cut(f, side);
            for (int32_t v = 0; v < n; v++) bits |= (unsigned)side[v] << v;
            assert_int_equal(cut_value(&g, bits), flow);
            for (int32_t i = 0; i < g.narcs; i++) {
                int64_t on = tutti_maxflow_on(f, i);
                assert_true(on >= 0 && on <= g.arcs[i].capacity);
                out += g.arcs[i].src == 0 ? on : g.arcs[i].dst == 0 ? -on : 0;
            }
            assert_int_equal(out, flow);
            assert_int_equal(tutti_maxflow_solve(f, 0, t, 2), flow < 2 ? flow : 2);
        }
        tutti_maxflow_destroy(f);
        tutti_network_release(&g);
    }
}

static void capacities_may_change_between_questions(void **state)
{
    (void)state;
    tutti_maxflow *f = tutti_maxflow_create(3);
    int32_t a = tutti_maxflow_arc(f, 0, 1, 5), b = tutti_maxflow_arc(f, 1, 2, 3);
    assert_int_equal(tutti_maxflow_solve(f, 0, 2, TUTTI_MAXFLOW_UNBOUNDED), 3);
    tutti_maxflow_set(f, b, TUTTI_MAXFLOW_UNBOUNDED);
    assert_int_equal(tutti_maxflow_solve(f, 0, 2, TUTTI_MAXFLOW_UNBOUNDED), 5);
    assert_int_equal(tutti_maxflow_on(f, a), 5);
    assert_int_equal(tutti_maxflow_solve(f, 2, 0, TUTTI_MAXFLOW_UNBOUNDED), 0);
    tutti_maxflow_destroy(f);
}

static void a_dgx1_broadcasts_over_as_many_links_as_a_gpu_has(void **state)
{
    (void)state;
    for (int volta = 0; volta < 2; volta++) {
        tutti_network g = dgx1(volta);
        for (int32_t root = 0; root < 8; root++) assert_int_equal(tutti_maxflow_broadcast(&g, root), volta ? 6 : 4);
        tutti_network_release(&g);
    }
}

static void subsets_keep_what_lies_between_them(void **state)
{
    (void)state;
    tutti_network whole = dgx1(true), g = gpus_of(&whole, 0x29), apart = gpus_of(&whole, 0x21);
    assert_int_equal(g.nranks, 3); /* GPUs 0, 3, 5: 5 stands alone */
    assert_int_equal(tutti_network_capacity(&g, 0, 1), 2);
    assert_int_equal(g.narcs, 2);
    assert_false(tutti_network_connected(&g));
    assert_int_equal(apart.narcs, 0);
    assert_true(tutti_network_connected(&whole));
    assert_int_equal(tutti_network_unit(&whole), 1);
    tutti_network_release(&apart);
    tutti_network_release(&g);
    tutti_network_release(&whole);
}

static void an_arc_one_way_connects_nothing(void **state)
{
    (void)state;
    tutti_network g;
    tutti_network_init(&g, 2, 3);
    tutti_network_add(&g, 0, 2, 12);
    tutti_network_add(&g, 2, 1, 18);
    assert_false(tutti_network_connected(&g));
    assert_int_equal(tutti_network_unit(&g), 6);
    tutti_network_add(&g, 1, 0, 5);
    assert_true(tutti_network_connected(&g));
    tutti_network_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_flow_equals_the_least_of_all_cuts),
        cmocka_unit_test(capacities_may_change_between_questions),
        cmocka_unit_test(a_dgx1_broadcasts_over_as_many_links_as_a_gpu_has),
        cmocka_unit_test(subsets_keep_what_lies_between_them),
        cmocka_unit_test(an_arc_one_way_connects_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
