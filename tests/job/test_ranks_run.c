/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_run.c: a run is a call: several in one process give what processes of `tutti train` give, and one ends
 * when it is asked to. */
#include "stack_watch.h"

#include <math.h>

#include "base/hash.h"
#include "training/run/spawned_run.h"
#include "tutti/job.h"

static const char mlp[] = "model: mlp\ndata: {set: digits, train_samples: 640, test_samples: 64}\nbatch: 16\n"
                          "optimiser: {rule: momentum, lr: 0.02}\nlog_every: 5\nepochs: 1\nranks: 1\n",
                  other[] =
                      "model: mlp\ndata: {set: digits, train_samples: 480, test_samples: 64}\nbatch: 24\nseed: 7\n"
                      "optimiser: {rule: adamw, lr: 0.002}\nepochs: 2\nranks: 1\n";

/* What a test has heard of a run. Ranks that are threads tell at the same time. */
typedef struct {
    pthread_mutex_t lock;
    int count[TUTTI_RUN_END + 1], nstoppable;
    char failed[1000];
    tutti_run_result end;
    int64_t stop_at; /* a step; 0: never */
    tutti_stop_wish wish;
    pthread_t stopper;
    bool has_stopper;
} heard;

static void *ask_to_stop(void *arg)
{
    tutti_run_stop(&((heard *)arg)->wish, SIGUSR1);
    return NULL;
}

static void hear(void *arg, const tutti_run_event *e)
{
    heard *h = arg;
    pthread_mutex_lock(&h->lock);
    h->count[e->kind]++;
    if (e->kind == TUTTI_RUN_FAILED) snprintf(h->failed, sizeof h->failed, "%s", e->text);
    if (e->kind == TUTTI_RUN_END) h->end = *e->result;
    if (e->kind == TUTTI_RUN_STEP && h->stop_at && e->step >= h->stop_at && !h->has_stopper)
        h->has_stopper = pthread_create(&h->stopper, NULL, ask_to_stop, h) == 0;
    pthread_mutex_unlock(&h->lock);
}

static tutti_status run_job(const char *text, tutti_run_options options, heard *h, tutti_run_result *result,
                            tutti_failure *err)
{
    tutti_job *job = NULL;
    const tutti_run_events events = {hear, h};
    pthread_mutex_init(&h->lock, NULL);
    if (tutti_job_parse("job.yaml", text, strlen(text), NULL, 0, &job, err)) fail_msg("%s", err->text);
    options.stop = &h->wish;
    const tutti_status st = tutti_job_run(job, &options, &events, result, err);
    if (h->has_stopper) pthread_join(h->stopper, NULL);
    tutti_job_destroy(job);
    return st;
}

/* Runs it to an orderly end; returns its hash as the program prints it. */
static tutti_run_result run_well(const char *text, const tutti_run_options *options, heard *h, char hash[17])
{
    tutti_run_result result;
    tutti_failure err = {0};
    if (run_job(text, *options, h, &result, &err)) fail_msg("%s", err.text);
    tutti_hash_text(result.weights_hash, hash);
    return result;
}

static void train(const run_folder *f, const char *name, const char *text, const char *more, char hash[17])
{
    char file[40], path[160], words[600];
    snprintf(file, sizeof file, "%s.yaml", name);
    snprintf(words, sizeof words, "train %s --out %s/%s %s", run_file(f, file, text, path), f->dir, name, more);
    run_to_end(f, name, words, hash);
}

static void two_runs_of_one_process_are_those_of_two_processes(void **state)
{
    const run_folder *f = *state;
    const char *const texts[] = {mlp, other};
    char dir[2][160], there[17], here[17];
    for (int i = 0; i < 2; i++) {
        heard h = {0};
        snprintf(dir[i], sizeof dir[i], "%s/called%d", f->dir, i);
        const tutti_run_result r = run_well(texts[i], &(tutti_run_options){.dir = dir[i]}, &h, here);
        train(f, i ? "second" : "first", texts[i], "", there);
        assert_string_equal(here, there);
        assert_int_equal(r.step, 40);
        assert_int_equal(r.nsteps, 40);
        assert_true(r.accuracy >= 0 && r.accuracy <= 1 && isfinite(r.loss));
        assert_int_equal(h.count[TUTTI_RUN_STEP], 40);
        assert_int_equal(h.count[TUTTI_RUN_END], 1);
        assert_int_equal(h.count[TUTTI_RUN_STOPPABLE], 1);
        assert_int_equal(h.count[TUTTI_RUN_FAILED], 0);
        assert_true(h.count[TUTTI_RUN_PLAN] && h.count[TUTTI_RUN_DATA] && h.count[TUTTI_RUN_TEST]);
        assert_true(h.count[TUTTI_RUN_CHECKPOINT] > 0);
        assert_true(h.end.weights_hash == r.weights_hash);
        run_expect_checkpoint(f, dir[i]);
    }
    heard h = {0}; /* the first folder again, in the same process */
    const tutti_run_result r = run_well(mlp, &(tutti_run_options){.dir = dir[0]}, &h, here);
    assert_true(r.was_done);
    assert_int_equal(h.count[TUTTI_RUN_STEP], 0);
}

