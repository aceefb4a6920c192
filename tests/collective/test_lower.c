/* SPDX-License-Identifier: Apache-2.0 */
/* test_lower.c: every schedule lowered for every wire class is proved again, and the figures that lowering is for. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "each_schedule.h"
#include "tutti/check.h"
#include "tutti/lower.h"

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

/* Layouts of p ranks on hosts; one of them for each schedule in turn, so that every algorithm meets every layout. */
static void lay_out(int32_t layout, int32_t p, int32_t *host_of)
{
    for (int32_t r = 0; r < p; r++) {
        const int32_t by_layout[] = {r / 2, r % 2, r < p / 2 ? 0 : 1, r == p - 1 ? 1 : 0,
                                     r / 3, r % 3, r == 0 ? 1 : 0,    r / 4};
        host_of[r] = by_layout[layout % 8] % p;
    }
}

static void on_hosts_must_check(tutti_schedule *s)
{
    static const int32_t layouts = 8;
    const int32_t p = tutti_schedule_head(s)->nranks;
    const bool thorough = p <= 9;
    for (int32_t layout = thorough ? 0 : p; layout < (thorough ? layouts : p + 1); layout++) {
        int32_t host_of[MOST_RANKS];
        tutti_schedule *lowered = NULL;
        tutti_failure err = {0};
        tutti_check_report report;
        lay_out(layout, p, host_of);
        assert_int_equal(tutti_schedule_lower_hosts(s, host_of, &lowered, &err), TUTTI_OK);
        if (tutti_schedule_check(lowered, &report, &err)) fail_msg("layout %d: %s", layout % 8, err.text);
        assert_true(report.determinism >= tutti_schedule_head(s)->determinism);
        tutti_schedule_destroy(lowered);
    }
}

static void the_checker_proves_every_schedule_on_hosts_of_many_shapes(void **state)
{
    (void)state;
    each_schedule(on_hosts_must_check);
}

/* What a mixed schedule claims: between hosts puts, on a host none. */
static void only_messages_between_hosts_are_puts(void **state)
{
    (void)state;
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 4};
    const int32_t host_of[] = {0, 0, 1, 1};
    tutti_schedule *s = NULL, *lowered = NULL;
    assert_int_equal(tutti_schedule_compile("direct", &q, &s, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_lower_hosts(s, host_of, &lowered, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_head(lowered)->wire, TUTTI_WIRE_MIXED);
    int puts = 0, loads = 0;
    for (int32_t r = 0; r < 4; r++) {
        tutti_part part;
        tutti_schedule_part(lowered, r, &part);
        for (int32_t i = 0; i < part.nsteps; i++) {
            const tutti_step *step = &part.steps[i];
            if (step->kind == TUTTI_STEP_PUT) {
                assert_true(host_of[step->peer] != host_of[r]);
                puts++;
            }
            for (int32_t k = 0; step->kind == TUTTI_STEP_REDUCE && k < step->nins; k++)
                loads += part.slices[step->first_in + k].rank == (r ^ 1);
        }
        tutti_part_release(&part);
    }
    assert_int_equal(puts, 4 * 2 * 2); /* a slice to each far rank, and the sum back */
    assert_int_equal(loads, 4);        /* the near peer's input is read where it lies */
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(s);
}

static void hosts_decide_the_wire_class(void **state)
{
    (void)state;
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 3};
    const int32_t one[] = {2, 2, 2}, apart[] = {1, 0, 7}, mixed[] = {4, 1, 4}, numbers[] = {0, 1, 0};
    tutti_schedule *s = NULL, *lowered = NULL;
    assert_int_equal(tutti_schedule_compile("ring", &q, &s, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_lower_hosts(s, one, &lowered, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_head(lowered)->wire, TUTTI_WIRE_MAPPED);
    tutti_schedule_destroy(lowered);
    assert_int_equal(tutti_schedule_lower_hosts(s, apart, &lowered, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_head(lowered)->wire, TUTTI_WIRE_ONE_SIDED);
    tutti_schedule_destroy(lowered);
    assert_int_equal(tutti_schedule_lower_hosts(s, mixed, &lowered, NULL), TUTTI_OK); /* as a group numbers them */
    assert_int_equal(tutti_schedule_head(lowered)->wire, TUTTI_WIRE_MIXED);
    assert_memory_equal(tutti_schedule_head(lowered)->host_of, numbers, sizeof numbers);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(s);
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

/* Only scratch is anybody else's: an input is read by its owner alone, an output written by its owner alone. */
static void mapped_two_shot_synchronises_twice_and_touches_only_scratch_of_others(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 17; p++) {
        int32_t nbuffers, nsequences;
        tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = p};
        tutti_check_report r = report_of("two-shot", q, &nbuffers, &nsequences);
        assert_int_equal(r.syncs, 2);
        assert_int_equal(p * r.elements_in, (3 * p - 2) * r.units);
        assert_int_equal(r.elements_out, 2 * r.units);
        assert_int_equal(r.nmessages, 2 * p * (p - 1));
        tutti_schedule *s = NULL, *lowered = NULL;
        assert_int_equal(tutti_schedule_compile("two-shot", &q, &s, NULL), TUTTI_OK);
        assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_MAPPED, &lowered, NULL), TUTTI_OK);
        for (int32_t rank = 0; rank < p; rank++) {
            tutti_part part, other;
            tutti_schedule_part(lowered, rank, &part);
            for (int32_t k = 0; k < part.nslices; k++) {
                const tutti_slice *slice = &part.slices[k];
                if (slice->rank == rank) continue;
                tutti_schedule_part(lowered, slice->rank, &other);
                assert_int_equal(other.buffers[slice->buffer].role, TUTTI_BUFFER_SCRATCH);
                tutti_part_release(&other);
            }
            tutti_part_release(&part);
        }
        tutti_schedule_destroy(lowered), tutti_schedule_destroy(s);
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
        cmocka_unit_test(the_checker_proves_every_schedule_on_hosts_of_many_shapes),
        cmocka_unit_test(only_messages_between_hosts_are_puts),
        cmocka_unit_test(hosts_decide_the_wire_class),
        cmocka_unit_test(schedules_without_stages_keep_their_sequences_and_are_right),
        cmocka_unit_test(mapped_direct_reads_and_writes_once_between_two_synchronisations),
        cmocka_unit_test(mapped_one_shot_synchronises_once),
        cmocka_unit_test(mapped_two_shot_synchronises_twice_and_touches_only_scratch_of_others),
        cmocka_unit_test(mapped_ring_keeps_no_inbox),
        cmocka_unit_test(a_lowered_schedule_is_not_lowered_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
