/* SPDX-License-Identifier: Apache-2.0 */
/* test_check.c: the checker on schedules small enough to be judged by eye, each with one mistake of its own. */
#include "testing.h"

#include "collective/schedule/small.h"
#include "tutti/check.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static void expect_right(made *m, tutti_check_report *report)
{
    tutti_part_source source = made_source(m);
    tutti_failure err = {0};
    if (tutti_check_source(&source, report, &err) != TUTTI_OK) fail_msg("refused: %s", err.text);
}

static void expect_wrong(made *m, const char *why)
{
    tutti_part_source source = made_source(m);
    tutti_failure err = {0};
    assert_int_equal(tutti_check_source(&source, NULL, &err), TUTTI_ERR_FAILED);
    if (!strstr(err.text, why)) fail_msg("expected '%s' in: %s", why, err.text);
}

static void an_exchange_of_two_ranks_is_proved(void **state)
{
    (void)state;
    made m = exchange();
    tutti_check_report report;
    expect_right(&m, &report);
    assert_int_equal(report.nsteps, 6);
    assert_int_equal(report.nmessages, 2);
    assert_int_equal(report.elements_in, 3); /* sent, and two inputs of the sum */
    assert_int_equal(report.elements_out, 2);
    assert_int_equal(report.units, 1);
    assert_int_equal(report.syncs, 1);
    assert_int_equal(report.determinism, TUTTI_DETERMINISM_FIXED);
    made_release(&m);
}

static void two_ranks_that_both_send_first_deadlock(void **state)
{
    (void)state;
    made m = exchange();
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 3; i++) m.parts[r].steps[i].sequence = 0;
    expect_wrong(
        &m, "deadlock: rank 0 step 0 (send in to rank 1, channel 0) in invocation 0 waits for rank 1; rank 1 step 0");
    made_release(&m);
}

/* Rank 0 owes all, rank 1 nothing. */
static bool owed_by_the_first(const void *owner, int32_t rank, int32_t i, tutti_slice *out)
{
    (void)owner;
    *out = (tutti_slice){rank, 0, 0, 1, 1};
    return rank == 0 && i == 0;
}

static void what_nobody_owes_may_be_missing(void **state)
{
    (void)state;
    made m = exchange();
    tutti_part_source source = made_source(&m);
    tutti_failure err = {0};
    source.owed = owed_by_the_first;
    m.parts[1].steps[2].kind = TUTTI_STEP_COPY;
    m.parts[1].steps[2].nins = 1;
    if (tutti_check_source(&source, NULL, &err)) fail_msg("refused: %s", err.text);
    made_release(&m);

    m = exchange();
    m.parts[0].steps[2].kind = TUTTI_STEP_COPY;
    m.parts[0].steps[2].nins = 1;
    assert_int_equal(tutti_check_source(&source, NULL, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "rank 0's out lacks the contribution of rank 1"));
    made_release(&m);
}

/* Inputs may be symbols, which any rank may read; whatever else another rank has is memory still. */
static void only_inputs_are_symbols(void **state)
{
    (void)state;
    made m = exchange();
    tutti_part_source source = made_source(&m);
    tutti_failure err = {0};
    tutti_slice *read = &m.parts[1].slices[m.parts[1].steps[2].first_in + 1];
    read->rank = 0; /* rank 0's inbox */
    assert_int_equal(tutti_check_source(&source, NULL, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "touches memory of rank 0, which the wire class"));
    source.inputs_are_symbols = true;
    assert_int_equal(tutti_check_source(&source, NULL, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "reads memory of rank 0 that is not an input"));
    read->buffer = 0; /* its input: known here, but read while it may be filled again */
    assert_int_equal(tutti_check_source(&source, NULL, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "race on"));
    made_release(&m);
}

static void a_missing_contribution_is_named(void **state)
{
    (void)state;
    made m = exchange();
    m.parts[1].steps[2].kind = TUTTI_STEP_COPY;
    m.parts[1].steps[2].nins = 1;
    expect_wrong(&m, "rank 1's out lacks the contribution of rank 0");
    made_release(&m);
}

static void a_double_contribution_is_named(void **state)
{
    (void)state;
    made m = exchange();
    m.parts[1].slices[m.parts[1].steps[2].first_in + 1] = whole(1, IN);
    expect_wrong(&m, "rank 1's out holds the contribution of rank 1 twice");
    made_release(&m);
}

static void a_sum_that_does_not_wait_for_its_input_races(void **state)
{
    (void)state;
    made m = exchange();
    m.parts[0].steps[2].sequence = 2;
    expect_wrong(&m, "rank 0 step 2 (reduce in + s -> out) reads rank 0's s, which nothing before it has written");
    made_release(&m);
}

