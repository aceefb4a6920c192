/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_init_command.c: `tutti train --init` as a user gives it: what it says, what goes before it, what it never removes, and that ranks
 * which would begin at different weights are refused. */
#include <sys/wait.h>

#include "testing.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_a_checkpoint_and_a_run_are_the_same_weights),
        cmocka_unit_test(a_run_that_can_be_resumed_is_and_says_so),
        cmocka_unit_test(fresh_never_removes_what_it_begins_at),
        cmocka_unit_test(refusals_name_the_key_and_come_once),
        cmocka_unit_test(ranks_that_read_different_files_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, make_runs, folder_drop);
}
