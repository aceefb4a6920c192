/* SPDX-License-Identifier: Apache-2.0 */
/* test_slowest_rank.c: the typical slowest of some ranks against figures worked out by hand, and against draws. */
#include "testing.h"

#include <math.h>

#include "base/rng.h"
#include "base/sort.h"
#include "predict/play/timeline.h"

/* Between 0.5 and 1.5, all alike often: F(x) = x - 0.5. */
static const tutti_step_spread even = {2, {0.5, 1.5}};

static double of(const tutti_step_spread *s, int nranks, int nlanes, int64_t period)
{
    return tutti_slowest_rank(s, &(tutti_waiting_ranks){.nranks = nranks, .nlanes = nlanes, .period = period});
}

static void close_to(double have, double want)
{
    if (!(fabs(have - want) < 1e-12)) fail_msg("%.17g instead of %.17g", have, want);
}

static void one_rank_takes_the_median_and_more_what_half_of_their_steps_stay_below(void **state)
{
    (void)state;
    const tutti_step_spread skewed = {5, {0.5, 0.75, 0.875, 1, 1.875}};
    assert_true(of(&even, 1, 1, 1) == 1);
    assert_true(of(&skewed, 1, 1, 1) == 0.875);
    close_to(of(&even, 2, 2, 1), 0.5 + sqrt(0.5));
    close_to(of(&even, 3, 3, 1), 0.5 + cbrt(0.5));
    close_to(of(&skewed, 2, 2, 1), 0.875 + (4 * sqrt(0.5) - 2) * 0.125);
    close_to(of(&even, 1000, 1000, 1), 0.5 + exp(-log(2) / 1000));
    close_to(of(&skewed, 1000, 1000, 1), 1 + (4 * exp(-log(2) / 1000) - 3) * 0.875);
}

static void what_is_summed_strays_by_its_root(void **state)
{
    (void)state;
    const double two = sqrt(0.5) - 0.5; /* of one step, away from the mean */
    close_to(of(&even, 2, 2, 4), 1 + two / 2);
    close_to(of(&even, 4, 2, 1), 1 + two / sqrt(2)); /* two turns on each of two cores */
    close_to(of(&even, 3, 2, 1), 1 + two / sqrt(2));
    close_to(of(&even, 4, 2, 2), 1 + two / 2);
    close_to(of(&even, 8, 1, 1), 1); /* nobody computes beside another */
}

static void a_slow_rank_is_waited_for_where_it_is_slower_than_the_slowest_of_all(void **state)
{
    (void)state;
    static const tutti_step_spread none = {0};
    const double far[] = {1, 3, 1, 1}, near[] = {1, 1.01, 1, 1}, two[] = {3, 1, 3, 1};
    tutti_waiting_ranks r = {.nranks = 4, .nlanes = 4, .period = 1, .slowness = far};
    assert_true(tutti_slowest_rank(&even, &r) == 3);
    assert_true(tutti_slowest_rank(&none, &r) == 3);
    r.slowness = near;
    close_to(tutti_slowest_rank(&even, &r), 0.5 + pow(0.5, 0.25));
    assert_true(tutti_slowest_rank(&none, &r) == 1.01);
    r.slowness = two;
    close_to(tutti_slowest_rank(&even, &r), 3 * (0.5 + sqrt(0.5)));
    assert_true(of(&none, 64, 64, 1) == 1);
}

/* The median of the largest of so many draws from the trace's steps, drawn. */
static void draws_agree(void **state)
{
    (void)state;
    enum { NDRAWS = 20001 };
    static double largest[NDRAWS];
    const tutti_step_spread s = {9, {0.9, 0.92, 0.95, 0.96, 0.99, 1, 1.02, 1.1, 1.3}};
    uint64_t at = 0;
    for (int nranks = 1; nranks <= 16; nranks *= 2) {
        for (int i = 0; i < NDRAWS; i++) {
            largest[i] = 0;
            for (int r = 0; r < nranks; r++) {
                const double u = tutti_random_unit(tutti_random(1, TUTTI_STREAM_TEST, at++, 0).word[0]);
                largest[i] = fmax(largest[i], tutti_step_spread_quantile(&s, u));
            }
        }
        tutti_sort_doubles(largest, NDRAWS);
        const double want = largest[NDRAWS / 2], have = of(&s, nranks, nranks, 1);
        if (!(fabs(have - want) < 0.005)) fail_msg("%d ranks: %g instead of %g", nranks, have, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_takes_the_median_and_more_what_half_of_their_steps_stay_below),
        cmocka_unit_test(what_is_summed_strays_by_its_root),
        cmocka_unit_test(a_slow_rank_is_waited_for_where_it_is_slower_than_the_slowest_of_all),
        cmocka_unit_test(draws_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
