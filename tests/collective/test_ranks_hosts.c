/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_hosts.c: groups over several hosts, made on one machine by TUTTI_HOST_ID: TEST_HOSTS has one letter a rank. */
#include "testing.h"

#include <signal.h>

#include "collective/group/group.h"
#include "rank_processes.h"

/* --- as a rank --- */

static tutti_status expect(bool right, const char *what, tutti_failure *err)
{
    return right ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_FAILED, "%s is wrong", what);
}

/* Hosts are numbered by first appearance; only near memory is mapped. */
static tutti_status sees_its_hosts(tutti_group *g, tutti_failure *err)
{
    const char *hosts = getenv("TEST_HOSTS");
    const int p = tutti_group_nranks(g), me = tutti_group_rank(g);
    tutti_region *region = NULL;
    tutti_status s = tutti_region_create(g, "region", 4096 * (size_t)(me + 1), &region, err);
    int nhosts = 0;
    for (int r = 0; r < p && !s; r++) {
        const int first = (int)(strchr(hosts, hosts[r]) - hosts);
        const int number = first == r ? nhosts++ : tutti_group_host_of(g, first);
        s = expect(tutti_group_host_of(g, r) == number, "the number of a host", err);
        if (!s) s = expect(!tutti_region_base(region, r) == (hosts[r] != hosts[me]), "what is mapped", err);
        if (!s) s = expect(tutti_region_bytes(region, r) == 4096 * (size_t)(r + 1), "the size of a region", err);
    }
    if (!s) s = expect(tutti_group_nhosts(g) == nhosts, "the number of hosts", err);
    tutti_region_destroy(region);
    return s;
}

static tutti_status control_calls(tutti_group *g, tutti_failure *err)
{
    const int p = tutti_group_nranks(g), me = tutti_group_rank(g);
    int all[8];
    tutti_status s = sees_its_hosts(g, err);
    for (int e = 0; e < 200 && !s; e++) {
        const int own = 100 * e + me;
        int word = me == e % p ? e : -1;
        s = tutti_group_barrier(g, "barrier", err);
        if (!s) s = tutti_group_all_gather(g, "gather", &own, all, sizeof own, err);
        for (int r = 0; r < p && !s; r++) s = expect(all[r] == 100 * e + r, "a gathered word", err);
        if (!s) s = tutti_group_broadcast(g, "broadcast", e % p, &word, sizeof word, err);
        if (!s) s = expect(word == e, "a broadcast word", err);
    }
    return s;
}

/* Rank TEST_VICTIM does something in its 20th step. */
static tutti_status with_victim(tutti_group *g, const char *mode, tutti_failure *err)
{
    const bool victim = tutti_group_rank(g) == (int)strtol(getenv("TEST_VICTIM"), NULL, 10);
    tutti_status s = TUTTI_OK;
    for (int e = 0; e < 100000 && !s; e++) {
        if (victim && e == 20) {
            say("acts");
            if (!strcmp(mode, "die")) raise(SIGKILL);
            if (!strcmp(mode, "stop")) raise(SIGSTOP);
            if (!strcmp(mode, "abort")) tutti_group_abort(g, "enough");
            if (!strcmp(mode, "leave")) return TUTTI_OK;
        }
        s = tutti_group_barrier(g, "step", err);
    }
    return s;
}

/* One rank is busy for longer than the deadline, after having said so. */
static tutti_status long_phase(tutti_group *g, tutti_failure *err)
{
    tutti_status s = TUTTI_OK;
    for (int r = 0; r < tutti_group_nranks(g) && !s; r++) {
        if (r == tutti_group_rank(g)) {
            tutti_group_long_phase_begin(g, "writing");
            tutti_clock_sleep_s(1.5);
            tutti_group_long_phase_end(g);
        }
        s = tutti_group_barrier(g, "after the long phase", err);
    }
    return s;
}

