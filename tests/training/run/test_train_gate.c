/* SPDX-License-Identifier: Apache-2.0 */
/* test_train_gate.c: a step in which one rank's gradients are not finite is skipped by all ranks alike.
 *
 * The set has 31 black images and a white one; data.std is so small that white becomes infinite. So once an epoch one
 * rank, and only one, computes with infinities. */
#include "testing.h"

#include <unistd.h>

#include "base/file.h"
#include "played_job.h"
#include "tensor/elementwise.h"
#include "training/run/keep/checkpoint.h"

enum { SAMPLES = 32, SIDE = 28, STEPS = 8, WHITE = 5 };

static void put(const char *dir, const char *name, const void *bytes, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(tutti_file_write_atomic(path, bytes, n, NULL), TUTTI_OK);
}

static void put_set(const char *dir)
{
    static uint8_t images[16 + SAMPLES * SIDE * SIDE] = {0, 0, 8, 3, 0, 0, 0, SAMPLES, 0, 0, 0, SIDE, 0, 0, 0, SIDE};
    uint8_t labels[8 + SAMPLES] = {0, 0, 8, 1, 0, 0, 0, SAMPLES};
    for (int i = 0; i < SAMPLES; i++) labels[8 + i] = (uint8_t)(i % 10);
    memset(images + 16 + WHITE * SIDE * SIDE, 255, SIDE * SIDE);
    put(dir, "train-images-idx3-ubyte", images, sizeof images);
    put(dir, "train-labels-idx1-ubyte", labels, sizeof labels);
    put(dir, "t10k-images-idx3-ubyte", images, sizeof images);
    put(dir, "t10k-labels-idx1-ubyte", labels, sizeof labels);
}

static int make_dir(void **state)
{
    char *dir = strdup("/tmp/tutti_gate_XXXXXX");
    *state = mkdtemp(dir);
    put_set(dir);
    return 0;
}

static int drop_dir(void **state)
{
    assert_int_equal(tutti_file_remove_tree(*state, NULL), TUTTI_OK);
    free(*state);
    return 0;
}

static void play_rule(const char *dir, const char *model, const char *rule, const char *more, int nranks, played_job *j)
{
    char text[1024], out[256];
    snprintf(out, sizeof out, "%s/out", dir);
    snprintf(text, sizeof text,
             "model: %s\ndata: {set: idx, path: %s, mean: [0], std: [1e-39]}\n"
             "batch: 8\nsteps: %d\nlog_every: 1\neval_every_epochs: 0\n"
             "optimiser: {rule: %s, lr: 0.125, weight_decay: 0.001}\n"
             "checkpoint: {every_steps: 1, keep: 100}\n%s",
             model, dir, STEPS, rule, more);
    *j = (played_job){.text = text, .nranks = nranks, .dir = out, .fresh = true};
    play_job(j);
    for (int r = 0; r < nranks; r++) {
        if (j->err[r].status) fail_msg("rank %d: %s", r, j->err[r].text);
        assert_true(j->result[r].weights_hash == j->result[0].weights_hash);
    }
}

static void play(const char *dir, const char *model, const char *more, int nranks, played_job *j)
{
    play_rule(dir, model, "momentum", more, nranks, j);
}

/* The number after "key": in the line of a step. */
static double figure(const char *dir, int step, const char *key)
{
    char path[256], begin[64], quoted[64], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/out/metrics.jsonl", dir);
    snprintf(begin, sizeof begin, "{\"ev\":\"step\",\"step\":%d,", step);
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    const char *line = strstr(text, begin), *at = line ? strstr(line, quoted) : NULL;
    if (!at) fail_msg("no %s of step %d", key, step);
    const double value = strtod(at + strlen(quoted), NULL);
    free(text);
    return value;
}

static bool same_file(const char *dir, int step, const char *name)
{
    char path[256], *text[2];
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/out/checkpoints/step_%09d/%s", dir, step - i, name);
        assert_int_equal(tutti_file_read(path, 1 << 26, TUTTI_ERR_DATA, &text[i], &n[i], NULL), TUTTI_OK);
    }
    const bool same = n[0] == n[1] && !memcmp(text[0], text[1], n[0]);
    free(text[0]), free(text[1]);
    return same;
}

/* Steps 2 to the end: those that were skipped left weights, statistics and the file of a state as they were, the others
 * did not. */
static int count_skipped_by(const char *dir, const char *state)
{
    int nskipped = 0;
    for (int step = 2; step <= STEPS; step++) {
        const bool skipped = figure(dir, step, "skipped") > figure(dir, step - 1, "skipped");
        assert_true(same_file(dir, step, "weights.safetensors") == skipped);
        assert_true(same_file(dir, step, state) == skipped);
        assert_true(figure(dir, step, "loss_scale") == figure(dir, step - 1, "loss_scale") / (skipped ? 2 : 1));
        nskipped += skipped;
    }
    return nskipped + (int)figure(dir, 1, "skipped");
}

static int count_skipped(const char *dir)
{
    return count_skipped_by(dir, "momentum.safetensors");
}

static void test_f31_infinities_on_one_rank_skip_the_step_on_all_ranks(void **state)
{
    static const char *const precisions[] = {"precision: f16\n", "precision: bf16\nloss_scale: dynamic\n",
                                             "loss_scale: dynamic\n"};
    for (int i = 0; i < 3; i++)
        for (int nranks = i ? 2 : 1; nranks <= (i ? 2 : 4); nranks *= 2) {
            played_job j;
            play(*state, "mlp", precisions[i], nranks, &j);
            assert_int_equal(count_skipped(*state), 2); /* once in each of two epochs */
            assert_true(figure(*state, STEPS, "loss_scale") == 16384);
        }
}

