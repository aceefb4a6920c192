/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_pretend_command.c: `tutti train --pretend`: kernels wait as long as a trace says, all else runs, and
 * nothing is kept that could be taken for something learned. */
#include "testing.h"

#include <stdlib.h>

#include "command_folder.h"

static const char job[] = "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 30}\nbatch: 16\nsteps: 6\n"
                          "optimiser: {rule: momentum, lr: 0.02}\nlog_every: 1\n";
static const char trace[] = "Id\tName\tForward\tBackward\tComm\tSize\n"
                            "0\tfc1\t10000\t10000\t0\t401920\n"
                            "1\tfc2\t0\t0\t0\t5160\n"
                            "2\tsoftmax-cross-entropy1\t0\t0\t0\t0\n";

static int prepare(void **state)
{
    if (folder_make(state)) return -1;
    put("job.yaml", job);
    put("layers.txt", trace);
    return 0;
}

/* The number behind the key, behind that event; -1: there is none. Inlined, gcc 12 sees a dangling pointer. */
__attribute__((noinline)) static double number_in(const char *lines, const char *event, const char *key)
{
    const char *line = strstr(lines, event);
    const char *at = line ? strstr(line, key) : NULL;
    return at ? atof(at + strlen(key)) : -1;
}

static void every_method_runs_and_its_steps_take_the_times_of_the_trace(void **state)
{
    (void)state;
    static const char *const methods[] = {"sync-sgd",    "local-sgd", "easgd",       "sync-easgd1",
                                          "sync-easgd3", "async-sgd", "async-easgd", "bounded-sgd"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char words[200];
        snprintf(words, sizeof words,
                 "train $/job.yaml --ranks 2 --out $/out --fresh --pretend $/layers.txt --set method.name=%s",
                 methods[i]);
        char *said = says(words, TUTTI_OK, "pretended 6 steps by ");
        assert_non_null(strstr(said, "nothing is computed, learned, tested or saved"));
        assert_null(strstr(said, "accuracy 0"));
        free(said);
        char *lines = get("out/metrics.jsonl");
        assert_non_null(strstr(lines, "\"ev\":\"pretended\""));
        assert_non_null(strstr(lines, "\"loss\":null"));
        /* nobody sleeps for less than he is told: 6 steps of two kernels of 10 ms; where workers take steps of their
         * own one may be done with five when the other has begun its last one */
        assert_true(number_in(lines, "\"ev\":\"end\"", "\"train_seconds\":") >= 5 * 0.02 * 0.99);
        free(lines);
    }
    free(says("eval $/out", TUTTI_ERR_DATA, ""));
}

static void what_was_learned_stays(void **state)
{
    (void)state;
    free(says("train $/job.yaml --out $/out", TUTTI_OK, "weights "));
    free(says("train $/job.yaml --out $/out --pretend $/layers.txt", TUTTI_ERR_USAGE, "holds checkpoints"));
    free(says("train $/job.yaml --out $/out --fresh --pretend $/layers.txt", TUTTI_ERR_USAGE, "holds checkpoints"));
    free(says("train $/job.yaml --out $/out", TUTTI_OK, "nothing left to do"));
}

static void what_a_trace_does_not_say_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        int code;
        const char *says;
    } cases[] = {
        {"--set reduction=canonical --set slots=4", TUTTI_ERR_USAGE, "of whole steps"},
        {"--set accumulate=2", TUTTI_ERR_USAGE, "of whole steps"},
        {"--set parallel.layers=fc1 --ranks 2", TUTTI_ERR_USAGE, "of whole layers"},
        {"--init $/none.safetensors", TUTTI_ERR_USAGE, "learns nothing"},
        {"--set method.name=async-easgd --replay $/layers.txt", TUTTI_ERR_USAGE, "--pretend computes none"},
        {"--set fuse=false", TUTTI_ERR_DATA, "3 layers, model mlp has 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[200];
        snprintf(words, sizeof words, "train $/job.yaml --out $/out --pretend $/layers.txt %s", cases[i].words);
        free(says(words, cases[i].code, cases[i].says));
    }
    put("bad.txt", "Id\tName\tForward\tBackward\tComm\tSize\n0\tfc1\t-5\t1\t0\t0\n");
    free(says("train $/job.yaml --out $/out --pretend $/bad.txt", TUTTI_ERR_DATA, "line 2: Forward"));
    free(says("train $/job.yaml --out $/out --pretend $/nowhere.txt", TUTTI_ERR_DATA, "nowhere.txt"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_method_runs_and_its_steps_take_the_times_of_the_trace, prepare,
                                        folder_drop),
        cmocka_unit_test_setup_teardown(what_was_learned_stays, prepare, folder_drop),
        cmocka_unit_test_setup_teardown(what_a_trace_does_not_say_is_refused, prepare, folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
