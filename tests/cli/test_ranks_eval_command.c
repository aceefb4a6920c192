/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_eval_command.c: `tutti eval --predictions | --per-class | --confusion`: what is written agrees with what
 * eval prints, in each form, at any rank count of a canonical run; outputs that cannot be are refused. */
#include "testing.h"

#include <math.h>

#include <cjson/cJSON.h>

#include "cli/answers.h"

static void read_jsonl(const char *name, row rows[NSAMPLES])
{
    char *text = get(name);
    const char *at = text;
    for (int i = 0; i < NSAMPLES; i++, at++) {
        cJSON *line = cJSON_ParseWithOpts(at, &at, false);
        assert_non_null(line);
        assert_int_equal(cJSON_GetObjectItem(line, "index")->valueint, i);
        rows[i].label = cJSON_GetObjectItem(line, "label")->valueint;
        rows[i].predicted = cJSON_GetObjectItem(line, "prediction")->valueint;
        const cJSON *p = cJSON_GetObjectItem(line, "p");
        assert_int_equal(cJSON_GetArraySize(p), NCLASSES);
        for (int k = 0; k < NCLASSES; k++) rows[i].p[k] = (float)cJSON_GetArrayItem(p, k)->valuedouble;
        cJSON_Delete(line);
        assert_int_equal(*at, '\n');
    }
    assert_int_equal(*at, '\0');
    free(text);
}

/* NumPy's format 1.0, as its specification has it. */
static void read_npy(const char *name, float p[NSAMPLES][NCLASSES])
{
    static const char want[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (130, 10), }";
    char path[128], *bytes;
    size_t nbytes;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &bytes, &nbytes, NULL), TUTTI_OK);
    assert_memory_equal(bytes, "\x93NUMPY\x01\0", 8);
    const size_t length = (size_t)(unsigned char)bytes[8] + 256 * (size_t)(unsigned char)bytes[9];
    assert_int_equal((10 + length) % 64, 0);
    assert_memory_equal(bytes + 10, want, strlen(want));
    for (size_t i = strlen(want); i < length - 1; i++) assert_int_equal(bytes[10 + i], ' ');
    assert_int_equal(bytes[10 + length - 1], '\n');
    assert_int_equal(nbytes - 10 - length, sizeof(float) * NSAMPLES * NCLASSES);
    memcpy(p, bytes + 10 + length, sizeof(float) * NSAMPLES * NCLASSES);
    free(bytes);
}

/* ---- eval ---- */

static void predictions_agree_with_accuracy_and_loss(void **state)
{
    (void)state;
    row *rows = calloc(NSAMPLES, sizeof *rows);
    char wanted[96];
    int right = 0;
    double loss = 0;
    char *said = says("eval $/one --predictions $/a.csv", 0, "weights "), *alone = says("eval $/one", 0, "weights ");
    assert_string_equal(said, alone); /* the line is as ever */
    read_csv("a.csv", rows);
    for (int i = 0; i < NSAMPLES; i++) {
        double sum = 0;
        for (int k = 0; k < NCLASSES; k++) {
            assert_true(rows[i].p[k] >= 0 && rows[i].p[k] <= rows[i].p[rows[i].predicted]);
            sum += (double)rows[i].p[k];
        }
        assert_true(fabs(sum - 1) < 1e-6);
        right += rows[i].label == rows[i].predicted;
        loss -= log((double)rows[i].p[rows[i].label]);
    }
    const char *printed = strstr(said, " samples 130 loss ");
    assert_non_null(printed);
    assert_true(fabs(strtod(printed + strlen(" samples 130 loss "), NULL) - loss / NSAMPLES) < 1e-5);
    snprintf(wanted, sizeof wanted, " accuracy %.4f\n", (double)right / NSAMPLES);
    assert_non_null(strstr(said, wanted));
    assert_true(right > 20 && right < NSAMPLES); /* it has learned something, and not all */
    free(said);
    free(alone);
    free(rows);
}

static void all_forms_hold_the_same_floats(void **state)
{
    (void)state;
    row *csv = calloc(NSAMPLES, sizeof *csv), *jsonl = calloc(NSAMPLES, sizeof *jsonl);
    float(*npy)[NCLASSES] = calloc(NSAMPLES, sizeof *npy);
    check("eval $/one --predictions $/a.csv", 0, "");
    check("eval $/one --predictions=$/a.jsonl", 0, "");
    check("eval $/one --predictions $/a.npy", 0, "");
    read_csv("a.csv", csv);
    read_jsonl("a.jsonl", jsonl);
    read_npy("a.npy", npy);
    assert_memory_equal(csv, jsonl, sizeof(row) * NSAMPLES);
    for (int i = 0; i < NSAMPLES; i++) assert_memory_equal(csv[i].p, npy[i], sizeof npy[i]);
    free(csv);
    free(jsonl);
    free(npy);
}

