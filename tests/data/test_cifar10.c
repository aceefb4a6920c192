/* SPDX-License-Identifier: Apache-2.0 */
/* CIFAR-10's binary files: whole ones are read in order, in either folder; each broken one is refused naming file and byte. */
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

static void each_broken_file_is_refused_naming_file_and_byte(void **state)
{
    uint8_t bytes[CIFAR_RECORD * 4];
    refused(*state, "cifar-10-batches-bin/data_batch_1.bin", "No such file");
    put_all(*state);
    expect_all(*state);
    data_cifar_fill(bytes, 2, 4);
    data_put(*state, "data_batch_3.bin", bytes, sizeof bytes - 3);
    refused(*state, "data_batch_3.bin", "byte 12289: the file ends here, 3 bytes early");
    data_put(*state, "data_batch_3.bin", bytes, CIFAR_RECORD + 1);
    refused(*state, "data_batch_3.bin", "byte 3074: the file ends here, 3072 bytes early");
    data_put(*state, "data_batch_3.bin", bytes, 0);
    refused(*state, "data_batch_3.bin", "byte 0: the file ends here");
    bytes[2 * CIFAR_RECORD] = 10;
    data_put(*state, "data_batch_3.bin", bytes, sizeof bytes);
    refused(*state, "data_batch_3.bin", "byte 6146: label 10, but the classes are 0 to 9");
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
        cmocka_unit_test_setup_teardown(each_broken_file_is_refused_naming_file_and_byte, data_folder_make,
                                        data_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
