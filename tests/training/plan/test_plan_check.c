/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_check.c: plans are proved race-free over consecutive steps, and each mistake that a plan could make is
 * named in the plan's own words. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../planned.h"
#include "../toy_net.h"
#include "collective/schedule/schedule_impl.h"

typedef struct {
    toy_net net;
    tutti_graph *graph;
    tutti_plan *plan;
} world;

static void make_on_hosts(world *w, int nranks, const int32_t *host_of, int slots, const char *algorithm,
                          int64_t bucket_bytes)
{
    static const char *const states[] = {"exp_avg", "exp_avg_sq"};
    const tutti_plan_config config = {.nranks = nranks,
                                      .host_of = host_of,
                                      .batch = 48,
                                      .slots = slots,
                                      .algorithm = algorithm,
                                      .bucket_bytes = bucket_bytes,
                                      .nstates = slots ? 2 : 0,
                                      .states = states,
                                      .engine = "reference",
                                      .nthreads = 1,
                                      .method = tutti_method_find("sync-sgd")->emitter};
    tutti_failure err = {0};
    int64_t samples;
    toy_make(&w->net);
    if (tutti_plan_samples_per_call(&config, &samples, &err) ||
        tutti_graph_build(
            &w->net.model,
            &(tutti_graph_config){.batch = samples, .engine = "reference", .nthreads = 1, .training = true}, &w->graph,
            &err) ||
        tutti_plan_build(w->graph, &config, &w->plan, &err))
        fail_msg("%s", err.text);
}

static void make(world *w, int nranks, int slots, const char *algorithm, int64_t bucket_bytes)
{
    make_on_hosts(w, nranks, NULL, slots, algorithm, bucket_bytes);
}

static void destroy(world *w)
{
    tutti_plan_destroy(w->plan);
    tutti_graph_destroy(w->graph);
}

static void expect_right(const world *w)
{
    expect_proof(w->plan);
}

static void expect_wrong(const world *w, const char *why)
{
    expect_refusal(w->plan, why);
}

static void plans_are_proved_at_any_rank_count_and_bucket_size(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 300, 1 << 20};
    for (int nranks = 1; nranks <= 4; nranks++)
        for (int i = 0; i < 3; i++) {
            world w;
            make(&w, nranks, 0, nranks % 2 ? "direct" : "ring", sizes[i]);
            expect_right(&w);
            destroy(&w);
        }
}

static void plans_over_several_hosts_are_proved(void **state)
{
    (void)state;
    static const int32_t hosts[][4] = {{0, 0, 1, 1}, {0, 1, 2, 3}, {0, 0, 0, 1}, {0, 1, 0, 1}};
    static const char *const automatic[] = {"split-rail,group=2", "direct", "direct", "direct"};
    for (int i = 0; i < 4; i++)
        for (int slots = 0; slots <= 8; slots += 8) {
            world w;
            make_on_hosts(&w, 4, hosts[i], slots, "auto", 300);
            assert_string_equal(tutti_schedule_head(w.plan->schedules[0].lowered)->algorithm,
                                slots ? "direct" : automatic[i]);
            expect_right(&w);
            destroy(&w);
        }
}

static void canonical_plans_are_proved_canonical_through_folds_and_exchanges(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 5; nranks++) {
        world w;
        make(&w, nranks, 8, "direct", 300);
        expect_right(&w);
        destroy(&w);
    }
}

static tutti_loop *step_of(const world *w)
{
    return &w->plan->loops[TUTTI_EACH_STEP];
}

/* Where an exchange of a bucket is started, told or waited for. */
static int find(const world *w, tutti_action_kind kind, const char *what, int bucket)
{
    const int at = find_action(step_of(w), kind, exchange_of(w->plan, what, bucket), NULL);
    assert_true(at >= 0);
    return at;
}

static void gradients_that_are_ready_before_their_last_writer_race(void **state)
{
    (void)state;
    world w;
    make(&w, 3, 0, "direct", 300);
    move_action(step_of(&w), find(&w, TUTTI_DO_START, "gradients", 1), 0);
    expect_wrong(&w, "rank 0's gradients");
    destroy(&w);
}

