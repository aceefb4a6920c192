/* SPDX-License-Identifier: Apache-2.0 */
/* test_job.c: jobs are read, completed, refused with place and remedy, and printed so that they read back the same.
 * Each file tests/must_fail/job_*.yaml says in its first line with which words it must be refused. */
#include "testing.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "job/job_fields.h"
#include "job/resolve.h"

static const char MINIMAL[] = "model: mlp\ndata: {set: digits}\nbatch: 64\nepochs: 2\noptimiser: {lr: 0.01}\n";

static tutti_status parse(const char *text, const char *override, tutti_job **job, tutti_failure *err)
{
    return tutti_job_parse("job.yaml", text, strlen(text), &override, override != NULL, job, err);
}

/* The words with which `text` is refused; "" if it is not. */
static const char *refusal(const char *text, const char *override, tutti_failure *err)
{
    tutti_job *job = NULL;
    *err = (tutti_failure){0};
    if (parse(text, override, &job, err) == TUTTI_OK) {
        tutti_job_destroy(job);
        return "";
    }
    assert_int_equal(err->status, TUTTI_ERR_USAGE);
    return err->text;
}

static void missing_keys_take_their_defaults(void **state)
{
    (void)state;
    tutti_job *job = NULL;
    tutti_failure err = {0};
    assert_int_equal(parse(MINIMAL, NULL, &job, &err), TUTTI_OK);
    assert_string_equal(job->model, "mlp");
    assert_int_equal(job->plan.batch, 64);
    assert_int_equal(job->ranks, 1);
    assert_true(job->epochs == 2.0 && tutti_job_update(job).value[0] == 0.9);
    assert_int_equal(job->plan.bucket_bytes, 1 << 20);
    assert_string_equal(job->plan.engine, "auto"); /* chosen by layer and pass */
    assert_null(job->data.path);
    tutti_job_destroy(job);
}

static void a_printed_job_reads_back_to_the_same_print(void **state)
{
    (void)state;
    const char *texts[] = {
        MINIMAL,
        "model: mlp\ndata: {set: digits}\nbatch: 64\nepochs: 2\noptimiser: {lr: 0.01}\npartition: l3\nranks: "
        "2\nthreads: 3\n",
        "model: \"odd \\\"name\\\\ \\x01.yaml\"\ndata: {set: mnist, path: 'a: b # c', seed: 9000000000000000}\nbatch: "
        "48\n"
        "steps: 7\nreduction: canonical\nslots: 16\nranks: 5\noptimiser:\n  rule: nesterov\n  momentum: 0.1\n"
        "  lr: 0.30000000000000004\n  schedule: step\n  milestones: [0.1, 2, 3e2]\nexchange: {bucket_bytes: 64KB}\n",
    };
    for (int i = 0; i < 2; i++) {
        tutti_job *first = NULL, *second = NULL;
        tutti_failure err = {0};
        if (parse(texts[i], NULL, &first, &err) != TUTTI_OK) fail_msg("%s", err.text);
        char *printed = tutti_job_print(first), *again = NULL;
        if (parse(printed, NULL, &second, &err) != TUTTI_OK) fail_msg("%s\n%s", err.text, printed);
        again = tutti_job_print(second);
        assert_string_equal(printed, again);
        assert_true(first->train.rate.lr == second->train.rate.lr);
        assert_string_equal(first->model, second->model);
        free(printed);
        free(again);
        tutti_job_destroy(first);
        tutti_job_destroy(second);
    }
}

static void overrides_win_and_are_blamed(void **state)
{
    (void)state;
    tutti_job *job = NULL;
    tutti_failure err = {0};
    assert_int_equal(parse(MINIMAL, "optimiser.lr=0.5", &job, &err), TUTTI_OK);
    assert_true(job->train.rate.lr == 0.5);
    tutti_job_destroy(job);
    assert_string_equal(refusal(MINIMAL, "ranks=3", &err),
                        "--set ranks=3: ranks: batch 64 does not divide into 3 ranks; "
                        "batch 63 or 66 would");
    assert_string_equal(refusal(MINIMAL, "batch=x", &err), "--set batch=x: batch: 'x' is not a whole number");
    assert_string_equal(refusal(MINIMAL, "rank=3", &err), "--set rank=3: unknown key 'rank'; did you mean 'ranks'?");
}

