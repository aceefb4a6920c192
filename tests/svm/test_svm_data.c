/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_data.c: LIBSVM's data: what is read has strtod's bits, what is bad is refused with its line. */
#include "testing.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "svm/data/svm_text.h"

static const tutti_svm_reading STRICT, LENIENT = {.lenient = true}, PRECOMPUTED = {.precomputed = true},
                                       UNLABELLED = {.unlabelled = true};

static void refused_n(const char *text, size_t nbytes, const tutti_svm_reading *how, const char *words)
{
    tutti_svm_data d;
    tutti_failure err = {0};
    assert_int_equal(tutti_svm_data_parse("f", text, nbytes, how, &d, &err), TUTTI_ERR_DATA);
    assert_int_equal(err.status, TUTTI_ERR_DATA);
    if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
}

static void refused(const char *text, const tutti_svm_reading *how, const char *words)
{
    refused_n(text, strlen(text), how, words);
}

static tutti_svm_data read_text(const char *text, const tutti_svm_reading *how)
{
    tutti_svm_data d;
    tutti_failure err = {0};
    if (tutti_svm_data_parse("f", text, strlen(text), how, &d, &err)) fail_msg("%s", err.text);
    return d;
}

static void accepted(const char *text, const tutti_svm_reading *how, int64_t nrows)
{
    tutti_svm_data d = read_text(text, how);
    assert_int_equal(d.nrows, nrows);
    assert_int_equal(d.total, nrows);
    tutti_svm_data_release(&d);
}

/* --- what is read --- */

static void rows_labels_and_entries_come_in_order(void **state)
{
    (void)state;
    tutti_svm_data d = read_text("+1 1:0.5 3:-2e1 \n-1\n 7\t2147483647:.25\n", &STRICT);
    assert_int_equal(d.nrows, 3);
    assert_int_equal(d.first, 0);
    assert_int_equal(d.width, INT32_MAX);
    const int64_t start[] = {0, 2, 2, 3};
    assert_memory_equal(d.start, start, sizeof start);
    const int32_t index[] = {1, 3, INT32_MAX};
    assert_memory_equal(d.index, index, sizeof index);
    const double value[] = {0.5, -20, 0.25}, label[] = {1, -1, 7};
    assert_memory_equal(d.value, value, sizeof value);
    assert_memory_equal(d.label, label, sizeof label);
    tutti_svm_data_release(&d);
}

static void a_last_line_without_newline_counts(void **state)
{
    (void)state;
    tutti_svm_data d = read_text("1 1:1\n2 2:25", &STRICT);
    assert_int_equal(d.nrows, 2);
    assert_true(d.value[1] == 25);
    tutti_svm_data_release(&d);
}

static void line_ends_of_windows_are_read(void **state)
{
    (void)state;
    tutti_svm_data d = read_text("1 1:2\r\n2\r\n3 1:1 2:4 \r\n", &STRICT);
    assert_int_equal(d.nrows, 3);
    assert_int_equal(d.start[3], 3);
    assert_true(d.value[2] == 4);
    tutti_svm_data_release(&d);
    refused("1 1:2\r2 1:3\n", &STRICT, "f: line 1: '2?2', the value of index 1, has something behind");
}

static void precomputed_rows_begin_with_their_number(void **state)
{
    (void)state;
    tutti_svm_data d = read_text("1 0:1 1:4 2:5\n-1 0:2 1:5 2:9\n", &PRECOMPUTED);
    assert_int_equal(d.width, 2);
    assert_int_equal(d.index[3], 0);
    assert_true(d.value[3] == 2);
    tutti_svm_data_release(&d);
    const tutti_svm_reading tests = {.precomputed = true, .unlabelled = true};
    accepted("1 0:0 1:4 2:5\n-1 0:7.5 1:5 2:9\n", &tests, 2); /* numbers of test rows mean nothing */
}

static void labels_of_test_data_may_be_any_number(void **state)
{
    (void)state;
    tutti_svm_data d = read_text("0.5 1:1\n1e300 1:1\n", &UNLABELLED);
    assert_true(d.label[0] == 0.5 && d.label[1] == 1e300);
    tutti_svm_data_release(&d);
    refused("? 1:1\n", &UNLABELLED, "f: line 1: the label '?' is not a number");
}