static void readers_that_do_not_wait_for_the_weights_race(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, "direct", 300);
    const int wait = find(&w, TUTTI_DO_WAIT, "weights", 3); /* fc1.weight, of which each rank owns a half */
    int reader = wait;
    while (step_of(&w)->actions[reader].kind != TUTTI_DO_KERNEL) reader++;
    move_action(step_of(&w), wait, reader);
    expect_wrong(&w, "race on rank 0's weights");
    remove_action(step_of(&w), reader);
    expect_wrong(&w, "the exchange of weights of bucket 3 is started again before it was waited for");
    destroy(&w);
}

static void an_update_that_is_missing_is_found(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, "direct", 300);
    remove_action(step_of(&w), find_on_bucket(step_of(&w), TUTTI_DO_APPLY, 1));
    expect_wrong(&w, "rank 0");
    destroy(&w);
}

static void a_fold_in_another_order_is_not_canonical(void **state)
{
    (void)state;
    for (int control = 0; control < 2; control++) {
        world w;
        make(&w, 1, 8, "direct", 300);
        for (int i = 0; i < step_of(&w)->nactions; i++) {
            tutti_action *a = &step_of(&w)->actions[i];
            if (a->kind != TUTTI_DO_FOLD || a->dst != 0 || (a->bucket == TUTTI_CONTROL_BUCKET) != control) continue;
            a->src = 0;
            break;
        }
        expect_wrong(&w, "twice");
        destroy(&w);
    }
}

static void an_exchange_that_is_never_told_to_be_free_is_named(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, "direct", 300);
    step_of(&w)->actions[find(&w, TUTTI_DO_START, "weights", 1)].when = 0;
    expect_wrong(&w, "rank 0: the exchange of weights of bucket 1 is never told that it is free");
    destroy(&w);
}

static void an_exchange_that_one_rank_does_not_start_is_named(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, "direct", 300);
    remove_action(step_of(&w), find(&w, TUTTI_DO_START, "gradients", 1));
    expect_wrong(&w, "the exchange of gradients of bucket 1 2 times, rank 0 0 times");
    destroy(&w);
}

/* The first of the gathers before a checkpoint begins before the step's updates instead. */
static void list_with_an_early_gather(tutti_plan_builder *b)
{
    tutti_method_find("sync-sgd")->emitter->list(b);
    tutti_loop *step = &b->loops[TUTTI_EACH_STEP], *save = &b->loops[TUTTI_EACH_SAVE];
    const int gather = save->actions[0].exchange;
    remove_action(save, find_action(save, TUTTI_DO_START, gather, NULL));
    remove_action(save, find_action(save, TUTTI_DO_WAIT, gather, NULL));
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    tutti_builder_start(b, gather, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    move_action(step, step->nactions - 1, find_on_bucket(step, TUTTI_DO_APPLY, 0));
    tutti_builder_wait(b, gather);
}

/* What is gathered before a checkpoint is proved with the steps around it. */
static void states_that_are_gathered_while_they_change_race(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 8, "direct", 300);
    const tutti_emitter wrong = {w.plan->config.method->declare, list_with_an_early_gather};
    w.plan->config.method = &wrong;
    tutti_plan_list_loops(w.plan, 0, &w.plan->arena, w.plan->loops);
    expect_wrong(&w, "race on rank 1's exp_avg");
    destroy(&w);
}

static void numbers_that_are_asked_for_too_early_race(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, "direct", 300);
    const int at = find_action(step_of(&w), TUTTI_DO_START, find_exchange(w.plan, "control numbers"), NULL);
    move_action(step_of(&w), at, 0);
    expect_wrong(&w, "race on rank 0's control numbers");
    destroy(&w);
}

/* How a right all-gather is spoiled. */
typedef enum {
    IMPATIENT, /* owners do not wait until their peers' weights are free */
    EAGER, /* ranks say that their weights are free as soon as they are, not when their own slice is there as well */
} spoiling;
typedef struct {
    const tutti_schedule *right;
    spoiling how;
} spoiled;

static void spoiled_part(const tutti_schedule_header *head, const void *owner, int32_t rank, tutti_part_builder *b)
{
    const spoiled *o = owner;
    tutti_part p;
    (void)head;
    tutti_schedule_part(o->right, rank, &p);
    for (int i = 0; i < p.nbuffers; i++) tutti_part_buffer(b, &p.buffers[i]);
    for (int i = 0; i < p.nsteps; i++) {
        tutti_step step = p.steps[i];
        if (o->how == IMPATIENT && step.channel == 1) step.kind = TUTTI_STEP_NOP, step.peer = step.channel = -1;
        if (o->how == EAGER && step.kind == TUTTI_STEP_NOP) step.when = TUTTI_WHEN_FREE;
        tutti_part_step(b, &step);
        for (int k = 0; k < step.nins; k++) tutti_part_in(b, p.slices[step.first_in + k]);
        for (int k = 0; k < step.nouts; k++) tutti_part_out(b, p.slices[step.first_out + k]);
        for (int k = 0; k < step.ndeps; k++) tutti_part_dep(b, p.deps[step.first_dep + k]);
    }
    tutti_part_release(&p);
}

