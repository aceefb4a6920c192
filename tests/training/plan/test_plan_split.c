/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_split.c: plans of layers that ranks share are proved in groups of any size, on any hosts; what travels is
 * what the formula says; and whatever is wrong of them is found. */
#include "testing.h"

#include <stdlib.h>

#include "../split_world.h"

static tutti_loop *step_of(const split_world *w)
{
    return &w->plan->loops[TUTTI_EACH_STEP];
}

static int find(const split_world *w, const char *name)
{
    const int x = find_exchange(w->plan, name);
    if (x < 0) fail_msg("there is no exchange '%s'", name);
    return x;
}

/* ---- what is right ---- */

static void groups_of_every_size_are_proved(void **state)
{
    (void)state;
    static const int worlds[][2] = {{2, 2}, {4, 2}, {4, 4}, {6, 2}, {8, 4}, {8, 8}};
    for (int i = 0; i < 6; i++)
        for (int rank = 0; rank < worlds[i][0]; rank += 3)
            for (int need = 0; need < 2; need++) {
                split_world w;
                split_make(&w, worlds[i][1],
                           (tutti_plan_config){.nranks = worlds[i][0], .rank = rank, .by_need = need});
                expect_proof(w.plan);
                split_destroy(&w);
            }
}

static void groups_on_several_hosts_are_proved(void **state)
{
    (void)state;
    static const int32_t hosts[][4] = {{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 2, 3}, {0, 0, 0, 1}};
    for (int i = 0; i < 4; i++)
        for (int parts = 2; parts <= 4; parts += 2) {
            split_world w;
            split_make(&w, parts, (tutti_plan_config){.nranks = 4, .host_of = hosts[i], .rank = i});
            expect_proof(w.plan);
            split_destroy(&w);
        }
}

static void all_ranks_have_one_plan(void **state)
{
    (void)state;
    uint64_t hashes[4], other;
    split_world w;
    for (int rank = 0; rank < 4; rank++) {
        split_make(&w, 2, (tutti_plan_config){.nranks = 4, .rank = rank});
        hashes[rank] = tutti_plan_hash(w.plan);
        split_destroy(&w);
    }
    split_make(&w, 4, (tutti_plan_config){.nranks = 4});
    other = tutti_plan_hash(w.plan);
    split_destroy(&w);
    for (int rank = 1; rank < 4; rank++) assert_true(hashes[rank] == hashes[0]);
    assert_true(other != hashes[0]);
}

/* A plan finds the loops in which exchanges start from lists without kernels. Full lists of all ranks say the same. */
static void exchanges_start_in_the_loops_that_full_lists_name(void **state)
{
    (void)state;
    static const int worlds[][2] = {{4, 2}, {6, 2}, {8, 8}};
    for (int i = 0; i < 3; i++) {
        split_world w;
        split_make(&w, worlds[i][1], (tutti_plan_config){.nranks = worlds[i][0], .rank = 1, .by_need = i == 1});
        unsigned *drivers = tutti_alloc(sizeof *drivers * (size_t)w.plan->nexchanges), others = 0;
        for (int r = 0; r < worlds[i][0]; r++) {
            tutti_arena arena = {0};
            tutti_loop loops[TUTTI_NDRIVERS];
            tutti_plan_list_loops(w.plan, r, &arena, loops);
            for (int d = 0; d < TUTTI_NDRIVERS; d++) {
                others |= (unsigned)(loops[d].nactions > 0) << d;
                for (int x = 0; x < w.plan->nexchanges; x++)
                    drivers[x] |= (unsigned)(tutti_loop_find_start(&loops[d], x) >= 0) << d;
            }
            tutti_arena_release(&arena);
        }
        for (int x = 0; x < w.plan->nexchanges; x++)
            if (w.plan->exchanges[x].drivers != drivers[x]) fail_msg("%s", w.plan->exchanges[x].name);
        for (int d = 0; d < TUTTI_NDRIVERS; d++)
            assert_int_equal(tutti_plan_has_loop(w.plan, (tutti_loop_driver)d), others >> d & 1);
        free(drivers);
        split_destroy(&w);
    }
}

