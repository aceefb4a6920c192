/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_infer_command.c: `tutti infer`: pictures of the set have the answers of its rows; what is no picture is
 * named, and the rest is answered. */
#include "testing.h"

#include <math.h>

#include <cjson/cJSON.h>
#include <png.h>

#include "cli/answers.h"
#include "data/dataset.h"

enum { SIDE = 28 };

static void picture_write(const char *name, int width, int height, const uint8_t *bytes)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_GRAY};
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_true(png_image_write_to_file(&image, path, 0, bytes, 0, NULL));
}

/* The first n test samples as $/pictures/00.png, ... */
static void pictures_make(int n)
{
    const tutti_dataset_config c = {.set = "digits", .seed = 1, .train_samples = 320, .test_samples = NSAMPLES};
    tutti_dataset *d;
    char name[32], *folder = in_folder("$/pictures");
    assert_int_equal(tutti_dataset_open(&c, TUTTI_SPLIT_TEST, &d, NULL), TUTTI_OK);
    assert_int_equal(tutti_file_make_dir(folder, NULL), TUTTI_OK);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "pictures/%02d.png", i);
        picture_write(name, SIDE, SIDE, tutti_dataset_bytes(d, i));
    }
    tutti_dataset_destroy(d);
    free(folder);
}

static void a_picture_of_the_set_has_the_answer_of_its_row(void **state)
{
    enum { N = 12 };
    (void)state;
    row *rows = calloc(NSAMPLES, sizeof *rows);
    pictures_make(N);
    check("eval $/one --predictions $/a.csv", 0, "");
    read_csv("a.csv", rows);
    char *said = says("infer $/one $/pictures --json --top 99", 0, "{"), *rest = NULL;
    int i = 0;
    for (char *line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), i++) {
        cJSON *answer = cJSON_Parse(line);
        const cJSON *top = cJSON_GetObjectItem(answer, "top"), *item;
        char name[16];
        double before = 1;
        assert_true(i < N);
        snprintf(name, sizeof name, "/%02d.png", i);
        assert_non_null(strstr(cJSON_GetObjectItem(answer, "file")->valuestring, name)); /* sorted */
        assert_int_equal(cJSON_GetArraySize(top), NCLASSES);
        const int first = cJSON_GetObjectItem(top->child, "class")->valueint;
        assert_true(fabs((double)(rows[i].p[first] - rows[i].p[rows[i].predicted])) < 1e-6);
        cJSON_ArrayForEach(item, top)
        {
            const double p = cJSON_GetObjectItem(item, "p")->valuedouble;
            assert_true(fabs(p - (double)rows[i].p[cJSON_GetObjectItem(item, "class")->valueint]) < 1e-6);
            assert_true(p <= before);
            before = p;
        }
        cJSON_Delete(answer);
    }
    assert_int_equal(i, N);
    free(said);
    free(rows);
}

static void top_says_how_many_classes(void **state)
{
    static const struct {
        const char *words;
        int ncommas;
    } cases[] = {{"", 4}, {"--top 1", 0}, {"--top 3", 2}, {"--top 1000", 9}};
    (void)state;
    pictures_make(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[80];
        int n = 0;
        snprintf(words, sizeof words, "infer $/one $/pictures/00.png %s", cases[i].words);
        char *said = says(words, 0, "/pictures/00.png: ");
        for (const char *at = said; *at; at++) n += *at == ',';
        assert_int_equal(n, cases[i].ncommas);
        free(said);
    }
    check("infer $/one $/pictures --top 0", 2, "--top: 0 is outside 1 ..");
    check("infer $/one $/pictures --top -1", 2, "--top: -1 is outside 1 ..");
    check("infer $/one $/pictures --top many", 2, "'many' is not a whole number");
}

