/* SPDX-License-Identifier: Apache-2.0 */
/* Packings: bounds against all partitions and cuts, the two ways of packing against the bounds, few trees, the text
 * form. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/program.h"
#include "base/text/strbuf.h"
#include "collective/pack/maxflow.h"
#include "collective/pack/packers.h"
#include "pack_graphs.h"

static void assert_packs(const tutti_packing *p, const tutti_network *g)
{
    tutti_failure err = {0};
    if (tutti_packing_check(p, g, &err)) fail_msg("%s", err.text);
}

/* min over partitions of c(dP) / (|P| - 1), by going through all of them as restricted growth strings. */
static tutti_ratio strength_by_force(const tutti_network *g)
{
    int32_t n = g->nranks, part[8] = {0}, top[8] = {0};
    tutti_ratio best = {INT32_MAX, 1};
    for (;;) {
        int64_t cut = 0;
        for (int32_t i = 0; i < g->narcs; i++) {
            const tutti_arc *a = &g->arcs[i];
            int64_t back = tutti_network_capacity(g, a->dst, a->src);
            if (a->src < a->dst && part[a->src] != part[a->dst]) cut += back < a->capacity ? back : a->capacity;
        }
        if (top[n - 1] && cut * best.den < best.num * top[n - 1]) best = tutti_ratio_of(cut, top[n - 1]);
        int32_t v = n - 1;
        while (v > 0 && part[v] == top[v - 1] + 1) v--;
        if (!v) return best;
        part[v]++;
        for (int32_t u = v; u < n; u++) {
            if (u > v) part[u] = 0;
            top[u] = part[u] > top[u - 1] ? part[u] : top[u - 1];
        }
    }
}

static void strength_equals_the_least_of_all_partitions(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        tutti_network g = random_network(seed, 2 + (int32_t)(seed % 5), seed % 2 ? 3 : 1000, seed % 3 != 0);
        tutti_ratio force = strength_by_force(&g), quick = tutti_packing_strength(&g, NULL);
        assert_int_equal(quick.num, force.num);
        assert_int_equal(quick.den, force.den);
        tutti_network_release(&g);
    }
}

/* p times min over S without some rank of c+(S) / |S|. */
static tutti_ratio all_gather_by_force(const tutti_network *g)
{
    tutti_ratio best = {INT32_MAX, 1};
    for (unsigned side = 1; side < (1u << g->nranks) - 1; side++) {
        int64_t cut = 0;
        for (int32_t i = 0; i < g->narcs; i++)
            if (side >> g->arcs[i].src & 1 && !(side >> g->arcs[i].dst & 1)) cut += g->arcs[i].capacity;
        int64_t inside = __builtin_popcount(side);
        if (cut * best.den < best.num * inside) best = tutti_ratio_of(cut, inside);
    }
    return tutti_ratio_of(best.num * g->nranks, best.den);
}

static void exact_packings_reach_their_bounds_on_random_networks(void **state)
{
    (void)state;
    int packed = 0;
    for (uint64_t seed = 100; seed < 130; seed++) {
        tutti_network g = random_network(seed, 2 + (int32_t)(seed % 5), 1 + (int64_t)(seed % 4), seed % 2);
        for (int use = 0; use < TUTTI_NPACKING_USES && tutti_network_connected(&g); use++) {
            tutti_packing p;
            tutti_failure err = {0};
            if (use == TUTTI_PACKING_ALLREDUCE && !tutti_packing_strength(&g, NULL).num) continue;
            if (tutti_packing_exact(&g, (tutti_packing_use)use, 1, &p, &err)) fail_msg("%s", err.text);
            assert_packs(&p, &g);
            assert_true(tutti_packing_gap(&p) == 0);
            if (use == TUTTI_PACKING_ALL_GATHER) {
                tutti_ratio force = all_gather_by_force(&g);
                assert_int_equal(p.bound.num, force.num);
                assert_int_equal(p.bound.den, force.den);
            }
            packed++;
            tutti_packing_release(&p);
        }
        tutti_network_release(&g);
    }
    assert_true(packed > 60);
}

static void weights_come_near_the_bounds_on_random_networks(void **state)
{
    (void)state;
    for (uint64_t seed = 200; seed < 220; seed++) {
        tutti_network g = random_network(seed, 3 + (int32_t)(seed % 4), 50, seed % 2);
        for (int use = 0; use < 2 && tutti_network_connected(&g); use++) {
            tutti_packing p;
            tutti_failure err = {0};
            if (!tutti_packing_bound(&g, (tutti_packing_use)use, 0).num) continue;
            if (tutti_packing_by_weights(&g, (tutti_packing_use)use, 0, 0.008, &p, &err)) fail_msg("%s", err.text);
            assert_packs(&p, &g);
            assert_true(tutti_packing_gap(&p) <= 0.01);
            tutti_packing_release(&p);
        }
        tutti_network_release(&g);
    }
}

