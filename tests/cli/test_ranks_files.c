/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_files.c: files as all commands treat them: what they read is never what they write, what is not a file
 * holds nobody, and what could not be written is said. */
#include <sys/stat.h>

#include "testing.h"

#include "cli/command_folder.h"
#include "svm/svm_sets.h"

static const char job[] = "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 30}\nbatch: 16\nsteps: 2\n"
                          "optimiser: {rule: sgd, lr: 0.02}\n";

static int make_files(void **state)
{
    if (folder_make(state)) return -1;
    char *blobs = svm_blobs(60, 2, 0.8);
    put("set", blobs);
    put("job.yaml", job);
    free(blobs);
    check("svm-train -q --trace $/trace.jsonl $/set $/model", 0, "");
    check("coll compile ring --ranks 4 -o $/ring.sched", 0, "");
    check("coll pack dgx1v -o $/packing", 0, "");
    check("train $/job.yaml --ranks 1 --quiet --out $/run", 0, "");
    check("predict $/job.yaml --ranks 1 --save-profile $/profile", 0, "");
    put("net.yaml", "name: n\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n  - dense: {name: fc, units: 10}\n"
                    "  - softmax-cross-entropy\n");
    put("own.yaml", "model: ./net.yaml\ndata: {set: digits, train_samples: 64, test_samples: 30}\nbatch: 16\nsteps: 2\n"
                    "optimiser: {rule: sgd, lr: 0.02}\nmethod: async-sgd\n");
    put("k.dev", "about: x\npeak.f32 4.37TFLOP/s read: x\nmemory 240.6GB/s read: x\nlaunch 8us assumed: x\n");
    put("figures", "host\n");
    char *line = in_folder(
        "ln -s set $/link; ln $/set $/second; mkfifo $/pipe; mkdir $/empty; ln $/net.yaml $/hard;"
        "ln -s net.yaml $/soft; ln -s run/metrics.jsonl $/later; mkdir $/pictures $/pictures/cat;"
        "echo x >$/pictures/cat/a.png; ln $/pictures/cat/a.png $/a_picture; echo x >$/program;"
        "mkdir $/tables; echo 1,2 >$/tables/test.csv; echo 1,2 >$/tables/train.csv;"
        "ln -s nowhere/at/all $/dangling; mkdir $/linked $/shards; echo x >$/shards/1.safetensors; echo x >$/order;"
        "echo x >$/shards/w.safetensors.index.json; ln $/order $/linked/metrics.jsonl;"
        "ln -s ../net.yaml $/linked/trace.json; mkdir $/cmp; cp $/net.yaml $/cmp/compare.html");
    assert_int_equal(system(line), 0);
    free(line);
    return 0;
}

/* A script in which `@` stands for the program and `$` for the folder; what it says and ends with. */
static void shell(const char *script, int code, const char *wanted)
{
    tutti_strbuf line = {0};
    tutti_strbuf_puts(&line, "version >/dev/null; { ");
    for (const char *at = script; *at; at++) {
        if (*at == '@')
            tutti_strbuf_puts(&line, TUTTI_PROGRAM);
        else
            tutti_strbuf_add(&line, at, 1);
    }
    tutti_strbuf_puts(&line, "; }");
    check(line.text, code, wanted);
    tutti_strbuf_release(&line);
}

static char *listing(void)
{
    char *line = in_folder("cd $ && find . -type f -exec md5sum {} + | sort -k 2; ls -lR --time-style=+%s");
    FILE *pipe = popen(line, "r");
    char *text = read_stream(pipe);
    pclose(pipe);
    free(line);
    return text;
}

