/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_hosts.c: groups over several hosts, made on one machine by TUTTI_HOST_ID (take_host). The
 * same ranks run on hosts that are namespaces (tests/hosts/test_hosts.py), without TEST_HOSTS. */
#include "testing.h"

#include <signal.h>

#include <fcntl.h>

#include "base/host/pages.h"
#include "collective/exact_sums.h"
#include "collective/group/group_impl.h"
#include "collective/rank_processes.h"
#include "collective/wire/tcp_impl.h"

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

static void say_notice(void *arg, const char *words)
{
    char text[1100];
    (void)arg;
    snprintf(text, sizeof text, "notice: %s", words);
    say(text);
    tutti_clock_sleep_s(17); /* ranks of the same host notice sooner than others, who must not see them end */
    _exit(0);
}

static tutti_status wires_of(const tutti_group *g, char words[300])
{
    snprintf(words, 300, "%d hosts over %s", tutti_group_nhosts(g), tutti_group_wires(g));
    return TUTTI_OK;
}

/* What the system knows of memory at `at`: "shared", or "private, huge" where huge pages were asked for. */
static void describe_memory(const void *at, char words[300])
{
    char line[600];
    bool inside = false;
    FILE *f = fopen("/proc/self/smaps", "re");
    strcpy(words, "nothing");
    while (f && fgets(line, sizeof line, f)) {
        unsigned long first, end;
        char rights[5] = "";
        if (sscanf(line, "%lx-%lx %4s", &first, &end, rights) == 3) {
            inside = (uintptr_t)at >= first && (uintptr_t)at < end;
            if (inside) strcpy(words, rights[3] == 's' ? "shared" : "private");
        } else if (inside && !strncmp(line, "VmFlags:", 8) && strstr(line, " hg"))
            strcat(words, ", huge");
    }
    if (f) fclose(f);
}

static tutti_status pages_of_a_region(tutti_group *g, char words[300], tutti_failure *err)
{
    tutti_region *region = NULL;
    const tutti_status s = tutti_region_create(g, "region", 8 << 20, &region, err);
    if (!s) describe_memory(tutti_region_base(region, tutti_group_rank(g)), words);
    tutti_region_destroy(region);
    return s;
}

/* The connection to `rank` is reset as a network resets it: neither side has asked for it. */
static void reset_connection(tutti_group *g, int rank)
{
    const struct linger now = {1, 0};
    const int nothing = open("/dev/null", O_RDWR);
    tutti_group_lock(g);
    const int fd = ((tcp_wire *)g->wire)->peers[rank].connections[0].source.fd;
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) || dup2(nothing, fd) < 0) say("cannot reset");
    tutti_group_unlock(g);
    close(nothing);
}

/* Until the wire has seen that its connection to `rank` is broken. */
static void await_reset(tutti_group *g, int rank)
{
    const double until = tutti_clock_s() + 30;
    for (bool broken = false; !broken && tutti_clock_s() < until; tutti_clock_sleep_s(1e-3)) {
        tutti_group_lock(g);
        broken = g->wire->broken[rank][0];
        tutti_group_unlock(g);
    }
}

/* Sums of long vectors, in the middle of one of which rank 0 loses its connection to the last rank, which says only
 * then that its memory may be written: so neither can have ended before. */
static tutti_status losing_sum(tutti_group *g, tutti_failure *err)
{
    enum { LONGER = 20000000 };
    exact_sum s = {0};
    bool done = false;
    tutti_status status = open_sum(g, "direct", false, LONGER, &s, err);
    if (!status) status = run_sum(g, &s, false, LONGER, 1, false, err);
    const bool acts = tutti_group_rank(g) == 0;
    if (!status) tutti_exchange_start(s.x, acts ? TUTTI_WHEN_READY | TUTTI_WHEN_FREE : TUTTI_WHEN_READY);
    if (!status && acts) {
        tutti_clock_sleep_s(0.02);
        status = tutti_exchange_test(s.x, &done, err);
        say(done ? "too late" : "acts");
        reset_connection(g, tutti_group_nranks(g) - 1);
    }
    const double reset_s = tutti_clock_s();
    if (!status && !acts) await_reset(g, 0);
    if (!status && !acts) tutti_exchange_tell(s.x, TUTTI_WHEN_FREE);
    if (!status) status = tutti_exchange_wait(s.x, err);
    if (status && tutti_clock_s() - reset_s < 5) tutti_fail_at(err, "in time");
    close_sum(&s);
    return status;
}

