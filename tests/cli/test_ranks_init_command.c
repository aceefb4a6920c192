/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_init_command.c: `tutti train --init` as a user gives it: what it says, what goes before it, what it never
 * removes, and that ranks which would begin at different weights are refused. */
#include <sys/wait.h>

#include "testing.h"

#include <cjson/cJSON.h>

#include "cli/command_folder.h"
#include "training/run/foreign_file.h"

#define JOB                                                                                                            \
    "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 30}\nbatch: 16\nsteps: 4\n"                      \
    "optimiser: {rule: momentum, lr: 0.02}\n"

static int make_runs(void **state)
{
    if (folder_make(state)) return -1;
    put("job.yaml", JOB);
    put("from.yaml", JOB "init: first\n"); /* beside the file */
    check("train $/job.yaml --ranks 1 --quiet --out $/first", 0, "weights ");
    return 0;
}

static char *hash_in(const char *text)
{
    const char *at = strstr(text, "weights ");
    assert_non_null(at);
    return strndup(at, 24);
}

static void a_file_a_checkpoint_and_a_run_are_the_same_weights(void **state)
{
    (void)state;
    static const char *const words[] = {
        "train $/from.yaml", "train $/job.yaml --init $/first",
        "train $/job.yaml --set init=$/first/checkpoints/step_000000004",
        "train $/job.yaml --init $/first/checkpoints/step_000000004/weights.safetensors"};
    char *hash = NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s --ranks 2 --fresh --out $/second", words[i]);
        char *text = says(line, 0, ": 4 of 4 tensors loaded, 0 fresh, 0 skipped"), *now = hash_in(text);
        if (hash) assert_string_equal(hash, now);
        free(hash);
        free(text);
        hash = now;
    }
    free(hash);
    free(says("train $/from.yaml --dry-run", 0, "#   loaded   fc2.weight  F32"));
    free(says("train $/from.yaml --dry-run --set init.skip=fc2", 0, "#   fresh    fc2.weight"));
}

static void a_run_that_can_be_resumed_is_and_says_so(void **state)
{
    (void)state;
    check("train $/from.yaml --ranks 1 --out $/third --set checkpoint.every_steps=2", 0, "tensors loaded");
    char *line = in_folder("rm -r $/third/checkpoints/step_000000004");
    assert_int_equal(system(line), 0);
    free(line);
    char *text = says("train $/from.yaml --ranks 1 --out $/third", 0, "third goes on from its own checkpoint; ");
    assert_non_null(strstr(text, "resuming at step 2"));
    assert_null(strstr(text, "tensors loaded"));
    free(text);
    /* nothing of it is read then: the source may be gone */
    check("train $/job.yaml --ranks 1 --out $/third --init $/job.yaml", 2, "was trained by another job: init.from is ");
    check("train $/job.yaml --ranks 1 --out $/first --init $/first", 2, "was trained by another job: init.from is ");
    static const char *const sets[] = {"optimiser.lr=0.003", "optimiser.rule=adamw", "batch=8"};
    for (int i = 0; i < 3; i++) { /* what the user wants is another run from there */
        char other[120];
        snprintf(other, sizeof other, "train $/job.yaml --ranks 1 --out $/first --set %s", sets[i]);
        check(other, 2, "begin another run at its weights with --init ");
    }
}

static void fresh_never_removes_what_it_begins_at(void **state)
{
    (void)state;
    check("train $/from.yaml --ranks 1 --out $/first --fresh", 2, "which --fresh removes: use another --out");
    check("train $/job.yaml --ranks 1 --out $/first --fresh --init "
          "$/first/checkpoints/step_000000004/weights.safetensors",
          2, "which --fresh removes: use another --out");
    check("train $/job.yaml --ranks 1 --out $/first --fresh --init $/nothing", 2, "nothing: cannot open");
    check("ckpt verify $/first", 0, "whole");
}

static void refusals_name_the_key_and_come_once(void **state)
{
    (void)state;
    put("bad.yaml", JOB "init:\n  from: first\n  skip: [fc9]\n");
    char *text = says("train $/bad.yaml --ranks 3 --set batch=15 --out $/bad", 2,
                      "bad.yaml: line 8: init.skip: 'fc9' fits no tensor");
    assert_null(strstr(strstr(text, "fits no") + 1, "fits no"));
    free(text);
    put("bad.yaml", JOB "init:\n  from: first\n  map:\n    head: fc2\n");
    check("train $/bad.yaml --ranks 1 --out $/bad", 2, "bad.yaml: line 9: init.map: no tensor there is called 'head'");
    check("train $/job.yaml --init $/first --set init.map=a=b,a=c", 2,
          "--set init.map=a=b,a=c: init.map: 'a' is there twice");
    put("bad.yaml", JOB "init:\n  from: first\n  state: true\n");
    check("train $/bad.yaml --ranks 1 --out $/bad --set optimiser.rule=sgd", 2,
          "bad.yaml: line 8: init.state: this job's rule keeps no");
    put("bad.yaml", JOB "init: bad.yaml\n");
    check("train $/bad.yaml --ranks 1 --out $/bad", 3, "bad.yaml: line 6: init: ");
    check("train $/bad.yaml --ranks 1 --dry-run", 3, "bad.yaml: line 6: init: ");
}

