/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of pictures: what is a class and in which order, what is refused, which part of a picture is seen, and that
 * neither threads nor ranks nor unreadable files change what a sample is. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include <png.h>

#include "data/dataset.h"
#include "data_files.h"

enum { SIZE = 12, FLOATS = 3 * SIZE * SIZE };

static void folder_put(const char *top, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", top, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* A PNG of one colour, level in all channels; level < 0: a ramp of 4 levels a pixel to the right. */
static void picture_put(const char *top, const char *name, int width, int height, int level)
{
    char path[512];
    uint8_t *bytes = malloc((size_t)width * (size_t)height * 3);
    for (int i = 0; i < width * height * 3; i++) bytes[i] = (uint8_t)(level < 0 ? i / 3 % width * 4 : level);
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_RGB};
    snprintf(path, sizeof path, "%s/%s", top, name);
    assert_true(png_image_write_to_file(&image, path, 0, bytes, 0, NULL));
    free(bytes);
}

/* Classes a, b, c; pictures of class k have levels from 40 k, 20 in all. */
static void set_make(const char *top)
{
    static const char *const splits[] = {"train", "val"};
    char name[128];
    for (int s = 0; s < 2; s++) {
        folder_put(top, splits[s]);
        for (int c = 2; c >= 0; c--) {
            snprintf(name, sizeof name, "%s/%c", splits[s], 'a' + c);
            folder_put(top, name);
            for (int i = c == 1 ? 7 : 6; i >= 0; i--) {
                snprintf(name, sizeof name, "%s/%c/p%d.%s", splits[s], 'a' + c, i, i % 2 ? "PNG" : "jpeg");
                picture_put(top, name, 16 + i, 20, 40 * c + i);
            }
        }
    }
    data_put(top, "train/a/notes.txt", "no picture", 10);
    data_put(top, "train/.hidden", "nothing", 7);
}

static tutti_dataset_config config_of(const char *top)
{
    return (tutti_dataset_config){.set = "images", .path = top, .size = SIZE};
}

static tutti_dataset *open_set(const tutti_dataset_config *config, tutti_split split)
{
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    if (tutti_dataset_open(config, split, &d, &err)) fail_msg("%s", err.text);
    return d;
}

/* The level of a sample that came from a plain picture. */
static double level_of(const float *sample)
{
    return ((double)sample[FLOATS / 2] * 0.224 + 0.456) * 255;
}

static void classes_and_pictures_are_sorted_and_read_as_rgb(void **state)
{
    set_make(*state);
    const tutti_dataset_config config = config_of(*state);
    for (int split = 0; split < 2; split++) {
        tutti_dataset *d = open_set(&config, (tutti_split)split);
        tutti_reader *r = tutti_reader_create(d);
        assert_int_equal(tutti_dataset_count(d), 7 + 8 + 7);
        assert_int_equal(tutti_dataset_nclasses(d), 3);
        for (int64_t i = 0; i < 22; i++) {
            const int c = i < 7 ? 0 : i < 15 ? 1 : 2, k = (int)i - (c == 0 ? 0 : c == 1 ? 7 : 15);
            float sample[FLOATS];
            int32_t label;
            assert_int_equal(tutti_reader_read(r, (tutti_pass){1, i}, i, sample, &label, NULL), TUTTI_OK);
            assert_int_equal(label, c);
            assert_true(fabs(level_of(sample) - (40 * c + k)) < 0.01);
        }
        tutti_reader_destroy(r);
        tutti_dataset_destroy(d);
    }
}

/* Levels of the samples in their order, without augmentation. */
static void expect_levels(const tutti_dataset *d, const int *levels, int n)
{
    tutti_reader *r = tutti_reader_create(d);
    assert_int_equal(tutti_dataset_count(d), n);
    for (int i = 0; i < n; i++) {
        float sample[FLOATS];
        int32_t label;
        assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, i, sample, &label, NULL), TUTTI_OK);
        if (!(fabs(level_of(sample) - levels[i]) < 0.01)) fail_msg("sample %d has level %g", i, level_of(sample));
    }
    tutti_reader_destroy(r);
}

