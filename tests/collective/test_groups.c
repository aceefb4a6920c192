/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithms with groups, rows or blocks: every group size at small rank counts, proved unlowered and lowered; what is
 * refused and which counts the words offer; names that say how a schedule was made. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proved.h"

static void must_do(tutti_collective c, const char *text, int32_t p)
{
    must_hold_on_every_wire(text, &(tutti_compile_request){c, .nranks = p, .in_place = p % 2});
}

static void must_sum(const char *text, int32_t p)
{
    must_do(TUTTI_ALLREDUCE, text, p);
}

static void hierarchies_hold_with_groups_of_any_size(void **state)
{
    (void)state;
    char text[TUTTI_ALGORITHM_TEXT];
    for (int32_t p = 1; p <= 13; p++)
        for (int32_t k = 1; k <= p; k++) {
            snprintf(text, sizeof text, "hierarchical,group=%d", k);
            must_sum(text, p);
        }
}

static void grids_hold_with_every_divisor(void **state)
{
    (void)state;
    char text[TUTTI_ALGORITHM_TEXT];
    for (int32_t p = 1; p <= 24; p++)
        for (int32_t k = 1; k <= p; k++) {
            if (p % k) continue;
            snprintf(text, sizeof text, "split-rail,group=%d", k);
            must_sum(text, p);
            must_do(TUTTI_REDUCE_SCATTER, text, p);
            must_do(TUTTI_ALL_GATHER, text, p);
            snprintf(text, sizeof text, "torus,rows=%d,ways=2", k);
            must_sum(text, p);
            snprintf(text, sizeof text, "torus,rows=%d,columns=%d", k, p / k);
            must_sum(text, p);
        }
}

static void blocks_runs_and_swings_hold_at_large_counts(void **state)
{
    (void)state;
    static const int32_t counts[] = {48, 64, 96, 127, 128, 255, 256, 1000, 1024};
    const int n = getenv("TUTTI_LONG") ? 9 : 5;
    for (int i = 0; i < n; i++) {
        must_sum("binary-blocks", counts[i]);
        must_sum("bruck", counts[i]);
        must_sum("hierarchical", counts[i]);
        if (!(counts[i] & (counts[i] - 1))) must_sum("swing", counts[i]);
    }
}

static void what_cannot_be_grouped_is_refused_with_what_can(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t nranks, slots;
        const char *words;
    } cases[] = {
        {"hierarchical,group=8", 4, 0, "1 to 4"},
        {"hierarchical,group=2", 4, 8, "canonical"},
        {"split-rail,group=4", 10, 0, "8 or 12 ranks"},
        {"split-rail,group=8", 4, 0, "groups of 8; 8 ranks"},
        {"split-rail", 4, 4, "canonical"},
        {"torus,rows=3", 10, 0, "3 rows of 3 are 9 ranks, not 10"},
        {"torus,rows=2,columns=4", 9, 0, "are 8 ranks, not 9"},
        {"torus,columns=20", 9, 0, "are 20 ranks, not 9"},
        {"torus", 9, 16, "canonical"},
        {"swing", 12, 0, "8 or 16 ranks"},
        {"swing", 4, 4, "halving-doubling"},
        {"binary-blocks", 6, 8, "4 or 8 ranks"},
        {"bruck", 4, 4, "canonical"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tutti_compile_request q = {
            .collective = TUTTI_ALLREDUCE, .nranks = cases[i].nranks, .slots = cases[i].slots};
        must_refuse(cases[i].text, &q, cases[i].words);
    }
}

static void names_and_hashes_differ_by_parameter_and_round_trip(void **state)
{
    (void)state;
    static const char *const texts[][2] = {{"hierarchical", "hierarchical,group=2"},
                                           {"hierarchical,group=3", "hierarchical,group=3"},
                                           {"split-rail", "split-rail,group=3"},
                                           {"torus,columns=4", "torus,rows=3,columns=4,ways=1"},
                                           {"torus,ways=2", "torus,rows=3,columns=4,ways=2"}};
    uint64_t hashes[5];
    for (int i = 0; i < 5; i++) {
        const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 12};
        tutti_schedule *s = compiled(texts[i][0], &q), *again = NULL, *made = compiled(texts[i][1], &q);
        assert_string_equal(tutti_schedule_head(s)->algorithm, texts[i][1]);
        hashes[i] = tutti_schedule_hash(s);
        assert_int_equal(hashes[i], tutti_schedule_hash(made));
        for (int k = 0; k < i; k++) assert_int_not_equal(hashes[k], hashes[i]);
        char *text = tutti_schedule_print(s);
        assert_int_equal(tutti_schedule_parse("text", text, strlen(text), &again, NULL), TUTTI_OK);
        assert_string_equal(tutti_schedule_head(again)->algorithm, texts[i][1]);
        assert_int_equal(tutti_schedule_hash(again), hashes[i]);
        free(text);
        tutti_schedule_destroy(made);
        tutti_schedule_destroy(again);
        tutti_schedule_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hierarchies_hold_with_groups_of_any_size),
        cmocka_unit_test(grids_hold_with_every_divisor),
        cmocka_unit_test(blocks_runs_and_swings_hold_at_large_counts),
        cmocka_unit_test(what_cannot_be_grouped_is_refused_with_what_can),
        cmocka_unit_test(names_and_hashes_differ_by_parameter_and_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
