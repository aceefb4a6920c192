/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_centre.c: plans of methods with a centre are proved at any rank count, period and placement of ranks, and
 * each mistake that one could make is refused in the plan's words. */
#include "testing.h"

#include "method_world.h"

static const char *const elastic[] = {"sync-easgd1", "sync-easgd2", "sync-easgd3"};
enum { NELASTIC = sizeof elastic / sizeof *elastic };

static void elastic_averaging_is_proved_at_any_period_and_rank_count(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 4; nranks++)
        for (int period = 1; period <= 7; period += 3)
            for (int i = 0; i < NELASTIC; i++) {
                world w;
                make(&w, elastic[i],
                     (tutti_plan_config){.nranks = nranks,
                                         .algorithm = period == 4                         ? "auto"
                                                      : strcmp(elastic[i], "sync-easgd1") ? "ring"
                                                                                          : "k-nomial",
                                         .period = period,
                                         .by_need = period == 1,
                                         .only_finite = period == 7,
                                         .norms = period == 4 ? TUTTI_NORM_OF_ALL : TUTTI_NO_NORMS,
                                         .nstates = 2});
                expect_proof(w.plan);
                assert_int_equal(w.plan->answer, tutti_plan_find_memory(w.plan, TUTTI_ROLE_CENTRE, 0));
                destroy(&w);
            }
}

static void elastic_averaging_is_proved_on_any_hosts(void **state)
{
    (void)state;
    static const int32_t hosts[][4] = {{0, 1, 2, 3}, {0, 0, 1, 1}, {0, 0, 0, 1}};
    for (int h = 0; h < 3; h++)
        for (int i = 0; i < NELASTIC; i++) {
            world w;
            make(&w, elastic[i],
                 (tutti_plan_config){.nranks = 4, .host_of = hosts[h], .algorithm = "auto", .period = 1 + h % 2});
            expect_proof(w.plan);
            destroy(&w);
        }
}

static void outer_steps_are_proved_at_any_period_and_rank_count(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 4; nranks++)
        for (int period = 1; period <= 7; period += 3) {
            world w;
            make(&w, "diloco",
                 (tutti_plan_config){.nranks = nranks,
                                     .algorithm = nranks == 4 ? "halving-doubling" : "ring",
                                     .period = period,
                                     .only_finite = period == 4,
                                     .nstates = 2});
            expect_proof(w.plan);
            destroy(&w);
        }
}

typedef struct {
    int64_t messages, elements; /* of all ranks */
} sent;

static sent count_sent(const tutti_schedule *s, int nranks, int64_t n)
{
    sent total = {0};
    for (int r = 0; r < nranks; r++) {
        tutti_part p;
        tutti_schedule_part(s, r, &p);
        for (int i = 0; i < p.nsteps; i++)
            for (int k = 0; p.steps[i].kind == TUTTI_STEP_SEND && k < p.steps[i].nins; k++) {
                const tutti_slice *slice = &p.slices[p.steps[i].first_in + k];
                total.messages += k == 0;
                total.elements += ((int64_t)slice->first + slice->count) * n / slice->of - slice->first * n / slice->of;
            }
        tutti_part_release(&p);
    }
    return total;
}

/* Of all ranks, a period: every vector but one's own to its owners and back, as slices between any two ranks, or whole
 * along a tree's edges. */
static void messages_and_bytes_of_a_period_are_their_formula(void **state)
{
    (void)state;
    static const char *const methods[] = {"sync-easgd1", "sync-easgd2", "sync-easgd3", "diloco"};
    for (int nranks = 1; nranks <= 4; nranks++)
        for (int i = 0; i < 4; i++) {
            world w;
            sent all = {0};
            make(&w, methods[i], (tutti_plan_config){.nranks = nranks, .algorithm = "auto", .nstates = 1});
            for (int x = 0; x < w.plan->nexchanges; x++) {
                const tutti_plan_exchange *e = &w.plan->exchanges[x];
                if (e->bucket < 0) continue;
                const sent one = count_sent(w.plan->schedules[e->schedule].compiled, nranks, e->count);
                all.messages += one.messages;
                all.elements += one.elements;
            }
            const int pairs = i == 0 ? nranks - 1 : nranks * (nranks - 1);
            assert_int_equal(all.elements, 2 * (nranks - 1) * w.plan->total);
            assert_int_equal(all.messages, 2 * pairs * w.plan->nbuckets);
            destroy(&w);
        }
}

/* A period of one step has no others; of more, the workers are pulled in the last one. */
static void only_the_last_step_of_a_period_exchanges(void **state)
{
    (void)state;
    for (int period = 1; period <= 2; period++) {
        world w;
        int nothers = 0, nlast = 0;
        make(&w, "sync-easgd2", (tutti_plan_config){.nranks = 2, .algorithm = "direct", .period = period});
        const tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
        for (int i = 0; i < step->nactions; i++) {
            nothers += step->actions[i].steps == TUTTI_IN_OTHER_STEPS;
            nlast += step->actions[i].steps == TUTTI_IN_LAST_STEP;
        }
        assert_int_equal(nothers, period == 1 ? 0 : w.plan->nbuckets);
        assert_true(period == 1 ? nlast == 0 : nlast > 0);
        destroy(&w);
    }
}

