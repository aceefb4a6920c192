/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_train_command.c: `tutti train`, `eval` and `ckpt` as commands: what they print, refuse and exit with. */
#include "testing.h"

#include "command_line.h"
#include "training/run/spawned_run.h"
#include "training/run/train.h"

static const char job[] = "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 30}\nbatch: 16\nsteps: 6\n"
                          "optimiser: {rule: momentum, lr: 0.02}\ncheckpoint: {every_steps: 3, keep: 2}\n";

static void train_line(const run_folder *f, const char *more, char out[512])
{
    char path[160];
    snprintf(out, 512, "train %s --out %s/out %s", run_file(f, "job.yaml", job, path), f->dir, more);
}

static void a_mistake_in_the_job_is_named_with_exit_2(void **state)
{
    const run_folder *f = *state;
    char line[512];
    train_line(f, "--ranks 2 --set optimiser.lrr=1", line);
    expect(line, TUTTI_ERR_USAGE, "did you mean 'optimiser.lr'");
    train_line(f, "--ranks 3", line);
    expect(line, TUTTI_ERR_USAGE, "16 does not divide into 3 ranks");
    train_line(f, "--rank 3", line);
    expect(line, TUTTI_ERR_USAGE, "did you mean '--ranks'");
    static const char *const held_up[][2] = {
        {"--slow 2=3", "--slow 2=3: there are ranks 0 to 1"},
        {"--slow 0=0.5", "--slow 0=0.5: RANK=FACTOR"},
        {"--slow 1=nan", "RANK=FACTOR"},
        {"--stall 0=1", "--stall 0=1: RANK=SECONDS@STEP"},
        {"--stall 0=1@0", "RANK=SECONDS@STEP"},
        {"--record x.json", "--record: ranks of sync-sgd take all steps together"},
        {"--set method.name=hogwild-sgd --replay x.json", "--replay: workers of hogwild-sgd change the centre"},
        {"--set method.name=async-sgd --trace 3", "take steps of their own"},
    };
    for (size_t i = 0; i < sizeof held_up / sizeof *held_up; i++) {
        char words[120];
        snprintf(words, sizeof words, "--ranks 2 --set batch=16 %s", held_up[i][0]);
        train_line(f, words, line);
        expect(line, TUTTI_ERR_USAGE, held_up[i][1]);
    }
}

/* Both ranks fail; the first of them says it. */
static void missing_data_are_named_once_with_exit_3(void **state)
{
    const run_folder *f = *state;
    char line[512];
    train_line(f, "--ranks 2 --set data.set=mnist --set data.path=/nowhere", line);
    const spawned_run r = run_start(f, "missing", line);
    assert_int_equal(run_wait(&r), TUTTI_ERR_DATA);
    char *log = run_log(&r), *first = strstr(log, "/nowhere: no file");
    assert_non_null(first);
    assert_null(strstr(first + 1, "/nowhere"));
    free(log);
}

static void a_dry_run_shows_job_plan_and_memory_and_leaves_nothing(void **state)
{
    const run_folder *f = *state;
    char line[512], out[160];
    train_line(f, "--dry-run --ranks 2", line);
    expect(line, 0, "train_samples: 64");
    expect(line, 0, "101770 parameters");
    expect(line, 0, "memory of a rank");
    expect(line, 0,
           "memory of rank 0 while it saves a checkpoint: 1.22 MB more"); /* a file, and a copy with the momentum */
    expect(line, 0, "\n# sync-sgd, 2 ranks: sharded all-reduce by direct, f32\n");
    snprintf(out, sizeof out, "%s/out", f->dir);
    assert_int_not_equal(access(out, F_OK), 0);
}

