/* SPDX-License-Identifier: Apache-2.0 */
/* CIFAR-10's binary files: whole ones are read in order, in either folder; each broken one is refused naming file and
 * byte. */
#include "testing.h"

#include <sys/stat.h>

#include "data/dataset.h"
#include "data_files.h"

static tutti_status open_split(const char *folder, tutti_split split, tutti_dataset **d, tutti_failure *err)
{
    const tutti_dataset_config config = {.set = "cifar10", .path = folder};
    return tutti_dataset_open(&config, split, d, err);
}

static void put_all(const char *folder)
{
    for (int i = 0; i < 6; i++) data_cifar_put(folder, i, 2 + i);
}

static void expect_all(const char *folder)
{
    tutti_dataset *train = NULL, *test = NULL;
    tutti_failure err = {0};
    if (open_split(folder, TUTTI_SPLIT_TRAIN, &train, &err)) fail_msg("%s", err.text);
    if (open_split(folder, TUTTI_SPLIT_TEST, &test, &err)) fail_msg("%s", err.text);
    assert_int_equal(tutti_dataset_count(train), 2 + 3 + 4 + 5 + 6);
    assert_int_equal(tutti_dataset_count(test), 7);
    tutti_reader *r = tutti_reader_create(train);
    float sample[3072];
    int32_t label;
    uint8_t record[CIFAR_RECORD * 6];
    int64_t index = 0;
    for (int file = 0; file < 5; file++) {
        data_cifar_fill(record, file, 2 + file);
        for (int i = 0; i < 2 + file; i++, index++) {
            assert_memory_equal(tutti_dataset_bytes(train, index), record + i * CIFAR_RECORD + 1, 3072);
            assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, index, sample, &label, NULL), TUTTI_OK);
            assert_int_equal(label, (i + file) % 10);
            assert_true(sample[1024] == (float)((record[i * CIFAR_RECORD + 1 + 1024] / 255.0 - 0.4822) / 0.2435));
        }
    }
    tutti_reader_destroy(r);
    tutti_dataset_destroy(train);
    tutti_dataset_destroy(test);
}

static void batches_are_read_in_order(void **state)
{
    put_all(*state);
    expect_all(*state);
}

static void the_archives_own_folder_is_known(void **state)
{
    char inner[256];
    snprintf(inner, sizeof inner, "%s/cifar-10-batches-bin", (char *)*state);
    assert_int_equal(mkdir(inner, 0700), 0);
    put_all(inner);
    expect_all(*state);
}

static void refused(const char *folder, const char *name, const char *words)
{
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    assert_int_equal(open_split(folder, TUTTI_SPLIT_TRAIN, &d, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, name) || !strstr(err.text, words)) fail_msg("wanted %s and '%s': %s", name, words, err.text);
}

static void remove_all(const char *folder, int first, int end)
{
    char path[300], name[32];
    for (int i = first; i < end; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, data_cifar_name(i, name));
        remove(path);
    }
}

static tutti_dataset *opened(const char *set, const char *folder, tutti_split split, int first_label)
{
    const tutti_dataset_config config = {.set = set, .path = folder, .first_label = first_label};
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    if (tutti_dataset_open(&config, split, &d, &err)) fail_msg("%s: %s", set, err.text);
    return d;
}

static void any_number_of_files_is_taken_and_said(void **state)
{
    static const struct {
        int first, end, count;
        const char *words;
    } cases[] = {
        {0, 5, 20, ""},
        {0, 1, 2, "2 samples of 2 classes in 1 file, data_batch_1.bin to data_batch_1.bin"},
        {2, 3, 4, "in 1 file, data_batch_3.bin to data_batch_3.bin, some between 1 and the last are not there"},
        {0, 4, 14, "in 4 files, data_batch_1.bin to data_batch_4.bin"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        remove_all(*state, 0, 6);
        for (int i = cases[k].first; i < cases[k].end; i++) data_cifar_put(*state, i, 2 + i);
        tutti_dataset *d = opened("cifar10", *state, TUTTI_SPLIT_TRAIN, 0);
        assert_int_equal(tutti_dataset_count(d), cases[k].count);
        if (cases[k].words[0])
            assert_non_null(strstr(tutti_dataset_notes(d), cases[k].words));
        else
            assert_string_equal(tutti_dataset_notes(d), "");
        tutti_dataset_destroy(d);
    }
    remove_all(*state, 0, 6);
    data_put(*state, "data_batch_12.bin", (uint8_t[CIFAR_RECORD]){7}, CIFAR_RECORD); /* behind 2, not before */
    data_put(*state, "data_batch_2.bin", (uint8_t[CIFAR_RECORD]){3}, CIFAR_RECORD);
    tutti_dataset *d = opened("cifar10", *state, TUTTI_SPLIT_TRAIN, 0);
    tutti_reader *r = tutti_reader_create(d);
    float sample[3072];
    int32_t label;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, i, sample, &label, NULL), TUTTI_OK);
        assert_int_equal(label, i ? 7 : 3);
    }
    tutti_reader_destroy(r);
    tutti_dataset_destroy(d);
}

