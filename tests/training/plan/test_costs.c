/* SPDX-License-Identifier: Apache-2.0 */
/* test_costs.c: costs as text and back, what no measurement can have written, and plans that are merged by costs. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../planned.h"
#include "../toy_net.h"

static const char text[] =
    "ranks: 2\nthreads: 1\noverlap: 0.5\nexchange:\n  bytes: [64, 1024]\n  seconds: [1e-06, 2.5e-06]\nbackward:\n"
    "  params_s: [0, 1e-05, 2e-05, 0, 3e-05, 0]\n  data_s: [0, 0, 4e-05, 5e-05, 6e-05, 7e-05]\n"
    "  sum_s: [0, 0, 0, 0, 1e-04, 0]\n";

#define COSTS(overlap, bytes, seconds, params, data)                                                                   \
    "{ranks: 2, threads: 1, overlap: " overlap ", exchange: {bytes: [" bytes "], seconds: [" seconds                   \
    "]}, backward: {params_s: [" params "], data_s: [" data "], sum_s: []}}"

static tutti_plan_costs parsed(const char *from)
{
    tutti_plan_costs c;
    tutti_failure err = {0};
    if (tutti_plan_costs_parse("costs", from, &c, &err)) fail_msg("%s", err.text);
    return c;
}

static void costs_come_back_from_their_text(void **state)
{
    (void)state;
    tutti_plan_costs c = parsed(text);
    char *printed = tutti_plan_costs_print(&c);
    tutti_plan_costs again = parsed(printed);
    char *twice = tutti_plan_costs_print(&again);
    assert_string_equal(printed, twice);
    assert_true(again.ranks == 2 && again.threads == 1 && again.overlap == 0.5 && again.params_s.n == 6);
    assert_true(again.exchange_s.values[1] == 2.5e-6 && again.data_s.values[5] == 7e-5);
    const tutti_exchange_cost cost = tutti_plan_costs_exchange(&c);
    assert_int_equal(tutti_exchange_cost_ns(&cost, 544), 1750);
    free(printed);
    free(twice);
    tutti_plan_costs_release(&c);
    tutti_plan_costs_release(&again);
}

/* Noise: a larger vector measured as faster costs as much as the smaller one. */
static void times_never_fall(void **state)
{
    (void)state;
    tutti_plan_costs c = parsed(COSTS("0", "64, 128, 256", "3e-6, 1e-6, 4e-6", "", ""));
    const tutti_exchange_cost cost = tutti_plan_costs_exchange(&c);
    assert_true(cost.ns[0] == 3000 && cost.ns[1] == 3000 && cost.ns[2] == 4000);
    tutti_plan_costs_release(&c);
}

static void what_no_measurement_wrote_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {COSTS("2", "64", "1", "", ""), "overlap"},
        {COSTS("0", "64, 64", "1, 1", "", ""), "64 comes after 64"},
        {COSTS("0", "64", "", "", ""), "a time for each"},
        {COSTS("0", "0", "1", "", ""), "above 0"},
        {COSTS("0", "64", "-1", "", ""), "seconds"},
        {COSTS("0", "64", "1", "1", ""), "1, 0 and 0 layers"},
        {COSTS("0", "64", "1", "1", "1"), "1, 1 and 0 layers"},
        {"{ranks: 2}", "missing"},
        {"[", "costs"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tutti_plan_costs c;
        tutti_failure err = {0};
        assert_int_equal(tutti_plan_costs_parse("costs", bad[i][0], &c, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, bad[i][1])) fail_msg("case %d: %s", (int)i, err.text);
    }
}

/* ---- plans ---- */

typedef struct {
    toy_net net;
    tutti_graph *graph;
    tutti_plan *plan;
} toy_plan;