static const char *const over_inputs[] = {
    "svm-train -q $/set $/set",
    "svm-train -q $/set $/link",
    "svm-train -q $/link $/second",
    "svm-train -q $/set $/empty/../set",
    "svm-train -q --ranks 2 $/set $/set",
    "svm-train -q --checkpoint $/same $/set $/same",
    "svm-train -q --checkpoint $/set $/set $/m",
    "svm-train -q --trace $/set $/set $/m",
    "svm-train -q --trace $/m $/set $/m",
    "svm-train -q --trace $/c --checkpoint $/c $/set $/m",
    "svm-train -v 3 --trace $/set $/set",
    "svm-predict $/set $/model $/set",
    "svm-predict $/set $/model $/model",
    "svm-predict --decisions $/new $/set $/model $/new",
    "svm-predict --decisions $/link $/set $/model $/new",
    "svm-predict --decisions $/model $/set $/model $/new",
    "report $/trace.jsonl --out $/trace.jsonl",
    "report $/run --out $/run/metrics.jsonl",
    "predict $/trace.jsonl --svg $/trace.jsonl",
    "predict $/trace.jsonl --check $/link --svg $/set",
    "predict $/job.yaml --save-profile $/job.yaml",
    "predict $/job.yaml --profile $/profile --save-profile $/profile",
    "coll convert $/ring.sched --to svg -o $/ring.sched",
    "coll pack dgx1v --check $/packing -o $/packing",
    "topo make dgx1v --svg $/new --dot $/new",
    "train $/job.yaml --ranks 1 --out $",
    "train $/run/job.yaml --ranks 1 --set batch=8 --out $/run",
    /* named by the job */
    "train $/own.yaml --ranks 1 --out $/new --record $/hard",
    "train $/own.yaml --ranks 2 --out $/new --record $/empty/../soft",
    "train $/own.yaml --ranks 1 --out $/new --set data.set=images --set data.path=$/pictures --record $/a_picture",
    "train $/own.yaml --ranks 1 --out $/new --set kernels.tuned=$/set --record $/second",
    "predict $/own.yaml --ranks 1 --device k80 --topology star --html $/hard",
    "compare $/own.yaml --methods async-sgd --ranks 1 --set model=$/cmp/compare.html --out $/cmp",
    /* of a run, there or not yet */
    "train $/own.yaml --ranks 1 --out $/new --record $/new/metrics.jsonl",
    "train $/own.yaml --ranks 1 --out $/new --record $/new/checkpoints/order",
    "train $/own.yaml --ranks 1 --out $/new --record $/new/plan.proof",
    "report $/run --out $/run/plan.proof",
    "eval $/run --data set=csv,path=$/tables --predictions $/tables/test.csv",
    "train $/own.yaml --ranks 1 --out $/new --init $/run --record $/run/lock",
    "train $/own.yaml --ranks 1 --out $/run --fresh --record $/later",
    "report $/run --out $/run/checkpoints/step_000000002/model.yaml",
    "eval $/run --confusion $/run/checkpoints/step_000000002/a.svg",
    "train $/own.yaml --ranks 1 --out $/linked --fresh --replay $/order",
    "train $/own.yaml --ranks 1 --out $/linked --set model=$/hard",
    "train $/own.yaml --ranks 1 --out $/new --init $/shards/w.safetensors.index.json --record $/shards/1.safetensors",
    /* parts of words */
    "predict $/job.yaml --ranks 1 --topology star --device $/k.dev --json $/./k.dev",
    "predict $/job.yaml --ranks 1 --topology star --explain-gap tutti,$/k.dev --json $/k.dev",
    "eval $/run --data set=images,path=$/pictures --confusion $/pictures/cat/../cat/a.png.svg --predictions "
    "$/pictures/cat/../cat/a.png.svg",
    "topo make star --dot $/drawing --svg $/empty/../drawing",
};

static void an_output_that_is_an_input_is_refused_before_anything_is_written(void **state)
{
    (void)state;
    char *before = listing();
    for (size_t i = 0; i < sizeof over_inputs / sizeof *over_inputs; i++) {
        free(says(over_inputs[i], 2, "give"));
        char *after = listing();
        if (strcmp(before, after) != 0) fail_msg("%s changed something:\n%s\n%s", over_inputs[i], before, after);
        free(after);
    }
    shell("@ svm-predict $/set $/model /dev/stdout 2>&1 >>$/set", 2, "/dev/stdout: OUT would be written over the data");
    shell("TUTTI_TOPOLOGY=$/figures @ topo make host --svg $/figures", 2, "over this host's figures");
    shell("TUTTI_TOPOLOGY=$/figures @ train $/own.yaml --ranks 1 --out $/new --record $/figures", 2,
          "this host's figures");
    shell("TUTTI_SIMGRID=$/program @ coll compile ring --ranks 2 -o $/program", 2, "over TUTTI_SIMGRID");
    char *after = listing();
    assert_string_equal(before, after);
    free(after);
    free(before);
}

