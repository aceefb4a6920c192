/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_gate.c: plans with a gate are proved like all others, and each mistake around the gate is named. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../toy_net.h"

typedef struct {
    toy_net net;
    tutti_graph *graph;
    tutti_plan *plan;
} world;

static void make(world *w, int nranks, int slots, bool gated)
{
    const tutti_plan_config config = {.nranks = nranks,
                                      .batch = 48,
                                      .slots = slots,
                                      .algorithm = "direct",
                                      .bucket_bytes = 300,
                                      .gated = gated,
                                      .engine = "reference",
                                      .nthreads = 1};
    tutti_failure err = {0};
    int64_t samples = 0;
    toy_make(&w->net);
    tutti_status st = tutti_plan_samples_per_call(&config, &samples, &err);
    const tutti_graph_config graph = {.batch = samples, .engine = "reference", .nthreads = 1, .training = true};
    if (!st) st = tutti_graph_build(&w->net.model, &graph, &w->graph, &err);
    if (!st) st = tutti_plan_build(w->graph, &config, &w->plan, &err);
    if (st) fail_msg("%s", err.text);
}

static void destroy(world *w)
{
    tutti_plan_destroy(w->plan);
    tutti_graph_destroy(w->graph);
}

static int find_action(const world *w, tutti_action_kind kind, int bucket)
{
    for (int i = 0; i < w->plan->nactions; i++)
        if (w->plan->actions[i].kind == kind && w->plan->actions[i].bucket == bucket) return i;
    return -1;
}

static void expect(world *w, const char *why)
{
    tutti_failure err = {0};
    const tutti_status st = tutti_plan_check(w->plan, &err);
    if (!why && st) fail_msg("refused: %s", err.text);
    if (why && (st != TUTTI_ERR_FAILED || !strstr(err.text, why))) fail_msg("expected '%s' in: %s", why, err.text);
}

static void move_action(world *w, int from, int to)
{
    tutti_action *a = w->plan->actions, moved = a[from];
    memmove(a + from, a + from + 1, sizeof *a * (size_t)(w->plan->nactions - from - 1));
    memmove(a + to + 1, a + to, sizeof *a * (size_t)(w->plan->nactions - to - 1));
    a[to] = moved;
}

static void gated_plans_are_proved_at_any_rank_count_canonical_too(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 5; nranks++)
        for (int slots = 0; slots <= 8; slots += 8) {
            world w;
            if (48 % (slots ? slots : nranks)) continue;
            make(&w, nranks, slots, true);
            expect(&w, NULL);
            assert_int_equal(tutti_plan_check_schedules(w.plan, NULL), TUTTI_OK);
            destroy(&w);
        }
}

static void the_gate_stands_between_all_looks_and_all_updates(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, true);
    const int gate = find_action(&w, TUTTI_DO_GATE, -1);
    assert_true(w.plan->nbuckets > 2 && gate > 0);
    for (int b = 0; b < w.plan->nbuckets; b++) {
        assert_in_range(find_action(&w, TUTTI_DO_CHECK, b), find_action(&w, TUTTI_DO_READY, b), gate);
        assert_true(find_action(&w, TUTTI_DO_UPDATE, b) > gate);
    }
    destroy(&w);
}

static void without_a_gate_nothing_of_it_is_in_the_plan(void **state)
{
    (void)state;
    world w, gated;
    make(&w, 2, 0, false);
    make(&gated, 2, 0, true);
    assert_int_equal(find_action(&w, TUTTI_DO_GATE, -1), -1);
    assert_int_equal(gated.plan->nactions, w.plan->nactions + w.plan->nbuckets + 1);
    assert_null(w.plan->gate.allreduce_mapped);
    assert_true(tutti_plan_hash(w.plan) != tutti_plan_hash(gated.plan));
    char *text = tutti_plan_print(w.plan), *gated_text = tutti_plan_print(gated.plan);
    assert_null(strstr(text, "gate"));
    assert_non_null(strstr(gated_text, "allreduce of 1 element: one-shot"));
    assert_non_null(strstr(gated_text, "1 synchronisation"));
    free(text), free(gated_text);
    destroy(&w), destroy(&gated);
}

static void mistakes_around_the_gate_are_named(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, true);
    move_action(&w, find_action(&w, TUTTI_DO_CHECK, 1), find_action(&w, TUTTI_DO_GATE, -1));
    expect(&w, "rank 0: bucket 1 is not looked at before the gate");
    destroy(&w);

    make(&w, 2, 0, true);
    move_action(&w, find_action(&w, TUTTI_DO_UPDATE, 0), find_action(&w, TUTTI_DO_GATE, -1));
    expect(&w, "rank 0: bucket 0 is updated before the gate");
    destroy(&w);

    make(&w, 2, 0, true);
    move_action(&w, find_action(&w, TUTTI_DO_GATE, -1), w.plan->nactions - 1);
    w.plan->nactions--;
    expect(&w, "rank 0: bucket 0 is updated without the gate");
    destroy(&w);
}

static void a_look_before_the_gradients_are_ready_is_found(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, true);
    move_action(&w, find_action(&w, TUTTI_DO_CHECK, 0), 0); /* it waits for what was not started */
    expect(&w, "deadlock: rank 0, training step 0, action 0 (check bucket 0)");
    destroy(&w);
}

/* A gate whose schedule is not what runs: two-sided, or of another number of ranks. */
static void a_gate_that_is_not_lowered_is_refused(void **state)
{
    (void)state;
    world w;
    make(&w, 3, 0, true);
    tutti_schedule *right = w.plan->gate.allreduce_mapped;
    w.plan->gate.allreduce_mapped = w.plan->gate.allreduce;
    expect(&w, "the allreduce is not lowered for mapped memory of 3 ranks, from flag to verdict");
    w.plan->gate.allreduce_mapped = right;
    expect(&w, NULL);
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gated_plans_are_proved_at_any_rank_count_canonical_too),
        cmocka_unit_test(the_gate_stands_between_all_looks_and_all_updates),
        cmocka_unit_test(without_a_gate_nothing_of_it_is_in_the_plan),
        cmocka_unit_test(mistakes_around_the_gate_are_named),
        cmocka_unit_test(a_look_before_the_gradients_are_ready_is_found),
        cmocka_unit_test(a_gate_that_is_not_lowered_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
