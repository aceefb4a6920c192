/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_data_threads.c: a file read by several ranks is the file read alone: rows, their numbers, and the words
 * about the first bad line, wherever the ranges of bytes begin and end. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective/comm_ranks.h"
#include "tutti/svm.h"

typedef struct {
    const char *path;
    tutti_svm_reading how;
    tutti_status status; /* alone */
    tutti_failure err;
    tutti_svm_data whole;
} expected;

static bool same_rows(const tutti_svm_data *part, const tutti_svm_data *whole)
{
    for (int64_t i = 0; i < part->nrows; i++) {
        const int64_t row = part->first + i, n = part->start[i + 1] - part->start[i];
        if (row >= whole->nrows || n != whole->start[row + 1] - whole->start[row]) return false;
        if (memcmp(&part->label[i], &whole->label[row], sizeof(double)) != 0) return false;
        if (memcmp(part->index + part->start[i], whole->index + whole->start[row], (size_t)n * sizeof(int32_t)) != 0 ||
            memcmp(part->value + part->start[i], whole->value + whole->start[row], (size_t)n * sizeof(double)) != 0)
            return false;
    }
    return true;
}

static const char *read_together(tutti_comm *comm, void *arg)
{
    const expected *e = arg;
    tutti_svm_data d;
    tutti_failure err = {0};
    EXPECT(tutti_svm_data_read(comm, e->path, &e->how, &d, &err) == e->status);
    EXPECT(strcmp(err.text, e->err.text) == 0);
    if (e->status) return NULL;
    EXPECT(d.total == e->whole.nrows && d.width == e->whole.width && d.start[0] == 0);
    EXPECT(same_rows(&d, &e->whole));
    int64_t next = d.first + d.nrows, first[MOST_COMM_RANKS + 1] = {0};
    EXPECT(tutti_comm_all_gather(comm, &next, first + 1, 1, TUTTI_I64, &err) == TUTTI_OK);
    EXPECT(d.first == first[tutti_comm_rank(comm)]);
    EXPECT(first[tutti_comm_size(comm)] == d.total);
    tutti_svm_data_release(&d);
    return NULL;
}

/* Reads the file alone, then with each number of ranks. */
static void compare(const char *text, size_t nbytes, tutti_svm_reading how)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/tutti-svm-data.%d", (int)getpid());
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(text, 1, nbytes, f), nbytes);
    assert_int_equal(fclose(f), 0);
    expected e = {.path = path, .how = how};
    e.status = tutti_svm_data_parse(path, text, nbytes, &how, &e.whole, &e.err);
    for (int nranks = 1; nranks <= 5; nranks++) run_comms(nranks, 20, read_together, &e);
    if (!e.status) tutti_svm_data_release(&e.whole);
    unlink(path);
}

static void a_file_is_the_same_for_any_number_of_ranks(void **state)
{
    (void)state;
    char text[4000];
    size_t n = 0;
    for (int i = 0; i < 60; i++) {
        n += (size_t)sprintf(text + n, "%d", i % 3);
        for (int k = 0; k < i % 7; k++) n += (size_t)sprintf(text + n, " %d:%d.%d", 1 + k * (i % 5 + 1), i, k);
        n += (size_t)sprintf(text + n, "\n");
    }
    for (size_t cut = n - 40; cut <= n; cut += 4)
        compare(text, cut, (tutti_svm_reading){0}); /* cut words are bad lines */
}

static void files_shorter_than_ranks_are_read(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "1", "1\n", "\n", "1\n2\n", "1\n\n", "\n\n\n1", "1 1:2\n", "1\n2\n3\n4"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int lenient = 0; lenient < 2; lenient++)
            compare(texts[i], strlen(texts[i]), (tutti_svm_reading){.lenient = lenient});
}

