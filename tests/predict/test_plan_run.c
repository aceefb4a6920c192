/* SPDX-License-Identifier: Apache-2.0 */
/* Hours, nodes, cost and the knee of runs whose steps take round times, so that every figure is exact. */
#include "testing.h"

#include <math.h>

#include "predict/play/plan_run.h"

static tutti_prediction prediction(int nranks, double step_s, double efficiency)
{
    return (tutti_prediction){.nranks = nranks, .step_s = step_s, .efficiency = efficiency};
}

/* 1,000 samples, batches of 10 a rank. */
static const tutti_run_seats seats[] = {{10, 1}, {20, 1}, {40, 2}, {80, 4}},
                             alone[] = {{10, 1}, {20, 2}, {40, 4}, {80, 8}};

static void steps_are_counted_as_training_counts_them(void **state)
{
    (void)state;
    const tutti_prediction p[] = {prediction(1, 2, 1), prediction(2, 2, 1), prediction(4, 4, 0.5),
                                  prediction(8, 4, 0.5)};
    const tutti_run_plan plan = {.epochs = 4.5, .samples = 1000, .price = 3};
    tutti_run_row r[4];
    tutti_run_plan_rows(&plan, p, seats, 4, r);
    assert_int_equal(r[0].steps_per_epoch, 100);
    assert_int_equal(r[3].steps_per_epoch, 12); /* of 80: the last 40 samples are left out */
    assert_int_equal(r[3].steps, 54);
    assert_true(r[0].epoch_s == 200 && r[0].run_s == 900 && r[3].epoch_s == 48 && r[3].run_s == 216);
    assert_int_equal(r[0].nnodes, 1);
    assert_int_equal(r[1].nnodes, 1);
    assert_int_equal(r[3].nnodes, 4);
    assert_true(r[0].node_hours == 0.25 && r[0].cost == 0.75);
    assert_true(r[3].node_hours == 0.24 && fabs(r[3].cost - 0.72) < 1e-15);
    for (int i = 0; i < 4; i++) assert_true(r[i].in_time); /* no deadline */
    const tutti_run_plan with_once = {.epochs = 4.5, .samples = 1000, .price = 3, .once = 100};
    tutti_run_plan_rows(&with_once, p, seats, 4, r);
    assert_true(r[0].cost == 0.75 + 25 && fabs(r[3].cost - (0.72 + 6)) < 1e-12);
    assert_int_equal(tutti_run_plan_choose(r, 4).cheapest, 3); /* not the one with the fewest hours of nodes */
}

static void a_set_smaller_than_a_batch_has_no_epoch(void **state)
{
    (void)state;
    const tutti_prediction p[] = {prediction(1, 2, 1), prediction(2, 2, 1)};
    const tutti_run_plan plan = {.epochs = 3, .samples = 19};
    tutti_run_row r[2];
    tutti_run_plan_rows(&plan, p, seats, 2, r);
    assert_int_equal(r[0].steps, 3);
    assert_int_equal(r[1].steps_per_epoch, 0);
    assert_true(isnan(r[1].epoch_s) && isnan(r[1].run_s) && isnan(r[1].cost) && !r[1].in_time);
    const tutti_run_choice c = tutti_run_plan_choose(r, 2);
    assert_int_equal(c.fastest, 0);
    assert_int_equal(tutti_run_plan_choose(r + 1, 1).fastest, -1);
}

static void the_deadline_chooses_nodes_and_the_price_chooses_among_them(void **state)
{
    (void)state;
    /* one epoch of 100, 50, 25, 12 steps: 3600, 2000, 1500, 1200 s; node hours 1, 1.11, 1.67, 2.67 */
    const tutti_prediction p[] = {prediction(1, 36, 1), prediction(2, 40, 0.9), prediction(4, 60, 0.6),
                                  prediction(8, 100, 0.36)};
    tutti_run_plan plan = {.epochs = 1, .samples = 1000, .deadline_s = 1500, .price = 3};
    tutti_run_row r[4];
    tutti_run_plan_rows(&plan, p, alone, 4, r);
    tutti_run_choice c = tutti_run_plan_choose(r, 4);
    assert_false(r[0].in_time || r[1].in_time);
    assert_true(r[2].in_time && r[3].in_time); /* exactly in time is in time */
    assert_int_equal(c.fewest, 2);
    assert_int_equal(c.cheapest_in_time, 2);
    assert_int_equal(c.cheapest, 0);
    assert_int_equal(c.fastest, 3);
    plan.deadline_s = 1000;
    tutti_run_plan_rows(&plan, p, alone, 4, r);
    c = tutti_run_plan_choose(r, 4);
    assert_int_equal(c.fewest, -1);
    assert_int_equal(c.cheapest_in_time, -1);
    assert_int_equal(c.fastest, 3);
}

/* Four ranks on a node cost what one costs there: more ranks are cheaper. */
static void nodes_are_paid_for_whole(void **state)
{
    (void)state;
    const tutti_prediction p[] = {prediction(1, 36, 1), prediction(4, 36, 1)};
    const tutti_run_seats on_one[] = {{10, 1}, {40, 1}};
    const tutti_run_plan plan = {.epochs = 1, .samples = 1000, .price = 2};
    tutti_run_row r[2];
    tutti_run_plan_rows(&plan, p, on_one, 2, r);
    const tutti_run_choice c = tutti_run_plan_choose(r, 2);
    assert_true(r[0].cost == 2 && r[1].cost == 0.5);
    assert_int_equal(c.cheapest, 1);
    assert_int_equal(c.fewest, 0); /* of equally many nodes the one that stands first */
}

static void the_knee_is_where_all_larger_counts_are_below(void **state)
{
    (void)state;
    const tutti_prediction falls[] = {prediction(1, 1, 1), prediction(2, 1, 0.5), prediction(4, 1, 0.49),
                                      prediction(8, 1, 0.3)};
    const tutti_prediction dips[] = {prediction(8, 1, 0.3), prediction(1, 1, 1), prediction(2, 1, 0.4),
                                     prediction(4, 1, 0.6)};
    assert_int_equal(tutti_predict_knee(falls, 4, 0.5), 4);
    assert_int_equal(tutti_predict_knee(falls, 2, 0.5), 0);
    assert_int_equal(tutti_predict_knee(dips, 4, 0.5), 8);
    assert_int_equal(tutti_predict_knee(falls, 4, 2), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_counted_as_training_counts_them),
        cmocka_unit_test(a_set_smaller_than_a_batch_has_no_epoch),
        cmocka_unit_test(the_deadline_chooses_nodes_and_the_price_chooses_among_them),
        cmocka_unit_test(nodes_are_paid_for_whole),
        cmocka_unit_test(the_knee_is_where_all_larger_counts_are_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
