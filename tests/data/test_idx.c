/* SPDX-License-Identifier: Apache-2.0 */
/* IDX files: whole ones are read, plain and gzip, under each name; each broken one is refused naming file and byte. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "data/dataset.h"
#include "data/dataset_impl.h"

/* A folder of files, made for one test and removed after it. */
static int folder_make(void **state)
{
    char *folder = strdup("/tmp/tutti-idx-XXXXXX");
    *state = folder;
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", (char *)*state);
    int rc = system(command);
    free(*state);
    return rc;
}

static const char *path_in(const char *folder, const char *name, char out[256])
{
    snprintf(out, 256, "%.125s/%.125s", folder, name);
    return out;
}

static void put(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[256];
    path_in(folder, name, path);
    if (strstr(name, ".gz")) {
        gzFile f = gzopen(path, "wb");
        assert_int_equal(gzwrite(f, bytes, (unsigned)n), n);
        assert_int_equal(gzclose(f), Z_OK);
        return;
    }
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static size_t images(uint8_t *out, int n, int rows, int columns)
{
    const uint8_t head[16] = {0, 0, 8, 3, 0, 0, 0, (uint8_t)n, 0, 0, 0, (uint8_t)rows, 0, 0, 0, (uint8_t)columns};
    memcpy(out, head, sizeof head);
    for (int i = 0; i < n * rows * columns; i++) out[16 + i] = (uint8_t)(i * 7);
    return (size_t)(16 + n * rows * columns);
}

static size_t labels(uint8_t *out, int n)
{
    const uint8_t head[8] = {0, 0, 8, 1, 0, 0, 0, (uint8_t)n};
    memcpy(out, head, sizeof head);
    for (int i = 0; i < n; i++) out[8 + i] = (uint8_t)(i % 10);
    return (size_t)(8 + n);
}

static tutti_status open_train(const char *set, const char *folder, tutti_dataset **d, tutti_failure *err)
{
    const tutti_dataset_config config = {.set = set, .path = folder};
    return tutti_dataset_open(&config, TUTTI_SPLIT_TRAIN, d, err);
}

enum { COUNT = 12, ROOM = 16 + COUNT * 28 * 28 + 100 };

static void put_pair(const char *folder, const char *image_name, const char *label_name)
{
    uint8_t *bytes = calloc(1, ROOM);
    put(folder, image_name, bytes, images(bytes, COUNT, 28, 28));
    put(folder, label_name, bytes, labels(bytes, COUNT));
    free(bytes);
}

static void expect_pair(const char *folder)
{
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    assert_int_equal(open_train("mnist", folder, &d, &err), TUTTI_OK);
    assert_int_equal(tutti_dataset_count(d), COUNT);
    assert_int_equal(tutti_dataset_nclasses(d), 10);
    float sample[28 * 28];
    int32_t label;
    tutti_reader *r = tutti_reader_create(d);
    assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, 11, sample, &label, NULL), TUTTI_OK);
    tutti_reader_destroy(r);
    assert_int_equal(label, 1);
    uint8_t byte = (uint8_t)(11 * 28 * 28 * 7 + 5 * 7);
    assert_int_equal(tutti_dataset_bytes(d, 11)[5], byte);
    assert_true(sample[5] == (float)((byte / 255.0 - 0.1307) / 0.3081));
    tutti_dataset_destroy(d);
}

static void plain_files_are_read(void **state)
{
    put_pair(*state, "train-images-idx3-ubyte", "train-labels-idx1-ubyte");
    expect_pair(*state);
}

