/* SPDX-License-Identifier: Apache-2.0 */
/* test_rooted.c: trees at every root and with every kind of parameter: proved on every wire, as deep as they must be;
 * the two binary trees share no inner rank. */
#include "testing.h"

#include "collective/simulate/simulate.h"
#include "proved.h"

static void trees_hold_at_every_root_and_parameter(void **state)
{
    (void)state;
    static const char *const texts[] = {"direct",
                                        "binomial",
                                        "k-nomial,radix=2",
                                        "k-nomial,radix=3",
                                        "k-nomial,radix=64",
                                        "double-tree,chunks=1",
                                        "double-tree,chunks=3"};
    static const int counts[] = {1, 2, 3, 4, 5, 8, 11};
    for (int i = 0; i < 7; i++)
        for (int t = 0; t < 7; t++)
            for (int c = TUTTI_BROADCAST; c <= TUTTI_REDUCE; c++)
                for (int root = 0; root < counts[i]; root++)
                    must_hold_on_every_wire(texts[t], &(tutti_compile_request){.collective = (tutti_collective)c,
                                                                               .nranks = counts[i],
                                                                               .root = root,
                                                                               .in_place = (root + t) % 2});
}

static void parameters_of_allreduce_gather_and_barrier_hold(void **state)
{
    (void)state;
    for (int p = 1; p <= 20; p++) {
        static const char *const texts[] = {"k-nomial,radix=2", "k-nomial,radix=3", "k-nomial,radix=7",
                                            "double-tree,chunks=1", "double-tree,chunks=5"};
        for (int t = 0; t < 5; t++)
            must_hold_on_every_wire(texts[t], &(tutti_compile_request){.nranks = p, .in_place = (p + t) % 2});
        for (int root = 0; root < p; root += 3)
            must_hold_on_every_wire("k-nomial,radix=3",
                                    &(tutti_compile_request){TUTTI_GATHER, .nranks = p, .root = root});
        must_hold_on_every_wire("dissemination,radix=3", &(tutti_compile_request){TUTTI_BARRIER, .nranks = p});
        must_hold_on_every_wire("dissemination,radix=64", &(tutti_compile_request){TUTTI_BARRIER, .nranks = p});
    }
}

static void canonical_sums_hold_at_every_root(void **state)
{
    (void)state;
    static const char *const texts[] = {"direct", "binomial", "k-nomial,radix=4", "k-nomial,radix=8"};
    for (int t = 0; t < 4; t++)
        for (int root = 0; root < 8; root++) {
            const tutti_compile_request q = {TUTTI_REDUCE, .nranks = 8, .root = root, .slots = 32};
            tutti_schedule *s = compiled(texts[t], &q);
            tutti_check_report report;
            must_hold(s, &report);
            assert_int_equal(report.determinism, TUTTI_DETERMINISM_CANONICAL);
            tutti_schedule_destroy(s);
        }
}

static int32_t stages_of(const char *text, tutti_collective c, int32_t p, int32_t root)
{
    tutti_schedule *s = compiled(text, &(tutti_compile_request){c, .nranks = p, .root = root});
    tutti_check_report report;
    must_hold(s, &report);
    tutti_schedule_destroy(s);
    return report.nstages;
}

static void no_tree_is_deeper_than_it_must_be(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 40; p++) {
        int32_t lg = 0, lg5 = 0;
        while (1 << lg < p) lg++;
        for (int64_t n = 1; n < p; n *= 5) lg5++;
        assert_int_equal(stages_of("binomial", TUTTI_BROADCAST, p, p / 3), lg);
        assert_int_equal(stages_of("binomial", TUTTI_REDUCE, p, p - 1), lg);
        assert_int_equal(stages_of("binomial", TUTTI_GATHER, p, p / 2), lg);
        assert_int_equal(stages_of("k-nomial,radix=5", TUTTI_BROADCAST, p, p / 3), lg5);
        assert_int_equal(stages_of("double-tree,chunks=7", TUTTI_REDUCE, p, p / 3), lg + 6);
        assert_int_equal(stages_of("double-tree,chunks=7", TUTTI_ALLREDUCE, p, 0), 2 * lg + 6);
        assert_int_equal(stages_of("dissemination", TUTTI_BARRIER, p, 0), lg);
        assert_int_equal(stages_of("dissemination,radix=5", TUTTI_BARRIER, p, 0), lg5);
    }
}