/* Longer than what is read at once, and than the ranges of all ranks but one. */
static void a_line_longer_than_a_range_belongs_to_one_rank(void **state)
{
    (void)state;
    const size_t most = 5 << 20;
    char *text = malloc(most);
    size_t n = (size_t)sprintf(text, "1 1:1\n2");
    for (int k = 0; k < 300000; k++) n += (size_t)sprintf(text + n, " %d:%d", k + 1, k % 10);
    n += (size_t)sprintf(text + n, "\n3 2:2\n4 4:4\n");
    compare(text, n, (tutti_svm_reading){0});
    n += (size_t)sprintf(text + n, "5 5:\n");
    compare(text, n, (tutti_svm_reading){0});
    free(text);
}

static void the_first_bad_line_is_named_by_all_ranks(void **state)
{
    (void)state;
    for (int bad = 0; bad < 24; bad += 3) {
        char text[1000];
        size_t n = 0;
        for (int i = 0; i < 24; i++) n += (size_t)sprintf(text + n, i == bad || i == 20 ? "1 1:%dx\n" : "1 1:%d\n", i);
        compare(text, n, (tutti_svm_reading){0});
    }
}

static void comments_count_as_lines_for_all_ranks(void **state)
{
    (void)state;
    for (int bad = 5; bad < 40; bad += 5) {
        char text[2000];
        size_t n = 0;
        for (int i = 1; i < 40; i++) n += (size_t)sprintf(text + n, i % 3 ? "1 0:%d # of %d\n" : "# %d\n", i, i);
        compare(text, n, (tutti_svm_reading){0});
        n = 0;
        for (int i = 1; i < 40; i++)
            n += (size_t)sprintf(text + n, i == bad ? "1 1:%dx\n" : i % 3 ? "1 1:%d\n" : "# %d\n", i);
        compare(text, n, (tutti_svm_reading){0});
    }
}

static void empty_lines_are_in_the_middle_or_at_the_end_for_all_ranks(void **state)
{
    (void)state;
    for (int from = 0; from < 20; from += 6)
        for (int lines = 1; lines < 20; lines += 9)
            for (int lenient = 0; lenient < 2; lenient++) {
                char text[1000];
                size_t n = 0;
                for (int i = 0; i < 20; i++)
                    n += (size_t)sprintf(text + n, i >= from && i < from + lines ? "\n" : "1 1:%d\n", i);
                compare(text, n, (tutti_svm_reading){.lenient = lenient});
            }
}

static void numbers_of_samples_are_compared_with_the_columns_of_all_ranks(void **state)
{
    (void)state;
    for (int columns = 7; columns <= 8; columns++) { /* only the last row has as many: 7 are too few for row 8 */
        char text[1000];
        size_t n = 0;
        for (int i = 1; i <= 10; i++) n += (size_t)sprintf(text + n, "1 0:%d 1:1\n", i <= 8 ? i : 1);
        n += (size_t)sprintf(text + n, "1 0:1 %d:1\n", columns);
        compare(text, n, (tutti_svm_reading){.precomputed = true});
    }
}

static const char *read_folder(tutti_comm *comm, void *arg)
{
    tutti_svm_data d;
    tutti_failure err = {0};
    EXPECT(tutti_svm_data_read(comm, arg, &(tutti_svm_reading){0}, &d, &err) == TUTTI_ERR_DATA);
    EXPECT(strstr(err.text, "rank 0: is a folder"));
    return NULL;
}

static void what_is_no_file_is_refused_by_all_ranks(void **state)
{
    (void)state;
    run_comms(3, 20, read_folder, "/tmp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_the_same_for_any_number_of_ranks),
        cmocka_unit_test(files_shorter_than_ranks_are_read),
        cmocka_unit_test(a_line_longer_than_a_range_belongs_to_one_rank),
        cmocka_unit_test(the_first_bad_line_is_named_by_all_ranks),
        cmocka_unit_test(comments_count_as_lines_for_all_ranks),
        cmocka_unit_test(empty_lines_are_in_the_middle_or_at_the_end_for_all_ranks),
        cmocka_unit_test(numbers_of_samples_are_compared_with_the_columns_of_all_ranks),
        cmocka_unit_test(what_is_no_file_is_refused_by_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