static void eight_v100s_reduce_at_24_sevenths_of_a_link_and_broadcast_at_6(void **state)
{
    (void)state;
    tutti_network g = dgx1(true);
    tutti_packing p;
    tutti_ratio tau = tutti_packing_strength(&g, NULL);
    assert_true(tau.num == 24 && tau.den == 7);
    assert_int_equal(tutti_packing_exact(&g, TUTTI_PACKING_ALLREDUCE, 0, &p, NULL), TUTTI_OK);
    assert_packs(&p, &g);
    assert_true(tutti_packing_gap(&p) == 0);
    assert_int_equal(tutti_packing_weight(&p), 24);
    assert_int_equal(p.unit.den, 7);
    tutti_packing_release(&p);
    assert_int_equal(tutti_packing_exact(&g, TUTTI_PACKING_BROADCAST, 0, &p, NULL), TUTTI_OK);
    assert_packs(&p, &g);
    assert_true(tutti_packing_rate(&p) == 6);
    tutti_packing_release(&p);
    tutti_network_release(&g);
}

/* n ranks on one switch, `width` each way. */
static tutti_network one_switch(int32_t n, int64_t width)
{
    tutti_network g;
    tutti_network_init(&g, n, n + 1);
    for (int32_t r = 0; r < n; r++) tutti_network_add_both(&g, r, n, width);
    return g;
}

static void through_one_switch_every_tree_is_one_hop(void **state)
{
    (void)state;
    for (int32_t n = 2; n <= 16; n = n < 6 ? n + 1 : n + 5) {
        tutti_network g = one_switch(n, 150);
        tutti_packing p;
        tutti_failure err = {0};
        if (tutti_packing_exact(&g, TUTTI_PACKING_ALLREDUCE, 0, &p, &err)) fail_msg("%s", err.text);
        assert_packs(&p, &g);
        assert_true(tutti_packing_gap(&p) == 0);
        assert_int_equal(p.ntrees, n);
        assert_int_equal(tutti_packing_depth(&p), 1);
        assert_true(p.bound.num * 2 * (n - 1) == 150 * n * p.bound.den); /* Patarasuk and Yuan: 2 (p - 1) / p n / B */
        tutti_packing_release(&p);
        tutti_network_release(&g);
    }
}

/* Two switches with three ranks each, a narrow trunk between them. */
static void trunks_are_shared_exactly(void **state)
{
    (void)state;
    tutti_network g;
    tutti_network_init(&g, 6, 8);
    for (int32_t r = 0; r < 6; r++) tutti_network_add_both(&g, r, 6 + r / 3, 10);
    tutti_network_add_both(&g, 6, 7, 6);
    for (int use = 0; use < TUTTI_NPACKING_USES; use++) {
        tutti_packing p;
        tutti_failure err = {0};
        if (tutti_packing_exact(&g, (tutti_packing_use)use, 2, &p, &err)) fail_msg("%s", err.text);
        assert_packs(&p, &g);
        assert_true(tutti_packing_gap(&p) == 0);
        if (use == TUTTI_PACKING_BROADCAST) assert_true(tutti_packing_rate(&p) == 6);
        if (use == TUTTI_PACKING_ALL_GATHER) assert_true(tutti_packing_rate(&p) == 12); /* 3 of 6 shares over 6 */
        tutti_packing_release(&p);
    }
    tutti_network_release(&g);
}

/* Some of the nodes of a random network are switches; between any two nodes it is as wide both ways, so all splits are
 * possible. */
static void switches_are_split_off_without_loss(void **state)
{
    (void)state;
    int packed = 0;
    for (uint64_t seed = 300; seed < 360; seed++) {
        int32_t switches = 1 + (int32_t)(seed % 3), ranks = 2 + (int32_t)(seed / 3 % 4);
        tutti_network g = random_network(seed, ranks + switches, 3, true);
        g.nranks = ranks;
        for (int use = 0; use < TUTTI_NPACKING_USES && tutti_network_connected(&g); use++) {
            tutti_packing p;
            tutti_failure err = {0};
            if (tutti_packing_exact(&g, (tutti_packing_use)use, 0, &p, &err))
                fail_msg("seed %d: %s", (int)seed, err.text);
            assert_packs(&p, &g);
            assert_true(tutti_packing_gap(&p) == 0);
            packed++;
            tutti_packing_release(&p);
        }
        tutti_network_release(&g);
    }
    assert_true(packed > 100);
}