static void same_bits(const char *text)
{
    double got, want;
    char *end;
    char line[1200];
    snprintf(line, sizeof line, "%s\n", text);
    want = strtod(line, &end);
    const char *after = tutti_svm_number(line, &got);
    if (end == line) {
        assert_null(after);
        return;
    }
    if (after != end || memcmp(&got, &want, sizeof got) != 0) fail_msg("%s: %.17g, strtod says %.17g", text, got, want);
}

/* At the edges of what is fast, and beyond. */
static const char *const HARD[] = {
    "0", "-0", "+0.0", ".5", "5.", "-.5e1", "1e", "1e+", "1e5x", ".", "-", "+", "e5", "0x1p3", "0x", "inf", "-INFINITY",
    "nan", "nan(12)", "1e400", "-1e400", "1e-400", "4.9e-324", "2.2250738585072011e-308", "1.7976931348623157e308",
    "9007199254740993", "9007199254740992.5", "9007199254740993e3", "90071992547409925e-1", "18446744073709551615",
    "18446744073709551616", "1844674407370955161.5", "0.1e23", "1e22", "1e23", "8.5e27", "1e-27",
    "123456789012345678e-27", "0.00000000000000000000000000000000000000001234567890123456789", "1e99999999999999999999",
    "0e99999999999", "1e-99999999999999999999", "0.1000000000000000055511151231257827021181583404541015625",
    "00000000000000000000000012", "1.00000000000000000000000000000000000000000000000001",
    /* half way but for what the quotient cuts off */
    "461400121689050927e-27", "1012330807301253094e-27", "1099399237326471273e-26", "440711626145355596e-26"};

static void numbers_have_the_bits_of_strtod(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof HARD / sizeof *HARD; i++) same_bits(HARD[i]);
    for (int i = 0; i < 200000; i++) {
        const tutti_random4 r = tutti_random(17, TUTTI_STREAM_TEST, 0, (uint64_t)i);
        const uint64_t bits = (uint64_t)r.word[0] << 32 | r.word[1];
        double any;
        char text[64];
        memcpy(&any, &bits, sizeof any);
        if (i % 4 == 0)
            snprintf(text, sizeof text, "%.17g", any);
        else if (i % 4 == 1)
            snprintf(text, sizeof text, "%.*g", 1 + (int)(bits % 19), (double)(int64_t)bits * 0x1p-63);
        else if (i % 4 == 2)
            snprintf(text, sizeof text, "%" PRIu64 "e%d", bits >> (bits % 60), (int)(bits % 61) - 30);
        else /* half way between two doubles, or one beside it */
            snprintf(text, sizeof text, "%" PRIu64 "e%d", ((bits >> 10) | 1) + (bits % 3 == 0), (int)(bits % 5));
        same_bits(text);
    }
}

static void a_long_number_is_read_to_its_end(void **state)
{
    (void)state;
    char text[1100] = "0.";
    memset(text + 2, '0', 1000);
    strcpy(text + 1002, "7e1001");
    same_bits(text);
    memset(text, '9', 300);
    strcpy(text + 300, "e-299");
    same_bits(text);
}

/* --- what is refused --- */

static void values_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    refused("1 1:1\n1 1:nan\n", &STRICT, "f: line 2: 'nan', the value of index 1, is not finite");
    refused("1 1:1\n1 7:-inf\n", &STRICT, "f: line 2: '-inf', the value of index 7, is not finite");
    refused("1 1:1\n1 1:nan\n", &LENIENT, "'nan', the value of index 1, is not finite: training needs numbers");
    const tutti_svm_reading test_data = {.lenient = true, .unlabelled = true};
    tutti_svm_data d = read_text("1 1:nan 2:-inf\n", &test_data);
    assert_true(isnan(d.value[0]) && d.value[1] == -INFINITY);
    tutti_svm_data_release(&d);
}

static void values_that_overflow_are_refused(void **state)
{
    (void)state;
    refused("1 1:1e400\n", &STRICT, "f: line 1: '1e400', the value of index 1, is too large");
    refused("1 1:-1e400\n", &LENIENT, "f: line 1: '-1e400', the value of index 1, is too large");
}

static void indices_that_do_not_ascend_are_refused(void **state)
{
    (void)state;
    refused("1 2:1 1:1\n", &STRICT, "f: line 1: '1:1': indices must ascend, and the one before is 2");
    refused("1 1:1\n\r1 1:1\n", &STRICT, "f: line 2: the label '?1' is not a number");
    refused("1 1:1\n1 3:1 3:2\n", &LENIENT, "f: line 2: '3:2': indices must ascend, and the one before is 3");
}