/* What sorted(os.walk(..., followlinks=True)) of torchvision's ImageFolder gives for the same names. */
static void folders_below_a_class_are_walked_in_the_order_of_torchvision(void **state)
{
    static const char *const folders[] = {"train",     "val",         "train/a",     "val/a",
                                          "train/a/b", "train/a/b/c", "train/a/b d", "train/a/.git"};
    static const char *const files[] = {"a/y.png", "a/b/x.PNG", "a/b d/x.png", "a/b/c/w.png", "a/b/z.png", "a/e.png"};
    char path[256], link[600];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) folder_put(*state, folders[i]);
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "train/%s", files[i]);
        picture_put(*state, path, 16, 16, 10 * (i + 1));
    }
    picture_put(*state, "train/a/.git/hidden.png", 16, 16, 200);
    picture_put(*state, "val/a/1.png", 16, 16, 70);
    snprintf(link, sizeof link, "%s/train/a/b/c/up", (char *)*state);
    assert_int_equal(symlink("../..", link), 0); /* no way out of it but to see where it leads */
    tutti_dataset_config config = config_of(*state);
    config.augment = TUTTI_AUGMENT_NONE;
    tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TRAIN);
    expect_levels(d, (const int[]){60, 10, 20, 50, 30, 40}, 6); /* e y | b/x b/z | b d/x | b/c/w */
    assert_string_equal(tutti_dataset_notes(d), "6 pictures of 1 class; no file left out");
    tutti_dataset_destroy(d);
}

static void files_that_are_left_out_are_counted_by_their_ending(void **state)
{
    static const char *const left[] = {"a/1.gif", "a/2.GIF",  "b/notes.TXT", "b/deep/3.tif",
                                       "c/none",  "list.csv", ".hidden"};
    char path[480];
    set_make(*state);
    folder_put(*state, "train/b/deep");
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        snprintf(path, sizeof path, "train/%s", left[i]);
        data_put(*state, path, "no picture", 10);
    }
    snprintf(path, sizeof path, "%s/train/c/gone.png", (char *)*state);
    assert_int_equal(symlink("nowhere.png", path), 0);
    const tutti_dataset_config config = config_of(*state);
    tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TRAIN);
    const char *notes = tutti_dataset_notes(d);
    assert_non_null(strstr(notes, "22 pictures of 3 classes; 8 files left out ("));
    static const char *const words[] = {".gif 2",        ".txt 2",        ".tif 1", "no ending 1",
                                        "in no class 1", "broken link 1", "convert"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(notes, words[i])) fail_msg("no '%s' in: %s", words[i], notes);
    tutti_dataset_destroy(d);
}

static void a_picture_is_decoded_by_what_it_holds_not_by_its_ending(void **state)
{
    folder_put(*state, "train");
    folder_put(*state, "val");
    folder_put(*state, "train/a");
    folder_put(*state, "val/a");
    picture_put(*state, "val/a/1.png", 16, 16, 70);
    picture_put(*state, "train/a/1.webp", 16, 16, 10);
    picture_put(*state, "train/a/2.BMP", 16, 16, 20);
    picture_put(*state, "train/a/3.tiff", 16, 16, 30);
    picture_put(*state, "train/a/4.jpg", 16, 16, 40);
    picture_put(*state, "train/a/5.gif", 16, 16, 50); /* torchvision does not take .gif */
    data_put(*state, "train/a/6.webp", "RIFF....WEBPVP8 ", 16);
    tutti_dataset_config config = config_of(*state);
    config.augment = TUTTI_AUGMENT_NONE;
    tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TRAIN);
    expect_levels(d, (const int[]){10, 20, 30, 40}, 4);
    const char *notes = tutti_dataset_notes(d);
    assert_non_null(
        strstr(notes, "4 pictures of 1 class; 3 of them have another ending than what they hold; 2 files "));
    assert_true(strstr(notes, ".gif 1") && strstr(notes, ".webp 1"));
    tutti_dataset_destroy(d);
}

static void fewer_samples_are_spread_over_the_classes(void **state)
{
    set_make(*state);
    tutti_dataset_config config = config_of(*state);
    config.train_samples = 11;
    tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TRAIN);
    tutti_reader *r = tutti_reader_create(d);
    int seen[3] = {0};
    for (int64_t i = 0; i < 11; i++) {
        float sample[FLOATS];
        int32_t label;
        assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, i, sample, &label, NULL), TUTTI_OK);
        seen[label]++;
    }
    assert_true(seen[0] == 4 && seen[1] == 4 && seen[2] == 3);
    tutti_reader_destroy(r);
    tutti_dataset_destroy(d);
}

static void refused(const char *top, tutti_split split, const char *words)
{
    const tutti_dataset_config config = config_of(top);
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_dataset_open(&config, split, &d, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, words)) fail_msg("wanted '%s', got '%s'", words, err.text);
}