/* Bucket 1 is gathered by the spoiled schedule from now on. */
static void spoil(world *w, spoiling how)
{
    static const tutti_schedule_ops ops = {spoiled_part, free};
    spoiled *owner = malloc(sizeof *owner);
    tutti_plan_exchange *x = &w->plan->exchanges[exchange_of(w->plan, "weights", 1)];
    *owner = (spoiled){w->plan->schedules[x->schedule].lowered, how};
    tutti_schedule *s = tutti_schedule_create(tutti_schedule_head(owner->right), &ops, owner);
    tutti_prepared *more = tutti_alloc(sizeof *more * (size_t)(w->plan->nschedules + 1));
    memcpy(more, w->plan->schedules, sizeof *more * (size_t)w->plan->nschedules);
    more[w->plan->nschedules].lowered = s;
    x->schedule = w->plan->nschedules++;
    w->plan->schedules = more;
}

static void destroy_spoiled(world *w)
{
    tutti_prepared *more = w->plan->schedules;
    destroy(w);
    free(more);
}

static void an_owner_that_writes_weights_before_free_is_caught(void **state)
{
    (void)state;
    for (int nranks = 2; nranks <= 4; nranks++) {
        world w;
        make(&w, nranks, 0, "direct", 300);
        spoil(&w, IMPATIENT);
        expect_wrong(&w, "race on rank");
        expect_wrong(&w, "weights, elements");
        expect_wrong(&w, "all-gather of weights of bucket 1");
        destroy_spoiled(&w);
    }
}

static void weights_that_are_called_free_before_their_last_reader_race(void **state)
{
    (void)state;
    world w;
    make(&w, 3, 0, "direct", 300);
    spoil(&w, EAGER);
    expect_right(&w); /* FREE alone is enough, if it is true */
    move_action(step_of(&w), find(&w, TUTTI_DO_START, "weights", 1), find(&w, TUTTI_DO_START, "gradients", 1));
    expect_wrong(&w, "race on rank 0's weights, elements 80 to 95 (norm.weight)");
    expect_wrong(&w, "(backward-data norm");
    destroy_spoiled(&w);
}

static void activations_that_overlap_while_both_are_needed_are_found(void **state)
{
    (void)state;
    world w;
    make(&w, 1, 0, "direct", 300);
    const int fc1 = 1, fc2 = 4;
    const int64_t right = w.plan->value_offset[fc2];
    w.plan->value_offset[fc2] = w.plan->value_offset[fc1 + 2];
    expect_wrong(&w, "arena: ");
    w.plan->value_offset[fc2] = right;
    expect_right(&w);
    w.plan->arena_bytes = 64;
    expect_wrong(&w, "arena: data end at byte");
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_proved_at_any_rank_count_and_bucket_size),
        cmocka_unit_test(plans_over_several_hosts_are_proved),
        cmocka_unit_test(canonical_plans_are_proved_canonical_through_folds_and_exchanges),
        cmocka_unit_test(gradients_that_are_ready_before_their_last_writer_race),
        cmocka_unit_test(readers_that_do_not_wait_for_the_weights_race),
        cmocka_unit_test(a_fold_in_another_order_is_not_canonical),
        cmocka_unit_test(an_exchange_that_is_never_told_to_be_free_is_named),
        cmocka_unit_test(an_exchange_that_one_rank_does_not_start_is_named),
        cmocka_unit_test(an_update_that_is_missing_is_found),
        cmocka_unit_test(states_that_are_gathered_while_they_change_race),
        cmocka_unit_test(numbers_that_are_asked_for_too_early_race),
        cmocka_unit_test(an_owner_that_writes_weights_before_free_is_caught),
        cmocka_unit_test(weights_that_are_called_free_before_their_last_reader_race),
        cmocka_unit_test(activations_that_overlap_while_both_are_needed_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
