/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_comm.c: communicators of processes, on one host and on several (take_host): by whose figures algorithms
 * are chosen, and memory of ranks that is not mapped: written, read, given up, of ranks that die. */
#include "testing.h"

#include <pthread.h>
#include <signal.h>

#include "rank_processes.h"
#include "transfer_bodies.h"

/* --- as a rank --- */

static char words[1200]; /* what a rank says */

/* The bound of a call in memory that all map. */
static const char *explain_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    float *memory;
    (void)arg;
    EXPECT(!tutti_comm_alloc(comm, 2 << 20, (void **)&memory, &err));
    const tutti_call call = {.in = memory, .out = memory + (1 << 18), .count = 1 << 18};
    char *text = tutti_comm_explain(comm, &call), *bound = strstr(text, "bound: ");
    EXPECT(bound);
    snprintf(words, sizeof words, "%.*s", (int)strcspn(bound, "\n"), bound);
    free(text);
    return words;
}

/* Rank 0 gives up an allocation that rank 1 still wants to read: that call fails, the communicator does not. */
static const char *given_up_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    uint64_t *kept, *given_up, got = 0;
    (void)arg;
    EXPECT(!tutti_comm_alloc(comm, 64, (void **)&kept, &err));
    EXPECT(!tutti_comm_alloc(comm, 64, (void **)&given_up, &err));
    kept[1] = 7;
    EXPECT(!tutti_comm_barrier(comm, &err));
    if (tutti_comm_rank(comm) == 0) {
        EXPECT(!tutti_comm_free(comm, given_up, &err));
        EXPECT(!tutti_comm_signal(comm, 1, kept, 1, &err));
    } else {
        EXPECT(!tutti_comm_await(comm, kept, 1, 0, &err));
        EXPECT(tutti_comm_read(comm, 0, &got, given_up, sizeof got, &err) == TUTTI_ERR_USAGE);
        EXPECT(strstr(err.text, "read: rank 0 (host ") && strstr(err.text, "given up that memory"));
        EXPECT(!tutti_comm_read(comm, 0, &got, kept + 1, sizeof got, &err) && got == 7);
        EXPECT(!tutti_comm_free(comm, given_up, &err));
    }
    EXPECT(!tutti_comm_barrier(comm, &err));
    return NULL;
}

/* Rank 0 makes no call for a second: rank 1 has read before that is over. */
static const char *busy_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    struct {
        uint64_t woken, filler[1 << 18];
    } * m, *got = calloc(1, sizeof *got);
    (void)arg;
    EXPECT(!tutti_comm_alloc(comm, sizeof *m, (void **)&m, &err));
    EXPECT(!tutti_comm_barrier(comm, &err));
    if (tutti_comm_rank(comm) == 0) {
        tutti_clock_sleep_s(1);
        m->woken = 1;
    } else {
        EXPECT(!tutti_comm_read(comm, 0, got, m, sizeof *m, &err));
        EXPECT(!got->woken);
    }
    EXPECT(!tutti_comm_barrier(comm, &err));
    free(got);
    return NULL;
}

/* Rank 0 is gone before rank 1 reads. */
static const char *left_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    uint64_t *word, got;
    (void)arg;
    EXPECT(!tutti_comm_alloc(comm, 64, (void **)&word, &err));
    if (tutti_comm_rank(comm) == 0) {
        EXPECT(!tutti_comm_signal(comm, 1, word, 1, &err));
        return NULL;
    }
    EXPECT(!tutti_comm_await(comm, word, 1, 0, &err));
    tutti_clock_sleep_s(0.3);
    EXPECT(tutti_comm_read(comm, 0, &got, word, sizeof got, &err) == TUTTI_ERR_PEER);
    snprintf(words, sizeof words, "%s", err.text);
    return words;
}

static void *act_soon(void *arg)
{
    tutti_clock_sleep_s(0.2);
    say("acts");
    raise(*(const int *)arg);
    return NULL;
}

/* Rank TEST_VICTIM gets a signal while bytes are on their way. */
static const char *reading_body(tutti_comm *comm, void *arg)
{
    enum { LONG = 1 << 23 };
    const bool victim = tutti_comm_rank(comm) == (int)strtol(getenv("TEST_VICTIM"), NULL, 10);
    tutti_failure err = {0};
    char *memory;
    pthread_t actor;
    EXPECT(!tutti_comm_alloc(comm, LONG, (void **)&memory, &err));
    EXPECT(!tutti_comm_barrier(comm, &err));
    if (victim && pthread_create(&actor, NULL, act_soon, arg)) return "no thread";
    return read_until_over(comm, memory, LONG, words);
}

static int run_as_rank(const char *mode)
{
    static int kill = SIGKILL, stop = SIGSTOP;
    static const struct {
        const char *mode;
        comm_body body;
        void *arg;
    } modes[] = {{"explain", explain_body, NULL}, {"static", static_body, NULL},   {"dynamic", dynamic_body, NULL},
                 {"echo", echo_body, NULL},       {"refused", refused_body, NULL}, {"given-up", given_up_body, NULL},
                 {"busy", busy_body, NULL},       {"left", left_body, NULL},       {"killed", reading_body, &kill},
                 {"stopped", reading_body, &stop}};
    tutti_failure err = {0};
    tutti_comm *comm = NULL;
    const char *said = NULL;
    take_host();
    if (tutti_comm_create_from_env(&comm, &err)) said = err.text;
    for (size_t i = 0; i < sizeof modes / sizeof *modes && !said; i++)
        if (!strcmp(modes[i].mode, mode)) said = modes[i].body(comm, modes[i].arg);
    say(said ? said : "fine");
    tutti_comm_destroy(comm);
    return said != NULL;
}

