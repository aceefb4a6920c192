/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_predict_answers.c: what planners ask `tutti predict` and `coll explain`: runs, memory, changes, advice,
 * pictures, programs. */
#include "testing.h"

#include <math.h>

#include <cjson/cJSON.h>

#include "cli/command_folder.h"

/* A layer trace of the job: its times are round, so that a step's are known. */
static const char job[] = "model: mlp\ndata: {set: noise, shape: [1, 28, 28], classes: 10, train_samples: 640, "
                          "test_samples: 16}\nbatch: 16\nepochs: 3\nkernels: reference\noptimiser: {lr: 0.1}\n";

static int job_make(void **state)
{
    if (folder_make(state)) return -1;
    put("job.yaml", job);
    check("predict $/job.yaml --ranks 1,2 --weak --topology star,bw=1Gb,lat=50us --save-profile $/profile", 0,
          "efficiency");
    return 0;
}

static const char of_profile[] = "predict $/job.yaml --profile $/profile --weak --topology star,bw=100Mb,lat=50us ";

static char *asks(const char *more, int code, const char *wanted)
{
    char line[600];
    snprintf(line, sizeof line, "%s%s", of_profile, more);
    return says(line, code, wanted);
}

static void ask(const char *more, int code, const char *wanted)
{
    free(asks(more, code, wanted));
}

static double number(const cJSON *row, const char *key)
{
    const cJSON *value = cJSON_GetObjectItem(row, key);
    if (!cJSON_IsNumber(value)) fail_msg("no number '%s'", key);
    return value->valuedouble;
}

static void a_run_has_hours_nodes_and_cost(void **state)
{
    (void)state;
    char *text = asks("--ranks 1,2,4,..,64 --epochs 10 --samples 1000 --price 3.6/h --json -", 0, "\"run_s\"");
    static const int steps[] = {62, 31, 15, 7, 3, 1, 0}; /* of an epoch */
    int i = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), i++) {
        cJSON *row = cJSON_Parse(line);
        const int nranks = 1 << i;
        assert_in_range(i, 0, 6);
        assert_int_equal(number(row, "ranks"), nranks);
        assert_int_equal(number(row, "nodes"), nranks);
        assert_int_equal(number(row, "steps"), 10 * steps[i]);
        if (steps[i]) {
            const double run_s = 10 * steps[i] * number(row, "step_s");
            assert_true(fabs(number(row, "run_s") / run_s - 1) < 1e-12);
            assert_true(fabs(number(row, "epoch_s") * 10 / run_s - 1) < 1e-12);
            assert_true(fabs(number(row, "cost") / (nranks * run_s * 1e-3) - 1) < 1e-12);
        } else {
            assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "run_s")));
        }
        cJSON_Delete(row);
    }
    assert_int_equal(i, 7);
    free(text);
}

static void the_screen_says_what_follows(void **state)
{
    (void)state;
    ask("--ranks 1,2,4,..,64 --epochs 90", 0,
        "64 ranks: a batch is more than the 640 samples of an epoch; --samples N");
    ask("--ranks 1,2 --epochs 90 --samples 1281167", 0, "1281167 samples (--samples)");
    ask("--ranks 1,2 --price 3", 0, "3 epochs of 640 samples (the job's)"); /* the job's epochs, too */
    ask("--ranks 1,2 --epochs 90 --deadline 1s", 0, "None of these ends within 1.0 s.");
    ask("--ranks 1,2 --epochs 90 --deadline 90d", 0, "Fewest nodes within 2160.0 h: 1 rank on 1 node");
    ask("--ranks 4,8 --epochs 1 --ranks-per-node 4", 0, " ranks on 1 node, ");
    ask("--ranks 1,2", 0, "Memory a rank: ");
    check("predict examples/resnet50/job.yaml --trace examples/resnet50/layers.txt --set kernels=reference --ranks 1,2 "
          "--topology star,bw=25Gb,lat=10us --epochs 1 --samples 640",
          0, "Above 100 %: one rank"); /* 100.9 % there: half of the weights to update */
    ask("--ranks 1,2 --memory 1KiB", 0, "; does not fit in 1.00 KiB.");
    ask("--ranks 1,2 --memory 1GiB", 0, "; fits in 1.00 GiB.");
    ask("--ranks 1,2 --memory 1GiB --json -", 0, "\"fits\":true");
    ask("--ranks 1,2", 0, "What makes the step as long as it is at 2 ranks: ");
    ask("--ranks 1,2", 0, "Busiest link at 2 ranks: ");
}