static tutti_status make_as(toy_plan *t, const tutti_plan_config *config, tutti_failure *err)
{
    const tutti_graph_config graph = {.batch = 8, .engine = "reference", .nthreads = 1, .training = true};
    *t = (toy_plan){0};
    toy_make(&t->net);
    tutti_status st = tutti_graph_build(&t->net.model, &graph, &t->graph, err);
    const tutti_plan_config by = by_method(*config, "sync-sgd");
    return st ? st : tutti_plan_build(t->graph, &by, &t->plan, err);
}

static tutti_status make(toy_plan *t, const tutti_plan_costs *costs, int64_t bucket_bytes, tutti_failure *err)
{
    const tutti_plan_config config = {
        .nranks = 2, .batch = 16, .bucket_bytes = bucket_bytes, .costs = costs, .nthreads = 1};
    return make_as(t, &config, err);
}

static void destroy(toy_plan *t)
{
    tutti_plan_destroy(t->plan);
    tutti_graph_destroy(t->graph);
}

static int nbuckets(double first_s, double last_s, double overlap)
{
    tutti_plan_costs c = parsed(text);
    toy_plan t;
    tutti_failure err = {0};
    c.exchange_s.values[0] = first_s;
    c.exchange_s.values[1] = last_s;
    c.overlap = overlap;
    if (make(&t, &c, TUTTI_BUCKET_SOONEST, &err) || tutti_plan_check(t.plan, &err)) fail_msg("%s", err.text);
    const int n = t.plan->nbuckets;
    for (int i = t.graph->nparams - 3; i < t.graph->nparams; i++) /* @loss, @correct, @stop */
        assert_int_equal(tutti_plan_bucket_of(t.plan, i), TUTTI_CONTROL_BUCKET);
    int64_t at = 0;
    for (int b = 0; b < n; at += t.plan->buckets[b++].count) assert_int_equal(t.plan->buckets[b].offset, at);
    assert_int_equal(at, t.plan->total);
    destroy(&t);
    tutti_plan_costs_release(&c);
    return n;
}

static void plans_merge_what_is_dear_to_start_and_are_proved(void **state)
{
    (void)state;
    assert_int_equal(nbuckets(1e-3, 1e-3, 1), 1); /* only the number of exchanges counts */
    assert_int_equal(nbuckets(1e-3, 1e-3, 0), 1);
    assert_true(nbuckets(64e-9, 1024e-6, 1) > 2); /* only bytes behind the last gradient count */
    assert_true(nbuckets(1e-9, 1e-6, 0) > 2);     /* large ones cost more than their share */
}

static void the_hash_is_of_the_costs_too_and_the_text_shows_times(void **state)
{
    (void)state;
    tutti_plan_costs c = parsed(text);
    toy_plan a, b;
    tutti_failure err = {0};
    if (make(&a, &c, TUTTI_BUCKET_SOONEST, &err)) fail_msg("%s", err.text);
    c.exchange_s.values[0] += 1e-12; /* merges alike */
    if (make(&b, &c, TUTTI_BUCKET_SOONEST, &err)) fail_msg("%s", err.text);
    assert_int_equal(a.plan->nbuckets, b.plan->nbuckets);
    assert_true(tutti_plan_hash(a.plan) != tutti_plan_hash(b.plan));
    char *shown = tutti_plan_print(a.plan);
    assert_non_null(strstr(shown, "that end soonest"));
    assert_non_null(strstr(shown, "50 % of it can run beside the backward pass"));
    assert_non_null(strstr(shown, "the backward pass takes 0.280 ms to its last gradient"));
    free(shown);
    destroy(&a);
    destroy(&b);
    tutti_plan_costs_release(&c);
}

