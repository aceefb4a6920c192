/* SPDX-License-Identifier: Apache-2.0 */
/* test_tensorboard.c: checksums and records to the byte; files of runs that go on. (The real reader's judgement:
 * tests/oracle/read_traces.py.) */
#include "testing.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "metrics/crc32c.h"
#include "metrics/metrics.h"

static void the_checksum_is_that_of_the_published_vectors(void **state)
{
    (void)state;
    unsigned char bytes[32];
    assert_true(tutti_crc32c("", 0) == 0);
    assert_true(tutti_crc32c("123456789", 9) == 0xe3069283);
    memset(bytes, 0, 32); /* the rest: RFC 3720, B.4 */
    assert_true(tutti_crc32c(bytes, 32) == 0x8a9136aa);
    memset(bytes, 0xff, 32);
    assert_true(tutti_crc32c(bytes, 32) == 0x62a8ab43);
    for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)i;
    assert_true(tutti_crc32c(bytes, 32) == 0x46dd794e);
    for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)(31 - i);
    assert_true(tutti_crc32c(bytes, 32) == 0x113fdb5c);
}

static void expect_hex(tutti_strbuf *record, const char *want)
{
    char hex[512] = "";
    for (size_t i = 0; i < record->length; i++) snprintf(hex + 2 * i, 3, "%02x", (unsigned char)record->text[i]);
    assert_string_equal(hex, want);
    tutti_strbuf_release(record);
}

static void the_first_record_says_version_2(void **state)
{
    (void)state;
    tutti_strbuf record = {0};
    tutti_event_version(1.0, &record);
    expect_hex(&record, "1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a3286bf577a");
}

static void a_scalar_is_these_bytes(void **state)
{
    (void)state;
    const tutti_scalar loss = {"loss", 0.5};
    tutti_strbuf record = {0};
    tutti_event_scalars(2.0, 1, &loss, 1, &record);
    expect_hex(&record, "1a00000000000000129bd82d09000000000000004010012a0d0a0b0a046c6f7373150000003fe20576ce");
}

/* Steps beyond 127 take several bytes: 300 = 0xac 0x02. */
static void large_steps_are_varints(void **state)
{
    (void)state;
    tutti_strbuf record = {0};
    tutti_event_scalars(2.0, 300, NULL, 0, &record);
    assert_int_equal(record.length, 12 + 14 + 4);
    assert_memory_equal(record.text + 12 + 9, "\x10\xac\x02\x2a\x00", 5);
    tutti_strbuf_release(&record);
}

/* ---- files ---- */

static int make_dir(void **state)
{
    char *dir = strdup("/tmp/tutti_events_XXXXXX");
    *state = mkdtemp(dir);
    return 0;
}

static int drop_dir(void **state)
{
    assert_int_equal(tutti_file_remove_tree(*state, NULL), TUTTI_OK);
    free(*state);
    return 0;
}

/* Names in the folder, sorted; returns how many. */
static int list(const char *dir, char names[8][200])
{
    struct dirent **entries;
    int n = 0, all = scandir(dir, &entries, NULL, alphasort);
    for (int i = 0; i < all; i++) {
        if (entries[i]->d_name[0] != '.' && n < 8) snprintf(names[n++], 200, "%s/%.100s", dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return n;
}

static void write_steps(const char *dir, int64_t from, int64_t to, int64_t opened_at)
{
    tutti_tensorboard *t;
    assert_int_equal(tutti_tensorboard_open(dir, opened_at, &t, NULL), TUTTI_OK);
    for (int64_t s = from; s <= to; s++) {
        const tutti_scalar scalars[] = {{"train/loss", 1.0 / (double)s}, {"train/lr", NAN}};
        assert_int_equal(tutti_tensorboard_write(t, s, scalars, 2, NULL), TUTTI_OK);
    }
    tutti_tensorboard_close(t);
}

static uint64_t length_at(const char *text, size_t at)
{
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) length = length << 8 | (unsigned char)text[at + (size_t)i];
    return length;
}

/* Whole records with right checksums of their lengths from begin to end; returns how many. */
static int count_records(const char *path)
{
    char *text;
    size_t n, at = 0;
    int records = 0;
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    for (; at < n; records++) at += 8 + 4 + (size_t)length_at(text, at) + 4;
    assert_true(at == n);
    free(text);
    return records;
}

static void a_run_that_goes_on_begins_a_file_that_sorts_after_the_first(void **state)
{
    char names[8][200], *text;
    size_t n;
    tutti_strbuf restart = {0};
    write_steps(*state, 1, 7, -1);
    assert_int_equal(list(*state, names), 1);
    assert_int_equal(truncate(names[0], 333), 0); /* torn */
    write_steps(*state, 5, 9, 4);
    write_steps(*state, 8, 9, 7); /* within the same second */
    assert_int_equal(list(*state, names), 3);
    assert_int_equal(count_records(names[1]), 1 + 1 + 5);
    assert_int_equal(count_records(names[2]), 1 + 1 + 2);
    assert_int_equal(tutti_file_read(names[1], 1 << 20, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    tutti_event_restart(0, 5, &restart); /* points from step 5 on are void */
    assert_memory_equal(text + 40 + 12 + 9, restart.text + 12 + 9, 6);
    tutti_strbuf_release(&restart);
    free(text);
}

static void removing_takes_event_files_and_nothing_else(void **state)
{
    char names[8][200], path[200];
    write_steps(*state, 1, 3, -1);
    write_steps(*state, 4, 5, 3);
    snprintf(path, sizeof path, "%s/zebra", (char *)*state);
    assert_int_equal(tutti_file_write_atomic(path, "x", 1, NULL), TUTTI_OK);
    assert_int_equal(tutti_tensorboard_remove(*state, NULL), TUTTI_OK);
    assert_int_equal(list(*state, names), 1);
    assert_non_null(strstr(names[0], "zebra"));
}

static void a_folder_that_is_not_there_is_named(void **state)
{
    (void)state;
    tutti_tensorboard *t;
    tutti_failure err = {0};
    assert_int_equal(tutti_tensorboard_open("/nowhere/run", -1, &t, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "/nowhere/run"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksum_is_that_of_the_published_vectors),
        cmocka_unit_test(the_first_record_says_version_2),
        cmocka_unit_test(a_scalar_is_these_bytes),
        cmocka_unit_test(large_steps_are_varints),
        cmocka_unit_test_setup_teardown(a_run_that_goes_on_begins_a_file_that_sorts_after_the_first, make_dir,
                                        drop_dir),
        cmocka_unit_test_setup_teardown(removing_takes_event_files_and_nothing_else, make_dir, drop_dir),
        cmocka_unit_test(a_folder_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