static void what_is_no_picture_is_named_and_the_rest_is_answered(void **state)
{
    (void)state;
    uint8_t bytes[2 * SIDE * SIDE] = {0};
    char path[128], *folder = in_folder("$/nothing");
    pictures_make(2);
    picture_write("wide.png", 2 * SIDE, SIDE, bytes);
    for (int i = 0; i < SIDE * SIDE; i++) bytes[i] = (uint8_t)(i * i * 31 + i);
    picture_write("cut.png", SIDE, SIDE, bytes);
    snprintf(path, sizeof path, "%s/cut.png", dir);
    assert_int_equal(truncate(path, 300), 0);
    assert_int_equal(tutti_file_make_dir(folder, NULL), TUTTI_OK);
    free(folder);
    char *said = says("infer $/one $/cut.png $/pictures/00.png $/nothing $/wide.png $/gone.png $/pictures/01.png", 3,
                      "tutti infer: 4 could not be read, as said above; 2 answered");
    assert_non_null(strstr(said, "cut.png: byte "));
    assert_non_null(strstr(said, "/nothing: no .jpg, .jpeg or .png file in it"));
    assert_non_null(strstr(said, "wide.png: 56 x 28 pixels; the set digits has 28 x 28"));
    assert_non_null(strstr(said, "gone.png: cannot open"));
    assert_non_null(strstr(said, "/pictures/00.png: "));
    assert_non_null(strstr(said, "/pictures/01.png: "));
    free(said);
    check("infer $/one $/cut.png --json 2>/dev/null", 3, "\"error\":\"");
    check("infer $/one $/pictures >/dev/full", 1, "");
}

static void weights_that_diverged_say_so(void **state)
{
    (void)state;
    pictures_make(1);
    /* the weights after one step are finite, and what they make of a picture is not */
    check("train $/job.yaml --set optimiser.lr=1000000 --set data.std=0.00001 --ranks 1 --out $/nan --quiet --set "
          "steps=1 "
          "--set on_nan=continue",
          0, "accuracy 0.1000");
    check("infer $/nan $/pictures/00.png --top 2", 0, "/pictures/00.png: 0 nan, 1 nan\n");
    check("infer $/nan $/pictures/00.png --top 1 --json", 0, "[{\"class\":0,\"p\":null}]");
    check("eval $/nan --predictions $/nan.csv", 0, "loss nan accuracy 0.1000");
    check("eval $/nan --predictions $/nan.jsonl", 0, "loss nan accuracy 0.1000");
    char *csv = get("nan.csv"), *jsonl = get("nan.jsonl");
    assert_non_null(strstr(csv, "\n0,8,0,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan\n"));
    assert_non_null(strstr(jsonl, "\"prediction\":0,\"p\":[null,null,null,"));
    free(csv);
    free(jsonl);
}

static void infer_without_a_checkpoint_or_a_picture_is_refused(void **state)
{
    (void)state;
    check("infer", 2, "a checkpoint and pictures are wanted");
    check("infer $/one", 2, "a checkpoint and pictures are wanted");
    check("infer $/nowhere $/a.png", 3, "neither a checkpoint nor a run's folder");
    check("infer $/one $/a.png --data set=noise", 2, "data.shape");
}

static void predict_says_what_it_does_not_do(void **state)
{
    (void)state;
    char *said = says("predict --help", 0, "usage: tutti predict"), *line = strstr(said, "\n\n"), *end;
    assert_non_null(line);
    end = strchr(line + 2, '\n');
    assert_non_null(end);
    *end = '\0';
    assert_non_null(strstr(line, "times, not labels"));
    assert_non_null(strstr(line, "tutti infer"));
    assert_non_null(strstr(line, "tutti eval --predictions"));
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_of_the_set_has_the_answer_of_its_row),
        cmocka_unit_test(top_says_how_many_classes),
        cmocka_unit_test(what_is_no_picture_is_named_and_the_rest_is_answered),
        cmocka_unit_test(weights_that_diverged_say_so),
        cmocka_unit_test(infer_without_a_checkpoint_or_a_picture_is_refused),
        cmocka_unit_test(predict_says_what_it_does_not_do),
    };
    return cmocka_run_group_tests(tests, train_both, folder_drop);
}
