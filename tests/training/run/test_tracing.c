/* SPDX-License-Identifier: Apache-2.0 */
/* test_tracing.c: which steps are traced, what the files hold, and that tracing changes no weight. */
#include "testing.h"

#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "metrics/trace.h"
#include "played_job.h"
#include "training/run/tell/tracing.h"

static const char job_text[] = "model: mlp\n"
                               "data: {set: digits, train_samples: 96, test_samples: 40}\n"
                               "batch: 16\nsteps: 14\neval_every_epochs: 0\n"
                               "optimiser: {rule: momentum, lr: 0.05}\n";

static int make_dir(void **state)
{
    char *dir = strdup("/tmp/tutti_tracing_XXXXXX");
    *state = mkdtemp(dir);
    return 0;
}

static int drop_dir(void **state)
{
    assert_int_equal(tutti_file_remove_tree(*state, NULL), TUTTI_OK);
    free(*state);
    return 0;
}

static uint64_t play(const char *more, int nranks, const char *dir, int64_t stop_step)
{
    char text[sizeof job_text + 128];
    snprintf(text, sizeof text, "%s%s", job_text, more);
    played_job j = {.text = text, .nranks = nranks, .dir = dir, .fresh = true, .stop_step = stop_step};
    play_job(&j);
    for (int r = 0; r < nranks; r++)
        if (j.err[r].status) fail_msg("rank %d: %s", r, j.err[r].text);
    return j.result[0].weights_hash;
}

static char *contents(const char *dir, const char *name)
{
    char path[256], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(tutti_file_read(path, 1 << 24, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    return text;
}

static int count(const char *text, const char *words)
{
    int n = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words)) n++;
    return n;
}

static void the_window_follows_the_warm_up_and_lies_within_the_run(void **state)
{
    (void)state;
    static const struct {
        int64_t step, nsteps, warmup, steps, first, end;
    } cases[] = {
        {0, 100, 10, 5, 10, 15}, {40, 100, 10, 5, 50, 55},  {0, 12, 10, 5, 7, 12},
        {0, 3, 10, 5, 0, 3},     {98, 100, 10, 5, 98, 100}, {0, 15, 10, 5, 10, 15},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t first, end;
        tutti_tracing_window(cases[i].step, cases[i].nsteps, cases[i].warmup, cases[i].steps, &first, &end);
        assert_true(first == cases[i].first);
        assert_true(end == cases[i].end);
    }
}

static void each_rank_has_each_traced_step_with_all_its_parts(void **state)
{
    play("trace: {steps: 3, warmup: 4}\n", 2, *state, 0);
    char *text = contents(*state, "trace.json");
    assert_int_equal(count(text, "ProfilerStep#"), 6);
    assert_int_equal(count(text, "ProfilerStep#4\""), 0);
    assert_int_equal(count(text, "ProfilerStep#5\""), 2);
    assert_int_equal(count(text, "ProfilerStep#7\""), 2);
    assert_int_equal(count(text, "\"forward fc1\""), 6);
    assert_int_equal(count(text, "\"backward-params fc1\""), 6);
    assert_int_equal(count(text, "\"update bucket 0\""), 6);
    assert_int_equal(count(text, "\"gradients of bucket 0\""), 6);
    assert_int_equal(count(text, "\"name\":\"weights of bucket 0\""), 6);
    assert_int_equal(count(text, "\"name\":\"load\""), 6);
    assert_int_equal(count(text, "\"process_name\""), 2);
    free(text);
}

static void the_layer_trace_has_the_layers_and_the_bytes_of_their_parameters(void **state)
{
    char path[256];
    tutti_layer_trace t;
    play("trace: {steps: 2, warmup: 1}\n", 2, *state, 0);
    snprintf(path, sizeof path, "%s/layers.txt", (char *)*state);
    assert_int_equal(tutti_layer_trace_read(path, &t, NULL), TUTTI_OK);
    assert_string_equal(t.layers[0].name, "fc1");
    assert_true(t.layers[0].size_bytes == 4 * (784 * 128 + 128));
    assert_true(t.layers[0].forward_us > 0);
    assert_true(t.layers[0].backward_us > 0);
    assert_true(t.layers[0].comm_us > t.layers[1].comm_us); /* one bucket: by size */
    assert_string_equal(t.layers[2].name, "softmax-cross-entropy1");
    assert_true(t.layers[2].size_bytes == 0);
    assert_true(t.layers[2].comm_us == 0);
    tutti_layer_trace_release(&t);
}