static void gzip_files_are_read(void **state)
{
    put_pair(*state, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz");
    expect_pair(*state);
}

static void names_with_a_dot_or_a_prefix_are_known(void **state)
{
    put_pair(*state, "mnist-train-images-idx3-ubyte.gz", "train-labels.idx1-ubyte");
    expect_pair(*state);
}

static void idx_takes_any_shape_and_counts_its_classes(void **state)
{
    uint8_t bytes[16 + 4 * 6];
    put(*state, "train-images-idx3-ubyte", bytes, images(bytes, 4, 2, 3));
    put(*state, "train-labels-idx1-ubyte", bytes, labels(bytes, 4));
    tutti_dataset *d = NULL;
    assert_int_equal(open_train("idx", *state, &d, NULL), TUTTI_OK);
    tutti_shape shape = tutti_dataset_shape(d);
    assert_true(shape.ndims == 3 && shape.dim[0] == 1 && shape.dim[1] == 2 && shape.dim[2] == 3);
    assert_int_equal(tutti_dataset_nclasses(d), 4);
    tutti_dataset_destroy(d);
    /* the same files are no MNIST */
    tutti_failure err = {0};
    assert_int_equal(open_train("mnist", *state, &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "2 x 3"));
}

/* One way to break a pair: bytes of the images or the labels changed, cut or added. */
typedef struct {
    const char *what;
    bool in_labels;
    int at; /* byte to change, or -1 */
    uint8_t value;
    int cut, added; /* bytes off the end, bytes more */
    const char *text, *offset;
} breakage;

static void each_broken_file_is_refused_naming_file_and_byte(void **state)
{
    static const breakage ways[] = {
        {"cut in the data", false, -1, 0, 100, 0, "early", "byte 9324"},
        {"cut in the header", false, -1, 0, COUNT * 784 + 6, 0, "early", "byte 10"},
        {"empty", true, -1, 0, 8 + COUNT, 0, "early", "byte 0"},
        {"wrong type", false, 2, 13, 0, 0, "magic", "byte 0"},
        {"labels where images should be", false, 3, 1, 0, 0, "magic", "byte 0"},
        {"not IDX", true, 0, 'P', 0, 0, "magic", "byte 0"},
        {"zero images", false, 7, 0, 0, 0, "is 0", "byte 4"},
        {"zero rows", false, 11, 0, 0, 0, "is 0", "byte 8"},
        {"absurd count", false, 4, 255, 0, 0, NULL, NULL},
        {"absurd width", false, 12, 127, 0, 0, NULL, NULL},
        {"bytes after the end", false, -1, 0, 0, 3, "more bytes", "byte 9424"},
        {"a byte after the labels", true, -1, 0, 0, 1, "more bytes", "byte 20"},
        {"a label of 10", true, 12, 10, 0, 0, "label 10", "byte 12"},
        {"fewer labels", true, 7, COUNT - 1, 1, 0, "11 labels", "byte 4"},
        {"other images", false, 11, 14, 28 * 14 * COUNT, 0, "14 x 28", "byte 8"},
    };
    static const char *const names[2] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};
    uint8_t *bytes = calloc(1, ROOM);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        for (int zipped = 0; zipped < 2; zipped++) {
            const breakage *b = &ways[w];
            put_pair(*state, names[0], names[1]);
            size_t n = b->in_labels ? labels(bytes, COUNT) : images(bytes, COUNT, 28, 28);
            if (b->at >= 0) bytes[b->at] = b->value;
            char name[64], path[256];
            remove(path_in(*state, names[b->in_labels], path));
            snprintf(name, sizeof name, "%s%s", names[b->in_labels], zipped ? ".gz" : "");
            put(*state, name, bytes, n - (size_t)b->cut + (size_t)b->added);
            tutti_dataset *d = NULL;
            tutti_failure err = {0};
            tutti_status status = open_train("mnist", *state, &d, &err);
            /* NULL: absurd sizes, refused before reading: in a plain file by its length, else by what deflate can do */
            const char *text = b->text ? b->text : zipped ? "cannot hold" : "early";
            const char *offset = b->text ? b->offset : zipped ? "byte 4:" : "byte 9424:";
            if (status != TUTTI_ERR_DATA || !strstr(err.text, name) || !strstr(err.text, text) ||
                !strstr(err.text, offset))
                fail_msg("%s%s: status %d, '%s'", b->what, zipped ? " (gzip)" : "", (int)status, err.text);
            remove(path_in(*state, name, path));
        }
    }
    free(bytes);
}

