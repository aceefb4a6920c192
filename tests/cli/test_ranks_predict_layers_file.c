/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_predict_layers_file.c: `tutti predict LAYERS.txt` as a user types it: exact figures, words of refusals,
 * codes. */
#include "testing.h"

#include <math.h>

#include <cjson/cJSON.h>

#include "cli/command_folder.h"

#define HEAD "Id Name Forward Backward Comm Size\n"
/* Over four ranks by ring at 1 GB/s, 10 us a step, 1 GB/s added: 60 us + 9/4 ns a byte. */
#define STAR " --topology star,bw=1GB,lat=10us,soft=0s,add=1GB --exchange allreduce:ring"

static int make(void **state)
{
    if (folder_make(state)) return -1;
    /* gradients: fc of 4 kB ready at 200, conv of 4 kB at 500; each message 69 us, both in one 78 us */
    put("two.txt", HEAD "0 conv 100 300 0 4000\n1 fc 100 200 0 4000\n");
    put("io.txt",
        "Id Name Forward Backward Comm Size Read Copy\n0 conv 100 300 0 4000 5000 1000\n1 fc 100 200 0 4000 0 0\n");
    return 0;
}

/* Of one object a line, the number of a key in the line of so many ranks. */
static double number(const char *text, int ranks, const char *key)
{
    double out = -1;
    char *copy = strdup(text), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        cJSON *o = cJSON_Parse(line);
        assert_non_null(o);
        if (cJSON_GetObjectItem(o, "ranks")->valueint == ranks) out = cJSON_GetObjectItem(o, key)->valuedouble;
        cJSON_Delete(o);
    }
    free(copy);
    return out;
}

static void steps_are_those_of_the_formulas(void **state)
{
    (void)state;
    static const struct {
        const char *schedule;
        double step_ms;
    } cases[] = {{"bsp", 0.7 + 0.138},  {"bsp-one", 0.7 + 0.078}, {"io", 0.7 + 0.138},
                 {"wfbp", 0.7 + 0.069}, {"mg-wfbp", 0.7 + 0.069}, {"priority", 0.7 + 0.069}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[300];
        snprintf(line, sizeof line, "predict $/two.txt --batch 32 --ranks 1,4 --json - --schedule %s" STAR,
                 cases[i].schedule);
        char *text = says(line, 0, "\"algorithm\":\"ring\"");
        assert_true(number(text, 1, "step_ms") == 0.7);
        assert_true(number(text, 4, "step_ms") > cases[i].step_ms - 1e-9);
        assert_true(number(text, 4, "step_ms") < cases[i].step_ms + 1e-9);
        assert_true(number(text, 1, "samples_per_s") == 32 / 0.0007);
        free(text);
    }
}

static void a_faster_device_computes_less_and_reads_as_long(void **state)
{
    (void)state;
    char *text =
        says("predict $/two.txt --batch 32 --ranks 4 --speed 100x --json - --schedule bsp-one" STAR, 0, "bsp-one");
    assert_true(number(text, 4, "compute_ms") == 0.007);
    free(text);
    text = says("predict $/io.txt --batch 32 --ranks 4 --speed 100x --json - --schedule wfbp" STAR, 0, "wfbp");
    assert_true(number(text, 4, "step_ms") == 6);
    free(text);
    check("predict $/io.txt --batch 32 --ranks 4" STAR, 0, "Reading 5.000 ms and copying 1.000 ms a step");
}

/* Of two.txt a step of one rank takes 0.7 ms with 32 samples; 3,200 samples are 100 steps of one rank, 25 of four. */
static void a_whole_run_has_hours_nodes_cost_and_what_is_known_of_memory(void **state)
{
    (void)state;
    char *text = says("predict $/two.txt --batch 32 --ranks 1,4 --epochs 90 --samples 3200 --price 36/h "
                      "--ranks-per-node 2 --json -" STAR,
                      0, "\"cost\"");
    assert_true(number(text, 1, "steps") == 9000 && number(text, 4, "steps") == 2250);
    assert_true(fabs(number(text, 1, "run_s") - 6.3) < 1e-9);
    assert_true(fabs(number(text, 1, "cost") - 0.063) < 1e-9);
    assert_true(number(text, 4, "nodes") == 2);
    assert_true(fabs(number(text, 4, "cost") - 2 * number(text, 4, "run_s") / 100) < 1e-9);
    const double known = number(text, 1, "memory_known_bytes");
    free(text);
    put("adam.txt", "Id Name Forward Backward Comm Size\n# rule adamw\n0 a 1 2 0 1000\n");
    text = says("predict $/adam.txt --batch 32 --ranks 1 --json -" STAR, 0, "memory_known_bytes");
    assert_true(number(text, 1, "memory_known_bytes") == 4000);
    free(text);
    assert_true(known > 0);
    check("predict $/adam.txt --batch 32 --ranks 1 --memory 3KiB" STAR, 0, "states of adamw");
    check("predict $/adam.txt --batch 32 --ranks 1 --memory 3KiB" STAR, 0, "does not fit in 3.00 KiB");
    check("predict $/two.txt --batch 32 --ranks 1,4 --epochs 90 --samples 3200 --deadline 4s" STAR, 0,
          "Fewest nodes within 4.0 s: 4 ranks on 4 nodes");
    check("predict $/two.txt --batch 32 --ranks 2,16 --epochs 90 --samples 3200 --topology @manoa", 0,
          "Prices of @manoa");
}

