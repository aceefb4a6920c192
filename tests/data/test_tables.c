/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of numbers: arrays of NumPy and tables in text: what is taken comes out as it is, what is not is refused with
 * the place and with what to do. */
#include "testing.h"

#include <locale.h>

#include <zlib.h>

#include "data/dataset.h"
#include "data_files.h"

static tutti_status open_split(const tutti_dataset_config *config, tutti_split split, tutti_dataset **d,
                               tutti_failure *err)
{
    *err = (tutti_failure){0};
    return tutti_dataset_open(config, split, d, err);
}

static void expect(const tutti_dataset_config *config, const float *samples, const int32_t *labels, int n, int width)
{
    tutti_dataset *d = NULL;
    tutti_failure err;
    float sample[256];
    int32_t label;
    if (open_split(config, TUTTI_SPLIT_TRAIN, &d, &err)) fail_msg("%s", err.text);
    const tutti_shape shape = tutti_dataset_shape(d);
    assert_int_equal(tutti_dataset_count(d), n);
    assert_int_equal(tutti_shape_count(&shape), width);
    tutti_reader *r = tutti_reader_create(d);
    for (int i = 0; i < n; i++) {
        assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, i, sample, &label, &err), TUTTI_OK);
        assert_int_equal(label, labels[i]);
        for (int k = 0; k < width; k++)
            if (sample[k] != samples[i * width + k])
                fail_msg("sample %d number %d: %g, wanted %g", i, k, (double)sample[k], (double)samples[i * width + k]);
    }
    tutti_reader_destroy(r);
    tutti_dataset_destroy(d);
}

static void refused(const tutti_dataset_config *config, const char *words, const char *more)
{
    tutti_dataset *d = NULL;
    tutti_failure err;
    assert_true(open_split(config, TUTTI_SPLIT_TRAIN, &d, &err) != TUTTI_OK);
    if (!strstr(err.text, words) || !strstr(err.text, more))
        fail_msg("wanted '%s' and '%s': %s", words, more, err.text);
}

/* ---- npy ---- */

static const float numbers[12] = {0, 0.5F, -1, 3, 100, 0.25F, 7, 8, 9, -10, 11, 12};
static const int32_t answers[3] = {2, 0, 1};

static void put_labels(const char *folder)
{
    data_npy_put(folder, "train_y.npy", "<i8", "(3,)", (int64_t[]){2, 0, 1}, 24);
}

static void arrays_of_every_type_come_out_as_they_are(void **state)
{
    static const struct {
        const char *shape;
        int ndims;
        int64_t dim[3];
    } shapes[] = {{"(3, 4)", 1, {4}}, {"(3, 2, 2)", 3, {1, 2, 2}}, {"(3, 1, 1, 4)", 3, {1, 1, 4}}};
    static const uint16_t halves[12] = {0,      0x3800, 0xbc00, 0x4200, 0x5640, 0x3400,
                                        0x4700, 0x4800, 0x4880, 0xc900, 0x4980, 0x4a00};
    const tutti_dataset_config c = {.set = "npy", .path = *state};
    double wide[12];
    put_labels(*state);
    for (int i = 0; i < 12; i++) wide[i] = (double)numbers[i];
    for (int k = 0; k < 3; k++) {
        tutti_dataset *d = NULL;
        tutti_failure err;
        data_npy_put(*state, "train_x.npy", "<f4", shapes[k].shape, numbers, sizeof numbers);
        expect(&c, numbers, answers, 3, 4);
        data_npy_put(*state, "train_x.npy", "<f8", shapes[k].shape, wide, sizeof wide);
        expect(&c, numbers, answers, 3, 4);
        data_npy_put(*state, "train_x.npy", "<f2", shapes[k].shape, halves, sizeof halves);
        expect(&c, numbers, answers, 3, 4);
        assert_int_equal(open_split(&c, TUTTI_SPLIT_TRAIN, &d, &err), TUTTI_OK);
        const tutti_shape shape = tutti_dataset_shape(d);
        assert_int_equal(shape.ndims, shapes[k].ndims);
        assert_memory_equal(shape.dim, shapes[k].dim, sizeof(int64_t) * (size_t)shape.ndims);
        assert_int_equal(tutti_dataset_nclasses(d), 3);
        tutti_dataset_destroy(d);
    }
}