static void a_draft_exchanges_and_computes_as_the_plan_does(void **state)
{
    (void)state;
    for (int parts = 1; parts <= 4; parts *= 2) {
        split_world w, draft;
        split_make(&w, parts, (tutti_plan_config){.nranks = 8});
        split_make(&draft, parts, (tutti_plan_config){.nranks = 8, .is_draft = true});
        assert_true(w.plan->arena_bytes > 0 && draft.plan->arena_bytes == 0);
        assert_int_equal(draft.plan->nbuckets, w.plan->nbuckets);
        assert_int_equal(draft.plan->nexchanges, w.plan->nexchanges);
        for (int x = 0; x < w.plan->nexchanges; x++) {
            assert_int_equal(draft.plan->exchanges[x].count, w.plan->exchanges[x].count);
            assert_int_equal(draft.plan->exchanges[x].drivers, w.plan->exchanges[x].drivers);
        }
        for (int r = 0; r < 8; r++)
            assert_true(tutti_plan_covered_loops(draft.plan, r) == tutti_plan_covered_loops(w.plan, r));
        split_destroy(&draft);
        split_destroy(&w);
    }
}

/* Of every bucket each element has one owner. */
static void owners_tile_every_bucket(void **state)
{
    (void)state;
    for (int parts = 1; parts <= 8; parts *= 2) {
        split_world w;
        split_make(&w, parts, (tutti_plan_config){.nranks = 8});
        for (int b = 0; b < w.plan->nbuckets; b++) {
            const tutti_bucket *bucket = &w.plan->buckets[b];
            const tutti_param *param = &w.graph->params[w.plan->order[bucket->first_param]];
            const int64_t n = bucket->parts > 1 ? param->count : bucket->count;
            int owners[1024] = {0};
            for (int r = 0; r < 8; r++) {
                int64_t first, count;
                tutti_plan_own_slice(w.plan, b, r, &first, &count);
                for (int64_t i = first; i < first + count; i++) owners[i - bucket->offset]++;
            }
            assert_true(bucket->count <= 1024);
            for (int64_t i = 0; i < bucket->count; i++) assert_int_equal(owners[i], i < n);
            assert_int_equal(bucket->parts, parts > 1 && strncmp(param->name, "fc3", 3) ? parts : 1);
        }
        split_destroy(&w);
    }
}

static const char *graph_of(const split_world *w, char *text)
{
    free(text);
    return tutti_graph_print(w->graph);
}

static void the_graph_says_what_travels(void **state)
{
    (void)state;
    split_world w;
    split_make(&w, 2, (tutti_plan_config){.nranks = 4});
    char *text = (char *)(uintptr_t)graph_of(&w, NULL), *plan = tutti_plan_print(w.plan);
    static const char *const lines[] = {
        "split: fc1 fc2 by 2 ranks",
        "move            fc1                     : batch -> own-inputs(fc1)",
        "travel          fc1                     : own-inputs(fc1) -> inputs(fc1)",
        "forward         fc1                     : inputs(fc1) fc1.weight fc1.bias -> outputs(fc1)",
        "travel          fc1                     : outputs(fc1) -> blocks(fc1)",
        "move            fc1                     : blocks(fc1) -> fc1",
        "move            fc2                     : d(fc2) -> d-blocks(fc2)",
        "travel          fc2                     : d-inputs(fc2) -> d-own-inputs(fc2)",
        "move            fc2                     : d-own-inputs(fc2) -> d(drop)",
        "backward-data   fc2                     : d'-outputs(fc2)",
    };
    for (int i = 0; i < 10; i++)
        if (!strstr(text, lines[i])) fail_msg("'%s' is not in: %s", lines[i], text);
    assert_null(strstr(text, "d-inputs(fc1)")); /* nobody wants the gradient of samples */
    assert_non_null(strstr(plan, "split layers: fc1, fc2; 2 groups of 2 ranks, this rank has part 0 of 2"));
    assert_non_null(strstr(plan, "inputs of fc2, group 1   all-gather of inputs of fc2 0 + 192, between ranks 2, 3"));
    free(text), free(plan);
    split_destroy(&w);
}

