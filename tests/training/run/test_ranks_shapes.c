/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_shapes.c: the drawn shapes are hard for a linear model and learnable: with TUTTI_LONG=1 resnet20 reaches
 * 85 % with the job of examples/shapes.yaml (some minutes of one core). */
#include "testing.h"

#include "spawned_run.h"

/* The test accuracy that `tutti train <words>` ends with. */
static double train(const run_folder *f, const char *words)
{
    const spawned_run r = run_start(f, "train", words);
    const int rc = run_wait(&r);
    char *log = run_log(&r);
    if (rc) fail_msg("tutti %s: exit %d: %s", words, rc, log);
    const char *at = NULL;
    for (const char *next = strstr(log, "accuracy "); next; next = strstr(next + 1, "accuracy ")) at = next;
    assert_non_null(at);
    const double accuracy = strtod(at + strlen("accuracy "), NULL);
    free(log);
    return accuracy;
}

static void a_linear_model_stays_under_45_percent(void **state)
{
    const run_folder *f = *state;
    char path[160], words[512];
    run_file(
        f, "linear.yaml",
        "name: linear\ninput: [3, 32, 32]\nclasses: 10\nlayers:\n  - dense: {units: 10}\n  - softmax-cross-entropy\n",
        path);
    run_file(
        f, "job.yaml",
        "model: ./linear.yaml\ndata: {set: shapes, train_samples: 5000, test_samples: 1000}\nbatch: 50\nepochs: 4\n"
        "optimiser: {lr: 0.002}\n",
        path);
    snprintf(words, sizeof words, "train %s --quiet --out %s/linear", path, f->dir);
    const double accuracy = train(f, words);
    assert_true(accuracy > 0.02 && accuracy < 0.45);
}

static void resnet20_reaches_85_percent(void **state)
{
    const run_folder *f = *state;
    char words[512];
    if (!getenv("TUTTI_LONG")) {
        print_message("skipped: it takes minutes (./dev test --long)\n");
        skip();
    }
    snprintf(words, sizeof words, "train " TUTTI_SOURCE_DIR "/examples/shapes.yaml --quiet --out %s/resnet20", f->dir);
    const double accuracy = train(f, words);
    print_message("resnet20 on shapes: %.2f %%\n", 100 * accuracy);
    assert_true(accuracy >= 0.85);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_linear_model_stays_under_45_percent, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(resnet20_reaches_85_percent, run_folder_make, run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
