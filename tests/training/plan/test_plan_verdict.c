/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_verdict.c: plans that ask whether all gradients are finite are proved like all others, and each mistake
 * around the verdict is named. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../planned.h"
#include "../toy_net.h"

typedef struct {
    toy_net net;
    tutti_graph *graph;
    tutti_plan *plan;
} world;

static void make(world *w, int nranks, int slots, bool only_finite)
{
    const tutti_plan_config config = {.nranks = nranks,
                                      .batch = 48,
                                      .slots = slots,
                                      .algorithm = "direct",
                                      .bucket_bytes = 300,
                                      .only_finite = only_finite,
                                      .engine = "reference",
                                      .nthreads = 1,
                                      .method = tutti_method_find("sync-sgd")->emitter};
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

static tutti_loop *step_of(const world *w)
{
    return &w->plan->loops[TUTTI_EACH_STEP];
}

static int find_verdict(const world *w, tutti_action_kind kind)
{
    return find_action(step_of(w), kind, find_exchange(w->plan, "verdict"), NULL);
}

static void plans_with_a_verdict_are_proved_at_any_rank_count_canonical_too(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 5; nranks++)
        for (int slots = 0; slots <= 8; slots += 8) {
            world w;
            if (48 % (slots ? slots : nranks)) continue;
            make(&w, nranks, slots, true);
            expect_proof(w.plan);
            assert_int_equal(tutti_plan_check_schedules(w.plan, NULL), TUTTI_OK);
            destroy(&w);
        }
}

static void the_verdict_stands_between_all_looks_and_all_updates(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, true);
    const int asked = find_verdict(&w, TUTTI_DO_START), known = find_verdict(&w, TUTTI_DO_WAIT);
    assert_true(w.plan->nbuckets > 2 && asked > 0 && known > asked);
    for (int b = 0; b < w.plan->nbuckets; b++) {
        const int sums = find_action(step_of(&w), TUTTI_DO_WAIT, exchange_of(w.plan, "gradients", b), NULL);
        assert_in_range(find_on_bucket(step_of(&w), TUTTI_DO_LOOK, b), sums, asked);
        assert_true(find_on_bucket(step_of(&w), TUTTI_DO_APPLY, b) > known);
    }
    destroy(&w);
}

static void without_a_verdict_nothing_of_it_is_in_the_plan(void **state)
{
    (void)state;
    world w, with;
    make(&w, 2, 0, false);
    make(&with, 2, 0, true);
    assert_int_equal(find_exchange(w.plan, "verdict"), -1);
    assert_int_equal(step_of(&with)->nactions, step_of(&w)->nactions + 2 * w.plan->nbuckets + 2);
    assert_int_equal(with.plan->nmemories, w.plan->nmemories + 2);
    assert_true(tutti_plan_hash(w.plan) != tutti_plan_hash(with.plan));
    char *text = tutti_plan_print(w.plan), *with_text = tutti_plan_print(with.plan);
    assert_null(strstr(text, "verdict"));
    assert_non_null(strstr(with_text, "allreduce of flag to verdict 0 + 1, ready after look bucket"));
    free(text), free(with_text);
    destroy(&w), destroy(&with);
}

static void mistakes_around_the_verdict_are_named(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, true);
    move_action(step_of(&w), find_on_bucket(step_of(&w), TUTTI_DO_LOOK, 1), find_verdict(&w, TUTTI_DO_START));
    expect_refusal(w.plan, "rank 0: bucket 1 is not looked at before the verdict is asked for");
    destroy(&w);

    make(&w, 2, 0, true);
    move_action(step_of(&w), find_on_bucket(step_of(&w), TUTTI_DO_APPLY, 0), find_verdict(&w, TUTTI_DO_WAIT));
    expect_refusal(w.plan, "rank 0: bucket 0 is updated before the verdict is known");
    destroy(&w);

    make(&w, 2, 0, true);
    step_of(&w)->actions[find_on_bucket(step_of(&w), TUTTI_DO_APPLY, 0)].verdict = -1;
    expect_refusal(w.plan, "rank 0: bucket 0 is updated without the verdict");
    destroy(&w);
}

static void a_look_before_the_gradients_are_there_is_found(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, true);
    const int look = find_on_bucket(step_of(&w), TUTTI_DO_LOOK, 0);
    move_action(step_of(&w), look, find_on_bucket(step_of(&w), TUTTI_DO_KERNEL, TUTTI_NO_BUCKET));
    expect_refusal(w.plan, "(look bucket 0) reads rank 0's gradients");
    destroy(&w);
}

/* A schedule that is not what runs: two-sided, or of another number of ranks. */
static void an_exchange_that_is_not_lowered_is_refused(void **state)
{
    (void)state;
    world w;
    make(&w, 3, 0, true);
    tutti_prepared *s = &w.plan->schedules[w.plan->exchanges[find_exchange(w.plan, "verdict")].schedule];
    tutti_schedule *right = s->lowered;
    s->lowered = s->compiled;
    expect_refusal(w.plan, "the allreduce is not lowered for mapped memory of 3 ranks, from one memory to another");
    s->lowered = right;
    expect_proof(w.plan);
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_with_a_verdict_are_proved_at_any_rank_count_canonical_too),
        cmocka_unit_test(the_verdict_stands_between_all_looks_and_all_updates),
        cmocka_unit_test(without_a_verdict_nothing_of_it_is_in_the_plan),
        cmocka_unit_test(mistakes_around_the_verdict_are_named),
        cmocka_unit_test(a_look_before_the_gradients_are_there_is_found),
        cmocka_unit_test(an_exchange_that_is_not_lowered_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
