/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_signals.c: who is asked to end does so, soon and in good order, whatever it is doing. */
#include "testing.h"

#include <signal.h>

#include "base/clock.h"
#include "command_line.h"
#include "svm/svm_sets.h"
#include "training/run/spawned_run.h"

/* What is heard at once ends in milliseconds; what is not would take a minute or more. */
static const double SOON_S = 5;

static const char job[] = "model: mlp\nbatch: 16\nsteps: 100000\noptimiser: {rule: sgd, lr: 0.02}\nlog_every: 1\n";

static void command(const run_folder *f, const char *more, char out[512])
{
    char path[160];
    snprintf(out, 512, "train %s --out %s/out %s", run_file(f, "job.yaml", job, path), f->dir, more);
}

/* Waits until a file holds words, half a minute at most. */
static void wait_for(const char *file, const char *words)
{
    for (const double until = tutti_clock_s() + 30; tutti_clock_s() < until; tutti_clock_sleep_s(0.01)) {
        char *text = NULL;
        size_t n = 0;
        if (tutti_file_read(file, 1 << 24, TUTTI_ERR_FAILED, &text, &n, NULL)) continue;
        const bool found = strstr(text, words) != NULL;
        free(text);
        if (found) return;
    }
    fail_msg("%s never said '%s'", file, words);
}

static void expect_end(const spawned_run *r, int code, const char *words)
{
    const double began = tutti_clock_s();
    const int got = run_wait(r);
    const double took = tutti_clock_s() - began;
    char *log = run_log(r);
    if (got != code || !strstr(log, words) || took > SOON_S) fail_msg("exit %d after %.1f s: %s", got, took, log);
    free(log);
}

static void while_data_are_made_it_ends_at_once(void **state)
{
    const run_folder *f = *state;
    char words[512];
    for (int nranks = 1; nranks <= 2; nranks++) {
        char more[128];
        snprintf(more, sizeof more, "--ranks %d --set data.set=digits --set data.train_samples=10000000", nranks);
        command(f, more, words);
        const spawned_run r = run_start(f, "early", words);
        tutti_clock_sleep_s(0.5);
        kill(r.pid, nranks == 1 ? SIGTERM : SIGHUP);
        expect_end(&r, 128 + (nranks == 1 ? SIGTERM : SIGHUP), "");
    }
}

static void a_test_that_takes_long_is_left_and_the_step_is_saved(void **state)
{
    const run_folder *f = *state;
    char words[512];
    command(f,
            "--ranks 2 --set steps=3 --set data.set=noise --set data.shape=[1,28,28] --set data.classes=10 --set "
            "data.train_samples=64 --set data.test_samples=100000000",
            words);
    const spawned_run r = run_start(f, "test", words);
    wait_for(r.log, "step 3/3");
    tutti_clock_sleep_s(0.2);
    kill(r.pid, SIGTERM);
    expect_end(&r, 143, "stopped by signal 15 at step 3");
    snprintf(words, sizeof words, "ckpt verify %s/out/checkpoints/step_000000003", f->dir);
    expect(words, 0, "whole");
}

/* Launchers and queues signal the group and its leader, and the leader passes it on. */
static void test_f10_a_burst_is_one_wish(void **state)
{
    const run_folder *f = *state;
    char words[512];
    command(f, "--ranks 2 --set data.set=digits --set data.train_samples=640 --set data.test_samples=64", words);
    const spawned_run r = run_start(f, "burst", words);
    pid_t ranks[SPAWNED_MAX_RANKS] = {0};
    wait_for(r.log, " step 5/");
    assert_int_equal(run_ranks(&r, ranks), 2);
    for (int i = 0; i < 5; i++) {
        kill(r.pid, SIGTERM);
        kill(ranks[0], SIGTERM);
        kill(ranks[1], SIGTERM);
    }
    expect_end(&r, 143, "stopped by signal 15 at step");
    snprintf(words, sizeof words, "ckpt verify %s/out", f->dir);
    expect(words, 0, "whole");
}