static void the_table_says_by_what_how_long_and_what_binds(void **state)
{
    (void)state;
    check("predict $/two.txt --batch 32 --ranks 4" STAR, 0,
          "4 ranks, 2 messages: 4000 bytes by ring in 0.069 ms, 8000 by ring in 0.078 ms, bound by ");
    check("predict $/two.txt --batch 32 --ranks 2,4 --topology host", 0, "no exchange is hidden");
    check("predict $/two.txt --batch 32 --ranks 4 --exchange ps:2 --topology star", 0, "by ps");
    check("predict examples/resnet50/layers.txt --batch 16 --ranks 1,2,4,8 --topology star,bw=1Gb,lat=50us --schedule "
          "mg-wfbp",
          0, "102.441 MB");
}

static void what_cannot_be_answered_is_refused(void **state)
{
    (void)state;
    put("bad.txt", HEAD "0 conv 100 300 0 4000\n1 fc 100 200 0\n");
    put("head.txt", "Id Nam Forward Backward Comm Size\n");
    put("idle.txt", HEAD "0 conv 0 0 0 4000\n");
    put("long.txt", HEAD "0 conv 1e12 1e12 0 4000\n1 fc 1e12 1e12 0 1125899906842624\n");
    tutti_strbuf many = {0};
    tutti_strbuf_puts(&many, HEAD);
    for (int l = 0; l < 200; l++) tutti_strbuf_printf(&many, "%d l%d 1 1 0 1125899906842624\n", l, l);
    put("huge.txt", many.text);
    tutti_strbuf_release(&many);
    check("predict $/bad.txt --batch 32", 3, "bad.txt: line 3: Size is missing");
    check("predict $/head.txt --batch 32", 3, "head.txt: line 1: Name: 'Nam' stands in its place");
    check("predict $/idle.txt --batch 32", 3, "no layer takes any time");
    check("predict $/huge.txt --batch 32", 3, "huge.txt: line 90: up to layer l88");
    check("predict $/long.txt --batch 32 --ranks 2 --topology star", 0, "speed-up");
    check("predict $/none.txt --batch 32", 3, "none.txt");
    check("predict examples/mlp.yaml --batch 32", 3, "read as a layer file, since --batch");
    check("predict $/two.txt", 2, "--batch is missing");
    check("predict $/two.txt --batch 0", 2, "--batch");
    check("predict $/two.txt --batch 1 --schedule fastest", 2,
          "no schedule 'fastest': bsp, bsp-one, io, wfbp, mg-wfbp, priority");
    check("predict $/two.txt --batch 1 --exchange ps:0", 2, "wants a number of servers");
    check("predict $/two.txt --batch 8 --ranks 2 --exchange ps --topology host", 0, "by ps");
    check("predict $/two.txt --batch 8 --ranks 2 --exchange ps:3 --topology host", 2, "ps");
    check("predict $/two.txt --batch 1 --speed fast", 2, "wants a factor");
    check("predict $/two.txt --batch 1 --speed 0x", 2, "wants a factor");
    check("predict $/two.txt --batch 1 --weak", 2, "--weak is not for layer files");
    check("predict $/two.txt --batch 1 --advise", 2, "--advise is not for layer files");
    check("predict $/two.txt --batch 1 --price 3/h", 2, "--epochs N is missing");
    check("predict $/two.txt --batch 1 --samples 100", 2, "--samples has no effect without --epochs");
    check("predict $/two.txt --batch 1 --epochs 0", 2, "--epochs");
    check("predict $/two.txt --batch 1 --memory 0B", 2, "--memory");
    check("predict $/two.txt --batch 1 --ranks 3 --topology star --exchange allreduce:swing", 2,
          "no allreduce over 3 ranks by swing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_the_formulas),
        cmocka_unit_test(a_faster_device_computes_less_and_reads_as_long),
        cmocka_unit_test(a_whole_run_has_hours_nodes_cost_and_what_is_known_of_memory),
        cmocka_unit_test(the_table_says_by_what_how_long_and_what_binds),
        cmocka_unit_test(what_cannot_be_answered_is_refused),
    };
    return cmocka_run_group_tests(tests, make, folder_drop);
}