#define ALEXNET                                                                                                        \
    "predict examples/resnet50/job.yaml --device v100 --topology @v100-25gbe --weak --ranks 8 --set model=alexnet-bn " \
    "--set data.shape=3,227,227 "

/* A job that shares no layer hears what sharing would take, and gets that time with the keys that it is told. A job
 * whose keys exclude sharing hears nothing. A job that leaves the key out gets groups. */
static void groups_that_would_share_a_layer_are_named(void **state)
{
    (void)state;
    char step[64];
    char *text = command_says(ALEXNET "--set parallel.layers=", 0, "Groups of ");
    const char *ms = strstr(text, "would take "), *keys = strstr(text, "--set parallel.groups=");
    assert_true(ms && keys);
    snprintf(step, sizeof step, " %.*s ", (int)strcspn(ms + 11, " "), ms + 11);
    char command[512];
    snprintf(command, sizeof command, ALEXNET "%.*s", (int)(strstr(keys, ". ") - keys), keys);
    expect(command, 0, step);
    free(text);
    text = command_says(ALEXNET "--set optimiser.clip_norm=1", 0, "Exchange at 8 ranks");
    assert_null(strstr(text, "roups of 8 ranks share "));
    free(text);
    expect(ALEXNET "--set parallel.layers= --json -", 0, "\"shared_step_s\":");
    text = command_says(ALEXNET, 0, ", groups of 8 ranks share fc6");
    assert_null(strstr(text, "would take "));
    free(text);
}

/* Weights and batches of a device that says how much it holds; no kernel runs. */
static void devices_plan_weakly_and_say_whether_it_fits(void **state)
{
    (void)state;
    static const char line[] =
        "predict examples/resnet50/job.yaml --device v100 --topology @v100-25gbe --ranks 1,2,4,..,64 "
        "--epochs 90 --price 3/h";
    char command[300];
    char *text = command_says(line, 0, "; fits in 14.90 GiB.");
    assert_non_null(strstr(text, "64 ranks: a batch is more than the 640 samples"));
    assert_non_null(strstr(text, "16 a rank and step"));
    assert_non_null(strstr(text, "the efficiency is still 50 % or more"));
    assert_non_null(strstr(text, "\nExchange at 64 ranks: "));
    free(text);
    text = command_says("predict examples/resnet50/job.yaml --device v100 --topology @v100-25gbe --weak --ranks 64 "
                        "--set exchange.buckets=layer",
                        0, "\nPyTorch DDP's model takes ");
    assert_non_null(strstr(text, "here the job fixes exchange.buckets.\n"));
    free(text);
    snprintf(command, sizeof command, "%s --strong", line);
    expect(command, 2, "batch 16 does not divide");
    snprintf(command, sizeof command, "%s --framework tensorflow --what-if nic=2x", line);
    expect(command, 2, "--what-if is of the job's own steps");
    snprintf(command, sizeof command, "%s --explain-gap cntk,tensorflow", line);
    expect(command, 2, "--epochs is not for --explain-gap");
    expect("predict examples/resnet50/job.yaml --device v100 --topology star --ranks 2 --weak --set "
           "exchange.update=replicated "
           "--set exchange.update_when=early",
           2, "early is for exchange.update: sharded"); /* of a job of one rank, which is never early */
    expect("predict examples/resnet50/job.yaml --device p100 --topology @manoa --ranks 8,64 --epochs 90", 0,
           "Prices of @manoa");
    expect("predict examples/resnet50/layers.txt --batch 16 --epochs 3", 2, "--samples N is missing");
}