static void bytes_stay_bytes_and_mean_and_std_are_of_either(void **state)
{
    static const uint8_t bytes[12] = {0, 1, 2, 3, 100, 200, 255, 128, 7, 8, 9, 10};
    static double mean = 0.25, std = 0.5;
    float wanted[12];
    tutti_dataset_config c = {.set = "npy", .path = *state};
    put_labels(*state);
    data_npy_put(*state, "train_x.npy", "|u1", "(3, 2, 2)", bytes, sizeof bytes);
    for (int i = 0; i < 12; i++) wanted[i] = (float)((bytes[i] / 255.0 - 0.5) / 0.5);
    expect(&c, wanted, answers, 3, 4);
    c.mean = (tutti_reals){&mean, 1}, c.std = (tutti_reals){&std, 1};
    for (int i = 0; i < 12; i++) wanted[i] = (float)((bytes[i] / 255.0 - mean) / std);
    expect(&c, wanted, answers, 3, 4);
    data_npy_put(*state, "train_x.npy", "<f4", "(3, 2, 2)", numbers, sizeof numbers);
    for (int i = 0; i < 12; i++) wanted[i] = (float)(((double)numbers[i] - mean) / std);
    expect(&c, wanted, answers, 3, 4);
}

static void labels_of_every_integer_type_and_under_other_names_are_found(void **state)
{
    char path[256];
    const tutti_dataset_config c = {.set = "npy", .path = *state};
    data_npy_put(*state, "X_train.npy", "<f4", "(3, 4)", numbers, sizeof numbers);
    data_npy_put(*state, "train_labels.npy", "|u1", "(3,)", (uint8_t[]){2, 0, 1}, 3);
    expect(&c, numbers, answers, 3, 4);
    data_npy_put(*state, "train_labels.npy", "<i4", "(3, 1)", answers, sizeof answers);
    expect(&c, numbers, answers, 3, 4);
    data_npy_put(*state, "y_train.npy", "<u2", "(3,)", (uint16_t[]){2, 0, 1}, 6);
    snprintf(path, sizeof path, "%s/train_labels.npy", (char *)*state);
    assert_int_equal(remove(path), 0);
    expect(&c, numbers, answers, 3, 4);
}

static void arrays_that_are_not_taken_say_the_line_of_python(void **state)
{
    static const struct {
        const char *type, *shape;
        size_t n;
        const char *words, *more;
    } samples[] = {{">f4", "(3, 4)", 48, "train_x.npy: its numbers are '>f4'", "astype('<f4')"},
                   {"<i4", "(3, 4)", 48, "whole numbers of several bytes", "x.astype(np.float32)"},
                   {"<c8", "(3, 2)", 48, "'<c8'", "astype"},
                   {"<f4", "(12,)", 48, "samples are (N, C, H, W), (N, H, W) or (N, D)", "reshape"},
                   {"<f4", "(1, 6, 2, 1)", 48, "its channels lie last", "np.moveaxis(x, -1, 1)"},
                   {"<f4", "(3, 5)", 48, "promises 60 bytes", "12 fewer"},
                   {"<f4", "(3, 3)", 48, "promises 36 bytes", "12 more"},
                   {"<f4", "(4, 3)", 48, "train_y.npy: 3 labels", "there are 4 samples"}};
    static const struct {
        const char *type, *shape;
        size_t n;
        const char *words, *more;
    } labels[] = {{"<f4", "(3,)", 12, "labels are not whole numbers", "y.astype(np.int64)"},
                  {"<i8", "(3, 1, 2)", 48, "a label is one number", "argmax(1)"},
                  {"<i4", "(3,)", 12, "element 2 is not a label", "0 to 999999"}};
    static const float nothing[4] = {0, 1, 2, (float)__builtin_inf()};
    const tutti_dataset_config c = {.set = "npy", .path = *state};
    refused(&c, "no file train_x.npy in it", "x_train.npy");
    data_put(*state, "all.npz", "PK\3\4", 4);
    refused(&c, "no file train_x.npy in it", "there is an .npz: save each array of it");
    put_labels(*state);
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        data_npy_put(*state, "train_x.npy", samples[i].type, samples[i].shape, numbers, samples[i].n);
        refused(&c, samples[i].words, samples[i].more);
    }
    data_put(*state, "train_x.npy", "PK\3\4 and so on", 14);
    refused(&c, "this is an .npz archive", "np.save(");
    data_put(*state, "train_x.npy",
             "\x93NUMPY\1\0F\0{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }             \n", 80);
    refused(&c, "its numbers lie in Fortran order", "np.ascontiguousarray(x)");
    data_npy_put(*state, "train_x.npy", "<f4", "(1, 4)", nothing, sizeof nothing);
    data_npy_put(*state, "train_y.npy", "<i8", "(1,)", (int64_t[]){0}, 8);
    refused(&c, "train_x.npy: sample 0: number 3 of it is inf", "");
    data_npy_put(*state, "train_x.npy", "<f4", "(3, 4)", numbers, sizeof numbers);
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        data_npy_put(*state, "train_y.npy", labels[i].type, labels[i].shape, (int32_t[12]){0, 1, -2}, labels[i].n);
        refused(&c, labels[i].words, labels[i].more);
    }
}