/* Each rank stands in a folder of its own, as if on a host of its own, with another file of the same name. */
static void ranks_that_read_different_files_are_refused_by_name(void **state)
{
    (void)state;
    static float zeros[1280], ones[1280];
    for (int i = 0; i < 1280; i++) ones[i] = 1;
    for (int same = 0; same < 2; same++) {
        char script[900];
        for (int r = 0; r < 2; r++) {
            char place[128];
            const foreign_tensor head[] = {{"fc2.weight", "F32", "[10,128]", r && !same ? ones : zeros, 5120},
                                           {NULL, NULL, NULL, NULL, 0}};
            snprintf(place, sizeof place, "%s/host%d", dir, r);
            assert_int_equal(tutti_file_make_dir(place, NULL), TUTTI_OK);
            snprintf(place, sizeof place, "%s/host%d/w.safetensors", dir, r);
            foreign_file_write(place, head);
        }
        snprintf(
            script, sizeof script,
            "for r in 0 1; do (cd %s/host$r && RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=%d %s train "
            "%s/job.yaml --quiet --fresh --out %s/apart --init /proc/self/cwd/w.safetensors >%s/said$r 2>&1; echo $? "
            ">>%s/said$r) & done; wait",
            dir, 20000 + (getpid() + same) % 10000, TUTTI_PROGRAM, dir, dir, dir, dir);
        assert_int_equal(system(script), 0);
        char *said = get("said0");
        if (same)
            assert_non_null(strstr(said, "\n0\n"));
        else if (!strstr(said, "weights that it begins at") ||
                 !strstr(said, "w.safetensors, whose tensors have the hash"))
            fail_msg("%s", said);
        free(said);
    }
}

/* The first run's weights in doubles, under names with "module." in front. */
static void put_wide(void)
{
    char *text = get("first/checkpoints/step_000000004/weights.safetensors"), place[160], names[8][80];
    foreign_tensor wide[8] = {0};
    uint64_t length;
    int n = 0;
    memcpy(&length, text, 8);
    cJSON *head = cJSON_ParseWithLength(text + 8, length);
    for (const cJSON *t = head->child; t && n < 7; t = t->next) {
        const cJSON *at = cJSON_GetObjectItem(t, "data_offsets");
        if (!at) continue;
        const size_t begin = (size_t)at->child->valueint, count = ((size_t)at->child->next->valueint - begin) / 4;
        double *numbers = malloc(count * sizeof *numbers);
        for (size_t i = 0; i < count; i++) {
            float v;
            memcpy(&v, text + 8 + length + begin + 4 * i, 4);
            numbers[i] = (double)v;
        }
        snprintf(names[n], sizeof names[n], "module.%s", t->string);
        wide[n] = (foreign_tensor){names[n], "F64", cJSON_PrintUnformatted(cJSON_GetObjectItem(t, "shape")), numbers,
                                   count * sizeof *numbers};
        n++;
    }
    snprintf(place, sizeof place, "%s/wide.safetensors", dir);
    foreign_file_write(place, wide);
    for (int i = 0; i < n; i++) free((void *)(uintptr_t)wide[i].bytes), free((void *)(uintptr_t)wide[i].shape);
    cJSON_Delete(head);
    free(text);
}

#define W    "$/first/checkpoints/step_000000004/weights.safetensors"
#define DATA "--data set=digits,test_samples=30"

static void weights_of_no_run_are_tested_as_those_of_the_run(void **state)
{
    (void)state;
    char *own = says("eval $/first", 0, "weights "), *line;
    static const char *const words[] = {"eval " W " --model mlp " DATA, "eval " W " --job $/job.yaml",
                                        "eval $/wide.safetensors --model mlp " DATA " --set init.map=module=",
                                        "eval $/wide.safetensors --job $/job.yaml --set init.map=module="};
    const char *result = strstr(own, " samples ");
    assert_non_null(result);
    put_wide();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        line = says(words[i], 0, "4 of 4 tensors loaded");
        assert_non_null(strstr(line, result)); /* samples, loss, accuracy */
        char *mine = hash_in(own), *theirs = hash_in(line);
        assert_string_equal(mine, theirs);
        if (i > 1) assert_non_null(strstr(line, "(4 from 64 bits)"));
        free(mine);
        free(theirs);
        free(line);
    }
    free(own);
}

