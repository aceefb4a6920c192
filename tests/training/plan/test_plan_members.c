/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_members.c: exchanges between some ranks: plans of them are proved at any rank count and on any hosts, are
 * printed and predicted with who they are between, and a wrong member is refused. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../planned.h"
#include "../some_ranks.h"
#include "../toy_net.h"

EMITTER(halves);
EMITTER(folded);

typedef struct {
    toy_net net;
    tutti_graph *graph;
    tutti_plan *plan;
} world;

static tutti_status try_make(world *w, const tutti_emitter *method, tutti_plan_config config, tutti_failure *err)
{
    static const char *const states[] = {"momentum"};
    int64_t samples = 0;
    config.method = method;
    config.batch = 120;
    config.bucket_bytes = 300;
    config.engine = "reference";
    config.nthreads = 1;
    config.states = states;
    config.nstates = 1;
    w->plan = NULL;
    w->graph = NULL;
    toy_make(&w->net);
    tutti_status st = tutti_plan_samples_per_call(&config, &samples, err);
    const tutti_graph_config graph = {.batch = samples, .engine = "reference", .nthreads = 1, .training = true};
    if (!st) st = tutti_graph_build(&w->net.model, &graph, &w->graph, err);
    return st ? st : tutti_plan_build(w->graph, &config, &w->plan, err);
}

static void make(world *w, const tutti_emitter *method, tutti_plan_config config)
{
    tutti_failure err = {0};
    if (try_make(w, method, config, &err)) fail_msg("%s", err.text);
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

static int find_set(const world *w, int stage, int set, int bucket)
{
    char name[64];
    snprintf(name, sizeof name, "stage %d, set %d of bucket %d", stage, set, bucket);
    const int x = find_exchange(w->plan, name);
    assert_true(x >= 0);
    return x;
}

/* ---- what is right ---- */

static void two_halves_at_once_and_pairs_between_them_are_proved(void **state)
{
    (void)state;
    for (int nranks = 2; nranks <= 6; nranks += 2)
        for (int rank = 0; rank < nranks; rank++) {
            world w;
            make(&w, &halves, (tutti_plan_config){.nranks = nranks, .rank = rank});
            expect_proof(w.plan);
            destroy(&w);
        }
}

static void two_of_three_and_four_of_six_are_proved(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 6; nranks++)
        for (int rank = 0; rank < nranks; rank++) {
            world w;
            make(&w, &folded, (tutti_plan_config){.nranks = nranks, .rank = rank});
            expect_proof(w.plan);
            destroy(&w);
        }
}

static void members_on_several_hosts_are_proved(void **state)
{
    (void)state;
    static const int32_t hosts[][6] = {{0, 0, 0, 1, 1, 1}, {0, 1, 0, 1, 0, 1}, {0, 1, 2, 3, 4, 5}, {0, 0, 1, 1, 2, 2}};
    for (int i = 0; i < 4; i++)
        for (int how = 0; how < 2; how++) {
            world w;
            make(&w, how ? &folded : &halves, (tutti_plan_config){.nranks = 6, .host_of = hosts[i], .rank = i});
            expect_proof(w.plan);
            destroy(&w);
        }
}

/* Halves of one host each are lowered for its memory, pairs between the hosts for the wire; sets that sit alike share a
 * schedule. */
static void schedules_are_made_for_the_hosts_of_members(void **state)
{
    (void)state;
    static const int32_t hosts[] = {0, 0, 1, 1};
    world w;
    make(&w, &halves, (tutti_plan_config){.nranks = 4, .host_of = hosts});
    const int inside = find_set(&w, 0, 0, 0), across = find_set(&w, 1, 0, 0);
    assert_int_equal(tutti_schedule_head(lowered_of(w.plan, inside))->wire, TUTTI_WIRE_MAPPED);
    assert_int_equal(tutti_schedule_head(lowered_of(w.plan, across))->wire, TUTTI_WIRE_ONE_SIDED);
    assert_int_equal(w.plan->exchanges[inside].schedule, w.plan->exchanges[find_set(&w, 0, 1, 0)].schedule);
    assert_int_equal(w.plan->exchanges[across].schedule, w.plan->exchanges[find_set(&w, 1, 1, 0)].schedule);
    assert_int_not_equal(w.plan->exchanges[inside].schedule, w.plan->exchanges[across].schedule);
    destroy(&w);
}

