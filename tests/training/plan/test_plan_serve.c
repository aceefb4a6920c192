/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_serve.c: plans whose workers visit a centre on another host: proved for every method, period and layout of
 * hosts, with the bytes that a visit moves; and each mistake that one could make with a worker's part is refused in the
 * plan's words. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "method_world.h"

static const char *const methods[] = {"easgd",     "async-easgd", "async-measgd", "hogwild-easgd",
                                      "async-sgd", "async-msgd",  "hogwild-sgd",  "bounded-sgd"};
enum { NMETHODS = sizeof methods / sizeof *methods, NELASTIC = 4, MOST_RANKS = 6 };

static const int32_t layouts[][MOST_RANKS] = {{0, 1}, {0, 1, 2}, {0, 0, 1}, {0, 1, 0, 1}, {0, 1, 1, 2, 0, 2}};
static const int sizes[] = {2, 3, 3, 4, 6};
enum { NLAYOUTS = sizeof sizes / sizeof *sizes };

static void visits_between_hosts_are_proved(void **state)
{
    (void)state;
    for (int h = 0; h < NLAYOUTS; h++)
        for (int i = 0; i < NMETHODS; i++)
            for (int period = 1; period <= (i < NELASTIC ? 3 : 1); period += 2)
                for (int rank = 0; rank < sizes[h]; rank += sizes[h] - 1) {
                    world w;
                    make(&w, methods[i],
                         (tutti_plan_config){.rank = rank,
                                             .nranks = sizes[h],
                                             .host_of = layouts[h],
                                             .period = period,
                                             .accumulate = h == 2 ? 2 : 0,
                                             .norms = h % 2 ? TUTTI_NORM_OF_ALL : TUTTI_NO_NORMS,
                                             .nstates = 1});
                    expect_proof(w.plan);
                    assert_true(tutti_plan_is_async(w.plan));
                    assert_int_equal(w.plan->is_paced, !strcmp(methods[i], "bounded-sgd"));
                    destroy(&w);
                }
}

/* Gradients or weights there, the centre back, for each worker of another host, and for a test the centre once to each
 * of them. */
static void a_visit_moves_the_vector_there_and_back(void **state)
{
    (void)state;
    for (int h = 0; h < NLAYOUTS; h++)
        for (int i = 0; i < NMETHODS; i++) {
            world w;
            int nfar = 0;
            make(&w, methods[i], (tutti_plan_config){.nranks = sizes[h], .host_of = layouts[h], .nstates = 1});
            for (int r = 0; r < sizes[h]; r++) {
                const int push = tutti_plan_push_of(w.plan, r), pull = tutti_plan_pull_of(w.plan, r);
                assert_int_equal(tutti_plan_is_far(w.plan, r), layouts[h][r] != 0);
                assert_int_equal(push >= 0 && pull >= 0, layouts[h][r] != 0);
                if (push < 0) continue;
                assert_int_equal(w.plan->exchanges[push].count, w.plan->total);
                assert_int_equal(w.plan->exchanges[pull].count, w.plan->total);
                const tutti_memory_role brought = w.plan->memories[w.plan->exchanges[push].in.memory].role;
                assert_int_equal(brought, i < NELASTIC ? TUTTI_ROLE_WEIGHTS : TUTTI_ROLE_GRADIENTS);
                nfar++;
            }
            assert_int_equal(w.plan->nexchanges, 3 * nfar);
            for (int x = 0; x < w.plan->nexchanges; x++) assert_int_equal(w.plan->exchanges[x].nmembers, 2);
            destroy(&w);
        }
}

static void all_ranks_have_one_hash_and_it_is_not_that_of_one_host(void **state)
{
    (void)state;
    for (int i = 0; i < NMETHODS; i++) {
        uint64_t hash[3], one[3];
        world w;
        for (int rank = 0; rank < 3; rank++) {
            make(&w, methods[i],
                 (tutti_plan_config){.rank = rank, .nranks = 3, .host_of = layouts[2], .period = 1, .nstates = 1});
            hash[rank] = tutti_plan_hash(w.plan);
            assert_int_equal(tutti_plan_hash_on_one_host(w.plan, &one[rank], NULL), TUTTI_OK);
            destroy(&w);
        }
        assert_true(hash[0] == hash[1] && hash[1] == hash[2]);
        make(&w, methods[i], (tutti_plan_config){.nranks = 3, .nstates = 1});
        assert_true(tutti_plan_hash(w.plan) == one[0] && one[0] == one[1] && one[1] == one[2] && one[0] != hash[0]);
        destroy(&w);
    }
}