static void a_folder_of_another_form_is_refused_with_what_to_do(void **state)
{
    const char *top = *state;
    folder_put(top, "cats");
    picture_put(top, "cats/one.png", 4, 4, 9);
    refused(top, TUTTI_SPLIT_TRAIN, "no folder 'train' in it: put the folders of the classes into");
    folder_put(top, "train");
    refused(top, TUTTI_SPLIT_TRAIN, "train: no folder in it: each class needs one");
    folder_put(top, "train/cats");
    refused(top, TUTTI_SPLIT_TRAIN, "train/cats: no .jpg, .jpeg or .png file in it");
    picture_put(top, "train/cats/one.png", 4, 4, 9);
    refused(top, TUTTI_SPLIT_TEST, "no folder 'test' or 'val' in it");
    folder_put(top, "test");
    refused(top, TUTTI_SPLIT_TEST, "test: no picture in it");
    folder_put(top, "test/dogs");
    refused(top, TUTTI_SPLIT_TEST, "test/dogs: the training set has no class of this name");
}

static void test_samples_are_the_middle_and_training_samples_vary(void **state)
{
    const char *top = *state;
    folder_put(top, "train");
    folder_put(top, "train/a");
    folder_put(top, "val");
    folder_put(top, "val/a");
    picture_put(top, "train/a/ramp.png", 60, 40, -1);
    picture_put(top, "val/a/ramp.png", 60, 40, -1);
    const tutti_dataset_config config = config_of(top);
    tutti_dataset *train = open_set(&config, TUTTI_SPLIT_TRAIN), *test = open_set(&config, TUTTI_SPLIT_TEST);
    tutti_reader *r = tutti_reader_create(train), *t = tutti_reader_create(test);
    float sample[FLOATS];
    int32_t label;
    assert_int_equal(tutti_reader_read(t, (tutti_pass){0}, 0, sample, &label, NULL), TUTTI_OK);
    /* 40 pixels become 14, 60 become 21; of these 12 from 5 (the half rounds up): the middle of pixel 5 is at 5.5 / 21
     * of 60 */
    const double first = (5.5 * 60 / 21 - 0.5) * 4, step = 4.0 * 60 / 21;
    for (int x = 0; x < SIZE; x++) {
        const double level = ((double)sample[x] * 0.229 + 0.485) * 255;
        assert_true(fabs(level - (first + step * x)) < 0.3);
    }
    int rising = 0;
    double least = 1e9, most = 0;
    for (int64_t epoch = 0; epoch < 400; epoch++) {
        assert_int_equal(tutti_reader_read(r, (tutti_pass){3, epoch}, 0, sample, &label, NULL), TUTTI_OK);
        const double width = fabs((double)(sample[SIZE - 1] - sample[0])) * 0.229 * 255 / 4 * SIZE / (SIZE - 1);
        rising += sample[SIZE - 1] > sample[0];
        least = fmin(least, width);
        most = fmax(most, width);
    }
    assert_in_range(rising, 160, 240);     /* half are mirrored */
    assert_true(least > 10 && least < 16); /* sqrt(0.08 * 2400 * 3 / 4) = 12 pixels is the narrowest */
    assert_true(most > 45 && most < 62);
    tutti_reader_destroy(r);
    tutti_reader_destroy(t);
    tutti_dataset_destroy(train);
    tutti_dataset_destroy(test);
}

/* ---- unreadable files ---- */

static const tutti_batch *next(tutti_loader *l, tutti_failure *err)
{
    const tutti_batch *b = NULL;
    return tutti_loader_next(l, &b, err) ? NULL : b;
}

static tutti_loader *loader_of(const tutti_dataset *d, int64_t first, int64_t n, int nthreads)
{
    const tutti_loader_config config = {
        .data = d, .seed = 5, .batch = 10, .first = first, .n = n, .end_step = 20, .nthreads = nthreads};
    tutti_loader *l = NULL;
    assert_int_equal(tutti_loader_create(&config, &l, NULL), TUTTI_OK);
    return l;
}

static void an_unreadable_file_ends_the_run_and_is_named_whatever_the_threads(void **state)
{
    set_make(*state);
    data_put(*state, "train/b/p3.PNG", "\x89PNG....", 8);
    const tutti_dataset_config config = config_of(*state);
    tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TRAIN);
    for (int nthreads = 1; nthreads <= 4; nthreads += 3) {
        tutti_loader *l = loader_of(d, 0, 10, nthreads);
        tutti_failure err = {0};
        int step = 0;
        while (step < 20 && next(l, &err)) step++;
        assert_in_range(step, 0, 2); /* two steps see all but two of the samples */
        assert_int_equal(err.status, TUTTI_ERR_DATA);
        assert_non_null(strstr(err.text, "train/b/p3.PNG: byte 0: neither a JPEG nor a PNG"));
        tutti_loader_destroy(l);
    }
    tutti_dataset_destroy(d);
}

