/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_launch.c: the launcher with shell scripts as ranks: exit codes, blame, signals, nothing left behind. */
#include "testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "collective/launch/launch.h"

static tutti_launch_result launch(int nranks, double grace_s, const char *script)
{
    const tutti_launch_options options = {.nranks = nranks, .grace_s = grace_s, .program = "/bin/sh"};
    char *argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
    tutti_launch_result result = {0};
    tutti_failure err = {0};
    assert_int_equal(tutti_launch(&options, argv, &result, &err), TUTTI_OK);
    return result;
}

static void check(int nranks, const char *script, int code, const char *words)
{
    tutti_launch_result result = launch(nranks, 0.3, script);
    if (result.exit_code != code || !strstr(result.words, words))
        fail_msg("%s: code %d, not %d; words: %s", script, result.exit_code, code, result.words);
    free(result.words);
}

static void ranks_see_torchruns_variables(void **state)
{
    (void)state;
    check(3,
          "test $WORLD_SIZE = 3 && test $LOCAL_WORLD_SIZE = 3 && test $RANK = $LOCAL_RANK && test $RANK -lt 3 && "
          "test $MASTER_ADDR = 127.0.0.1 && test $MASTER_PORT -gt 0 && test ${#TUTTI_COOKIE} = 32 && "
          "if test $RANK = 0; then test -e /proc/self/fd/$TUTTI_MASTER_FD; else test -z \"$TUTTI_MASTER_FD\"; fi",
          0, "");
}

/* What is set here lasts. */
static tutti_status set_own(void *arg, int rank, tutti_failure *err)
{
    if (rank == *(const int *)arg) return tutti_fail(err, TUTTI_ERR_USAGE, "not this one");
    setenv("OWN", rank ? "one" : "zero", 1);
    return TUTTI_OK;
}

static void a_rank_is_prepared_before_it_is_the_program(void **state)
{
    (void)state;
    int nobody = -1, second = 1;
    char *argv[] = {"sh", "-c", "case $RANK$OWN in 0zero) exit 0;; 1one) exit 3;; esac; exit 9", NULL};
    tutti_launch_options options = {.nranks = 2, .program = "/bin/sh", .prepare = set_own, .prepare_arg = &nobody};
    tutti_launch_result result = {0};
    tutti_failure err = {0};
    assert_int_equal(tutti_launch(&options, argv, &result, &err), TUTTI_OK);
    assert_int_equal(result.exit_code, 3);
    free(result.words);
    options.prepare_arg = &second;
    assert_int_equal(tutti_launch(&options, argv, &result, &err), TUTTI_OK);
    assert_int_equal(result.exit_code, TUTTI_ERR_USAGE);
    assert_non_null(strstr(result.words, "rank 1 "));
    free(result.words);
}

static void the_first_failure_in_time_is_the_cause(void **state)
{
    (void)state;
    check(2, "test $RANK = 1 || exit 0; exit 3", 3, "rank 1 ");
    check(3, "if test $RANK = 2; then sleep 0.1; exit 1; else exit 4; fi", 1, "rank 2 ");
    check(3, "if test $RANK = 2; then kill -9 $$; else exit 4; fi", 137, "rank 2 ");
    check(3, "if test $RANK = 2; then kill -9 $$; else exit 4; fi", 137, "ended with 4 (peer lost)");
    check(2, "exit 4", 4, "(peer lost)");
}

static void test_f08_a_segmentation_fault_is_the_cause_before_its_echoes(void **state)
{
    (void)state;
    check(3, "if test $RANK = 2; then kill -SEGV $$; else exit 4; fi", 139, "rank 2 ");
    check(3, "if test $RANK = 2; then kill -SEGV $$; else exit 4; fi", 139, "was killed by signal 11 (Segmentation");
    check(2, "if test $RANK = 0; then kill -BUS $$; else exit 4; fi", 128 + SIGBUS, "rank 0 ");
}

static void the_others_are_killed_after_the_grace(void **state)
{
    (void)state;
    double begin = tutti_clock_s();
    check(3, "test $RANK = 1 && exit 2; sleep 30 & wait", 2, "has been killed");
    assert_true(tutti_clock_s() - begin < 5);
}

/* The others wait until rank 0 has said that it does without them. */
#define BORNE                                                                                                          \
    "if test $RANK = 0; then echo b > /proc/self/fd/$TUTTI_LAUNCHER_FD && : > $TEST_SAID; "                            \
    "else test -z \"$TUTTI_LAUNCHER_FD\" && while ! test -e $TEST_SAID; do sleep 0.02; done; fi; "
/* Rank 2 ends; rank 0 goes on when it has been seen to. */
#define TWO_ENDS(how)                                                                                                  \
    "if test $RANK = 2; then echo $$ > $TEST_SAID.2 && mv $TEST_SAID.2 $TEST_SAID.pid; " how "; fi; "                  \
    "if test $RANK = 0; then until test -e $TEST_SAID.pid && ! kill -0 $(cat $TEST_SAID.pid) 2>/dev/null; do "         \
    "sleep 0.02; done; rm $TEST_SAID.pid; fi; "

