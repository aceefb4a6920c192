/* SPDX-License-Identifier: Apache-2.0 */
/* test_series.c: the numbers of a run are read while it writes them, and curves keep their extrema. */
#include "testing.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/series.h"

enum { PIECE = 1 << 20 };

typedef struct {
    char folder[64], path[96], other[96];
    tutti_series *s;
    tutti_series_summary sum;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/test_series.XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/metrics.jsonl", f->folder);
    snprintf(f->other, sizeof f->other, "%s/other", f->folder);
    f->s = tutti_series_open(f->path);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    tutti_series_close(f->s);
    unlink(f->path);
    unlink(f->other);
    rmdir(f->folder);
    free(f);
    return 0;
}

static void write_text(const char *path, const char *mode, const char *text)
{
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void append(fixture *f, const char *text)
{
    write_text(f->path, "a", text);
}

static void append_step(fixture *f, int step, double loss)
{
    char line[160];
    snprintf(line, sizeof line,
             "{\"ev\":\"step\",\"step\":%d,\"epoch\":%g,\"loss\":%.17g,\"lr\":0.5,\"ips\":8,\"ts\":%d}\n", step,
             step / 8.0, loss, 1000 + step);
    append(f, line);
}

static void refresh(fixture *f)
{
    bool more = true;
    while (more) assert_int_equal(tutti_series_refresh(f->s, PIECE, &more, NULL), TUTTI_OK);
    tutti_series_summarise(f->s, &f->sum);
}

/* Returns the answer, which the caller deletes; NULL: the series has no such tag. */
static cJSON *ask(fixture *f, const char *tag, int64_t from, int64_t to, int npoints)
{
    tutti_strbuf out = {0};
    tutti_json j = {.out = &out};
    tutti_json_open(&j, NULL, '{');
    const bool known = tutti_series_write_points(f->s, &(tutti_series_ask){tag, from, to, npoints}, &j);
    tutti_json_close(&j, '}');
    cJSON *answer = cJSON_Parse(out.text);
    assert_non_null(answer);
    tutti_strbuf_release(&out);
    if (known) return answer;
    assert_null(answer->child); /* nothing was written */
    cJSON_Delete(answer);
    return NULL;
}

static cJSON *write_object(fixture *f, void (*write)(const tutti_series *s, tutti_json *j))
{
    tutti_strbuf out = {0};
    tutti_json j = {.out = &out};
    tutti_json_open(&j, NULL, '{');
    write(f->s, &j);
    tutti_json_close(&j, '}');
    cJSON *answer = cJSON_Parse(out.text);
    assert_non_null(answer);
    tutti_strbuf_release(&out);
    return answer;
}

static double item(const cJSON *answer, const char *key, int i)
{
    const cJSON *found = cJSON_GetArrayItem(cJSON_GetObjectItem(answer, key), i);
    assert_non_null(found);
    return cJSON_IsNull(found) ? (double)NAN : found->valuedouble;
}

static int size_of(const cJSON *answer, const char *key)
{
    return cJSON_GetArraySize(cJSON_GetObjectItem(answer, key));
}

static double number(const cJSON *answer, const char *key)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(answer, key));
}