static void parameters_stay_whole_for_everybody_else(void **state)
{
    (void)state;
    split_world w, plain;
    split_make(&w, 4, (tutti_plan_config){.nranks = 4});
    split_make(&plain, 1, (tutti_plan_config){.nranks = 4});
    assert_int_equal(w.graph->nparams, plain.graph->nparams);
    for (int i = 0; i < w.graph->nparams; i++) {
        const tutti_param *a = &w.graph->params[i], *b = &plain.graph->params[i];
        float one[512], other[512];
        assert_string_equal(a->name, b->name);
        assert_true(tutti_shape_equal(&a->desc.shape, &b->desc.shape) && a->count == b->count);
        tutti_graph_init_param(a, 7, one);
        tutti_graph_init_param(b, 7, other);
        assert_memory_equal(one, other, sizeof(float) * (size_t)a->count);
    }
    split_destroy(&w), split_destroy(&plain);
}

/* What the formula says a rank receives is what its exchanges bring: of a gather and of a swap all blocks but its own,
 * of a sum its slice from everybody else. */
static int64_t received(const tutti_plan *p, int rank, bool travels)
{
    int64_t sum = 0;
    for (int i = 0; i < p->nexchanges; i++) {
        const tutti_plan_exchange *x = &p->exchanges[i];
        const bool of_params = x->bucket >= 0 && p->buckets[x->bucket].parts > 1;
        if (tutti_plan_place(x, rank) < 0 || !(x->drivers >> TUTTI_EACH_STEP & 1)) continue;
        if (travels ? !x->is_travel : !of_params) continue;
        const bool swaps = tutti_schedule_head(lowered_of(p, i))->collective == TUTTI_ALL_TO_ALL;
        const int64_t n = x->count / (swaps ? x->nmembers : 1);
        sum += n / x->nmembers * (x->nmembers - 1);
    }
    return sum;
}

static void what_a_rank_receives_is_what_the_formula_says(void **state)
{
    (void)state;
    for (int parts = 2; parts <= 8; parts *= 2)
        for (int rank = 0; rank < 8; rank++) {
            split_world w;
            tutti_split_volume sum = {0};
            split_make(&w, parts, (tutti_plan_config){.nranks = 8, .rank = rank});
            for (int s = 0; s < w.graph->nsplit; s++) {
                const tutti_split_volume v = tutti_split_volume_of(&w.graph->split[s], 8, SPLIT_BATCH, parts);
                sum.activations += v.activations;
                sum.params += v.params;
            }
            assert_int_equal(received(w.plan, rank, true), sum.activations);
            assert_int_equal(received(w.plan, rank, false), sum.params);
            split_destroy(&w);
        }
    /* by hand: 8 ranks of 6 samples, one group; fc1 of 12 and 8, whose input is nobody's, fc2 of 8 and 24 */
    split_world w;
    split_make(&w, 8, (tutti_plan_config){.nranks = 8});
    assert_int_equal(received(w.plan, 0, true), 7 * 6 * 12 + 2 * 7 * 6 * 1 + 2 * 7 * 6 * 8 + 2 * 7 * 6 * 3);
    assert_int_equal(received(w.plan, 0, false), 0);
    split_destroy(&w);
}

/* ---- what is wrong ---- */

static void a_kernel_before_what_travels_to_it_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"inputs of fc1, group 0", "outputs of fc2, group 0",
                                        "output gradients of fc1, group 0", "input gradients of fc2, group 0"};
    static const char *const found[] = {
        "forward of fc1 does not find what it reads in inputs of fc1",
        "take outputs of fc2 does not find what it reads in split outputs in blocks",
        "backward-params of fc1 does not find what it reads in gradients of split outputs",
        "take gradients of fc2 does not find what it reads in gradients of split inputs"};
    for (int i = 0; i < 4; i++) {
        split_world w;
        split_make(&w, 2, (tutti_plan_config){.nranks = 4});
        tutti_loop *step = step_of(&w);
        const int wait = find_action(step, TUTTI_DO_WAIT, find(&w, names[i]), NULL);
        int kernel = wait;
        while (step->actions[kernel].kind != TUTTI_DO_KERNEL) kernel++;
        move_action(step, wait, kernel);
        expect_refusal(w.plan, found[i]);
        split_destroy(&w);
    }
}

