/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_scaling.c: a made-up training on more ranks: every figure by hand. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/parsed.h"
#include "predict/svm_scaling.h"
#include "svm/solve/svm_offer.h"

/* Two subproblems of two rounds each; the second one makes gradients anew once. Times are eighths. */
static const tutti_svm_event events[] = {
    {.round = 0, .samples = 100, .block = 64, .seconds = 0.125},
    {.round = 1, .samples = 100, .block = 64, .row_bytes = 6000, .seconds = 8},
    {.round = 2,
     .samples = 100,
     .block = 64,
     .row_bytes = 8000,
     .iterations = 30,
     .seconds = 16,
     .spent_s = {1, 0, 2, 8, 4, 0.5},
     .over = true},
    {.pair = 1, .round = 0, .samples = 80, .block = 64, .seconds = 16.5},
    {.pair = 1, .round = 1, .samples = 80, .block = 64, .row_bytes = 3000, .seconds = 20},
    {.pair = 1, .round = 1, .samples = 80, .block = 64, .row_bytes = 4000, .seconds = 21},
    {.pair = 1, .round = 2, .samples = 80, .block = 64, .row_bytes = 4000, .seconds = 22},
    {.pair = 1,
     .round = 2,
     .samples = 80,
     .block = 64,
     .row_bytes = 4000,
     .iterations = 12,
     .seconds = 32,
     .spent_s = {1, 0.25, 1, 6, 2, 0},
     .over = true},
};
static const tutti_svm_trace trace = {
    .nranks = 1, .nthreads = 1, .events = (tutti_svm_event *)events, .n = sizeof events / sizeof *events};

static tutti_svm_load load_made_up(void)
{
    tutti_svm_load l;
    tutti_svm_load_of(&trace, &l);
    return l;
}

static void a_load_is_the_sum_of_its_subproblems(void **state)
{
    (void)state;
    const tutti_svm_load l = load_made_up();
    assert_true(l.problems == 2 && l.samples == 100 && l.pairs == 42 && l.events == 8 && l.rounds == 4);
    assert_true(l.row_bytes == 12000 && l.gathers == 4); /* the last round's set had nobody new */
    assert_true(l.spent_s[TUTTI_SVM_UPDATING] == 14 && l.spent_s[TUTTI_SVM_ALIKE] == 3);
    assert_true(l.seconds == 32 && l.spent_s[TUTTI_SVM_OTHER] == 0.5 + 6.25); /* 25.75 s in rounds */
    assert_true(tutti_svm_scaling_least_s(&l) == 10);
}

static tutti_svm_scaling scale(const tutti_svm_load *l, const char *topology, int nranks)
{
    const tutti_topology t = parse_topology(topology);
    tutti_failure err = {0};
    tutti_svm_scaling s;
    if (tutti_svm_scale(l, &t, nranks, &s, &err)) fail_msg("%s", err.text);
    return s;
}

/* 2 s a message and 1,000 bytes/s: two ranks send each other what they have, at once. */
static void two_ranks_halve_what_divides_and_pay_for_three_exchanges_a_round(void **state)
{
    (void)state;
    const tutti_svm_load l = load_made_up();
    const tutti_svm_scaling s = scale(&l, "star,bw=1kB,lat=2s,soft=0s,add=100TB", 2);
    const int64_t offers = 2 * (1 + 2 * (int64_t)tutti_svm_offer_of(64, 2)) * 32; /* a head and two sides a rank */
    assert_int_equal(s.offers_bytes, offers);
    assert_int_equal(s.gather_bytes, 3000);
    assert_true(fabs(s.extremes_s - (2 + 0.048)) < 1e-9);
    const double offers_s = 2 + (double)offers / 2 / 1000;
    assert_true(fabs(s.offers_s - offers_s) < 1e-9);
    assert_true(fabs(s.rows_s - (2 + 1.5)) < 1e-9);
    assert_true(s.spent_s[TUTTI_SVM_CHOOSING] == 1 && s.spent_s[TUTTI_SVM_UPDATING] == 7);
    assert_true(s.spent_s[TUTTI_SVM_ELIMINATING] == 3 && s.spent_s[TUTTI_SVM_ALIKE] == 3);
    assert_true(s.spent_s[TUTTI_SVM_OTHER] == 6.75);
    const double moving = 8 * 2.048 + 4 * offers_s + 4 * 3.5;
    assert_true(fabs(s.spent_s[TUTTI_SVM_MOVING] - 0.25 - moving) < 1e-6);
    assert_true(fabs(s.seconds - (21 + moving)) < 1e-6);
    assert_true(s.speedup == 32 / s.seconds && s.efficiency == s.speedup / 2);
}

static void one_rank_takes_what_it_took(void **state)
{
    (void)state;
    const tutti_svm_load l = load_made_up();
    const tutti_svm_scaling s = scale(&l, "star,bw=1kB,lat=2s", 1);
    assert_true(s.seconds == 32 && s.speedup == 1 && s.efficiency == 1 && s.extremes_s == 0);
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) assert_true(s.spent_s[w] == l.spent_s[w]);
}

static void nothing_beats_what_does_not_divide(void **state)
{
    (void)state;
    const tutti_svm_load l = load_made_up();
    double before = 33;
    for (int p = 1; p <= 64; p *= 2) {
        const tutti_svm_scaling s = scale(&l, "star,bw=100TB,lat=1ns,soft=0s,add=100TB", p);
        assert_true(s.seconds > 10 && fabs(s.seconds - (10 + 22.0 / p)) < 1e-4 && s.seconds < before);
        before = s.seconds;
    }
}

static void ranks_beyond_the_cores_of_a_host_take_turns(void **state)
{
    (void)state;
    tutti_svm_load l = load_made_up();
    tutti_svm_scaling s = scale(&l, "host,cores=4", 8);
    assert_true(s.spent_s[TUTTI_SVM_UPDATING] == 14.0 / 4 && s.spent_s[TUTTI_SVM_ALIKE] == 3 * 2);
    l.nthreads = 4;
    s = scale(&l, "host,cores=4", 4); /* threads share the cores already, what one thread does need not wait */
    assert_true(s.spent_s[TUTTI_SVM_UPDATING] == 14 && s.spent_s[TUTTI_SVM_ALIKE] == 3);
}

static void what_cannot_be_scaled_is_refused(void **state)
{
    (void)state;
    tutti_svm_load l = load_made_up();
    tutti_svm_scaling s;
    tutti_failure err = {0};
    tutti_topology t = parse_topology("dgx1v,gpus=0.1");
    assert_int_equal(tutti_svm_scale(&l, &t, 4, &s, &err), TUTTI_ERR_USAGE);
    l.nranks = 2;
    t = parse_topology("star");
    assert_int_equal(tutti_svm_scale(&l, &t, 4, &s, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "of 2 ranks"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_is_the_sum_of_its_subproblems),
        cmocka_unit_test(two_ranks_halve_what_divides_and_pay_for_three_exchanges_a_round),
        cmocka_unit_test(one_rank_takes_what_it_took),
        cmocka_unit_test(nothing_beats_what_does_not_divide),
        cmocka_unit_test(ranks_beyond_the_cores_of_a_host_take_turns),
        cmocka_unit_test(what_cannot_be_scaled_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
