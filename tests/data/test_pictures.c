/* SPDX-License-Identifier: Apache-2.0 */
/* test_pictures.c: a picture of a file is the sample that it would be in the set, to the bit; what is no such picture
 * is refused, and folders are walked in the order of names. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

#include "data/data_files.h"
#include "data/picture/pictures.h"

static void picture_write(const char *folder, const char *name, int width, int height, unsigned format,
                          const uint8_t *bytes)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = (png_uint_32)width, .height = (png_uint_32)height, .format = format};
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(png_image_write_to_file(&image, path, 0, bytes, 0, NULL));
}

static tutti_pictures *open_for(const tutti_dataset_config *c, tutti_shape shape)
{
    tutti_pictures *p = NULL;
    tutti_failure err = {0};
    if (tutti_pictures_create(c, &shape, &p, &err)) fail_msg("%s", err.text);
    return p;
}

static void read_in(tutti_pictures *p, const char *folder, const char *name, float *sample)
{
    char path[512];
    tutti_failure err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (tutti_pictures_read(p, path, sample, &err)) fail_msg("%s", err.text);
}

static void refused(tutti_pictures *p, const char *folder, const char *name, const char *words)
{
    char path[512];
    float sample[3 * 32 * 32];
    tutti_failure err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(tutti_pictures_read(p, path, sample, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, words) || !strstr(err.text, name)) fail_msg("'%s' does not say '%s'", err.text, words);
}

static void a_sample_written_as_a_png_is_that_sample_to_the_bit(void **state)
{
    static const struct {
        const char *set;
        int side, nchannels;
    } cases[] = {{"digits", 28, 1}, {"shapes", 32, 3}};
    for (int k = 0; k < 2; k++) {
        const tutti_dataset_config c = {.set = cases[k].set, .seed = 1, .test_samples = 3};
        const int side = cases[k].side, n = cases[k].nchannels, area = side * side;
        uint8_t rgb[3 * 32 * 32];
        float want[3 * 32 * 32], got[3 * 32 * 32];
        int32_t label;
        tutti_dataset *d;
        assert_int_equal(tutti_dataset_open(&c, TUTTI_SPLIT_TEST, &d, NULL), TUTTI_OK);
        tutti_reader *reader = tutti_reader_create(d);
        tutti_pictures *p = open_for(&c, tutti_dataset_shape(d));
        for (int64_t i = 0; i < 3; i++) {
            const uint8_t *planes = tutti_dataset_bytes(d, i);
            for (int at = 0; at < area; at++)
                for (int ch = 0; ch < n; ch++) rgb[at * n + ch] = planes[ch * area + at];
            picture_write(*state, "one.png", side, side, n == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB, rgb);
            assert_int_equal(tutti_reader_read(reader, (tutti_pass){0}, i, want, &label, NULL), TUTTI_OK);
            read_in(p, *state, "one.png", got);
            assert_memory_equal(got, want, sizeof(float) * (size_t)(n * area));
        }
        tutti_pictures_destroy(p);
        tutti_reader_destroy(reader);
        tutti_dataset_destroy(d);
    }
}

/* Colours become Pillow's "L", (19595 R + 38470 G + 7471 B + 32768) >> 16; grey becomes three alike. */
static void colour_and_grey_become_what_the_set_has(void **state)
{
    double mean = 0, std = 1.0 / 255; /* floats are bytes then */
    const tutti_dataset_config grey = {.set = "digits", .mean = {&mean, 1}, .std = {&std, 1}},
                               colour = {.set = "shapes", .mean = {&mean, 1}, .std = {&std, 1}};
    static const uint8_t rgb[4][4] = {{255, 0, 0, 76}, {0, 255, 0, 150}, {0, 0, 255, 29}, {10, 200, 30, 124}};
    uint8_t bytes[3 * 32 * 32];
    float sample[3 * 32 * 32];
    tutti_pictures *p = open_for(&grey, (tutti_shape){.ndims = 3, .dim = {1, 28, 28}});
    for (int i = 0; i < 28 * 28; i++) memcpy(bytes + 3 * i, rgb[i % 4], 3);
    picture_write(*state, "colour.png", 28, 28, PNG_FORMAT_RGB, bytes);
    read_in(p, *state, "colour.png", sample);
    for (int i = 0; i < 28 * 28; i++) assert_int_equal((int)(sample[i] + 0.5F), rgb[i % 4][3]);
    tutti_pictures_destroy(p);
    p = open_for(&colour, (tutti_shape){.ndims = 3, .dim = {3, 32, 32}});
    for (int i = 0; i < 32 * 32; i++) bytes[i] = (uint8_t)i;
    picture_write(*state, "grey.png", 32, 32, PNG_FORMAT_GRAY, bytes);
    read_in(p, *state, "grey.png", sample);
    for (int i = 0; i < 3 * 32 * 32; i++) assert_int_equal((int)(sample[i] + 0.5F), (uint8_t)i);
    tutti_pictures_destroy(p);
}

