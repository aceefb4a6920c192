/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_choice.c: which way a class of calls goes: a made-up machine says how long each way takes, and may change
 * its mind. */
#include "testing.h"

#include "collective/comm/comm_way.h"

enum { BYTES = 1 << 20, FIRST = TUTTI_WAY_TWO_SHOT, SECOND = TUTTI_WAY_TWO_SHOT_PAST, THIRD = TUTTI_WAY_REACHED };

typedef struct {
    double us[TUTTI_NWAYS]; /* what a call takes */
    int64_t went[TUTTI_NWAYS];
    double sum;
} machine;

static tutti_class made(uint32_t ways)
{
    tutti_class c = {.key = {.octave = 20, .ways = ways}};
    const tutti_way first = (tutti_way)__builtin_ctz(ways);
    tutti_class_begin_burst(&c, first);
    assert_int_equal(tutti_class_next(&c), first); /* the first call goes it without being told */
    return c;
}

static tutti_class three(void)
{
    return made(1u << FIRST | 1u << SECOND | 1u << THIRD);
}

/* As calls do: the way of call k + 1 is said before the time of call k is known. */
static void run_calls(tutti_class *c, machine *m, int64_t n, int *next)
{
    for (int64_t i = 0; i < n; i++) {
        const tutti_way way = (tutti_way)*next;
        c->calls++;
        *next = (int)tutti_class_next(c);
        assert_true(c->key.ways >> *next & 1);
        m->went[way]++;
        m->sum += m->us[way];
        tutti_class_record(c, way, BYTES, 1e-6 * m->us[way]);
    }
}

static void each_way_is_tried_and_the_soonest_is_gone(void **state)
{
    (void)state;
    for (int soonest = 0; soonest < 3; soonest++) {
        const int ways[] = {FIRST, SECOND, THIRD};
        machine m = {0};
        for (int w = 0; w < 3; w++) m.us[ways[w]] = w == soonest ? 100 : 150;
        tutti_class c = three();
        int next = FIRST;
        run_calls(&c, &m, 13, &next);
        for (int w = 0; w < 3; w++) assert_true(m.went[ways[w]] >= 3);
        assert_int_equal(tutti_class_best(&c, TUTTI_NWAYS), ways[soonest]);
        run_calls(&c, &m, 20, &next);
        assert_true(m.went[ways[soonest]] >= 20);
    }
}

static void trying_again_costs_a_small_share_of_the_time(void **state)
{
    (void)state;
    machine m = {.us = {[FIRST] = 100, [SECOND] = 130, [THIRD] = 900}};
    tutti_class c = three();
    int next = FIRST;
    run_calls(&c, &m, 13, &next);
    m.sum = 0;
    run_calls(&c, &m, 20000, &next);
    assert_true(m.sum <= 1.03 * 20000 * 100);
    assert_true(m.went[SECOND] >= 20); /* it is tried again all the same */
    assert_true(m.went[THIRD] >= 3);
}

static void a_way_that_becomes_slow_is_left_and_one_that_becomes_quick_is_found(void **state)
{
    (void)state;
    machine m = {.us = {[FIRST] = 100, [SECOND] = 120, [THIRD] = 120}};
    tutti_class c = three();
    int next = FIRST;
    run_calls(&c, &m, 1000, &next);
    assert_int_equal(tutti_class_best(&c, TUTTI_NWAYS), FIRST);
    m.us[FIRST] = 400;
    run_calls(&c, &m, 200, &next);
    assert_int_not_equal(tutti_class_best(&c, TUTTI_NWAYS), FIRST);
    m.us[THIRD] = 30;
    run_calls(&c, &m, 2000, &next);
    assert_int_equal(tutti_class_best(&c, TUTTI_NWAYS), THIRD);
}