static void the_text_says_what_serves_whom(void **state)
{
    (void)state;
    static const char *const words[] = {
        "seat of rank 2",
        ", at rank 0 alone",
        "loop beside, for each visit of a worker of another host",
        "  of rank 2\n",
        "start gradients of rank 2: ready, free",
        "between ranks 2, 0",
        "centre for a test of rank 2",
    };
    world w;
    make(&w, "bounded-sgd", (tutti_plan_config){.nranks = 3, .host_of = layouts[2], .nstates = 1});
    char *text = tutti_plan_print(w.plan), *dot = tutti_plan_dot(w.plan);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(text, words[i])) fail_msg("no '%s' in: %s", words[i], text);
    assert_null(strstr(text, "of rank 1\n"));
    assert_non_null(strstr(dot, "s1 -> x0;")); /* behind the pace: what is brought */
    assert_non_null(strstr(dot, "x0 -> s2;"));
    free(text), free(dot);
    destroy(&w);
    make(&w, "async-sgd", (tutti_plan_config){.nranks = 3, .host_of = layouts[1], .nstates = 1});
    text = tutti_plan_print(w.plan); /* of a part, nothing is after another part */
    assert_non_null(strstr(text, "between ranks 1, 0, ready beside, for each visit of a worker of another host"));
    assert_non_null(strstr(text, "between ranks 2, 0, ready beside, for each visit of a worker of another host"));
    free(text);
    destroy(&w);
}

/* ---- mistakes ---- */

static const tutti_emitter *right;
static void (*mistake)(tutti_plan_builder *b, tutti_loop *step, tutti_loop *arrivals);

static void list_wrong(tutti_plan_builder *b)
{
    right->list(b);
    mistake(b, &b->loops[TUTTI_EACH_STEP], &b->loops[TUTTI_EACH_ARRIVAL]);
}

static int at(const tutti_loop *l, tutti_action_kind kind, int exchange)
{
    for (int i = 0; i < l->nactions; i++)
        if (l->actions[i].kind == kind && (exchange < 0 || l->actions[i].exchange == exchange)) return i;
    return -1;
}

static void drop(tutti_loop *l, int i)
{
    if (i < 0) return;
    for (l->nactions--; i < l->nactions; i++) l->actions[i] = l->actions[i + 1];
}

static void put_before(tutti_loop *l, int from, int to)
{
    if (from < 0 || to < 0) return;
    const tutti_action a = l->actions[from];
    for (; from > to; from--) l->actions[from] = l->actions[from - 1];
    for (; from < to; from++) l->actions[from] = l->actions[from + 1];
    l->actions[to] = a;
}

static int push(const tutti_plan_builder *b, int rank)
{
    return tutti_plan_push_of(tutti_builder_plan(b), rank);
}

static int pull(const tutti_plan_builder *b, int rank)
{
    return tutti_plan_pull_of(tutti_builder_plan(b), rank);
}

#define MISTAKE(name) static void name(tutti_plan_builder *b, tutti_loop *step, tutti_loop *arrivals)
#define UNUSED        (void)b, (void)step, (void)arrivals

MISTAKE(pull_before_the_part)
{
    UNUSED;
    put_before(arrivals, at(arrivals, TUTTI_DO_START, pull(b, 1)), at(arrivals, TUTTI_DO_ENTER, -1));
}

MISTAKE(seat_read_before_it_is_there)
{
    UNUSED;
    put_before(arrivals, at(arrivals, TUTTI_DO_WAIT, push(b, 1)), at(arrivals, TUTTI_DO_LEAVE, -1) + 1);
}

MISTAKE(no_wait_at_all)
{
    UNUSED;
    drop(arrivals, at(arrivals, TUTTI_DO_WAIT, push(b, 1)));
}

MISTAKE(no_leave)
{
    UNUSED;
    drop(arrivals, at(arrivals, TUTTI_DO_LEAVE, -1));
}