static void a_damaged_gzip_file_is_refused(void **state)
{
    put_pair(*state, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte");
    char path[256];
    path_in(*state, "train-images-idx3-ubyte.gz", path);
    FILE *f = fopen(path, "rb");
    uint8_t bytes[8192];
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    for (size_t cut = 1; cut < n - 10; cut += 1 + n / 40) { /* cut anywhere, the trailer included */
        put(*state, "cut", bytes, n - cut);
        char from[256];
        assert_int_equal(rename(path_in(*state, "cut", from), path), 0);
        tutti_dataset *d = NULL;
        tutti_failure err = {0};
        assert_int_equal(open_train("mnist", *state, &d, &err), TUTTI_ERR_DATA);
        assert_non_null(strstr(err.text, "train-images-idx3-ubyte.gz: byte "));
    }
    bytes[n - 6] ^= 1; /* the checksum */
    f = fopen(path, "wb");
    fwrite(bytes, 1, n, f);
    fclose(f);
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    assert_int_equal(open_train("mnist", *state, &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "incorrect data check"));
}

/* Appends to the compressed images. */
static void append(const char *folder, const void *bytes, size_t n)
{
    char path[256];
    FILE *f = fopen(path_in(folder, "train-images-idx3-ubyte.gz", path), "ab");
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void bytes_behind_the_compressed_data_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *words;
    } tails[] = {
        {"x", 1, "something that is not gzip follows"},
        {"\x1f", 1, "something that is not gzip follows"},
        {"\0\0\0\0", 4, "something that is not gzip follows"},
        {"\x1f\x8b", 2, "the compressed file ends early"},
        {"\x1f\x8b\x08garbage that is long enough", 29, "byte 9424: "},
    };
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        tutti_dataset *d = NULL;
        tutti_failure err = {0};
        put_pair(*state, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte");
        append(*state, tails[i].bytes, tails[i].n);
        assert_int_equal(open_train("mnist", *state, &d, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, "ubyte.gz: byte 9424: ") || !strstr(err.text, tails[i].words))
            fail_msg("tail %zu: '%s'", i, err.text);
    }
}