static void indices_may_begin_with_0(void **state)
{
    (void)state;
    tutti_svm_data d = read_text("1 0:0.5 1:1\n-1 2:3\n1 0:7\n", &STRICT);
    assert_int_equal(d.index[0], 0);
    assert_true(d.value[0] == 0.5 && d.value[3] == 7);
    assert_int_equal(d.width, 2);
    tutti_svm_data_release(&d);
    refused("1 0:1 0:1\n", &STRICT, "f: line 1: '0:1': indices must ascend, and the one before is 0");
    refused("1 0:1 0:1\n", &PRECOMPUTED, "f: line 1: '0:1': indices must ascend, and the one before is 0");
}

static void comments_are_left_out(void **state)
{
    (void)state;
    accepted("# written by a tool\n# columns from 0\n#\n1 0:1\n-1 1:2\n", &STRICT, 2);
    accepted("1 1:1 # the first\n  # between\n-1 # no values\n#end", &STRICT, 2);
    refused("# a\n# b\n1 1:1\nx 1:1\n", &STRICT, "f: line 4: the label 'x' is not a number");
    refused("# a\n\n# b\n1 1:1\n", &STRICT, "f: line 2: the line is empty");
    refused("# nothing else\n", &STRICT, "f: line 1: the file is empty");
    refused("1 1:1#no gap\n", &STRICT, "f: line 1: '1#no', the value of index 1, has something behind the number");
}

static void packed_files_are_told_with_what_unpacks_them(void **state)
{
    (void)state;
    refused_n("\x1f\x8b\x08\x00\n", 5, &STRICT,
              "f: line 1: the file is packed by gzip, and plain text is wanted: gunzip -k");
    refused_n("\xfd\x37zXZ\x00\n", 7, &STRICT, "f: line 1: the file is packed by xz");
    refused_n("PK\3\4\x14\n", 6, &LENIENT, "f: line 1: the file is packed by zip");
    refused_n("\xff\xfe\x31\x00\n", 5, &STRICT, "f: line 1: the file is UTF-16");
    refused_n("\xef\xbb\xbf"
              "1 1:1\n",
              9, &STRICT, "f: line 1: the file is marked as UTF-8");
    refused("1 1:1\nBZh 1:1\n", &STRICT, "f: line 2: the label 'BZh' is not a number");
}

static void negative_indices_are_refused(void **state)
{
    (void)state;
    refused("1 -1:1\n", &STRICT, "f: line 1: '-1:1': an index must not be negative");
}

static void indices_that_overflow_are_refused(void **state)
{
    (void)state;
    refused("1 9999999999:1\n", &STRICT, "f: line 1: '9999999999:1': the index is larger than 2147483647");
    refused("1 2147483648:1\n", &STRICT, "the index is larger than 2147483647");
    refused("1 99999999999999999999999999:1\n", &LENIENT, "the index is larger than 2147483647");
}

static void garbage_after_a_number_is_refused(void **state)
{
    (void)state;
    refused("1 1:1x\n", &STRICT, "f: line 1: '1x', the value of index 1, has something behind the number");
    refused("1 1:1,5\n", &STRICT, "f: line 1: '1,5', the value of index 1, has something behind the number");
    refused("1 1:1:2\n", &STRICT, "has something behind the number");
    refused("1 1:x\n", &STRICT, "f: line 1: 'x', the value of index 1, is not a number");
}

static void a_missing_colon_is_refused(void **state)
{
    (void)state;
    refused("1 1:1 2\n", &STRICT, "f: line 1: '2': there is no colon after the index");
    refused("1 1 1:1\n", &STRICT, "f: line 1: '1': there is no colon after the index");
    refused("1 1:1 2 ", &LENIENT, "f: line 1: '2': there is no colon after the index");
}

static void a_missing_value_is_refused(void **state)
{
    (void)state;
    refused("1 1:\n", &STRICT, "f: line 1: index 1 has no value behind its colon");
    refused("1 1: 5\n", &STRICT, "f: line 1: index 1 has no value behind its colon");
    refused("1 1:", &STRICT, "f: line 1: index 1 has no value behind its colon");
    refused("1 :5\n", &STRICT, "f: line 1: ':5': index:value is wanted here");
}

