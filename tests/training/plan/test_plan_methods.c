/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_methods.c: what each method and each of its keys makes of a plan is proved at any rank count, and each
 * mistake that one could make is refused in the plan's words. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "collective/compile/algorithms.h"
#include "collective/schedule/schedule_impl.h"
#include "method_world.h"
#include "tutti/topology.h"

static void replicated_updates_are_proved_with_every_algorithm_that_has_an_allreduce(void **state)
{
    (void)state;
    tutti_topology t;
    assert_int_equal(tutti_topology_parse("dgx1v,gpus=0.1.2.4", &t, NULL), TUTTI_OK);
    for (int i = 0; i < tutti_algorithm_count(); i++)
        for (int only_finite = 0; only_finite < 2; only_finite++) {
            if (!(tutti_algorithm_at(i)->collectives >> TUTTI_ALLREDUCE & 1)) continue;
            world w;
            make(&w, "sync-sgd",
                 (tutti_plan_config){.nranks = 4,
                                     .algorithm = tutti_algorithm_at(i)->name,
                                     .topology = &t,
                                     .replicated = true,
                                     .only_finite = only_finite,
                                     .nstates = 2});
            expect_proof(w.plan);
            assert_int_equal(find_exchange(w.plan, "weights of bucket 0"), -1);
            assert_int_equal(find_exchange(w.plan, "verdict"), -1); /* each rank has seen all sums itself */
            destroy(&w);
        }
}

/* Buckets of the toy net are 64, 48, 16 and 96 elements: two below 200 bytes. Control numbers keep their own. */
static void hybrid_exchanges_go_by_their_size_and_are_proved(void **state)
{
    (void)state;
    world w;
    make(&w, "sync-sgd",
         (tutti_plan_config){
             .nranks = 6, .algorithm = "hybrid,group=3", .hybrid_bytes = 200, .replicated = true, .nstates = 1});
    int small = 0;
    for (int b = 0; b < w.plan->nbuckets; b++) {
        const int x = exchange_of(w.plan, "gradients", b);
        const bool is_small = w.plan->buckets[b].count * 4 < 200;
        small += is_small;
        assert_string_equal(tutti_schedule_head(lowered_of(w.plan, x))->algorithm,
                            is_small ? "hierarchical,group=3" : "ring");
        for (int64_t nbytes = 199; nbytes <= 200; nbytes++) { /* what costs ask */
            const int s = tutti_plan_schedule_of_size(w.plan, w.plan->exchanges[x].schedule, nbytes);
            assert_string_equal(tutti_schedule_head(w.plan->schedules[s].lowered)->algorithm,
                                nbytes < 200 ? "hierarchical,group=3" : "ring");
        }
    }
    assert_true(small > 0 && small < w.plan->nbuckets);
    expect_proof(w.plan);
    destroy(&w);

    make(&w, "local-sgd",
         (tutti_plan_config){.nranks = 4, .algorithm = "hybrid", .hybrid_bytes = 200, .period = 2, .nstates = 1});
    expect_proof(w.plan);
    assert_int_equal(w.plan->npairs, 2); /* in place, and apart */
    destroy(&w);
}

static void replicated_updates_are_proved_canonical_too(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 5; nranks++) {
        world w;
        make(
            &w, "sync-sgd",
            (tutti_plan_config){.nranks = nranks, .slots = 8, .algorithm = "direct", .replicated = true, .nstates = 1});
        expect_proof(w.plan);
        destroy(&w);
    }
}

static void local_steps_and_their_averages_are_proved_at_any_period_and_rank_count(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 4; nranks++)
        for (int period = 1; period <= 7; period += 3)
            for (int all = 0; all < 2; all++) {
                world w;
                make(&w, "local-sgd",
                     (tutti_plan_config){.nranks = nranks,
                                         .algorithm = nranks == 4 ? "halving-doubling" : "ring",
                                         .period = period,
                                         .mean_states = all,
                                         .only_finite = all,
                                         .norms = period > 1 ? TUTTI_NORM_OF_ALL : TUTTI_NO_NORMS,
                                         .nstates = 1});
                expect_proof(w.plan);
                destroy(&w);
            }
}