/* A header may say anything; nothing is asked for that the file cannot hold. */
static void headers_that_lie_are_refused(void **state)
{
    static const char *const shapes[] = {
        "(3, 99999999999999)", "(2000000000, 2000000000)", "()", "(0, 4)", "(3, -4)", "3"};
    const tutti_dataset_config c = {.set = "npy", .path = *state};
    put_labels(*state);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        data_npy_put(*state, "train_x.npy", "<f4", shapes[i], numbers, sizeof numbers);
        refused(&c, "train_x.npy: ", "");
    }
    for (size_t n = 0; n < 90; n += 7) {
        data_put(*state, "train_x.npy",
                 "\x93NUMPY\1\0F\0{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }            \n",
                 n < 80 ? n : 80);
        refused(&c, "train_x.npy: ", "");
    }
}

/* ---- csv ---- */

static void put_table(const char *folder, const char *text)
{
    data_put(folder, "train.csv", text, strlen(text));
}

static void tables_come_out_as_they_are(void **state)
{
    static const float wanted[] = {1.5F, -2, 3e-2F, 4, 5, 6};
    static const char *const tables[] = {"1,1.5,-2,3e-2\n0,4,5,6\n", "label,a,b,c\r\n1,1.5,-2,3e-2\r\n0,4,5,6",
                                         "\"y\",\"a\",\"b\",\"c\"\n\"1\", \"1.5\" ,-2,\t3e-2\n\n0,4,5,6\n\n",
                                         "\xef\xbb\xbf"
                                         "1.0,1.5,-2.0,3e-2\n0.0,4,5,6\n"};
    tutti_dataset_config c = {.set = "csv", .path = *state};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        put_table(*state, tables[i]);
        expect(&c, wanted, (const int32_t[]){1, 0}, 2, 3);
    }
    c.label_last = true;
    put_table(*state, "1.5,-2,3e-2,1\n4,5,6,0\n");
    expect(&c, wanted, (const int32_t[]){1, 0}, 2, 3);
    c.header = TUTTI_HEADER_YES;
    put_table(*state, "0,1,2,3\n1.5,-2,3e-2,1\n4,5,6,0\n"); /* pandas calls columns so */
    expect(&c, wanted, (const int32_t[]){1, 0}, 2, 3);
    c.train_samples = 1;
    put_table(*state, "0,1,2,3\n1.5,-2,3e-2,1\nnot looked at\n");
    expect(&c, wanted, (const int32_t[]){1}, 1, 3);
}

static void a_number_has_a_point_whatever_the_locale_is(void **state)
{
    const tutti_dataset_config c = {.set = "csv", .path = *state};
    put_table(*state, "0,1.5\n");
    for (int i = 0; i < 2 && setlocale(LC_NUMERIC, i ? "de_DE.UTF-8" : "C"); i++)
        expect(&c, (const float[]){1.5F}, (const int32_t[]){0}, 1, 1);
    setlocale(LC_NUMERIC, "C");
}