/* A rank that was interrupted once says nothing about the way. */
static void one_late_call_does_not_change_the_way(void **state)
{
    (void)state;
    machine m = {.us = {[FIRST] = 100, [SECOND] = 140, [THIRD] = 140}};
    tutti_class c = three();
    int next = FIRST;
    run_calls(&c, &m, 200, &next);
    tutti_class_record(&c, (tutti_way)FIRST, BYTES, 1);
    assert_int_equal(tutti_class_best(&c, TUTTI_NWAYS), FIRST);
}

/* What makes all of them later, once or from now on, does not change the way either. */
static void a_slower_machine_does_not_change_the_way(void **state)
{
    (void)state;
    machine m = {.us = {[FIRST] = 100, [SECOND] = 90, [THIRD] = 140}};
    tutti_class c = three();
    int next = FIRST;
    run_calls(&c, &m, 40, &next);
    for (int w = 0; w < TUTTI_NWAYS; w++) m.us[w] *= 5;
    for (int i = 0; i < 500; i++) {
        run_calls(&c, &m, 1, &next);
        assert_int_equal(tutti_class_best(&c, TUTTI_NWAYS), SECOND);
    }
}

/* On a core that two ranks share, calls of one way take 10 and 110 in turn, those of the other 50. */
static void what_calls_take_on_average_decides(void **state)
{
    (void)state;
    machine m = {.us = {[SECOND] = 50}};
    tutti_class c = made(1u << FIRST | 1u << SECOND);
    c.takes_turns = true;
    int next = FIRST;
    for (int i = 0; i < 400; i++) {
        m.us[FIRST] = i % 2 ? 10 : 110;
        run_calls(&c, &m, 1, &next);
    }
    assert_int_equal(tutti_class_best(&c, TUTTI_NWAYS), SECOND);
}

/* A stranger has a core for 3 ms now and then, and may meet two of the three calls that try a way. */
static void a_stranger_on_a_core_does_not_choose_the_way(void **state)
{
    (void)state;
    static const int met[][2] = {{1, 2}, {1, 3}, {2, 3}}; /* of a way's first calls */
    const int ways[] = {FIRST, SECOND, THIRD};
    for (int soonest = 0; soonest < 3; soonest++)
        for (int i = 0; i < 3; i++) {
            machine m = {0};
            tutti_class c = three();
            int next = FIRST;
            for (int k = 0; k < 40; k++) {
                const int64_t went = m.went[next];
                m.us[next] = next == ways[soonest] ? 700 : 1000;
                if (next == ways[soonest] && (went == met[i][0] || went == met[i][1])) m.us[next] += 3000;
                run_calls(&c, &m, 1, &next);
            }
            assert_int_equal(tutti_class_best(&c, TUTTI_NWAYS), ways[soonest]);
            assert_true(m.went[ways[soonest]] >= 24);
        }
}

static void a_single_way_is_always_gone(void **state)
{
    (void)state;
    machine m = {.us = {[SECOND] = 10}};
    tutti_class c = made(1u << SECOND);
    int next = SECOND;
    run_calls(&c, &m, 100, &next);
    assert_int_equal(m.went[SECOND], 100);
}

static void octaves_are_powers_of_two(void **state)
{
    (void)state;
    assert_int_equal(tutti_octave_of(0), 0);
    assert_int_equal(tutti_octave_of(1), 0);
    assert_int_equal(tutti_octave_of((1 << 20) - 1), 19);
    assert_int_equal(tutti_octave_of(1 << 20), 20);
    assert_int_equal(tutti_octave_of(INT64_MAX), 62);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_is_tried_and_the_soonest_is_gone),
        cmocka_unit_test(trying_again_costs_a_small_share_of_the_time),
        cmocka_unit_test(a_way_that_becomes_slow_is_left_and_one_that_becomes_quick_is_found),
        cmocka_unit_test(one_late_call_does_not_change_the_way),
        cmocka_unit_test(a_slower_machine_does_not_change_the_way),
        cmocka_unit_test(what_calls_take_on_average_decides),
        cmocka_unit_test(a_stranger_on_a_core_does_not_choose_the_way),
        cmocka_unit_test(a_single_way_is_always_gone),
        cmocka_unit_test(octaves_are_powers_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