/* The steps of a tag, one for each point, as text: "1 2 5". */
static void assert_steps(fixture *f, const char *tag, const char *expected)
{
    cJSON *answer = ask(f, tag, 0, INT64_MAX, 100);
    char text[400] = "";
    for (int i = 0; answer && i < size_of(answer, "step"); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %g" : "%g", item(answer, "step", i));
    assert_string_equal(text, expected);
    cJSON_Delete(answer);
}

static void a_file_that_does_not_exist_has_no_numbers(void **state)
{
    fixture *f = *state;
    refresh(f);
    assert_int_equal(f->sum.step, -1);
    assert_true(isnan(f->sum.loss) && isnan(f->sum.at) && isnan(f->sum.step_gap));
    assert_string_equal(f->sum.weights, "");
    assert_null(ask(f, "loss", 0, INT64_MAX, 10));
    cJSON *tags = write_object(f, tutti_series_write_tags), *cost = write_object(f, tutti_series_write_cost);
    assert_int_equal(size_of(tags, "tags"), 0);
    assert_null(cJSON_GetObjectItem(cost, "cost")->child);
    cJSON_Delete(tags);
    cJSON_Delete(cost);
}

static void a_torn_last_line_waits_for_its_end(void **state)
{
    fixture *f = *state;
    append_step(f, 1, 4);
    append(f, "{\"ev\":\"step\",\"step\":2,\"lo");
    refresh(f);
    assert_steps(f, "loss", "1");
    assert_int_equal(f->sum.nbad, 0);
    append(f, "ss\":0.5}\n");
    refresh(f);
    assert_steps(f, "loss", "1 2");
    assert_true(f->sum.loss == 0.5);
    assert_int_equal(f->sum.nlines, 2);
}

static void lines_that_are_no_events_are_counted(void **state)
{
    fixture *f = *state;
    append(f, "\nno JSON\n[1]\n{\"step\":1}\n{\"ev\":3}\n");
    append_step(f, 3, 1);
    refresh(f);
    assert_int_equal(f->sum.nbad, 5);
    assert_int_equal(f->sum.nlines, 6);
    assert_steps(f, "loss", "3");
}

static void small_pieces_give_the_same_as_one(void **state)
{
    fixture *f = *state;
    bool more = true;
    for (int i = 1; i <= 20; i++) append_step(f, i, i);
    int ncalls = 0;
    for (; more; ncalls++) assert_int_equal(tutti_series_refresh(f->s, 150, &more, NULL), TUTTI_OK);
    assert_true(ncalls > 5);
    assert_steps(f, "loss", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20");
}

static void a_line_longer_than_a_piece_is_passed_over(void **state)
{
    fixture *f = *state;
    char line[400];
    bool more = true;
    memset(line, 'x', sizeof line);
    snprintf(line + sizeof line - 2, 2, "\n");
    append_step(f, 1, 1);
    append(f, line);
    append_step(f, 2, 2);
    for (int i = 0; more; i++) {
        assert_true(i < 50);
        assert_int_equal(tutti_series_refresh(f->s, 120, &more, NULL), TUTTI_OK);
    }
    tutti_series_summarise(f->s, &f->sum);
    assert_int_equal(f->sum.nbad, 1);
    assert_steps(f, "loss", "1 2");
}

static void a_file_that_a_resumed_run_replaced_is_read_again(void **state)
{
    fixture *f = *state;
    for (int i = 1; i <= 5; i++) append_step(f, i, i);
    refresh(f);
    fixture new = *f;
    memcpy(new.path, f->other, sizeof new.path);
    for (int i = 1; i <= 3; i++) append_step(&new, i, i); /* as tutti_metrics_open cuts back, by renaming */
    append(&new, "{\"ev\":\"resume\",\"step\":3}\n");
    for (int i = 4; i <= 9; i++) append_step(&new, i, 10 * i);
    assert_int_equal(rename(f->other, f->path), 0);
    refresh(f);
    assert_steps(f, "loss", "1 2 3 4 5 6 7 8 9");
    assert_true(f->sum.loss == 90);
    assert_int_equal(f->sum.nlines, 10);
}

static void a_file_that_was_emptied_is_read_again_however_long_it_is(void **state)
{
    fixture *f = *state;
    for (int i = 1; i <= 3; i++) append_step(f, i, i);
    refresh(f);
    write_text(f->path, "w", ""); /* the same inode, as a run with --fresh does */
    for (int i = 1; i <= 8; i++) append_step(f, i, 2 * i);
    refresh(f);
    assert_steps(f, "loss", "1 2 3 4 5 6 7 8");
    cJSON *answer = ask(f, "loss", 0, INT64_MAX, 100);
    assert_true(item(answer, "mean", 0) == 2);
    cJSON_Delete(answer);
    unlink(f->path);
    refresh(f);
    assert_int_equal(f->sum.step, -1);
}

static void steps_after_a_restart_take_the_place_of_those_before_it(void **state)
{
    fixture *f = *state;
    for (int i = 1; i <= 6; i++) append_step(f, i, i);
    append(f, "{\"ev\":\"eval\",\"step\":6,\"accuracy\":0.5,\"loss\":3}\n");
    append(f, "{\"ev\":\"restart\",\"step\":4,\"lost\":1,\"ranks\":2,\"epoch\":2,\"seconds\":0.25,\"ts\":2000}\n");
    refresh(f);
    assert_true(f->sum.is_recovering);
    assert_int_equal(f->sum.nrestarts, 1);
    append_step(f, 5, 50);
    refresh(f);
    assert_steps(f, "loss", "1 2 3 4 5");
    assert_steps(f, "accuracy", "");
    assert_false(f->sum.is_recovering);
    cJSON *answer = ask(f, "loss", 0, INT64_MAX, 100), *restarts = write_object(f, tutti_series_write_restarts);
    assert_true(item(answer, "max", 4) == 50);
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(restarts, "restarts"), 0);
    assert_true(number(first, "step") == 4 && number(first, "lost") == 1 && number(first, "seconds") == 0.25);
    cJSON_Delete(answer);
    cJSON_Delete(restarts);
}

/* As a run writes it that lost ranks at steps 6 and 3: the first restart stays, although the second went back behind
 * it. */
static void a_restart_ahead_of_the_run_moves_nothing(void **state)
{
    fixture *f = *state;
    for (int i = 1; i <= 3; i++) append_step(f, i, i);
    append(f, "{\"ev\":\"restart\",\"step\":6,\"lost\":1,\"seconds\":0.5}\n");
    refresh(f);
    assert_int_equal(f->sum.step, 3);
    append(f, "{\"ev\":\"restart\",\"step\":3,\"lost\":0,\"seconds\":0.5}\n");
    append_step(f, 4, 4);
    refresh(f);
    assert_int_equal(f->sum.step, 4);
    assert_int_equal(f->sum.nrestarts, 2);
    assert_steps(f, "loss", "1 2 3 4");
}

static void steps_that_are_played_again_show_once(void **state)
{
    fixture *f = *state;
    const int steps[] = {1, 2, 3, 2, 3, 4};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) append_step(f, steps[i], (double)i);
    refresh(f);
    assert_steps(f, "loss", "1 2 3 4");
    cJSON *answer = ask(f, "loss", 2, 3, 100);
    assert_true(item(answer, "mean", 0) == 3 && item(answer, "mean", 1) == 4);
    cJSON_Delete(answer);
}

