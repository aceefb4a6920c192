/* SPDX-License-Identifier: Apache-2.0 */
/* test_identity.c: what is kept of data comes back from its text, and each part in which two sets differ is named. */
#include "testing.h"

#include <stdlib.h>

#include "data/data_files.h"
#include "data/identity.h"

static tutti_data_identity of(const tutti_dataset_config *c)
{
    tutti_dataset *train, *test;
    tutti_data_identity d;
    tutti_failure err = {0};
    if (tutti_dataset_open(c, TUTTI_SPLIT_TRAIN, &train, &err) ||
        tutti_dataset_open(c, TUTTI_SPLIT_TEST, &test, &err) || tutti_data_identity_of(c, train, test, &d, &err))
        fail_msg("%s", err.text);
    tutti_dataset_destroy(train);
    tutti_dataset_destroy(test);
    return d;
}

/* words: NULL = they do not differ. Releases both. */
static void expect(tutti_data_identity a, tutti_data_identity b, const char *words)
{
    char *differ = tutti_data_identity_differ(&a, &b, TUTTI_IDENTITY_ALL);
    if (words && !differ) fail_msg("they do not differ; wanted: %s", words);
    if (words) assert_string_equal(differ, words);
    if (!words && differ) fail_msg("%s", differ);
    free(differ);
    tutti_data_identity_release(&a);
    tutti_data_identity_release(&b);
}

static void it_comes_back_from_its_text(void **state)
{
    static const char *const names[] = {"plain",        "with space, [brackets]", "100%",
                                        "quote\"and\\", "\xc3\xa9t\xc3\xa9",      "not utf-8: \xff\x01"};
    tutti_data_identity d = {.split = {{60000, 0xfedcba9876543210U, 7}, {.nsamples = -1}},
                             .nclasses = 6,
                             .nchannels = 2,
                             .mean = {0.1307, -1.0 / 3},
                             .std = {1e-300, 0.3081}},
                        back;
    tutti_failure err = {0};
    (void)state;
    for (int i = 0; i < 6; i++) tutti_names_add(&d.names, names[i]);
    char *text = tutti_data_identity_print(&d);
    if (tutti_data_identity_parse(text, &back, &err)) fail_msg("%s\n%s", err.text, text);
    for (int i = 0; i < 6; i++) assert_string_equal(back.names.name[i], names[i]);
    assert_true(back.split[0].labels == 0xfedcba9876543210U && back.split[1].nsamples == -1);
    free(text);
    expect(d, back, NULL);
}

static void a_text_that_is_none_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "format: 2\nclasses: 1\nmean: []\nstd: []\n",
        "format: 1\nclasses: many\nmean: []\nstd: []\n",
        "format: 1\nclasses: 1\nmean: [1]\nstd: [1, 2]\n",
        "format: 1\nclasses: 1\nmean: [x]\nstd: [1]\n",
        "format: 1\nclasses: 1\nmean: []\nstd: []\nnames: {a: b}\n",
        "format: 1\nclasses: 1\nmean: []\nstd: []\ntrain: {samples: 3, labels: \"12\"}\n",
        "format: [",
        "- a\n- b\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tutti_data_identity d;
        tutti_failure err = {0};
        if (tutti_data_identity_parse(texts[i], &d, &err) != TUTTI_ERR_DATA) fail_msg("taken: %s", texts[i]);
        assert_true(err.text[0] != '\0');
    }
}