static void a_run_of_one_rank_exchanges_nothing(void **state)
{
    char path[256];
    tutti_layer_trace t;
    play("trace: {steps: 2, warmup: 1}\n", 1, *state, 0);
    snprintf(path, sizeof path, "%s/layers.txt", (char *)*state);
    assert_int_equal(tutti_layer_trace_read(path, &t, NULL), TUTTI_OK);
    for (int l = 0; l < t.nlayers; l++) assert_true(t.layers[l].comm_us == 0);
    assert_true(t.update_s_per_element > 0 && t.update_s_per_element < 1e-3);
    assert_true(t.load_s_per_sample > 0 && t.load_s_per_sample < 1);
    tutti_layer_trace_release(&t);
}

/* The mean of the ratios is 1, as they are all there: rounded to five places each. */
static void the_layer_trace_says_how_steps_differ(void **state)
{
    static const struct {
        const char *more;
        int nranks, nratios;
    } cases[] = {{"trace: {steps: 5, warmup: 1}\n", 1, 5},
                 {"trace: {steps: 5, warmup: 1}\n", 2, 10},
                 {"trace: {steps: 2, warmup: 1}\nreduction: canonical\nslots: 4\n", 2, 4},
                 {"trace: {steps: 1, warmup: 1}\n", 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[256];
        tutti_layer_trace t;
        double sum = 0;
        play(cases[i].more, cases[i].nranks, *state, 0);
        snprintf(path, sizeof path, "%s/layers.txt", (char *)*state);
        assert_int_equal(tutti_layer_trace_read(path, &t, NULL), TUTTI_OK);
        assert_int_equal(t.spread.n, cases[i].nratios);
        for (int k = 0; k < t.spread.n; k++) sum += t.spread.ratio[k];
        assert_true(fabs(sum - t.spread.n) <= 1e-5 * t.spread.n);
        tutti_layer_trace_release(&t);
    }
}

static void tracing_changes_no_weight_and_a_new_run_removes_the_trace_of_the_one_before(void **state)
{
    char path[256];
    snprintf(path, sizeof path, "%s/trace.json", (char *)*state);
    const uint64_t traced = play("trace: {steps: 5, warmup: 2}\n", 2, *state, 0);
    assert_int_equal(access(path, F_OK), 0);
    assert_true(play("", 2, *state, 0) == traced);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void slots_of_canonical_sums_are_traced_too(void **state)
{
    play("trace: {steps: 2, warmup: 1}\nreduction: canonical\nslots: 4\n", 2, *state, 0);
    char *text = contents(*state, "trace.json");
    assert_int_equal(count(text, "\"forward fc1\""), 8); /* two slots a rank */
    assert_int_equal(count(text, "\"fold bucket 0\""), 4);
    free(text);
}

static void the_verdict_of_loss_scaling_is_traced(void **state)
{
    play("trace: {steps: 2, warmup: 1}\nprecision: f16\n", 2, *state, 0);
    char *text = contents(*state, "trace.json");
    assert_int_equal(count(text, "\"wait for verdict\""), 4);
    free(text);
}

static void a_run_that_is_stopped_keeps_the_steps_that_it_has_traced(void **state)
{
    play("trace: {steps: 9, warmup: 2}\n", 2, *state, 6);
    char *text = contents(*state, "trace.json");
    assert_int_equal(count(text, "ProfilerStep#"), 8); /* 3 to 6, on two ranks */
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_follows_the_warm_up_and_lies_within_the_run),
        cmocka_unit_test_setup_teardown(each_rank_has_each_traced_step_with_all_its_parts, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(the_layer_trace_has_the_layers_and_the_bytes_of_their_parameters, make_dir,
                                        drop_dir),
        cmocka_unit_test_setup_teardown(a_run_of_one_rank_exchanges_nothing, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(the_layer_trace_says_how_steps_differ, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(tracing_changes_no_weight_and_a_new_run_removes_the_trace_of_the_one_before,
                                        make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(slots_of_canonical_sums_are_traced_too, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(the_verdict_of_loss_scaling_is_traced, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_run_that_is_stopped_keeps_the_steps_that_it_has_traced, make_dir, drop_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