/* One rank (who = -1: nobody) kills or stops itself between two sums. */
static tutti_status dying_sum(tutti_group *g, int who, bool stops, tutti_failure *err)
{
    exact_sum s = {0};
    const bool victim = tutti_group_rank(g) == who;
    tutti_status status = open_sum(g, "ring", false, N, &s, err);
    for (int e = 0; e < 100000 && !status; e++) {
        if (victim && e == 20) {
            say("acts");
            raise(stops ? SIGSTOP : SIGKILL);
        }
        status = run_sum(g, &s, false, N, e % 50, false, err);
    }
    close_sum(&s);
    return status;
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

/* One rank is busy for longer than the deadline, and says how far it is. */
static tutti_status long_phase(tutti_group *g, tutti_failure *err)
{
    tutti_status s = TUTTI_OK;
    for (int r = 0; r < tutti_group_nranks(g) && !s; r++) {
        if (r == tutti_group_rank(g)) {
            tutti_group_long_phase_begin(g, "writes", "files");
            for (int i = 0; i < 50; i++) {
                tutti_clock_sleep_s(0.05);
                (void)tutti_group_progress(g, i, 50);
            }
            tutti_group_long_phase_end(g);
        }
        s = tutti_group_barrier(g, "after the long phase", err);
    }
    return s;
}

/* The variable has our number. */
static bool is_meant(const char *variable)
{
    const char *rank = getenv(variable);
    return rank && !strcmp(rank, getenv("RANK"));
}

static int run_as_rank(const char *mode)
{
    tutti_group_config c;
    tutti_failure err = {0};
    tutti_group *g = NULL;
    take_host();
    if (is_meant("TEST_WITHOUT_UCX")) setenv("TUTTI_UCX_LIBRARY", "/nowhere/libucp.so.0", 1);
    if (is_meant("TEST_OTHER_WIRE")) setenv("TUTTI_WIRE", "tcp", 1);
    tutti_status s = tutti_group_config_from_env(&c, &err);
    char words[300] = "fine";
    if (!s) s = tutti_group_join(&c, &g, &err);
    if (!s && !strcmp(mode, "calls"))
        s = control_calls(g, &err);
    else if (!s && !strcmp(mode, "long"))
        s = long_phase(g, &err);
    else if (!s && !strcmp(mode, "sums"))
        s = all_sums(g, &err);
    else if (!s && !strcmp(mode, "wires"))
        s = wires_of(g, words);
    else if (!s && !strcmp(mode, "pages"))
        s = pages_of_a_region(g, words, &err);
    else if (!s && !strcmp(mode, "losing"))
        s = losing_sum(g, &err);
    else if (!s && !strcmp(mode, "counted"))
        s = counted_sum(g, words, &err);
    else if (!s && !strcmp(mode, "summing"))
        s = dying_sum(g, -1, false, &err);
    else if (!s && (strstr(mode, "-summing") || !strcmp(mode, "notice"))) {
        if (!strcmp(mode, "notice")) tutti_group_on_silence(g, say_notice, NULL);
        s = dying_sum(g, (int)strtol(getenv("TEST_VICTIM"), NULL, 10), strcmp(mode, "die-summing") != 0, &err);
    } else if (!s)
        s = with_victim(g, mode, &err);
    say(s ? err.text : words);
    tutti_group_leave(g);
    return s;
}

/* --- as the test --- */

static void run_hosts(const char *mode, const char *hosts, int victim, outcome *o)
{
    char text[16];
    snprintf(text, sizeof text, "%d", victim);
    setenv("TEST_VICTIM", text, 1);
    run_on_hosts("test_ranks_hosts", mode, hosts, o);
}

static const char *const layouts[] = {"aabb", "abcd", "aaab", "aabbb"};
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

/* Shared memory is mostly refused huge pages (shmem_enabled), and copies out of sockets into small ones take a quarter
 * longer. */
static void memory_that_no_peer_maps_is_private_in_huge_pages(void **state)
{
    (void)state;
    outcome o;
    run_hosts("pages", "aab", -1, &o);
    for (int r = 0; r < 2; r++) expect_words(&o, r, "shared");
    expect_words(&o, 2, tutti_pages_are_huge() ? "private, huge" : "private");
}

static void every_algorithm_sums_exactly_over_every_wire_between_hosts(void **state)
{
    (void)state;
    outcome o;
    for (int wire = 0; take_wire(wire); wire++)
        for (int i = 0; i < NLAYOUTS; i++) {
            run_hosts("sums", layouts[i], -1, &o);
            for (int r = 0; layouts[i][r]; r++) expect_words(&o, r, "fine");
            assert_int_equal(o.exit_code, 0);
        }
}

/* tcp receives in place, and so does ucx where a transport fetches what is put; over TCP it copies the pieces where
 * they arrive. */
static void copies_at_the_target_are_counted(void **state)
{
    (void)state;
    outcome o;
    setenv("TEST_ALGORITHM", "direct", 1);
    for (int wire = 0; take_wire(wire); wire++) {
        long long put = 0, copied = -1, here = -1;
        run_hosts("counted", "ab", -1, &o);
        expect_words(&o, 0, "fine, ");
        assert_int_equal(
            sscanf(strstr(o.heard[0], "fine, "), "fine, %lld bytes put, %lld copied; here %lld", &put, &copied, &here),
            3);
        assert_true(put > 0);
        const bool in_pieces = !strcmp(getenv("TUTTI_WIRE"), "ucx") && !getenv("TEST_SHARES_MEMORY");
        assert_int_equal(copied, in_pieces ? put : 0);
        assert_int_equal(here, copied); /* both ranks put the same */
    }
    unsetenv("TEST_ALGORITHM");
}

/* TUTTI_WIRE: nobody maps anything, every rank counts as a host. */
static void a_wire_can_be_asked_for_on_one_host(void **state)
{
    (void)state;
    outcome o;
    for (int wire = 0; take_wire(wire); wire++) {
        run_hosts("sums", "aaa", -1, &o);
        for (int r = 0; r < 3; r++) expect_words(&o, r, "fine");
        run_hosts("wires", "aaa", -1, &o);
        for (int r = 0; r < 3; r++) expect_words(&o, r, "3 hosts over ");
        if (getenv("TEST_SHARES_MEMORY")) {
            expect_words(&o, 0, "cma, one-sided)");
            continue;
        }
        run_hosts("wires", "aab", -1, &o); /* between hosts it is what joins them, and no more */
        for (int r = 0; r < 3; r++) expect_words(&o, r, "2 hosts over shm and ");
    }
    setenv("TUTTI_WIRE", "ucz", 1);
    run_hosts("sums", "aa", -1, &o);
    expect_words(&o, 0, "TUTTI_WIRE='ucz' is not a wire; did you mean 'ucx'?");
    setenv("TUTTI_WIRE", "shm", 1);
    run_hosts("sums", "ab", -1, &o);
    expect_words(&o, 0, "the wire shm does not join them");
    unsetenv("TUTTI_WIRE");
}

/* Every wire that there is was measured, all ranks took the same, and say so; what one rank lacks nobody has. */
static void auto_takes_the_faster_wire_by_measurement(void **state)
{
    (void)state;
    outcome o;
    setenv("TUTTI_WIRE", "auto", 1);
    run_hosts("wires", "aa", -1, &o);
    expect_words(&o, 0, "1 hosts over shm");
    unsetenv("TUTTI_WIRE");
    bool all_there = true;
    for (int wire = 0; take_wire(wire); wire++) all_there = wire > 0;
    run_hosts("wires", "abb", -1, &o);
    expect_words(&o, 0, "2 hosts over shm and ");
    expect_words(&o, 0, "1 MiB took tcp ");
    if (all_there) expect_words(&o, 0, " ms, ucx ");
    for (int r = 1; r < 3; r++) assert_string_equal(strchr(o.heard[r], '('), strchr(o.heard[0], '('));
    setenv("TEST_OTHER_WIRE", "1", 1);
    run_hosts("wires", "ab", -1, &o);
    for (int r = 0; r < 2; r++) expect_words(&o, r, "wire (TUTTI_WIRE): rank 0 has auto, rank 1 ");
    unsetenv("TEST_OTHER_WIRE");
    setenv("TEST_WITHOUT_UCX", "1", 1);
    run_hosts("wires", "abb", -1, &o);
    for (int r = 0; r < 3; r++) {
        expect_words(&o, r, "2 hosts over shm and tcp (");
        assert_null(strstr(o.heard[r], "ucx"));
    }
    setenv("TUTTI_WIRE", "ucx", 1);
    run_hosts("wires", "abb", -1, &o);
    if (all_there)
        for (int r = 0; r < 3; r++) expect_words(&o, r, "install libucx0, or set TUTTI_UCX_LIBRARY");
    unsetenv("TUTTI_WIRE");
    unsetenv("TEST_WITHOUT_UCX");
}

static void who_dies_or_stops_in_an_exchange_between_hosts_is_named(void **state)
{
    (void)state;
    outcome o;
    for (int wire = 0; take_wire(wire); wire++) {
        for (int victim = 0; victim < 4; victim += 3) {
            char name[16];
            snprintf(name, sizeof name, "rank %d ", victim);
            run_hosts("die-summing", "aabb", victim, &o);
            for (int r = 0; r < 4; r++) {
                if (r == victim) continue;
                expect_words(&o, r, name);
                expect_words(&o, r, " died");
                expect_words(&o, r, "exchange 'sum'");
                assert_true(o.at[r] - o.at[victim] < 1);
            }
        }
        setenv("TUTTI_DEADLINE_S", "3", 1);
        run_hosts("stop-summing", "aabb", 2, &o);
        unsetenv("TUTTI_DEADLINE_S");
        for (int r = 0; r < 4; r++)
            if (r != 2) expect_words(&o, r, "not arrived: rank 2 ");
    }
}

static void test_f21_ranks_between_which_a_connection_is_reset_name_each_other(void **state)
{
    (void)state;
    outcome o;
    setenv("TUTTI_WIRE", "tcp", 1);
    run_hosts("losing", "ab", -1, &o);
    unsetenv("TUTTI_WIRE");
    assert_int_equal(o.exit_code, TUTTI_ERR_PEER);
    for (int r = 0; r < 2; r++) expect_words(&o, r, "in time: rank ");
    for (int r = 0; r < 2; r++) expect_words(&o, r, "exchange 'sum' (direct, invocation 1): step");
    for (int r = 0; r < 2; r++) expect_words(&o, r, "the wire to rank "); /* one of the two is the first to say so */
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
        cmocka_unit_test(memory_that_no_peer_maps_is_private_in_huge_pages),
        cmocka_unit_test(every_algorithm_sums_exactly_over_every_wire_between_hosts),
        cmocka_unit_test(copies_at_the_target_are_counted),
        cmocka_unit_test(a_wire_can_be_asked_for_on_one_host),
        cmocka_unit_test(auto_takes_the_faster_wire_by_measurement),
        cmocka_unit_test(who_dies_or_stops_in_an_exchange_between_hosts_is_named),
        cmocka_unit_test(test_f21_ranks_between_which_a_connection_is_reset_name_each_other),
        cmocka_unit_test(a_long_phase_stops_the_clocks_of_all_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
