/* SPDX-License-Identifier: Apache-2.0 */
/* test_compile.c: every row of the table of algorithms, every collective it serves, every rank count up to 33: the
 * checker proves it, far slices are what the peer says, and the counts are the closed forms. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "collective/schedule/part_builder.h"
#include "each_schedule.h"
#include "tutti/check.h"

static void must_check(tutti_schedule *s)
{
    tutti_failure err = {0};
    tutti_check_report report;
    tutti_status st = tutti_schedule_check(s, &report, &err);
    if (st != TUTTI_OK) fail_msg("%s", err.text);
    assert_true(report.determinism >= tutti_schedule_head(s)->determinism);
}

static void the_checker_proves_every_compiled_schedule(void **state)
{
    (void)state;
    each_schedule(must_check);
}

static const tutti_slice *far_of_match(const tutti_part *part, tutti_step_kind kind, const tutti_step *match,
                                       int32_t peer, int32_t ordinal, const tutti_slice **near)
{
    for (int32_t i = 0; i < part->nsteps; i++) {
        const tutti_step *s = &part->steps[i];
        if (s->kind != kind || s->peer != peer || s->channel != match->channel || ordinal--) continue;
        *near = &part->slices[kind == TUTTI_STEP_SEND ? s->first_in : s->first_out];
        return tutti_part_far(part, i);
    }
    return NULL;
}

static void assert_same_slice(const tutti_slice *a, const tutti_slice *b)
{
    assert_non_null(a);
    assert_memory_equal(a, b, sizeof *a);
}

static void far_must_agree(tutti_schedule *s)
{
    int32_t p = tutti_schedule_head(s)->nranks;
    if (p > 9) return;
    tutti_part parts[9];
    for (int32_t r = 0; r < p; r++) tutti_schedule_part(s, r, &parts[r]);
    for (int32_t r = 0; r < p; r++)
        for (int32_t i = 0; i < parts[r].nsteps; i++) {
            const tutti_step *send = &parts[r].steps[i];
            if (send->kind != TUTTI_STEP_SEND) continue;
            int32_t ordinal = 0;
            for (int32_t k = 0; k < i; k++)
                ordinal += parts[r].steps[k].kind == TUTTI_STEP_SEND && parts[r].steps[k].peer == send->peer &&
                           parts[r].steps[k].channel == send->channel;
            const tutti_slice *near = NULL;
            const tutti_slice *far = far_of_match(&parts[send->peer], TUTTI_STEP_RECV, send, r, ordinal, &near);
            assert_same_slice(far, &parts[r].slices[send->first_in]);
            assert_same_slice(tutti_part_far(&parts[r], i), near);
        }
    for (int32_t r = 0; r < p; r++) tutti_part_release(&parts[r]);
}

static void both_ends_of_a_message_know_each_other(void **state)
{
    (void)state;
    each_schedule(far_must_agree);
}

/* What one rank sends: messages, and elements in units of 1/of of the vector. */
static int64_t count_sends(const tutti_schedule *s, int32_t rank, int32_t of, int64_t *units)
{
    tutti_part part;
    int64_t n = 0;
    *units = 0;
    tutti_schedule_part(s, rank, &part);
    for (int32_t i = 0; i < part.nsteps; i++) {
        if (part.steps[i].kind != TUTTI_STEP_SEND) continue;
        const tutti_slice *what = &part.slices[part.steps[i].first_in];
        assert_int_equal((int64_t)what->count * of % what->of, 0);
        *units += (int64_t)what->count * of / what->of;
        n++;
    }
    tutti_part_release(&part);
    return n;
}

static int log2_of(int32_t p)
{
    int lg = 0;
    while (2 << lg <= p) lg++;
    return lg;
}

/* Rounds, and what each rank sends, from the papers; halving-doubling at powers of two, without the way home. */
typedef struct {
    const char *name;
    tutti_collective collective;
    int64_t rounds, messages, units; /* units of 1/p */
} closed_form;