static void there_are_as_many_classes_as_the_labels_say(void **state)
{
    static const struct {
        uint8_t labels[3];
        int first, nclasses, least;
    } cases[] = {{{0, 4, 2}, 0, 5, 0}, {{1, 3, 2}, 0, 4, 1}, {{1, 3, 2}, 1, 3, 0}, {{0, 200, 9}, 0, 201, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint8_t bytes[3 * CIFAR_RECORD] = {0};
        for (int i = 0; i < 3; i++) bytes[i * CIFAR_RECORD] = cases[k].labels[i];
        data_put(*state, "test_batch.bin", bytes, sizeof bytes);
        tutti_dataset *d = opened("cifar10", *state, TUTTI_SPLIT_TEST, cases[k].first);
        assert_int_equal(tutti_dataset_nclasses(d), cases[k].nclasses);
        assert_int_equal(tutti_dataset_first_label(d), cases[k].least);
        assert_true((cases[k].least == 1) == (strstr(tutti_dataset_notes(d), "label 0 never occurs") != NULL));
        tutti_dataset_destroy(d);
    }
    const tutti_dataset_config high = {.set = "cifar10", .path = *state, .first_label = 1};
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_dataset_open(&high, TUTTI_SPLIT_TEST, &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "label 0, but data.first_label says that they begin at 1"));
}

static void cifar100_has_fine_and_coarse_labels(void **state)
{
    enum { RECORD = CIFAR_RECORD + 1 };
    uint8_t bytes[2 * RECORD] = {19, 99};
    char inner[256];
    float sample[3072];
    int32_t label;
    bytes[2] = 255;
    bytes[RECORD] = 4, bytes[RECORD + 1] = 30;
    snprintf(inner, sizeof inner, "%s/cifar-100-binary", (char *)*state);
    assert_int_equal(mkdir(inner, 0700), 0);
    data_put(inner, "train.bin", bytes, sizeof bytes);
    data_put(inner, "test.bin", bytes, RECORD);
    data_put(inner, "fine_label_names.txt", "apple\naquarium_fish\n", 20);
    for (int fine = 0; fine < 2; fine++) {
        tutti_dataset *d = opened(fine ? "cifar100" : "cifar100-coarse", *state, TUTTI_SPLIT_TRAIN, 0);
        assert_int_equal(tutti_dataset_count(d), 2);
        assert_int_equal(tutti_dataset_nclasses(d), fine ? 100 : 20);
        assert_int_equal(tutti_dataset_bytes(d, 0)[0], 255);
        tutti_reader *r = tutti_reader_create(d);
        assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, 1, sample, &label, NULL), TUTTI_OK);
        assert_int_equal(label, fine ? 30 : 4);
        tutti_reader_destroy(r);
        tutti_dataset_destroy(d);
    }
    refused(*state, "no file data_batch_1.bin", "there is CIFAR-100: set: cifar100");
}

static void what_lies_there_instead_is_said(void **state)
{
    char inner[256];
    data_put(*state, "cifar-10-binary.tar.gz", "x", 1);
    refused(*state, "data_batch_1.bin", "unpack the archive that is there");
    snprintf(inner, sizeof inner, "%s/cifar-10-batches-py", (char *)*state);
    assert_int_equal(mkdir(inner, 0700), 0);
    refused(*state, "data_batch_1.bin", "there is the Python version");
}

static void each_broken_file_is_refused_naming_file_and_byte(void **state)
{
    uint8_t bytes[CIFAR_RECORD * 4];
    refused(*state, "no file data_batch_1.bin", "or in cifar-10-batches-bin/");
    put_all(*state);
    expect_all(*state);
    data_cifar_fill(bytes, 2, 4);
    data_put(*state, "data_batch_3.bin", bytes, sizeof bytes - 3);
    refused(*state, "data_batch_3.bin", "byte 12289: the file ends here, 3 bytes early");
    data_put(*state, "data_batch_3.bin", bytes, CIFAR_RECORD + 1);
    refused(*state, "data_batch_3.bin", "byte 3074: the file ends here, 3072 bytes early");
    data_put(*state, "data_batch_3.bin", bytes, 0);
    refused(*state, "data_batch_3.bin", "byte 0: the file ends here");
    remove_all(*state, 0, 2);
    data_put(*state, "data_batch_3.bin", bytes, 3 * (CIFAR_RECORD + 1));
    refused(*state, "data_batch_3.bin", "those of CIFAR-100 (set: cifar100) would fit");
    put_all(*state);
    data_cifar_put(*state, 2, 4);
    expect_all(*state);
    const tutti_dataset_config greedy = {.set = "cifar10", .path = *state, .train_samples = 21};
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_dataset_open(&greedy, TUTTI_SPLIT_TRAIN, &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "20 samples, but the job asks for 21"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_are_read_in_order, data_folder_make, data_folder_remove),
        cmocka_unit_test_setup_teardown(the_archives_own_folder_is_known, data_folder_make, data_folder_remove),
        cmocka_unit_test_setup_teardown(any_number_of_files_is_taken_and_said, data_folder_make, data_folder_remove),
        cmocka_unit_test_setup_teardown(there_are_as_many_classes_as_the_labels_say, data_folder_make,
                                        data_folder_remove),
        cmocka_unit_test_setup_teardown(cifar100_has_fine_and_coarse_labels, data_folder_make, data_folder_remove),
        cmocka_unit_test_setup_teardown(what_lies_there_instead_is_said, data_folder_make, data_folder_remove),
        cmocka_unit_test_setup_teardown(each_broken_file_is_refused_naming_file_and_byte, data_folder_make,
                                        data_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
