/* SPDX-License-Identifier: Apache-2.0 */
/* test_async_run.c: the play of workers that visit a centre, where its times are known in closed form. */
#include "testing.h"

#include <math.h>

#include "base/clock.h"
#include "predict/play/async_run.h"

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

/* One of four takes ten times as long: in rank order all wait for it; by arrival it does its few shares, and the others
 * theirs. */
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

/* ---- on a network ---- */

/* One byte a second into and out of each seat. */
static tutti_topology star(void)
{
    tutti_topology t;
    assert_int_equal(tutti_topology_parse("star", &t, NULL), TUTTI_OK);
    t.figure[TUTTI_FIGURE_BANDWIDTH] = 1;
    t.figure[TUTTI_FIGURE_LATENCY] = 0.125;
    t.figure[TUTTI_FIGURE_SOFTWARE] = 0.125;
    return t;
}
enum { WAY_BYTES = 5 }; /* there and back */
static const double WAY_S = WAY_BYTES + 2 * (0.125 + 0.125);

static tutti_async_run travelling(int nworkers, tutti_admission admission, const tutti_topology *t)
{
    tutti_async_run run = worker(nworkers, admission);
    run.network = t;
    run.brought_bytes = 2;
    run.taken_bytes = 3;
    return run;
}

/* Two bytes there, three back, and twice what a message costs. */
static void what_is_visited_from_afar_travels(void **state)
{
    (void)state;
    const tutti_topology t = star();
    tutti_async_run run = travelling(2, TUTTI_ADMIT_EVERYBODY, &t);
    expect_step(run, 2 / (1 / 4.5 + 1 / (4.5 + WAY_S))); /* rank 0 is there */
    run.slowness = (double[]){1000, 1};
    const double travels_s =
        tutti_async_run_play(&run, 64).travels_s; /* of shares that are all but one of the other's */
    assert_true(fabs(travels_s - WAY_S) < 0.02 * WAY_S);
}

/* All bring at once at first, through the link into rank 0's seat, and take along through the one out of it. As who
 * began first has a little more they move apart, until a step takes the longer of a worker's own and what all take
 * along: nobody waits for a link that is not busy. */
static void visitors_share_the_links_of_the_centre(void **state)
{
    (void)state;
    const tutti_topology t = star();
    for (int n = 3; n <= 33; n *= 2) {
        double slowness[64];
        for (int w = 0; w < n; w++) slowness[w] = w ? 1 : 1e9; /* rank 0 only serves */
        tutti_async_run run = travelling(n, TUTTI_ADMIT_EVERYBODY, &t);
        run.slowness = slowness;
        const double own_s = 4.5 + WAY_S, taken_s = 3 * (n - 1);
        expect_step(run, (own_s > taken_s ? own_s : taken_s) * n / (n - 1));
    }
}

/* A turn is the way there, the visit and the way back; the next one sets out afterwards. */
static void turns_in_rank_order_do_not_overlap(void **state)
{
    (void)state;
    const tutti_topology t = star();
    expect_step(travelling(9, TUTTI_ADMIT_IN_RANK_ORDER, &t), 9 * 0.5 + 8 * WAY_S);
}

/* Between hosts rank 0 visits for the others: what they bring is there before, and what they take along travels behind
 * it. */
static void turns_between_hosts_are_visits_alone(void **state)
{
    (void)state;
    const bool is[9] = {false, true, true, true, true, true, true, true, true};
    const tutti_async_far far = {.is = is, .before_s = 3, .visit_s = 0.5, .after_s = 1, .other_s = 4};
    const tutti_topology t = star();
    tutti_async_run run = travelling(2, TUTTI_ADMIT_IN_RANK_ORDER, &t);
    run.far = &far;
    expect_step(run, 4.5 + WAY_S); /* one alone: its own way */
    run = travelling(9, TUTTI_ADMIT_IN_RANK_ORDER, &t);
    run.far = &far;
    const double step_s = tutti_async_run_play(&run, 64).step_s;
    assert_true(step_s >= 8 * 3 * 0.999);              /* what all take along goes out of one seat */
    assert_true(step_s < 0.9 * (9 * 0.5 + 8 * WAY_S)); /* and not one after the other */
}

/* The next one is told, a quarter of a second, when three bytes are there, which takes as long behind the last one; two
 * bytes back are out of the way before the next one is visited with. */
