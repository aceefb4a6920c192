/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_freeze_command.c: `optimiser.groups.freeze` as a user gives it, by the kernels that train: weights have
 * the bits that they have beside a rate of 0, checkpoints are whole and go on, and what is shown of a step leaves out
 * what is not done. */
#include "testing.h"

#include "cli/command_folder.h"

#define JOB                                                                                                            \
    "model: convnet-bn\ndata: {set: digits, train_samples: 64, test_samples: 30}\nbatch: 16\nsteps: 4\n"               \
    "optimiser:\n  lr: 0.02\n"

static int make_runs(void **state)
{
    if (folder_make(state)) return -1;
    put("whole.yaml", JOB);
    put("still.yaml", JOB "  groups: {rate: {conv2: 0, bn2: 0, fc1.bias: 0}}\n");
    put("frozen.yaml", JOB "  groups: {freeze: {conv2: true, bn2: true, fc1.bias: true}}\n");
    check("train $/frozen.yaml --ranks 2 --quiet --out $/first", 0, "weights ");
    return 0;
}

static char *hash_of(const char *words)
{
    char *text = says(words, 0, "weights "), *hash = strndup(strstr(text, "weights "), 24);
    free(text);
    return hash;
}

static void others_move_as_beside_a_rate_of_0(void **state)
{
    (void)state;
    static const char *const ways[] = {"", " --set precision=bf16", " --set kernels=reference --set fuse=false"};
    for (int i = 0; i < 3; i++) {
        char frozen[200], still[200];
        snprintf(frozen, sizeof frozen, "train $/frozen.yaml --ranks 2 --quiet --fresh --out $/a%s", ways[i]);
        snprintf(still, sizeof still, "train $/still.yaml --ranks 2 --quiet --fresh --out $/b%s", ways[i]);
        char *a = hash_of(frozen), *b = hash_of(still);
        assert_string_equal(a, b);
        free(a), free(b);
    }
}

static void a_checkpoint_is_whole_tested_and_gone_on_from(void **state)
{
    (void)state;
    check("ckpt verify $/first", 0, "whole");
    check("eval $/first", 0, "accuracy");
    check("train $/frozen.yaml --ranks 2 --quiet --out $/first --set steps=6", 0, "weights ");
    check("train $/whole.yaml --ranks 2 --out $/first --set steps=8", 2,
          "was trained by another job: optimiser.groups.freeze.");
    check("train $/whole.yaml --ranks 2 --out $/thawed --init $/first", 0, "14 of 14 tensors loaded, 0 fresh");
}

static void what_is_not_done_is_not_shown(void **state)
{
    (void)state;
    char *text = says("graph $/frozen.yaml", 0, "parameters frozen");
    assert_null(strstr(text, "d(conv2.weight)"));
    assert_non_null(strstr(text, "d(conv1.weight)"));
    free(text);
    text = says("graph $/whole.yaml --set optimiser.groups.freeze=*=true,fc2=false", 0, "parameters frozen");
    assert_null(strstr(text, "backward-params bn1"));
    assert_null(strstr(text, "backward-data   fc2"));
    assert_non_null(strstr(text, "backward-params fc2"));
    assert_non_null(strstr(text, "sum(bn1.running_mean)"));
    free(text);
    check("plan $/frozen.yaml --ranks 3 --set batch=24", 0, "frozen, not exchanged: ");
    check("plan check $/frozen.yaml --ranks 3 --set batch=24", 0, "accesses to weights");
    check("predict $/frozen.yaml --ranks 2", 0, "exchange");
    check("train $/frozen.yaml --dry-run", 0,
          "freeze: {\"conv2\": \"true\", \"bn2\": \"true\", \"fc1.bias\": \"true\"}");
}

static void refusals_name_the_place(void **state)
{
    (void)state;
    check(
        "plan $/whole.yaml --set optimiser.groups.freeze=conv9=true", 2,
        "--set optimiser.groups.freeze=conv9=true: optimiser.groups.freeze: 'conv9' fits no learned parameter of model "
        "convnet-bn; did you mean 'conv");
    check("plan $/whole.yaml --set optimiser.groups.freeze=conv1", 2, "optimiser.groups.freeze");
    put("bad.yaml", JOB "  groups:\n    freeze: {\"*\": true}\n");
    check("train $/bad.yaml --ranks 1 --out $/bad", 2,
          "bad.yaml: line 8: optimiser.groups.freeze: every learned parameter of model convnet-bn is frozen");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_move_as_beside_a_rate_of_0),
        cmocka_unit_test(a_checkpoint_is_whole_tested_and_gone_on_from),
        cmocka_unit_test(what_is_not_done_is_not_shown),
        cmocka_unit_test(refusals_name_the_place),
    };
    return cmocka_run_group_tests(tests, make_runs, folder_drop);
}