/* None of them takes a second: what takes minutes has not begun. */
static void an_output_without_a_place_is_refused_before_the_work(void **state)
{
    (void)state;
    static const char *const words[] = {
        "train $/own.yaml --ranks 2 --out $/new --set steps=100000000 --record $/no/order",
        "train $/own.yaml --ranks 1 --out $/new --set steps=100000000 --record $/empty",
        "train $/own.yaml --ranks 1 --out $/new --set steps=100000000 --record $/new/orders/first",
        "train $/own.yaml --ranks 1 --out $/new --set steps=100000000 --record $/dangling",
        "tune kernels -o $/set/k",
        "tune kernels $/job.yaml -o $/no/k",
        "tune device -o $/empty",
        "tune device --check --kernels $/no/k.csv",
        "coll bench --ranks 2 --bytes 4096 --iters 100000000 --json $/no/rows",
        "coll pack dgx1v -o $/no/packing",
        "coll convert $/ring.sched --to svg -o $/empty",
        "predict $/job.yaml --ranks 1 --save-profile $/no/profile",
        "predict $/job.yaml --ranks 1 --html $/dangling",
        "report $/run --out $/no/picture.svg",
        "eval $/run --predictions $/no/p.csv",
        "svm-predict --decisions $/no/d $/set $/model $/out",
        "svm-train -q --trace $/no/t $/set $/m",
        "topo make star --dot $/no/x",
        "trace convert $/set -o $/no/layers",
    };
    char *before = listing();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) free(says(words[i], 2, ": "));
    char *after = listing();
    assert_string_equal(before, after);
    free(before);
    free(after);
    check("train $/own.yaml --ranks 2 --quiet --out $/made --record $/made/order", 0,
          ""); /* the folder will be there */
    shell("timeout -s TERM 0.5 @ tune kernels --quick -o $/tuned; ! ls $ | grep tmp", 0, "");
}

static void what_only_looks_like_an_input_is_written(void **state)
{
    (void)state;
    check("report $/run --out $/run/other.svg", 0, "other.svg");
    check("report $/run --out $/run/other.svg", 0, "other.svg");
    check("train $/own.yaml --ranks 1 --quiet --out $/n --set data.set=digits --record $/pictures/order", 0, "");
    check("train $/own.yaml --ranks 1 --quiet --fresh --out $/n --record $/pictures/order", 0, "");
    check("svm-predict --decisions /dev/null $/set $/model /dev/null", 0, "Accuracy");
    check("train $/run/job.yaml --ranks 1 --out $/run", 0, "nothing left to do");
    check("svm-predict $/set $/model /dev/stdout >$/both", 0, "");
    char *text = get("both");
    assert_true(!strncmp(text, "3\n", 2) || !strncmp(text, "-1\n", 3)); /* not overwritten by what follows */
    assert_non_null(strstr(text, "\nAccuracy = "));
    free(text);
}

static void an_output_without_a_name_is_refused_at_once(void **state)
{
    (void)state;
    static const char *const words[] = {
        "train $/job.yaml --ranks 2 --out ''", "svm-train $/set ''",           "svm-train --trace '' $/set $/m",
        "svm-predict $/set $/model ''",        "report $/run -o ''",           "coll compile ring --ranks 4 -o ''",
        "coll bench --iters 1 --json ''",      "topo make star --svg ''",      "train $/own.yaml --record ''",
        "train $/own.yaml --init ''",          "train $/own.yaml --replay ''", "train $/job.yaml --pretend ''",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) check(words[i], 2, ": a name is missing");
    check("train $/job.yaml --ranks 2 --out $/set", 2, "is there and is not a folder");
    check("svm-train $/set $/empty", 2, "is a folder");
}

/* $/it is a named pipe, a folder or a device each time; nobody ever writes into the pipe. */
static void what_is_no_file_is_refused_without_waiting(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *words;
    } cases[] = {
        {2, "train $/it --ranks 1"},
        {2, "train $/job.yaml --ranks 2 --set model=$/it --out $/new"},
        {2, "plan $/it"},
        {2, "graph $/it"},
        {2, "plan $/job.yaml --costs $/it"},
        {2, "predict $/it"},
        {2, "predict $/job.yaml --profile $/it"},
        {3, "predict $/trace.jsonl --check $/it"},
        {2, "coll check $/it"},
        {2, "coll convert $/it --to svg"},
        {2, "coll pack dgx1v --check $/it"},
        {3, "svm-train -q --threads 1 $/it $/m"},
        {3, "svm-train -q --threads 1 --ranks 2 $/it $/m"},
        {3, "svm-train -q --threads 1 --checkpoint $/it $/set $/m"},
        {3, "svm-predict $/it $/model $/out"},
        {3, "svm-predict $/set $/it $/out"},
    };
    static const char *const kinds[] = {"mkfifo $/it", "mkdir $/it", "ln -s /dev/zero $/it"};
    static const char *const words[] = {"is a named pipe; a regular file is wanted",
                                        "is a folder; a regular file is wanted",
                                        "is a device; a regular file is wanted"};
    for (int kind = 0; kind < 3; kind++) {
        char *line = in_folder(kinds[kind]);
        assert_int_equal(system(line), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(cases[i].words, cases[i].code, words[kind]);
        free(line);
        line = in_folder("rm -r $/it");
        assert_int_equal(system(line), 0);
        free(line);
    }
}

