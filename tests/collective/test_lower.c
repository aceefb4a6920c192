/* SPDX-License-Identifier: Apache-2.0 */
/* test_lower.c: every schedule lowered for every wire class is proved again, and the figures that lowering is for. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "each_schedule.h"

static void must_check_lowered(tutti_schedule *s, tutti_wire_class wire)
{
    tutti_schedule *lowered = NULL;
    tutti_failure err = {0};
    tutti_check_report report;
    assert_int_equal(tutti_schedule_lower(s, wire, &lowered, &err), TUTTI_OK);
    tutti_status st = tutti_schedule_check(lowered, &report, &err);
    if (st != TUTTI_OK) fail_msg("%s", err.text);
    assert_true(report.determinism >= tutti_schedule_head(s)->determinism);
    tutti_schedule_destroy(lowered);
}

static void mapped_must_check(tutti_schedule *s)
{
    must_check_lowered(s, TUTTI_WIRE_MAPPED);
}

static void one_sided_must_check(tutti_schedule *s)
{
    must_check_lowered(s, TUTTI_WIRE_ONE_SIDED);
}

static void the_checker_proves_every_mapped_schedule(void **state)
{
    (void)state;
    each_schedule(mapped_must_check);
}

static void the_checker_proves_every_one_sided_schedule(void **state)
{
    (void)state;
    each_schedule(one_sided_must_check);
}

static int32_t mapped_sequences(const tutti_schedule *s)
{
    tutti_schedule *lowered = NULL;
    tutti_part part;
    int32_t n = 0;
    assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_MAPPED, &lowered, NULL), TUTTI_OK);
    tutti_schedule_part(lowered, 0, &part);
    for (int32_t i = 0; i < part.nsteps; i++)
        if (part.steps[i].sequence >= n) n = part.steps[i].sequence + 1;
    tutti_part_release(&part);
    tutti_schedule_destroy(lowered);
    return n;
}

/* The same schedule without stages, which only serve people: its parts no longer fit into one sequence each. */
static void flat_must_check(tutti_schedule *s)
{
    if (tutti_schedule_head(s)->nranks > 9) return;
    char *text = tutti_schedule_print(s);
    for (char *at = text; (at = strstr(at, " stage ")); at += 7) {
        at[7] = '0';
        for (char *digit = at + 8; *digit >= '0' && *digit <= '9'; digit++) *digit = ' ';
    }
    tutti_schedule *flat = NULL;
    tutti_failure err = {0};
    if (tutti_schedule_parse("flat", text, strlen(text), &flat, &err) != TUTTI_OK) fail_msg("%s", err.text);
    if (!strcmp(tutti_schedule_head(s)->algorithm, "ring") && tutti_schedule_head(s)->nranks > 2)
        assert_int_equal(mapped_sequences(flat), 2);
    mapped_must_check(flat);
    one_sided_must_check(flat);
    tutti_schedule_destroy(flat);
    free(text);
}

static void schedules_without_stages_keep_their_sequences_and_are_right(void **state)
{
    (void)state;
    each_schedule(flat_must_check);
}

static tutti_check_report report_of(const char *name, tutti_compile_request q, int32_t *nbuffers, int32_t *nsequences)
{
    tutti_schedule *s = NULL, *lowered = NULL;
    tutti_check_report report = {0};
    tutti_part part;
    assert_int_equal(tutti_schedule_compile(name, &q, &s, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_MAPPED, &lowered, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_check(lowered, &report, NULL), TUTTI_OK);
    tutti_schedule_part(lowered, q.nranks - 1, &part);
    *nbuffers = part.nbuffers, *nsequences = 0;
    for (int32_t i = 0; i < part.nsteps; i++)
        if (part.steps[i].sequence >= *nsequences) *nsequences = part.steps[i].sequence + 1;
    tutti_part_release(&part);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(s);
    return report;
}

static void mapped_direct_reads_and_writes_once_between_two_synchronisations(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 17; p++) {
        int32_t nbuffers, nsequences;
        tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = p};
        tutti_check_report r = report_of("direct", q, &nbuffers, &nsequences);
        assert_int_equal(r.syncs, 2);
        assert_int_equal(r.elements_in, r.units);
        assert_int_equal(r.elements_out, r.units);
        assert_int_equal(r.nmessages, 2 * p * (p - 1));
        assert_int_equal(nbuffers, 2);
        assert_int_equal(nsequences, 1);
    }
}

static void mapped_one_shot_synchronises_once(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 17; p++) {
        int32_t nbuffers, nsequences;
        tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = p};
        tutti_check_report r = report_of("one-shot", q, &nbuffers, &nsequences);
        assert_int_equal(r.syncs, 1);
        assert_int_equal(r.elements_in, (p + 1) * r.units);
        assert_int_equal(r.elements_out, 2 * r.units);
        assert_int_equal(r.nmessages, p * (p - 1));
        assert_int_equal(nbuffers, 3);
        assert_int_equal(nsequences, 1);
    }
}

static void mapped_ring_keeps_no_inbox(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 17; p++) {
        int32_t nbuffers, nsequences;
        tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = p};
        tutti_check_report r = report_of("ring", q, &nbuffers, &nsequences);
        assert_int_equal(r.nstages, 2 * (p - 1));
        assert_int_equal(r.nmessages, p * (2 * (p - 1) + 1)); /* the last one is acknowledged */
        assert_int_equal(nbuffers, 2);
        assert_int_equal(nsequences, 1);
    }
}

static void a_lowered_schedule_is_not_lowered_again(void **state)
{
    (void)state;
    tutti_schedule *s = NULL, *lowered = NULL, *again = NULL;
    tutti_failure err = {0};
    tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 2};
    assert_int_equal(tutti_schedule_compile("direct", &q, &s, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_TWO_SIDED, &lowered, &err), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_MAPPED, &lowered, &err), TUTTI_OK);
    assert_int_equal(tutti_schedule_lower(lowered, TUTTI_WIRE_MAPPED, &again, &err), TUTTI_ERR_USAGE);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checker_proves_every_mapped_schedule),
        cmocka_unit_test(the_checker_proves_every_one_sided_schedule),
        cmocka_unit_test(schedules_without_stages_keep_their_sequences_and_are_right),
        cmocka_unit_test(mapped_direct_reads_and_writes_once_between_two_synchronisations),
        cmocka_unit_test(mapped_one_shot_synchronises_once),
        cmocka_unit_test(mapped_ring_keeps_no_inbox),
        cmocka_unit_test(a_lowered_schedule_is_not_lowered_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
