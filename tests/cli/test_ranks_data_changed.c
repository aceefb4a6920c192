/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_data_changed.c: data that are not what a run was trained on: a resumed run refuses them, `eval` refuses
 * classes that mean others and says the rest, `infer` goes by the names that were kept. */
#include "testing.h"

#include "cli/command_folder.h"
#include "data/data_files.h"

static const char model[] = "name: tiny\ninput: [3, 16, 16]\nclasses: 2\nlayers:\n  - flatten\n  - dense: {units: 2}\n"
                            "  - softmax-cross-entropy\n";
static const char pictures[] = "model: ./tiny.yaml\ndata: {set: images, path: set, size: 16}\nbatch: 4\nsteps: 6\n"
                               "optimiser: {rule: sgd, lr: 0.001}\n";
static const char bytes[] =
    "model: mlp\ndata: {set: idx, path: set}\nbatch: 4\nsteps: 6\noptimiser: {rule: sgd, lr: 0.001}\n";

static char set[80];

static int make(void **state)
{
    const int problem = folder_make(state);
    if (problem) return problem;
    snprintf(set, sizeof set, "%s/set", dir);
    put("tiny.yaml", model), put("pictures.yaml", pictures), put("bytes.yaml", bytes);
    return mkdir(set, 0700);
}

static void move(const char *from, const char *to)
{
    char a[160], b[160];
    snprintf(a, sizeof a, "%s/%s", set, from);
    snprintf(b, sizeof b, "%s/%s", set, to);
    assert_int_equal(rename(a, b), 0);
}

static void one_more(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", set, name);
    assert_int_equal(mkdir(path, 0700), 0);
    png_image image = {.version = PNG_IMAGE_VERSION, .width = 2, .height = 2, .format = PNG_FORMAT_RGB};
    strcat(path, "/0.png");
    assert_true(png_image_write_to_file(&image, path, 0, "abcdefghijkl", 0, NULL));
}

#define GO_ON "train $/pictures.yaml --quiet --out $/out --set steps=12 --ranks "

static void a_resumed_run_refuses_other_pictures_and_names_what_differs(void **state)
{
    (void)state;
    data_images_put(set, 6);
    check("train $/pictures.yaml --quiet --out $/out", 0, "weights ");
    move("train/a/3.png", "3.png");
    check(GO_ON "1", 3, "there are 11 training samples now, 12 before");
    move("3.png", "train/a/3.png"), move("test/b/0.png", "0.png");
    check(GO_ON "2", 3, "there are 11 test samples now, 12 before");
    move("0.png", "test/b/0.png"), move("train/a/1.png", "1.png"), move("train/a/2.png", "train/a/1.png");
    move("1.png", "train/a/2.png"); /* two have changed places: names, numbers and labels are the same */
    check(GO_ON "1", 3, "training samples that are looked at some are other ones");
    move("train/a/1.png", "1.png"), move("train/a/2.png", "train/a/1.png"), move("1.png", "train/a/2.png");
    move("train/a", "train/z"), move("test/a", "test/z");
    char *text = says(GO_ON "2", 3, "class 0 is called 'b' now, 'a' before");
    assert_non_null(strstr(text, "--init "));
    free(text);
    move("train/z", "train/a"), move("test/z", "test/a");
    check(GO_ON "2", 0, "step 12 "); /* as they were */
}

static void a_resumed_run_refuses_other_labels(void **state)
{
    static const char *const files[] = {"train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte", "train-images-idx3-ubyte"};
    static const char *const words[] = {"labels of training samples are other ones",
                                        "labels of test samples are other ones",
                                        "training samples that are looked at some are other ones"};
    (void)state;
    data_idx_put(set, "train", 20);
    data_idx_put(set, "t10k", 8);
    check("train $/bytes.yaml --quiet --out $/out", 0, "weights ");
    for (int i = 0; i < 3; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", set, files[i]);
        FILE *f = fopen(path, "r+b");
        assert_non_null(f);
        fseek(f, -1, SEEK_END);
        fputc(i < 2 ? 0 : 255, f);
        fclose(f);
        check("train $/bytes.yaml --quiet --out $/out --set steps=12", 3, words[i]);
        data_idx_put(set, "train", 20);
        data_idx_put(set, "t10k", 8);
    }
    check("train $/bytes.yaml --quiet --out $/out --set steps=12", 0, "step 12 ");
}

static void infer_goes_by_the_names_that_were_kept(void **state)
{
    (void)state;
    data_images_put(set, 6);
    check("train $/pictures.yaml --quiet --out $/out", 0, "weights ");
    char *before = says("infer $/out $/set/test/b", 0, "a ");
    one_more("train/Aa");
    char *added = says("infer $/out $/set/test/b", 0, "b ");
    assert_string_equal(before, added);
    move("train/a", "train/zebra");
    char *renamed = says("infer $/out $/set/test/b", 0, "a ");
    assert_string_equal(before, renamed);
    move("train", "gone");
    char *gone = says("infer $/out $/set/test/b", 0, "a ");
    assert_string_equal(before, gone);
    free(before), free(added), free(renamed), free(gone);
}

static void eval_refuses_other_classes_and_says_other_samples(void **state)
{
    (void)state;
    data_images_put(set, 6);
    check("train $/pictures.yaml --quiet --out $/out", 0, "weights ");
    char *text = says("eval $/out", 0, "weights ");
    assert_null(strstr(text, "than the run"));
    free(text);
    check("eval $/out --data test_samples=5", 0,
          "other data than the run was tested on: there are 5 test samples now, 12 before; "
          "classes are called as in the checkpoint");
    move("test/b/5.png", "5.png");
    check("eval $/out", 0, "the data have changed");
    move("5.png", "test/b/5.png");
    move("train/b", "train/B"), move("test/b", "test/B");
    check("eval $/out", 3, "class 0 is called 'B' now, 'a' before");
    move("train/B", "train/b"), move("test/B", "test/b");
    one_more("train/Aa");
    check("eval $/out", 3, "there are 3 classes now, 2 before; class 0 is called 'Aa' now, 'a' before");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make, folder_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_resumed_run_refuses_other_pictures_and_names_what_differs),
        CASE(a_resumed_run_refuses_other_labels),
        CASE(infer_goes_by_the_names_that_were_kept),
        CASE(eval_refuses_other_classes_and_says_other_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