static void a_pipe_without_a_name_is_read(void **state)
{
    (void)state;
    shell("cat $/set | @ svm-train -q --threads 1 /dev/stdin $/piped && cmp $/model $/piped", 0, "");
    shell("cat $/ring.sched | @ coll check /dev/stdin", 0, "right for every vector length");
    shell("cat $/job.yaml | @ plan /dev/stdin", 0, "loop each step: ");
    shell("cat $/job.yaml | @ train /dev/stdin --ranks 2", 2, "is a pipe, which one rank alone can read");
}

static void a_job_that_is_too_large_is_a_mistake_of_the_caller(void **state)
{
    (void)state;
    tutti_strbuf text = {0};
    tutti_strbuf_puts(&text, job);
    while (text.length <= 1 << 20) tutti_strbuf_puts(&text, "# and so on\n");
    put("large.yaml", text.text);
    tutti_strbuf_release(&text);
    check("train $/large.yaml", 2, "larger than 1048576 bytes");
}

static void what_cannot_be_written_is_said(void **state)
{
    (void)state;
    shell("@ coll list 2>&1 >/dev/full", 1, "not all could be written to standard output: No space left on device");
    shell("@ help 2>&1 >&-", 1, "not all could be written to standard output");
    check("coll compile ring --ranks 4 -o /dev/full", 1, "/dev/full: cannot ");
    check("svm-predict --decisions /dev/full $/set $/model $/out", 1, "/dev/full: cannot ");
    check("coll bench --ranks 1 --bytes 4096 --iters 1 --json /dev/full", 1, "/dev/full: cannot ");
}

/* The signal that would end it silently is not heard: the write fails and is named. */
static void beyond_the_limit_of_file_sizes_the_file_is_named(void **state)
{
    (void)state;
    shell("ulimit -f 1; @ coll compile ring --ranks 64 -o $/big", 1, "cannot write: File too large");
    shell("! ls $ | grep big", 0, ""); /* nothing is left */
}

/* Else the first file that is opened would get what is printed. */
static void closed_standard_streams_spoil_no_file(void **state)
{
    (void)state;
    shell("@ train $/job.yaml --ranks 1 --quiet --out $/closed <&- >&- 2>&-", 1, "");
    check("ckpt verify $/closed", 0, "whole");
    char *text = get("closed/metrics.jsonl");
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) assert_int_equal(*line, '{');
    free(text);
}

/* With room for the program, and not for a row of a million features nor for a model of 39 GB: words and exit code 1,
 * soon. */
static void what_memory_cannot_hold_is_refused_in_words(void **state)
{
    (void)state;
    tutti_strbuf wide = {0};
    if (TESTING_SANITIZED) skip();
    for (int row = 0; row < 2; row++) {
        tutti_strbuf_puts(&wide, row ? "-1" : "1");
        for (int i = 1; i <= 1000000; i++) tutti_strbuf_printf(&wide, " %d:1", i);
        tutti_strbuf_puts(&wide, "\n");
    }
    put("wide", wide.text);
    tutti_strbuf_release(&wide);
    put("two.yaml", "name: two\ninput: [16]\nclasses: 10\nlayers:\n  - dense: {units: 70000}\n"
                    "  - dense: {units: 70000}\n  - dense: {units: 10}\n  - softmax-cross-entropy\n");
    put("two_job.yaml",
        "model: ./two.yaml\ndata: {set: noise, shape: [16], classes: 10, train_samples: 8, test_samples: 8}\n"
        "batch: 4\nsteps: 1\nkernels: reference\noptimiser: {rule: sgd, lr: 0.1}\n");
    shell("ulimit -v 250000; @ svm-train -q -m 1000 --threads 1 $/wide $/m", 1, "no memory");
    shell("ulimit -v 30000000; @ train $/two_job.yaml --ranks 1 --out $/two", 1,
          "78434.7 MB of memory are needed and ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_that_is_an_input_is_refused_before_anything_is_written),
        cmocka_unit_test(an_output_without_a_place_is_refused_before_the_work),
        cmocka_unit_test(what_only_looks_like_an_input_is_written),
        cmocka_unit_test(an_output_without_a_name_is_refused_at_once),
        cmocka_unit_test(what_is_no_file_is_refused_without_waiting),
        cmocka_unit_test(a_pipe_without_a_name_is_read),
        cmocka_unit_test(a_job_that_is_too_large_is_a_mistake_of_the_caller),
        cmocka_unit_test(what_cannot_be_written_is_said),
        cmocka_unit_test(beyond_the_limit_of_file_sizes_the_file_is_named),
        cmocka_unit_test(closed_standard_streams_spoil_no_file),
        cmocka_unit_test(what_memory_cannot_hold_is_refused_in_words),
    };
    return cmocka_run_group_tests(tests, make_files, folder_drop);
}
