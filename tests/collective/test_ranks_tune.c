/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: every fitted figure is marked and positive, and times are of real exchanges. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "collective/tune/tune.h"

static void a_fit_marks_its_figures(void **state)
{
    (void)state;
    tutti_topology t = {0};
    tutti_tune_case cases[TUTTI_NTUNE_CASES];
    tutti_failure err = {0};
    assert_int_equal(tutti_topology_parse("host", &t, &err), TUTTI_OK);
    t.figure[TUTTI_FIGURE_CACHE] = 1 << 22; /* so that the large case is small enough for a test */
    if (tutti_tune_host(&t, cases, &err)) fail_msg("%s", err.text);
    static const tutti_figure fitted[] = {TUTTI_FIGURE_LATENCY, TUTTI_FIGURE_COPY, TUTTI_FIGURE_ADD,
                                          TUTTI_FIGURE_REMOTE, TUTTI_FIGURE_BANDWIDTH};
    for (size_t i = 0; i < sizeof fitted / sizeof fitted[0]; i++) {
        assert_int_equal(t.from[fitted[i]], TUTTI_FROM_FITTED);
        assert_true(t.figure[fitted[i]] > 0 && isfinite(t.figure[fitted[i]]));
    }
    assert_int_equal(t.from[TUTTI_FIGURE_SWITCH], TUTTI_FROM_FITTED);
    assert_true(t.figure[TUTTI_FIGURE_LATENCY] < 0.1); /* a signal between threads takes no tenth of a second */
}

static void an_exchange_over_threads_takes_time_and_larger_ones_more(void **state)
{
    (void)state;
    tutti_failure err = {0};
    double small = 0, large = 0;
    if (tutti_tune_time("direct", TUTTI_ALLREDUCE, 2, 1, true, &small, &err)) fail_msg("%s", err.text);
    if (tutti_tune_time("direct", TUTTI_ALLREDUCE, 2, 1 << 22, true, &large, &err)) fail_msg("%s", err.text);
    assert_true(small > 0 && large > small);
}

/* 264 MB of cache and two ranks: 128 MiB each lay in it, and the memory came out as 38 MB/s. */
static void the_memory_is_measured_by_what_the_caches_do_not_hold(void **state)
{
    (void)state;
    const int64_t plenty = INT64_C(1) << 40;
    assert_int_equal(tutti_tune_large_bytes(264 << 20, 2, plenty), 528 << 20);
    assert_int_equal(tutti_tune_large_bytes(1 << 20, 2, plenty), 1 << 25);
    assert_int_equal(tutti_tune_large_bytes(64 << 20, 4, INT64_C(1) << 30), 64 << 20);
    assert_int_equal(tutti_tune_large_bytes(64 << 20, 4, INT64_C(1) << 29), 32 << 20); /* just enough */
    assert_int_equal(tutti_tune_large_bytes(64 << 20, 4, (INT64_C(1) << 29) - 1), 0);
}

static void what_cannot_be_compiled_is_refused(void **state)
{
    (void)state;
    tutti_failure err = {0};
    double seconds = 0;
    assert_int_equal(tutti_tune_time("no-such", TUTTI_ALLREDUCE, 2, 1, false, &seconds, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "no-such"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_marks_its_figures),
        cmocka_unit_test(an_exchange_over_threads_takes_time_and_larger_ones_more),
        cmocka_unit_test(the_memory_is_measured_by_what_the_caches_do_not_hold),
        cmocka_unit_test(what_cannot_be_compiled_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