/* What no epoch has a whole batch for, once at the start and in a dry run. */
static void samples_that_an_epoch_leaves_out_are_said(void **state)
{
    static const struct {
        const char *more, *words;
    } cases[] = {
        {"--set data.train_samples=70", "an epoch takes 64 of 70 samples; 6 are left out"},
        {"--set batch=40", "an epoch takes 40 of 64 samples; 24 are left out"},
        {"--ranks 2 --set data.train_samples=95 --set batch=48", "an epoch takes 48 of 95 samples; 47 are left out"},
        {"--ranks 2", NULL},
        {"--set batch=64", NULL}};
    const run_folder *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int dry = 0; dry < 2; dry++) {
            char line[512], more[256];
            snprintf(more, sizeof more, "%s --fresh %s", cases[i].more, dry ? "--dry-run" : "");
            train_line(f, more, line);
            char *text = command_says(line, 0, dry ? "# plan " : "weights ");
            const char *said = strstr(text, "an epoch takes ");
            if (!said != !cases[i].words || (said && strncmp(said, cases[i].words, strlen(cases[i].words)) != 0))
                fail_msg("%s: %s", line, text);
            assert_true(!said || !strstr(said + 1, "an epoch takes ")); /* once, by rank 0 */
            free(text);
        }
}

static void a_dry_run_says_the_mean_and_std_in_use(void **state)
{
    static const char *const cases[][2] = {
        {"", "normalised by mean [0.1335], std [0.2361] of byte / 255"},
        {"--set data.mean=0.5 --set data.std=0.25", "normalised by mean [0.5], std [0.25] of byte / 255"},
        {"--set model=resnet20 --set data.set=shapes --set data.mean=[0,0.5,1]",
         "normalised by mean [0, 0.5, 1], std ["}};
    const run_folder *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512], more[256];
        snprintf(more, sizeof more, "%s --dry-run", cases[i][0]);
        train_line(f, more, line);
        expect(line, 0, cases[i][1]);
    }
}

/* Labels as tools write them: from 1, or with one that only the test set has. */
static void labels_that_do_not_count_from_0_are_told_what_helps(void **state)
{
    static const struct {
        const char *train, *test, *more;
        int code;
        const char *words;
    } cases[] = {
        {"1,0,1\n2,1,0\n3,1,1\n", "1,0,1\n", "", 2, "labels are 1 to 3, the model has 3 classes: label 0 never occurs"},
        {"1,0,1\n2,1,0\n3,1,1\n", "1,0,1\n", "--set data.first_label=1", 0, "weights "},
        {"1,0,1\n2,1,0\n", "1,0,1\n", "", 0, "label 0 never occurs: labels probably count from 1"},
        {"5,0,1\n6,1,0\n7,1,1\n", "6,0,1\n", "", 2, "write 'first_label: 5' under data:, and they are 0 to 2"},
        {"0,0,1\n1,1,0\n", "0,0,1\n2,1,1\n", "", 0, "weights "},
        {"0,0,1\n1,1,0\n", "0,0,1\n3,1,1\n", "", 2, "the data has 4 classes, the model 3"},
        {"0,0,1\n9,1,0\n", "0,0,1\n", "", 2, "train.csv: sample 1: label 9"},
        {"0,0,1\n1,1,0\n", "0,0,1\n", "--set data.first_label=1", 3, "sample 0: label 0, but data.first_label says"}};
    const run_folder *f = *state;
    char path[160], line[512];
    run_file(
        f, "three.yaml",
        "name: three\ninput: [2]\nclasses: 3\nlayers:\n  - dense: {name: fc, units: 3}\n  - softmax-cross-entropy\n",
        path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_file(f, "train.csv", cases[i].train, path);
        run_file(f, "test.csv", cases[i].test, path);
        run_file(f, "labels.yaml",
                 "model: ./three.yaml\ndata: {set: csv, path: .}\nbatch: 1\nsteps: 2\noptimiser: {lr: 0.1}\n", path);
        snprintf(line, sizeof line, "train %s --fresh --out %s/labels %s", path, f->dir, cases[i].more);
        expect(line, cases[i].code, cases[i].words);
    }
}

static void help_is_no_failure_and_lists_keys(void **state)
{
    (void)state;
    expect("train --help", 0, "optimiser.weight_decay");
    expect("eval --help", 0, "--data");
    expect("ckpt --help", 0, "verify");
}

