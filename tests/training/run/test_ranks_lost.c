/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_lost.c: workers that take steps of their own and are killed at random moments, as a user starts them: the
 * others go on, whatever it was that those did, and say whom they have lost. */
#include "testing.h"

#include "base/rng.h"
#include "training/run/spawned_run.h"

static const char job[] =
    "model: mlp\ndata: {set: digits, train_samples: 96, test_samples: 600}\nbatch: 12\nsteps: 160\n"
    "optimiser: {rule: momentum, lr: 0.003}\neval_every_epochs: 1\nlog_every: 1\n"
    "checkpoint: {every_steps: 24}\nexchange: {deadline_s: 20}\n";
enum { EVALS = 20 };

static const char *const methods[] = {"easgd",     "async-easgd", "async-measgd", "hogwild-easgd",
                                      "async-sgd", "async-msgd",  "hogwild-sgd",  "bounded-sgd"};
enum { NMETHODS = sizeof methods / sizeof *methods };

static spawned_run start(const run_folder *f, const char *method, int nranks, const char *more)
{
    char line[600], path[160];
    snprintf(line, sizeof line, "train %s --ranks %d --out %s/out --quiet --set method.name=%s %s",
             run_file(f, "job.yaml", job, path), nranks, f->dir, method, more);
    return run_start(f, "run", line);
}

static void drop_out(const run_folder *f)
{
    char out[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    assert_int_equal(tutti_file_remove_tree(out, NULL), TUTTI_OK);
}

__attribute__((noinline)) static char *metrics_of(const run_folder *f)
{
    char path[160], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/out/metrics.jsonl", f->dir);
    assert_int_equal(tutti_file_read(path, 1 << 26, TUTTI_ERR_FAILED, &text, &n, NULL), TUTTI_OK);
    return text;
}

static int count(const char *text, const char *words)
{
    int n = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words)) n++;
    return n;
}

static double number_after(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    if (!at) fail_msg("no '%s' in %s", words, text);
    return strtod(at + strlen(words), NULL);
}

/* Who was killed in time is named by rank 0, twice, in metrics.jsonl and by the launcher; all that was due was done. */
static void expect_whole(const run_folder *f, const spawned_run *r, const char *method, int nkilled)
{
    const int rc = run_wait(r);
    char *log = run_log(r), *metrics = metrics_of(f);
    if (rc) fail_msg("%s: exit %d: %s", method, rc, log);
    const int told = count(log, "died: its socket closed without a goodbye");
    const int lost = count(metrics, "\"ev\":\"lost\"");
    if (lost > nkilled || lost != told)
        fail_msg("%s: %d killed, %d told, %d lost: %s", method, nkilled, told, lost, log);
    if (lost) assert_int_equal(number_after(metrics, "\"lost_ranks\":"), lost);
    if (count(log, " was lost at step ") != lost || count(log, "was killed by signal 9") < lost)
        fail_msg("%s: %d lost, not named in the end: %s", method, lost, log);
    if (lost && !strstr(log, "the others went on without: rank ")) fail_msg("%s: %s", method, log);
    assert_int_equal(count(metrics, "\"ev\":\"eval\""), EVALS);
    const char *end = strstr(metrics, "\"ev\":\"end\"");
    assert_non_null(end);
    assert_int_equal(number_after(end, "\"step\":"), 160);
    const double first = number_after(metrics, "\"loss\":"), last = number_after(end, "\"loss\":");
    if (!(last < 0.8 * first)) fail_msg("%s: the loss falls from %g to %g only", method, first, last);
    free(log), free(metrics);
}

static void kill_some(const spawned_run *r, int nranks, int first, int n, int signal_number)
{
    pid_t ranks[SPAWNED_MAX_RANKS];
    if (run_ranks(r, ranks) != nranks) return; /* it has ended */
    for (int i = 0; i < n; i++) kill(ranks[1 + (first + i) % (nranks - 1)], signal_number);
}