static void drawn_sets_differ_in_what_their_keys_say(void **state)
{
    static double other = 0.25;
    const tutti_dataset_config c = {.set = "digits", .seed = 1, .train_samples = 100, .test_samples = 30};
    tutti_dataset_config seed = c, train = c, test = c, mean = c, std = c;
    (void)state;
    seed.seed = 2, train.train_samples = 101, test.test_samples = 29;
    mean.mean = std.std = (tutti_reals){&other, 1};
    expect(of(&c), of(&c), NULL);
    expect(of(&c), of(&train), "there are 101 training samples now, 100 before");
    expect(of(&c), of(&test), "there are 29 test samples now, 30 before");
    expect(of(&c), of(&mean), "numbers of data.mean are other ones");
    expect(of(&c), of(&std), "numbers of data.std are other ones");
    tutti_data_identity a = of(&c), b = of(&seed);
    char *differ = tutti_data_identity_differ(&a, &b, TUTTI_IDENTITY_TRAIN);
    assert_non_null(strstr(differ, "of 64 training samples that are looked at some are other ones"));
    free(differ);
    assert_null(tutti_data_identity_differ(&a, &b, TUTTI_IDENTITY_CLASSES | TUTTI_IDENTITY_NORMAL));
    tutti_data_identity_release(&a);
    tutti_data_identity_release(&b);
}

/* One byte of a file of ten pictures, which are all looked at. */
static void flip(const char *folder, const char *name, long at)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    const int byte = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(byte ^ 1, f);
    fclose(f);
}

static void files_differ_in_labels_or_in_samples(void **state)
{
    const char *folder = *state;
    const tutti_dataset_config c = {.set = "idx", .path = folder};
    data_idx_put(folder, "train", 10);
    data_idx_put(folder, "t10k", 10);
    const tutti_data_identity before = of(&c);
    tutti_data_identity once = before;
    once.names = (tutti_names){0};
    flip(folder, "train-labels-idx1-ubyte", 8 + 8);
    expect(once, of(&c), "labels of training samples are other ones");
    flip(folder, "train-labels-idx1-ubyte", 8 + 8);
    flip(folder, "t10k-images-idx3-ubyte", 16 + 784 * 10 - 1);
    expect(once, of(&c), "of 64 test samples that are looked at some are other ones");
    flip(folder, "t10k-images-idx3-ubyte", 16 + 784 * 10 - 1);
    flip(folder, "t10k-labels-idx1-ubyte", 8);
    flip(folder, "train-images-idx3-ubyte", 16);
    expect(once, of(&c),
           "of 64 training samples that are looked at some are other ones; labels of test samples are other ones");
}

static void rename_in(const char *folder, const char *from, const char *to)
{
    char a[256], b[256];
    snprintf(a, sizeof a, "%s/%s", folder, from);
    snprintf(b, sizeof b, "%s/%s", folder, to);
    assert_int_equal(rename(a, b), 0);
}

static void folders_of_pictures_differ_in_names_and_files(void **state)
{
    const char *folder = *state;
    const tutti_dataset_config c = {.set = "images", .path = folder, .size = 8, .skip_bad = true};
    data_images_put(folder, 5);
    tutti_data_identity before = of(&c);
    assert_int_equal(before.names.n, 2);
    expect(of(&c), of(&c), NULL);
    rename_in(folder, "train/b", "train/B"), rename_in(folder, "test/b", "test/B"); /* sorts before a */
    tutti_data_identity now = of(&c);
    char *differ = tutti_data_identity_differ(&before, &now, TUTTI_IDENTITY_CLASSES);
    assert_string_equal(differ, "class 0 is called 'B' now, 'a' before, and 1 more have other names");
    free(differ);
    tutti_data_identity_release(&now);
    rename_in(folder, "train/B", "train/b"), rename_in(folder, "test/B", "test/b");
    data_put(folder, "train/a/3.png", "no picture, of which the bytes count all the same", 20);
    now = of(&c);
    differ = tutti_data_identity_differ(&before, &now, TUTTI_IDENTITY_ALL);
    assert_string_equal(differ, "of 64 training samples that are looked at some are other ones");
    free(differ);
    tutti_data_identity_release(&now);
    tutti_data_identity_release(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_back_from_its_text),
        cmocka_unit_test(a_text_that_is_none_is_refused),
        cmocka_unit_test(drawn_sets_differ_in_what_their_keys_say),
        cmocka_unit_test_setup_teardown(files_differ_in_labels_or_in_samples, data_folder_make, data_folder_remove),
        cmocka_unit_test_setup_teardown(folders_of_pictures_differ_in_names_and_files, data_folder_make,
                                        data_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