static void expect_in(const char *text, const char *words)
{
    if (!text || !strstr(text, words)) fail_msg("'%s' is not in: %s", words, text ? text : "nothing");
}

static void a_plan_says_whom_an_exchange_is_between(void **state)
{
    (void)state;
    uint64_t hashes[3];
    for (int rank = 0; rank < 3; rank++) {
        world w;
        make(&w, &folded, (tutti_plan_config){.nranks = 3, .rank = rank});
        char *text = tutti_plan_print(w.plan), *dot = tutti_plan_dot(w.plan);
        expect_in(text, "between all ranks where nobody is named\n");
        expect_in(text, "reduce of gradients 0 + 64, between ranks 0, 2");
        expect_in(text, "allreduce of gradients 0 + 64, between ranks 0, 1");
        expect_in(text, ", of 2 ranks\n");
        if (rank == 1) expect_in(dot, "allreduce: stage 1, set 0 of bucket 0, ranks 0, 1\"]");
        if (rank == 2) expect_in(dot, "broadcast: stage 2, set 0 of bucket 0, ranks 0, 2\"]");
        hashes[rank] = tutti_plan_hash(w.plan);
        free(text), free(dot);
        destroy(&w);
    }
    assert_true(hashes[0] == hashes[1] && hashes[1] == hashes[2]);
}

static void stages_of_turned(int nranks, some_stages *out)
{
    stages_of_halves(nranks, out);
    for (int set = 0; set < 2; set++) {
        int32_t *m = out->stages[0].members[set], first = m[0];
        m[0] = m[1], m[1] = first;
    }
}
EMITTER(turned);

/* Who is in which place is part of the plan: the hash that ranks compare says so. */
static void another_order_of_members_is_another_plan(void **state)
{
    (void)state;
    world one, other;
    make(&one, &halves, (tutti_plan_config){.nranks = 4});
    make(&other, &turned, (tutti_plan_config){.nranks = 4});
    expect_proof(other.plan);
    assert_true(tutti_plan_hash(one.plan) != tutti_plan_hash(other.plan));
    destroy(&one), destroy(&other);
}

/* ---- what is wrong ---- */

static void a_rank_that_starts_what_it_takes_no_part_in_is_refused(void **state)
{
    (void)state;
    world w;
    make(&w, &halves, (tutti_plan_config){.nranks = 4});
    const int own = find_set(&w, 0, 0, 1), other = find_set(&w, 0, 1, 1);
    step_of(&w)->actions[find_action(step_of(&w), TUTTI_DO_START, own, NULL)].exchange = other;
    expect_refusal(w.plan,
                   "rank 0 takes no part in the exchange of stage 0, set 1 of bucket 1, which is between ranks 2, 3");
    expect_refusal(w.plan, "of each step is 'start stage 0, set 1 of bucket 1: ready, free'");
    destroy(&w);
}

static int32_t *members_of(const world *w, int exchange)
{
    return (int32_t *)(uintptr_t)w->plan->exchanges[exchange].members;
}

static void a_wrong_member_is_refused(void **state)
{
    (void)state;
    world w;
    make(&w, &halves, (tutti_plan_config){.nranks = 4});
    int32_t *members = members_of(&w, find_set(&w, 0, 0, 1));
    members[1] = 2; /* for rank 1 */
    expect_refusal(w.plan,
                   "rank 1 takes no part in the exchange of stage 0, set 0 of bucket 1, which is between ranks 0, 2");
    members[1] = 0;
    expect_refusal(w.plan, "stage 0, set 0 of bucket 1: rank 0 is its member 0 and its member 1");
    members[1] = 4;
    expect_refusal(w.plan, "stage 0, set 0 of bucket 1: its member 1 is rank 4; there are ranks 0 to 3");
    members[1] = 1;
    w.plan->exchanges[find_set(&w, 0, 0, 1)].nmembers = 1;
    expect_refusal(w.plan, "stage 0, set 0 of bucket 1: its schedule is for 2 ranks, and 1 are its members");
    destroy(&w);
}

/* A member that should have been told of it: rank 3 of the first half, which its loop knows nothing of. */
static void a_member_that_does_not_start_its_exchange_is_named(void **state)
{
    (void)state;
    world w;
    make(&w, &folded, (tutti_plan_config){.nranks = 6});
    members_of(&w, find_set(&w, 0, 1, 0))[0] = 2; /* of ranks 1 and 5 */
    expect_refusal(w.plan,
                   "rank 1 takes no part in the exchange of stage 0, set 1 of bucket 0, which is between ranks 2, 5");
    destroy(&w);

    make(&w, &folded, (tutti_plan_config){.nranks = 6});
    remove_action(step_of(&w), find_action(step_of(&w), TUTTI_DO_START, find_set(&w, 1, 0, 1), NULL));
    expect_refusal(w.plan, "the exchange of stage 1, set 0 of bucket 1 2 times, rank 0 0 times");
    destroy(&w);
}

