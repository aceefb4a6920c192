/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c: what is written is JSON, by cJSON's judgement, and reads back. */
#include "testing.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "base/text/json.h"

static void written_text_reads_back_with_another_reader(void **state)
{
    (void)state;
    tutti_strbuf sb = {0};
    tutti_json j = {&sb, false};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "na\"me", "tab\t \"quoted\" \\ \x01");
    tutti_json_real(&j, "third", 1.0 / 3);
    tutti_json_real(&j, "nan", NAN);
    tutti_json_int(&j, "big", 9007199254740991);
    tutti_json_open(&j, "list", '[');
    tutti_json_int(&j, NULL, 1);
    tutti_json_bool(&j, NULL, true);
    tutti_json_close(&j, ']');
    tutti_json_close(&j, '}');
    cJSON *root = cJSON_Parse(sb.text);
    assert_non_null(root);
    assert_string_equal(cJSON_GetObjectItem(root, "na\"me")->valuestring, "tab\t \"quoted\" \\ \x01");
    assert_true(cJSON_GetObjectItem(root, "third")->valuedouble == 1.0 / 3);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(root, "nan")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "list")), 2);
    cJSON_Delete(root);
    tutti_strbuf_release(&sb);
}

/* Of a name only what stands before the NUL would be seen. */
static void only_a_whole_document_without_nul_is_read(void **state)
{
    (void)state;
    static const char nul[] = "{\"a\": 1, \"b\0c\": 2}";
    static const char *const good[] = {" {\"a\": [1, 2]} \r\n\t", "7", "{\"a\": \"\\\\u0000 is no NUL\"}",
                                       "{\"a\": \"\\u0001\\u00e9\"}", "[\"\\\\\\\\u0000\"]"},
                             *const bad[] = {"{} {}",
                                             "{\"a\": 1}x",
                                             "[1, 2],",
                                             "null\n]",
                                             "",
                                             "   ",
                                             "{\"a\": 1",
                                             "{\"a\\u0000b\": 1}",
                                             "[\"\\\\\\u0000\"]",
                                             "{\"a\": [\"x\", {\"b\": \"y\\u0000\"}]}"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cJSON *root = tutti_json_parse(good[i], strlen(good[i]));
        if (!root) fail_msg("%s is refused", good[i]);
        cJSON_Delete(root);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (tutti_json_parse(bad[i], strlen(bad[i]))) fail_msg("%s is taken", bad[i]);
    assert_null(tutti_json_parse(nul, sizeof nul - 1));
}

static void what_is_no_utf8_is_written_as_utf8(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"x\xff.png", "\"x\\\\xff.png\""},
                                          {"caf\xe9", "\"caf\\\\xe9\""},
                                          {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", NULL},
                                          {"\xc0\xaf", "\"\\\\xc0\\\\xaf\""},                       /* too long */
                                          {"\xed\xa0\x80", "\"\\\\xed\\\\xa0\\\\x80\""},            /* half of UTF-16 */
                                          {"\xf4\x90\x80\x80", "\"\\\\xf4\\\\x90\\\\x80\\\\x80\""}, /* too far */
                                          {"cut \xe2\x82", "\"cut \\\\xe2\\\\x82\""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_strbuf sb = {0}, same = {0};
        tutti_json j = {&sb, false};
        tutti_strbuf_printf(&same, "\"%s\"", rows[i][0]);
        tutti_json_text(&j, NULL, rows[i][0]);
        assert_string_equal(sb.text, rows[i][1] ? rows[i][1] : same.text);
        tutti_strbuf_release(&sb);
        tutti_strbuf_release(&same);
    }
}

static void members_of_another_kind_count_as_absent(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":1.5,\"b\":\"x\",\"c\":null,\"A\":2}";
    cJSON *root = tutti_json_parse(text, sizeof text - 1);
    assert_true(tutti_json_number_of(root, "a", -1) == 1.5 && tutti_json_number_of(root, "A", -1) == 2);
    assert_true(tutti_json_number_of(root, "b", -1) == -1 && tutti_json_number_of(root, "c", -1) == -1);
    assert_true(isnan(tutti_json_number_of(root, "d", NAN)) && tutti_json_number_of(NULL, "a", 7) == 7);
    assert_string_equal(tutti_json_text_of(root, "b"), "x");
    assert_null(tutti_json_text_of(root, "a"));
    assert_null(tutti_json_text_of(root, "c"));
    assert_null(tutti_json_text_of(NULL, "b"));
    cJSON_Delete(root);
}

static void count_up(void *arg, int64_t begin, int64_t end)
{
    int *seen = arg;
    for (int64_t i = begin; i < end; i++) seen[i]++;
}

static void a_loop_visits_every_index_once_whatever_the_threads(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        tutti_pool *pool = tutti_pool_create(threads);
        for (int n = 0; n < 70; n++) {
            int seen[70] = {0};
            tutti_pool_for(pool, n, count_up, seen);
            for (int i = 0; i < 70; i++) assert_int_equal(seen[i], i < n);
        }
        tutti_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_text_reads_back_with_another_reader),
        cmocka_unit_test(only_a_whole_document_without_nul_is_read),
        cmocka_unit_test(what_is_no_utf8_is_written_as_utf8),
        cmocka_unit_test(members_of_another_kind_count_as_absent),
        cmocka_unit_test(a_loop_visits_every_index_once_whatever_the_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