MISTAKE(no_enter)
{
    UNUSED;
    drop(arrivals, at(arrivals, TUTTI_DO_ENTER, -1));
}

MISTAKE(centre_behind_the_visit)
{
    UNUSED;
    put_before(arrivals, at(arrivals, TUTTI_DO_LEAVE, -1), at(arrivals, TUTTI_DO_ENTER, -1) + 1);
}

MISTAKE(wait_inside)
{
    UNUSED;
    put_before(arrivals, at(arrivals, TUTTI_DO_WAIT, push(b, 1)), at(arrivals, TUTTI_DO_ENTER, -1));
}

MISTAKE(start_inside)
{
    UNUSED;
    put_before(arrivals, at(arrivals, TUTTI_DO_START, pull(b, 1)), at(arrivals, TUTTI_DO_LEAVE, -1));
}

MISTAKE(another_ones_pull)
{
    UNUSED;
    for (int i = 0; i < arrivals->nactions; i++)
        if (arrivals->actions[i].exchange == pull(b, 1)) arrivals->actions[i].exchange = pull(b, 2);
}

MISTAKE(another_ones_push)
{
    UNUSED;
    for (int i = 0; i < step->nactions && b->rank == 2; i++)
        if (step->actions[i].exchange == push(b, 2)) step->actions[i].exchange = push(b, 1);
}

MISTAKE(another_ones_seat)
{
    UNUSED;
    const int own = tutti_plan_find_memory(b->plan, TUTTI_ROLE_SEAT, 1), other = own - 1;
    for (int i = 0; i < arrivals->nactions; i++)
        if (arrivals->actions[i].from == own) arrivals->actions[i].from = other;
}

MISTAKE(own_gradients_in_a_part)
{
    UNUSED;
    for (int i = 0; i < arrivals->nactions; i++)
        if (arrivals->actions[i].from == tutti_plan_find_memory(b->plan, TUTTI_ROLE_SEAT, 0))
            arrivals->actions[i].from = tutti_plan_find_memory(b->plan, TUTTI_ROLE_GRADIENTS, 0);
}

MISTAKE(nothing_comes_back)
{
    UNUSED;
    drop(arrivals, at(arrivals, TUTTI_DO_COPY, -1));
}

MISTAKE(a_bucket_twice)
{
    UNUSED;
    const int first = at(arrivals, TUTTI_DO_APPLY, -1);
    if (first >= 0) arrivals->actions[at(arrivals, TUTTI_DO_COPY, -1)] = arrivals->actions[first];
}

MISTAKE(one_is_not_served)
{
    UNUSED;
    while (arrivals->nactions && arrivals->actions[arrivals->nactions - 1].worker == 2) arrivals->nactions--;
}

MISTAKE(a_neighbour_is_served)
{
    UNUSED;
    for (int i = 0; i < arrivals->nactions; i++)
        if (arrivals->actions[i].worker == 2) arrivals->actions[i].worker = 3;
}

MISTAKE(a_visit_from_afar)
{
    UNUSED;
    if (b->rank == 1) tutti_builder_loop(b, TUTTI_EACH_STEP), do_kind(b, TUTTI_DO_ENTER), do_kind(b, TUTTI_DO_LEAVE);
}

MISTAKE(the_worker_goes_on_too_soon)
{
    UNUSED;
    if (b->rank == 1) drop(step, at(step, TUTTI_DO_WAIT, push(b, 1)));
}

MISTAKE(the_worker_does_not_wait)
{
    UNUSED;
    if (b->rank == 1) drop(step, at(step, TUTTI_DO_WAIT, pull(b, 1)));
}

MISTAKE(the_worker_wants_first)
{
    UNUSED; /* what it then brings comes too late */
    if (b->rank == 1) put_before(step, at(step, TUTTI_DO_START, push(b, 1)), at(step, TUTTI_DO_WAIT, pull(b, 1)));
}

MISTAKE(a_visit_too_many)
{
    UNUSED;
    if (b->rank == 0) tutti_builder_part(b, 2), do_kind(b, TUTTI_DO_ENTER), do_kind(b, TUTTI_DO_LEAVE);
}