/* Rank 0 says so before the others fail. */
static void check_borne(int nranks, const char *script, int code, const char *words, const char *lost)
{
    char path[] = P_tmpdir "/tutti_launch_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
    setenv("TEST_SAID", path, 1);
    tutti_launch_result r = launch(nranks, 0.3, script);
    unlink(path);
    if (r.exit_code != code || !strstr(r.words, words) || !r.lost != !lost || (lost && !strstr(r.lost, lost)))
        fail_msg("%s: code %d, not %d; words: %s; lost: %s", script, r.exit_code, code, r.words, r.lost ? r.lost : "-");
    free(r.words), free(r.lost);
}

static void where_rank_0_does_without_the_others_its_end_counts(void **state)
{
    (void)state;
    static const char others[] = BORNE "test $RANK = 0 && sleep 0.7; test $RANK = 1 && exit 1; "
                                       "test $RANK = 2 && kill -9 $$; exit 0";
    check_borne(4, others, 0, "", "rank 1 "); /* nor is rank 0 killed when the grace has passed */
    check_borne(4, others, 0, "", "was killed by signal 9");
    check_borne(3, BORNE TWO_ENDS("exit 1") "test $RANK = 0 && kill -9 $$; sleep 0.1; exit 4", 137, "rank 0 ",
                "rank 2 ");
    check_borne(3, BORNE TWO_ENDS("kill -9 $$") "test $RANK = 0 && kill -9 $$; exit 0", 137, "rank 0 ", "rank 2 ");
    check_borne(2, BORNE "test $RANK = 0 && exit 0; exit 0", 0, "", NULL);
    check_borne(3, BORNE "exit 143", 143, "rank 0 ", NULL);                   /* all were asked to end */
    check_borne(2, "test $RANK = 1 && exit 3; sleep 30", 3, "rank 1 ", NULL); /* it has not said so */
    check_borne(3, BORNE TWO_ENDS("exit 3") "test $RANK = 0 && exit 4; exit 4", 3, "rank 2 ", NULL); /* bad data */
}

static void who_is_left_behind_by_rank_0_is_killed_if_the_run_lost_somebody(void **state)
{
    (void)state;
    const double begin = tutti_clock_s();
    check_borne(3, BORNE TWO_ENDS("exit 1") "test $RANK = 1 && sleep 30; exit 0", 0, "", "rank 2 ");
    assert_true(tutti_clock_s() - begin < 25);
}

/* The launcher runs in a child, gets the signals there, and its exit code is what the launch returned. */
static int launch_and_signal(const char *script, const int *signals, int nsignals)
{
    pid_t pid = fork();
    if (pid == 0) _exit(launch(2, 0.3, script).exit_code);
    for (int i = 0; i < nsignals; i++) {
        tutti_clock_sleep_s(0.3);
        kill(pid, signals[i]);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void signals_are_forwarded_to_the_ranks(void **state)
{
    (void)state;
    assert_int_equal(launch_and_signal("trap 'exit 7' USR1; while :; do sleep 0.05; done", (int[]){SIGUSR1}, 1), 7);
    assert_int_equal(launch_and_signal("sleep 20 & trap 'kill $!' EXIT; wait", (int[]){SIGTERM}, 1), 128 + SIGTERM);
}

static void a_second_interrupt_kills(void **state)
{
    (void)state;
    const char *deaf = "trap '' INT; while :; do sleep 0.05; done";
    assert_int_equal(launch_and_signal(deaf, (int[]){SIGINT, SIGINT}, 2), 128 + SIGINT);
}

static void test_f03_ranks_die_with_their_launcher(void **state)
{
    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans become ours, so that we can see how they ended */
    char path[] = P_tmpdir "/tutti_launch_XXXXXX", script[200], line[32];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    snprintf(script, sizeof script, "echo $$ >> %s; while :; do sleep 0.05; done", path);
    assert_int_equal(launch_and_signal(script, (int[]){SIGKILL}, 1), -1);
    FILE *f = fdopen(fd, "r");
    int ranks = 0;
    for (int status; fgets(line, sizeof line, f); ranks++) {
        assert_int_equal(waitpid(atoi(line), &status, 0), atoi(line));
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    assert_int_equal(ranks, 2);
    fclose(f);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_see_torchruns_variables),
        cmocka_unit_test(a_rank_is_prepared_before_it_is_the_program),
        cmocka_unit_test(the_first_failure_in_time_is_the_cause),
        cmocka_unit_test(test_f08_a_segmentation_fault_is_the_cause_before_its_echoes),
        cmocka_unit_test(the_others_are_killed_after_the_grace),
        cmocka_unit_test(where_rank_0_does_without_the_others_its_end_counts),
        cmocka_unit_test(who_is_left_behind_by_rank_0_is_killed_if_the_run_lost_somebody),
        cmocka_unit_test(signals_are_forwarded_to_the_ranks),
        cmocka_unit_test(a_second_interrupt_kills),
        cmocka_unit_test(test_f03_ranks_die_with_their_launcher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