static void early_updates_are_proved_at_any_rank_count_and_on_any_hosts(void **state)
{
    (void)state;
    static const int32_t hosts[][4] = {{0, 1, 2, 3}, {0, 0, 1, 1}, {0, 0, 0, 1}};
    static const char *const algorithms[] = {"auto", "ring", "halving-doubling", "direct"};
    for (int i = 0; i < 3; i++)
        for (int nranks = 2; nranks <= 4; nranks++)
            for (int slots = 0; slots <= 8; slots += 8) {
                world w;
                make(&w, "sync-sgd",
                     (tutti_plan_config){.nranks = nranks,
                                         .host_of = hosts[i],
                                         .slots = slots,
                                         .algorithm = slots || nranks == 3 ? "direct" : algorithms[(nranks + i) % 4],
                                         .by_need = i == 1,
                                         .early = true,
                                         .nstates = 2});
                expect_proof(w.plan);
                assert_int_equal(find_on_bucket(loop_of(&w, TUTTI_EACH_STEP), TUTTI_DO_APPLY, 0), -1);
                assert_true(find_on_bucket(loop_of(&w, TUTTI_EACH_END), TUTTI_DO_APPLY, 0) >= 0);
                destroy(&w);
            }
}

static void make_early(world *w)
{
    make(w, "sync-sgd", (tutti_plan_config){.nranks = 2, .algorithm = "direct", .early = true, .nstates = 1});
}

static void an_early_update_that_does_not_wait_until_the_weights_were_read_is_refused(void **state)
{
    (void)state;
    world w;
    make_early(&w);
    tutti_loop *beside = loop_of(&w, TUTTI_EACH_END);
    remove_action(beside, find_wait(beside, exchange_of(w.plan, "weights", 1), TUTTI_WHEN_FREE));
    expect_refusal(w.plan, "race on rank 0's weights");
    expect_refusal(w.plan, "beside, when an exchange has ended (update bucket 1)");
    destroy(&w);

    make_early(&w);
    tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
    const int gather = exchange_of(w.plan, "weights", 1);
    move_action(step, find_action(step, TUTTI_DO_START, gather, NULL), find_wait(step, gather, 0) + 1);
    expect_refusal(w.plan, "race on rank 0's weights");
    destroy(&w);
}

static void an_early_update_before_its_sums_is_refused(void **state)
{
    (void)state;
    world w;
    make_early(&w);
    tutti_loop *beside = loop_of(&w, TUTTI_EACH_END);
    move_action(beside, find_on_bucket(beside, TUTTI_DO_APPLY, 1), find_on_bucket(beside, TUTTI_DO_APPLY, 0));
    expect_refusal(w.plan, "race on rank 0's gradients");
    destroy(&w);
}

static void a_gather_that_is_ready_before_its_early_update_is_refused(void **state)
{
    (void)state;
    world w;
    make_early(&w);
    tutti_loop *beside = loop_of(&w, TUTTI_EACH_END);
    move_action(beside, find_action(beside, TUTTI_DO_TELL, exchange_of(w.plan, "weights", 1), NULL),
                find_on_bucket(beside, TUTTI_DO_APPLY, 1));
    expect_refusal(w.plan, "race on rank 0's weights");
    destroy(&w);
}

/* The loop waits for sums by waiting for what is gathered of them. */
static void early_sums_that_nothing_waits_for_are_refused(void **state)
{
    (void)state;
    world w;
    make_early(&w);
    tutti_loop *beside = loop_of(&w, TUTTI_EACH_END);
    const int gather = exchange_of(w.plan, "weights", 1);
    move_action(beside, find_action(beside, TUTTI_DO_TELL, gather, NULL), 0);
    expect_refusal(w.plan, "the exchange of gradients of bucket 1 is started again before it was waited for");
    destroy(&w);

    make_early(&w);
    tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
    remove_action(step, find_wait(step, gather, 0));
    expect_refusal(w.plan, "is started again before it was waited for");
    destroy(&w);
}

static void an_update_before_the_sums_are_there_is_refused(void **state)
{
    (void)state;
    world w;
    make(&w, "sync-sgd", (tutti_plan_config){.nranks = 3, .algorithm = "direct", .replicated = true});
    tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
    move_action(step, find_on_bucket(step, TUTTI_DO_APPLY, 1),
                find_action(step, TUTTI_DO_WAIT, exchange_of(w.plan, "gradients", 1), NULL));
    expect_refusal(w.plan, "race on rank 0's gradients");
    destroy(&w);
}

static void a_rank_that_updates_by_what_it_has_not_looked_at_is_refused(void **state)
{
    (void)state;
    world w;
    make(&w, "sync-sgd",
         (tutti_plan_config){.nranks = 2, .algorithm = "direct", .replicated = true, .norms = TUTTI_NORM_OF_ALL});
    tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
    const int look = find_on_bucket(step, TUTTI_DO_LOOK, 1), apply = find_on_bucket(step, TUTTI_DO_APPLY, 0);
    move_action(step, look, apply);
    expect_refusal(w.plan, "rank 0: bucket 0 is updated before the verdict is known");
    remove_action(step, apply);
    expect_refusal(w.plan, "rank 0: bucket 1 is not looked at before the verdict is asked for");
    destroy(&w);
}

