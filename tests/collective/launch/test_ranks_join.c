/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_join.c: how processes find each other: hundreds of them, some that never come, some that go, and too few
 * open files. */
#include "testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collective/group/group.h"
#include "collective/launch/join_impl.h"
#include "collective/rank_processes.h"

enum { MANY = 300 };

/* --- as a rank --- */

static void note(void *arg, const char *words)
{
    (void)arg;
    say(words);
}

static void limit_files(rlim_t soft, rlim_t hard)
{
    const struct rlimit limit = {soft, hard};
    if (setrlimit(RLIMIT_NOFILE, &limit)) say("cannot set the limit");
}

/* Every local socket that listens under a name of the kernel's choice, those of the ranks among them, is connected and
 * told nothing. Those that were accepted bear the name, too: another run of hundreds of ranks has tens of thousands of
 * them. */
static void disturb(void)
{
    char line[256], *name;
    FILE *all = fopen("/proc/net/unix", "re");
    while (all && fgets(line, sizeof line, all)) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        unsigned flags, listens = 1u << 16; /* __SO_ACCEPTCON */
        if (sscanf(line, "%*s %*x %*x %x", &flags) != 1 || !(flags & listens)) continue;
        if (!(name = strchr(line, '@')) || strlen(name) != 7) continue;
        memcpy(address.sun_path + 1, name + 1, 5);
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
        (void)!connect(fd, (struct sockaddr *)&address, sizeof(sa_family_t) + 6);
    }
    if (all) fclose(all);
}

/* A port that is taken and where nobody listens. Rank 0's own would do only once its process has ended. */
static int port_of_nobody(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, length) || getsockname(fd, (struct sockaddr *)&address, &length))
        say("cannot take a port");
    return ntohs(address.sin_port);
}

/* Rank 1 belongs to an earlier epoch at first, and joins again by the words that it hears. */
static int join_by_epoch(void)
{
    tutti_group_config c;
    tutti_failure err = {0};
    tutti_group *g = NULL;
    tutti_status s = tutti_group_config_from_env(&c, &err);
    c.fingerprint = "";
    if (!s && c.rank == 1) {
        if (tutti_group_join(&c, &g, &err) != TUTTI_ERR_RENDEZVOUS) say("an earlier epoch has joined");
        say(err.text);
    }
    c.epoch = 7;
    if (!s) s = tutti_group_join(&c, &g, &err);
    if (!s) s = tutti_group_barrier(g, "all are here", &err);
    say(s ? err.text : "fine");
    if (g) tutti_group_leave(g);
    return s;
}

static int run_as_rank(const char *mode)
{
    if (!strcmp(mode, "epochs")) return join_by_epoch();
    tutti_group_config c;
    tutti_failure err = {0};
    tutti_group *g = NULL;
    tutti_status s = tutti_group_config_from_env(&c, &err);
    if (!strcmp(mode, "late") && c.rank == 1) pause();
    if (!strcmp(mode, "gone") && c.rank == 1) tutti_clock_sleep_s(60);
    if (!strcmp(mode, "gone") && c.rank == 2) ualarm(500000, 0); /* SIGALRM ends the process */
    if (!strcmp(mode, "alone")) unsetenv("TUTTI_MASTER_FD"), c.master_fd = -1;
    if (!strcmp(mode, "alone") && c.rank == 0) return 0;
    if (!strcmp(mode, "alone")) c.master_port = port_of_nobody();
    if (!strcmp(mode, "few files")) limit_files(20, 20);
    if (!strcmp(mode, "soft limit")) limit_files(20, 4096);
    if (!strcmp(mode, "strangers") && c.rank == 0) tutti_clock_sleep_s(0.2), disturb();
    if (!strcmp(mode, "late") || !strcmp(mode, "alone")) c.notice = note;
    if (!s) s = tutti_group_join(&c, &g, &err);
    if (!s) s = tutti_group_barrier(g, "all are here", &err);
    if (s || c.rank < 16) say(s ? err.text : "fine");
    tutti_group_leave(g);
    return s;
}

/* --- as the test --- */

static void hundreds_of_ranks_of_one_host_join(void **state)
{
    (void)state;
    outcome o;
    if (TESTING_SANITIZED) setenv("TUTTI_DEADLINE_S", "300", 1); /* 248 of them had come after 60 s on a busy machine */
    run_mode("test_ranks_join", "join", MANY, &o);
    unsetenv("TUTTI_DEADLINE_S");
    if (o.exit_code) fail_msg("exit %d: %.600s; rank 0: %s", o.exit_code, o.words, o.heard[0]);
    for (int r = 0; r < 16; r++) expect_words(&o, r, "fine");
}