static void a_worker_is_killed_at_any_moment_and_the_others_go_on(void **state)
{
    const run_folder *f = *state;
    const char *kills = getenv("TUTTI_KILLS");
    const int nruns = kills ? 8 * (int)strtol(kills, NULL, 10) : NMETHODS;
    const uint64_t seed = kills ? (uint64_t)tutti_clock_ns() : 1;
    char out[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < nruns; i++) {
        const char *method = methods[i % NMETHODS];
        const tutti_random4 chance = tutti_random(seed, TUTTI_STREAM_TEST, (uint64_t)i, 0);
        const int nranks = 3 + i / NMETHODS % 2 + (!kills && i % 2), most = nranks - 1;
        const spawned_run r = start(f, method, nranks, "");
        if (run_until_step(&r, out, 1 + (long)(chance.word[0] % 110))) {
            tutti_clock_sleep_s(1e-5 * (double)(chance.word[1] % 1000));
            kill_some(&r, nranks, (int)(chance.word[2] % 8), 1 + (i % 3 == 2 ? 1 : 0), SIGKILL);
        }
        expect_whole(f, &r, method, most);
        drop_out(f);
    }
}

static void rank_0_goes_on_alone_and_what_it_saved_is_gone_on_from(void **state)
{
    const run_folder *f = *state;
    char out[160], hash[17], line[600], path[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    for (int i = 0; i < 2; i++) {
        const char *method = i ? "easgd" : "async-easgd";
        const spawned_run r = start(f, method, 4, "");
        assert_true(run_until_step(&r, out, 30));
        kill_some(&r, 4, i, 3, SIGKILL);
        expect_whole(f, &r, method, 3);
        char *log = run_log(&r);
        if (!strstr(log, "; rank 0 goes on alone")) fail_msg("%s", log);
        free(log);
        snprintf(line, sizeof line, "train %s --ranks 3 --out %s --quiet --set method.name=%s --set steps=176",
                 run_file(f, "job.yaml", job, path), out, method);
        run_to_end(f, "more", line, hash);
        drop_out(f);
    }
}

/* Stopped wherever it was, maybe in a visit, and killed there. Nobody changes a centre that another keeps to itself. */
static void a_worker_that_stands_still_is_killed(void **state)
{
    const run_folder *f = *state;
    char out[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    for (int i = 0; i < 3; i++) {
        static const char *const some[] = {"async-sgd", "bounded-sgd", "easgd"};
        const spawned_run r = start(f, some[i], 3, "");
        assert_true(run_until_step(&r, out, 20 + 7 * i));
        kill_some(&r, 3, 1, 1, SIGSTOP);
        tutti_clock_sleep_s(0.1);
        kill_some(&r, 3, 1, 1, SIGKILL);
        expect_whole(f, &r, some[i], 1);
        drop_out(f);
    }
}

/* Without a lock nobody needs who stands still before all meet. */
static void the_others_go_on_beside_one_that_stands_still(void **state)
{
    const run_folder *f = *state;
    char out[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    const spawned_run r = start(f, "hogwild-sgd", 3,
                                "--set steps=100000 --set checkpoint.every_steps=200000 --set eval_every_epochs=100000 "
                                "--set exchange.deadline_s=60");
    assert_true(run_until_step(&r, out, 20));
    kill_some(&r, 3, 1, 1, SIGSTOP);
    assert_true(run_until_step(&r, out, run_step(out) + 500));
    kill_some(&r, 3, 1, 1, SIGCONT);
    kill(r.pid, SIGTERM);
    assert_int_equal(run_wait(&r), 128 + SIGTERM); /* one that had stopped before its second share may end at once */
}

static void the_end_of_rank_0_ends_the_run_whoever_was_lost_before(void **state)
{
    const run_folder *f = *state;
    pid_t ranks[SPAWNED_MAX_RANKS];
    char out[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    const spawned_run r = start(f, "async-sgd", 4, "--set steps=1000000");
    assert_true(run_until_step(&r, out, 20));
    kill_some(&r, 4, 2, 1, SIGKILL);
    assert_true(run_until_step(&r, out, run_step(out) + 100));
    assert_int_equal(run_ranks(&r, ranks), 3);
    kill(ranks[0], SIGKILL);
    assert_int_equal(run_wait(&r), 128 + SIGKILL);
    char *log = run_log(&r);
    if (!strstr(log, "rank 0 (pid ") || !strstr(log, "(peer lost)")) fail_msg("%s", log);
    if (!strstr(log, "the others went on without: rank 3 (pid ")) fail_msg("%s", log);
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_is_killed_at_any_moment_and_the_others_go_on, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(rank_0_goes_on_alone_and_what_it_saved_is_gone_on_from, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(a_worker_that_stands_still_is_killed, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(the_others_go_on_beside_one_that_stands_still, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(the_end_of_rank_0_ends_the_run_whoever_was_lost_before, run_folder_make,
                                        run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