static void costs_of_other_layers_or_ranks_are_refused(void **state)
{
    (void)state;
    tutti_plan_costs c = parsed(text);
    toy_plan t;
    tutti_failure err = {0};
    c.params_s.n = c.data_s.n = c.sum_s.n = 5;
    assert_int_equal(make(&t, &c, TUTTI_BUCKET_SOONEST, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "costs of 5 layers"));
    destroy(&t);
    c.params_s.n = c.data_s.n = c.sum_s.n = 0; /* not measured: allowed */
    c.ranks = 3;
    assert_int_equal(make(&t, &c, TUTTI_BUCKET_SOONEST, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "between 3 ranks"));
    destroy(&t);
    c.ranks = 2;
    assert_int_equal(make(&t, &c, TUTTI_BUCKET_SOONEST, &err), TUTTI_OK);
    destroy(&t);
    tutti_plan_costs_release(&c);
}

static void layer_and_one_are_what_they_say(void **state)
{
    (void)state;
    toy_plan t;
    tutti_failure err = {0};
    if (make(&t, NULL, TUTTI_BUCKET_LAYER, &err)) fail_msg("%s", err.text);
    assert_int_equal(t.plan->nbuckets, 4); /* running averages of norm, fc2, norm, fc1 */
    assert_int_equal(t.plan->buckets[0].nparams, 2);
    destroy(&t);
    if (make(&t, NULL, TUTTI_BUCKET_ALL, &err)) fail_msg("%s", err.text);
    assert_int_equal(t.plan->nbuckets, 1);
    destroy(&t);
}

static void other_rules_keep_their_buckets_and_show_times(void **state)
{
    (void)state;
    tutti_plan_costs c = parsed(text);
    toy_plan without, with;
    tutti_failure err = {0};
    if (make(&without, NULL, 0, &err) || make(&with, &c, 0, &err)) fail_msg("%s", err.text);
    assert_int_equal(with.plan->nbuckets, without.plan->nbuckets);
    char *plain = tutti_plan_print(without.plan), *timed = tutti_plan_print(with.plan);
    assert_null(strstr(plain, "ready ms"));
    assert_non_null(strstr(timed, "ready ms"));
    free(plain), free(timed);
    destroy(&without), destroy(&with);
    tutti_plan_costs_release(&c);
}

static void by_need_updates_first_what_is_read_first(void **state)
{
    (void)state;
    toy_plan t;
    tutti_failure err = {0};
    for (int by_need = 0; by_need < 2; by_need++) {
        const tutti_plan_config config = {
            .nranks = 2, .batch = 16, .bucket_bytes = 0, .by_need = by_need, .nthreads = 1};
        int last = -1, nupdates = 0;
        if (make_as(&t, &config, &err) || tutti_plan_check(t.plan, &err)) fail_msg("%s", err.text);
        for (int i = 0; i < t.plan->loops[TUTTI_EACH_STEP].nactions; i++) {
            const tutti_action *a = &t.plan->loops[TUTTI_EACH_STEP].actions[i];
            if (a->kind != TUTTI_DO_APPLY) continue;
            const int at = by_need ? t.plan->buckets[a->bucket].turn : a->bucket;
            assert_int_equal(at, ++last);
            nupdates++;
        }
        assert_int_equal(nupdates, t.plan->nbuckets);
        assert_int_equal(t.plan->order[t.plan->buckets[t.plan->nbuckets - 1].first_param],
                         toy_param(t.graph, "fc1.bias"));
        assert_true(t.plan->buckets[t.plan->nbuckets - 1].turn < 2); /* fc1 is read first */
        assert_true(t.plan->buckets[t.plan->nbuckets - 2].turn < 2);
        destroy(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_come_back_from_their_text),
        cmocka_unit_test(times_never_fall),
        cmocka_unit_test(what_no_measurement_wrote_is_refused),
        cmocka_unit_test(plans_merge_what_is_dear_to_start_and_are_proved),
        cmocka_unit_test(the_hash_is_of_the_costs_too_and_the_text_shows_times),
        cmocka_unit_test(costs_of_other_layers_or_ranks_are_refused),
        cmocka_unit_test(layer_and_one_are_what_they_say),
        cmocka_unit_test(other_rules_keep_their_buckets_and_show_times),
        cmocka_unit_test(by_need_updates_first_what_is_read_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
