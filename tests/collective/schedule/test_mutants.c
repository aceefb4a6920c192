/* SPDX-License-Identifier: Apache-2.0 */
/* test_mutants.c: no mutant that the interpreter finds wrong may pass the checker.
 *
 * Every schedule that is not mutated passes both. A mutant that passes the checker is tried by the interpreter in many
 * random interleavings and, for few ranks, in all of them; one that the checker refuses is tried shortly, to count how
 * many refusals are mistakes that an execution shows. Mutants that are refused and never go wrong are no failure: a
 * race need not show on a machine where memory is sequentially consistent. */
#include "testing.h"

#include <stdio.h>

#include "collective/compile/algorithms.h"
#include "collective/interpret/interpret.h"
#include "collective/schedule/mutate.h"
#include "collective/schedule/small.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

typedef struct {
    int made, refused, wrong, passed_and_right;
} score;

enum { ELEMENTS_A_RANK = 2, FEW_STATES = 4000, ALL_STATES = 60000 };

static bool goes_wrong(const tutti_part_source *source, int tries, bool all, char *text)
{
    tutti_verdict v;
    tutti_interpret(source, source->head->nranks * ELEMENTS_A_RANK + 1, 7, tries, &v);
    if (!v.wrong && all)
        tutti_interpret_all(source, source->head->nranks, getenv("TUTTI_LONG") ? ALL_STATES : FEW_STATES, &v);
    snprintf(text, sizeof v.text, "%s", v.text);
    return v.wrong;
}

static void judge_mutant(const made *base, mutation kind, uint64_t seed, score *s)
{
    char where[80], text[300] = "";
    tutti_part_source original = made_source(base);
    made m = made_copy(&original);
    if (mutate(&m, kind, seed, where)) {
        tutti_part_source source = made_source(&m);
        tutti_failure err = {0};
        bool accepted = tutti_check_source(&source, NULL, &err) == TUTTI_OK;
        bool wrong = goes_wrong(&source, accepted ? 150 : 12, accepted && m.head.nranks <= 3, text);
        if (accepted && wrong)
            fail_msg("%s of %d ranks (%s), %s (seed %d): passed the checker, but %s", m.head.algorithm, m.head.nranks,
                     tutti_wire_class_name(m.head.wire), where, (int)seed, text);
        s->made++;
        s->refused += !accepted;
        s->wrong += wrong;
        s->passed_and_right += accepted;
    }
    made_release(&m);
}

static void judge_all(const made *base, int seeds, score *scores)
{
    tutti_part_source source = made_source(base);
    tutti_failure err = {0};
    char text[300] = "";
    if (tutti_check_source(&source, NULL, &err) != TUTTI_OK) fail_msg("refused: %s", err.text);
    if (goes_wrong(&source, 40, base->head.nranks <= 3, text)) fail_msg("%s: %s", base->head.algorithm, text);
    for (int kind = 0; kind < NMUTATIONS; kind++)
        for (int seed = 1; seed <= seeds; seed++) judge_mutant(base, kind, (uint64_t)seed, &scores[kind]);
}

static void print_scores(const score *scores)
{
    printf("%-28s %8s %8s %8s %10s\n", "mutation", "mutants", "refused", "wrong", "harmless");
    for (int kind = 0; kind < NMUTATIONS; kind++) {
        if (!scores[kind].made) continue;
        printf("%-28s %8d %8d %8d %10d\n", mutation_names[kind], scores[kind].made, scores[kind].refused,
               scores[kind].wrong, scores[kind].passed_and_right);
    }
}

static void no_wrong_mutant_of_a_small_schedule_passes(void **state)
{
    (void)state;
    score scores[NMUTATIONS] = {0};
    made m = exchange();
    judge_all(&m, 5, scores);
    made_release(&m);
    for (int p = 2; p < 5; p++) {
        m = one_shot(p, 2);
        judge_all(&m, 5, scores);
        made_release(&m);
    }
    print_scores(scores);
}

/* One schedule as compiled and in all lowered forms; mixed: its last rank alone on a host. */
static void judge_forms(tutti_schedule *s, int seeds, score *scores)
{
    int32_t host_of[8] = {0};
    host_of[tutti_schedule_head(s)->nranks - 1] = 1;
    for (int wire = TUTTI_WIRE_TWO_SIDED; wire < TUTTI_NWIRE_CLASSES; wire++) {
        tutti_schedule *lowered = NULL;
        if (wire == TUTTI_WIRE_MIXED)
            assert_int_equal(tutti_schedule_lower_hosts(s, host_of, &lowered, NULL), TUTTI_OK);
        else if (wire != TUTTI_WIRE_TWO_SIDED)
            assert_int_equal(tutti_schedule_lower(s, (tutti_wire_class)wire, &lowered, NULL), TUTTI_OK);
        tutti_part_source source = tutti_part_source_of(lowered ? lowered : s);
        made m = made_copy(&source);
        judge_all(&m, seeds, scores);
        made_release(&m);
        tutti_schedule_destroy(lowered);
    }
}

static void judge_row(const tutti_algorithm *a, int p, int seeds, bool all, score *scores)
{
    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
        for (int variant = 0; variant < 4; variant++) {
            if (!all && (variant + c) % 2) continue;
            const tutti_compile_request q = {.collective = (tutti_collective)c,
                                             .nranks = p,
                                             .root = tutti_collective_has_root((tutti_collective)c) ? p / 2 : 0,
                                             .slots = variant & 1 ? 8 : 0,
                                             .in_place = variant & 2};
            tutti_schedule *s = NULL;
            if (tutti_schedule_compile(a->name, &q, &s, NULL) != TUTTI_OK) continue;
            judge_forms(s, seeds, scores);
            tutti_schedule_destroy(s);
        }
}

/* A sample at 3 ranks; TUTTI_LONG=1: 2 to 6 ranks, more places. */
static void no_wrong_mutant_of_any_algorithm_passes(void **state)
{
    (void)state;
    score scores[NMUTATIONS] = {0};
    const bool all = getenv("TUTTI_LONG");
    for (int i = 0; i < tutti_algorithm_count(); i++)
        for (int p = all ? 2 : 3; p <= (all ? 6 : 3); p++)
            judge_row(tutti_algorithm_at(i), p, all ? 6 : 1, all, scores);
    print_scores(scores);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wrong_mutant_of_a_small_schedule_passes),
        cmocka_unit_test(no_wrong_mutant_of_any_algorithm_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