static void what_is_no_file_is_left_out_without_waiting(void **state)
{
    char path[256];
    set_make(*state);
    const tutti_dataset_config config = config_of(*state);
    for (int fifo = 0; fifo < 2; fifo++) {
        snprintf(path, sizeof path, "%s/train/a/p0.jpeg", (char *)*state);
        remove(path);
        assert_int_equal(fifo ? mkfifo(path, 0600) : mkdir(path, 0700),
                         0); /* an empty folder holds nothing to leave out */
        tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TRAIN);
        assert_int_equal(tutti_dataset_count(d), 21);
        assert_true(fifo == (strstr(tutti_dataset_notes(d), "no file 1") != NULL));
        tutti_dataset_destroy(d);
    }
}

static void skipped_files_are_replaced_alike_on_any_number_of_threads_and_ranks(void **state)
{
    char gone[256];
    set_make(*state);
    data_put(*state, "train/a/p6.jpeg", "\xff\xd8\xff", 3); /* the last of its class */
    data_put(*state, "train/b/p0.jpeg", "", 0);             /* and its neighbour */
    tutti_dataset_config config = config_of(*state);
    config.skip_bad = true;
    tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TRAIN);
    snprintf(gone, sizeof gone, "%s/train/c/p6.jpeg", (char *)*state); /* the last of all: the first stands in */
    assert_int_equal(remove(gone), 0);
    tutti_reader *r = tutti_reader_create(d);
    float sample[FLOATS];
    int32_t label;
    const char *why;
    assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, 6, sample, &label, NULL), TUTTI_OK);
    assert_true(label == 1 && fabs(level_of(sample) - 41) < 0.01);
    assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, 21, sample, &label, NULL), TUTTI_OK);
    assert_true(label == 0 && fabs(level_of(sample)) < 0.01);
    assert_int_equal(tutti_reader_nreplaced(r, &why), 2);
    assert_non_null(strstr(why, "train/c/p6.jpeg: cannot open: No such file"));
    tutti_reader_destroy(r);
    tutti_loader *whole = loader_of(d, 0, 10, 1), *low = loader_of(d, 0, 4, 3), *high = loader_of(d, 4, 6, 2);
    int64_t nreplaced = 0;
    for (int step = 0; step < 20; step++) {
        const tutti_batch *a = next(whole, NULL), *b = next(low, NULL), *c = next(high, NULL);
        assert_memory_equal(a->samples, b->samples, 4 * FLOATS * sizeof(float));
        assert_memory_equal(a->samples + 4 * FLOATS, c->samples, 6 * FLOATS * sizeof(float));
        assert_memory_equal(a->labels, b->labels, 4 * sizeof(int32_t));
        assert_memory_equal(a->labels + 4, c->labels, 6 * sizeof(int32_t));
        assert_int_equal(a->nreplaced, b->nreplaced + c->nreplaced);
        if (a->nreplaced) assert_string_equal(a->why, b->nreplaced ? b->why : c->why);
        nreplaced += a->nreplaced;
    }
    assert_in_range(nreplaced, 20, 30); /* of 10 epochs, each without 2 of 22 samples */
    tutti_loader_destroy(whole);
    tutti_loader_destroy(low);
    tutti_loader_destroy(high);
    tutti_dataset_destroy(d);
}

static void a_set_without_one_readable_file_fails_even_where_bad_ones_are_skipped(void **state)
{
    const char *top = *state;
    folder_put(top, "train");
    folder_put(top, "train/a");
    data_put(top, "train/a/1.png", "no", 2);
    data_put(top, "train/a/2.png", "no", 2);
    tutti_dataset_config config = config_of(top);
    config.skip_bad = true;
    tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TRAIN);
    tutti_reader *r = tutti_reader_create(d);
    float sample[FLOATS];
    int32_t label;
    tutti_failure err = {0};
    assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, 1, sample, &label, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "no other sample of the set can be read"));
    tutti_reader_destroy(r);
    tutti_dataset_destroy(d);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, data_folder_make, data_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(classes_and_pictures_are_sorted_and_read_as_rgb),
        IN_A_FOLDER(folders_below_a_class_are_walked_in_the_order_of_torchvision),
        IN_A_FOLDER(files_that_are_left_out_are_counted_by_their_ending),
        IN_A_FOLDER(a_picture_is_decoded_by_what_it_holds_not_by_its_ending),
        IN_A_FOLDER(fewer_samples_are_spread_over_the_classes),
        IN_A_FOLDER(a_folder_of_another_form_is_refused_with_what_to_do),
        IN_A_FOLDER(test_samples_are_the_middle_and_training_samples_vary),
        IN_A_FOLDER(an_unreadable_file_ends_the_run_and_is_named_whatever_the_threads),
        IN_A_FOLDER(what_is_no_file_is_left_out_without_waiting),
        IN_A_FOLDER(skipped_files_are_replaced_alike_on_any_number_of_threads_and_ranks),
        IN_A_FOLDER(a_set_without_one_readable_file_fails_even_where_bad_ones_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