static void test_f27_who_connects_and_says_nothing_holds_nobody_up(void **state)
{
    (void)state;
    outcome o;
    run_mode("test_ranks_join", "strangers", 4, &o);
    if (o.exit_code) fail_msg("exit %d: %.600s; rank 0: %s", o.exit_code, o.words, o.heard[0]);
}

static void test_f07_ranks_of_two_epochs_do_not_join(void **state)
{
    (void)state;
    outcome o;
    run_mode("test_ranks_join", "epochs", 3, &o);
    if (o.exit_code) fail_msg("exit %d: %.600s; rank 0: %s", o.exit_code, o.words, o.heard[0]);
    assert_non_null(strstr(o.first[1], "epoch 7 of the group gathers here, and rank 1 (host "));
    assert_non_null(strstr(o.first[1], "is of epoch 1"));
    for (int r = 0; r < 3; r++) expect_words(&o, r, "fine");
}

static void who_is_waited_for_is_told_after_seconds(void **state)
{
    (void)state;
    outcome o;
    setenv("TUTTI_DEADLINE_S", "2.5", 1);
    run_mode("test_ranks_join", "late", 3, &o);
    assert_int_equal(o.exit_code, TUTTI_ERR_RENDEZVOUS);
    assert_non_null(strstr(o.first[0], "waits on port"));
    assert_non_null(strstr(o.first[0], "not arrived: rank 1"));
    expect_words(&o, 0, "waited 2.5 s");
    setenv("TUTTI_DEADLINE_S", "8", 1);
    run_mode("test_ranks_join", "alone", 2, &o);
    unsetenv("TUTTI_DEADLINE_S");
    assert_int_equal(o.exit_code, TUTTI_ERR_RENDEZVOUS);
    assert_non_null(strstr(o.first[1], "cannot reach rank 0 at 127.0.0.1"));
    assert_non_null(strstr(o.first[1], "yet (Connection refused)"));
}

/* Without a notice, and behind the time of the only one. */
static void who_has_nothing_to_tell_sleeps_until_the_deadline(void **state)
{
    (void)state;
    const tutti_group_config config = {.deadline_s = 10};
    tutti_joining j = {.config = &config};
    tutti_join_begin_wait(&j, 0.2);
    assert_in_range(tutti_join_slice_ms(&j), 1, 201);
    tutti_join_begin_wait(&j, 0);
    assert_false(tutti_join_is_time_to_tell(&j));
    assert_in_range(tutti_join_slice_ms(&j), 500, 1001);
    assert_false(tutti_join_is_late(&j));
}

static void a_rank_that_goes_while_others_are_to_come_ends_the_rendezvous(void **state)
{
    (void)state;
    outcome o;
    const double began = tutti_clock_s();
    run_mode("test_ranks_join", "gone", 4, &o);
    assert_int_equal(o.exit_code, 128 + SIGALRM);
    for (int r = 0; r < 4; r += 3) {
        expect_words(&o, r, "rank 2 (host");
        expect_words(&o, r, "is gone");
        assert_true(o.at[r] - began < (TESTING_SANITIZED ? 20 : 2)); /* rank 1 would come after 60 s */
    }
}

static void test_f18_too_few_open_files_are_named_and_a_soft_limit_is_raised(void **state)
{
    (void)state;
    outcome o;
    run_mode("test_ranks_join", "few files", 2, &o);
    assert_int_equal(o.exit_code, TUTTI_ERR_RENDEZVOUS);
    expect_words(&o, 0, "open files, and the hard limit is 20 (ulimit -Hn)");
    run_mode("test_ranks_join", "soft limit", 12, &o);
    if (o.exit_code) fail_msg("exit %d: %.600s; rank 0: %s", o.exit_code, o.words, o.heard[0]);
}

int main(int argc, char **argv)
{
    if (is_rank(argc)) return run_as_rank(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hundreds_of_ranks_of_one_host_join),
        cmocka_unit_test(test_f27_who_connects_and_says_nothing_holds_nobody_up),
        cmocka_unit_test(test_f07_ranks_of_two_epochs_do_not_join),
        cmocka_unit_test(who_is_waited_for_is_told_after_seconds),
        cmocka_unit_test(who_has_nothing_to_tell_sleeps_until_the_deadline),
        cmocka_unit_test(a_rank_that_goes_while_others_are_to_come_ends_the_rendezvous),
        cmocka_unit_test(test_f18_too_few_open_files_are_named_and_a_soft_limit_is_raised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