static void what_is_no_plan_is_refused(void **state)
{
    (void)state;
    ask("--samples 5", 2, "--samples has no effect without --epochs");
    ask("--strong", 2, "--strong has no effect without --epochs");
    ask("--epochs 1 --strong", 2, "--strong: kernel times are of the job's batch on each rank");
    ask("--ranks-per-node 5", 2, "--ranks-per-node has no effect without --epochs");
    ask("--epochs 0", 2, "--epochs: 0 is not a training");
    ask("--epochs -1", 2, "--epochs");
    ask("--epochs many", 2, "--epochs");
    ask("--set steps=5 --price 3", 2,
        "--price is of a whole training, and the job counts steps: --epochs N is missing");
    ask("--epochs 1 --deadline 12", 2, "--deadline: '12' is no time, such as 12h");
    ask("--epochs 1 --deadline h", 2, "--deadline: 'h' is no time");
    ask("--epochs 1 --deadline 0h", 2, "--deadline: 0h is over at once");
    ask("--epochs 1 --deadline nanh", 2, "--deadline");
    ask("--epochs 1 --price 3/fortnight", 2, "--price: '3/fortnight' is not a price");
    ask("--epochs 1 --price /h", 2, "--price");
    ask("--epochs 1 --price -3/h", 2, "--price");
    ask("--epochs 1 --samples 0", 2, "--samples: 0 is outside");
    ask("--memory 0", 2, "--memory: 0 bytes hold nothing");
    ask("--memory lots", 2, "--memory");
    ask("--what-if bandwidth", 2, "'bandwidth' is not a change");
    ask("--what-if nvlink=2x", 2, "this star has no 'nvlink'");
    ask("--ranks 1,2,..,64", 2, "write a third number");
    ask("--svg $/x --html $/x", 2, "--html");
}

/* With twice of everything a step takes half as long. */
static void changes_stand_beside_what_is_now(void **state)
{
    (void)state;
    char *text = asks("--ranks 2 --json - --what-if bandwidth=2x,latency=0.5x,compute=2x,add=2x --what-if bw=1x", 0,
                      "\"what_if\"");
    cJSON *row = cJSON_Parse(text);
    const cJSON *changes = cJSON_GetObjectItem(row, "what_if");
    assert_int_equal(cJSON_GetArraySize(changes), 2);
    assert_true(fabs(2 * number(cJSON_GetArrayItem(changes, 0), "step_s") / number(row, "step_s") - 1) < 1e-9);
    assert_true(number(cJSON_GetArrayItem(changes, 1), "step_s") == number(row, "step_s"));
    cJSON_Delete(row);
    free(text);
    ask("--ranks 1,2 --what-if bandwidth=2x", 0, "What if bandwidth=2x");
}

static void advice_is_no_slower_than_the_job(void **state)
{
    (void)state;
    char *text = asks("--ranks 1,2 --advise --json -", 0, "\"advice\":\"all\"");
    double now = 0, best = 0;
    int tried = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        cJSON *row = cJSON_Parse(line);
        const char *advice = cJSON_GetStringValue(cJSON_GetObjectItem(row, "advice"));
        if (!advice) now = number(row, "step_s");
        if (advice && !strcmp(advice, "all")) best = number(row, "step_s");
        tried += advice && cJSON_IsTrue(cJSON_GetObjectItem(row, "can"));
        cJSON_Delete(row);
    }
    assert_true(now > 0 && best > 0 && best <= now * (1 + 1e-9));
    assert_in_range(tried, 12, 100);
    free(text);
    ask("--ranks 1,2 --advise", 0, "samples a rank on at least half of a step is computing (now 16)");
    ask("--ranks 1,2 --advise", 0, "Recommended: ");
}

