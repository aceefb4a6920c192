/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_matrix.c: every algorithm x collective x rank count x wire class, unlowered and lowered: minutes on one core.
 * Without TUTTI_LONG=1 a sample of it. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collective/compile/compile.h"

typedef struct {
    int nschedules;
    double slowest_s;
    char slowest[120];
} tally;

static double now_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static void must_hold(const tutti_schedule *s, tally *t)
{
    const tutti_schedule_header *h = tutti_schedule_head(s);
    tutti_failure err = {0};
    const double start = now_s();
    if (tutti_schedule_check(s, NULL, &err) != TUTTI_OK) fail_msg("%s", err.text);
    const double took = now_s() - start;
    t->nschedules++;
    if (took <= t->slowest_s) return;
    t->slowest_s = took;
    snprintf(t->slowest, sizeof t->slowest, "%s %s of %d ranks, %s", h->algorithm, tutti_collective_name(h->collective),
             h->nranks, tutti_wire_class_name(h->wire));
}

/* Canonical sums are asked for with as many slots as the next power of two. */
static int slots_for(int p)
{
    int slots = 1;
    while (slots < p) slots *= 2;
    return slots;
}

static void all_forms(const tutti_algorithm *a, int p, bool large, tally *t)
{
    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
        for (int variant = 0; variant < (large ? 1 : 4); variant++) {
            const tutti_compile_request q = {.collective = (tutti_collective)c,
                                             .nranks = p,
                                             .root = tutti_collective_has_root((tutti_collective)c) ? p / 2 : 0,
                                             .slots = variant & 1 ? slots_for(p) : 0,
                                             .in_place = variant & 2};
            tutti_schedule *s = NULL, *lowered = NULL;
            if (tutti_schedule_compile(a->name, &q, &s, NULL) != TUTTI_OK) continue;
            must_hold(s, t);
            for (int wire = TUTTI_WIRE_MAPPED; wire <= TUTTI_WIRE_ONE_SIDED; wire++) {
                if (large && wire == TUTTI_WIRE_ONE_SIDED && p > 128) continue;
                assert_int_equal(tutti_schedule_lower(s, (tutti_wire_class)wire, &lowered, NULL), TUTTI_OK);
                must_hold(lowered, t);
                tutti_schedule_destroy(lowered);
            }
            tutti_schedule_destroy(s);
        }
}

static void every_schedule_holds_at_every_rank_count(void **state)
{
    (void)state;
    static const int larger[] = {64, 127, 128, 1000, 1024};
    const bool all = getenv("TUTTI_LONG");
    tally t = {0};
    for (int i = 0; i < tutti_algorithm_count(); i++) {
        for (int p = 1; p <= (all ? 33 : 17); p += all ? 1 : 2) all_forms(tutti_algorithm_at(i), p, false, &t);
        for (int k = 0; k < (all ? 5 : 1); k++) all_forms(tutti_algorithm_at(i), larger[k], true, &t);
    }
    printf("%d schedules in %.1f s of processor time; the slowest took %.2f s: %s\n", t.nschedules, now_s(),
           t.slowest_s, t.slowest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_holds_at_every_rank_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