static void plain_jpeg(const char *folder, const char *name, int side, uint8_t level)
{
    char path[512];
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    uint8_t line[64];
    JSAMPROW row = line;
    memset(line, level, sizeof line);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = c.image_height = (JDIMENSION)side;
    c.input_components = 1;
    c.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) jpeg_write_scanlines(&c, &row, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    assert_int_equal(fclose(f), 0);
}

static void a_jpeg_of_the_right_size_is_read_whole(void **state)
{
    double mean = 0, std = 1.0 / 255;
    const tutti_dataset_config c = {.set = "digits", .mean = {&mean, 1}, .std = {&std, 1}};
    float sample[28 * 28];
    tutti_pictures *p = open_for(&c, (tutti_shape){.ndims = 3, .dim = {1, 28, 28}});
    plain_jpeg(*state, "plain.jpg", 28, 128); /* one level: a JPEG keeps it */
    read_in(p, *state, "plain.jpg", sample);
    for (int i = 0; i < 28 * 28; i++) assert_int_equal((int)(sample[i] + 0.5F), 128);
    plain_jpeg(*state, "large.jpg", 56, 128); /* half of it would fit */
    refused(p, *state, "large.jpg", "56 x 56 pixels; the set digits has 28 x 28");
    tutti_pictures_destroy(p);
}

static void a_picture_of_a_folder_is_its_test_sample_to_the_bit(void **state)
{
    const tutti_dataset_config c = {.set = "images", .path = *state, .size = 16};
    float want[3 * 16 * 16], got[3 * 16 * 16];
    int32_t label;
    tutti_dataset *d;
    tutti_names files = {0};
    tutti_strbuf words = {0};
    char test[512];
    data_images_put(*state, 3);
    snprintf(test, sizeof test, "%s/test", (char *)*state);
    assert_int_equal(tutti_dataset_open(&c, TUTTI_SPLIT_TEST, &d, NULL), TUTTI_OK);
    assert_int_equal(tutti_pictures_find(test, &files, &words, NULL), TUTTI_OK);
    assert_int_equal(files.n, tutti_dataset_count(d));
    assert_int_equal(words.length, 0);
    tutti_reader *reader = tutti_reader_create(d);
    tutti_pictures *p = open_for(&c, tutti_dataset_shape(d));
    for (int64_t i = 0; i < files.n; i++) {
        assert_int_equal(tutti_reader_read(reader, (tutti_pass){0}, i, want, &label, NULL), TUTTI_OK);
        assert_int_equal(tutti_pictures_read(p, files.name[i], got, NULL), TUTTI_OK);
        assert_memory_equal(got, want, sizeof want);
    }
    tutti_pictures_destroy(p);
    tutti_reader_destroy(reader);
    tutti_dataset_destroy(d);
    tutti_names_release(&files);
}

static void what_is_no_such_picture_is_named(void **state)
{
    const tutti_dataset_config c = {.set = "digits"};
    uint8_t bytes[28 * 29];
    char path[512];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * i * 31 + i);
    tutti_pictures *p = open_for(&c, (tutti_shape){.ndims = 3, .dim = {1, 28, 28}});
    picture_write(*state, "wide.png", 29, 28, PNG_FORMAT_GRAY, bytes);
    picture_write(*state, "cut.png", 28, 28, PNG_FORMAT_GRAY, bytes);
    snprintf(path, sizeof path, "%s/cut.png", (char *)*state);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - 30), 0);
    data_put(*state, "text.png", "no picture", 10);
    data_put(*state, "empty.png", "", 0);
    snprintf(path, sizeof path, "%s/pipe.png", (char *)*state);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(p, *state, "wide.png", "29 x 28 pixels; the set digits has 28 x 28");
    refused(p, *state, "cut.png", "the file ends early");
    refused(p, *state, "text.png", "neither a JPEG nor a PNG");
    refused(p, *state, "empty.png", "neither a JPEG nor a PNG");
    refused(p, *state, "gone.png", "cannot open");
    refused(p, *state, "pipe.png", "named pipe"); /* and nobody waits for its writer */
    tutti_pictures_destroy(p);
}