/* A warning that few programs know; the other signals have tests of their own. The command goes on afterwards. */
static void sigusr2_saves_too(void **state)
{
    const run_folder *f = *state;
    char words[512], out[80];
    command(f, "--ranks 2 --set data.set=digits --set data.train_samples=640 --set data.test_samples=64", words);
    snprintf(out, sizeof out, "%s/out", f->dir);
    long before = 0;
    for (int i = 0; i < 2; i++) {
        const spawned_run r = run_start(f, "queue", words);
        assert_true(run_until_step(&r, out, before + 20));
        kill(r.pid, SIGUSR2);
        expect_end(&r, 128 + SIGUSR2, "stopped by signal 12 at step");
        run_expect_checkpoint(f, out);
        assert_true(run_step(out) > before);
        before = run_step(out);
    }
}

/* Two ranks that save after each step. One of them stands still, so that no save ends before it goes on. */
typedef struct {
    spawned_run run;
    pid_t ranks[SPAWNED_MAX_RANKS];
    pid_t still;
    const char *name; /* of its folder */
} held_run;

static bool is_in_a_checkpoint(const run_folder *f, const char *name)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s/checkpoints", f->dir, name);
    DIR *d = opendir(path);
    bool found = false;
    for (const struct dirent *e; d && !found && (e = readdir(d));) found = strstr(e->d_name, ".tmp") != NULL;
    if (d) closedir(d);
    return found;
}

static held_run start_to_hold(const run_folder *f, const char *name)
{
    char words[600], path[160];
    snprintf(words, sizeof words,
             "train %s --out %s/%s --ranks 2 --set data.set=digits --set data.train_samples=640 --set "
             "data.test_samples=64 --set checkpoint.every_steps=1",
             run_file(f, "job.yaml", job, path), f->dir, name);
    return (held_run){.name = name, .run = run_start(f, name, words)};
}

/* Stops rank 0 within a checkpoint, or rank 1 anywhere. */
static void hold(const run_folder *f, held_run *h, bool in_checkpoint)
{
    wait_for(h->run.log, " step 5/");
    assert_int_equal(run_ranks(&h->run, h->ranks), 2);
    h->still = h->ranks[in_checkpoint ? 0 : 1];
    for (int i = 0; i < 10000; i++, tutti_clock_sleep_s(2e-4)) {
        if (in_checkpoint && !is_in_a_checkpoint(f, h->name)) continue;
        assert_int_equal(kill(h->still, SIGSTOP), 0);
        tutti_clock_sleep_s(0.01);
        if (!in_checkpoint || is_in_a_checkpoint(f, h->name)) return;
        kill(h->still, SIGCONT);
    }
    fail_msg("no checkpoint was met");
}

/* The signal comes to the launcher and to each rank. */
static void send(const held_run *h, int signal)
{
    kill(h->run.pid, signal);
    for (int r = 0; r < 2; r++) kill(h->ranks[r], signal);
}

static void expect_saved(const run_folder *f, const held_run *h, int signal)
{
    char said[80];
    kill(h->still, SIGCONT);
    snprintf(said, sizeof said, "stopped by signal %d at step", signal);
    expect_end(&h->run, 128 + signal, said);
    snprintf(said, sizeof said, "%s/%s", f->dir, h->name);
    run_expect_checkpoint(f, said);
}

static void expect_not_saved(const held_run *h, int signal)
{
    kill(h->still, SIGCONT);
    expect_end(&h->run, 128 + signal, "");
    char *log = run_log(&h->run);
    if (strstr(log, "stopped by signal")) fail_msg("not at once: %s", log);
    free(log);
}

/* Saves that are held up meet a second signal after more than a second. */
static void a_term_after_a_warning_does_not_cut_the_save_and_a_second_term_does(void **state)
{
    const run_folder *f = *state;
    held_run warned = start_to_hold(f, "warned"), saving = start_to_hold(f, "saving"),
             asked = start_to_hold(f, "asked");
    hold(f, &warned, false);
    hold(f, &saving, true);
    hold(f, &asked, false);
    send(&warned, SIGUSR1);
    send(&saving, SIGHUP);
    kill(asked.ranks[0], SIGTERM);
    tutti_clock_sleep_s(1.2);
    send(&warned, SIGTERM);
    send(&saving, SIGTERM);
    kill(asked.ranks[0], SIGTERM);
    tutti_clock_sleep_s(0.1);
    expect_not_saved(&asked, SIGTERM);
    expect_saved(f, &warned, SIGUSR1);
    expect_saved(f, &saving, SIGHUP);
}

