/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_hangs.c: training ranks that are asked, stopped and killed: who is named, what is reported, what it costs
 * the run. */
#include "testing.h"

#include "training/run/spawned_run.h"

static const char job[] =
    "model: mlp\ndata: {set: digits, train_samples: 96, test_samples: 30}\nbatch: 12\nsteps: 1200\n"
    "optimiser: {rule: momentum, lr: 0.02}\ncheckpoint: {every_steps: 400}\neval_every_epochs: 0\n"
    "log_every: 10\n";

static void train_line(const run_folder *f, const char *more, char out[512])
{
    char path[160];
    snprintf(out, 512, "train %s --ranks 3 --fresh --out %s/out %s", run_file(f, "job.yaml", job, path), f->dir, more);
}

/* A run without end that has done 20 steps, and its ranks. */
static spawned_run run_for_ever(const run_folder *f, const char *name, const char *more, pid_t ranks[SPAWNED_MAX_RANKS])
{
    char line[512], out[160], all[200];
    snprintf(all, sizeof all, "--quiet --set steps=1000000 %s", more);
    train_line(f, all, line);
    snprintf(out, sizeof out, "%s/out", f->dir);
    const spawned_run r = run_start(f, name, line);
    assert_true(run_until_step(&r, out, 20));
    assert_int_equal(run_ranks(&r, ranks), 3);
    return r;
}

static void expect_in(const char *log, const char *words)
{
    const bool said = log && strstr(log, words);
    if (!said) fail_msg("the log does not say '%s': %s", words, log ? log : "(none)");
}

static void sigquit_reports_and_changes_nothing(void **state)
{
    const run_folder *f = *state;
    char line[512], out[160], alone[17], asked[17];
    pid_t ranks[SPAWNED_MAX_RANKS];
    train_line(f, "--quiet", line);
    snprintf(out, sizeof out, "%s/out", f->dir);
    run_to_end(f, "alone", line, alone);
    assert_int_equal(tutti_file_remove_tree(out, NULL), TUTTI_OK);
    const spawned_run r = run_start(f, "asked", line);
    assert_true(run_until_step(&r, out, 100));
    kill(r.pid, SIGQUIT); /* the launcher: forwards it to all */
    assert_true(run_until_step(&r, out, 300));
    assert_int_equal(run_ranks(&r, ranks), 3);
    kill(ranks[1], SIGQUIT); /* one rank: tells the others */
    const int rc = run_wait(&r);
    char *log = run_log(&r);
    if (rc) fail_msg("exit %d: %s", rc, log);
    for (int rank = 0; rank < 3; rank++) {
        char words[64];
        snprintf(words, sizeof words, "rank %d: report of rank %d ", rank, rank);
        expect_in(log, words);
    }
    expect_in(log, "SIGQUIT to rank ");
    expect_in(log, "exchanges and calls begun: rank 0: ");
    expect_in(log, "gradients of bucket 0");
    run_hash(&r, asked);
    assert_string_equal(asked, alone);
    free(log);
}

/* The rank that is stopped is woken once the others have given up: it hears why and ends by itself. */
static void test_f07_a_stopped_rank_is_named_and_the_deadline_reports(void **state)
{
    pid_t ranks[SPAWNED_MAX_RANKS];
    const spawned_run r = run_for_ever(*state, "stopped", "--set exchange.deadline_s=4", ranks);
    kill(ranks[2], SIGSTOP);
    const double stopped = tutti_clock_s();
    char *log = NULL;
    for (bool named = false; !named && tutti_clock_s() - stopped < 20; tutti_clock_sleep_s(0.05)) {
        free(log);
        log = run_log(&r);
        named = strstr(log, "[stopped by a signal; kill -CONT lets it go on]") != NULL;
    }
    assert_true(tutti_clock_s() - stopped < 4); /* before the deadline, well before 15 s */
    while (!strstr(log, "the deadline of 4 s has passed") && tutti_clock_s() - stopped < 20) {
        tutti_clock_sleep_s(0.05);
        free(log);
        log = run_log(&r);
    }
    kill(ranks[2], SIGCONT);
    free(log);
    const int rc = run_wait(&r);
    log = run_log(&r);
    if (rc != TUTTI_ERR_PEER) fail_msg("exit %d: %s", rc, log);
    expect_in(log, "waits in exchange '");
    expect_in(log, "rank 0: report of rank 0 ");
    expect_in(log, "rank 1: report of rank 1 ");
    expect_in(log, "(wait, stage 0) for rank 2 ");
    expect_in(log, " bytes still to write here");
    expect_in(log, "not arrived: rank 2 ");
    expect_in(log, "slowest: rank 2 ");
    expect_in(log, " bytes missing");
    free(log);
}

static void a_killed_rank_is_named_by_the_others(void **state)
{
    pid_t ranks[SPAWNED_MAX_RANKS];
    const spawned_run r = run_for_ever(*state, "killed", "", ranks);
    const double began = tutti_clock_s();
    kill(ranks[1], SIGKILL);
    assert_int_equal(run_wait(&r), 128 + SIGKILL);
    assert_true(tutti_clock_s() - began < 1);
    char *log = run_log(&r);
    expect_in(log, "died: its socket closed without a goodbye");
    expect_in(log, "was killed by signal 9");
    assert_null(strstr(log, "report of")); /* a death explains itself */
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sigquit_reports_and_changes_nothing, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(test_f07_a_stopped_rank_is_named_and_the_deadline_reports, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(a_killed_rank_is_named_by_the_others, run_folder_make, run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