static void eval_and_ckpt_agree_with_what_train_printed(void **state)
{
    const run_folder *f = *state;
    char line[512], hash[17], words[64], path[200];
    train_line(f, "--ranks 2 --quiet", line);
    run_to_end(f, "train", line, hash);
    expect(line, 0, hash); /* given again: nothing to do, the same hash */

    snprintf(words, sizeof words, "weights %s step 6 samples 30", hash);
    snprintf(line, sizeof line, "eval %s/out", f->dir);
    expect(line, 0, words);
    snprintf(line, sizeof line, "eval %s/out --data test_samples=7", f->dir);
    expect(line, 0, "samples 7");
    snprintf(line, sizeof line, "eval %s/out --data set=noise,shape=[1,28,28],classes=10,test_samples=7", f->dir);
    expect(line, 0, "samples 7");
    snprintf(line, sizeof line, "eval %s/out --data a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", f->dir);
    expect(line, TUTTI_ERR_USAGE, "more than 16 keys");
    snprintf(line, sizeof line, "ckpt ls %s/out", f->dir);
    expect(line, 0, hash);
    snprintf(line, sizeof line, "ckpt list %s/out", f->dir);
    expect(line, 0, hash);
    snprintf(line, sizeof line, "ckpt verify %s/out", f->dir);
    expect(line, 0, "whole");

    snprintf(path, sizeof path, "%s/out/checkpoints/step_000000006/weights.safetensors", f->dir);
    assert_int_equal(truncate(path, 1000), 0);
    expect(line, TUTTI_ERR_DATA, "1000 bytes, the manifest says");
    snprintf(line, sizeof line, "eval %s/out", f->dir);
    expect(line, 0, "step 3 samples 30"); /* the one before */
    snprintf(line, sizeof line, "eval %s", f->dir);
    expect(line, TUTTI_ERR_DATA, "neither a checkpoint nor");
}

/* Whatever is wrong with a checkpoint: both commands say it in the same words, exit code 3. */
static void eval_and_ckpt_have_one_verdict(void **state)
{
    static const struct {
        const char *damage, *words;
    } cases[] = {
        {"truncate -s 100 MANIFEST.json", "MANIFEST.json: torn or changed"},
        {"sed -i s/ranks/rank5/ MANIFEST.json", "MANIFEST.json: torn or changed"},
        {"rm MANIFEST.json", "MANIFEST.json: cannot open: No such file"},
        {"rm MANIFEST.json && mkdir MANIFEST.json", "MANIFEST.json: is a folder"},
        {"rm momentum.safetensors", "momentum.safetensors: cannot open: No such file"},
        {"rm weights.safetensors && mkdir weights.safetensors", "weights.safetensors: is a folder"},
        {"printf x >>job.yaml", "job.yaml: "},
        {"mv ../step_000000006 ../step_000000005 && mkdir ../step_000000006", "MANIFEST.json: cannot open"},
    };
    const run_folder *f = *state;
    char line[512], hash[17];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        train_line(f, "--quiet --fresh --ranks 1", line);
        run_to_end(f, "train", line, hash);
        snprintf(line, sizeof line, "cd %s/out/checkpoints/step_000000006 && %s", f->dir, cases[i].damage);
        assert_int_equal(system(line), 0);
        snprintf(line, sizeof line, "eval %s/out/checkpoints/step_000000006", f->dir);
        char *eval = command_says(line, TUTTI_ERR_DATA, cases[i].words);
        snprintf(line, sizeof line, "ckpt verify %s/out/checkpoints/step_000000006", f->dir);
        char *verify = command_says(line, TUTTI_ERR_DATA, cases[i].words);
        assert_string_equal(eval + strlen("tutti eval"), verify + strlen("tutti ckpt"));
        free(eval);
        free(verify);
    }
    snprintf(line, sizeof line, "ckpt verify %s/out/checkpoints/step_000000005", f->dir);
    expect(line, TUTTI_ERR_DATA, "holds step 6");
}