static void a_number_that_is_no_number_stands_in_no_mean(void **state)
{
    fixture *f = *state;
    append_step(f, 1, 2);
    append(f, "{\"ev\":\"step\",\"step\":2,\"loss\":null,\"nan\":[\"loss\"]}\n");
    refresh(f);
    assert_true(isnan(f->sum.loss));
    cJSON *apart = ask(f, "loss", 0, INT64_MAX, 2), *together = ask(f, "loss", 0, INT64_MAX, 1);
    assert_true(isnan(item(apart, "mean", 1)) && item(apart, "count", 1) == 0);
    assert_true(item(together, "mean", 0) == 2 && item(together, "count", 0) == 1 && number(together, "total") == 2);
    cJSON_Delete(apart);
    cJSON_Delete(together);
}

static void the_summary_says_where_the_run_is(void **state)
{
    fixture *f = *state;
    append(f, "{\"ev\":\"plan\",\"step\":0,\"method\":\"sync-sgd\",\"ts\":1000}\n");
    for (int i = 1; i <= 4; i++) append_step(f, i * i, i); /* gaps of 3, 5 and 7 seconds */
    append(f, "{\"ev\":\"eval\",\"step\":16,\"accuracy\":0.75,\"loss\":1.5,\"ts\":1020}\n");
    append(f, "{\"ev\":\"cost\",\"step\":16,\"ranks\":2,\"compute\":1.5,\"exchange\":0.25,\"ts\":1021}\n");
    append(f, "{\"ev\":\"cost\",\"step\":16,\"ranks\":2,\"compute\":1,\"exchange\":0.25,\"ts\":1021}\n");
    append(f, "{\"ev\":\"end\",\"weights\":\"48bb630d1fac5ffa\",\"step\":16,\"signal\":15,\"ts\":1022}\n");
    refresh(f);
    assert_int_equal(f->sum.step, 16);
    assert_true(f->sum.accuracy == 0.75 && f->sum.epoch == 2 && f->sum.at == 1022 && f->sum.step_at == 1020);
    assert_true(f->sum.step_gap == 5);
    assert_string_equal(f->sum.weights, "48bb630d1fac5ffa");
    assert_false(f->sum.has_ended); /* a signal ended it */
    append(f, "{\"ev\":\"end\",\"weights\":\"48bb630d1fac5ffb\",\"step\":16,\"accuracy\":0.8,\"ts\":1023}\n");
    refresh(f);
    assert_true(f->sum.has_ended && f->sum.accuracy == 0.8);
    cJSON *cost = write_object(f, tutti_series_write_cost), *tags = write_object(f, tutti_series_write_tags);
    assert_true(number(cJSON_GetObjectItem(cost, "cost"), "compute") == 2.5);
    assert_true(number(cJSON_GetObjectItem(cost, "cost"), "exchange") == 0.5);
    char *text = cJSON_PrintUnformatted(tags);
    assert_string_equal(text, "{\"tags\":[\"loss\",\"lr\",\"ips\",\"accuracy\",\"test_loss\"]}");
    free(text);
    cJSON_Delete(cost);
    cJSON_Delete(tags);
}

