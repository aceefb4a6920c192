/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_jsonl.c: lines are JSON by another reader's judgement; a resumed run says each step once. */
#include "testing.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "metrics/metrics.h"

static char *contents(const char *path)
{
    char *text;
    size_t n;
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    return text;
}

static void write_steps(const char *path, int64_t from, int64_t to, int64_t opened_at)
{
    tutti_metrics *m;
    assert_int_equal(tutti_metrics_open(path, opened_at, &m, NULL), TUTTI_OK);
    for (int64_t s = from; s <= to; s++) {
        const tutti_metric line[] = {TUTTI_METRIC_INT("step", s), TUTTI_METRIC_REAL("loss", 1.0 / (double)s)};
        assert_int_equal(tutti_metrics_write(m, "step", line, 2, NULL), TUTTI_OK);
    }
    tutti_metrics_close(m);
}

static void temporary(char path[64])
{
    strcpy(path, "/tmp/tutti_metrics_XXXXXX");
    close(mkstemp(path));
}

static void a_number_that_json_cannot_hold_is_null_and_named(void **state)
{
    (void)state;
    char path[64];
    temporary(path);
    tutti_metrics *m;
    assert_int_equal(tutti_metrics_open(path, -1, &m, NULL), TUTTI_OK);
    const tutti_metric line[] = {TUTTI_METRIC_INT("step", 3), TUTTI_METRIC_REAL("loss", NAN),
                                 TUTTI_METRIC_REAL("lr", 0.1), TUTTI_METRIC_REAL("ips", INFINITY),
                                 TUTTI_METRIC_TEXT("weights", "00ff")};
    assert_int_equal(tutti_metrics_write(m, "step", line, 5, NULL), TUTTI_OK);
    tutti_metrics_close(m);
    char *text = contents(path);
    assert_string_equal(text, "{\"ev\":\"step\",\"step\":3,\"loss\":null,\"lr\":0.1,\"ips\":null,\"weights\":\"00ff\","
                              "\"nan\":[\"loss\",\"ips\"]}\n");
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    cJSON_Delete(root);
    free(text);
    unlink(path);
}

static void a_resumed_run_says_each_step_once(void **state)
{
    (void)state;
    char path[64], whole[64];
    temporary(path);
    temporary(whole);
    write_steps(whole, 1, 9, -1);
    write_steps(path, 1, 7, -1);
    FILE *f = fopen(path, "a");
    fputs("{\"ev\":\"end\",\"step\":4}\n{\"ev\":\"step\",\"st", f); /* an end, and a torn line */
    fclose(f);
    write_steps(path, 5, 9, 4);
    char *a = contents(path), *b = contents(whole);
    assert_string_equal(a, b);
    free(a);
    free(b);
    unlink(path);
    unlink(whole);
}

static void a_restart_stays_when_a_later_one_goes_back_behind_it(void **state)
{
    (void)state;
    char path[64];
    temporary(path);
    write_steps(path, 1, 7, -1);
    FILE *f = fopen(path, "a");
    fputs("{\"ev\":\"restart\",\"step\":7,\"lost\":1}\n", f);
    fclose(f);
    write_steps(path, 5, 5, 4);
    char *text = contents(path);
    assert_null(strstr(text, "\"step\":6"));
    assert_non_null(strstr(
        text, "\"step\":4,\"loss\":0.25}\n{\"ev\":\"restart\",\"step\":7,\"lost\":1}\n{\"ev\":\"step\",\"step\":5,"));
    free(text);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_that_json_cannot_hold_is_null_and_named),
        cmocka_unit_test(a_resumed_run_says_each_step_once),
        cmocka_unit_test(a_restart_stays_when_a_later_one_goes_back_behind_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
