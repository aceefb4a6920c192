/* SPDX-License-Identifier: Apache-2.0 */
/* The round evaluator on compiled schedules: equal to closed forms without collisions, never below a bound, and exact
 * where the answer is known by hand. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collective/compile/algorithms.h"
#include "collective/simulate/choose/choose.h"
#include "collective/simulate/simulate_impl.h"
#include "topology/parsed_topology.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

/* False: the algorithm does not serve this. */
static bool simulated(const char *algorithm, tutti_collective c, int32_t p, int64_t n, const tutti_topology *t,
                      tutti_simulation *out)
{
    const tutti_compile_request request = {.collective = c, .nranks = p, .in_place = c != TUTTI_ALL_TO_ALL};
    tutti_schedule *s = NULL, *lowered = NULL;
    tutti_failure err = {0};
    if (tutti_schedule_compile(algorithm, &request, &s, &err)) return false;
    if (t->kind == TUTTI_TOPOLOGY_HOST)
        assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_MAPPED, &lowered, &err), TUTTI_OK);
    if (tutti_simulate_schedule(lowered ? lowered : s, t, n, out, &err)) fail_msg("%s: %s", algorithm, err.text);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(s);
    return true;
}

static void closed_forms_equal_the_evaluator_without_collisions(void **state)
{
    (void)state;
    static const char *const texts[] = {"star", "star,bw=100Gb,lat=2us,soft=14us,add=3GB"};
    int compared = 0;
    for (int x = 0; x < 2; x++)
        for (int a = 0; a < tutti_algorithm_count(); a++)
            for (int32_t p = 2; p <= 33; p = p < 17 ? p + 1 : p * 2 - 1)
                for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) {
                    tutti_topology t = parsed(texts[x]);
                    tutti_closed_form form;
                    tutti_simulation sim;
                    const char *name = tutti_algorithm_at(a)->name;
                    int64_t n = (int64_t)p * p * 1441440; /* no slice, block or group's slice is rounded */
                    if (!tutti_simulate_closed_form(name, (tutti_collective)c, p, n, &t, &form)) continue;
                    if (!simulated(name, (tutti_collective)c, p, n, &t, &sim)) continue;
                    if (fabs(form.seconds - sim.seconds) > 1e-9 * form.seconds)
                        fail_msg("%s %s, %d ranks: closed form %.12g, evaluator %.12g", name,
                                 tutti_collective_name((tutti_collective)c), p, form.seconds, sim.seconds);
                    assert_int_equal(form.nsteps, sim.nrounds);
                    compared++;
                }
    assert_true(compared > 100);
}

static void no_schedule_is_below_its_lower_bound_or_any_bound(void **state)
{
    (void)state;
    static const char *const texts[] = {"star", "star,bw=1Gb,lat=50us", "host,cores=2,cache=1MiB",
                                        "host,cores=8,cache=1B,lat=1us,bw=5GB"};
    for (int x = 0; x < 4; x++) {
        const tutti_topology t = parsed(texts[x]);
        for (int a = 0; a < tutti_algorithm_count(); a++)
            for (int32_t p = 2; p <= 12; p++)
                for (int64_t n = 1; n < 10000000; n *= 97)
                    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) {
                        tutti_simulation sim;
                        tutti_bounds bounds;
                        if (!simulated(tutti_algorithm_at(a)->name, (tutti_collective)c, p, n, &t, &sim)) continue;
                        tutti_simulate_bounds((tutti_collective)c, p, n, &t, &bounds);
                        /* with empty slices some links carry nothing and (p-1)/p n is not reached: bounds are for n >=
                         * p */
                        bool low = n >= (c == TUTTI_ALL_TO_ALL ? p * p : p) && bounds.best_s > sim.seconds * (1 + 1e-9);
                        if (low || sim.lower_s > sim.seconds * (1 + 1e-9))
                            fail_msg("%s %s on %s, %d ranks, %lld elements: bound %g, lower %g, seconds %g",
                                     tutti_algorithm_at(a)->name, tutti_collective_name((tutti_collective)c), texts[x],
                                     p, (long long)n, bounds.best_s, sim.lower_s, sim.seconds);
                    }
    }
}

static void flows_share_links_max_min_fairly(void **state)
{
    (void)state;
    /* 0 -> 1 alone on its up link; 2 -> 1 and 2 -> 3 share up(2); 0 -> 1 and 2 -> 1 share down(1). */
    tutti_topology t = parsed("star,bw=1GB");
    const tutti_flow three[] = {{.src = 0, .dst = 1, .bytes = 1000000},
                                {.src = 2, .dst = 1, .bytes = 1000000},
                                {.src = 2, .dst = 3, .bytes = 1000000}};
    double load[8] = {0};
    tutti_fabric net;
    assert_true(tutti_topology_graph(&t, 4, &net));
    assert_true(fabs(tutti_rounds_fill(&t, &net, three, 3, load).end_s - 2e-3) < 1e-12);
    tutti_fabric_release(&net);
    assert_true(load[0] == 1e6 && load[3] == 2e6 && load[4] == 2e6 && load[7] == 1e6);
    /* three into one, and a fourth from one of those senders: it gets what they leave, 2/3 */
    const tutti_flow four[] = {{.src = 0, .dst = 3, .bytes = 1000000},
                               {.src = 1, .dst = 3, .bytes = 1000000},
                               {.src = 2, .dst = 3, .bytes = 1000000},
                               {.src = 2, .dst = 4, .bytes = 2000000}};
    double more[10] = {0};
    assert_true(tutti_topology_graph(&t, 5, &net));
    assert_true(fabs(tutti_rounds_fill(&t, &net, four, 4, more).end_s - 3e-3) < 1e-12);
    tutti_fabric_release(&net);
}

