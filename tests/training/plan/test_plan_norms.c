/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_norms.c: plans whose updates go by norms are proved for every method that takes them, and each mistake
 * around a norm, which no race would show, is named. */
#include "testing.h"

#include <string.h>

#include "method_world.h"
#include "tensor/squares.h"

static tutti_plan_config by_norms(int nranks)
{
    return (tutti_plan_config){.nranks = nranks, .algorithm = "direct", .norms = TUTTI_NORMS_OF_TENSORS, .nstates = 2};
}

static tutti_loop *step_of(const world *w)
{
    return loop_of(w, TUTTI_EACH_STEP);
}

static void plans_by_norms_are_proved_at_any_rank_count_canonical_too(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 6; nranks++)
        for (int replicated = 0; replicated < 2; replicated++)
            for (int slots = 0; slots <= 8; slots += 8) {
                if (48 % (slots ? slots : nranks)) continue;
                world w;
                tutti_plan_config c = by_norms(nranks);
                c.slots = slots;
                c.replicated = replicated;
                make(&w, "sync-sgd", c);
                expect_proof(w.plan);
                assert_true((find_exchange(w.plan, "verdict") >= 0) == !replicated); /* who updates all has seen all */
                destroy(&w);
            }
}

static void every_method_takes_rules_by_norms_or_says_why_not(void **state)
{
    (void)state;
    int ntaken = 0, nrefused = 0;
    const tutti_method_row *m;
    for (int i = 0; (m = tutti_method_at(i)); i++) {
        tutti_plan_config c = by_norms(3);
        tutti_failure err = {0};
        c.period = 1;
        if (m->accept(&c, &err)) {
            assert_non_null(strstr(err.text, "optimiser.rule: "));
            assert_true(strstr(m->refuses, "lars and lamb") || strstr(m->refuses, "rules with states"));
            nrefused++;
            continue;
        }
        for (int only_finite = 0; only_finite < 2; only_finite++) {
            world w;
            c.only_finite = only_finite;
            if (m->accept(&c, NULL)) continue;
            make(&w, m->name, c);
            expect_proof(w.plan);
            /* who has weights of its own knows all norms without others */
            if (strcmp(m->name, "sync-sgd") != 0) assert_true((find_exchange(w.plan, "verdict") >= 0) == only_finite);
            destroy(&w);
        }
        ntaken++;
    }
    assert_true(ntaken >= 6 && nrefused == 5);
}

/* Numbers of a tensor stand in the order of parameters: its weights' squares, then the others'. The toy net has biases
 * and a batch norm. */
static void each_weight_tensor_has_numbers_of_its_own(void **state)
{
    (void)state;
    world w;
    make(&w, "sync-sgd", by_norms(2));
    const tutti_graph *g = w.plan->graph;
    int64_t next = 1, nothers = 0;
    for (int p = 0; p < g->nparams; p++) {
        const bool is_weight = g->params[p].layer >= 0 && g->params[p].desc.kind == TUTTI_PARAM_WEIGHT;
        assert_int_equal(tutti_plan_norms_of(w.plan, p), is_weight ? next : -1);
        next += is_weight ? 2 * TUTTI_SQUARES_LIMBS : 0;
        nothers += !is_weight;
    }
    assert_true(next > 1 && nothers > 3);
    assert_int_equal(tutti_plan_nlooked(w.plan), next);
    const tutti_plan_exchange *x = &w.plan->exchanges[find_exchange(w.plan, "verdict")];
    assert_int_equal(x->count, next);
    assert_true(w.plan->memories[x->in.memory].elements >= next && w.plan->memories[x->in.memory].type == TUTTI_I64);
    destroy(&w);
}

/* Replicated: each rank looks at all by itself. */
static void looks_that_miss_or_repeat_something_are_refused(void **state)
{
    (void)state;
    world w;
    tutti_plan_config c = by_norms(2);
    c.replicated = true;
    make(&w, "sync-sgd", c);
    tutti_loop *step = step_of(&w);
    const int first = find_on_bucket(step, TUTTI_DO_LOOK, 0), second = find_on_bucket(step, TUTTI_DO_LOOK, 1);
    tutti_action *look = &step->actions[second];
    look->begins = true;
    expect_refusal(w.plan, "rank 0: the norms in verdict do not begin at 0 with the first look");
    look->begins = step->actions[first].begins = false;
    expect_refusal(w.plan, "rank 0: the norms in verdict do not begin at 0 with the first look");
    step->actions[first].begins = true;
    const tutti_action whole = *look;
    look->first -= 16, look->count += 16;
    expect_refusal(w.plan, "rank 0: the norms in verdict are not whole: element ");
    expect_refusal(w.plan, "is looked at twice");
    *look = whole;
    expect_proof(w.plan);
    destroy(&w);
}

/* Sharded: what a rank has counted of its own slices is not the norm. */
static void norms_of_a_part_are_refused(void **state)
{
    (void)state;
    world w;
    make(&w, "sync-sgd", by_norms(2));
    tutti_plan_exchange *sum = &w.plan->exchanges[find_exchange(w.plan, "verdict")];
    tutti_loop *step = step_of(&w);
    const int verdict = sum->out.memory;
    for (int i = 0; i < step->nactions; i++)
        if (step->actions[i].kind == TUTTI_DO_APPLY) step->actions[i].norm = sum->in.memory;
    expect_refusal(w.plan, "rank 0: the norms in flag are not whole: element ");
    expect_refusal(w.plan, "is looked at by nobody");
    for (int i = 0; i < step->nactions; i++)
        if (step->actions[i].kind == TUTTI_DO_APPLY) step->actions[i].norm = verdict;
    step->actions[find_on_bucket(step, TUTTI_DO_APPLY, 1)].norm = -1;
    expect_refusal(w.plan, "rank 0: an update does not go by the norms in verdict");
    step->actions[find_on_bucket(step, TUTTI_DO_APPLY, 1)].norm = verdict;
    sum->count = 1;
    expect_refusal(w.plan, "verdict: does not sum all ");
    destroy(&w);
}

static void norms_of_other_weights_than_those_that_change_are_refused(void **state)
{
    (void)state;
    world w;
    make(&w, "sync-sgd", by_norms(2));
    tutti_loop *step = step_of(&w);
    step->actions[find_on_bucket(step, TUTTI_DO_LOOK, 1)].weights =
        tutti_plan_find_memory(w.plan, TUTTI_ROLE_GRADIENTS, 0);
    expect_refusal(w.plan, "rank 0: bucket 1 is not looked at before the verdict is asked for");
    destroy(&w);
}

/* The weights that a look reads are those that the step before has gathered. */
static void a_look_at_weights_that_are_still_travelling_is_found(void **state)
{
    (void)state;
    world w;
    make(&w, "local-sgd", by_norms(2));
    tutti_loop *step = step_of(&w);
    const int wait = find_wait(step, exchange_of(w.plan, "weights", 0), 0);
    assert_true(wait >= 0);
    move_action(step, wait, step->nactions - 1);
    expect_refusal(w.plan, "race on rank ");
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_by_norms_are_proved_at_any_rank_count_canonical_too),
        cmocka_unit_test(every_method_takes_rules_by_norms_or_says_why_not),
        cmocka_unit_test(each_weight_tensor_has_numbers_of_its_own),
        cmocka_unit_test(looks_that_miss_or_repeat_something_are_refused),
        cmocka_unit_test(norms_of_a_part_are_refused),
        cmocka_unit_test(norms_of_other_weights_than_those_that_change_are_refused),
        cmocka_unit_test(a_look_at_weights_that_are_still_travelling_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