static void canonical_runs_of_any_ranks_predict_the_same_bytes(void **state)
{
    (void)state;
    check("eval $/one --predictions $/one.csv", 0, "");
    check("eval $/two --predictions $/two.csv", 0, "");
    check("eval $/two/checkpoints/step_000000010 --predictions $/three.csv", 0, "");
    char *one = get("one.csv"), *two = get("two.csv"), *three = get("three.csv");
    assert_string_equal(one, two);
    assert_string_equal(one, three);
    free(one);
    free(two);
    free(three);
}

static void classes_and_mistakes_are_those_of_the_predictions(void **state)
{
    (void)state;
    row *rows = calloc(NSAMPLES, sizeof *rows);
    int count[NCLASSES][NCLASSES] = {{0}};
    check("eval $/one --predictions $/a.csv", 0, "");
    read_csv("a.csv", rows);
    for (int i = 0; i < NSAMPLES; i++) count[rows[i].label][rows[i].predicted]++;
    char *said = says("eval $/one --per-class --confusion", 0, "accuracy by class, the worst first\n");
    const char *matrix = strstr(said, "confusion: rows are labels, columns predictions\n");
    assert_non_null(matrix);
    for (int i = 0; i < NCLASSES; i++) {
        char line[160], *at = line;
        at += sprintf(at, "\n  %d", i);
        for (int k = 0; k < NCLASSES; k++) at += sprintf(at, " %2d", count[i][k]);
        if (!strstr(matrix, line)) fail_msg("no line '%s' in\n%s", line, matrix);
        snprintf(line, sizeof line, "\n  %-5d       13  %5d    %.4f\n", i, count[i][i], count[i][i] / 13.0);
        if (!strstr(said, line)) fail_msg("no line '%s' in\n%s", line, said);
    }
    free(said);
    free(rows);
}

static void the_matrix_is_drawn_where_a_name_says_so(void **state)
{
    (void)state;
    char *said = says("eval --confusion $/c.svg $/one", 0, "weights "), *svg = get("c.svg");
    assert_null(strstr(said, "confusion"));
    assert_memory_equal(svg, "<svg ", 5);
    assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
    free(said);
    free(svg);
    check("eval $/one --confusion=$/c.png", 2, "ends in .svg");
    check("eval $/one --confusion $/c.png", 2, "the name behind --confusion ends in .svg");
    check("eval $/one --confusion=", 2, "--confusion: a name is missing");
}

static void outputs_that_cannot_be_are_refused_before_anything_is_computed(void **state)
{
    static const struct {
        const char *words;
        int code;
        const char *wanted;
    } cases[] = {
        {"eval $/one --predictions $/a.txt", 2, ".csv, .jsonl or .npy"},
        {"eval $/one --predictions $/a.csv.gz", 2, ".csv, .jsonl or .npy"},
        {"eval $/one --predictions .csv", 2, ".csv, .jsonl or .npy"},
        {"eval $/one --predictions ''", 2, "a name is missing"},
        {"eval $/one --predictions /dev/full", 2, ".csv, .jsonl or .npy"},
        {"eval $/one --predictions $/nowhere/a.csv", 2, "no such folder"},
        {"eval $/one --predictions $/one/metrics.jsonl", 2, "over what belongs to the input"},
        {"eval $/one --predictions $/weights.npy", 2, "over what belongs to the input"},
        {"eval $/one --predictions $/one/checkpoints/step_000000010/a.csv", 2, "over what belongs to the input"},
        {"eval $/nowhere --predictions $/a.csv", 3, "neither a checkpoint nor a run's folder"},
    };
    (void)state;
    char *line = in_folder("ln -sf one/checkpoints/step_000000010/weights.safetensors $/weights.npy");
    assert_int_equal(system(line), 0);
    free(line);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *said = says(cases[i].words, cases[i].code, cases[i].wanted);
        assert_null(strstr(said, "accuracy"));
        free(said);
    }
    check("ckpt verify $/one", 0, "whole");
}

static void a_file_that_cannot_be_written_fails_and_leaves_nothing(void **state)
{
    (void)state;
    char *line = in_folder("mkdir $/full && ln -s /dev/full $/full/a.csv && ln -s /dev/full $/full/c.svg");
    assert_int_equal(system(line), 0);
    free(line);
    check("eval $/one --predictions $/full/a.csv", 1, "No space left");
    check("eval $/one --confusion $/full/c.svg", 1, "No space left");
    check("eval $/one --per-class >/dev/full", 1, "");
    line = in_folder("ls -A $/full | wc -l | grep -qx 2");
    assert_int_equal(system(line), 0);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_agree_with_accuracy_and_loss),
        cmocka_unit_test(all_forms_hold_the_same_floats),
        cmocka_unit_test(canonical_runs_of_any_ranks_predict_the_same_bytes),
        cmocka_unit_test(classes_and_mistakes_are_those_of_the_predictions),
        cmocka_unit_test(the_matrix_is_drawn_where_a_name_says_so),
        cmocka_unit_test(outputs_that_cannot_be_are_refused_before_anything_is_computed),
        cmocka_unit_test(a_file_that_cannot_be_written_fails_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, train_both, folder_drop);
}
