/* SPDX-License-Identifier: Apache-2.0 */
/* test_rate.c: learning rates at the steps where their formulas can be worked out by hand. */
#include "testing.h"

#include <math.h>

#include "training/method/method.h"

static void warm_up_rises_in_a_straight_line_and_ends_at_the_rate(void **state)
{
    (void)state;
    const tutti_rate r = {.kind = TUTTI_RATE_CONSTANT, .lr = 1, .warmup_epochs = 2, .warmup_lr = 0.5};
    assert_true(tutti_rate_at(&r, 0, 4, 100) == 0.5);
    assert_true(tutti_rate_at(&r, 4, 4, 100) == 0.75);
    assert_true(tutti_rate_at(&r, 8, 4, 100) == 1);
    assert_true(tutti_rate_at(&r, 99, 4, 100) == 1);
}

static void milestones_multiply_by_gamma_from_their_first_step_on(void **state)
{
    (void)state;
    double at[] = {1, 2.5};
    const tutti_rate r = {.kind = TUTTI_RATE_STEP, .lr = 1, .gamma = 0.5, .milestones = {at, 2}};
    assert_true(tutti_rate_at(&r, 9, 10, 100) == 1);
    assert_true(tutti_rate_at(&r, 10, 10, 100) == 0.5);
    assert_true(tutti_rate_at(&r, 24, 10, 100) == 0.5);
    assert_true(tutti_rate_at(&r, 25, 10, 100) == 0.25);
}

static void poly_and_cosine_fall_from_the_end_of_the_warm_up_to_the_end_of_the_run(void **state)
{
    (void)state;
    tutti_rate r = {.kind = TUTTI_RATE_POLY, .lr = 1, .end_lr = 0.5, .power = 2, .warmup_epochs = 1};
    assert_true(tutti_rate_at(&r, 10, 10, 30) == 1);
    assert_true(tutti_rate_at(&r, 20, 10, 30) == 0.625);
    assert_true(tutti_rate_at(&r, 30, 10, 30) == 0.5);
    r.kind = TUTTI_RATE_COSINE;
    assert_true(tutti_rate_at(&r, 10, 10, 30) == 1);
    assert_true(fabs(tutti_rate_at(&r, 20, 10, 30) - 0.75) < 1e-15);
    assert_true(tutti_rate_at(&r, 30, 10, 30) == 0.5);
}

static void every_method_row_is_found_by_its_name_and_has_its_coordinates(void **state)
{
    (void)state;
    assert_non_null(tutti_method_at(0));
    for (int i = 0; tutti_method_at(i); i++) {
        const tutti_method_row *row = tutti_method_at(i);
        assert_ptr_equal(tutti_method_find(row->name), row);
        const char *const words[] = {row->parallelism, row->optimisation, row->schedule,    row->lock,   row->pattern,
                                     row->travels,     row->local_rule,   row->centre_rule, row->period, row->overlap,
                                     row->source,      row->refuses,      row->help};
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) assert_true(words[w] && words[w][0]);
    }
    assert_null(tutti_method_find("sync"));
    assert_null(tutti_method_at(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_up_rises_in_a_straight_line_and_ends_at_the_rate),
        cmocka_unit_test(milestones_multiply_by_gamma_from_their_first_step_on),
        cmocka_unit_test(poly_and_cosine_fall_from_the_end_of_the_warm_up_to_the_end_of_the_run),
        cmocka_unit_test(every_method_row_is_found_by_its_name_and_has_its_coordinates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
