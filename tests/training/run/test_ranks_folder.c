/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_folder.c: a run whose folder is taken away says so and ends; whoever comes by its name then is left
 * alone. */
#include "testing.h"

#include "cli/command_line.h"
#include "spawned_run.h"

static const char job[] = "model: mlp\ndata: {set: digits, train_samples: 640, test_samples: 64}\nbatch: 16\n"
                          "optimiser: {rule: momentum, lr: 0.02}\nlog_every: 5\nepochs: 1\n";

static spawned_run start(const run_folder *f, const char *name, int nranks, long steps)
{
    char path[160], words[512];
    snprintf(words, sizeof words, "train %s --out %s/out --ranks %d --set steps=%ld --set epochs=0",
             run_file(f, "job.yaml", job, path), f->dir, nranks, steps);
    return run_start(f, name, words);
}

static void shell(const run_folder *f, const char *script)
{
    char line[512];
    snprintf(line, sizeof line, "cd '%s' && %s", f->dir, script);
    assert_int_equal(system(line), 0);
}

static void until_step(const run_folder *f, const spawned_run *r, long step)
{
    char dir[160];
    snprintf(dir, sizeof dir, "%s/out", f->dir);
    for (const double until = tutti_clock_s() + 30; run_step(dir) < step; tutti_clock_sleep_s(0.005))
        if (tutti_clock_s() > until) fail_msg("no step %ld: %s", step, run_log(r));
}

static void expect_end(const spawned_run *r, const char *words)
{
    const int code = run_wait(r);
    char *log = run_log(r);
    if (code != 1 || !strstr(log, words)) fail_msg("exit %d: %s", code, log);
    free(log);
}

static void test_f12_what_is_taken_away_is_named_and_ends_the_run(void **state)
{
    static const struct {
        const char *script, *words;
    } cases[] = {
        {"rm -rf out; true", "/out: was removed, renamed or replaced during the run"},
        {"mv out away", "/out: was removed, renamed or replaced during the run"},
        {"mv out away2 && mkdir out", "/out: was removed, renamed or replaced during the run"},
        {"rm out/lock", "/out: was removed, renamed or replaced during the run"},
        {"mv out/metrics.jsonl out/others", "metrics.jsonl: was removed, renamed or replaced while it was written"},
        {"rm out/events.out.tfevents.*", "was removed, renamed or replaced while it was written"},
    };
    const run_folder *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int nranks = 1 + (int)i % 2;
        const spawned_run r = start(f, "taken", nranks, 1000000);
        until_step(f, &r, 20);
        shell(f, cases[i].script);
        expect_end(&r, cases[i].words);
        shell(f, i == 2 ? "rmdir out" : "rm -rf out"); /* the new folder is as empty as it was */
    }
}

/* The lock of the first run went with its folder, so it must not write into that of the second. */
static void a_second_run_under_the_same_name_is_not_disturbed(void **state)
{
    const run_folder *f = *state;
    char alone[17], beside[17];
    spawned_run r = start(f, "alone", 2, 300);
    assert_int_equal(run_wait(&r), 0);
    run_hash(&r, alone);
    shell(f, "rm -rf out");
    const spawned_run first = start(f, "first", 2, 1000000);
    until_step(f, &first, 20);
    shell(f, "mv out away");
    r = start(f, "second", 2, 300);
    expect_end(&first, "/out: was removed, renamed or replaced during the run");
    assert_int_equal(run_wait(&r), 0);
    run_hash(&r, beside);
    assert_string_equal(alone, beside);
    char words[256];
    snprintf(words, sizeof words, "ckpt verify %s/out", f->dir);
    expect(words, 0, "step 300 ");
    shell(f, "test $(grep -c '\"step\":' out/metrics.jsonl) -ge 60 && ! grep '\"step\":301' out/metrics.jsonl");
}

/* What lies in the folder under our names may be anything. */
static void what_is_no_file_of_ours_is_neither_waited_for_nor_written_through(void **state)
{
    static const struct {
        const char *script, *words;
    } cases[] = {
        {"mkfifo out/metrics.jsonl", "metrics.jsonl: is a named pipe that nobody reads"},
        {"mkfifo out/job.yaml", "job.yaml: is a named pipe that nobody reads"},
        {"mkfifo out/lock", "lock: is not a regular file: remove it"},
        {"mkdir out/lock", "lock: "},
        {"ln -s ../precious out/lock", "lock: is a link; a lock is not written through one: remove it"},
        {"mkdir out/metrics.jsonl", "metrics.jsonl: "},
        {"touch out/checkpoints", "checkpoints: cannot read the folder"},
    };
    const run_folder *f = *state;
    char path[160];
    run_file(f, "precious", "precious", path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[160];
        snprintf(script, sizeof script, "mkdir out && %s", cases[i].script);
        shell(f, script);
        const spawned_run r = start(f, "strange", 1, 20);
        expect_end(&r, cases[i].words);
        shell(f, "grep -q '^precious$' precious && rm -rf out");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_f12_what_is_taken_away_is_named_and_ends_the_run, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(what_is_no_file_of_ours_is_neither_waited_for_nor_written_through,
                                        run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(a_second_run_under_the_same_name_is_not_disturbed, run_folder_make,
                                        run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