static void weights_without_a_word_of_their_network_say_what_to_add(void **state)
{
    (void)state;
    check("eval " W, 2, "is taken with --model NAME|FILE and --data");
    check("infer " W " $/x.png", 2, "is taken with --model");
    check("eval " W " --model mlp", 2, "--model does not say which data: add --data set=NAME");
    check("eval " W " --model mlp --job $/job.yaml " DATA, 2, "a job names its model; give one");
    check("eval $/first --model mlp", 2, "--model is for a file of weights");
    check("eval $/first --set init.skip=fc2", 2, "--set is for a file of weights");
    check("eval " W " --model lenet " DATA, 2, "'fc1.weight' is (128, 784), the model's (500, 800)");
    check("eval $/none.safetensors --model mlp " DATA, 2, "none.safetensors: cannot open: No such file");
    check("eval $/wide.safetensors --model mlp " DATA, 2, "init.map gives other names");
    check("eval $/wide.safetensors --model mlp " DATA " --set init.map=module.fc1=fc1", 2,
          "no tensor in it is 'fc2.weight' of the model");
    check("eval " W " --model mlp " DATA " --set init.skip=fc2", 0, "2 fresh (fc2.weight, fc2.bias)");
}

static void weights_of_other_forms_are_answered_with_the_line_that_converts_them(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *words;
    } cases[] = {{"a.pt", "PK\3\4rest", 8, "torch.load('"},
                 {"a.ckpt", "\x80\2}q", 4, "a.safetensors')"},
                 {"pytorch_model.bin", "PK\3\4rest", 8, "s.save_file({k: v"},
                 {"a.npz", "PK\3\4rest", 8, "dict(numpy.load('"},
                 {"a.h5", "\x89HDF\r\n\x1a\n0", 9, "h5py.File('"},
                 {"a.gguf", "GGUF\3\0\0\0", 8, "save them as safetensors"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128], line[256];
        snprintf(path, sizeof path, "%s/%s", dir, cases[i].name);
        assert_int_equal(tutti_file_write_atomic(path, cases[i].bytes, cases[i].n, NULL), TUTTI_OK);
        snprintf(line, sizeof line, "train $/job.yaml --ranks 1 --out $/other --init $/%s", cases[i].name);
        check(line, 2, cases[i].words);
        snprintf(line, sizeof line, "eval $/%s", cases[i].name);
        check(line, 2, cases[i].words);
    }
}

static void a_run_of_no_steps_tests_and_saves_what_it_begins_at(void **state)
{
    (void)state;
    char *zero = says("train $/job.yaml --ranks 1 --set steps=0 --out $/zero --init $/first", 0, "test accuracy "),
         *line;
    char *saved = hash_in(zero + (strstr(zero, "\nweights ") - zero)), *first;
    line = says("eval $/first", 0, "weights ");
    first = hash_in(line);
    assert_string_equal(saved, first);
    free(line);
    check("train $/job.yaml --ranks 1 --set steps=0 --out $/zero --init $/first", 0, "nothing left to do");
    line = says("eval $/zero", 0, " step 0 samples 30 ");
    free(line);
    line = says("train $/job.yaml --ranks 2 --set steps=0 --out $/zero2 --init $/first --quiet", 0, first);
    free(line);
    check("train $/job.yaml --ranks 2 --set steps=0 --set method=async-sgd --out $/zero3 --init $/first --quiet", 0,
          first);
    put("no_steps.yaml", "model: mlp\ndata: {set: digits}\nbatch: 16\noptimiser: {lr: 0.02}\n");
    check("train $/no_steps.yaml --ranks 1 --out $/zero4", 2, "the key 'epochs' is missing");
    free(zero);
    free(saved);
    free(first);
}

/* Numbers of a file that a test leaves or takes are said by eval too, beside its one line of output. */
static void eval_says_what_it_found_of_the_data(void **state)
{
    (void)state;
    put("three.yaml", "name: three\ninput: [2]\nclasses: 3\nlayers:\n  - dense: {name: fc, units: 3}\n"
                      "  - softmax-cross-entropy\n");
    put("train.csv", "0,0,1\n1,1,0\n");
    put("test.csv", "a,b,c\n1,300,1\n");
    put("csv.yaml", "model: ./three.yaml\ndata: {set: csv, path: .}\nbatch: 1\nsteps: 0\noptimiser: {lr: 1}\n");
    check("train $/csv.yaml --ranks 1 --out $/csv", 0, "test: ");
    char *text = says("eval $/csv", 0, "tutti eval: test: ");
    assert_non_null(strstr(text, "label 0 never occurs"));
    assert_non_null(strstr(text, "1 sample (2) of 2 classes; numbers reach 300"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_a_checkpoint_and_a_run_are_the_same_weights),
        cmocka_unit_test(a_run_that_can_be_resumed_is_and_says_so),
        cmocka_unit_test(fresh_never_removes_what_it_begins_at),
        cmocka_unit_test(refusals_name_the_key_and_come_once),
        cmocka_unit_test(weights_of_no_run_are_tested_as_those_of_the_run),
        cmocka_unit_test(weights_without_a_word_of_their_network_say_what_to_add),
        cmocka_unit_test(weights_of_other_forms_are_answered_with_the_line_that_converts_them),
        cmocka_unit_test(eval_says_what_it_found_of_the_data),
        cmocka_unit_test(a_run_of_no_steps_tests_and_saves_what_it_begins_at),
        cmocka_unit_test(ranks_that_read_different_files_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, make_runs, folder_drop);
}