static void list_without_average(tutti_plan_builder *b)
{
    tutti_method_find("local-sgd")->emitter->list(b);
    b->loops[TUTTI_EACH_PERIOD].nactions = 0;
}

/* Local SGD, its averages at the end of these steps of a period instead of behind it. */
static void list_averages_in(tutti_plan_builder *b, tutti_action_steps steps)
{
    tutti_method_find("local-sgd")->emitter->list(b);
    const tutti_loop period = b->loops[TUTTI_EACH_PERIOD];
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    tutti_builder_steps(b, steps);
    for (int i = 0; i < period.nactions; i++) tutti_builder_add(b, period.actions[i]);
    b->loops[TUTTI_EACH_PERIOD].nactions = 0;
}

static void list_averages_in_last(tutti_plan_builder *b)
{
    list_averages_in(b, TUTTI_IN_LAST_STEP);
}

static void list_averages_in_others(tutti_plan_builder *b)
{
    list_averages_in(b, TUTTI_IN_OTHER_STEPS);
}

static void make_listed(world *w, tutti_emitter *by, void (*list)(tutti_plan_builder *b), int period)
{
    make(w, "local-sgd", (tutti_plan_config){.nranks = 2, .algorithm = "direct", .period = period});
    *by = (tutti_emitter){w->plan->config.method->declare, list};
    w->plan->config.method = by;
    tutti_plan_list_loops(w->plan, 0, &w->plan->arena, w->plan->loops);
}

static void what_only_the_last_step_of_a_period_does_is_proved(void **state)
{
    (void)state;
    for (int period = 1; period <= 4; period++) {
        world w;
        tutti_emitter by;
        make_listed(&w, &by, list_averages_in_last, period);
        expect_proof(w.plan);
        const tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
        const int start = find_action(step, TUTTI_DO_START, exchange_of(w.plan, "weights", 0), NULL);
        assert_int_equal(step->actions[start].steps, period > 1 ? TUTTI_IN_LAST_STEP : TUTTI_IN_EVERY_STEP);
        char *text = tutti_plan_print(w.plan);
        assert_true(!!strstr(text, "(last step of a period)") == (period > 1));
        free(text);
        destroy(&w);
    }
}

static void an_average_in_all_steps_but_the_last_is_refused(void **state)
{
    (void)state;
    world w;
    tutti_emitter by;
    make_listed(&w, &by, list_averages_in_others, 3);
    expect_refusal(w.plan, "lacks the contribution of");
    destroy(&w);
}

/* A period that ends without its average leaves each rank with its own. */
static void a_period_without_its_average_is_refused(void **state)
{
    (void)state;
    world w;
    make(&w, "local-sgd", (tutti_plan_config){.nranks = 2, .algorithm = "direct", .period = 4});
    const tutti_emitter right = *w.plan->config.method, wrong = {right.declare, list_without_average};
    w.plan->config.method = &wrong;
    tutti_plan_list_loops(w.plan, 0, &w.plan->arena, w.plan->loops);
    expect_refusal(w.plan, "lacks the contribution of");
    destroy(&w);

    make(&w, "local-sgd", (tutti_plan_config){.nranks = 2, .algorithm = "direct", .period = 4});
    tutti_loop *period = loop_of(&w, TUTTI_EACH_PERIOD);
    remove_action(period, find_action(period, TUTTI_DO_START, exchange_of(w.plan, "weights", 1), NULL));
    expect_refusal(w.plan, "rank 1 starts the exchange of weights of bucket 1 2 times, rank 0 0 times");
    destroy(&w);
}

static void weights_that_are_averaged_while_they_are_read_race(void **state)
{
    (void)state;
    world w;
    make(&w, "local-sgd", (tutti_plan_config){.nranks = 3, .algorithm = "direct", .period = 2});
    tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
    const int wait = find_action(step, TUTTI_DO_WAIT, exchange_of(w.plan, "weights", 3), NULL);
    int reader = wait;
    while (step->actions[reader].kind != TUTTI_DO_KERNEL) reader++;
    move_action(step, wait, reader);
    expect_refusal(w.plan, "race on rank 0's weights");
    destroy(&w);
}

/* Rank 1 adds up the other way round: each sum holds every part once, and no two ranks need have the same bits. */
static void reversed_part(const tutti_schedule_header *head, const void *owner, int32_t rank, tutti_part_builder *b)
{
    const tutti_schedule *right = *(const tutti_schedule *const *)owner;
    tutti_part p;
    (void)head;
    tutti_schedule_part(right, rank, &p);
    for (int i = 0; i < p.nbuffers; i++) tutti_part_buffer(b, &p.buffers[i]);
    for (int i = 0; i < p.nsteps; i++) {
        const tutti_step step = p.steps[i];
        tutti_part_step(b, &step);
        for (int k = 0; k < step.nins; k++) {
            const int at = rank == 1 ? step.nins - 1 - k : k;
            if (step.kind == TUTTI_STEP_REDUCE)
                tutti_part_fold(b, p.slices[step.first_in + at], p.folds[step.first_fold + k]);
            else
                tutti_part_in(b, p.slices[step.first_in + k]);
        }
        for (int k = 0; k < step.nouts; k++) tutti_part_out(b, p.slices[step.first_out + k]);
        for (int k = 0; k < step.ndeps; k++) tutti_part_dep(b, p.deps[step.first_dep + k]);
    }
    tutti_part_release(&p);
}

