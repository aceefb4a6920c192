/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_check.c: plans are proved race-free over consecutive steps, and each mistake that a plan could make is named in
 * the plan's own words. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

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
                                      .nthreads = 1};
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

static void expect_right(world *w)
{
    tutti_failure err = {0};
    if (tutti_plan_check(w->plan, &err) != TUTTI_OK) fail_msg("refused: %s", err.text);
}

static void expect_wrong(world *w, const char *why)
{
    tutti_failure err = {0};
    assert_int_equal(tutti_plan_check(w->plan, &err), TUTTI_ERR_FAILED);
    if (!strstr(err.text, why)) fail_msg("expected '%s' in: %s", why, err.text);
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
            assert_string_equal(tutti_schedule_head(w.plan->buckets[0].reduce_scatter_mapped)->algorithm,
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

static int find_action(const world *w, tutti_action_kind kind, int bucket)
{
    for (int i = 0; i < w->plan->nactions; i++)
        if (w->plan->actions[i].kind == kind && w->plan->actions[i].bucket == bucket) return i;
    fail_msg("no such action");
    return -1;
}

static void move_action(world *w, int from, int to)
{
    tutti_action *a = w->plan->actions, moved = a[from];
    if (to < from)
        memmove(a + to + 1, a + to, sizeof *a * (size_t)(from - to));
    else
        memmove(a + from, a + from + 1, sizeof *a * (size_t)(to - from));
    a[to] = moved;
}

static void gradients_that_are_ready_before_their_last_writer_race(void **state)
{
    (void)state;
    world w;
    make(&w, 3, 0, "direct", 300);
    move_action(&w, find_action(&w, TUTTI_DO_READY, 1), 0);
    expect_wrong(&w, "rank 0's gradient buffer 0");
    destroy(&w);
}

static void readers_that_do_not_wait_for_the_weights_race(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, "direct", 300);
    const int at = find_action(&w, TUTTI_DO_WAIT_WEIGHTS, 0);
    move_action(&w, at, w.plan->nactions - 1);
    expect_wrong(&w, "race on rank 0's weights");
    destroy(&w);
}

static void a_fold_in_another_order_is_not_canonical(void **state)
{
    (void)state;
    world w;
    make(&w, 1, 8, "direct", 300);
    for (int i = 0; i < w.plan->nactions; i++) {
        tutti_action *a = &w.plan->actions[i];
        if (a->kind == TUTTI_DO_FOLD && a->root_dst == 0) {
            a->root_src = 0;
            break;
        }
    }
    expect_wrong(&w, "twice");
    destroy(&w);
}

static void a_bucket_that_is_never_freed_is_named(void **state)
{
    (void)state;
    world w;
    make(&w, 2, 0, "direct", 300);
    w.plan->actions[find_action(&w, TUTTI_DO_FREE, 1)].bucket = 0;
    expect_wrong(&w, "rank 0: bucket 1 is never free");
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

/* Bucket 1 is gathered by the spoiled schedule from now on; the caller destroys it. */
static tutti_schedule *spoil(world *w, spoiling how)
{
    static const tutti_schedule_ops ops = {spoiled_part, free};
    spoiled *owner = malloc(sizeof *owner);
    *owner = (spoiled){w->plan->buckets[1].all_gather_mapped, how};
    tutti_schedule *s = tutti_schedule_create(tutti_schedule_head(owner->right), &ops, owner);
    w->plan->buckets[1].all_gather_mapped = s;
    return s;
}

static void an_owner_that_writes_weights_before_free_is_caught(void **state)
{
    (void)state;
    for (int nranks = 2; nranks <= 4; nranks++) {
        world w;
        make(&w, nranks, 0, "direct", 300);
        tutti_schedule *s = spoil(&w, IMPATIENT);
        expect_wrong(&w, "race on rank");
        expect_wrong(&w, "weights, elements");
        expect_wrong(&w, "all-gather of bucket 1");
        tutti_schedule_destroy(s);
        destroy(&w);
    }
}

static void weights_that_are_called_free_before_their_last_reader_race(void **state)
{
    (void)state;
    world w;
    make(&w, 3, 0, "direct", 300);
    tutti_schedule *s = spoil(&w, EAGER);
    expect_right(&w); /* FREE alone is enough, if it is true */
    move_action(&w, find_action(&w, TUTTI_DO_FREE, 1), find_action(&w, TUTTI_DO_READY, 1));
    expect_wrong(&w, "race on rank 0's weights, elements 80 to 95 (norm.weight)");
    expect_wrong(&w, "(backward-data norm");
    tutti_schedule_destroy(s);
    destroy(&w);
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
        cmocka_unit_test(a_bucket_that_is_never_freed_is_named),
        cmocka_unit_test(an_owner_that_writes_weights_before_free_is_caught),
        cmocka_unit_test(weights_that_are_called_free_before_their_last_reader_race),
        cmocka_unit_test(activations_that_overlap_while_both_are_needed_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
