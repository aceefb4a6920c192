/* SPDX-License-Identifier: Apache-2.0 */
/* test_interpret.c: the judge on small schedules that are right, and on each with one mistake. */
#include "testing.h"

#include "collective/compile/algorithms.h"
#include "collective/interpret/interpret.h"
#include "collective/schedule/small.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static void expect_right(made *m)
{
    tutti_part_source source = made_source(m);
    tutti_verdict v;
    for (int n = 0; n < 5; n++) {
        tutti_interpret(&source, n, 1, 40, &v);
        if (v.wrong) fail_msg("%s", v.text);
        assert_int_equal(v.ntries, 40);
    }
    tutti_interpret_all(&source, 1, 200000, &v);
    if (v.wrong) fail_msg("%s", v.text);
    if (!v.complete) fail_msg("%ld states were not enough", (long)v.ntries);
}

/* Both ways of trying find it. */
static void expect_wrong(made *m, const char *why)
{
    tutti_part_source source = made_source(m);
    tutti_verdict v;
    tutti_interpret(&source, 3, 1, 400, &v);
    assert_true(v.wrong);
    if (!strstr(v.text, why)) fail_msg("expected '%s' in: %s", why, v.text);
    tutti_interpret_all(&source, 1, 200000, &v);
    assert_true(v.wrong);
    made_release(m);
}

static void right_schedules_are_right_in_all_interleavings(void **state)
{
    (void)state;
    made m = exchange();
    expect_right(&m);
    made_release(&m);
    for (int p = 2; p < 4; p++) {
        m = one_shot(p, 2);
        expect_right(&m);
        made_release(&m);
    }
}

static void a_deadlock_hangs(void **state)
{
    (void)state;
    made m = exchange();
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 3; i++) m.parts[r].steps[i].sequence = 0;
    expect_wrong(&m, "hang: rank 0 is at step 0 of invocation 0 for ever");
}

static void a_missing_or_double_contribution_is_wrong(void **state)
{
    (void)state;
    made m = exchange();
    m.parts[1].steps[2].kind = TUTTI_STEP_COPY;
    m.parts[1].steps[2].nins = 1;
    expect_wrong(&m, "rank 1, invocation 0: element 0 of 3 is wrong");
    m = exchange();
    m.parts[1].slices[m.parts[1].steps[2].first_in + 1] = whole(1, IN);
    expect_wrong(&m, "is wrong");
}

static void one_bank_is_overrun_by_the_next_invocation(void **state)
{
    (void)state;
    made m = one_shot(2, 1);
    expect_wrong(&m, "is wrong");
    m = one_shot(3, 1);
    expect_wrong(&m, "is wrong");
}

static void a_step_that_does_not_wait_for_the_caller_is_wrong(void **state)
{
    (void)state;
    made m = exchange();
    m.parts[0].steps[0].when = 0;
    expect_wrong(&m, "is wrong");
    m = exchange();
    m.parts[0].steps[2].when = TUTTI_WHEN_READY;
    expect_wrong(&m, "is wrong");
}

static void a_missing_wait_or_signal_is_wrong(void **state)
{
    (void)state;
    made m = one_shot(3, 2);
    m.parts[1].steps[3].kind = TUTTI_STEP_NOP;
    expect_wrong(&m, "is wrong");
    m = one_shot(3, 2);
    m.parts[1].steps[1].kind = TUTTI_STEP_NOP;
    expect_wrong(&m, "hang");
}

static void another_order_of_sums_than_claimed_is_wrong(void **state)
{
    (void)state;
    made m = one_shot(4, 2);
    m.head.slots = 4;
    m.head.determinism = TUTTI_DETERMINISM_CANONICAL;
    tutti_part_source source = made_source(&m);
    tutti_verdict v;
    tutti_interpret(&source, 3, 1, 1, &v);
    assert_true(v.wrong);
    assert_non_null(strstr(v.text, "was summed in another order than claimed"));
    for (int r = 0; r < 4; r++) memcpy(m.parts[r].folds, (uint8_t[]){0, 1, 0, 2}, 4);
    tutti_interpret(&source, 3, 1, 40, &v);
    if (v.wrong) fail_msg("%s", v.text);
    made_release(&m);
}

/* All that can matter, at the granularity of slices: at most some 16,000 states for three ranks. */
static void every_algorithm_is_right_in_all_interleavings_of_two_and_three_ranks(void **state)
{
    (void)state;
    for (int i = 0; i < tutti_algorithm_count(); i++)
        for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
            for (int variant = 0; variant < 8; variant++) {
                const tutti_compile_request q = {.collective = (tutti_collective)c,
                                                 .nranks = variant & 4 ? 3 : 2,
                                                 .in_place = variant & 1,
                                                 .slots = variant & 2 ? 4 : 0};
                tutti_schedule *s = NULL, *mapped = NULL;
                if (tutti_schedule_compile(tutti_algorithm_at(i)->name, &q, &s, NULL) != TUTTI_OK) continue;
                assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_MAPPED, &mapped, NULL), TUTTI_OK);
                const tutti_part_source sources[2] = {tutti_part_source_of(s), tutti_part_source_of(mapped)};
                for (int k = 0; k < 2; k++) {
                    tutti_verdict v;
                    tutti_interpret_all(&sources[k], q.nranks, 200000, &v);
                    if (v.wrong) fail_msg("%s: %s", sources[k].head->algorithm, v.text);
                    if (!v.complete) fail_msg("%s: %ld states", sources[k].head->algorithm, (long)v.ntries);
                }
                tutti_schedule_destroy(mapped);
                tutti_schedule_destroy(s);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_schedules_are_right_in_all_interleavings),
        cmocka_unit_test(every_algorithm_is_right_in_all_interleavings_of_two_and_three_ranks),
        cmocka_unit_test(a_deadlock_hangs),
        cmocka_unit_test(a_missing_or_double_contribution_is_wrong),
        cmocka_unit_test(one_bank_is_overrun_by_the_next_invocation),
        cmocka_unit_test(a_step_that_does_not_wait_for_the_caller_is_wrong),
        cmocka_unit_test(a_missing_wait_or_signal_is_wrong),
        cmocka_unit_test(another_order_of_sums_than_claimed_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
