/* SPDX-License-Identifier: Apache-2.0 */
/* test_train.c: whole small runs on ranks that are threads: what they end with, how they stop and go on. */
#include "testing.h"

#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "metrics/metrics.h"
#include "played_job.h"
#include "training/run/keep/checkpoint.h"

static const char job_text[] = "model: mlp\n"
                               "data: {set: digits, train_samples: 96, test_samples: 40}\n"
                               "batch: 16\nsteps: 14\nlog_every: 1\n"
                               "optimiser: {rule: nesterov, lr: 0.05, weight_decay: 0.001}\n"
                               "checkpoint: {every_steps: 4, keep: 2}\n";

static int make_dir(void **state)
{
    char *dir = strdup("/tmp/tutti_train_XXXXXX");
    *state = mkdtemp(dir);
    return 0;
}

static int drop_dir(void **state)
{
    assert_int_equal(tutti_file_remove_tree(*state, NULL), TUTTI_OK);
    free(*state);
    return 0;
}

static void expect_ok(const played_job *j)
{
    for (int r = 0; r < j->nranks; r++)
        if (j->err[r].status) fail_msg("rank %d: %s", r, j->err[r].text);
}

static uint64_t undisturbed(int nranks)
{
    played_job j = {.text = job_text, .nranks = nranks};
    play_job(&j);
    expect_ok(&j);
    assert_int_equal(j.result[0].step, 14);
    return j.result[0].weights_hash;
}

static void all_ranks_end_with_the_same_weights_and_learn(void **state)
{
    for (int nranks = 1; nranks <= 4; nranks *= 2) {
        played_job j = {.text = job_text, .nranks = nranks, .dir = *state, .fresh = true};
        play_job(&j);
        expect_ok(&j);
        for (int r = 0; r < nranks; r++) {
            assert_int_equal(j.result[r].step, 14);
            assert_true(j.result[r].weights_hash == j.result[0].weights_hash);
            assert_true(j.result[r].accuracy == j.result[0].accuracy);
            assert_true(j.result[r].loss < 1.8); /* log 10 = 2.3 is where it starts */
        }
    }
}

static void a_run_given_twice_says_that_it_is_done_with_the_same_weights(void **state)
{
    played_job a = {.text = job_text, .nranks = 2, .dir = *state}, b = a;
    play_job(&a);
    expect_ok(&a);
    assert_false(a.result[0].was_done);
    play_job(&b);
    expect_ok(&b);
    assert_true(b.result[0].was_done);
    assert_true(a.result[0].weights_hash == b.result[0].weights_hash);
    assert_true(a.result[0].loss == b.result[0].loss);
    assert_true(a.result[0].accuracy == b.result[0].accuracy);
}

static void a_stopped_run_goes_on_to_the_bits_of_the_undisturbed_one(void **state)
{
    const uint64_t want = undisturbed(2);
    played_job first = {.text = job_text, .nranks = 2, .dir = *state, .stop_rank = 1, .stop_step = 6};
    play_job(&first);
    expect_ok(&first);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(first.result[r].stop_signal, 15); /* known on both */
        assert_int_equal(first.result[r].step, 6);
    }
    played_job second = {.text = job_text, .nranks = 2, .dir = *state};
    play_job(&second);
    expect_ok(&second);
    assert_int_equal(second.result[0].step, 14);
    assert_true(second.result[0].weights_hash == want);
}

static void a_run_goes_on_from_the_checkpoint_before_a_torn_one(void **state)
{
    const uint64_t want = undisturbed(2);
    char path[256];
    played_job first = {.text = job_text, .nranks = 2, .dir = *state}, second = first;
    play_job(&first);
    expect_ok(&first);
    snprintf(path, sizeof path, "%s/checkpoints/step_000000014/momentum.safetensors", (char *)*state);
    assert_int_equal(truncate(path, 100), 0);
    second.torn = true;
    play_job(&second);
    expect_ok(&second);
    assert_false(second.result[0].was_done);
    assert_true(second.result[0].weights_hash == want);
}

static void another_job_in_the_folder_is_refused_and_said_once(void **state)
{
    played_job first = {.text = job_text, .nranks = 2, .dir = *state};
    play_job(&first);
    expect_ok(&first);
    char other[sizeof job_text + 32];
    snprintf(other, sizeof other, "%sseed: 5\n", job_text);
    played_job second = {.text = other, .nranks = 2, .dir = *state};
    play_job(&second);
    assert_int_equal(second.err[0].status, TUTTI_ERR_USAGE);
    assert_int_equal(second.err[1].status, TUTTI_ERR_USAGE);
    assert_non_null(strstr(second.err[0].text, "seed is 1 there, 5 here"));
    assert_string_equal(second.err[1].text, "");
    second.fresh = true;
    play_job(&second);
    expect_ok(&second);
}

