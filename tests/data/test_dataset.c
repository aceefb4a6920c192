/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the table of sets: both splits, repeatable reads, constants, augmentation by (seed, epoch, sample)
 * alone. A row that reads files needs a case in files_make. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "data/dataset_impl.h"
#include "data_files.h"

enum { MAX_FLOATS = 3 * 64 * 64 };

static tutti_dataset_config config_of(const char *set, const char *folder)
{
    static const char *const of_files[] = {"mnist",           "idx", "cifar10", "cifar100",
                                           "cifar100-coarse", "npy", "csv",     "images"};
    bool read = false;
    for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++) read = read || !strcmp(set, of_files[i]);
    tutti_dataset_config c = {.set = set, .seed = 3};
    if (read) c.path = folder;
    if (!read) c.train_samples = 40, c.test_samples = 20;
    if (!strcmp(set, "images")) c.size = 16;
    if (!strcmp(set, "csv")) c.shape = (tutti_shape){.ndims = 3, .dim = {1, 5, 6}};
    if (!strcmp(set, "noise")) c.shape = (tutti_shape){.ndims = 3, .dim = {2, 6, 5}}, c.classes = 7;
    return c;
}

static tutti_dataset *open_set(const tutti_dataset_config *config, tutti_split split)
{
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    if (tutti_dataset_open(config, split, &d, &err)) fail_msg("%s: %s", config->set, err.text);
    return d;
}

static int32_t read_sample(const tutti_dataset *d, tutti_pass pass, int64_t index, float *sample)
{
    tutti_reader *r = tutti_reader_create(d);
    int32_t label = -1;
    assert_int_equal(tutti_reader_read(r, pass, index, sample, &label, NULL), TUTTI_OK);
    tutti_reader_destroy(r);
    return label;
}

/* Pictures hold no bytes; everything else comes back as it was, and a block that is cut or that is none is refused. */
static void a_set_comes_back_from_its_block(void **state)
{
    float first[MAX_FLOATS], again[MAX_FLOATS];
    for (int i = 0; tutti_dataset_name_at(i); i++) {
        const tutti_dataset_config config = config_of(tutti_dataset_name_at(i), *state);
        tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TRAIN), *e = NULL;
        const size_t nbytes = tutti_dataset_block_bytes(d);
        assert_int_equal(nbytes == 0, !strcmp(config.set, "images"));
        char *block = test_malloc(nbytes + 1);
        if (nbytes) tutti_dataset_block_write(d, block);
        if (nbytes) assert_int_equal(tutti_dataset_open_block(&config, TUTTI_SPLIT_TRAIN, block, nbytes, &e, NULL), 0);
        const tutti_shape shape = tutti_dataset_shape(d);
        for (int64_t k = 0; e && k < tutti_dataset_count(d); k++) {
            assert_int_equal(read_sample(d, (tutti_pass){1, 0}, k, first),
                             read_sample(e, (tutti_pass){1, 0}, k, again));
            assert_memory_equal(first, again, sizeof(float) * (size_t)tutti_shape_count(&shape));
        }
        tutti_dataset_destroy(e), e = NULL;
        if (nbytes) {
            assert_int_equal(tutti_dataset_open_block(&config, TUTTI_SPLIT_TRAIN, block, nbytes - 1, &e, NULL),
                             TUTTI_ERR_DATA);
            block[0] = 'x';
            assert_int_equal(tutti_dataset_open_block(&config, TUTTI_SPLIT_TRAIN, block, nbytes, &e, NULL),
                             TUTTI_ERR_DATA);
            assert_int_equal(tutti_dataset_open_block(&config, TUTTI_SPLIT_TRAIN, block, 3, &e, NULL), TUTTI_ERR_DATA);
        }
        test_free(block);
        tutti_dataset_destroy(d);
    }
}

static void every_set_opens_with_labels_in_range_and_repeats_itself(void **state)
{
    float first[MAX_FLOATS], again[MAX_FLOATS];
    for (int i = 0; tutti_dataset_name_at(i); i++) {
        const tutti_dataset_config config = config_of(tutti_dataset_name_at(i), *state);
        for (int split = 0; split < 2; split++) {
            tutti_dataset *d = open_set(&config, (tutti_split)split), *e = open_set(&config, (tutti_split)split);
            const tutti_shape shape = tutti_dataset_shape(d);
            const size_t nbytes = sizeof(float) * (size_t)tutti_shape_count(&shape);
            assert_in_range(nbytes, 1, sizeof first);
            assert_true(tutti_dataset_count(d) >= 10);
            for (int64_t k = 0; k < tutti_dataset_count(d); k++) {
                const int32_t label = read_sample(d, (tutti_pass){1, 0}, k, first);
                assert_in_range(label, 0, tutti_dataset_nclasses(d) - 1);
                assert_int_equal(read_sample(e, (tutti_pass){1, 0}, k, again), label);
                assert_memory_equal(first, again, nbytes);
            }
            tutti_dataset_destroy(d);
            tutti_dataset_destroy(e);
        }
    }
}

