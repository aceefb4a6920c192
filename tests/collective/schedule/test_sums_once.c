/* SPDX-License-Identifier: Apache-2.0 */
/* test_sums_once.c: what rows of the table say of partial sums is what their steps do, at 2 to 9 ranks, and who asks
 * for sums that are made once is told which rows make them. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "collective/compile/algorithms.h"
#include "tutti/compile.h"

/* Whether each reduce of each rank sums the inputs of all of them. */
static bool sums_in_one_step(const tutti_schedule *s)
{
    const int32_t nranks = tutti_schedule_head(s)->nranks;
    bool once = true;
    for (int32_t r = 0; r < nranks; r++) {
        tutti_part part;
        tutti_schedule_part(s, r, &part);
        for (int32_t i = 0; i < part.nsteps; i++)
            once = once && (part.steps[i].kind != TUTTI_STEP_REDUCE || part.steps[i].nins == nranks);
        tutti_part_release(&part);
    }
    return once;
}

static void rows_say_whether_partial_sums_travel(void **state)
{
    (void)state;
    int nonce = 0;
    for (int a = 0; a < tutti_algorithm_count(); a++) {
        const tutti_algorithm *row = tutti_algorithm_at(a);
        for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) {
            if (!(row->collectives >> c & 1) || !tutti_collective_reduces((tutti_collective)c)) continue;
            bool passes_on = false;
            for (int32_t nranks = 2; nranks <= 9; nranks++) {
                const tutti_compile_request q = {.collective = (tutti_collective)c, .nranks = nranks};
                tutti_schedule *s = NULL;
                if (tutti_schedule_compile(row->name, &q, &s, NULL)) continue; /* not at this rank count */
                passes_on = passes_on || !sums_in_one_step(s);
                tutti_schedule_destroy(s);
            }
            if (row->sums_once && passes_on)
                fail_msg("%s: %s passes partial sums on", row->name, tutti_collective_name((tutti_collective)c));
            nonce += row->sums_once;
        }
    }
    assert_int_equal(nonce, 6); /* direct: three; one-shot, two-shot, ps: allreduce */
}

/* In groups of two and four of eight: of so many inputs, or of so many groups' sums. */
static void rows_of_groups_sum_twice(void **state)
{
    (void)state;
    for (int a = 0; a < tutti_algorithm_count(); a++) {
        const tutti_algorithm *row = tutti_algorithm_at(a);
        assert_false(row->sums_once && row->sums_groups);
        for (int32_t k = 2; k <= 4 && row->sums_groups; k += 2) {
            const tutti_compile_request q = {.collective = TUTTI_REDUCE_SCATTER, .nranks = 8, .sums_once = true};
            char name[TUTTI_ALGORITHM_TEXT];
            int32_t nreduces[9] = {0};
            tutti_schedule *s = NULL;
            tutti_part part;
            snprintf(name, sizeof name, "%s,group=%d", row->name, k);
            assert_int_equal(tutti_schedule_compile(name, &q, &s, NULL), TUTTI_OK);
            tutti_schedule_part(s, 3, &part);
            for (int32_t i = 0; i < part.nsteps; i++)
                if (part.steps[i].kind == TUTTI_STEP_REDUCE) nreduces[part.steps[i].nins]++;
            assert_int_equal(nreduces[k], 8 / k);
            assert_int_equal(nreduces[8 / k], 1);
            tutti_part_release(&part);
            tutti_schedule_destroy(s);
        }
    }
}

static void sums_that_are_made_once_are_refused_by_other_rows_with_those_that_make_them(void **state)
{
    (void)state;
    static const struct {
        const char *row, *words;
        tutti_collective collective;
    } cases[] = {
        {"ring", "in one step: direct, two-level", TUTTI_REDUCE_SCATTER},
        {"split-rail,group=2", "split-rail passes partial sums on", TUTTI_REDUCE_SCATTER},
        {"binomial", "in one step: direct, one-shot, two-shot, two-level", TUTTI_ALLREDUCE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_compile_request q = {.collective = cases[i].collective, .nranks = 4, .sums_once = true};
        tutti_failure err = {0};
        tutti_schedule *s = NULL;
        assert_int_equal(tutti_schedule_compile(cases[i].row, &q, &s, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, cases[i].words)) fail_msg("%s", err.text);
        q.collective = TUTTI_BROADCAST; /* sums nothing */
        if (!tutti_schedule_compile("binomial", &q, &s, &err)) tutti_schedule_destroy(s);
        assert_non_null(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_say_whether_partial_sums_travel),
        cmocka_unit_test(rows_of_groups_sum_twice),
        cmocka_unit_test(sums_that_are_made_once_are_refused_by_other_rows_with_those_that_make_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