static void those_of_other_hosts_bring_in_turn(void **state)
{
    (void)state;
    const bool is[9] = {false, true, true, true, true, true, true, true, true};
    const tutti_async_far far = {.is = is, .before_s = 3, .visit_s = 0.5, .after_s = 1, .other_s = 4};
    const tutti_topology t = star();
    tutti_async_run run = travelling(9, TUTTI_ADMIT_IN_RANK_ORDER, &t);
    run.far = &far;
    run.brought_bytes = 3;
    run.taken_bytes = 2;
    const tutti_async_time time = tutti_async_run_play(&run, 64);
    assert_true(time.step_s == 8 * (3 + 0.25 + 0.25));
    assert_true(fabs(time.travels_s - 8 * (3 + 0.25 + 2 + 0.25) / 9) < 1e-12);
}

/* As before, but who is ready first; rank 0 only serves, so that there are nine shares of eight workers. Side by side
 * three bytes of each would lose to incast what is nobody's here. */
static void those_of_other_hosts_bring_by_turns_as_they_come(void **state)
{
    (void)state;
    static const tutti_admission admissions[] = {TUTTI_ADMIT_BY_ARRIVAL, TUTTI_ADMIT_EVERYBODY};
    const bool is[9] = {false, true, true, true, true, true, true, true, true};
    double slowness[9] = {1e9, 1, 1, 1, 1, 1, 1, 1, 1};
    const tutti_async_far far = {.is = is, .before_s = 3, .visit_s = 0.5, .after_s = 1, .other_s = 4};
    tutti_topology t = star();
    t.figure[TUTTI_FIGURE_INCAST] = 0.1;
    for (int a = 0; a < 2; a++) {
        tutti_async_run run = travelling(9, admissions[a], &t);
        run.far = &far;
        run.slowness = slowness;
        run.brought_bytes = 3;
        run.taken_bytes = 2;
        assert_true(tutti_async_run_play(&run, 64).step_s > 1.02 * 9 * (3 + 0.25 + 0.25));
        run.brings_by_turns = true;
        expect_step(run, 9 * (3 + 0.25 + 0.25));
        slowness[3] = 4; /* nobody waits for who is late */
        expect_step(run, 9 * (3 + 0.25 + 0.25));
        slowness[3] = 1;
    }
}

static void thousands_of_workers_take_moments(void **state)
{
    (void)state;
    static const tutti_admission all[] = {TUTTI_ADMIT_BY_ARRIVAL, TUTTI_ADMIT_IN_RANK_ORDER, TUTTI_ADMIT_EVERYBODY};
    tutti_topology network;
    assert_int_equal(tutti_topology_parse("star,bw=10Gb,lat=5us", &network, NULL), TUTTI_OK);
    for (int a = 0; a < 6; a++) {
        const double began = tutti_clock_s();
        tutti_async_run run = {.nworkers = a < 3 ? 4096 : 1024,
                               .admission = all[a % 3],
                               .is_paced = a % 3 == 0,
                               .staleness = 3,
                               .period = 1,
                               .before_s = 1,
                               .visit_s = 1e-5};
        if (a >= 3) run.network = &network, run.brought_bytes = run.taken_bytes = 1e6;
        const tutti_async_time t = tutti_async_run_play(&run, 16);
        assert_true(t.step_s > 1);
        print_message("4096 workers, 16 steps, %s: step %.3f s, played in %.3f s\n",
                      run.network ? "a network" : "a host", t.step_s, tutti_clock_s() - began);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_takes_the_longer_of_own_work_and_all_visits),
        cmocka_unit_test(a_visit_in_a_period_counts_once),
        cmocka_unit_test(a_slow_worker_holds_up_those_who_wait_for_it),
        cmocka_unit_test(a_staleness_of_nothing_is_step_by_step),
        cmocka_unit_test(what_is_visited_from_afar_travels),
        cmocka_unit_test(visitors_share_the_links_of_the_centre),
        cmocka_unit_test(turns_in_rank_order_do_not_overlap),
        cmocka_unit_test(turns_between_hosts_are_visits_alone),
        cmocka_unit_test(those_of_other_hosts_bring_in_turn),
        cmocka_unit_test(those_of_other_hosts_bring_by_turns_as_they_come),
        cmocka_unit_test(thousands_of_workers_take_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
