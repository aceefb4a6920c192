/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_accumulate.c: plans whose ranks sum the gradients of several micro-batches before they are exchanged are
 * proved, by every method, and a micro-batch that is forgotten, counted twice or summed too late is named. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "method_world.h"

static tutti_plan_config in_micro_batches(int nranks, int n)
{
    return (tutti_plan_config){.nranks = nranks, .algorithm = "direct", .accumulate = n, .nstates = 2, .period = 1};
}

static tutti_loop *step_of(const world *w)
{
    return loop_of(w, TUTTI_EACH_STEP);
}

static int count(const tutti_loop *l, tutti_action_kind kind, int exchange)
{
    int n;
    find_action(l, kind, exchange, &n);
    return n;
}

static void every_method_is_proved_with_micro_batches(void **state)
{
    (void)state;
    const tutti_method_row *m;
    for (int i = 0; (m = tutti_method_at(i)); i++)
        for (int n = 1; n <= 4; n++) {
            world w;
            make(&w, m->name, in_micro_batches(2, n));
            assert_int_equal(w.plan->samples_per_call, 48 / (2 * n));
            assert_int_equal(w.plan->my_nslots, n);
            assert_int_equal(w.plan->my_nsamples, 24);
            expect_proof(w.plan);
            destroy(&w);
        }
}

/* One start a bucket, after the last micro-batch; kernels as often as there are micro-batches. */
static void only_the_last_micro_batch_is_exchanged(void **state)
{
    (void)state;
    world one, many;
    make(&one, "sync-sgd", in_micro_batches(3, 1));
    make(&many, "sync-sgd", in_micro_batches(3, 4));
    const tutti_loop *step = step_of(&many);
    assert_int_equal(one.plan->ncopies, 1);
    assert_int_equal(many.plan->ncopies, 2);
    assert_int_equal(many.plan->nexchanges, one.plan->nexchanges);
    assert_int_equal(count(step, TUTTI_DO_KERNEL, -1), 4 * count(step_of(&one), TUTTI_DO_KERNEL, -1));
    assert_int_equal(count(step, TUTTI_DO_FOLD, -1), 3 * (many.plan->nbuckets + 1)); /* control numbers, too */
    for (int b = 0; b < many.plan->nbuckets; b++) {
        int nstarts;
        const int start = find_action(step, TUTTI_DO_START, exchange_of(many.plan, "gradients", b), &nstarts);
        assert_int_equal(nstarts, 1);
        for (int i = start; i < step->nactions; i++)
            assert_true(step->actions[i].kind != TUTTI_DO_FOLD || step->actions[i].bucket != b);
    }
    assert_true(tutti_plan_hash(one.plan) != tutti_plan_hash(many.plan));
    char *text = tutti_plan_print(many.plan);
    assert_non_null(strstr(text, "sums: fast (4 micro-batches a rank"));
    assert_non_null(strstr(text, "micro-batch 3 into copy 1 of the gradients"));
    free(text);
    destroy(&one), destroy(&many);
}

static void one_micro_batch_is_the_plan_without_the_key(void **state)
{
    (void)state;
    world with, without;
    make(&with, "sync-sgd", in_micro_batches(2, 1));
    make(&without, "sync-sgd", in_micro_batches(2, 0));
    char *a = tutti_plan_print(with.plan), *b = tutti_plan_print(without.plan);
    assert_string_equal(a, b);
    assert_true(tutti_plan_hash(with.plan) == tutti_plan_hash(without.plan));
    free(a), free(b);
    destroy(&with), destroy(&without);
}

static void mistakes_with_micro_batches_are_named(void **state)
{
    (void)state;
    world w;
    make(&w, "sync-sgd", in_micro_batches(2, 3));
    remove_action(step_of(&w), find_on_bucket(step_of(&w), TUTTI_DO_FOLD, 1));
    expect_refusal(w.plan, "lacks the contribution of rank 0's input 1");
    destroy(&w);

    make(&w, "sync-sgd", in_micro_batches(2, 3));
    tutti_loop *step = step_of(&w);
    const int second = find_on_bucket(step, TUTTI_DO_FOLD, 0);
    int third = second + 1;
    while (step->actions[third].kind != TUTTI_DO_FOLD || step->actions[third].bucket != 0) third++;
    move_action(step, third, second + 1); /* before the third micro-batch is written */
    expect_refusal(w.plan, "holds the contribution of rank 0's input 1");
    destroy(&w);

    make(&w, "sync-sgd", in_micro_batches(2, 2));
    step = step_of(&w);
    const int start = find_action(step, TUTTI_DO_START, exchange_of(w.plan, "gradients", 0), NULL);
    move_action(step, find_on_bucket(step, TUTTI_DO_FOLD, 0), start);
    expect_refusal(w.plan, "race on rank ");
    destroy(&w);
}

static void batches_that_do_not_divide_and_canonical_sums_are_refused(void **state)
{
    (void)state;
    tutti_plan_config c = in_micro_batches(2, 5);
    tutti_failure err = {0};
    int64_t samples;
    c.batch = 48;
    assert_int_equal(tutti_plan_samples_per_call(&c, &samples, &err), TUTTI_ERR_USAGE);
    assert_string_equal(err.text,
                        "batch: batch 48 does not divide into 10 micro-batches (ranks * accumulate); batch 40 "
                        "or 50 would");
    c.slots = 4, c.accumulate = 2;
    assert_int_equal(tutti_plan_samples_per_call(&c, &samples, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "canonical sums go slot by slot already"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_is_proved_with_micro_batches),
        cmocka_unit_test(only_the_last_micro_batch_is_exchanged),
        cmocka_unit_test(one_micro_batch_is_the_plan_without_the_key),
        cmocka_unit_test(mistakes_with_micro_batches_are_named),
        cmocka_unit_test(batches_that_do_not_divide_and_canonical_sums_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
