/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_matrix.c: the matrix of `tutti coll verify-all` (src/collective/verify): every algorithm x collective x
 * variant x rank count, unlowered and lowered: minutes on one core. Without TUTTI_LONG=1 a few rank counts of it. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collective/verify/verify.h"

typedef struct {
    int nschedules;
    double slowest_s;
    char slowest[200];
} tally;

static double now_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static void prove_all(const int32_t *ranks, int nranks, tally *t)
{
    tutti_verify_matrix m;
    tutti_verify_create(ranks, nranks, &m);
    for (int64_t i = 0; i < m.ncases; i++) {
        tutti_failure err = {0};
        const double start = now_s();
        if (tutti_verify_prove(&m.cases[i], NULL, &err) != TUTTI_OK) fail_msg("%s", err.text);
        const double took = now_s() - start;
        t->nschedules++;
        if (took <= t->slowest_s) continue;
        t->slowest_s = took;
        tutti_verify_name(&m.cases[i], t->slowest);
    }
    if (m.left_out.text) printf("left out:\n%s", m.left_out.text);
    tutti_verify_release(&m);
}

static void every_schedule_holds_at_every_rank_count(void **state)
{
    (void)state;
    static const int32_t some[] = {1, 2, 3, 5, 8, 11, 16, 17, 64};
    const bool all = getenv("TUTTI_LONG");
    tally t = {0};
    prove_all(all ? NULL : some, sizeof some / sizeof some[0], &t);
    assert_true(t.nschedules > 1000);
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