/* Each state of the rule has its file, and none may be missing. */
static void a_checkpoint_without_a_state_of_its_rule_is_refused(void **state)
{
    static const char *const names[] = {"exp_avg.safetensors", "exp_avg_sq.safetensors"};
    const run_folder *f = *state;
    char line[512], words[160], hash[17];
    for (int i = 0; i < 2; i++) {
        train_line(f, "--quiet --fresh --ranks 2 --set optimiser.rule=adamw --set optimiser.lr=0.001", line);
        run_to_end(f, "train", line, hash);
        snprintf(line, sizeof line, "ckpt verify %s/out", f->dir);
        expect(line, 0, "whole");
        snprintf(line, sizeof line, "rm %s/out/checkpoints/step_000000006/%s", f->dir, names[i]);
        assert_int_equal(system(line), 0);
        snprintf(line, sizeof line, "ckpt verify %s/out/checkpoints/step_000000006", f->dir);
        snprintf(words, sizeof words, "%s: cannot open: No such file", names[i]);
        expect(line, TUTTI_ERR_DATA, words);
    }
}

/* Whole files and a good seal do not make it one that a run goes on from: what train refuses, verify does too. */
static void a_manifest_whose_step_and_samples_disagree_is_refused_by_all(void **state)
{
    const run_folder *f = *state;
    const char *words = "step 6 and sample 90 do not go together";
    char line[512], hash[17], path[200];
    tutti_manifest m;
    train_line(f, "--quiet --ranks 1", line);
    run_to_end(f, "train", line, hash);
    snprintf(path, sizeof path, "%s/out/checkpoints/step_000000006", f->dir);
    assert_int_equal(tutti_manifest_read(path, &m, NULL), TUTTI_OK);
    assert_int_equal(m.cursor, 96);
    m.cursor = 90;
    char *text = tutti_manifest_print(&m);
    snprintf(path, sizeof path, "%s/out/checkpoints/step_000000006/MANIFEST.json", f->dir);
    assert_int_equal(tutti_file_write_atomic(path, text, strlen(text), NULL), TUTTI_OK);
    free(text);
    expect(line, TUTTI_ERR_DATA, words);
    snprintf(line, sizeof line, "ckpt verify %s/out/checkpoints/step_000000006", f->dir);
    expect(line, TUTTI_ERR_DATA, words);
    snprintf(line, sizeof line, "ckpt verify %s/out", f->dir);
    expect(line, TUTTI_ERR_DATA, words);
    snprintf(line, sizeof line, "eval %s/out/checkpoints/step_000000006", f->dir);
    expect(line, TUTTI_ERR_DATA, words);
}

/* Its place in the tree and its name are no part of it. */
static void a_checkpoint_may_be_kept_anywhere(void **state)
{
    const run_folder *f = *state;
    char line[512], hash[17];
    train_line(f, "--quiet --ranks 1", line);
    run_to_end(f, "train", line, hash);
    snprintf(line, sizeof line, "cp -r %s/out/checkpoints/step_000000006 %s/best", f->dir, f->dir);
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "eval %s/best", f->dir);
    expect(line, 0, hash);
    snprintf(line, sizeof line, "ckpt verify %s/best", f->dir);
    expect(line, 0, hash);
}

static void threads_and_processes_give_the_same_bits(void **state)
{
    const run_folder *f = *state;
    char line[512], threads[17], processes[17];
    train_line(f, "--ranks 3 --quiet --fresh --set batch=15 --ranks-as-threads", line);
    run_to_end(f, "threads", line, threads);
    train_line(f, "--ranks 3 --quiet --fresh --set batch=15 --set kernels=reference", line);
    run_to_end(f, "processes", line, processes);
    assert_string_equal(threads, processes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_mistake_in_the_job_is_named_with_exit_2, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(missing_data_are_named_once_with_exit_3, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(a_dry_run_shows_job_plan_and_memory_and_leaves_nothing, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(samples_that_an_epoch_leaves_out_are_said, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(a_dry_run_says_the_mean_and_std_in_use, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(labels_that_do_not_count_from_0_are_told_what_helps, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test(help_is_no_failure_and_lists_keys),
        cmocka_unit_test_setup_teardown(eval_and_ckpt_agree_with_what_train_printed, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(eval_and_ckpt_have_one_verdict, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(a_checkpoint_without_a_state_of_its_rule_is_refused, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(a_manifest_whose_step_and_samples_disagree_is_refused_by_all, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(a_checkpoint_may_be_kept_anywhere, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(threads_and_processes_give_the_same_bits, run_folder_make, run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