/* --- as the test --- */

static void run_comm_on(const char *mode, const char *hosts, int victim, outcome *o)
{
    char text[16];
    snprintf(text, sizeof text, "%d", victim);
    setenv("TEST_VICTIM", text, 1);
    run_on_hosts("test_ranks_comm", mode, hosts, o);
}

static void must_be_fine(const char *mode, const char *hosts)
{
    outcome o;
    run_comm_on(mode, hosts, -1, &o);
    for (int r = 0; hosts[r]; r++) expect_words(&o, r, "fine");
    assert_int_equal(o.exit_code, 0);
}

static void must_be_fine_over_each_wire(const char *mode, const char *hosts)
{
    for (int wire = 0; take_wire(wire); wire++) must_be_fine(mode, hosts);
}

static void what_a_call_would_take_is_by_the_figures_of_what_joins_the_ranks(void **state)
{
    (void)state;
    outcome near, far;
    run_on_hosts("test_ranks_comm", "explain", "aa", &near);
    run_on_hosts("test_ranks_comm", "explain", "ab", &far);
    expect_words(&near, 0, "bound: ");
    expect_words(&far, 0, "bound: ");
    assert_string_not_equal(near.heard[0], far.heard[0]);
}

static void static_placement_works_between_hosts(void **state)
{
    (void)state;
    must_be_fine_over_each_wire("static", "ab");
    must_be_fine_over_each_wire("static", "aba");
}

static void dynamic_placement_works_on_a_host_and_between_hosts(void **state)
{
    (void)state;
    must_be_fine("dynamic", "aa");
    must_be_fine_over_each_wire("dynamic", "ab");
}

static void who_reads_from_another_host_sees_what_it_wrote_before(void **state)
{
    (void)state;
    must_be_fine_over_each_wire("echo", "ab");
    setenv("UCX_TLS", "tcp,self", 1); /* long writes land after what follows them */
    setenv("TUTTI_NET_CONNECTIONS", "4", 1);
    must_be_fine_over_each_wire("echo", "ab");
    unsetenv("TUTTI_NET_CONNECTIONS");
    unsetenv("UCX_TLS");
}

static void who_computes_is_read_all_the_same(void **state)
{
    (void)state;
    must_be_fine_over_each_wire("busy", "ab");
}

static void bad_places_are_refused_and_waits_have_deadlines_between_hosts(void **state)
{
    (void)state;
    must_be_fine_over_each_wire("refused", "ab");
}

static void memory_that_is_given_up_is_not_read(void **state)
{
    (void)state;
    must_be_fine_over_each_wire("given-up", "ab");
}

static void a_rank_that_has_left_is_not_waited_for(void **state)
{
    (void)state;
    for (int wire = 0; take_wire(wire); wire++) {
        outcome o;
        run_comm_on("left", "ab", -1, &o);
        expect_words(&o, 0, "fine");
        expect_words(&o, 1, "waited for 8 bytes of rank 0 ");
        expect_words(&o, 1, "it has left the group");
    }
}

/* Whoever dies, the one that reads or the one that is read: all others live to name it. */
static void who_dies_while_bytes_are_read_is_named_by_all(void **state)
{
    (void)state;
    for (int k = 0; take_wire(k / 3); k++) {
        const int victim = k % 3;
        outcome o;
        char name[16];
        snprintf(name, sizeof name, "rank %d ", victim);
        run_comm_on("killed", "abc", victim, &o);
        for (int r = 0; r < 3; r++) {
            if (r == victim) continue;
            expect_words(&o, r, name);
            expect_words(&o, r, " died");
            assert_true(o.at[r] - o.at[victim] < 1);
        }
    }
}

static void a_stopped_rank_that_is_read_is_named_at_the_deadline(void **state)
{
    (void)state;
    for (int wire = 0; take_wire(wire); wire++) {
        outcome o;
        setenv("TUTTI_DEADLINE_S", "1", 1);
        run_comm_on("stopped", "abc", 1, &o);
        unsetenv("TUTTI_DEADLINE_S");
        for (int r = 0; r < 3; r += 2) {
            expect_words(&o, r, "waited for 8388608 bytes of rank 1 ");
            expect_words(&o, r, "the deadline of 1 s has passed");
        }
    }
}

int main(int argc, char **argv)
{
    if (is_rank(argc)) return run_as_rank(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_call_would_take_is_by_the_figures_of_what_joins_the_ranks),
        cmocka_unit_test(static_placement_works_between_hosts),
        cmocka_unit_test(dynamic_placement_works_on_a_host_and_between_hosts),
        cmocka_unit_test(who_reads_from_another_host_sees_what_it_wrote_before),
        cmocka_unit_test(who_computes_is_read_all_the_same),
        cmocka_unit_test(bad_places_are_refused_and_waits_have_deadlines_between_hosts),
        cmocka_unit_test(memory_that_is_given_up_is_not_read),
        cmocka_unit_test(a_rank_that_has_left_is_not_waited_for),
        cmocka_unit_test(who_dies_while_bytes_are_read_is_named_by_all),
        cmocka_unit_test(a_stopped_rank_that_is_read_is_named_at_the_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