/* As `cat a.gz b.gz` makes them: gzip says that their contents follow each other. */
static void several_gzip_members_are_one_file(void **state)
{
    uint8_t *bytes = calloc(1, ROOM);
    const size_t n = images(bytes, COUNT, 28, 28);
    char path[256];
    put_pair(*state, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte");
    remove(path_in(*state, "train-images-idx3-ubyte.gz", path));
    for (size_t at = 0; at < n; at += 1000) {
        gzFile f = gzopen(path, "ab");
        const unsigned part = n - at < 1000 ? (unsigned)(n - at) : 1000;
        assert_int_equal(gzwrite(f, bytes + at, part), part);
        assert_int_equal(gzclose(f), Z_OK);
    }
    expect_pair(*state);
    free(bytes);
}

static void what_is_no_regular_file_is_refused_without_waiting(void **state)
{
    char path[256];
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    put_pair(*state, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte");
    path_in(*state, "train-images-idx3-ubyte", path);
    for (int folder = 0; folder < 2; folder++) {
        assert_int_equal(folder ? mkdir(path, 0700) : mkfifo(path, 0600), 0);
        assert_int_equal(open_train("mnist", *state, &d, &err), TUTTI_ERR_DATA);
        assert_non_null(strstr(err.text, folder ? "ubyte: is a folder" : "ubyte: is a named pipe"));
        assert_int_equal(remove(path), 0);
    }
}

static void a_missing_folder_or_set_says_what_to_do(void **state)
{
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    assert_int_equal(open_train("mnist", *state, &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "train-images-idx3-ubyte"));
    assert_int_equal(open_train("mnist", NULL, &d, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "data.path"));
    assert_int_equal(open_train("mnits", NULL, &d, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "mnits"));
    put_pair(*state, "train-images-idx3-ubyte", "train-labels-idx1-ubyte");
    const tutti_dataset_config greedy = {.set = "mnist", .path = *state, .train_samples = COUNT + 1};
    assert_int_equal(tutti_dataset_open(&greedy, TUTTI_SPLIT_TRAIN, &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "asks for 13"));
}

/* n samples of 2 x 2 whose labels are first, first + 1, ... k of them in turn. */
static void put_set(const char *folder, const char *prefix, const char *split, int first, int k)
{
    uint8_t bytes[16 + 8 * 4];
    char name[128];
    snprintf(name, sizeof name, "%s%s-images-idx3-ubyte.gz", prefix, split);
    put(folder, name, bytes, images(bytes, 8, 2, 2));
    snprintf(name, sizeof name, "%s%s-labels-idx1-ubyte", prefix, split);
    labels(bytes, 8);
    for (int i = 0; i < 8; i++) bytes[8 + i] = (uint8_t)(first + i % k);
    put(folder, name, bytes, 16);
}

static void make_folder(const char *top, const char *name)
{
    char path[256];
    assert_int_equal(mkdir(path_in(top, name, path), 0700), 0);
}

static int count_classes(const char *path, tutti_split split, int first_label)
{
    const tutti_dataset_config config = {.set = "idx", .path = path, .first_label = first_label};
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    if (tutti_dataset_open(&config, split, &d, &err)) fail_msg("%s", err.text);
    const int n = tutti_dataset_nclasses(d);
    tutti_dataset_destroy(d);
    return n;
}

static void files_are_found_where_other_tools_leave_them(void **state)
{
    static const struct {
        const char *folder, *inner, *prefix, *test;
    } cases[] = {{"a", "a/raw", "", "t10k"},
                 {"b", "b/FashionMNIST", "", "t10k"}, /* and raw below it */
                 {"c", "c/gzip", "emnist-letters-", "test"},
                 {"d", "d/sub", "kmnist-", "t10k"}};
    char path[256], inner[200];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        make_folder(*state, cases[k].folder);
        make_folder(*state, cases[k].inner);
        if (k == 1 || k == 3) make_folder(path_in(*state, cases[k].inner, path), "raw");
        snprintf(inner, sizeof inner, "%s/%s%s", (char *)*state, cases[k].inner, k == 1 || k == 3 ? "/raw" : "");
        put_set(inner, cases[k].prefix, "train", 0, 3 + (int)k);
        put_set(inner, cases[k].prefix, cases[k].test, 0, 2);
        assert_int_equal(count_classes(path_in(*state, cases[k].folder, path), TUTTI_SPLIT_TRAIN, 0), 3 + k);
        assert_int_equal(count_classes(path, TUTTI_SPLIT_TEST, 0), 2);
    }
}

static void of_several_sets_the_path_says_which(void **state)
{
    char path[256];
    tutti_dataset *d = NULL;
    tutti_failure err = {0};
    put_set(*state, "emnist-letters-", "train", 1, 5);
    put_set(*state, "emnist-digits-", "train", 0, 4);
    assert_int_equal(open_train("idx", *state, &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "files of several sets, 'emnist-"));
    assert_int_equal(count_classes(path_in(*state, "emnist-letters", path), TUTTI_SPLIT_TRAIN, 1), 5);
    assert_int_equal(count_classes(path_in(*state, "emnist-digits", path), TUTTI_SPLIT_TRAIN, 0), 4);
    make_folder(*state, "root");
    make_folder(*state, "root/A"), make_folder(*state, "root/A/raw");
    make_folder(*state, "root/B"), make_folder(*state, "root/B/raw");
    put_set(path_in(*state, "root/A/raw", path), "", "train", 0, 2);
    put_set(path_in(*state, "root/B/raw", path), "", "train", 0, 2);
    assert_int_equal(open_train("idx", path_in(*state, "root", path), &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "say which, by the folder that it is in"));
}

static void a_file_in_a_folder_of_its_name_is_found(void **state)
{
    char path[256];
    make_folder(*state, "train-images-idx3-ubyte");
    make_folder(*state, "train-labels-idx1-ubyte");
    uint8_t bytes[64];
    put(path_in(*state, "train-images-idx3-ubyte", path), "train-images-idx3-ubyte", bytes, images(bytes, 4, 2, 2));
    put(path_in(*state, "train-labels-idx1-ubyte", path), "train-labels-idx1-ubyte", bytes, labels(bytes, 4));
    assert_int_equal(count_classes(*state, TUTTI_SPLIT_TRAIN, 0), 4);
}

static void labels_may_count_from_one_and_names_with_them(void **state)
{
    char path[256];
    tutti_names names = {0};
    tutti_failure err = {0};
    put_set(*state, "x-", "train", 1, 3);
    put(*state, "x-mapping.txt", "1 65 97\n2 66 98\n3 67 99\n", 24);
    tutti_dataset_config config = {.set = "idx", .path = path_in(*state, "x", path)};
    tutti_dataset *d = NULL;
    for (config.first_label = 0; config.first_label < 2; config.first_label++) {
        assert_int_equal(tutti_dataset_open(&config, TUTTI_SPLIT_TRAIN, &d, &err), TUTTI_OK);
        assert_int_equal(tutti_dataset_nclasses(d), 4 - config.first_label);
        assert_int_equal(tutti_dataset_first_label(d), 1 - config.first_label);
        assert_true(!config.first_label == (strstr(tutti_dataset_notes(d), "label 0 never occurs") != NULL));
        assert_non_null(strstr(tutti_dataset_largest_label(d), "x-train-labels-idx1-ubyte: byte 10: label 3"));
        tutti_dataset_destroy(d);
    }
    config.first_label = 1;
    assert_int_equal(tutti_class_names(&config, &names, &err), TUTTI_OK);
    assert_int_equal(names.n, 3);
    assert_string_equal(names.name[2], "C");
    tutti_names_release(&names);
    config.first_label = 0;
    assert_int_equal(tutti_class_names(&config, &names, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "x-mapping.txt: line 1: wanted label 0"));
    config.first_label = 2;
    assert_int_equal(tutti_dataset_open(&config, TUTTI_SPLIT_TRAIN, &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "byte 8: label 1, but data.first_label says that they begin at 2"));
}

/* The real MNIST: $TUTTI_DATA, or shared/data beside the source tree. */
static void mnist_itself_has_its_known_counts_and_first_labels(void **state)
{
    (void)state;
    const char *folder = getenv("TUTTI_DATA");
    if (!folder) folder = TUTTI_SOURCE_DIR "/../shared/data";
    if (access(folder, R_OK)) {
        print_message("skipped: no MNIST (TUTTI_DATA=FOLDER that has it)\n");
        skip();
    }
    const tutti_dataset_config config = {.set = "mnist", .path = folder};
    tutti_dataset *train = NULL, *test = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_dataset_open(&config, TUTTI_SPLIT_TRAIN, &train, &err), TUTTI_OK);
    assert_int_equal(tutti_dataset_open(&config, TUTTI_SPLIT_TEST, &test, &err), TUTTI_OK);
    assert_int_equal(tutti_dataset_count(train), 60000);
    assert_int_equal(tutti_dataset_count(test), 10000);
    static const int32_t first[] = {5, 0, 4, 1, 9, 2, 1, 3};
    tutti_reader *r = tutti_reader_create(train);
    float sample[28 * 28];
    int32_t label;
    for (int i = 0; i < 8; i++) {
        assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, i, sample, &label, NULL), TUTTI_OK);
        assert_int_equal(label, first[i]);
    }
    tutti_reader_destroy(r);
    tutti_dataset_destroy(train);
    tutti_dataset_destroy(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plain_files_are_read, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(gzip_files_are_read, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(names_with_a_dot_or_a_prefix_are_known, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(idx_takes_any_shape_and_counts_its_classes, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(each_broken_file_is_refused_naming_file_and_byte, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(a_damaged_gzip_file_is_refused, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(bytes_behind_the_compressed_data_are_refused, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(several_gzip_members_are_one_file, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_refused_without_waiting, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(a_missing_folder_or_set_says_what_to_do, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(files_are_found_where_other_tools_leave_them, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(of_several_sets_the_path_says_which, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(a_file_in_a_folder_of_its_name_is_found, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(labels_may_count_from_one_and_names_with_them, folder_make, folder_remove),
        cmocka_unit_test(mnist_itself_has_its_known_counts_and_first_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
