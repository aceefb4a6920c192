/* SPDX-License-Identifier: Apache-2.0 */
/* Closed forms and bounds: the figures of the papers, and no algorithm beats a bound. */
#include "testing.h"

#include <math.h>

#include "collective/simulate/simulate.h"

static tutti_topology star(const char *text)
{
    tutti_topology t = {0};
    assert_int_equal(tutti_topology_parse(text, &t, NULL), TUTTI_OK);
    return t;
}

static int64_t steps_of(const char *algorithm, int32_t p, int32_t group)
{
    tutti_topology t = star("star");
    tutti_closed_form form;
    assert_true(tutti_simulate_closed_form(algorithm, TUTTI_ALLREDUCE, p, group, 1024, &t, &form));
    return form.nsteps;
}

static void a_ring_of_1024_takes_2046_steps_and_a_hierarchy_186(void **state)
{
    (void)state;
    assert_int_equal(steps_of("ring", 1024, 0), 2046);
    assert_int_equal(steps_of("hierarchical", 1024, 16), 186);
    assert_int_equal(steps_of("hierarchical", 1024, 32), 186);
    assert_int_equal(steps_of("hierarchical", 1024, 0), 186);  /* no better group */
    assert_int_equal(steps_of("hierarchical", 1024, 1), 2046); /* groups of one: the ring */
    assert_int_equal(steps_of("halving-doubling", 1024, 0), 20);
    assert_int_equal(steps_of("direct", 1024, 0), 2);
    assert_int_equal(steps_of("one-shot", 1024, 0), 1);
}

static void seconds_are_alpha_beta_and_gamma(void **state)
{
    (void)state;
    tutti_topology t = star("star,bw=1GB,lat=10us,soft=2us,add=4GB");
    tutti_closed_form form;
    assert_true(tutti_simulate_closed_form("ring", TUTTI_ALLREDUCE, 4, 0, 1000000, &t, &form));
    assert_true(fabs(form.seconds - (6 * 12e-6 + 1.5 * 4e6 / 1e9 + 0.75 * 4e6 / 4e9)) < 1e-15);
    assert_true(tutti_simulate_closed_form("ring", TUTTI_ALLREDUCE, 1, 0, 1000000, &t, &form));
    assert_true(form.seconds == 0);
}

static void what_an_algorithm_cannot_do_has_no_closed_form(void **state)
{
    (void)state;
    tutti_topology t = star("star"), host = star("host");
    tutti_closed_form form;
    assert_false(tutti_simulate_closed_form("halving-doubling", TUTTI_ALLREDUCE, 6, 0, 8, &t, &form));
    assert_false(tutti_simulate_closed_form("one-shot", TUTTI_ALL_GATHER, 4, 0, 8, &t, &form));
    assert_false(tutti_simulate_closed_form("hierarchical", TUTTI_ALLREDUCE, 10, 4, 8, &t, &form));
    assert_false(tutti_simulate_closed_form("tree", TUTTI_ALLREDUCE, 4, 0, 8, &t, &form));
    assert_false(tutti_simulate_closed_form("ring", TUTTI_ALLREDUCE, 4, 0, 8, &host, &form));
}

static void no_closed_form_is_below_a_bound(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"direct", "one-shot", "ring", "halving-doubling", "hierarchical"};
    static const char *const texts[] = {"star", "star,bw=100Gb,lat=1us,add=1GB", "star,bw=100Mb,lat=50us,soft=20us"};
    int compared = 0;
    for (int x = 0; x < 3; x++)
        for (int a = 0; a < 5; a++)
            for (int32_t p = 2; p <= 1024; p = p < 20 ? p + 1 : p * 2)
                for (int64_t n = 1; n < 100000000; n *= 31)
                    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) {
                        tutti_topology t = star(texts[x]);
                        tutti_closed_form form;
                        tutti_bounds bounds;
                        if (!tutti_simulate_closed_form(algorithms[a], (tutti_collective)c, p, 0, n, &t, &form))
                            continue;
                        tutti_simulate_bounds((tutti_collective)c, p, n, &t, &bounds);
                        assert_true(bounds.best_s <= form.seconds * (1 + 1e-12));
                        compared++;
                    }
    assert_true(compared > 2000);
}

static void large_rings_come_close_to_the_bandwidth_bound(void **state)
{
    (void)state;
    tutti_topology t = star("star,add=1000GB");
    tutti_closed_form form;
    tutti_bounds bounds;
    assert_true(tutti_simulate_closed_form("ring", TUTTI_ALLREDUCE, 8, 0, 25000000, &t, &form));
    tutti_simulate_bounds(TUTTI_ALLREDUCE, 8, 25000000, &t, &bounds);
    assert_string_equal(bounds.best, "bandwidth");
    assert_true(form.seconds < 1.01 * bounds.best_s);
}

static void more_ranks_than_cores_wait_for_their_turn(void **state)
{
    (void)state;
    tutti_topology t = star("host,cores=2,lat=1us,switch=5us");
    assert_true(fabs(tutti_simulate_host_latency(&t, 2) - 1e-6) < 1e-15);
    assert_true(fabs(tutti_simulate_host_latency(&t, 8) - 21e-6) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_of_1024_takes_2046_steps_and_a_hierarchy_186),
        cmocka_unit_test(seconds_are_alpha_beta_and_gamma),
        cmocka_unit_test(what_an_algorithm_cannot_do_has_no_closed_form),
        cmocka_unit_test(no_closed_form_is_below_a_bound),
        cmocka_unit_test(large_rings_come_close_to_the_bandwidth_bound),
        cmocka_unit_test(more_ranks_than_cores_wait_for_their_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