static void a_dep_across_sequences_orders_them(void **state)
{
    (void)state;
    made m = exchange();
    m.parts[0].steps[2].sequence = 2;
    *MADE_GROW(m.parts[0].deps, m.parts[0].ndeps) = 1;
    m.parts[0].steps[2].ndeps = 1;
    expect_right(&m, NULL);
    made_release(&m);
}

static void steps_must_wait_for_ready_and_free(void **state)
{
    (void)state;
    made m = exchange();
    m.parts[0].steps[0].when = 0;
    expect_wrong(
        &m, "rank 0 step 0 (send in to rank 1, channel 0) is not ordered after the caller's overwriting of the inputs");
    m.parts[0].steps[0].when = TUTTI_WHEN_READY;
    m.parts[1].steps[2].when = TUTTI_WHEN_READY;
    expect_wrong(&m, "is not ordered after the caller's use of the outputs of rank 1 before it says free");
    made_release(&m);
}

static void a_message_that_nobody_sends_is_named(void **state)
{
    (void)state;
    made m = exchange();
    m.parts[0].steps[0].channel = 1;
    expect_wrong(&m, "deadlock");
    m.parts[0].steps[0].channel = 0;
    m.parts[0].steps[0].kind = TUTTI_STEP_NOP;
    m.parts[0].steps[0].nins = 0;
    expect_wrong(&m, "rank 1 step 1 (recv s from rank 0, channel 0) in invocation 0 waits for rank 0");
    made_release(&m);
}

static void slices_outside_of_their_window_are_refused(void **state)
{
    (void)state;
    made m = exchange();
    m.parts[0].buffers[SCRATCH].window = part_of(0, SCRATCH, 0, 2);
    expect_wrong(&m, "rank 0: step 1: slice 0+1/1 lies outside of the window 0+1/2 of s of rank 0");
    m.parts[0].slices[1] = (tutti_slice){0, SCRATCH, 1, 1, 1};
    expect_wrong(&m, "rank 0: step 1: output 1+1/1 is not a part of the vector");
    made_release(&m);
}

static void two_banks_protect_a_one_shot_and_one_does_not(void **state)
{
    (void)state;
    for (int p = 2; p < 6; p++) {
        made m = one_shot(p, 2);
        tutti_check_report report;
        expect_right(&m, &report);
        assert_int_equal(report.syncs, 1);
        made_release(&m);
        m = one_shot(p, 1);
        expect_wrong(&m, "race on rank 0's s");
        made_release(&m);
    }
}

static void a_dropped_signal_or_wait_is_found(void **state)
{
    (void)state;
    made m = one_shot(3, 2);
    m.parts[0].steps[1].kind = TUTTI_STEP_NOP;
    expect_wrong(&m, "deadlock");
    m.parts[0].steps[1].kind = TUTTI_STEP_SIGNAL;
    m.parts[1].steps[3].kind = TUTTI_STEP_NOP;
    expect_wrong(&m, "reads rank 1's s (bank 0), which nothing before it has written");
    made_release(&m);
}

static void a_balanced_sum_is_canonical_and_a_chain_is_not(void **state)
{
    (void)state;
    made m = one_shot(4, 2);
    m.head.slots = 4;
    m.head.determinism = TUTTI_DETERMINISM_CANONICAL;
    expect_wrong(&m, "claims canonical sums, but the strongest class that holds is fixed");
    for (int r = 0; r < 4; r++) memcpy(m.parts[r].folds, (uint8_t[]){0, 1, 0, 2}, 4);
    tutti_check_report report;
    expect_right(&m, &report);
    assert_int_equal(report.determinism, TUTTI_DETERMINISM_CANONICAL);
    memcpy(m.parts[2].folds, (uint8_t[]){0, 1, 1, 1}, 4);
    m.head.determinism = TUTTI_DETERMINISM_PER_SLICE;
    expect_right(&m, &report);
    assert_int_equal(report.determinism, TUTTI_DETERMINISM_PER_SLICE);
    made_release(&m);
}

static void folds_must_leave_one_value(void **state)
{
    (void)state;
    made m = one_shot(3, 2);
    m.parts[1].folds[2] = 0;
    expect_wrong(&m, "rank 1: step 5: the sum leaves 2 values instead of one");
    m.parts[1].folds[2] = 2;
    expect_wrong(&m, "folds more values than there are after input 2");
    made_release(&m);
}