static void stages_of_closed(int nranks, some_stages *out)
{
    stages_of_halves(nranks, out);
    out->stages[1] = out->stages[0];
}
EMITTER(closed);

static void stages_of_narrow(int nranks, some_stages *out)
{
    stages_of_folded(nranks, out);
    out->stages[1].nmembers[0] = 2; /* of four */
}
EMITTER(narrow);

static void sums_of_the_wrong_ranks_are_refused(void **state)
{
    (void)state;
    world w;
    make(&w, &closed, (tutti_plan_config){.nranks = 4}); /* each half again instead of pairs between them */
    expect_refusal(w.plan, "twice");
    destroy(&w);
    make(&w, &narrow, (tutti_plan_config){.nranks = 6});
    expect_refusal(w.plan, "lacks the contribution of");
    destroy(&w);
}

static void a_sum_of_the_other_half_before_its_own_is_whole_races(void **state)
{
    (void)state;
    world w;
    make(&w, &halves, (tutti_plan_config){.nranks = 4});
    tutti_loop *step = step_of(&w);
    const int inside = find_set(&w, 0, 0, 1), across = find_set(&w, 1, 0, 1);
    move_action(step, find_action(step, TUTTI_DO_START, across, NULL), find_action(step, TUTTI_DO_WAIT, inside, NULL));
    expect_refusal(w.plan, "race on rank 0's gradients");
    expect_refusal(w.plan, "stage 1, set 0 of bucket 1");
    destroy(&w);
}

/* A schedule for memory of one host, between ranks of two. */
static void a_schedule_for_other_hosts_is_refused(void **state)
{
    (void)state;
    static const int32_t hosts[] = {0, 0, 1, 1};
    world w;
    make(&w, &halves, (tutti_plan_config){.nranks = 4, .host_of = hosts});
    w.plan->exchanges[find_set(&w, 1, 1, 0)].schedule = w.plan->exchanges[find_set(&w, 0, 0, 0)].schedule;
    expect_refusal(w.plan, "which the wire class mixed does not allow");
    destroy(&w);
}

static void stages_of_lost(int nranks, some_stages *out)
{
    stages_of_halves(nranks, out);
    out->stages[0].members[0][1] = nranks; /* nobody */
}
EMITTER(lost);

static void list_all_sets(tutti_plan_builder *b)
{
    some_list(b, stages_of_halves);
    const tutti_plan *p = tutti_builder_plan(b);
    for (int x = 0; x < p->nexchanges - 1; x++) tutti_builder_wait(b, x);
}

/* Built plans are played without a proof, so that what nobody could play is refused at once. */
static void what_cannot_be_played_is_not_built(void **state)
{
    (void)state;
    static const tutti_emitter nosy = {declare_halves, list_all_sets};
    tutti_failure err = {0};
    world w;
    assert_int_equal(try_make(&w, &lost, (tutti_plan_config){.nranks = 4}, &err), TUTTI_ERR_FAILED);
    expect_in(err.text, "stage 0, set 0 of bucket 0: its member 1 is rank 4; there are ranks 0 to 3");
    tutti_graph_destroy(w.graph);
    assert_int_equal(try_make(&w, &nosy, (tutti_plan_config){.nranks = 4}, &err), TUTTI_ERR_FAILED);
    expect_in(err.text, "rank 0 takes no part in the exchange of stage 0, set 1 of bucket 0");
    tutti_graph_destroy(w.graph);
}

static tutti_status declare_canonical_halves(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request sums = {TUTTI_ALLREDUCE, "direct", true, true};
    static const int32_t two[] = {0, 1};
    int schedule;
    return tutti_builder_schedule_among(b, &sums, two, 2, &schedule, err);
}

static void canonical_sums_over_some_ranks_are_refused(void **state)
{
    (void)state;
    static const tutti_emitter canonical = {declare_canonical_halves, list_halves};
    tutti_failure err = {0};
    world w;
    assert_int_equal(try_make(&w, &canonical, (tutti_plan_config){.nranks = 4, .slots = 8}, &err), TUTTI_ERR_USAGE);
    expect_in(err.text, "canonical sums are over all 4 ranks, not over 2");
    tutti_graph_destroy(w.graph);
}