static void an_interrupt_ends_at_once_while_it_saves(void **state)
{
    held_run h = start_to_hold(*state, "interrupted");
    hold(*state, &h, false);
    send(&h, SIGTERM);
    tutti_clock_sleep_s(0.1);
    kill(h.run.pid, SIGINT);
    expect_not_saved(&h, SIGINT);
}

/* Signals that still come when all is saved do not change the exit code. */
static void repetitions_until_the_end_are_one_wish(void **state)
{
    const run_folder *f = *state;
    char words[512];
    siginfo_t ended = {0};
    command(f, "--ranks 2 --set data.set=digits --set data.train_samples=640 --set data.test_samples=64", words);
    held_run h = {.run = run_start(f, "flood", words)};
    wait_for(h.run.log, " step 5/");
    assert_int_equal(run_ranks(&h.run, h.ranks), 2);
    send(&h, SIGUSR1);
    for (const double until = tutti_clock_s() + 0.9; tutti_clock_s() < until && !ended.si_pid;) {
        waitid(P_PID, (id_t)h.run.pid, &ended, WEXITED | WNOHANG | WNOWAIT);
        send(&h, SIGTERM);
    }
    expect_end(&h.run, 128 + SIGUSR1, "stopped by signal 10 at step");
}

static void a_hang_up_ends_any_command(void **state)
{
    const run_folder *f = *state;
    const spawned_run r = run_start(f, "verify", "coll verify-all");
    tutti_clock_sleep_s(0.3);
    kill(r.pid, SIGHUP);
    expect_end(&r, 129, "");
}

static void a_hang_up_that_was_ignored_stays_so(void **state)
{
    const run_folder *f = *state;
    char words[512];
    command(f, "--ranks 2 --set data.set=digits --set data.train_samples=640 --set data.test_samples=64", words);
    signal(SIGHUP, SIG_IGN); /* as nohup does */
    const spawned_run r = run_start_like(f, "nohup", words);
    signal(SIGHUP, SIG_DFL);
    pid_t ranks[SPAWNED_MAX_RANKS] = {0};
    wait_for(r.log, " step 5/");
    assert_int_equal(run_ranks(&r, ranks), 2);
    kill(r.pid, SIGHUP);
    kill(ranks[1], SIGHUP);
    wait_for(r.log, " step 200/");
    kill(r.pid, SIGTERM);
    expect_end(&r, 143, "stopped by signal 15");
}

/* With a checkpoint and without one; overlapping classes and a tiny eps: it would take minutes. */
static void svm_train_ends_too(void **state)
{
    const run_folder *f = *state;
    char path[160], words[600];
    char *blobs = svm_blobs(20000, 2, 3);
    run_file(f, "long", blobs, path);
    free(blobs);
    for (int saves = 0; saves < 2; saves++) {
        char trace[100], checkpoint[100] = "";
        snprintf(trace, sizeof trace, "%s/trace%d", f->dir, saves);
        if (saves) snprintf(checkpoint, sizeof checkpoint, "--checkpoint %s/checkpoint", f->dir);
        snprintf(words, sizeof words, "svm-train --ranks 2 --threads 1 -c 1e6 -e 1e-9 --trace %s %s %s/long %s/model",
                 trace, checkpoint, f->dir, f->dir);
        const spawned_run r = run_start(f, "svm", words);
        wait_for(trace, "\"ev\":\"round\"");
        tutti_clock_sleep_s(0.2);
        kill(r.pid, SIGHUP);
        expect_end(&r, 129, saves ? "stopped by signal 1; the same command goes on from" : "");
    }
}

#define TEST_WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, run_folder_make, run_folder_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_FOLDER(while_data_are_made_it_ends_at_once),
        TEST_WITH_FOLDER(a_test_that_takes_long_is_left_and_the_step_is_saved),
        TEST_WITH_FOLDER(test_f10_a_burst_is_one_wish),
        TEST_WITH_FOLDER(sigusr2_saves_too),
        TEST_WITH_FOLDER(a_term_after_a_warning_does_not_cut_the_save_and_a_second_term_does),
        TEST_WITH_FOLDER(an_interrupt_ends_at_once_while_it_saves),
        TEST_WITH_FOLDER(repetitions_until_the_end_are_one_wish),
        TEST_WITH_FOLDER(a_hang_up_ends_any_command),
        TEST_WITH_FOLDER(a_hang_up_that_was_ignored_stays_so),
        TEST_WITH_FOLDER(svm_train_ends_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