/* Another run into the same folder while this one is in it. */
static void start_second(void *arg, const tutti_train_event *event)
{
    played_job *second = arg;
    if (event->kind == TUTTI_TRAIN_STEP && event->step == 2) play_job(second);
}

static void test_f11_a_second_run_in_the_same_folder_is_refused(void **state)
{
    played_job second = {.text = job_text, .nranks = 1, .dir = *state};
    played_job first = {
        .text = job_text, .nranks = 1, .dir = *state, .on_event = start_second, .on_event_arg = &second};
    play_job(&first);
    expect_ok(&first);
    assert_int_equal(second.err[0].status, TUTTI_ERR_USAGE);
    assert_non_null(strstr(second.err[0].text, "in use by another run"));
}

/* Puts a file where the folder of checkpoints would be. */
static void block_saving(void *arg, const tutti_train_event *event)
{
    char path[256];
    snprintf(path, sizeof path, "%s/checkpoints", (const char *)arg);
    if (event->kind == TUTTI_TRAIN_STEP && event->step == 2)
        assert_int_equal(tutti_file_write_atomic(path, "x", 1, NULL), TUTTI_OK);
}

static void a_checkpoint_that_cannot_be_written_ends_all_ranks_with_its_words(void **state)
{
    played_job j = {.text = job_text, .nranks = 2, .dir = *state, .on_event = block_saving, .on_event_arg = *state};
    play_job(&j);
    assert_int_equal(j.err[0].status, TUTTI_ERR_FAILED);
    for (int r = 0; r < 2; r++) {
        if (r) assert_int_equal(j.err[r].status, TUTTI_ERR_PEER);
        assert_non_null(strstr(j.err[r].text, "checkpoint of step 4"));
        assert_non_null(strstr(j.err[r].text, "exists and is not a folder"));
    }
}

/* One line a step, in order, no step twice, whatever happened in between. */
static void metrics_of_a_resumed_run_have_each_step_once(void **state)
{
    char path[256], *text;
    size_t n;
    played_job first = {.text = job_text, .nranks = 1, .dir = *state, .stop_step = 7}, second = {0};
    play_job(&first);
    second = (played_job){.text = job_text, .nranks = 1, .dir = *state};
    snprintf(path, sizeof path, "%s/checkpoints/step_000000007", (char *)*state);
    assert_int_equal(tutti_file_remove_tree(path, NULL),
                     TUTTI_OK); /* as if killed before it was saved: goes on from 4 */
    play_job(&second);
    expect_ok(&second);
    snprintf(path, sizeof path, "%s/metrics.jsonl", (char *)*state);
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    int64_t want = 1;
    for (const char *at = strstr(text, "{\"ev\":\"step\""); at; at = strstr(at + 1, "{\"ev\":\"step\""))
        assert_int_equal(strtoll(at + strlen("{\"ev\":\"step\",\"step\":"), NULL, 10), want++);
    assert_int_equal(want, 15);
    free(text);
}

/* The number after "key": in a line of JSON. */
static double number(const char *line, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    if (!at) fail_msg("no %s in %s", key, line);
    return strtod(at + strlen(quoted), NULL);
}

static void the_cost_parts_of_a_run_sum_to_its_wall_time(void **state)
{
    char path[256], *text;
    size_t n;
    double sum = 0;
    const double began = tutti_clock_s();
    played_job j = {.text = job_text, .nranks = 2, .dir = *state};
    play_job(&j);
    expect_ok(&j);
    const double wall = tutti_clock_s() - began;
    snprintf(path, sizeof path, "%s/metrics.jsonl", (char *)*state);
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    const char *line = strstr(text, "{\"ev\":\"cost\",\"step\":14,\"ranks\":2,");
    assert_non_null(line);
    for (int p = 0; p < TUTTI_NCOSTS; p++) sum += number(line, tutti_cost_key((tutti_cost_part)p));
    assert_true(sum <= wall);
    assert_true(sum >= j.result[0].seconds / 2); /* the mean of two ranks that ran side by side */
    assert_true(number(line, "initialisation") > 0);
    assert_true(number(line, "compute") > 0);
    assert_true(number(line, "update") > 0);
    assert_true(number(line, "evaluation") > 0);
    assert_true(number(line, "centre") == 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_ranks_end_with_the_same_weights_and_learn, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_run_given_twice_says_that_it_is_done_with_the_same_weights, make_dir,
                                        drop_dir),
        cmocka_unit_test_setup_teardown(a_stopped_run_goes_on_to_the_bits_of_the_undisturbed_one, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_run_goes_on_from_the_checkpoint_before_a_torn_one, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(another_job_in_the_folder_is_refused_and_said_once, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_f11_a_second_run_in_the_same_folder_is_refused, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_checkpoint_that_cannot_be_written_ends_all_ranks_with_its_words, make_dir,
                                        drop_dir),
        cmocka_unit_test_setup_teardown(metrics_of_a_resumed_run_have_each_step_once, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(the_cost_parts_of_a_run_sum_to_its_wall_time, make_dir, drop_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