static void every_byte_is_normalised_by_its_channels_constants(void **state)
{
    static double mean[3] = {0.25, 0.5, 0.75}, std[3] = {0.5, 0.25, 0.125};
    for (int i = 0; tutti_dataset_name_at(i); i++) {
        tutti_dataset_config config = config_of(tutti_dataset_name_at(i), *state);
        tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TEST);
        const tutti_shape shape = tutti_dataset_shape(d);
        const int nchannels = shape.ndims == 3 ? (int)shape.dim[0] : 1;
        tutti_dataset_destroy(d);
        config.mean = (tutti_reals){mean, nchannels};
        config.std = (tutti_reals){std, nchannels};
        d = open_set(&config, TUTTI_SPLIT_TEST);
        float sample[MAX_FLOATS];
        read_sample(d, (tutti_pass){0}, 7, sample);
        const uint8_t *bytes = tutti_dataset_bytes(d, 7);
        const int64_t plane = tutti_shape_count(&shape) / nchannels;
        for (int64_t k = 0; bytes && k < plane * nchannels; k++)
            assert_true(sample[k] == (float)((bytes[k] / 255.0 - mean[k / plane]) / std[k / plane]));
        tutti_dataset_destroy(d);
    }
}

/* Where (y, x) of the output comes from when `sample` is `plain` moved by (dy, dx) and perhaps mirrored. */
static bool is_view(const float *sample, const float *plain, const tutti_dataset *d, int dy, int dx, bool mirrored)
{
    const int height = (int)d->shape.dim[1], width = (int)d->shape.dim[2];
    for (int c = 0; c < d->nchannels; c++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                const int from_y = y + dy, from_x = (mirrored ? width - 1 - x : x) + dx;
                const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
                const float want = inside ? plain[(c * height + from_y) * width + from_x] : d->normal[c][0];
                if (sample[(c * height + y) * width + x] != want) return false;
            }
    return true;
}

static void crop_and_flip_move_by_up_to_four_and_mirror_half(void **state)
{
    tutti_dataset_config config = config_of("cifar10", *state);
    float plain[MAX_FLOATS], sample[MAX_FLOATS];
    int views[9][9] = {{0}}, mirrored = 0, nviews = 0;
    config.augment = TUTTI_AUGMENT_NONE;
    tutti_dataset *still = open_set(&config, TUTTI_SPLIT_TRAIN);
    config.augment = TUTTI_AUGMENT_CROP_FLIP;
    tutti_dataset *moved = open_set(&config, TUTTI_SPLIT_TRAIN);
    for (int64_t epoch = 0; epoch < 1000; epoch++) {
        const int64_t index = epoch % tutti_dataset_count(still);
        read_sample(still, (tutti_pass){5, epoch}, index, plain);
        read_sample(moved, (tutti_pass){5, epoch}, index, sample);
        int found = 0;
        for (int v = 0; v < 162 && !found; v++)
            if (is_view(sample, plain, moved, v % 9 - 4, v / 9 % 9 - 4, v >= 81)) {
                found = 1;
                mirrored += v >= 81;
                nviews += !views[v % 9][v / 9 % 9]++;
            }
        assert_true(found);
    }
    assert_int_equal(nviews, 81);
    assert_in_range(mirrored, 400, 600);
    tutti_dataset_destroy(still);
    tutti_dataset_destroy(moved);
}

static void augmentation_depends_on_seed_epoch_and_sample_alone_and_spares_the_test_set(void **state)
{
    float a[MAX_FLOATS], b[MAX_FLOATS];
    for (int i = 0; tutti_dataset_name_at(i); i++) {
        tutti_dataset_config config = config_of(tutti_dataset_name_at(i), *state);
        config.augment = TUTTI_AUGMENT_CROP_FLIP;
        tutti_dataset *train = open_set(&config, TUTTI_SPLIT_TRAIN), *test = open_set(&config, TUTTI_SPLIT_TEST);
        const tutti_shape shape = tutti_dataset_shape(train);
        const size_t nbytes = sizeof(float) * (size_t)tutti_shape_count(&shape);
        int differ[2] = {0};
        for (int k = 0; k < 20; k++) {
            read_sample(train, (tutti_pass){1, k}, 3, a);
            read_sample(train, (tutti_pass){1, k}, 3, b);
            assert_memory_equal(a, b, nbytes);
            read_sample(train, (tutti_pass){1, k + 1}, 3, b);
            differ[0] += memcmp(a, b, nbytes) != 0;
            read_sample(train, (tutti_pass){2, k}, 3, b);
            differ[1] += memcmp(a, b, nbytes) != 0;
            read_sample(test, (tutti_pass){1, k}, 3, a);
            read_sample(test, (tutti_pass){2, k + 1}, 3, b);
            assert_memory_equal(a, b, nbytes);
        }
        assert_true(differ[0] > 10 && differ[1] > 10);
        tutti_dataset_destroy(train);
        tutti_dataset_destroy(test);
    }
}

