/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_earlier.c: a checkpoint of an earlier version, whose job lacks keys of today, goes on to the bits that its
 * own program came to (tests/golden/earlier, made by its make.sh). */
#include "testing.h"

#include "spawned_run.h"

#define EARLIER TUTTI_SOURCE_DIR "/tests/golden/earlier"

static void copy_run(const run_folder *f)
{
    char line[400];
    snprintf(line, sizeof line, "mkdir %s/out && cp -r %s/checkpoints %s/out", f->dir, EARLIER, f->dir);
    assert_int_equal(system(line), 0);
}

static void test_f38_an_earlier_checkpoint_goes_on_to_the_same_bits(void **state)
{
    const run_folder *f = *state;
    char line[512], want[17] = "", have[17], *text;
    size_t n;
    copy_run(f);
    assert_int_equal(tutti_file_read(EARLIER "/weights.txt", 1000, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    assert_int_equal(sscanf(text, "weights %16s step 12", want), 1);
    free(text);
    snprintf(line, sizeof line, "train %s/tiny_job.yaml --quiet --out %s/out --set steps=12", EARLIER, f->dir);
    run_to_end(f, "train", line, have);
    assert_string_equal(have, want);
}

static void expect_refused(const run_folder *f, const char *keys, const char *words)
{
    char line[512];
    snprintf(line, sizeof line, "train %s/tiny_job.yaml --quiet --out %s/out --set steps=12 %s", EARLIER, f->dir, keys);
    const spawned_run r = run_start(f, "refused", line);
    assert_int_equal(run_wait(&r), TUTTI_ERR_USAGE);
    char *log = run_log(&r);
    if (!strstr(log, words)) fail_msg("%s: %s", keys, log);
    free(log);
}

/* Else the test above could not fail. */
static void what_the_earlier_job_could_not_say_had_the_default(void **state)
{
    const run_folder *f = *state;
    copy_run(f);
    expect_refused(f, "--set optimiser.momentum=0.5", "optimiser.momentum is 0.75 there, 0.5 here");
    expect_refused(f, "--set optimiser.rule=adamw --set optimiser.momentum=0.9 --set optimiser.beta1=0.5",
                   "optimiser.beta1 is 0.9 there, 0.5 here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_f38_an_earlier_checkpoint_goes_on_to_the_same_bits, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(what_the_earlier_job_could_not_say_had_the_default, run_folder_make,
                                        run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