static void ranks_that_add_in_different_orders_are_refused(void **state)
{
    (void)state;
    static const tutti_schedule_ops ops = {reversed_part, free};
    world w;
    make(&w, "sync-sgd", (tutti_plan_config){.nranks = 3, .algorithm = "one-shot", .replicated = true});
    tutti_prepared *s = &w.plan->schedules[w.plan->exchanges[exchange_of(w.plan, "gradients", 0)].schedule];
    tutti_schedule *right = s->lowered;
    tutti_schedule_header head = *tutti_schedule_head(right);
    const tutti_schedule **owner = malloc(sizeof *owner);
    *owner = right;
    head.determinism = TUTTI_DETERMINISM_PER_SLICE;
    s->lowered = tutti_schedule_create(&head, &ops, owner);
    expect_refusal(w.plan, "weights: ranks hold sums of the same numbers in different orders");
    tutti_schedule_destroy(s->lowered);
    s->lowered = right;
    expect_proof(w.plan);
    destroy(&w);
}

static void what_a_method_has_no_use_for_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        tutti_plan_config config;
        const char *words;
    } cases[] = {
        {"sync-sgd", {.period = 1, .early = true, .replicated = true}, "exchange.update_when: "},
        {"sync-sgd", {.period = 1, .early = true, .norms = TUTTI_NORM_OF_ALL}, "exchange.update_when: "},
        {"local-sgd", {.period = 1, .early = true}, "exchange.update_when: "},
        {"local-sgd", {.period = 0}, "method.period: the steps between two averages, 1 or more"},
        {"local-sgd", {.period = 1, .slots = 8}, "method: local-sgd has weights of its own"},
        {"local-sgd", {.period = 1, .replicated = true}, "exchange.update: "},
        {"sync-easgd2", {.period = 0}, "method.period: "},
        {"sync-easgd2", {.period = 1, .slots = 8}, "method: elastic averaging has weights of its own"},
        {"sync-easgd2", {.period = 1, .replicated = true}, "exchange.update: "},
        {"sync-easgd2", {.period = 1, .early = true}, "exchange.update_when: "},
        {"diloco", {.period = 0}, "method.period: the steps between two outer steps, 1 or more"},
        {"diloco", {.period = 1, .slots = 8}, "method: diloco has weights of its own"},
        {"diloco", {.period = 1, .replicated = true}, "exchange.update: "},
        {"diloco", {.period = 1, .early = true}, "exchange.update_when: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_failure err = {0};
        assert_int_equal(tutti_method_find(cases[i].method)->accept(&cases[i].config, &err), TUTTI_ERR_USAGE);
        if (strncmp(err.text, cases[i].words, strlen(cases[i].words))) fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicated_updates_are_proved_with_every_algorithm_that_has_an_allreduce),
        cmocka_unit_test(hybrid_exchanges_go_by_their_size_and_are_proved),
        cmocka_unit_test(replicated_updates_are_proved_canonical_too),
        cmocka_unit_test(local_steps_and_their_averages_are_proved_at_any_period_and_rank_count),
        cmocka_unit_test(early_updates_are_proved_at_any_rank_count_and_on_any_hosts),
        cmocka_unit_test(an_early_update_that_does_not_wait_until_the_weights_were_read_is_refused),
        cmocka_unit_test(an_early_update_before_its_sums_is_refused),
        cmocka_unit_test(a_gather_that_is_ready_before_its_early_update_is_refused),
        cmocka_unit_test(early_sums_that_nothing_waits_for_are_refused),
        cmocka_unit_test(an_update_before_the_sums_are_there_is_refused),
        cmocka_unit_test(a_rank_that_updates_by_what_it_has_not_looked_at_is_refused),
        cmocka_unit_test(what_only_the_last_step_of_a_period_does_is_proved),
        cmocka_unit_test(an_average_in_all_steps_but_the_last_is_refused),
        cmocka_unit_test(a_period_without_its_average_is_refused),
        cmocka_unit_test(weights_that_are_averaged_while_they_are_read_race),
        cmocka_unit_test(ranks_that_add_in_different_orders_are_refused),
        cmocka_unit_test(what_a_method_has_no_use_for_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
