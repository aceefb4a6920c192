/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_resume.c: ranks that are killed are named; the run given again ends with the bits of an undisturbed one; a
 * signal on one rank stops all at the same step. TUTTI_KILLS=50 kills so many times (a few minutes). */
#include "testing.h"

#include "base/rng.h"
#include "spawned_run.h"
#include "training/run/keep/checkpoint.h"

enum { STEPS = 60, KILLS = 3 };

static const char job_format[] = "model: mlp\ndata: {set: digits, train_samples: 320, test_samples: 20}\n"
                                 "batch: 32\nsteps: 60\nlog_every: 1\neval_every_epochs: 2\n%s"
                                 "optimiser: {rule: momentum, lr: 0.02}\ncheckpoint: {every_steps: 7, keep: 2}\n";

static void command(const run_folder *f, const char *out, int ranks, const char *keys, char words[512])
{
    char text[640], path[160];
    snprintf(text, sizeof text, job_format, keys);
    snprintf(words, 512, "train %s --quiet --out %s/%s --ranks %d", run_file(f, "job.yaml", text, path), f->dir, out,
             ranks);
}

/* Kills one rank, then starts the run again, to its end. Returns whether the kill came before the end. */
static bool kill_and_resume(const run_folder *f, const char *words, const char *dir, long step, unsigned draw,
                            char hash[17])
{
    pid_t ranks[SPAWNED_MAX_RANKS] = {0};
    const spawned_run r = run_start(f, "killed", words);
    const bool there = run_until_step(&r, dir, step);
    const int n = run_ranks(&r, ranks);
    const int victim = n ? (int)(draw % (unsigned)n) : 0;
    const bool killed = there && n && kill(ranks[victim], SIGKILL) == 0;
    const double began = tutti_clock_s();
    const int rc = run_wait(&r);
    if (killed && rc) {
        char named[64], *log = run_log(&r);
        snprintf(named, sizeof named, "pid %d", ranks[victim]);
        if (!strstr(log, named)) fail_msg("pid %d was killed and is not named: %s", ranks[victim], log);
        if (n > 1 && !strstr(log, "died")) fail_msg("no survivor says who died: %s", log);
        free(log);
        assert_true(tutti_clock_s() - began < 3); /* 1 s to be named, and to be gone */
    }
    run_to_end(f, "resumed", words, hash);
    return killed && rc;
}

static void test_f01_a_killed_run_resumes_to_the_bits_of_the_undisturbed_one(void **state)
{
    const run_folder *f = *state;
    const int kills = getenv("TUTTI_KILLS") ? atoi(getenv("TUTTI_KILLS")) : KILLS;
    char words[512], want[17], have[17], dir[160];
    int nkilled = 0;
    command(f, "whole", 2, "", words);
    run_to_end(f, "whole", words, want);
    for (int i = 0; i < kills; i++) {
        const tutti_random4 r = tutti_random(7, TUTTI_STREAM_TEST, (uint64_t)i, 0);
        const long step = 1 + (long)tutti_random_below(r, STEPS - 4);
        char out[24];
        snprintf(out, sizeof out, "killed%d", i);
        snprintf(dir, sizeof dir, "%s/%s", f->dir, out);
        command(f, out, 2, "", words);
        nkilled += kill_and_resume(f, words, dir, step, r.word[3], have);
        if (strcmp(want, have) != 0) fail_msg("killed at step %ld: weights %s, not %s", step, have, want);
    }
    assert_true(nkilled > 0);
    print_message("%d of %d runs were killed before their end\n", nkilled, kills);
}

static void each_method_with_weights_of_their_own_resumes_to_the_bits_of_the_undisturbed_one(void **state)
{
    const run_folder *f = *state;
    static const char *const methods[] = {"sync-easgd1", "sync-easgd2", "sync-easgd3", "diloco"};
    char words[512], keys[80], want[17], have[17], out[24], dir[160];
    int nkilled = 0;
    for (unsigned i = 0; i < sizeof methods / sizeof *methods; i++) {
        snprintf(keys, sizeof keys, "method: {name: %s, period: 3}\n", methods[i]);
        snprintf(out, sizeof out, "whole%u", i);
        command(f, out, 2, keys, words);
        run_to_end(f, "whole", words, want);
        snprintf(out, sizeof out, "killed%u", i);
        snprintf(dir, sizeof dir, "%s/%s", f->dir, out);
        command(f, out, 2, keys, words);
        nkilled += kill_and_resume(f, words, dir, 16 + 7 * (long)i, i, have);
        if (strcmp(want, have) != 0) fail_msg("%s: weights %s, not %s", methods[i], have, want);
    }
    assert_true(nkilled > 0);
}