static void ranks_as_threads_end_with_the_weights_of_the_programs(void **state)
{
    const run_folder *f = *state;
    char text[400], there[17], here[17];
    heard h = {0};
    snprintf(text, sizeof text, "%s", mlp);
    strcpy(strstr(text, "ranks: 1"), "ranks: 2\nkernels: reference\n");
    run_well(text, &(tutti_run_options){.ranks_as_threads = true}, &h, here);
    train(f, "threads", text, "--ranks-as-threads", there);
    assert_string_equal(here, there);
    assert_int_equal(h.count[TUTTI_RUN_STOPPABLE], 2);
    assert_int_equal(h.count[TUTTI_RUN_END], 1);
}

static void a_run_that_another_thread_stops_saves_and_goes_on(void **state)
{
    const run_folder *f = *state;
    char dir[160], whole[17], here[17];
    heard stopped = {.stop_at = 9}, rest = {0}, undisturbed = {0};
    snprintf(dir, sizeof dir, "%s/stopped", f->dir);
    const tutti_run_result r = run_well(mlp, &(tutti_run_options){.dir = dir}, &stopped, here);
    assert_int_equal(r.stop_signal, SIGUSR1);
    assert_true(r.step >= 9 && r.step < r.nsteps);
    assert_int_equal(stopped.count[TUTTI_RUN_CHECKPOINT], 1);
    run_expect_checkpoint(f, dir);
    const tutti_run_result end = run_well(mlp, &(tutti_run_options){.dir = dir}, &rest, here);
    assert_int_equal(end.stop_signal, 0);
    assert_int_equal(rest.count[TUTTI_RUN_STEP], end.nsteps - r.step);
    run_well(mlp, &(tutti_run_options){0}, &undisturbed, whole);
    assert_string_equal(here, whole);
}

static void a_signal_of_the_program_never_meets_a_stack_that_a_library_has_moved(void **state)
{
    (void)state;
    char text[400], quiet[17], disturbed[17];
    snprintf(text, sizeof text, "%skernels: onednn\n", mlp);
    run_well(text, &(tutti_run_options){0}, &(heard){0}, quiet);
    stack_watch_begin();
    run_well(text, &(tutti_run_options){0}, &(heard){0}, disturbed);
    stack_watch_end();
    assert_string_equal(disturbed, quiet);
}

static void the_first_wish_counts_and_a_number_that_is_no_signal_is_sigterm(void **state)
{
    (void)state;
    tutti_stop_wish wish = {0}, odd = {0};
    tutti_run_stop(&wish, SIGHUP);
    tutti_run_stop(&wish, SIGTERM);
    tutti_run_stop(&odd, 0);
    assert_int_equal(wish.signal_number, SIGHUP);
    assert_int_equal(odd.signal_number, SIGTERM);
}

static void what_does_not_go_together_is_refused_with_words_and_told(void **state)
{
#define DIGITS "model: mlp\ndata: {set: digits}\nbatch: 16\nepochs: 1\noptimiser: {rule: sgd, lr: 0.1}\n"
    static const tutti_run_place three = {.rank = 0, .nranks = 3};
    static const struct {
        const char *text, *words;
        tutti_run_options options;
    } cases[] = {
        {mlp, "record: ranks of sync-sgd take all steps together", {.record = "order"}},
        {DIGITS "ranks: 1\nmethod: {name: async-sgd}\n",
         "replay reproduces weights, and pretend computes none",
         {.replay = "order", .pretend = "layers"}},
        {DIGITS "ranks: 1\npartition: 1\n",
         "binds ranks that are processes; it cannot go with ranks-as-threads",
         {.ranks_as_threads = true}},
        {DIGITS "ranks: 4\n", "the job has 4 ranks, and this is one process that nobody has started", {0}},
        {DIGITS "ranks: 4\n", "the job has 4 ranks, and there are 3: load it with 'ranks=3'", {.place = &three}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heard h = {0};
        tutti_run_result result;
        tutti_failure err = {0};
        assert_int_equal(run_job(cases[i].text, cases[i].options, &h, &result, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, cases[i].words)) fail_msg("'%s' lacks '%s'", err.text, cases[i].words);
        assert_string_equal(h.failed, err.text);
        assert_int_equal(h.count[TUTTI_RUN_FAILED], 1);
    }
#undef DIGITS
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_runs_of_one_process_are_those_of_two_processes, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(ranks_as_threads_end_with_the_weights_of_the_programs, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(a_run_that_another_thread_stops_saves_and_goes_on, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test(a_signal_of_the_program_never_meets_a_stack_that_a_library_has_moved),
        cmocka_unit_test(the_first_wish_counts_and_a_number_that_is_no_signal_is_sigterm),
        cmocka_unit_test(what_does_not_go_together_is_refused_with_words_and_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