static void what_travels_for_other_nodes_is_found(void **state)
{
    (void)state;
    split_world w;
    split_make(&w, 2, (tutti_plan_config){.nranks = 4});
    const int gather = find(&w, "inputs of fc1, group 0"), swap = find(&w, "outputs of fc1, group 0");
    w.plan->exchanges[gather].count--;
    expect_refusal(w.plan, "inputs of fc1, group 0: it is not over all that there is");
    w.plan->exchanges[gather].count++;
    w.plan->exchanges[swap].out.memory = w.plan->exchanges[swap].in.memory;
    expect_refusal(w.plan, "outputs of fc1, group 0: it brings to another place");
    split_destroy(&w);

    split_make(&w, 2, (tutti_plan_config){.nranks = 4});
    w.plan->exchanges[swap].node = w.plan->exchanges[gather].node;
    expect_refusal(w.plan, "outputs of fc1, group 0: it is of another collective");
    split_destroy(&w);
}

static void another_group_than_that_of_neighbours_is_found(void **state)
{
    (void)state;
    split_world w;
    split_make(&w, 2, (tutti_plan_config){.nranks = 4});
    int32_t *members = (int32_t *)(uintptr_t)w.plan->exchanges[find(&w, "outputs of fc2, group 0")].members;
    members[0] = 1, members[1] = 0;
    expect_refusal(w.plan, "outputs of fc2, group 0: its members are no group, in their order");
    split_destroy(&w);
}

/* Parts are summed by ranks that have another part, or not by all groups. */
static void sums_of_the_wrong_ranks_are_found(void **state)
{
    (void)state;
    split_world w;
    split_make(&w, 2, (tutti_plan_config){.nranks = 8});
    const int sum = find(&w, "gradients of bucket 2, part 0"), other = find(&w, "gradients of bucket 2, part 1");
    tutti_plan_exchange *x = &w.plan->exchanges[sum], *y = &w.plan->exchanges[other];
    assert_int_equal(x->members[1], 2);
    const int64_t first = x->first;
    x->first = y->first, y->first = first; /* each the other's part */
    expect_refusal(w.plan, "rank 0's");
    split_destroy(&w);
}

static void a_part_that_is_not_updated_is_found(void **state)
{
    (void)state;
    split_world w;
    split_make(&w, 4, (tutti_plan_config){.nranks = 4}); /* nobody else has it */
    for (int b = 0; b < w.plan->nbuckets; b++) {
        if (w.plan->buckets[b].parts == 1) continue;
        tutti_action *a = &step_of(&w)->actions[find_on_bucket(step_of(&w), TUTTI_DO_APPLY, b)];
        const int64_t count = a->count;
        a->count = 0;
        expect_refusal(w.plan, "rank 0's result");
        a->count = count;
        a->first += count; /* another rank's part */
        expect_refusal(w.plan, "rank 0's");
        a->first -= count;
    }
    expect_proof(w.plan);
    split_destroy(&w);
}

static void a_test_before_the_parts_are_gathered_is_found(void **state)
{
    (void)state;
    split_world w;
    split_make(&w, 2, (tutti_plan_config){.nranks = 4});
    tutti_loop *test = &w.plan->loops[TUTTI_EACH_TEST];
    const int x = find(&w, "all parts of bucket 2, group 0");
    remove_action(test, find_action(test, TUTTI_DO_START, x, NULL));
    remove_action(test, find_action(test, TUTTI_DO_WAIT, x, NULL));
    expect_refusal(w.plan, "all parts of bucket 2");
    split_destroy(&w);

    split_make(&w, 2, (tutti_plan_config){.nranks = 4});
    tutti_plan_exchange *gather = &w.plan->exchanges[find(&w, "all parts of bucket 2, group 0")];
    gather->count /= 2;
    w.plan->exchanges[find(&w, "all parts of bucket 2, group 1")].count /= 2;
    expect_refusal(w.plan, "result");
    split_destroy(&w);
}

