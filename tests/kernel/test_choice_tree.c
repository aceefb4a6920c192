/* SPDX-License-Identifier: Apache-2.0 */
/* test_choice_tree.c: trees that are grown from times find the rule that the times were made by, and bad trees are
 * refused. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "kernel/choose/choice_tree.h"

enum { SAMPLES = 400 };

/* A number in [0, 1) for (sample, feature). */
static double drawn(int i, int f)
{
    return tutti_random_unit(tutti_random(7, TUTTI_STREAM_TEST, (uint64_t)i, (uint64_t)f).word[0]);
}

/* Three ways: the third where feature 2 is above 0.75, else the first two by whether features 0 and 1 are on one side
 * of a half. */
static int rule(const double *x)
{
    return x[2] > 0.75 ? 2 : (x[0] < 0.5) == (x[1] < 0.5) ? 0 : 1;
}

static void make(tutti_tree_sample *samples, int n, int first)
{
    for (int i = 0; i < n; i++) {
        for (int f = 0; f < 4; f++) samples[i].feature[f] = drawn(first + i, f);
        for (int w = 0; w < 3; w++) samples[i].seconds[w] = w == rule(samples[i].feature) ? 1 : 1.5;
    }
}

static void a_grown_tree_finds_the_rule_behind_the_times(void **state)
{
    (void)state;
    static tutti_tree_sample samples[SAMPLES], others[SAMPLES];
    tutti_choice_tree t, again;
    make(samples, SAMPLES, 0);
    make(others, SAMPLES, SAMPLES);
    tutti_choice_tree_grow(samples, SAMPLES, 4, 3, &t);
    assert_int_equal(tutti_choice_tree_check(&t, NULL), TUTTI_OK);
    const tutti_tree_score seen = tutti_choice_tree_score(&t, samples, SAMPLES),
                           unseen = tutti_choice_tree_score(&t, others, SAMPLES);
    assert_true(seen.near >= SAMPLES * 98 / 100);
    assert_true(unseen.near >= SAMPLES * 95 / 100);
    assert_true(unseen.best_s == SAMPLES && unseen.chosen_s < 1.03 * SAMPLES);
    tutti_choice_tree_grow(samples, SAMPLES, 4, 3, &again);
    assert_memory_equal(&t, &again, sizeof t);
}

/* Where one way is always the best there is nothing to ask for, and noise is no reason to. */
static void what_does_not_depend_is_one_leaf(void **state)
{
    (void)state;
    static tutti_tree_sample samples[SAMPLES];
    tutti_choice_tree t;
    make(samples, SAMPLES, 0);
    for (int i = 0; i < SAMPLES; i++)
        samples[i].seconds[0] = 1 + 0.001 * drawn(i, 9), samples[i].seconds[1] = 2, samples[i].seconds[2] = INFINITY;
    tutti_choice_tree_grow(samples, SAMPLES, 4, 3, &t);
    assert_int_equal(t.nnodes, 1);
    assert_int_equal(t.node[0].way, 0);
    tutti_choice_tree_grow(samples, 1, 4, 3, &t);
    assert_int_equal(t.nnodes, 1);
}

/* The dear mistakes count: one sample in ten costs ten times as much by the way that nine of ten have as the best by a
 * hair. */
static void what_a_wrong_choice_costs_decides(void **state)
{
    (void)state;
    static tutti_tree_sample samples[SAMPLES];
    tutti_choice_tree t;
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = (tutti_tree_sample){.feature = {0}, .seconds = {i % 10 ? 1 : 10, i % 10 ? 1.01 : 1}};
    tutti_choice_tree_grow(samples, SAMPLES, 1, 2, &t);
    assert_int_equal(t.nnodes, 1);
    assert_int_equal(t.node[0].way, 1);
}

/* Two ways that are 4 % apart, and a third one that takes now twice, now a hundred times as long: that explains more,
 * and says nothing. */
static void ways_that_are_far_behind_do_not_hide_near_ones(void **state)
{
    (void)state;
    static tutti_tree_sample samples[2 * SAMPLES];
    tutti_choice_tree t;
    make(samples, 2 * SAMPLES, 0);
    for (int i = 0; i < 2 * SAMPLES; i++) {
        const double *x = samples[i].feature;
        samples[i].seconds[0] = x[0] < 0.4 ? 1 : 1.04;
        samples[i].seconds[1] = x[0] < 0.4 ? 1.04 : 1;
        samples[i].seconds[2] = x[1] < 0.5 ? 2 : 100 * (1 + x[2]);
    }
    tutti_choice_tree_grow(samples, SAMPLES, 4, 3, &t);
    assert_true(t.node[0].less > 0 && t.node[0].feature == 0);
    assert_true(tutti_choice_tree_score(&t, samples + SAMPLES, SAMPLES).near >= SAMPLES * 98 / 100);
}

static void a_full_tree_answers_in_less_than_a_microsecond(void **state)
{
    (void)state;
    enum { ASKED = 100000 };
    tutti_choice_tree t = {.nfeatures = 4, .nways = 2, .nnodes = TUTTI_TREE_NODES};
    double x[4] = {0};
    int sum = 0;
    for (int i = 0; i < TUTTI_TREE_NODES; i++)
        t.node[i] = 2 * i + 2 < TUTTI_TREE_NODES ? (tutti_tree_node){i % 4, 0.5, 2 * i + 1, 2 * i + 2, 0}
                                                 : (tutti_tree_node){0, 0, -1, -1, i % 2};
    assert_int_equal(tutti_choice_tree_check(&t, NULL), TUTTI_OK);
    const double begin = tutti_clock_thread_s();
    for (int i = 0; i < ASKED; i++) {
        x[i % 4] = i * 0.37 - (int)(i * 0.37);
        sum += tutti_choice_tree_ask(&t, x);
    }
    assert_true(sum > 0);
    assert_true(tutti_clock_thread_s() - begin < ASKED * 1e-6);
}

static void what_is_no_tree_is_refused(void **state)
{
    (void)state;
    const tutti_choice_tree good = {
        .nfeatures = 2, .nways = 2, .nnodes = 3, .node = {{1, 0.5, 1, 2, 0}, {0, 0, -1, -1, 0}, {0, 0, -1, -1, 1}}};
    tutti_choice_tree bad[9];
    for (int i = 0; i < 9; i++) bad[i] = good;
    bad[0].node[0].less = 0; /* a loop */
    bad[1].node[0].more = 3; /* beyond the end */
    bad[2].node[0].more = 1; /* one end twice */
    bad[3].node[1].way = 2;  /* no such way */
    bad[4].node[0].feature = 2;
    bad[5].node[0].threshold = NAN;
    bad[6].nnodes = 0;
    bad[7].node[0] = (tutti_tree_node){0, 0, -1, -1, 0}; /* nothing leads on */
    bad[8].node[0].less = -1;                            /* half a leaf */
    assert_int_equal(tutti_choice_tree_check(&good, NULL), TUTTI_OK);
    for (int i = 0; i < 9; i++) {
        tutti_failure err = {0};
        assert_int_equal(tutti_choice_tree_check(&bad[i], &err), TUTTI_ERR_DATA);
        assert_true(err.text[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grown_tree_finds_the_rule_behind_the_times),
        cmocka_unit_test(what_does_not_depend_is_one_leaf),
        cmocka_unit_test(what_a_wrong_choice_costs_decides),
        cmocka_unit_test(ways_that_are_far_behind_do_not_hide_near_ones),
        cmocka_unit_test(a_full_tree_answers_in_less_than_a_microsecond),
        cmocka_unit_test(what_is_no_tree_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
