/* SPDX-License-Identifier: Apache-2.0 */
/* Choices among made-up predictions. */
#include "testing.h"

#include "predict/advice.h"

static tutti_prediction prediction(int nranks, double samples_per_s, double efficiency)
{
    return (tutti_prediction){.nranks = nranks, .samples_per_s = samples_per_s, .efficiency = efficiency};
}

static void a_count_is_useful_as_long_as_it_is_faster_and_half_of_it_works(void **state)
{
    (void)state;
    const tutti_prediction grows[] = {prediction(1, 10, 1), prediction(2, 18, 0.9), prediction(4, 28, 0.7),
                                      prediction(8, 36, 0.45)};
    const tutti_prediction falls[] = {prediction(4, 18, 0.6), prediction(1, 10, 1), prediction(2, 19, 0.95)};
    const tutti_prediction bad[] = {prediction(2, 3, 0.15)};
    assert_int_equal(tutti_advice_useful(grows, 4), 4);
    assert_int_equal(tutti_advice_useful(falls, 3), 2); /* four are slower than two */
    assert_int_equal(tutti_advice_useful(bad, 1), 0);
}

static void the_best_is_the_fastest_that_can_and_of_equals_the_first(void **state)
{
    (void)state;
    const tutti_alternative list[] = {{.value = "a", .can = true, .samples_per_s = 9.995},
                                      {.value = "b", .can = true, .samples_per_s = 10},
                                      {.value = "c", .can = false, .samples_per_s = 99},
                                      {.value = "d", .can = true, .samples_per_s = 9.9}};
    assert_int_equal(tutti_advice_best(list, 4), 0);
    assert_int_equal(tutti_advice_best(list + 1, 3), 0);
    assert_int_equal(tutti_advice_best(list + 2, 1), -1);
}

typedef struct {
    int64_t from;
    int asked;
} threshold;

static tutti_status holds_from(void *arg, int64_t x, bool *holds, tutti_failure *err)
{
    threshold *t = arg;
    if (x == 77) return tutti_fail(err, TUTTI_ERR_USAGE, "77");
    *holds = x >= t->from;
    t->asked++;
    return TUTTI_OK;
}

static void the_least_that_holds_is_found_exactly(void **state)
{
    (void)state;
    tutti_failure err = {0};
    for (int64_t from = -1; from <= 12; from++) {
        threshold t = {from, 0};
        int64_t found;
        assert_int_equal(tutti_advice_least(holds_from, &t, 1, 10, &found, &err), TUTTI_OK);
        assert_int_equal(found, from < 1 ? 1 : from > 10 ? 11 : from);
        assert_in_range(t.asked, 1, 5);
    }
    threshold t = {100, 0};
    int64_t found;
    assert_int_equal(tutti_advice_least(holds_from, &t, 54, 100, &found, &err), TUTTI_ERR_USAGE); /* asks for 77 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_is_useful_as_long_as_it_is_faster_and_half_of_it_works),
        cmocka_unit_test(the_best_is_the_fastest_that_can_and_of_equals_the_first),
        cmocka_unit_test(the_least_that_holds_is_found_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