static made compiled(tutti_collective what, int p, tutti_wire_class wire)
{
    const tutti_compile_request q = {.collective = what, .nranks = p, .in_place = true};
    tutti_schedule *s = NULL, *lowered = NULL;
    assert_int_equal(tutti_schedule_compile("direct", &q, &s, NULL), TUTTI_OK);
    if (wire != TUTTI_WIRE_TWO_SIDED) assert_int_equal(tutti_schedule_lower(s, wire, &lowered, NULL), TUTTI_OK);
    tutti_part_source source = tutti_part_source_of(lowered ? lowered : s);
    made m = made_copy(&source);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(s);
    return m;
}

/* Found by the interpreter: a mutant whose root moves nothing of its own and did not wait for it either. */
static void a_rank_that_completes_before_its_own_input_is_there_is_refused(void **state)
{
    (void)state;
    made m = compiled(TUTTI_GATHER, 2, TUTTI_WIRE_TWO_SIDED);
    for (int i = 0; i < m.parts[0].nsteps; i++) m.parts[0].steps[i].when &= ~(unsigned)TUTTI_WHEN_READY;
    expect_wrong(&m, "rank 0, end of invocation 0: rank 0's in chunk 0 of 2 may not be there yet");
    made_release(&m);
}

/* Found by the interpreter: without this copy no slice of the schedule ends at the end of the vector. */
static void an_output_that_no_step_names_is_missed(void **state)
{
    (void)state;
    made m = compiled(TUTTI_ALL_GATHER, 4, TUTTI_WIRE_MAPPED);
    for (int i = 0; i < m.parts[3].nsteps; i++)
        if (m.parts[3].steps[i].kind == TUTTI_STEP_COPY) m.parts[3].steps[i].kind = TUTTI_STEP_NOP;
    for (int i = 0; i < m.parts[3].nsteps; i++)
        if (m.parts[3].steps[i].kind == TUTTI_STEP_NOP) m.parts[3].steps[i].nins = m.parts[3].steps[i].nouts = 0;
    expect_wrong(&m, "chunk 3 of 4 was never written");
    made_release(&m);
}

/* In place, only a rank that owes a result may find it in its input. */
static void a_reduce_in_place_leaves_the_inputs_of_other_ranks_alone(void **state)
{
    (void)state;
    made m = made_create(TUTTI_REDUCE, 2, TUTTI_WIRE_MAPPED);
    m.head.in_place = true;
    for (int r = 0; r < 2; r++) made_buffer(&m, r, "in", TUTTI_BUFFER_IN);
    made_step(&m, 1, TUTTI_STEP_SIGNAL, 0);
    made_peer(&m, 1, 0, 0);
    made_when(&m, 1, TUTTI_WHEN_READY);
    made_step(&m, 0, TUTTI_STEP_WAIT, 0);
    made_peer(&m, 0, 1, 0);
    made_step(&m, 0, TUTTI_STEP_REDUCE, 0);
    made_in(&m, 0, whole(0, IN), 0);
    made_in(&m, 0, whole(1, IN), 1);
    made_out(&m, 0, whole(0, IN));
    made_when(&m, 0, TUTTI_WHEN_READY);
    made_step(&m, 0, TUTTI_STEP_SIGNAL, 0);
    made_peer(&m, 0, 1, 0);
    made_step(&m, 1, TUTTI_STEP_WAIT, 0);
    made_peer(&m, 1, 0, 0);
    expect_right(&m, NULL);
    m.head.root = 1;
    expect_wrong(&m, "writes to an input of rank 0");
    made_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_of_two_ranks_is_proved),
        cmocka_unit_test(two_ranks_that_both_send_first_deadlock),
        cmocka_unit_test(what_nobody_owes_may_be_missing),
        cmocka_unit_test(only_inputs_are_symbols),
        cmocka_unit_test(a_missing_contribution_is_named),
        cmocka_unit_test(a_double_contribution_is_named),
        cmocka_unit_test(a_sum_that_does_not_wait_for_its_input_races),
        cmocka_unit_test(a_dep_across_sequences_orders_them),
        cmocka_unit_test(steps_must_wait_for_ready_and_free),
        cmocka_unit_test(a_message_that_nobody_sends_is_named),
        cmocka_unit_test(slices_outside_of_their_window_are_refused),
        cmocka_unit_test(two_banks_protect_a_one_shot_and_one_does_not),
        cmocka_unit_test(a_dropped_signal_or_wait_is_found),
        cmocka_unit_test(a_balanced_sum_is_canonical_and_a_chain_is_not),
        cmocka_unit_test(folds_must_leave_one_value),
        cmocka_unit_test(a_rank_that_completes_before_its_own_input_is_there_is_refused),
        cmocka_unit_test(an_output_that_no_step_names_is_missed),
        cmocka_unit_test(a_reduce_in_place_leaves_the_inputs_of_other_ranks_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