static void few_trees_carry_nearly_as_much(void **state)
{
    (void)state;
    for (int volta = 0; volta < 2; volta++) {
        tutti_network whole = dgx1(volta), g = gpus_of(&whole, 0x7f);
        for (int use = 0; use < 2; use++) {
            tutti_packing p, few;
            tutti_fewest_report report;
            tutti_failure err = {0};
            assert_int_equal(tutti_packing_by_weights(&g, (tutti_packing_use)use, 0, 0.005, &p, NULL), TUTTI_OK);
            for (int solver = 0; solver < 2; solver++) {
                const tutti_fewest_options o = {.loss = 0.05, .limit_s = 2, .solver = solver ? "cbc" : NULL};
                if (tutti_packing_fewest(&g, &p, &o, &few, &report, &err)) fail_msg("%s", err.text);
                assert_packs(&few, &g);
                assert_true(tutti_packing_rate(&few) >= 0.95 * tutti_packing_rate(&p) * (1 - 1e-6));
                if (few.ntrees > p.ntrees || few.ntrees > 12)
                    fail_msg("%d of %d trees, solver %d, %s", few.ntrees, p.ntrees, solver, report.why);
                assert_int_equal(report.solved, solver && p.ntrees > 1 && tutti_program_exists("cbc"));
                tutti_packing_release(&few);
            }
            tutti_packing_release(&p);
        }
        tutti_network_release(&g);
        tutti_network_release(&whole);
    }
}

static void a_missing_solver_is_named(void **state)
{
    (void)state;
    tutti_network g = dgx1(true);
    tutti_packing p, few;
    tutti_fewest_report report;
    const tutti_fewest_options o = {.loss = 0.05, .limit_s = 2, .solver = "no-such-solver"};
    assert_int_equal(tutti_packing_by_weights(&g, TUTTI_PACKING_BROADCAST, 0, 0.01, &p, NULL), TUTTI_OK);
    assert_int_equal(tutti_packing_fewest(&g, &p, &o, &few, &report, NULL), TUTTI_OK);
    assert_false(report.solved);
    assert_non_null(strstr(report.why, "no-such-solver"));
    assert_packs(&few, &g);
    tutti_packing_release(&few);
    tutti_packing_release(&p);
    tutti_network_release(&g);
}

static void text_is_read_back_as_it_was(void **state)
{
    (void)state;
    tutti_network nets[] = {dgx1(true), one_switch(5, 7)};
    for (int i = 0; i < 2; i++) {
        for (int use = 0; use < TUTTI_NPACKING_USES; use++) {
            tutti_packing p, read;
            tutti_failure err = {0};
            assert_int_equal(tutti_packing_exact(&nets[i], (tutti_packing_use)use, 2, &p, NULL), TUTTI_OK);
            char *text = tutti_packing_print(&p);
            if (tutti_packing_parse("p", text, strlen(text), &read, &err)) fail_msg("%s", err.text);
            assert_packs(&read, &nets[i]);
            char *again = tutti_packing_print(&read);
            assert_string_equal(again, text);
            free(text), free(again);
            tutti_packing_release(&p);
            tutti_packing_release(&read);
        }
        tutti_network_release(&nets[i]);
    }
}

static void bad_texts_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "line 0"},
        {"tutti packing 2\n", "line 1"},
        {"tutti packing 1\nuse scatter\n", "line 2: 'broadcast'"},
        {"tutti packing 1\nuse allreduce\nranks 0\n", "line 3: 'ranks'"},
        {"tutti packing 1\nuse broadcast\nroot 3\nranks 2\n", "line 4: 'ranks' and a number from 4"},
        {"tutti packing 1\nuse allreduce\nranks 2\nnodes 3\nunit 1/0\n", "line 5: 'unit'"},
        {"tutti packing 1\nuse allreduce\nranks 2\nnodes 3\nunit 1/1\nbound 1/1\ntree 0 root 0 0>1\n", "line 7"},
        {"tutti packing 1\nuse allreduce\nranks 2\nnodes 3\nunit 1/1\nbound 1/1\n\n# c\ntree 1 root 0 0>2\n", "line 9"},
        {"tutti packing 1\nuse allreduce\nranks 2\nnodes 3\nunit 1/1\nbound 1/1\ntree 1 root 0 0>1 0>1\n",
         "line 7: one"},
        {"tutti packing 1\nuse allreduce\nranks 2\nnodes 3\nunit 1/1\nbound 1/1\ntree 1 root 0 0>0>1\n", "switches"},
        {"tutti packing 1\nuse allreduce\nranks 2\nnodes 3\nunit 1/1\nbound 1/1\ntree 99999999999999999999 root 0 "
         "0>1\n",
         "line 7"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tutti_packing p;
        tutti_failure err = {0};
        assert_int_equal(tutti_packing_parse("f", bad[i].text, strlen(bad[i].text), &p, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, bad[i].says)) fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
    }
}

