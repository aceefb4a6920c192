/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_frozen.c: frozen parameters lie behind what is exchanged: no gradient, no state, no byte travels for them,
 * by any method; they are in every memory that is tested or saved; the proof sees whoever would write them. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "method_world.h"

static tutti_frozen fc1_and_a_bias(void)
{
    static const char *values[] = {"fc1", "true", "fc2.bias", "true"};
    return (tutti_frozen){{values, 4}, NULL};
}

static tutti_plan_config some(int nranks)
{
    return (tutti_plan_config){.nranks = nranks, .algorithm = "direct", .nstates = 2, .period = 1, .staleness = 2};
}

/* Elements that a rank's exchanges of each step are over. */
static int64_t elements_of(const tutti_plan *p, const char *what)
{
    int64_t n = 0;
    for (int x = 0; x < p->nexchanges; x++)
        if (!strncmp(p->exchanges[x].name, what, strlen(what)) && p->exchanges[x].bucket >= 0)
            n += p->exchanges[x].count;
    return n;
}

/* The toy net: fc1 8 x 12 + 8, norm 8 + 8 and as many statistics, fc2 4 x 8 + 4, each tensor from an edge of 16 on. */
enum { FC1 = 96 + 16, NORM = 4 * 16, FC2_WEIGHT = 32, FC2_BIAS = 16 };

static void nothing_is_exchanged_for_frozen_parameters(void **state)
{
    (void)state;
    world w, whole;
    make_frozen(&w, "sync-sgd", some(4), fc1_and_a_bias());
    make(&whole, "sync-sgd", some(4));
    assert_int_equal(whole.plan->total, FC1 + NORM + FC2_WEIGHT + FC2_BIAS);
    assert_int_equal(whole.plan->nweights, whole.plan->total);
    assert_int_equal(whole.plan->first_frozen, whole.graph->nparams);
    assert_int_equal(w.plan->total, NORM + FC2_WEIGHT);
    assert_int_equal(w.plan->nweights, whole.plan->nweights);
    assert_int_equal(w.graph->nparams - w.plan->first_frozen, 3);
    static const char *const whats[] = {"gradients", "weights", "exp_avg_sq"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(elements_of(w.plan, whats[i]), NORM + FC2_WEIGHT);
        assert_int_equal(elements_of(whole.plan, whats[i]), FC1 + NORM + FC2_WEIGHT + FC2_BIAS);
    }
    for (int i = w.plan->first_frozen; i < w.graph->nparams; i++) {
        assert_true(w.graph->params[w.plan->order[i]].is_frozen);
        assert_int_equal(tutti_plan_bucket_of(w.plan, w.plan->order[i]), TUTTI_NO_BUCKET);
        assert_true(w.plan->param_offset[w.plan->order[i]] >= w.plan->total);
    }
    assert_true(tutti_plan_hash(w.plan) != tutti_plan_hash(whole.plan));
    destroy(&w), destroy(&whole);
}

static void plans_of_every_method_are_proved_and_keep_no_states_of_frozen_parameters(void **state)
{
    (void)state;
    const tutti_method_row *m;
    for (int i = 0; (m = tutti_method_at(i)); i++) {
        world w;
        const tutti_plan_config c = some(3);
        if (m->accept(&c, NULL)) continue;
        make_frozen(&w, m->name, c, fc1_and_a_bias());
        expect_proof(w.plan);
        for (int k = 0; k < w.plan->nmemories; k++) {
            const tutti_plan_memory *memory = &w.plan->memories[k];
            if (memory->role == TUTTI_ROLE_NUMBERS || memory->role == TUTTI_ROLE_ACTIVATIONS) continue;
            const bool is_whole = memory->role == TUTTI_ROLE_WEIGHTS || k == w.plan->answer;
            if (memory->elements != (is_whole ? w.plan->nweights : w.plan->total))
                fail_msg("%s: %s has %d elements", m->name, memory->name, (int)memory->elements);
        }
        destroy(&w);
    }
}

static void plans_are_proved_however_sums_are_made(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 6; nranks++)
        for (int way = 0; way < 6; way++) {
            tutti_plan_config c = some(nranks);
            world w;
            c.slots = way == 1 ? 8 : 0;
            c.accumulate = way == 2 ? 2 : 0;
            c.replicated = way == 3;
            c.early = c.by_need = way == 4;
            c.norms = way == 5 ? TUTTI_NORMS_OF_TENSORS : TUTTI_NO_NORMS;
            if (48 % (c.slots ? c.slots : nranks * (c.accumulate ? 2 : 1))) continue;
            make_frozen(&w, "sync-sgd", c, fc1_and_a_bias());
            expect_proof(w.plan);
            /* of fc1.weight, fc2.weight and the norm's weight only fc2's is a weight that is learned */
            if (c.norms) assert_int_equal(tutti_plan_nlooked(w.plan), 1 + 2 * 20);
            destroy(&w);
        }
}

static void expect_named(const tutti_plan *p, const char *words)
{
    tutti_failure err = {0};
    assert_int_equal(tutti_plan_check(p, &err), TUTTI_ERR_FAILED);
    if (!strstr(err.text, words)) fail_msg("expected '%s' in: %s", words, err.text);
}

static void whoever_would_write_frozen_parameters_is_named(void **state)
{
    (void)state;
    world w;
    make_frozen(&w, "sync-sgd", some(2), fc1_and_a_bias());
    const int last = exchange_of(w.plan, "weights", w.plan->nbuckets - 1);
    w.plan->exchanges[last].count++;
    expect_named(w.plan, "frozen parameters begin at 96");
    w.plan->exchanges[last].count--;
    expect_proof(w.plan);
    tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
    for (int i = 0; i < step->nactions; i++)
        if (step->actions[i].kind == TUTTI_DO_APPLY) step->actions[i].first = w.plan->total;
    expect_named(w.plan, "rank 0: an update of bucket");
    destroy(&w);
}

static void a_plan_lists_what_is_frozen(void **state)
{
    (void)state;
    world w;
    make_frozen(&w, "sync-sgd", some(2), fc1_and_a_bias());
    char *text = tutti_plan_print(w.plan), *graph = tutti_graph_print(w.graph);
    assert_non_null(strstr(text, "frozen, not exchanged: 128 elements behind the buckets (512 B)\n"
                                 "            96  fc1.weight"));
    assert_non_null(strstr(graph, "48 learned parameters, 16 statistics"));
    assert_non_null(strstr(graph, "108 parameters frozen"));
    free(text), free(graph);
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_exchanged_for_frozen_parameters),
        cmocka_unit_test(plans_of_every_method_are_proved_and_keep_no_states_of_frozen_parameters),
        cmocka_unit_test(plans_are_proved_however_sums_are_made),
        cmocka_unit_test(whoever_would_write_frozen_parameters_is_named),
        cmocka_unit_test(a_plan_lists_what_is_frozen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