/* more: flags. */
static void command_with(const run_folder *f, const char *out, int ranks, const char *more, char words[512])
{
    command(f, out, ranks, "reduction: canonical\nslots: 4\n", words);
    snprintf(words + strlen(words), 512 - strlen(words), " %s", more);
}

/* On two ranks to a kill, on three to the end. */
static void move_a_run(const run_folder *f, const char *more)
{
    char words[512], want[17], have[17], dir[160];
    command_with(f, "whole", 1, more, words);
    run_to_end(f, "whole", words, want);
    snprintf(dir, sizeof dir, "%s/moved", f->dir);
    command_with(f, "moved", 2, more, words);
    const spawned_run r = run_start(f, "two", words);
    pid_t ranks[SPAWNED_MAX_RANKS] = {0};
    run_until_step(&r, dir, 20);
    if (run_ranks(&r, ranks) > 0) kill(ranks[0], SIGKILL);
    run_wait(&r);
    command_with(f, "moved", 3, more, words);
    run_to_end(f, "three", words, have);
    assert_string_equal(want, have);
}

static void test_f17_canonical_sums_resume_at_another_rank_count_to_the_same_bits(void **state)
{
    move_a_run(*state, "");
}

static void a_rule_with_two_states_resumes_at_another_rank_count_to_the_same_bits(void **state)
{
    move_a_run(*state, "--set optimiser.rule=adamw --set optimiser.lr=0.002");
}

static void a_signal_on_one_rank_stops_all_after_the_same_step(void **state)
{
    static const struct {
        int signal, code;
    } cases[] = {{SIGTERM, 143}, {SIGUSR1, 138}, {SIGHUP, 129}};
    const run_folder *f = *state;
    char words[512], want[17], have[17], dir[160];
    command(f, "whole", 2, "", words);
    run_to_end(f, "whole", words, want);
    for (int i = 0; i < 3; i++) {
        char out[24];
        snprintf(out, sizeof out, "stopped%d", i);
        snprintf(dir, sizeof dir, "%s/%s", f->dir, out);
        command(f, out, 2, "", words);
        const spawned_run r = run_start(f, "stopped", words);
        pid_t ranks[SPAWNED_MAX_RANKS] = {0};
        run_until_step(&r, dir, 3);
        assert_int_equal(run_ranks(&r, ranks), 2);
        kill(ranks[1], cases[i].signal);
        const int rc = run_wait(&r);
        if (rc != cases[i].code) fail_msg("exit %d: %s", rc, run_log(&r));
        tutti_checkpoint_entry *entries;
        int n;
        assert_int_equal(tutti_checkpoint_list(dir, &entries, &n, NULL), TUTTI_OK);
        assert_true(n > 0);
        assert_int_equal(entries[0].step, run_step(dir)); /* saved after the very step it ended with */
        assert_true(entries[0].step < STEPS);
        tutti_checkpoint_list_release(entries, n);
        run_to_end(f, "resumed", words, have);
        assert_string_equal(want, have);
    }
}

static void nothing_is_left_in_shared_memory_after_a_kill(void **state)
{
    const run_folder *f = *state;
    char words[512], dir[160];
    pid_t ranks[SPAWNED_MAX_RANKS] = {0};
    snprintf(dir, sizeof dir, "%s/killed", f->dir);
    command(f, "killed", 4, "", words);
    const spawned_run r = run_start(f, "killed", words);
    run_until_step(&r, dir, 2);
    const int n = run_ranks(&r, ranks);
    kill(ranks[0], SIGKILL);
    run_wait(&r);
    for (int i = 0; i < n; i++) assert_int_not_equal(kill(ranks[i], 0), 0);
    DIR *d = opendir("/dev/shm");
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) assert_null(strstr(e->d_name, "tutti"));
    if (d) closedir(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_f01_a_killed_run_resumes_to_the_bits_of_the_undisturbed_one,
                                        run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(
            each_method_with_weights_of_their_own_resumes_to_the_bits_of_the_undisturbed_one, run_folder_make,
            run_folder_drop),
        cmocka_unit_test_setup_teardown(test_f17_canonical_sums_resume_at_another_rank_count_to_the_same_bits,
                                        run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(a_rule_with_two_states_resumes_at_another_rank_count_to_the_same_bits,
                                        run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(a_signal_on_one_rank_stops_all_after_the_same_step, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(nothing_is_left_in_shared_memory_after_a_kill, run_folder_make,
                                        run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
