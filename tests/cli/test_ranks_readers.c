/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_readers.c: what reads a run while it saves, words with bytes that are no text, and numbers that are none:
 * no false alarm, no output that others cannot read, no word taken for something else. */
#include "testing.h"

#include "cli/command_folder.h"

static const char job[] = "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 30}\nbatch: 16\nsteps: 4\n"
                          "optimiser: {rule: sgd, lr: 0.02}\n";

static int make_files(void **state)
{
    if (folder_make(state)) return -1;
    put("job.yaml", job);
    check("train $/job.yaml --ranks 1 --quiet --out $/run", 0, "");
    return 0;
}

/* $D is the folder, $T the program. */
static void run_script(const char *script)
{
    setenv("D", dir, 1);
    setenv("T", TUTTI_PROGRAM, 1);
    if (system(script)) fail_msg("%s", script);
}

/* Each checkpoint is removed a few milliseconds after it was made. */
static void a_run_that_saves_often_is_no_alarm(void **state)
{
    (void)state;
    static const char script[] =
        "$T train $D/job.yaml --ranks 1 --quiet --fresh --out $D/often$K --set steps=100000000 --set "
        "eval_every_epochs=0 "
        "--set checkpoint.every_steps=2 --set checkpoint.keep=$K >/dev/null 2>&1 & p=$!; "
        "until $T ckpt verify $D/often$K >/dev/null 2>&1; do sleep 0.05; done; "
        "bad=0; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "
        "$T ckpt verify $D/often$K >$D/said 2>&1 || bad=$((bad + 1)); ! grep -q torn $D/said || bad=$((bad + 1)); "
        "$T ckpt ls $D/often$K >$D/said 2>&1 || bad=$((bad + 1)); ! grep -q torn $D/said || bad=$((bad + 1)); "
        "$T eval $D/often$K >/dev/null 2>&1 || bad=$((bad + 1)); done; kill $p; wait $p; echo $bad; [ $bad = 0 ]";
    static const char *const keep[] = {"1", "2", "3"};
    for (int i = 0; i < 3; i++) {
        setenv("K", keep[i], 1);
        run_script(script);
    }
    check("ckpt verify $/often3", 0, "whole");
    put("often3/checkpoints/step_999999999", "no folder"); /* what stays and is none is still one */
    check("ckpt verify $/often3", 3, "not whole");
}

static void names_of_any_bytes_are_written_as_utf8(void **state)
{
    (void)state;
    run_script(
        "cp $D/job.yaml \"$D/$(printf 'caf\\351').yaml\" && "
        "$T compare \"$D/$(printf 'caf\\351').yaml\" --methods sync-sgd --ranks 1 --out $D/compared >/dev/null && "
        "iconv -f UTF-8 -t UTF-8 $D/compared/compare.html >/dev/null && "
        "grep -q 'caf.xe9.yaml' $D/compared/compare.html");
    run_script("for n in '\\377.png' 'a\\300\\257.png' '\\355\\240\\200'; do "
               "$T infer $D/run \"$(printf \"$n\")\" --json 2>/dev/null | iconv -f UTF-8 -t UTF-8 | "
               "python3 -c 'import json, sys; json.loads(sys.stdin.read())[\"file\"]' || exit 1; done");
    run_script(
        "cp -r $D/run \"$D/$(printf 'r\\377')\" && $T report \"$D/$(printf 'r\\377')\" --out $D/r.svg >/dev/null && "
        "iconv -f UTF-8 -t UTF-8 $D/r.svg >/dev/null && grep -q xff $D/r.svg");
}

static void numbers_begin_at_once(void **state)
{
    (void)state;
    static const char *const words[] = {
        "coll compile ring --ranks ' 4'",
        "coll compile ring --ranks '\t4'",
        "predict $/job.yaml --topology star --device k80 --ranks 1,' 2'",
        "train $/job.yaml --slow ' 0=2'",
        "topo make star --seated ' 4'",
        "compare $/job.yaml --methods sync-sgd --until 'accuracy= 0.5'",
        "version >/dev/null; RANK=' 0' WORLD_SIZE=1 " TUTTI_PROGRAM " train $/job.yaml",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) free(says(words[i], 2, ""));
    check("coll explain --bytes 0", 2, "--bytes 0: nothing to exchange");
    check("coll explain --bytes 0MB --ranks 4", 2, "nothing to exchange");
    check("coll explain --ranges --bytes 0KiB", 2, "nothing to exchange");
}

static void refusals_say_what_is_wrong(void **state)
{
    (void)state;
    check("eval $/run/checkpoints/step_000000004/weights.safetensors", 2, "is a file; a checkpoint is a folder");
    check("eval $/job.yaml", 2, "is a file; a checkpoint is a folder");
    check("infer $/job.yaml $/a.png", 2, "is a file; a checkpoint is a folder");
    check("infer $/run `seq 1100`", 2, "more than 1024 arguments, of which '1024' is the next");
    char *said = says("train $/job.yaml --ranks 2 --out $/large --set steps=2147483648 --set method=async-sgd "
                      "--set eval_every_epochs=0 --record $/order",
                      1, "MB left");
    assert_null(strstr(said, "No such file"));
    free(said);
    check("train $/job.yaml --ranks 1 --out $/skips --init $/run --set init.skip=`printf %05000d 0`", 2,
          "--set init.skip=0000");
    check("train $/job.yaml --ranks 1 --out $/skips --init $/run --set init.skip=`printf %05000d 0`", 2,
          "...: init.skip: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_saves_often_is_no_alarm),
        cmocka_unit_test(names_of_any_bytes_are_written_as_utf8),
        cmocka_unit_test(numbers_begin_at_once),
        cmocka_unit_test(refusals_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, make_files, folder_drop);
}
