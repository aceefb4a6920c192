/* SPDX-License-Identifier: Apache-2.0 */
/* Why swing's slices can be ranges: what each rank can still reach is a set that all its members share, so the sets
 * nest. From the definition, without a look at the compiler. */
#include "testing.h"

#include <stdbool.h>
#include <string.h>

static int partner(int r, int s, int p)
{
    int rho = 1;
    for (int i = 0; i < s; i++) rho = 1 - 2 * rho; /* 1, -1, 3, -5, 11, ... */
    return ((r % 2 ? r - rho : r + rho) % p + p) % p;
}

enum { MOST = 256 };

/* set[r] of step s from those of step s + 1. */
static void reach(int p, int s, bool set[MOST][MOST])
{
    static bool before[MOST][MOST];
    memcpy(before, set, sizeof before);
    for (int r = 0; r < p; r++)
        for (int x = 0; x < p; x++) {
            bool twice = before[r][x] && before[partner(r, s, p)][x];
            assert_false(twice); /* everybody once */
            set[r][x] = before[r][x] || before[partner(r, s, p)][x];
        }
}

static void partners_meet_each_other_and_the_sets_they_reach_nest(void **state)
{
    (void)state;
    static bool set[MOST][MOST];
    for (int lg = 1; 1 << lg <= MOST; lg++) {
        int p = 1 << lg;
        memset(set, 0, sizeof set);
        for (int r = 0; r < p; r++) set[r][r] = true;
        for (int s = lg - 1; s >= 0; s--) {
            reach(p, s, set);
            for (int r = 0; r < p; r++) {
                assert_int_equal(partner(partner(r, s, p), s, p), r);
                for (int x = 0; x < p; x++)
                    if (set[r][x]) assert_memory_equal(set[r], set[x], sizeof set[r]);
            }
        }
        for (int x = 0; x < p; x++) assert_true(set[0][x]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partners_meet_each_other_and_the_sets_they_reach_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
