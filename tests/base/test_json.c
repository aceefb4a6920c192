/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c: what is written is JSON, by cJSON's judgement, and reads back. */
#include "testing.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "base/json.h"
#include "base/pool.h"

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
        cmocka_unit_test(a_loop_visits_every_index_once_whatever_the_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
