/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_members.c: exchanges over some ranks of a group of processes: all partitions at once over shared memory,
 * between hosts and over wires alone, and who dies or stops in one of them. */
#include "testing.h"

#include <signal.h>

#include "collective/partition_sums.h"
#include "collective/rank_processes.h"

enum { N = 4000, NFOUR = 4, NTWO = 2, VICTIM = 5 };
static const int32_t four[NFOUR] = {4, 1, 5, 2}, two[NTWO] = {0, 3};

/* --- as a rank --- */

typedef struct {
    tutti_schedule *compiled[2], *lowered[2];
    tutti_region *in, *out;
    tutti_exchange *x[2];
} two_sums;

static tutti_status open_two(tutti_group *g, two_sums *s, tutti_failure *err)
{
    tutti_exchange_request requests[2];
    tutti_status status = tutti_region_create(g, "in", N * sizeof(float), &s->in, err);
    if (!status) status = tutti_region_create(g, "out", N * sizeof(float), &s->out, err);
    const tutti_place in = {s->in, 0};
    for (int i = 0; i < 2 && !status; i++) {
        const int32_t *members = i ? two : four, n = i ? NTWO : NFOUR;
        const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = n};
        int32_t hosts[NFOUR];
        for (int m = 0; m < n; m++) hosts[m] = tutti_group_host_of(g, members[m]);
        status = tutti_schedule_compile("ring", &q, &s->compiled[i], err);
        if (!status) status = tutti_schedule_lower_hosts(s->compiled[i], hosts, &s->lowered[i], err);
        requests[i].schedule = s->lowered[i];
        requests[i].binding = (tutti_exchange_binding){.name = i ? "sum of two" : "sum of four",
                                                       .n = N,
                                                       .members = members,
                                                       .nmembers = n,
                                                       .in = &in,
                                                       .nin = 1,
                                                       .out = {s->out, 0}};
    }
    return status ? status : tutti_exchange_create_all(g, requests, 2, s->x, err);
}

/* Two disjoint exchanges at their own pace; one rank kills or stops itself between two sums. */
static tutti_status lose_one(tutti_group *g, int signal, tutti_failure *err)
{
    const int me = tutti_group_rank(g);
    two_sums s = {0};
    tutti_status status = open_two(g, &s, err);
    tutti_exchange *x = s.x[0] ? s.x[0] : s.x[1];
    const int32_t *members = s.x[0] ? four : two, n = s.x[0] ? NFOUR : NTWO;
    float want = 0;
    for (int m = 0; m < n; m++) want += (float)(members[m] + 1);
    for (int e = 0; e < 100000000 && !status; e++) {
        if (me == VICTIM && e == 20) {
            say("acts");
            raise(signal);
        }
        float *in = tutti_region_base(s.in, me);
        for (int i = 0; i < N; i++) in[i] = (float)(me + 1) * (float)(e % 3);
        tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        status = tutti_exchange_wait(x, err);
        if (!status && ((const float *)tutti_region_base(s.out, me))[e % N] != want * (float)(e % 3))
            status = tutti_fail(err, TUTTI_ERR_FAILED, "sum %d is wrong", e);
    }
    for (int i = 0; i < 2; i++) {
        tutti_exchange_destroy(s.x[i]);
        tutti_schedule_destroy(s.lowered[i]), tutti_schedule_destroy(s.compiled[i]);
    }
    tutti_region_destroy(s.in), tutti_region_destroy(s.out);
    return status;
}

static int run_as_rank(const char *mode)
{
    tutti_group_config c;
    tutti_failure err = {0};
    tutti_group *g = NULL;
    take_host();
    tutti_status s = tutti_group_config_from_env(&c, &err);
    if (!s) s = tutti_group_join(&c, &g, &err);
    if (!s && !strcmp(mode, "partitions")) s = all_partition_sums(g, false, &err);
    if (!s && !strcmp(mode, "subsets")) s = all_partition_sums(g, true, &err);
    if (!s && !strcmp(mode, "plain")) s = plain_sums(g, four, NFOUR, &err);
    if (!s && !strcmp(mode, "die")) s = lose_one(g, SIGKILL, &err);
    if (!s && !strcmp(mode, "stop")) s = lose_one(g, SIGSTOP, &err);
    say(s ? err.text : "fine");
    tutti_group_leave(g);
    return s;
}

/* --- as the test --- */

static void all_are_fine(const char *mode, const char *hosts)
{
    outcome o;
    run_on_hosts("test_ranks_members", mode, hosts, &o);
    for (int r = 0; r < PARTED; r++) expect_words(&o, r, "fine");
    assert_int_equal(o.exit_code, 0);
}

static void all_partitions_of_six_processes_sum_at_once_over_shared_memory(void **state)
{
    (void)state;
    all_are_fine("partitions", "aaaaaa");
    all_are_fine("subsets", "aaaaaa");
    all_are_fine("plain", "aaaaaa"); /* the system copies it, where it may */
}

static void and_between_hosts_over_every_wire(void **state)
{
    (void)state;
    for (int wire = 0; take_wire(wire); wire++) {
        all_are_fine("partitions", "aabbcc");
        all_are_fine("partitions", "abcabc");
        if (getenv("TUTTI_LONG")) all_are_fine("subsets", "aaabbb");
    }
}

static void and_where_every_rank_is_a_host_of_its_own(void **state)
{
    (void)state;
    for (int wire = 0; take_wire(wire); wire++) {
        all_are_fine("partitions", "abcdef");
        if (getenv("TUTTI_LONG")) all_are_fine("subsets", "aaaaaa"); /* the wire was asked for: nobody maps anything */
    }
}

static void a_member_that_dies_is_named_by_its_rank_in_the_group(void **state)
{
    (void)state;
    outcome o;
    static const char *const layouts[] = {"aaaaaa", "aabbab"};
    for (int i = 0; i < 2; i++) {
        run_on_hosts("test_ranks_members", "die", layouts[i], &o);
        assert_int_equal(o.exit_code, 128 + SIGKILL);
        for (int r = 0; r < PARTED; r++) {
            if (r == VICTIM) continue;
            expect_words(&o, r, "rank 5 (");
            expect_words(&o, r, " died");
            expect_words(&o, r, r == 0 || r == 3 ? "exchange 'sum of two' (ring" : "exchange 'sum of four' (ring");
            expect_words(&o, r, r == 0 || r == 3 ? ", over ranks 0 3)" : ", over ranks 4 1 5 2)");
            assert_true(o.at[r] - o.at[VICTIM] < 1);
        }
    }
}

/* Those who wait for it name it; the two others go on until they hear of it. */
static void a_member_that_stops_is_named_at_the_deadline(void **state)
{
    (void)state;
    outcome o;
    setenv("TUTTI_DEADLINE_S", "1", 1);
    run_on_hosts("test_ranks_members", "stop", "aaaaaa", &o);
    unsetenv("TUTTI_DEADLINE_S");
    assert_int_equal(o.exit_code, TUTTI_ERR_PEER);
    for (int r = 0; r < PARTED; r++)
        if (r != VICTIM) expect_words(&o, r, "not arrived: rank 5 (");
}

int main(int argc, char **argv)
{
    if (is_rank(argc)) return run_as_rank(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_partitions_of_six_processes_sum_at_once_over_shared_memory),
        cmocka_unit_test(and_between_hosts_over_every_wire),
        cmocka_unit_test(and_where_every_rank_is_a_host_of_its_own),
        cmocka_unit_test(a_member_that_dies_is_named_by_its_rank_in_the_group),
        cmocka_unit_test(a_member_that_stops_is_named_at_the_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