static void make_elastic(world *w, const char *method)
{
    make(w, method, (tutti_plan_config){.nranks = 3, .algorithm = "direct", .nstates = 1});
}

/* Without its average an outer step makes each rank a centre of its own. */
static void list_without_mean(tutti_plan_builder *b)
{
    tutti_method_find("diloco")->emitter->list(b);
    tutti_loop *l = &b->loops[TUTTI_EACH_PERIOD];
    for (int i = l->nactions - 1; i >= 0; i--)
        if (l->actions[i].kind != TUTTI_DO_OUTER) remove_action(l, i);
}

static void an_outer_step_without_its_average_is_refused(void **state)
{
    (void)state;
    world w;
    make(&w, "diloco", (tutti_plan_config){.nranks = 2, .algorithm = "direct", .period = 4});
    const tutti_emitter right = *w.plan->config.method, wrong = {right.declare, list_without_mean};
    w.plan->config.method = &wrong;
    tutti_plan_list_loops(w.plan, 0, &w.plan->arena, w.plan->loops);
    expect_refusal(w.plan, "lacks the contribution of");
    destroy(&w);
}

static void an_outer_step_before_its_average_is_there_is_refused(void **state)
{
    (void)state;
    world w;
    make(&w, "diloco", (tutti_plan_config){.nranks = 2, .algorithm = "direct", .period = 4});
    tutti_loop *period = loop_of(&w, TUTTI_EACH_PERIOD);
    move_action(period, find_wait(period, exchange_of(w.plan, "mean", 1), 0), period->nactions - 1);
    expect_refusal(w.plan, "race on rank 0's weights");
    destroy(&w);
}

static void a_centre_that_is_read_while_it_arrives_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < NELASTIC; i++) {
        world w;
        make_elastic(&w, elastic[i]);
        tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
        const int centre = exchange_of(w.plan, "centre", 0);
        for (int at; (at = find_wait(step, centre, 0)) >= 0;) remove_action(step, at);
        expect_refusal(w.plan, "is started again before it was waited for");
        destroy(&w);
        if (strcmp(elastic[i], "sync-easgd3") != 0) continue;

        make_elastic(&w, elastic[i]);
        step = loop_of(&w, TUTTI_EACH_STEP);
        move_action(step, find_wait(step, exchange_of(w.plan, "centre", 0), 0),
                    find_on_bucket(step, TUTTI_DO_APPLY, 0));
        expect_refusal(w.plan, "race on rank 0's centre");
        destroy(&w);
    }
}

static void a_centre_that_moves_before_its_sums_are_there_is_refused(void **state)
{
    (void)state;
    world w;
    make_elastic(&w, "sync-easgd2");
    tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
    const int wait = find_wait(step, exchange_of(w.plan, "sum", 0), 0);
    move_action(step, find_on_bucket(step, TUTTI_DO_ELASTIC, 0), wait);
    expect_refusal(w.plan, "reads rank 0's sum of the weights");
    destroy(&w);
}

/* Others still read them in order to sum. */
static void weights_that_change_while_they_are_summed_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < NELASTIC; i++) {
        world w;
        make_elastic(&w, elastic[i]);
        tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
        move_action(step, find_on_bucket(step, TUTTI_DO_APPLY, 0), find_wait(step, exchange_of(w.plan, "sum", 0), 0));
        expect_refusal(w.plan, "race on rank 0's weights");
        destroy(&w);
    }
}

static void a_centre_that_only_its_owner_has_is_refused(void **state)
{
    (void)state;
    world w;
    make_elastic(&w, "sync-easgd2");
    tutti_loop *step = loop_of(&w, TUTTI_EACH_STEP);
    const int gather = exchange_of(w.plan, "centre", 0);
    move_action(step, find_action(step, TUTTI_DO_START, gather, NULL), find_on_bucket(step, TUTTI_DO_ELASTIC, 0));
    expect_refusal(w.plan, "race on rank 0's centre");
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elastic_averaging_is_proved_at_any_period_and_rank_count),
        cmocka_unit_test(elastic_averaging_is_proved_on_any_hosts),
        cmocka_unit_test(outer_steps_are_proved_at_any_period_and_rank_count),
        cmocka_unit_test(messages_and_bytes_of_a_period_are_their_formula),
        cmocka_unit_test(only_the_last_step_of_a_period_exchanges),
        cmocka_unit_test(an_outer_step_without_its_average_is_refused),
        cmocka_unit_test(an_outer_step_before_its_average_is_there_is_refused),
        cmocka_unit_test(a_centre_that_is_read_while_it_arrives_is_refused),
        cmocka_unit_test(a_centre_that_moves_before_its_sums_are_there_is_refused),
        cmocka_unit_test(weights_that_change_while_they_are_summed_are_refused),
        cmocka_unit_test(a_centre_that_only_its_owner_has_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
