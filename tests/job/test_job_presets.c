/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_presets.c: a preset sets what its source says, what the job says itself goes before, and a refusal of what
 * it has set blames it. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/job_fields.h"

#define TEXT(optimiser) "model: mlp\ndata: {set: digits}\nbatch: 64\nepochs: 90\noptimiser: {" optimiser "}\n"

static tutti_job *parsed(const char *text, const char *override)
{
    tutti_job *job = NULL;
    tutti_failure err = {0};
    if (tutti_job_parse("j.yaml", text, strlen(text), &override, override != NULL, &job, &err))
        fail_msg("%s", err.text);
    return job;
}

static void expect_preset(const char *name, double lr, double warmup, double momentum, double decay)
{
    char text[300];
    snprintf(text, sizeof text, TEXT("preset: %s"), name);
    tutti_job *job = parsed(text, NULL);
    const tutti_update u = tutti_job_update(job);
    assert_string_equal(u.rule->name, "lars");
    assert_true(job->train.rate.kind == TUTTI_RATE_POLY && job->train.rate.lr == lr);
    assert_true(job->train.rate.warmup_epochs == warmup && u.value[0] == momentum && u.weight_decay == decay);
    assert_true(u.value[1] == 0.001 && u.value[2] == 1); /* not said there: as without a preset */
    tutti_job_destroy(job);
}

/* rcps_resnet.json of 4.0. */
static void presets_set_what_their_source_says(void **state)
{
    (void)state;
    expect_preset("mlperf-lars-1632", 7.4, 2, 0.9, 5e-5);
    expect_preset("mlperf-lars-3264", 10.5, 2, 0.9, 5e-5);
    expect_preset("mlperf-lars-4k", 10, 5, 0.9, 2e-4);
    expect_preset("mlperf-lars-8k", 17, 5, 0.9, 2e-4);
    expect_preset("mlperf-lars-13k", 12.8, 9, 0.9, 2.5e-5);
    expect_preset("mlperf-lars-32k", 21.2, 16, 0.94, 2.5e-5);
    expect_preset("mlperf-lars-48k", 19.4, 24, 0.952, 1e-4);
    assert_string_equal(tutti_job_preset_name(7), "mlperf-lars-48k");
    assert_null(tutti_job_preset_name(8));
}

static void what_the_job_says_goes_before(void **state)
{
    (void)state;
    tutti_job *job = parsed(TEXT("preset: mlperf-lars-4k, lr: 3, momentum: 0.5"), "optimiser.warmup_epochs=1");
    const tutti_update u = tutti_job_update(job);
    assert_true(job->train.rate.lr == 3 && u.value[0] == 0.5 && job->train.rate.warmup_epochs == 1);
    assert_true(u.weight_decay == 2e-4);
    tutti_job_destroy(job);
    job = parsed(TEXT("lr: 3"), "optimiser.preset=mlperf-lars-8k");
    assert_true(job->train.rate.lr == 3 && job->train.rate.warmup_epochs == 5);
    tutti_job_destroy(job);
}

static void a_printed_job_with_a_preset_reads_back_the_same(void **state)
{
    (void)state;
    tutti_job *job = parsed(TEXT("preset: mlperf-lars-32k, lr: 3"), NULL);
    char *text = tutti_job_print(job);
    tutti_job *again = parsed(text, NULL);
    char *twice = tutti_job_print(again);
    assert_string_equal(text, twice);
    tutti_strbuf words = {0};
    tutti_job_preset_describe(again, &words);
    assert_non_null(strstr(words.text, "preset mlperf-lars-32k: rule=lars schedule=poly lr=21.2"));
    assert_non_null(strstr(words.text, "batches of 32768 for 55 to 57 epochs"));
    tutti_strbuf_release(&words);
    free(text), free(twice);
    tutti_job_destroy(job), tutti_job_destroy(again);
}

static void a_refusal_of_what_it_has_set_blames_it(void **state)
{
    (void)state;
    static const char text[] =
        "model: mlp\ndata: {set: digits}\nbatch: 64\nepochs: 2\noptimiser:\n  preset: mlperf-lars-4k\n";
    tutti_job *job = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_job_parse("j.yaml", text, sizeof text - 1, NULL, 0, &job, &err), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "j.yaml: line 6: optimiser.warmup_epochs: 5 is longer than the run's 2 epochs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_set_what_their_source_says),
        cmocka_unit_test(what_the_job_says_goes_before),
        cmocka_unit_test(a_printed_job_with_a_preset_reads_back_the_same),
        cmocka_unit_test(a_refusal_of_what_it_has_set_blames_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