static void a_packed_table_longer_than_a_piece_is_read_whole(void **state)
{
    enum { N = 3000, WIDTH = 20 };
    char path[256];
    const tutti_dataset_config c = {.set = "csv", .path = *state, .shape = {.ndims = 3, .dim = {1, 4, 5}}};
    float *wanted = malloc(sizeof(float) * N * WIDTH);
    int32_t *labels = malloc(sizeof(int32_t) * N);
    snprintf(path, sizeof path, "%s/mine_train.csv.gz", (char *)*state);
    gzFile f = gzopen(path, "wb");
    for (int i = 0; i < N; i++) {
        gzprintf(f, "%d", labels[i] = i % 7);
        for (int k = 0; k < WIDTH; k++)
            gzprintf(f, ",%g", (double)(wanted[i * WIDTH + k] = (float)((i * 31 + k * k) % 251) / 4));
        gzprintf(f, "\n");
    }
    assert_int_equal(gzclose(f), Z_OK);
    expect(&c, wanted, labels, N, WIDTH);
    free(wanted);
    free(labels);
}

static void a_bad_cell_is_named_by_line_and_column(void **state)
{
    static const struct {
        const char *text, *words, *more;
    } cases[] = {{"0,1,2\n1,x,2\n", "train.csv: line 2, column 2: 'x' is not a finite number", ""},
                 {"0,1,2\n1,2,nan\n", "line 2, column 3: 'nan' is not a finite number", ""},
                 {"0,1,2\n\n1,,2\n", "line 3, column 2: an empty cell", "leave the line out"},
                 {"0,1,2\n1,2\n", "line 2, column 2: 2 cells, the lines before it have 3", ""},
                 {"0,1,2\n1,2,3,4\n", "line 2, column 4: 4 cells", ""},
                 {"0,1,2\n-1,2,3\n", "line 2, column 1: label -1", "data.label"},
                 {"0,1,2\n0.5,2,3\n", "line 2, column 1: label 0.5", ""},
                 {"label,1,2\n0,1,2\n", "line 1, column 1: a first line of numbers and words", "data.header: yes"},
                 {"0;1;2\n1;2;3\n", "line 1, column 1: one cell alone", "commas"},
                 {"0,1e60,2\n", "line 1, column 2: '1e60' is not a finite number", ""},
                 {"0,\"1,2\n", "line 1, column 2: ", ""},
                 {"a,b,c\n", "no sample in it", ""},
                 {"", "no sample in it", ""}};
    tutti_dataset_config c = {.set = "csv", .path = *state};
    refused(&c, "no file train.csv in it", ".gz");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_table(*state, cases[i].text);
        refused(&c, cases[i].words, cases[i].more);
    }
    data_put(*state, "train.csv", "0,1\0,2\n", 7);
    refused(&c, "line 1: a byte 0", "");
    put_table(*state, "0,1,2\n");
    c.shape = (tutti_shape){.ndims = 3, .dim = {1, 2, 2}};
    refused(&c, "samples have 2 numbers", "data.shape");
    c.shape.ndims = 0, c.train_samples = 2;
    refused(&c, "1 samples, but the job asks for 2", "");
}

static void what_numbers_there_are_is_noted(void **state)
{
    tutti_dataset_config c = {.set = "csv", .path = *state};
    static double mean = 100;
    for (int given = 0; given < 2; given++) {
        tutti_dataset *d = NULL;
        tutti_failure err;
        put_table(*state, "1,1,200\n2,3,4\n");
        assert_int_equal(open_split(&c, TUTTI_SPLIT_TRAIN, &d, &err), TUTTI_OK);
        const char *notes = tutti_dataset_notes(d);
        assert_non_null(strstr(notes, "2 samples (2) of 3 classes"));
        assert_non_null(strstr(notes, "label 0 never occurs"));
        assert_true(!given == (strstr(notes, "numbers reach 200") != NULL));
        tutti_dataset_destroy(d);
        c.mean = (tutti_reals){&mean, 1};
    }
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, data_folder_make, data_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(arrays_of_every_type_come_out_as_they_are),
        IN_A_FOLDER(bytes_stay_bytes_and_mean_and_std_are_of_either),
        IN_A_FOLDER(labels_of_every_integer_type_and_under_other_names_are_found),
        IN_A_FOLDER(arrays_that_are_not_taken_say_the_line_of_python),
        IN_A_FOLDER(headers_that_lie_are_refused),
        IN_A_FOLDER(tables_come_out_as_they_are),
        IN_A_FOLDER(a_number_has_a_point_whatever_the_locale_is),
        IN_A_FOLDER(a_packed_table_longer_than_a_piece_is_read_whole),
        IN_A_FOLDER(a_bad_cell_is_named_by_line_and_column),
        IN_A_FOLDER(what_numbers_there_are_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
