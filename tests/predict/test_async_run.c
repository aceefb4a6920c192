/* SPDX-License-Identifier: Apache-2.0 */
/* test_async_run.c: the play of workers that visit a centre, where its times are known in closed form. */
#include "testing.h"

#include <math.h>

#include "base/clock.h"
#include "predict/async_run.h"

static tutti_async_run worker(int nworkers, tutti_admission admission)
{
    return (tutti_async_run){
        .nworkers = nworkers, .admission = admission, .period = 1, .before_s = 3, .visit_s = 0.5, .after_s = 1};
}

static void expect_step(tutti_async_run run, double want_s)
{
    const tutti_async_time t = tutti_async_run_play(&run, 64);
    if (fabs(t.step_s - want_s) > 0.02 * want_s) fail_msg("%d workers: %g s, not %g", run.nworkers, t.step_s, want_s);
}

/* As long as it computes longer than all visits take nobody waits in the end; else the centre is always busy. */
static void a_step_takes_the_longer_of_own_work_and_all_visits(void **state)
{
    (void)state;
    static const tutti_admission alone[] = {TUTTI_ADMIT_BY_ARRIVAL, TUTTI_ADMIT_IN_RANK_ORDER};
    for (int a = 0; a < 2; a++) {
        expect_step(worker(1, alone[a]), 4.5);
        expect_step(worker(4, alone[a]), 4.5);
        expect_step(worker(9, alone[a]), 4.5);
        expect_step(worker(30, alone[a]), 15);
    }
    for (int n = 1; n <= 64; n *= 4) expect_step(worker(n, TUTTI_ADMIT_EVERYBODY), 4.5);
}

static void a_visit_in_a_period_counts_once(void **state)
{
    (void)state;
    tutti_async_run run = worker(3, TUTTI_ADMIT_BY_ARRIVAL);
    run.period = 4;
    run.other_s = 3.5;
    expect_step(run, (3 * 3.5 + 4.5) / 4);
}

/* One of four takes ten times as long: in rank order all wait for it; by arrival it does its few shares, and the others theirs. */
static void a_slow_worker_holds_up_those_who_wait_for_it(void **state)
{
    (void)state;
    static const double slowness[] = {1, 1, 10, 1};
    tutti_async_run run = worker(4, TUTTI_ADMIT_IN_RANK_ORDER);
    run.slowness = slowness;
    expect_step(run, 40.5);
    run.admission = TUTTI_ADMIT_BY_ARRIVAL;
    expect_step(run, 4 / (3 / 4.5 + 1 / 40.5));
    run.is_paced = true;
    for (run.staleness = 0; run.staleness < 6; run.staleness++) {
        const tutti_async_time t = tutti_async_run_play(&run, 64);
        assert_true(t.step_s > 39); /* all at the pace of the slowest */
        assert_int_equal(t.most_ahead, run.staleness + 1);
    }
}

/* Paced by nothing, workers step together from the beginning: each of them waits for the last one's visit. */
static void a_staleness_of_nothing_is_step_by_step(void **state)
{
    (void)state;
    tutti_async_run run = worker(4, TUTTI_ADMIT_BY_ARRIVAL);
    run.is_paced = true;
    expect_step(run, 3 + 4 * 0.5 + 1);
}

static void thousands_of_workers_take_moments(void **state)
{
    (void)state;
    static const tutti_admission all[] = {TUTTI_ADMIT_BY_ARRIVAL, TUTTI_ADMIT_IN_RANK_ORDER, TUTTI_ADMIT_EVERYBODY};
    for (int a = 0; a < 3; a++) {
        const double began = tutti_clock_s();
        const tutti_async_time t = tutti_async_run_play(&(tutti_async_run){.nworkers = 4096,
                                                                           .admission = all[a],
                                                                           .is_paced = a == 0,
                                                                           .staleness = 3,
                                                                           .period = 1,
                                                                           .before_s = 1,
                                                                           .visit_s = 1e-5},
                                                        16);
        assert_true(t.step_s > 1);
        print_message("4096 workers, 16 steps: %.3f s\n", tutti_clock_s() - began);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_takes_the_longer_of_own_work_and_all_visits),
        cmocka_unit_test(a_visit_in_a_period_counts_once),
        cmocka_unit_test(a_slow_worker_holds_up_those_who_wait_for_it),
        cmocka_unit_test(a_staleness_of_nothing_is_step_by_step),
        cmocka_unit_test(thousands_of_workers_take_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