static double end_of(const tutti_flow *flows, int64_t nflows)
{
    tutti_topology t = parsed("star,bw=1GB");
    double load[10] = {0};
    tutti_fabric net;
    assert_true(tutti_topology_graph(&t, 5, &net));
    double end = tutti_rounds_fill(&t, &net, flows, nflows, load).end_s;
    tutti_fabric_release(&net);
    return end;
}

static void what_ends_early_leaves_its_share_to_the_others(void **state)
{
    (void)state;
    /* 1 and 3 MB over one link: halves for 2 ms, then all of it for 2 ms */
    const tutti_flow two[] = {{.src = 0, .dst = 1, .bytes = 1000000}, {.src = 0, .dst = 2, .bytes = 3000000}};
    assert_true(fabs(end_of(two, 2) - 4e-3) < 1e-12);
    /* 0 > 1 (1 MB), 0 > 2 (2 MB), 3 > 2 (5 MB): halves for 2 ms; then up(0) is free, 0 > 2 still shares down(2) until 4
     * ms; then 3 MB are left for 3 > 2 */
    const tutti_flow three[] = {{.src = 0, .dst = 1, .bytes = 1000000},
                                {.src = 0, .dst = 2, .bytes = 2000000},
                                {.src = 3, .dst = 2, .bytes = 5000000}};
    assert_true(fabs(end_of(three, 3) - 7e-3) < 1e-12);
    /* no bytes take no share */
    const tutti_flow signal[] = {{.src = 0, .dst = 1, .bytes = 0}, {.src = 0, .dst = 2, .bytes = 3000000}};
    assert_true(fabs(end_of(signal, 2) - 3e-3) < 1e-12);
}

static void a_ring_of_256_ranks_is_counted_from_its_schedule(void **state)
{
    (void)state;
    tutti_topology t = parsed("star");
    tutti_simulation sim;
    assert_true(simulated("ring", TUTTI_ALLREDUCE, 256, 256, &t, &sim));
    assert_int_equal(sim.nrounds, 510);
    assert_int_equal(sim.nmessages, 510 * 256);
}

static void a_schedule_for_another_machine_is_refused(void **state)
{
    (void)state;
    const tutti_compile_request request = {.collective = TUTTI_ALLREDUCE, .nranks = 2};
    tutti_topology host = parsed("host");
    tutti_schedule *s = NULL;
    tutti_simulation sim;
    tutti_failure err = {0};
    assert_int_equal(tutti_schedule_compile("direct", &request, &s, &err), TUTTI_OK);
    assert_int_equal(tutti_simulate_schedule(s, &host, 10, &sim, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "two-sided"));
    tutti_schedule_destroy(s);
}

static void small_vectors_choose_few_rounds_and_large_ones_little_traffic(void **state)
{
    (void)state;
    tutti_topology t = parsed("star,bw=10Gb,lat=5us");
    const tutti_compile_request request = {.collective = TUTTI_ALLREDUCE, .nranks = 8, .in_place = true};
    tutti_choice *choice = malloc(sizeof *choice);
    tutti_choose_algorithm(&request, 1, &t, choice);
    assert_string_equal(choice->candidates[choice->best].algorithm, "one-shot");
    tutti_choose_algorithm(&request, 25000000, &t, choice);
    assert_string_not_equal(choice->candidates[choice->best].algorithm, "one-shot");
    assert_true(choice->candidates[choice->best].sim.seconds < 1.2 * choice->bounds.best_s);
    const tutti_compile_request six = {.collective = TUTTI_REDUCE_SCATTER, .nranks = 6, .in_place = true};
    tutti_choose_algorithm(&six, 1000, &t, choice);
    for (int i = 0; i < choice->ncandidates; i++) /* who cannot says why */
        assert_true(choice->candidates[i].can || strlen(choice->candidates[i].refusal) > 20);
    free(choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms_equal_the_evaluator_without_collisions),
        cmocka_unit_test(no_schedule_is_below_its_lower_bound_or_any_bound),
        cmocka_unit_test(flows_share_links_max_min_fairly),
        cmocka_unit_test(what_ends_early_leaves_its_share_to_the_others),
        cmocka_unit_test(a_ring_of_256_ranks_is_counted_from_its_schedule),
        cmocka_unit_test(a_schedule_for_another_machine_is_refused),
        cmocka_unit_test(small_vectors_choose_few_rounds_and_large_ones_little_traffic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