static void an_empty_file_is_refused(void **state)
{
    (void)state;
    refused("", &STRICT, "f: line 1: the file is empty");
    accepted("", &LENIENT, 0);
}

static void an_empty_line_in_the_middle_is_refused(void **state)
{
    (void)state;
    refused("1 1:1\n\n1 1:1\n", &STRICT, "f: line 2: the line is empty");
    refused("1 1:1\n \t\r\n\nx\n", &LENIENT, "f: line 2: the line is empty");
    refused("\n1 1:1\n", &LENIENT, "f: line 1: the line is empty");
}

static void an_empty_line_at_the_end_is_refused_or_taken(void **state)
{
    (void)state;
    refused("1 1:1\n\n", &STRICT, "f: line 2: the line is empty, at the end of the file");
    refused("1 1:1\n \n\n", &STRICT, "f: line 2: the line is empty, at the end of the file");
    refused("1 1:1\n ", &STRICT, "f: line 2: the line is empty, at the end of the file");
    accepted("1 1:1\n \n\n", &LENIENT, 1);
    accepted("\n", &LENIENT, 0);
}

static void a_label_that_is_no_number_is_refused(void **state)
{
    (void)state;
    refused("1 1:1\na 1:1\n", &STRICT, "f: line 2: the label 'a' is not a number");
    refused("1:1 2:1\n", &STRICT, "f: line 1: the label '1:1' is not a number");
    refused("1x 2:1\n", &LENIENT, "f: line 1: the label '1x' is not a number");
    refused("nan 2:1\n", &LENIENT, "f: line 1: the label 'nan' is not within");
}

static void a_label_that_is_no_whole_number_is_refused_or_cut(void **state)
{
    (void)state;
    refused("1.5 1:1\n", &STRICT, "f: line 1: the label '1.5' is not a whole number");
    tutti_svm_data d = read_text("1.5 1:1\n-0.5 1:1\n-7.9\n", &LENIENT);
    assert_true(d.label[0] == 1 && d.label[1] == 0 && !signbit(d.label[1]) && d.label[2] == -7);
    tutti_svm_data_release(&d);
    accepted("1.0 1:1\n-2e3 1:1\n", &STRICT, 2);
}

static void a_label_out_of_range_is_refused(void **state)
{
    (void)state;
    refused("2147483648 1:1\n", &STRICT, "f: line 1: the label '2147483648' is not within -2147483648 .. 2147483647");
    refused("-1e10 1:1\n", &LENIENT, "f: line 1: the label '-1e10' is not within");
    accepted("2147483647 1:1\n-2147483648 1:1\n", &STRICT, 2);
}

static void precomputed_rows_without_their_number_are_refused(void **state)
{
    (void)state;
    refused("1 0:1 1:4\n1 1:1\n", &PRECOMPUTED, "f: line 2: a row of a precomputed kernel begins with 0:NUMBER");
    refused("1\n", &PRECOMPUTED, "f: line 1: a row of a precomputed kernel begins with 0:NUMBER");
}

static void numbers_of_samples_out_of_range_are_refused(void **state)
{
    (void)state;
    refused("1 0:0 1:4\n", &PRECOMPUTED, "f: line 1: 0:0: the number of a sample is a whole number from 1");
    refused("1 0:-1 1:4\n", &PRECOMPUTED, "f: line 1: 0:-1: the number of a sample");
    refused("1 0:1.5 1:4\n", &PRECOMPUTED, "f: line 1: 0:1.5: the number of a sample");
    refused("1 0:1 1:4\n1 0:3 1:2 2:2\n1 0:9 1:1\n", &PRECOMPUTED,
            "f: row 2: 0:3: the rows of this file have columns 1 to 2 only");
}

static void bytes_0_are_refused(void **state)
{
    (void)state;
    refused_n("1 1:1\0 2:1\n", 11, &STRICT, "f: line 1: '1?', the value of index 1, has something behind");
    refused_n("1 1:1\n1 \0\n", 10, &STRICT, "f: line 2: '?': index:value is wanted here");
    refused_n("\0", 1, &LENIENT, "f: line 1: the label '?' is not a number");
    refused_n("1 1:\0\n", 6, &STRICT, "f: line 1: '?', the value of index 1, is not a number");
}