static void a_packing_that_is_none_is_found_out(void **state)
{
    (void)state;
    static const char head[] = "tutti packing 1\nuse allreduce\nranks 3\nnodes 3\nunit 1/2\nbound 3/2\n";
    static const struct {
        const char *trees, *says;
    } cases[] = {
        {"tree 1 root 0 0>1 1>2\ntree 1 root 0 1>2 0>1\n", "begins where"},
        {"tree 1 root 0 0>1 0>1\n", "a second time"},
        {"tree 1 root 0 0>1 1>2\ntree 2 root 0 0>1 0>2\n", "0>1 carries 1.5 of 1"},
        {"tree 1 root 0 0>1 1>2\ntree 1 root 1 1>2 2>0\ntree 1 root 2 2>0 0>1\n", NULL},
    };
    tutti_network g;
    tutti_network_init(&g, 3, 3);
    for (int32_t r = 0; r < 3; r++) tutti_network_add_both(&g, r, (r + 1) % 3, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400];
        tutti_packing p;
        tutti_failure err = {0};
        snprintf(text, sizeof text, "%s%s", head, cases[i].trees);
        assert_int_equal(tutti_packing_parse("f", text, strlen(text), &p, &err), TUTTI_OK);
        assert_int_equal(tutti_packing_check(&p, &g, &err), cases[i].says ? TUTTI_ERR_FAILED : TUTTI_OK);
        if (cases[i].says && !strstr(err.text, cases[i].says)) fail_msg("'%s'", err.text);
        if (!cases[i].says) assert_true(tutti_packing_gap(&p) == 0);
        tutti_packing_release(&p);
    }
    tutti_network_release(&g);
}

static void trees_whose_weights_have_no_sum_are_refused(void **state)
{
    (void)state;
    tutti_strbuf text = {0};
    tutti_packing p;
    tutti_failure err = {0};
    tutti_strbuf_puts(&text, "tutti packing 1\nuse all-gather\nranks 2\nnodes 2\nunit 1/1\nbound 1/1\n");
    for (int i = 0; i < 1024; i++) tutti_strbuf_puts(&text, "tree 1125899906842624 root 0 0>1\n"); /* 2^50 */
    assert_int_equal(tutti_packing_parse("f", text.text, text.length, &p, &err), TUTTI_OK);
    assert_true(tutti_packing_weight(&p) == (int64_t)1 << 60);
    tutti_packing_release(&p);
    tutti_strbuf_puts(&text, "tree 1 root 0 0>1\n");
    assert_int_equal(tutti_packing_parse("f", text.text, text.length, &p, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "line 1031"));
    tutti_strbuf_release(&text);
}

static void what_cannot_be_packed_is_refused(void **state)
{
    (void)state;
    tutti_network whole = dgx1(true), apart = gpus_of(&whole, 0x29), star = one_switch(4, 1);
    tutti_packing p;
    for (int use = 0; use < TUTTI_NPACKING_USES; use++)
        assert_int_equal(tutti_packing_exact(&apart, (tutti_packing_use)use, 0, &p, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_packing_by_weights(&apart, TUTTI_PACKING_BROADCAST, 0, 0.01, &p, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_packing_by_weights(&star, TUTTI_PACKING_ALLREDUCE, 0, 0.01, &p, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_packing_by_weights(&star, TUTTI_PACKING_ALL_GATHER, 0, 0.01, &p, NULL), TUTTI_ERR_USAGE);
    tutti_network_add(&star, 0, 4, 1); /* wider one way */
    assert_int_equal(tutti_packing_exact(&star, TUTTI_PACKING_ALLREDUCE, 0, &p, NULL), TUTTI_ERR_USAGE);
    tutti_network_release(&star);
    tutti_network_release(&apart);
    tutti_network_release(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strength_equals_the_least_of_all_partitions),
        cmocka_unit_test(exact_packings_reach_their_bounds_on_random_networks),
        cmocka_unit_test(weights_come_near_the_bounds_on_random_networks),
        cmocka_unit_test(eight_v100s_reduce_at_24_sevenths_of_a_link_and_broadcast_at_6),
        cmocka_unit_test(through_one_switch_every_tree_is_one_hop),
        cmocka_unit_test(trunks_are_shared_exactly),
        cmocka_unit_test(switches_are_split_off_without_loss),
        cmocka_unit_test(few_trees_carry_nearly_as_much),
        cmocka_unit_test(a_missing_solver_is_named),
        cmocka_unit_test(text_is_read_back_as_it_was),
        cmocka_unit_test(bad_texts_are_refused_with_their_line),
        cmocka_unit_test(a_packing_that_is_none_is_found_out),
        cmocka_unit_test(trees_whose_weights_have_no_sum_are_refused),
        cmocka_unit_test(what_cannot_be_packed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