static void the_page_needs_nothing_else(void **state)
{
    (void)state;
    ask("--ranks 1,2,4 --epochs 2 --svg $/scales.svg --html $/scales.html --what-if compute=2x", 0, "an epoch");
    char *svg = get("scales.svg"), *html = get("scales.html");
    assert_non_null(strstr(svg, "speed-up"));
    assert_non_null(strstr(svg, "</svg>"));
    static const char *const wanted[] = {"<!DOCTYPE html>",
                                         "One step at 4 ranks",
                                         "exposed exchange",
                                         "Memory of a rank",
                                         "What if compute=2x",
                                         "prefers-color-scheme:dark",
                                         "fc1",
                                         "</html>"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(html, wanted[i])) fail_msg("the page lacks '%s'", wanted[i]);
    assert_null(strstr(html, "http"));
    assert_null(strstr(html, "<script"));
    assert_null(strstr(html, "nan"));
    free(svg);
    free(html);
}

static void an_imported_program_is_timed_beside_the_table(void **state)
{
    (void)state;
    /* Three stages of a quarter each way, like our own ring's halves: it is no faster than the table's fastest. */
    char *text =
        says("coll explain tests/golden/msccl/all_pairs_4.xml --bytes 4MB --topology star,bw=8Gb,lat=0s,soft=0s --json",
             0, "\"best_algorithm\"");
    cJSON *row = cJSON_Parse(text);
    assert_int_equal(number(row, "ranks"), 4);
    assert_true(number(row, "seconds") >= number(row, "lower_s") * (1 - 1e-9));
    assert_true(number(row, "seconds") >= number(row, "bound_s") * (1 - 1e-9));
    cJSON_Delete(row);
    free(text);
    /* What we write as a program of MSCCL takes as long as what it was written from. */
    check("coll convert ring --ranks 4 --in-place --to msccl --out $/ring.xml", 0, "");
    text = says("coll explain $/ring.xml --bytes 4MB --topology star,bw=8Gb,lat=10us --json", 0, "\"seconds\"");
    row = cJSON_Parse(text);
    const double imported = number(row, "seconds");
    cJSON_Delete(row);
    free(text);
    text =
        says("coll explain --ranks 4 --bytes 4MB --topology star,bw=8Gb,lat=10us --json", 0, "\"algorithm\":\"ring\"");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        row = cJSON_Parse(line);
        if (!strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(row, "algorithm")), "ring"))
            assert_true(fabs(number(row, "seconds") / imported - 1) < 1e-3);
        cJSON_Delete(row);
    }
    free(text);
    check("coll explain tests/golden/msccl/all_pairs_4.xml --bytes 4MB", 0, "timed as it is, not proved");
    check("coll explain tests/golden/msccl/all_pairs_4.xml --bytes 4MB --ranks 4", 2, "--ranks is for all algorithms");
    check("coll explain tests/golden/msccl/all_pairs_4.xml --bytes 4MB --topology dgx1v,gpus=0.1", 2, "2");
    check("coll explain README.md --bytes 4MB", 3, "README.md");
    check("coll compile ring --ranks 32 --out $/ring.sched", 0, "");
    check("coll explain $/ring.sched --bytes 4MB --topology star", 0, "timed as it is");
    char *sched = get("ring.sched"), *stage = strstr(sched, "stage 1 ");
    assert_non_null(stage);
    tutti_strbuf far = {0};
    tutti_strbuf_printf(&far, "%.*sstage 1048576 %s", (int)(stage - sched), sched, stage + 8);
    put("far.sched", far.text);
    check("coll explain $/far.sched --bytes 4MB --topology star", 3,
          "1048577 stages of 32 ranks are more than can be timed");
    tutti_strbuf_release(&far);
    free(sched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_hours_nodes_and_cost),
        cmocka_unit_test(the_screen_says_what_follows),
        cmocka_unit_test(groups_that_would_share_a_layer_are_named),
        cmocka_unit_test(devices_plan_weakly_and_say_whether_it_fits),
        cmocka_unit_test(what_is_no_plan_is_refused),
        cmocka_unit_test(changes_stand_beside_what_is_now),
        cmocka_unit_test(advice_is_no_slower_than_the_job),
        cmocka_unit_test(the_page_needs_nothing_else),
        cmocka_unit_test(an_imported_program_is_timed_beside_the_table),
    };
    return cmocka_run_group_tests(tests, job_make, folder_drop);
}