static void early_updates_go_by_need_and_one_rank_has_none(void **state)
{
    (void)state;
    tutti_job *job = NULL;
    tutti_failure err = {0};
    assert_int_equal(parse(MINIMAL, "exchange.update_when=early", &job, &err), TUTTI_OK);
    const tutti_plan_config two = tutti_job_plan_config(job, &(tutti_job_seat){.nranks = 2}),
                            one = tutti_job_plan_config(job, &(tutti_job_seat){.nranks = 1});
    assert_true(two.early && two.by_need);
    assert_true(!one.early && !one.by_need);
    tutti_job_destroy(job);
}

static void an_override_of_steps_takes_the_place_of_epochs(void **state)
{
    (void)state;
    tutti_job *job = NULL;
    tutti_failure err = {0};
    assert_int_equal(parse(MINIMAL, "steps=20", &job, &err), TUTTI_OK);
    assert_true(job->train.nsteps == 20 && job->epochs == 0.0);
    tutti_job_destroy(job);
}

/* First line "# expect: words"; returns the words in `line`. */
static const char *expected_words(const char *path, char line[400])
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, 400, f));
    fclose(f);
    line[strcspn(line, "\n")] = '\0';
    assert_int_equal(strncmp(line, "# expect: ", 10), 0);
    return line + 10;
}

static void every_must_fail_job_is_refused_with_its_words(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(TUTTI_SOURCE_DIR "/tests/must_fail/job_*.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 25);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char line[400];
        const char *path = found.gl_pathv[i], *words = expected_words(path, line);
        tutti_job *job = NULL;
        tutti_failure err = {0};
        assert_int_equal(tutti_job_load(path, NULL, 0, &job, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, words)) fail_msg("%s: wanted \"%s\", got \"%s\"", path, words, err.text);
        if (strncmp(err.text, path, strlen(path)) != 0) fail_msg("%s: not named in \"%s\"", path, err.text);
    }
    globfree(&found);
}

static void every_example_is_a_job(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(TUTTI_SOURCE_DIR "/examples/*.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 4);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        tutti_job *job = NULL;
        tutti_failure err = {0};
        if (tutti_job_load(found.gl_pathv[i], NULL, 0, &job, &err) != TUTTI_OK) fail_msg("%s", err.text);
        tutti_job_destroy(job);
    }
    globfree(&found);
}

static void a_relative_path_starts_at_the_job_file_and_an_overridden_one_at_the_working_folder(void **state)
{
    (void)state;
    tutti_job *job = NULL;
    tutti_failure err = {0};
    char here[1000], wanted[1100];
    const char *file = TUTTI_SOURCE_DIR "/examples/lenet-mnist.yaml", *override = "data.path=d";
    assert_int_equal(tutti_job_load(file, NULL, 0, &job, &err), TUTTI_OK);
    char *folder = realpath(TUTTI_SOURCE_DIR "/examples", NULL);
    snprintf(wanted, sizeof wanted, "%s/mnist", folder);
    assert_string_equal(job->data.path, wanted);
    tutti_job_destroy(job);
    free(folder);
    assert_int_equal(tutti_job_load(file, &override, 1, &job, &err), TUTTI_OK);
    assert_non_null(getcwd(here, sizeof here));
    snprintf(wanted, sizeof wanted, "%s/d", here);
    assert_string_equal(job->data.path, wanted);
    tutti_job_destroy(job);
}

static void a_missing_job_file_is_a_usage_failure(void **state)
{
    (void)state;
    tutti_job *job = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_job_load("no/such.yaml", NULL, 0, &job, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "no/such.yaml: cannot open"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_keys_take_their_defaults),
        cmocka_unit_test(a_printed_job_reads_back_to_the_same_print),
        cmocka_unit_test(overrides_win_and_are_blamed),
        cmocka_unit_test(early_updates_go_by_need_and_one_rank_has_none),
        cmocka_unit_test(an_override_of_steps_takes_the_place_of_epochs),
        cmocka_unit_test(every_must_fail_job_is_refused_with_its_words),
        cmocka_unit_test(every_example_is_a_job),
        cmocka_unit_test(a_relative_path_starts_at_the_job_file_and_an_overridden_one_at_the_working_folder),
        cmocka_unit_test(a_missing_job_file_is_a_usage_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