/* What every rank does but gather the parts. */
static void list_without_gathers(tutti_plan_builder *b)
{
    tutti_loop *test = &b->loops[TUTTI_EACH_TEST];
    int n = 0;
    tutti_method_find("sync-sgd")->split->list(b);
    for (int i = 0; i < test->nactions; i++)
        if (strncmp(b->plan->exchanges[test->actions[i].exchange].name, "all parts", 9) != 0)
            test->actions[n++] = test->actions[i];
    test->nactions = n;
}

static void parts_that_nobody_gathers_are_missing_in_a_test(void **state)
{
    (void)state;
    const tutti_emitter lazy = {tutti_method_find("sync-sgd")->split->declare, list_without_gathers};
    tutti_failure err = {0};
    tutti_plan *plan = NULL;
    split_world w;
    split_make(&w, 2, (tutti_plan_config){.nranks = 4});
    tutti_plan_config config = w.plan->config;
    config.method = &lazy;
    if (tutti_plan_build(w.graph, &config, &plan, &err)) fail_msg("%s", err.text);
    expect_refusal(plan, "rank 0's result, elements");
    expect_refusal(plan, "lacks the contribution of");
    tutti_plan_destroy(plan);
    split_destroy(&w);
}

/* The gather writes the other parts of the weights: a rank that still updates its own would be read half done. */
static void parts_that_are_gathered_too_early_race(void **state)
{
    (void)state;
    split_world w;
    split_make(&w, 2, (tutti_plan_config){.nranks = 4});
    tutti_loop *test = &w.plan->loops[TUTTI_EACH_TEST];
    remove_action(test, find_action(test, TUTTI_DO_WAIT, find(&w, "weights of bucket 2, part 0"), NULL));
    expect_refusal(w.plan, "race on rank 0's weights");
    split_destroy(&w);
}

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    tutti_failure err = {0};
    split_world w;
    assert_int_equal(split_try(&w, 2, (tutti_plan_config){.nranks = 3}, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "3 ranks do not make groups of 2"));
    tutti_graph_destroy(w.graph);
    assert_int_equal(split_try(&w, 2, (tutti_plan_config){.nranks = 4, .slots = 8}, &err), TUTTI_ERR_USAGE);
    tutti_graph_destroy(w.graph);
    assert_int_equal(split_try(&w, 2, (tutti_plan_config){.nranks = 4, .accumulate = 2}, &err), TUTTI_ERR_USAGE);
    tutti_graph_destroy(w.graph);
    assert_int_equal(split_try(&w, 3, (tutti_plan_config){.nranks = 3}, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "the 8 outputs of layer 'fc1' cannot be shared evenly by the 3 ranks"));
    assert_null(w.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_every_size_are_proved),
        cmocka_unit_test(groups_on_several_hosts_are_proved),
        cmocka_unit_test(all_ranks_have_one_plan),
        cmocka_unit_test(exchanges_start_in_the_loops_that_full_lists_name),
        cmocka_unit_test(a_draft_exchanges_and_computes_as_the_plan_does),
        cmocka_unit_test(owners_tile_every_bucket),
        cmocka_unit_test(the_graph_says_what_travels),
        cmocka_unit_test(parameters_stay_whole_for_everybody_else),
        cmocka_unit_test(what_a_rank_receives_is_what_the_formula_says),
        cmocka_unit_test(a_kernel_before_what_travels_to_it_is_found),
        cmocka_unit_test(what_travels_for_other_nodes_is_found),
        cmocka_unit_test(another_group_than_that_of_neighbours_is_found),
        cmocka_unit_test(sums_of_the_wrong_ranks_are_found),
        cmocka_unit_test(a_part_that_is_not_updated_is_found),
        cmocka_unit_test(a_test_before_the_parts_are_gathered_is_found),
        cmocka_unit_test(parts_that_nobody_gathers_are_missing_in_a_test),
        cmocka_unit_test(parts_that_are_gathered_too_early_race),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
