/* SPDX-License-Identifier: Apache-2.0 */
/* test_executor_stores.c: which stores an exchange on regions settles for, and that its sums do not show it. */
#include "testing.h"

#include <stdlib.h>

#include "collective/comm_ranks.h"
#include "collective/exchange/executor_impl.h"

/* Seconds of ordinary stores and of those past the caches; the first of each burst finds the other's lines. */
static bool settles_past(double ordinary, double past)
{
    tutti_exchange x = {.stores = {.left = 6}};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(x.stores.past, i >= 3);
        tutti_stores_record(&x, (x.stores.past ? past : ordinary) * (i % 3 == 0 ? 3 : 1));
    }
    assert_int_equal(x.stores.left, 0);
    return x.stores.past;
}

static void stores_bypass_the_caches_where_that_takes_clearly_less(void **state)
{
    (void)state;
    assert_true(settles_past(1.44, 1));
    assert_false(settles_past(1.05, 1));
    assert_false(settles_past(1, 1.44));
}

/* Long enough to be tried on any processor of today, short enough for a test. */
static const char *sums_body(tutti_comm *comm, void *arg)
{
    enum { N = 3000001, CALLS = 9 };
    tutti_failure err = {0};
    const int p = tutti_comm_size(comm), me = tutti_comm_rank(comm);
    float *in, *out;
    (void)arg;
    EXPECT(!tutti_comm_alloc(comm, N * sizeof *in, (void **)&in, &err));
    EXPECT(!tutti_comm_alloc(comm, N * sizeof *out, (void **)&out, &err));
    for (int e = 0; e < CALLS; e++) {
        for (int i = 0; i < N; i++) in[i] = (float)(me + e + i % 7);
        EXPECT(!tutti_comm_allreduce(comm, in, out, N, TUTTI_F32, TUTTI_SUM, &err));
        for (int i = 0; i < N; i++) EXPECT(out[i] == (float)(p * (p - 1) / 2 + p * (e + i % 7)));
    }
    return NULL;
}

static void sums_are_the_same_while_it_is_tried(void **state)
{
    (void)state;
    run_comms(3, 60, sums_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_bypass_the_caches_where_that_takes_clearly_less),
        cmocka_unit_test(sums_are_the_same_while_it_is_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
