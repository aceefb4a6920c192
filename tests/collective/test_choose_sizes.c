/* SPDX-License-Identifier: Apache-2.0 */
/* test_choose_sizes.c: the fastest of several sizes, from one simulation of each schedule, is what the chooser says of
 * each. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "collective/simulate/choose/choose.h"

/* Sizes whose slices are whole elements for all rows at these rank counts, nearly; one element off is a
 * ten-thousandth. */
static void each_size_is_as_the_chooser_says(void **state)
{
    (void)state;
    static const char *const machines[] = {"star,bw=1GB,lat=10us,soft=1us,add=10GB", "cluster,hosts=6,ranks=4,nics=1",
                                           "star,bw=1GB,lat=10us,incast=0.1"};
    const int64_t n[] = {138240, 1382400, 13824000};
    enum { N = sizeof n / sizeof n[0] };
    tutti_choice *all = tutti_alloc(sizeof *all * N), *one = tutti_alloc(sizeof *one);
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        tutti_topology t;
        assert_int_equal(tutti_topology_parse(machines[m], &t, NULL), TUTTI_OK);
        const tutti_compile_request request = {
            .collective = TUTTI_ALLREDUCE, .nranks = 24, .in_place = true, .topology = &t};
        tutti_choose_sizes(tutti_policy_at(0), &request, n, N, &t, all);
        for (int i = 0; i < N; i++) {
            tutti_choose_by(tutti_policy_at(0), 0, &request, n[i], &t, one);
            assert_int_equal(all[i].ncandidates, one->ncandidates);
            for (int k = 0; k < one->ncandidates; k++) {
                const tutti_candidate *a = &all[i].candidates[k], *b = &one->candidates[k];
                assert_string_equal(a->algorithm, b->algorithm);
                assert_int_equal(a->can, b->can);
                if (b->can && !(fabs(a->sim.seconds / b->sim.seconds - 1) < 1e-3))
                    fail_msg("%s, %s, %lld: %g instead of %g s", machines[m], b->algorithm, (long long)n[i],
                             a->sim.seconds, b->sim.seconds);
            }
            assert_true(all[i].bounds.best_s == one->bounds.best_s);
            assert_true(fabs(all[i].candidates[all[i].best].sim.seconds / one->candidates[one->best].sim.seconds - 1) <
                        2e-3);
        }
    }
    free(all);
    free(one);
}

static void a_policy_is_kept(void **state)
{
    (void)state;
    const tutti_policy narrow = {.name = "narrow", .rows = {"direct", "ring"}, .most_fan_in = 1};
    const int64_t n[] = {240000};
    tutti_topology t;
    tutti_choice *c = tutti_alloc(sizeof *c);
    assert_int_equal(tutti_topology_parse("star", &t, NULL), TUTTI_OK);
    const tutti_compile_request request = {
        .collective = TUTTI_ALLREDUCE, .nranks = 24, .in_place = true, .topology = &t};
    tutti_choose_sizes(&narrow, &request, n, 1, &t, c);
    assert_int_equal(c->ncandidates, 2);
    assert_string_equal(c->candidates[c->best].algorithm, "ring");
    assert_false(c->candidates[0].can);
    assert_non_null(strstr(c->candidates[0].refusal, "23 ranks send to one at a time"));
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_size_is_as_the_chooser_says),
        cmocka_unit_test(a_policy_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
