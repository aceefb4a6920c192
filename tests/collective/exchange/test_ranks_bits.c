/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_bits.c: every algorithm that sums, over every wire, between processes: the bits are those of the reduction
 * expression that its schedule states, evaluated by reference_run.h, and delays of steps change none. 2, 3 and 5 ranks;
 * TUTTI_LONG=1: 2 to 9. */
#include "testing.h"

#include "base/rng.h"
#include "collective/compile/algorithms.h"
#include "collective/exchange/executor.h"
#include "collective/rank_processes.h"
#include "collective/reference_run.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { N = 1009, INVOCATIONS = 3 };

/* --- as a rank --- */

/* Normal numbers: nearly every sum of them is rounded. */
static void draw(int rank, int e, float *to)
{
    for (int64_t i = 0; i < N; i++) {
        float two[2];
        tutti_random_normal2(tutti_random((uint64_t)e, TUTTI_STREAM_TEST, (uint64_t)rank, (uint64_t)i), two);
        to[i] = two[0];
    }
}

/* Where the reference has this rank's result of invocation e. */
static const float *predict(reference_run *r, int me, int e)
{
    for (int k = 0; k < r->nranks; k++) {
        draw(k, e, (float *)(void *)r->rank[k].memory[reference_buffer(&r->rank[k].part, TUTTI_BUFFER_IN, 0)]);
        memset(r->rank[k].at, 0, sizeof r->rank[k].at);
        memset(r->rank[k].done, 0, sizeof(bool) * (size_t)r->rank[k].part.nsteps);
    }
    reference_play(r);
    return (const float *)(const void *)r->rank[me].memory[reference_buffer(&r->rank[me].part, TUTTI_BUFFER_OUT, 0)];
}

static tutti_status compare_invocation(tutti_group *g, tutti_exchange *x, reference_run *r,
                                       tutti_region *const memory[2], const tutti_slice *owed, int e,
                                       tutti_failure *err)
{
    const int me = tutti_group_rank(g);
    const float *want = predict(r, me, e), *got = tutti_region_base(memory[1], me);
    draw(me, e, tutti_region_base(memory[0], me));
    tutti_exchange_delay(x, (uint64_t)e, e == 1 ? 200 : 0);
    tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    tutti_status s = tutti_exchange_wait(x, err);
    const int64_t from = reference_point(r, owed->first, owed->of);
    const int64_t to = reference_point(r, owed->first + owed->count, owed->of);
    for (int64_t i = from; i < to && !s; i++)
        if (memcmp(&got[i], &want[i], sizeof want[i]))
            s = tutti_fail(err, TUTTI_ERR_FAILED, "invocation %d: element %lld is %a instead of %a", e, (long long)i,
                           (double)got[i], (double)want[i]);
    return s;
}

static tutti_status compare_schedule(tutti_group *g, const tutti_schedule *compiled, tutti_failure *err)
{
    const int me = tutti_group_rank(g);
    tutti_schedule *lowered = NULL, *mapped = NULL;
    tutti_region *memory[2] = {NULL, NULL};
    tutti_exchange *x = NULL;
    reference_run *r = calloc(1, sizeof *r);
    tutti_status s = tutti_schedule_lower_hosts(compiled, tutti_group_hosts(g), &lowered, err);
    if (!s) s = tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, &mapped, err);
    for (int i = 0; i < 2 && !s; i++) s = tutti_region_create(g, i ? "out" : "in", N * sizeof(float), &memory[i], err);
    const tutti_place in = {memory[0], 0};
    const tutti_exchange_binding b = {.name = "sum", .n = N, .in = &in, .nin = 1, .out = {memory[1], 0}};
    if (!s) s = tutti_exchange_create(g, lowered, &b, &x, err);
    if (!s) {
        const bool scatters = tutti_schedule_head(mapped)->collective == TUTTI_REDUCE_SCATTER;
        const tutti_slice owed = {me, 0, scatters ? me : 0, 1, scatters ? tutti_group_nranks(g) : 1};
        *r = (reference_run){.schedule = mapped, .type = TUTTI_F32, .op = TUTTI_SUM, .n = N};
        reference_open(r);
        for (int e = 0; e < INVOCATIONS && !s; e++) s = compare_invocation(g, x, r, memory, &owed, e, err);
        reference_close(r);
    }
    free(r);
    tutti_exchange_destroy(x);
    tutti_region_destroy(memory[0]), tutti_region_destroy(memory[1]);
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(mapped);
    return s;
}

static tutti_status compare_all(tutti_group *g, int *n, tutti_failure *err)
{
    static const tutti_collective sums[] = {TUTTI_ALLREDUCE, TUTTI_REDUCE_SCATTER};
    tutti_status s = TUTTI_OK;
    for (int a = 0; a < tutti_algorithm_count() && !s; a++)
        for (int c = 0; c < 2 && !s; c++) {
            const tutti_compile_request q = {.collective = sums[c], .nranks = tutti_group_nranks(g)};
            const char *name = tutti_algorithm_at(a)->name;
            tutti_schedule *compiled = NULL;
            if (tutti_schedule_compile(name, &q, &compiled, NULL)) continue; /* not this, not at this rank count */
            s = compare_schedule(g, compiled, err);
            if (s) tutti_fail_at(err, "%s %s", name, tutti_collective_name(sums[c]));
            ++*n;
            tutti_schedule_destroy(compiled);
        }
    return s;
}

static int run_as_rank(void)
{
    tutti_group_config c;
    tutti_failure err = {0};
    tutti_group *g = NULL;
    int n = 0;
    char words[64];
    take_host();
    tutti_status s = tutti_group_config_from_env(&c, &err);
    if (!s) s = tutti_group_join(&c, &g, &err);
    if (!s) s = compare_all(g, &n, &err);
    snprintf(words, sizeof words, "%d schedules, their bits", n);
    say(s ? err.text : words);
    tutti_group_leave(g);
    return s;
}

/* --- as the test --- */

static void compare_on(const char *hosts, int nranks)
{
    outcome o;
    char layout[16];
    snprintf(layout, sizeof layout, "%.*s", nranks, hosts);
    run_on_hosts("test_ranks_bits", "bits", layout, &o);
    for (int r = 0; r < nranks; r++) expect_words(&o, r, " schedules, their bits");
    assert_true(strtol(o.heard[0], NULL, 10) >= 10);
    assert_int_equal(o.exit_code, 0);
}

static void each_rank_count(const char *hosts)
{
    const bool all = getenv("TUTTI_LONG") != NULL;
    for (int p = 2; p <= (all ? 9 : 5); p++)
        if (all || p != 4) compare_on(hosts, p);
}

static void over_shared_memory_the_bits_are_those_of_the_expression(void **state)
{
    (void)state;
    each_rank_count("aaaaaaaaa");
}

static void over_every_wire_the_bits_are_those_of_the_expression(void **state)
{
    (void)state;
    for (int wire = 0; take_wire(wire); wire++) each_rank_count("abcdefghi");
}

static void over_two_wires_the_bits_are_those_of_the_expression(void **state)
{
    (void)state;
    for (int wire = 0; take_wire(wire); wire++) each_rank_count("aabbaabba");
}

int main(int argc, char **argv)
{
    (void)argv;
    if (is_rank(argc)) return run_as_rank();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_shared_memory_the_bits_are_those_of_the_expression),
        cmocka_unit_test(over_every_wire_the_bits_are_those_of_the_expression),
        cmocka_unit_test(over_two_wires_the_bits_are_those_of_the_expression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