typedef struct {
    void (*make)(tutti_plan_builder *b, tutti_loop *step, tutti_loop *arrivals);
    const char *words, *or_words;
} wrong_plan;

static const wrong_plan wrongs[] = {
    {pull_before_the_part, "rank 1 (here 1) and what serves it at rank 0", NULL},
    {seat_read_before_it_is_there, "rank 1 (here 1) and what serves it at rank 0", NULL},
    {no_wait_at_all, "rank 1 (here 1) and what serves it at rank 0", NULL},
    {no_leave, "exchanges inside a visit", "a visit is not ended"},
    {no_enter, "touches a memory that others visit, outside a visit", "ends a visit that nobody began"},
    {centre_behind_the_visit, "touches a memory that others visit, outside a visit", NULL},
    {wait_inside, "waits inside a visit", NULL},
    {start_inside, "exchanges inside a visit", NULL},
    {another_ones_pull, "exchanges between ranks that take steps of their own", NULL},
    {another_ones_push, "exchanges between ranks that take steps of their own", "takes no part in the exchange"},
    {another_ones_seat, "as another part does: nothing orders them", NULL},
    {own_gradients_in_a_part, "as rank 0's own step does: nothing orders them", NULL},
    {nothing_comes_back, "and fills it 0 times from the centre", NULL},
    {a_bucket_twice, "moves the centre 2 times by bucket 0 of its seat", NULL},
    {one_is_not_served, "rank 2 is on another host than the centre, and rank 0 does not serve it", NULL},
    {a_neighbour_is_served, "exchanges between ranks that take steps of their own", NULL},
    {a_visit_from_afar, "wants what lies on another host", NULL},
    {the_worker_goes_on_too_soon, "is started again before it was waited for", NULL},
    {the_worker_does_not_wait, "is started again before it was waited for", NULL},
    {the_worker_wants_first, "rank 1 (here 1) and what serves it at rank 0", NULL},
};

static tutti_status check_wrong(const char *method, const wrong_plan *wrong, tutti_failure *err)
{
    static const int32_t hosts[] = {0, 1, 2, 0};
    tutti_status st = TUTTI_OK;
    world w;
    make(&w, method, (tutti_plan_config){.nranks = 4, .host_of = hosts, .nstates = 1});
    right = w.plan->config.method;
    mistake = wrong->make;
    const tutti_emitter emitter = {right->declare, list_wrong};
    tutti_plan_config config = w.plan->config;
    config.method = &emitter;
    for (int r = 0; r < 4 && !st; r++) { /* who builds a plan looks at its own loops alone */
        tutti_plan *plan = NULL;
        config.rank = r;
        st = tutti_plan_build(w.graph, &config, &plan, err);
        if (!st) st = tutti_plan_check(plan, err);
        tutti_plan_destroy(plan);
    }
    destroy(&w);
    return st;
}

static void each_mistake_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        tutti_failure err = {0};
        if (check_wrong("async-sgd", &wrongs[i], &err) != TUTTI_ERR_FAILED) fail_msg("mistake %d passes", (int)i);
        if (!strstr(err.text, wrongs[i].words) && !(wrongs[i].or_words && strstr(err.text, wrongs[i].or_words)))
            fail_msg("mistake %d: not '%s' but '%s'", (int)i, wrongs[i].words, err.text);
    }
}

static void in_rank_order_who_is_served_visits_as_often_as_others(void **state)
{
    (void)state;
    static const wrong_plan wrong = {a_visit_too_many, "rank 2 visits 2 times a step, rank 0 1 times", NULL};
    tutti_failure err = {0};
    assert_int_equal(check_wrong("easgd", &wrong, &err), TUTTI_ERR_FAILED);
    if (!strstr(err.text, wrong.words)) fail_msg("%s", err.text);
    assert_int_equal(check_wrong("async-easgd", &wrong, &err), TUTTI_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_between_hosts_are_proved),
        cmocka_unit_test(a_visit_moves_the_vector_there_and_back),
        cmocka_unit_test(all_ranks_have_one_hash_and_it_is_not_that_of_one_host),
        cmocka_unit_test(the_text_says_what_serves_whom),
        cmocka_unit_test(each_mistake_is_refused),
        cmocka_unit_test(in_rank_order_who_is_served_visits_as_often_as_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