static void long_words_are_cut_in_failures(void **state)
{
    (void)state;
    char text[3000] = "1 1:";
    memset(text + 4, 'x', 2900);
    refused(text, &STRICT, "xxx...', the value of index 1, is not a number");
}

/* --- files --- */

static void a_missing_file_is_refused_by_name(void **state)
{
    (void)state;
    tutti_svm_data d;
    tutti_failure err = {0};
    assert_int_equal(tutti_svm_data_read(NULL, "/tmp/no/such/file", &STRICT, &d, &err), TUTTI_ERR_DATA);
    assert_string_equal(err.text, "/tmp/no/such/file: cannot open: No such file or directory");
    assert_int_equal(tutti_svm_data_read(NULL, "/tmp", &STRICT, &d, &err), TUTTI_ERR_DATA);
    assert_string_equal(err.text, "/tmp: is a folder; a regular file is wanted");
}

static void *feed(void *end)
{
    FILE *f = fdopen(*(int *)end, "w");
    for (int i = 0; i < 100000; i++) fprintf(f, "%d 1:%d 7:0.25\n", i % 2, i);
    fclose(f);
    return NULL;
}

static void a_pipe_is_read_alone(void **state)
{
    (void)state;
    char path[64];
    int ends[2];
    pthread_t writer;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(pthread_create(&writer, NULL, feed, &ends[1]), 0);
    tutti_svm_data d;
    tutti_failure err = {0};
    assert_int_equal(tutti_svm_data_read(NULL, path, &STRICT, &d, &err), TUTTI_OK);
    pthread_join(writer, NULL);
    close(ends[0]);
    assert_int_equal(d.nrows, 100000);
    for (int i = 0; i < 100000; i++)
        if (d.value[2 * i] != i || d.label[i] != i % 2) fail_msg("row %d is wrong", i);
    tutti_svm_data_release(&d);
}

static void a_named_pipe_is_refused_without_waiting(void **state)
{
    (void)state;
    char path[64];
    tutti_svm_data d;
    tutti_failure err = {0};
    snprintf(path, sizeof path, "/tmp/tutti-svm-pipe.%d", (int)getpid());
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(tutti_svm_data_read(NULL, path, &STRICT, &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, ": is a named pipe; a regular file is wanted"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_labels_and_entries_come_in_order),
        cmocka_unit_test(a_last_line_without_newline_counts),
        cmocka_unit_test(line_ends_of_windows_are_read),
        cmocka_unit_test(precomputed_rows_begin_with_their_number),
        cmocka_unit_test(labels_of_test_data_may_be_any_number),
        cmocka_unit_test(numbers_have_the_bits_of_strtod),
        cmocka_unit_test(a_long_number_is_read_to_its_end),
        cmocka_unit_test(values_that_are_not_finite_are_refused),
        cmocka_unit_test(values_that_overflow_are_refused),
        cmocka_unit_test(indices_that_do_not_ascend_are_refused),
        cmocka_unit_test(indices_may_begin_with_0),
        cmocka_unit_test(comments_are_left_out),
        cmocka_unit_test(packed_files_are_told_with_what_unpacks_them),
        cmocka_unit_test(negative_indices_are_refused),
        cmocka_unit_test(indices_that_overflow_are_refused),
        cmocka_unit_test(garbage_after_a_number_is_refused),
        cmocka_unit_test(a_missing_colon_is_refused),
        cmocka_unit_test(a_missing_value_is_refused),
        cmocka_unit_test(an_empty_file_is_refused),
        cmocka_unit_test(an_empty_line_in_the_middle_is_refused),
        cmocka_unit_test(an_empty_line_at_the_end_is_refused_or_taken),
        cmocka_unit_test(a_label_that_is_no_number_is_refused),
        cmocka_unit_test(a_label_that_is_no_whole_number_is_refused_or_cut),
        cmocka_unit_test(a_label_out_of_range_is_refused),
        cmocka_unit_test(precomputed_rows_without_their_number_are_refused),
        cmocka_unit_test(numbers_of_samples_out_of_range_are_refused),
        cmocka_unit_test(bytes_0_are_refused),
        cmocka_unit_test(long_words_are_cut_in_failures),
        cmocka_unit_test(a_missing_file_is_refused_by_name),
        cmocka_unit_test(a_pipe_is_read_alone),
        cmocka_unit_test(a_named_pipe_is_refused_without_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
