/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_visits.c: plans of methods whose workers visit a centre are proved at any rank count and period, and each
 * mistake that one could make with a memory that all touch is refused in the plan's words. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "method_world.h"

static const char *const methods[] = {"easgd",     "async-easgd", "async-measgd", "hogwild-easgd",
                                      "async-sgd", "async-msgd",  "hogwild-sgd",  "bounded-sgd"};
enum { NMETHODS = sizeof methods / sizeof *methods };

static void visits_are_proved_at_any_period_and_rank_count(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 4; nranks++)
        for (int i = 0; i < NMETHODS; i++)
            for (int period = 1; period <= (i < 4 ? 4 : 1); period += 3) {
                world w;
                make(&w, methods[i],
                     (tutti_plan_config){.nranks = nranks,
                                         .period = period,
                                         .norms = nranks == 2 ? TUTTI_NORM_OF_ALL : TUTTI_NO_NORMS,
                                         .nstates = 1});
                expect_proof(w.plan);
                assert_true(tutti_plan_is_async(w.plan));
                assert_int_equal(w.plan->nexchanges, 0);
                assert_true(w.plan->memories[w.plan->answer].is_common);
                char *text = tutti_plan_print(w.plan);
                assert_non_null(strstr(text, "visits: "));
                assert_non_null(strstr(text, "begin a visit"));
                free(text);
                destroy(&w);
            }
}

static void who_visits_how_and_what_for_is_part_of_the_hash(void **state)
{
    (void)state;
    uint64_t hash[NMETHODS];
    for (int i = 0; i < NMETHODS; i++) {
        world w;
        make(&w, methods[i], (tutti_plan_config){.nranks = 3, .nstates = 1});
        hash[i] = tutti_plan_hash(w.plan);
        destroy(&w);
        for (int k = 0; k < i; k++) {
            const bool is_twin =
                !strcmp(methods[i], "async-measgd") || !strcmp(methods[i], "async-msgd"); /* refuse more */
            assert_true(hash[k] != hash[i] || (is_twin && k == i - 1));
        }
    }
}

/* ---- mistakes ---- */

static const tutti_emitter *right;

static void list_with(tutti_plan_builder *b, int what)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const tutti_action copy = {.kind = TUTTI_DO_COPY,
                               .bucket = 0,
                               .from = tutti_plan_find_memory(p, TUTTI_ROLE_CENTRE, 0),
                               .to = tutti_plan_find_memory(p, TUTTI_ROLE_WEIGHTS, 0),
                               .count = p->buckets[0].count};
    right->list(b);
    if (what == 0) tutti_builder_do(b, &copy);
    if (what == 1) do_kind(b, TUTTI_DO_ENTER);
    if (what == 2) do_kind(b, TUTTI_DO_LEAVE);
    if (what == 3) do_kind(b, TUTTI_DO_ENTER), do_kind(b, TUTTI_DO_PACE), do_kind(b, TUTTI_DO_LEAVE);
    if (what == 4 && tutti_builder_rank(b) == 1) do_kind(b, TUTTI_DO_ENTER), do_kind(b, TUTTI_DO_LEAVE);
}

static void list_0(tutti_plan_builder *b)
{
    list_with(b, 0);
}

static void list_1(tutti_plan_builder *b)
{
    list_with(b, 1);
}

static void list_2(tutti_plan_builder *b)
{
    list_with(b, 2);
}

static void list_3(tutti_plan_builder *b)
{
    list_with(b, 3);
}

static void list_4(tutti_plan_builder *b)
{
    list_with(b, 4);
}

static void each_mistake_is_refused(void **state)
{
    (void)state;
    static void (*const lists[])(tutti_plan_builder *) = {list_0, list_1, list_2, list_3, list_4};
    static const char *const words[] = {"touches a memory that others visit, outside a visit", "a visit is not ended",
                                        "ends a visit that nobody began", "waits inside a visit",
                                        "rank 1 visits 2 times a step, rank 0 1 times"};
    for (int i = 0; i < 5; i++) {
        world w;
        make(&w, "easgd", (tutti_plan_config){.nranks = 3});
        right = w.plan->config.method;
        const tutti_emitter wrong = {right->declare, lists[i]};
        tutti_plan_config config = w.plan->config;
        tutti_plan *plan = NULL;
        tutti_failure err = {0};
        config.method = &wrong;
        tutti_status st = tutti_plan_build(w.graph, &config, &plan, &err);
        if (!st) st = tutti_plan_check(plan, &err);
        assert_int_equal(st, TUTTI_ERR_FAILED);
        if (!strstr(err.text, words[i])) fail_msg("not '%s' but '%s'", words[i], err.text);
        tutti_plan_destroy(plan);
        destroy(&w);
    }
}

/* A method whose ranks step together has nobody who would let one in. */
static void list_sync_that_enters(tutti_plan_builder *b)
{
    tutti_method_find("sync-sgd")->emitter->list(b);
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    do_kind(b, TUTTI_DO_ENTER);
    do_kind(b, TUTTI_DO_LEAVE);
}

static void a_visit_without_admission_is_refused(void **state)
{
    (void)state;
    world w;
    make(&w, "sync-sgd", (tutti_plan_config){.nranks = 2, .algorithm = "direct"});
    const tutti_emitter wrong = {w.plan->config.method->declare, list_sync_that_enters};
    tutti_plan_config config = w.plan->config;
    tutti_plan *plan = NULL;
    tutti_failure err = {0};
    config.method = &wrong;
    assert_int_equal(tutti_plan_build(w.graph, &config, &plan, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "has nobody who admits it"));
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_are_proved_at_any_period_and_rank_count),
        cmocka_unit_test(who_visits_how_and_what_for_is_part_of_the_hash),
        cmocka_unit_test(each_mistake_is_refused),
        cmocka_unit_test(a_visit_without_admission_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