/* A skipped step is no update, so it does not count for the corrections either: the first update is as long as the
 * rate. */
static void skipped_steps_are_no_updates_of_adamw(void **state)
{
    played_job j;
    play_rule(*state, "mlp", "adamw", "loss_scale: dynamic\n", 2, &j);
    assert_int_equal(count_skipped_by(*state, "exp_avg.safetensors"), 2);
    assert_int_equal(count_skipped_by(*state, "exp_avg_sq.safetensors"), 2);
}

static void running_statistics_of_a_skipped_step_are_left_alone(void **state)
{
    played_job j;
    play(*state, "convnet-bn", "loss_scale: dynamic\n", 2, &j);
    assert_int_equal(count_skipped(*state), 2);
}

static bool has_finite_weights(const char *dir)
{
    char path[256], *bytes;
    size_t n;
    tutti_safetensors *st;
    bool finite = true;
    snprintf(path, sizeof path, "%s/out/checkpoints/step_%09d/weights.safetensors", dir, STEPS);
    assert_int_equal(tutti_file_read(path, 1 << 26, TUTTI_ERR_DATA, &bytes, &n, NULL), TUTTI_OK);
    assert_int_equal(tutti_safetensors_parse("weights", bytes, n, &st, NULL), TUTTI_OK);
    for (int i = 0; i < tutti_safetensors_count(st); i++) {
        const tutti_tensor_ref *t = tutti_safetensors_at(st, i);
        finite = finite && tutti_elementwise_is_finite(t->data, tutti_shape_count(&t->shape));
    }
    tutti_safetensors_destroy(st);
    free(bytes);
    return finite;
}

static bool saved_its_end(const char *dir)
{
    char path[256];
    snprintf(path, sizeof path, "%s/out/checkpoints/step_%09d", dir, STEPS);
    return access(path, F_OK) == 0;
}

/* Else the tests above could not fail. */
static void without_a_gate_infinities_spoil_the_weights(void **state)
{
    played_job j;
    play(*state, "mlp", "loss_scale: dynamic\n", 2, &j);
    assert_true(has_finite_weights(*state));
    play(*state, "mlp", "on_nan: continue\n", 2, &j);
    assert_false(saved_its_end(*state)); /* what is not finite is not saved */
}

static void canonical_sums_skip_the_same_steps_at_any_rank_count(void **state)
{
    played_job one, two;
    play(*state, "mlp", "loss_scale: dynamic\nreduction: canonical\nslots: 4\n", 1, &one);
    assert_int_equal(count_skipped(*state), 2);
    play(*state, "mlp", "loss_scale: dynamic\nreduction: canonical\nslots: 4\n", 2, &two);
    assert_int_equal(count_skipped(*state), 2);
    assert_true(one.result[0].weights_hash == two.result[0].weights_hash);
}

static char *scale_in_manifest(const char *dir, int64_t step)
{
    char path[256], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/checkpoints/step_%09d/MANIFEST.json", dir, (int)step);
    assert_int_equal(tutti_file_read(path, 1 << 16, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    char *at = strstr(text, "\"loss_scale\""), *end = at ? strstr(at, ",\"plan\"") : NULL;
    assert_non_null(end);
    char *found = strndup(at, (size_t)(end - at));
    free(text);
    return found;
}

static void a_resumed_run_goes_on_with_the_scale_to_the_bit(void **state)
{
    static const char text[] = "model: mlp\ndata: {set: digits, train_samples: 96, test_samples: 40}\n"
                               "batch: 16\nsteps: 14\nprecision: f16\nloss_scale_interval: 4\n"
                               "optimiser: {rule: momentum, lr: 0.05}\n";
    char whole_dir[256], cut_dir[256];
    snprintf(whole_dir, sizeof whole_dir, "%s/whole", (char *)*state);
    snprintf(cut_dir, sizeof cut_dir, "%s/cut", (char *)*state);
    played_job whole = {.text = text, .nranks = 2, .dir = whole_dir};
    played_job first = {.text = text, .nranks = 2, .dir = cut_dir, .stop_rank = 1, .stop_step = 6};
    played_job second = {.text = text, .nranks = 2, .dir = cut_dir};
    played_job *all[] = {&whole, &first, &second};
    char *cut = NULL;
    for (int i = 0; i < 3; i++) {
        play_job(all[i]);
        if (all[i]->err[0].status) fail_msg("%s", all[i]->err[0].text);
        if (i == 1) cut = scale_in_manifest(cut_dir, 6);
    }
    assert_int_equal(first.result[0].step, 6);
    assert_true(whole.result[0].weights_hash == second.result[0].weights_hash);
    char *at_end = scale_in_manifest(whole_dir, 14), *resumed = scale_in_manifest(cut_dir, 14);
    assert_string_equal(at_end, resumed);
    assert_string_not_equal(at_end, cut);
    free(at_end), free(resumed), free(cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_f31_infinities_on_one_rank_skip_the_step_on_all_ranks, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(skipped_steps_are_no_updates_of_adamw, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(running_statistics_of_a_skipped_step_are_left_alone, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(without_a_gate_infinities_spoil_the_weights, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(canonical_sums_skip_the_same_steps_at_any_rank_count, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_resumed_run_goes_on_with_the_scale_to_the_bit, make_dir, drop_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