static void buckets_keep_every_extreme_and_the_mean(void **state)
{
    fixture *f = *state;
    enum { N = 1000 };
    double values[N];
    for (int i = 0; i < N; i++) append_step(f, 3 * i, values[i] = (double)((i * 7919) % 1013) - 500);
    refresh(f);
    static const int cuts[][3] = {{0, 3 * N, 7},  {0, 3 * N, 1}, {100, 2000, 33},
                                  {299, 301, 10}, {5, 2990, 64}, {0, 2999, 1000}};
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        cJSON *answer = ask(f, "loss", cuts[c][0], cuts[c][1], cuts[c][2]);
        const int n = size_of(answer, "step");
        int row = (cuts[c][0] + 2) / 3, total = 0;
        assert_true(n <= cuts[c][2] && number(answer, "points") == n);
        for (int b = 0; b < n; b++) {
            const int end = row + (int)item(answer, "count", b);
            double min = values[row], max = min, sum = 0;
            assert_true(item(answer, "step", b) == 3 * row);
            for (; row < end; row++, total++) {
                min = fmin(min, values[row]);
                max = fmax(max, values[row]);
                sum += values[row];
            }
            assert_true(item(answer, "min", b) == min && item(answer, "max", b) == max);
            assert_true(item(answer, "mean", b) == sum / item(answer, "count", b)); /* sums of integers are exact */
        }
        const int last = cuts[c][1] / 3 < N - 1 ? cuts[c][1] / 3 : N - 1;
        assert_int_equal(row, last + 1);
        assert_true(number(answer, "total") == total);
        cJSON_Delete(answer);
    }
    cJSON *none = ask(f, "loss", 4000, 5000, 10); /* a tag that is known, without points there */
    assert_true(number(none, "points") == 0 && number(none, "total") == 0);
    cJSON_Delete(none);
    assert_null(ask(f, "weather", 0, INT64_MAX, 10));
}

static void values_taken_back_leave_no_trace_in_buckets(void **state)
{
    fixture *f = *state;
    for (int i = 1; i <= 100; i++) append_step(f, i, i > 37 ? 1e6 : 1);
    append(f, "{\"ev\":\"restart\",\"step\":37,\"lost\":0}\n");
    for (int i = 38; i <= 200; i++) append_step(f, i, 1);
    refresh(f);
    cJSON *answer = ask(f, "loss", 0, INT64_MAX, 3);
    for (int i = 0; i < size_of(answer, "max"); i++) assert_true(item(answer, "max", i) == 1);
    assert_true(number(answer, "total") == 200);
    cJSON_Delete(answer);
}

/* The bound is the contract; an answer takes a tenth of it, so other tests on this machine do not matter. */
static void a_million_points_are_answered_at_once(void **state)
{
    fixture *f = *state;
    enum { N = 1000000 };
    FILE *file = fopen(f->path, "w");
    for (int i = 1; i <= N; i++)
        fprintf(file, "{\"ev\":\"step\",\"step\":%d,\"loss\":%.16g,\"ips\":54236.3,\"ts\":1795261234.5}\n", i,
                i == 654321 ? 99.5 : 1 / (1 + 1e-4 * i) + 0.01 * sin(i));
    assert_int_equal(fclose(file), 0);
    double begin = tutti_clock_s();
    refresh(f);
    const double reading = tutti_clock_s() - begin;
    tutti_strbuf out = {0};
    tutti_json j = {.out = &out};
    begin = tutti_clock_s();
    tutti_json_open(&j, NULL, '{');
    assert_true(tutti_series_write_points(f->s, &(tutti_series_ask){"loss", 0, INT64_MAX, 1000}, &j));
    tutti_json_close(&j, '}');
    const double seconds = tutti_clock_s() - begin;
    print_message("%d points: read in %.2f s, answered in %.2f ms, %zu bytes\n", N, reading, 1e3 * seconds, out.length);
    assert_true(out.length <= 200000);
    assert_true(TESTING_SANITIZED || seconds <= 0.05);
    cJSON *answer = cJSON_Parse(out.text);
    double most = 0;
    for (int i = 0; i < size_of(answer, "max"); i++) most = fmax(most, item(answer, "max", i));
    assert_true(most == 99.5);
    assert_in_range(size_of(answer, "step"), 489, 1000);
    cJSON_Delete(answer);
    tutti_strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_that_does_not_exist_has_no_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_torn_last_line_waits_for_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_that_are_no_events_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(small_pieces_give_the_same_as_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_longer_than_a_piece_is_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_a_resumed_run_replaced_is_read_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_was_emptied_is_read_again_however_long_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_after_a_restart_take_the_place_of_those_before_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_restart_ahead_of_the_run_moves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_that_are_played_again_show_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_number_that_is_no_number_stands_in_no_mean, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_summary_says_where_the_run_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(buckets_keep_every_extreme_and_the_mean, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_taken_back_leave_no_trace_in_buckets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_million_points_are_answered_at_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