/* Coming down, tree t has channel 2t + 1. */
static int count_messages(const tutti_part *part, tutti_step_kind kind, int tree)
{
    int n = 0;
    for (int32_t i = 0; i < part->nsteps; i++)
        n += part->steps[i].kind == kind && part->steps[i].channel == 2 * tree + 1;
    return n;
}

static void nobody_is_inner_in_both_binary_trees(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 130; p++) {
        const tutti_compile_request q = {TUTTI_BROADCAST, .nranks = p, .root = p / 2};
        tutti_schedule *s = compiled("double-tree,chunks=1", &q);
        for (int32_t r = 0; r < p; r++) {
            tutti_part part;
            tutti_schedule_part(s, r, &part);
            for (int t = 0; t < 2; t++) {
                assert_int_equal(count_messages(&part, TUTTI_STEP_RECV, t), r != q.root);
                assert_in_range(count_messages(&part, TUTTI_STEP_SEND, t), 0, r == q.root ? 1 : 2);
            }
            bool both = count_messages(&part, TUTTI_STEP_SEND, 0) && count_messages(&part, TUTTI_STEP_SEND, 1);
            assert_true(both == (r == q.root));
            tutti_part_release(&part);
        }
        tutti_schedule_destroy(s);
    }
}

static void many_chunks_come_close_to_the_bandwidth_bound(void **state)
{
    (void)state;
    tutti_topology t = {0};
    assert_int_equal(tutti_topology_parse("star,add=1000GB,lat=1us", &t, NULL), TUTTI_OK);
    const int64_t n = 100000000;
    static const tutti_collective both[] = {TUTTI_BROADCAST, TUTTI_ALLREDUCE};
    for (int i = 0; i < 2; i++) {
        tutti_closed_form form, tree;
        tutti_bounds bounds;
        assert_true(tutti_simulate_closed_form("double-tree,chunks=256", both[i], 64, n, &t, &form));
        assert_true(tutti_simulate_closed_form("binomial", both[i], 64, n, &t, &tree));
        tutti_simulate_bounds(both[i], 64, n, &t, &bounds);
        assert_true(form.seconds < 1.06 * bounds.best_s);
        assert_true(tree.seconds > 5.9 * bounds.best_s);
    }
}

static void refusals_of_canonical_sums_say_what_can(void **state)
{
    (void)state;
    tutti_compile_request q = {.nranks = 6, .slots = 8};
    must_refuse("binomial", &q, "4 or 8 ranks");
    must_refuse("recursive-doubling", &q, "4 or 8 ranks");
    q.nranks = 8;
    must_refuse("k-nomial,radix=3", &q, "radix 2, 4, 8");
    must_refuse("double-tree", &q, "two different trees");
    q = (tutti_compile_request){TUTTI_ALL_TO_ALL, .nranks = 2, .in_place = true};
    must_refuse("direct", &q, "not in place");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_hold_at_every_root_and_parameter),
        cmocka_unit_test(parameters_of_allreduce_gather_and_barrier_hold),
        cmocka_unit_test(canonical_sums_hold_at_every_root),
        cmocka_unit_test(no_tree_is_deeper_than_it_must_be),
        cmocka_unit_test(nobody_is_inner_in_both_binary_trees),
        cmocka_unit_test(many_chunks_come_close_to_the_bandwidth_bound),
        cmocka_unit_test(refusals_of_canonical_sums_say_what_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