static void noise_costs_no_more_memory_than_its_few_distinct_samples(void **state)
{
    (void)state;
    const tutti_dataset_config config = {
        .set = "noise", .train_samples = 1000000000, .shape = {.ndims = 3, .dim = {3, 40, 40}}, .classes = 1000};
    tutti_dataset *d = open_set(&config, TUTTI_SPLIT_TRAIN);
    assert_int_equal(tutti_dataset_count(d), 1000000000);
    assert_int_equal(tutti_dataset_nclasses(d), 1000);
    int32_t largest = 0;
    float sample[MAX_FLOATS];
    for (int64_t i = 0; i < 64; i++) {
        const int32_t label = read_sample(d, (tutti_pass){0}, i, sample);
        assert_int_equal(read_sample(d, (tutti_pass){0}, i + 64 * 12345, sample), label);
        assert_ptr_equal(tutti_dataset_bytes(d, i), tutti_dataset_bytes(d, i + 64 * 12345));
        largest = label > largest ? label : largest;
    }
    assert_true(largest > 255); /* classes are no bytes */
    tutti_dataset_destroy(d);
}

static void what_would_have_no_effect_or_is_missing_is_refused(void **state)
{
    static double zero = 0, four[4] = {1, 1, 1, 1};
    const struct {
        tutti_dataset_config config;
        const char *words;
    } wrong[] = {
        {{.set = "digits", .path = "/tmp"}, "data.path: digits reads no files"},
        {{.set = "cifar10"}, "data.path: cifar10 needs the folder of its files (data_batch_1.bin"},
        {{.set = "cifar11"},
         "there are digits, mnist, idx, cifar10, cifar100, cifar100-coarse, npy, csv, shapes, images, noise"},
        {{.set = "digits", .classes = 3}, "data.classes: digits has classes of its own"},
        {{.set = "shapes", .shape = {.ndims = 1, .dim = {3}}}, "data.shape: shapes has a shape of its own"},
        {{.set = "shapes", .size = 64}, "data.size: shapes has a size of its own"},
        {{.set = "digits", .skip_bad = true}, "data.on_bad_sample: digits is accepted whole or not at all"},
        {{.set = "noise", .classes = 3}, "data.shape: noise needs that of a sample"},
        {{.set = "noise", .shape = {.ndims = 1, .dim = {3}}}, "data.classes: noise needs their number"},
        {{.set = "digits", .std = {&zero, 1}}, "data.std: 0: samples are divided by it"},
        {{.set = "digits", .mean = {four, 4}}, "data.mean: 4 numbers, but samples have 1 channels"},
        {{.set = "noise", .classes = 2, .shape = {.ndims = 2, .dim = {5, 5}}, .augment = TUTTI_AUGMENT_FLIP},
         "data.augment: "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tutti_dataset *d = NULL;
        tutti_failure err = {0};
        assert_int_equal(tutti_dataset_open(&wrong[i].config, TUTTI_SPLIT_TRAIN, &d, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, wrong[i].words)) fail_msg("wanted '%s', got '%s'", wrong[i].words, err.text);
    }
}

static int files_make(void **state)
{
    if (data_folder_make(state)) return -1;
    data_idx_put(*state, "train", 12);
    data_idx_put(*state, "t10k", 10);
    for (int i = 0; i < 6; i++) data_cifar_put(*state, i, 10 + i);
    data_images_put(*state, 5);
    data_tables_put(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_opens_with_labels_in_range_and_repeats_itself),
        cmocka_unit_test(a_set_comes_back_from_its_block),
        cmocka_unit_test(every_byte_is_normalised_by_its_channels_constants),
        cmocka_unit_test(crop_and_flip_move_by_up_to_four_and_mirror_half),
        cmocka_unit_test(augmentation_depends_on_seed_epoch_and_sample_alone_and_spares_the_test_set),
        cmocka_unit_test(noise_costs_no_more_memory_than_its_few_distinct_samples),
        cmocka_unit_test(what_would_have_no_effect_or_is_missing_is_refused),
    };
    return cmocka_run_group_tests(tests, files_make, data_folder_remove);
}