static void samples_that_are_no_pictures_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *set, *path;
        tutti_shape shape;
        const char *words;
    } cases[] = {
        {"digits", NULL, {.ndims = 1, .dim = {784}}, "(784), which are not pictures"},
        {"idx", ".", {.ndims = 3, .dim = {2, 8, 8}}, "(2, 8, 8), which are not pictures"},
        {"images", ".", {.ndims = 3, .dim = {3, 16, 20}}, "the set images has [3, size, size]"},
        {"images", ".", {.ndims = 3, .dim = {1, 16, 16}}, "the set images has [3, size, size]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tutti_dataset_config c = {.set = cases[i].set, .path = cases[i].path};
        tutti_pictures *p = NULL;
        tutti_failure err = {0};
        assert_int_equal(tutti_pictures_create(&c, &cases[i].shape, &p, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, cases[i].words)) fail_msg("'%s' does not say '%s'", err.text, cases[i].words);
    }
}

static void folders_are_walked_in_the_order_of_names_and_once(void **state)
{
    static const char *const wanted[] = {"a.PNG", "b.jpeg", "z.jpg", "A/1.png", "c/2.png"};
    static const char *const made[] = {"z.jpg", "c/2.png", "b.jpeg", "A/1.png", "a.PNG", "notes.txt", ".hidden.png"};
    char path[512];
    tutti_names files = {0};
    tutti_strbuf words = {0};
    tutti_failure err = {0};
    const char *top = *state;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", top, (const char *const[]){"c", "A", "empty"}[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) data_put(top, made[i], "x", 1);
    snprintf(path, sizeof path, "%s/c/up", top);
    assert_int_equal(symlink("..", path), 0);
    assert_int_equal(tutti_pictures_find(top, &files, &words, &err), TUTTI_OK);
    assert_int_equal(files.n, 5);
    assert_non_null(strstr(words.text, ": 1 file left out (.txt 1)"));
    for (int i = 0; i < 5; i++) assert_string_equal(files.name[i] + strlen(top) + 1, wanted[i]);
    snprintf(path, sizeof path, "%s/empty", top);
    assert_int_equal(tutti_pictures_find(path, &files, &words, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "no .jpg, .jpeg or .png file in it"));
    snprintf(path, sizeof path, "%s/notes.txt", top); /* what is named is taken as it is */
    assert_int_equal(tutti_pictures_find(path, &files, &words, &err), TUTTI_OK);
    assert_string_equal(files.name[5], path);
    tutti_strbuf_release(&words);
    tutti_names_release(&files);
}

static void classes_have_the_names_that_the_set_knows(void **state)
{
    const tutti_dataset_config shapes = {.set = "shapes"}, digits = {.set = "digits"},
                               cifar = {.set = "cifar10", .path = "/nowhere"},
                               images = {.set = "images", .path = *state};
    tutti_names names = {0};
    tutti_failure err = {0};
    assert_int_equal(tutti_class_names(&shapes, &names, &err), TUTTI_OK);
    assert_int_equal(names.n, 10);
    assert_string_equal(names.name[9], "heart");
    tutti_names_release(&names);
    assert_int_equal(tutti_class_names(&cifar, &names, &err), TUTTI_OK); /* no file is opened */
    assert_int_equal(names.n, 10);
    assert_string_equal(names.name[9], "truck");
    tutti_names_release(&names);
    assert_int_equal(tutti_class_names(&digits, &names, &err), TUTTI_OK);
    assert_int_equal(names.n, 0);
    assert_int_equal(tutti_class_names(&images, &names, &err), TUTTI_ERR_DATA);
    assert_int_equal(names.n, 0);
    data_images_put(*state, 1);
    assert_int_equal(tutti_class_names(&images, &names, &err), TUTTI_OK);
    assert_int_equal(names.n, 2);
    assert_string_equal(names.name[1], "b");
    tutti_names_release(&names);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, data_folder_make, data_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(a_sample_written_as_a_png_is_that_sample_to_the_bit),
        IN_A_FOLDER(colour_and_grey_become_what_the_set_has),
        IN_A_FOLDER(a_jpeg_of_the_right_size_is_read_whole),
        IN_A_FOLDER(a_picture_of_a_folder_is_its_test_sample_to_the_bit),
        IN_A_FOLDER(what_is_no_such_picture_is_named),
        cmocka_unit_test(samples_that_are_no_pictures_are_refused),
        IN_A_FOLDER(folders_are_walked_in_the_order_of_names_and_once),
        IN_A_FOLDER(classes_have_the_names_that_the_set_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