static void must_equal(const closed_form *f, int32_t p)
{
    tutti_compile_request q = {.collective = f->collective, .nranks = p};
    tutti_schedule *s = NULL;
    tutti_check_report report;
    assert_int_equal(tutti_schedule_compile(f->name, &q, &s, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_check(s, &report, NULL), TUTTI_OK);
    if (p > 1) assert_int_equal(report.nstages, f->rounds);
    assert_int_equal(report.nmessages, p * f->messages);
    for (int32_t r = 0; r < p; r++) {
        int64_t units;
        assert_int_equal(count_sends(s, r, p, &units), f->messages);
        assert_int_equal(units, f->units);
    }
    tutti_schedule_destroy(s);
}

static void counts_are_the_closed_forms(void **state)
{
    (void)state;
    for (int32_t p = 1; p <= MOST_RANKS; p++) {
        int lg = log2_of(p);
        const closed_form forms[] = {
            {"direct", TUTTI_ALLREDUCE, 2, 2 * (p - 1), 2 * (p - 1)},
            {"direct", TUTTI_REDUCE_SCATTER, 1, p - 1, p - 1},
            {"direct", TUTTI_ALL_GATHER, 1, p - 1, p - 1},
            {"one-shot", TUTTI_ALLREDUCE, 1, p - 1, (int64_t)p * (p - 1)},
            {"two-shot", TUTTI_ALLREDUCE, 2, 2 * (p - 1), 2 * (p - 1)},
            {"ring", TUTTI_ALLREDUCE, 2 * (p - 1), 2 * (p - 1), 2 * (p - 1)},
            {"ring", TUTTI_REDUCE_SCATTER, p - 1, p - 1, p - 1},
            {"ring", TUTTI_ALL_GATHER, p - 1, p - 1, p - 1},
            {"halving-doubling", TUTTI_ALLREDUCE, 2 * lg, 2 * lg, 2 * (p - 1)},
            {"halving-doubling", TUTTI_ALL_GATHER, lg, lg, p - 1},
        };
        int n = p & (p - 1) ? 8 : 10;
        for (int i = 0; i < n; i++) must_equal(&forms[i], p);
    }
}

static void halving_folds_what_is_above_a_power_of_two(void **state)
{
    (void)state;
    for (int32_t p = 3; p <= MOST_RANKS; p++) {
        int lg = log2_of(p), core = 1 << lg, folded = p - core;
        if (!folded) continue;
        tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = p};
        tutti_schedule *s = NULL;
        tutti_check_report report;
        assert_int_equal(tutti_schedule_compile("halving-doubling", &q, &s, NULL), TUTTI_OK);
        assert_int_equal(tutti_schedule_check(s, &report, NULL), TUTTI_OK);
        assert_int_equal(report.nstages, 2 * lg + 2);
        assert_int_equal(report.nmessages, core * 2 * lg + 2 * folded);
        tutti_schedule_destroy(s);
    }
}

static void parts_of_4096_ranks_come_one_at_a_time(void **state)
{
    (void)state;
    tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 4096};
    tutti_schedule *s = NULL;
    assert_int_equal(tutti_schedule_compile("halving-doubling", &q, &s, NULL), TUTTI_OK);
    for (int32_t r = 0; r < q.nranks; r++) {
        int64_t units;
        assert_int_equal(count_sends(s, r, q.nranks, &units), 24);
        assert_int_equal(units, 2 * 4095);
    }
    tutti_schedule_destroy(s);
}

static void a_rank_that_is_alone_takes_one_step_whatever_the_row(void **state)
{
    (void)state;
    for (int i = 0; i < tutti_algorithm_count(); i++)
        for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
            for (int form = 0; form < 4; form++) {
                const tutti_compile_request q = {
                    .collective = (tutti_collective)c, .nranks = 1, .slots = form & 1 ? 8 : 0, .in_place = form & 2};
                tutti_schedule *s = NULL;
                tutti_check_report report;
                if (tutti_schedule_compile(tutti_algorithm_at(i)->name, &q, &s, NULL) != TUTTI_OK) continue;
                assert_int_equal(tutti_schedule_check(s, &report, NULL), TUTTI_OK);
                assert_int_equal(report.nsteps, 1);
                tutti_schedule_destroy(s);
            }
}

static void refusals_say_what_would_do(void **state)
{
    (void)state;
    tutti_schedule *s = NULL;
    tutti_failure err = {0};
    tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 4};
    assert_int_equal(tutti_schedule_compile("rign", &q, &s, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "'ring'"));
    q.slots = 8;
    assert_int_equal(tutti_schedule_compile("ring", &q, &s, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "canonical"));
    q.nranks = 9;
    assert_int_equal(tutti_schedule_compile("direct", &q, &s, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "at most 8 ranks"));
    q.slots = 0, q.collective = TUTTI_ALL_GATHER;
    assert_int_equal(tutti_schedule_compile("one-shot", &q, &s, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "direct, ring, halving-doubling"));
    q.nranks = 0;
    assert_int_equal(tutti_schedule_compile("direct", &q, &s, &err), TUTTI_ERR_USAGE);
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checker_proves_every_compiled_schedule),
        cmocka_unit_test(both_ends_of_a_message_know_each_other),
        cmocka_unit_test(counts_are_the_closed_forms),
        cmocka_unit_test(halving_folds_what_is_above_a_power_of_two),
        cmocka_unit_test(parts_of_4096_ranks_come_one_at_a_time),
        cmocka_unit_test(a_rank_that_is_alone_takes_one_step_whatever_the_row),
        cmocka_unit_test(refusals_say_what_would_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