static int run_as_rank(const char *mode)
{
    tutti_group_config c;
    tutti_failure err = {0};
    tutti_group *g = NULL;
    tutti_status s = tutti_group_config_from_env(&c, &err);
    const char host[2] = {getenv("TEST_HOSTS")[c.rank], '\0'};
    setenv("TUTTI_HOST_ID", host, 1);
    if (!s) s = tutti_group_join(&c, &g, &err);
    if (!s && !strcmp(mode, "calls"))
        s = control_calls(g, &err);
    else if (!s && !strcmp(mode, "long"))
        s = long_phase(g, &err);
    else if (!s)
        s = with_victim(g, mode, &err);
    say(s ? err.text : "fine");
    tutti_group_leave(g);
    return s;
}

/* --- as the test --- */

static void run_hosts(const char *mode, const char *hosts, int victim, outcome *o)
{
    char text[16];
    snprintf(text, sizeof text, "%d", victim);
    setenv("TEST_HOSTS", hosts, 1);
    setenv("TEST_VICTIM", text, 1);
    run_mode("test_ranks_hosts", mode, (int)strlen(hosts), o);
}

static const char *const layouts[] = {"ab", "aabb", "abcd", "aaab", "abba", "aabbb"};
enum { NLAYOUTS = sizeof layouts / sizeof layouts[0] };

static void ranks_of_several_hosts_find_each_other(void **state)
{
    (void)state;
    outcome o;
    for (int i = 0; i < NLAYOUTS; i++) {
        run_hosts("calls", layouts[i], -1, &o);
        for (int r = 0; layouts[i][r]; r++) expect_words(&o, r, "fine");
        assert_int_equal(o.exit_code, 0);
    }
}

static void a_killed_rank_is_named_by_the_ranks_of_all_hosts(void **state)
{
    (void)state;
    for (int victim = 0; victim < 4; victim++) {
        outcome o;
        char name[16];
        snprintf(name, sizeof name, "rank %d ", victim);
        run_hosts("die", victim % 2 ? "aabb" : "abba", victim, &o);
        for (int r = 0; r < 4; r++) {
            if (r == victim) continue;
            expect_words(&o, r, name);
            expect_words(&o, r, " died");
            assert_true(o.at[r] - o.at[victim] < 1);
        }
    }
}

static void an_abort_reaches_all_hosts(void **state)
{
    (void)state;
    for (int victim = 0; victim < 4; victim += 3) {
        outcome o;
        run_hosts("abort", "aabb", victim, &o);
        for (int r = 0; r < 4; r++) expect_words(&o, r, "ended the run: enough");
    }
}

static void who_has_left_is_not_called_dead(void **state)
{
    (void)state;
    for (int victim = 0; victim < 4; victim += 3) {
        outcome o;
        run_hosts("leave", "aabb", victim, &o);
        for (int r = 0; r < 4; r++) {
            if (r == victim) continue;
            if (strstr(o.heard[r], "died")) fail_msg("rank %d: %s", r, o.heard[r]);
            expect_words(&o, r, "has left");
        }
    }
}

static void a_stopped_rank_of_another_host_is_named_at_the_deadline(void **state)
{
    (void)state;
    outcome o;
    setenv("TUTTI_DEADLINE_S", "3", 1);
    run_hosts("stop", "aabb", 3, &o);
    unsetenv("TUTTI_DEADLINE_S");
    for (int r = 0; r < 3; r++) expect_words(&o, r, "not arrived: rank 3 ");
}

static void a_long_phase_stops_the_clocks_of_all_hosts(void **state)
{
    (void)state;
    outcome o;
    setenv("TUTTI_DEADLINE_S", "1", 1);
    run_hosts("long", "aab", -1, &o);
    unsetenv("TUTTI_DEADLINE_S");
    for (int r = 0; r < 3; r++) expect_words(&o, r, "fine");
}

int main(int argc, char **argv)
{
    if (is_rank(argc)) return run_as_rank(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_several_hosts_find_each_other),
        cmocka_unit_test(a_killed_rank_is_named_by_the_ranks_of_all_hosts),
        cmocka_unit_test(an_abort_reaches_all_hosts),
        cmocka_unit_test(who_has_left_is_not_called_dead),
        cmocka_unit_test(a_stopped_rank_of_another_host_is_named_at_the_deadline),
        cmocka_unit_test(a_long_phase_stops_the_clocks_of_all_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