/* The same method behind a memory and an exchange of somebody else. */
static tutti_status declare_behind(const char *method, tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request sum = {TUTTI_ALLREDUCE, "direct", true, false};
    tutti_plan_exchange x = {.name = "other", .bucket = TUTTI_NO_BUCKET, .count = 16};
    x.in.memory = x.out.memory = tutti_builder_memory(b, &(tutti_plan_memory){.name = "other",
                                                                              .role = TUTTI_ROLE_SEAT,
                                                                              .type = TUTTI_F32,
                                                                              .elements = 16,
                                                                              .copies = 1,
                                                                              .is_region = true});
    const tutti_status st = tutti_builder_schedule(b, &sum, &x.schedule, err);
    if (st) return st;
    tutti_builder_exchange(b, &x);
    return tutti_method_find(method)->emitter->declare(b, err);
}

static tutti_status declare_sync_behind(tutti_plan_builder *b, tutti_failure *err)
{
    return declare_behind("sync-sgd", b, err);
}

static tutti_status declare_local_behind(tutti_plan_builder *b, tutti_failure *err)
{
    return declare_behind("local-sgd", b, err);
}

static tutti_status declare_elastic_behind(tutti_plan_builder *b, tutti_failure *err)
{
    return declare_behind("sync-easgd3", b, err);
}

static tutti_status declare_diloco_behind(tutti_plan_builder *b, tutti_failure *err)
{
    return declare_behind("diloco", b, err);
}

static void a_method_goes_by_the_numbers_that_it_got(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        tutti_status (*declare)(tutti_plan_builder *b, tutti_failure *err);
    } methods[] = {{"sync-sgd", declare_sync_behind},
                   {"local-sgd", declare_local_behind},
                   {"sync-easgd3", declare_elastic_behind},
                   {"diloco", declare_diloco_behind}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const tutti_emitter *right = tutti_method_find(methods[i].name)->emitter,
                            behind = {methods[i].declare, right->list};
        const tutti_plan_config config = {.nranks = 4, .period = 2, .norms = TUTTI_NORM_OF_ALL};
        tutti_failure err = {0};
        world a, b;
        assert_int_equal(try_make(&a, right, config, &err), TUTTI_OK);
        assert_int_equal(try_make(&b, &behind, config, &err), TUTTI_OK);
        for (int d = 0; d < TUTTI_NDRIVERS; d++) {
            const tutti_loop *x = &a.plan->loops[d], *y = &b.plan->loops[d];
            assert_int_equal(x->nactions, y->nactions);
            for (int k = 0; k < x->nactions; k++) {
                const tutti_action *p = &x->actions[k], *q = &y->actions[k];
                assert_int_equal(q->kind, p->kind);
                if (p->exchange >= 0) assert_int_equal(q->exchange, p->exchange + 1);
                if (p->kind != TUTTI_DO_APPLY) continue;
                assert_int_equal(q->from, p->from + 1);
                assert_int_equal(q->to, p->to + 1);
                assert_int_equal(q->verdict, p->verdict + 1);
            }
        }
        destroy(&a);
        destroy(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_halves_at_once_and_pairs_between_them_are_proved),
        cmocka_unit_test(two_of_three_and_four_of_six_are_proved),
        cmocka_unit_test(members_on_several_hosts_are_proved),
        cmocka_unit_test(schedules_are_made_for_the_hosts_of_members),
        cmocka_unit_test(a_plan_says_whom_an_exchange_is_between),
        cmocka_unit_test(another_order_of_members_is_another_plan),
        cmocka_unit_test(a_rank_that_starts_what_it_takes_no_part_in_is_refused),
        cmocka_unit_test(a_wrong_member_is_refused),
        cmocka_unit_test(a_member_that_does_not_start_its_exchange_is_named),
        cmocka_unit_test(sums_of_the_wrong_ranks_are_refused),
        cmocka_unit_test(a_sum_of_the_other_half_before_its_own_is_whole_races),
        cmocka_unit_test(a_schedule_for_other_hosts_is_refused),
        cmocka_unit_test(what_cannot_be_played_is_not_built),
        cmocka_unit_test(canonical_sums_over_some_ranks_are_refused),
        cmocka_unit_test(a_method_goes_by_the_numbers_that_it_got),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
