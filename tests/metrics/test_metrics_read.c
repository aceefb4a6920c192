/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_read.c: what is read from metrics.jsonl. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "cli/command_folder.h"
#include "metrics/metrics.h"

static tutti_run_lines read_lines(const char *text)
{
    tutti_run_lines lines;
    tutti_failure err = {0};
    char path[128];
    put("metrics.jsonl", text);
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    if (tutti_run_lines_read(path, &lines, &err)) fail_msg("%s", err.text);
    return lines;
}

static void tests_costs_and_words_are_kept(void **state)
{
    (void)state;
    tutti_run_lines r = read_lines("{\"ev\":\"step\",\"step\":4,\"loss\":null,\"step_ms\":250,\"ips\":64}\n"
                                   "{\"ev\":\"eval\",\"step\":4,\"accuracy\":0.5,\"loss\":2,\"seconds\":1.5}\n"
                                   "{\"ev\":\"visits\",\"step\":8,\"words\":\"16 visits\"}\n"
                                   "{\"ev\":\"cost\",\"step\":8,\"ranks\":2,\"compute\":3,\"other\":0.5}\n"
                                   "{\"ev\":\"end\",\"step\":8,\"weights\":\"abc\",\"seconds\":4}\n"
                                   "{\"ev\":\"restart\",\"step\":9,\"seconds\":0.5}\n{\"ev\":\"torn");
    assert_true(r.restarts.n == 1 && r.restarts.x[0] == 9 && r.restarts.y[0] == 0.5);
    assert_true(r.loss.n == 1 && isnan(r.loss.y[0]) && r.speed.y[0] == 64);
    assert_true(r.times.n == 1 && r.times.x[0] == 4 && r.times.y[0] == 250 && r.step_ms == 250);
    assert_int_equal(r.ntests, 1);
    assert_true(r.tests[0].step == 4 && r.tests[0].seconds == 1.5 && r.tests[0].accuracy == 0.5);
    assert_true(r.cost[TUTTI_COST_COMPUTE] == 3 && r.nranks == 2);
    assert_true(r.has_ended && r.seconds == 4 && r.nstretches == 1 && r.last_step == 8);
    assert_string_equal(r.staleness, "16 visits");
    assert_string_equal(r.weights, "abc");
    tutti_run_lines_release(&r);
}

/* The first process was stopped at step 12, two steps after its last line, and had taken 2 s up to the test at 8; a
 * step takes 0.25 s. */
static void seconds_go_on_where_the_run_went_on(void **state)
{
    (void)state;
    tutti_run_lines r = read_lines("{\"ev\":\"step\",\"step\":5,\"step_ms\":250}\n"
                                   "{\"ev\":\"eval\",\"step\":8,\"seconds\":2}\n"
                                   "{\"ev\":\"step\",\"step\":10,\"step_ms\":250}\n"
                                   "{\"ev\":\"resume\",\"step\":12}\n"
                                   "{\"ev\":\"eval\",\"step\":16,\"seconds\":4}\n"
                                   "{\"ev\":\"end\",\"step\":20,\"seconds\":5,\"signal\":15}\n");
    assert_true(r.tests[0].seconds == 2);
    assert_true(r.tests[1].seconds == 7); /* 2, 4 steps of 0.25 s, 4 */
    assert_true(r.seconds == 8);
    assert_true(r.nstretches == 2 && !r.has_ended);
    tutti_run_lines_release(&r);
}

/* Killed at 12 after it had told of 8 at step 8: a step moves 1. Killed at 20 before a test: those behind 12 move what
 * later ones do, 3. */
static void bytes_go_on_where_the_run_went_on(void **state)
{
    (void)state;
    tutti_run_lines r = read_lines("{\"ev\":\"eval\",\"step\":4}\n"
                                   "{\"ev\":\"eval\",\"step\":8,\"exchanged_bytes\":8}\n"
                                   "{\"ev\":\"resume\",\"step\":12}\n"
                                   "{\"ev\":\"resume\",\"step\":16}\n"
                                   "{\"ev\":\"eval\",\"step\":18,\"exchanged_bytes\":6}\n"
                                   "{\"ev\":\"end\",\"step\":20,\"exchanged_bytes\":12,\"signal\":15}\n"
                                   "{\"ev\":\"resume\",\"step\":20}\n"
                                   "{\"ev\":\"eval\",\"step\":22,\"exchanged_bytes\":100}\n");
    assert_true(isnan(r.tests[0].bytes));
    assert_true(r.tests[1].bytes == 8);
    assert_true(r.tests[2].bytes == 8 + 8 * 3 + 6);        /* eight steps of which nobody has told */
    assert_true(r.tests[3].bytes == 8 + 8 * 3 + 12 + 100); /* it had told of all when it was stopped */
    tutti_run_lines_release(&r);
}

static void workers_and_centre_have_a_point_a_line(void **state)
{
    (void)state;
    tutti_run_lines r = read_lines("{\"ev\":\"centre\",\"step\":5,\"x\":1,\"y\":2}\n"
                                   "{\"ev\":\"worker\",\"step\":5,\"rank\":0,\"distance\":0.5,\"x\":1.5,\"y\":2}\n"
                                   "{\"ev\":\"worker\",\"step\":5,\"rank\":1,\"distance\":0.25,\"x\":1,\"y\":2.5}\n"
                                   "{\"ev\":\"worker\",\"step\":5,\"rank\":3,\"distance\":9,\"x\":9,\"y\":9}\n"
                                   "{\"ev\":\"centre\",\"step\":10,\"x\":3,\"y\":4}\n"
                                   "{\"ev\":\"worker\",\"step\":10,\"rank\":0,\"distance\":null,\"x\":null,\"y\":4}\n");
    assert_int_equal(r.centre.x.n, 2);
    assert_true(r.centre.x.x[1] == 10 && r.centre.x.y[1] == 3 && r.centre.y.y[1] == 4);
    assert_int_equal(r.nworkers, 2); /* a rank whose neighbour has no line is none */
    assert_int_equal(r.workers[0].x.n, 2);
    assert_true(r.workers[0].distance.y[0] == 0.5 && isnan(r.workers[0].distance.y[1]) && isnan(r.workers[0].x.y[1]));
    assert_int_equal(r.workers[1].x.n, 1);
    assert_true(r.workers[1].y.y[0] == 2.5 && r.workers[1].y.x[0] == 5);
    tutti_run_lines_release(&r);
}

static void an_end_is_known_by_its_step(void **state)
{
    (void)state;
    char path[128];
    put("metrics.jsonl",
        "{\"ev\":\"end\",\"step\":20,\"signal\":15}\n{\"ev\":\"resume\",\"step\":20}\n{\"ev\":\"step\",\"step\":25}\n");
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    assert_true(tutti_run_lines_end_at(path, 20));
    assert_false(tutti_run_lines_end_at(path, 25));
    snprintf(path, sizeof path, "%s/none.jsonl", dir);
    assert_false(tutti_run_lines_end_at(path, -2));
    assert_false(tutti_run_lines_end_at(path, 0));
}

static void what_is_no_json_is_refused_with_its_line(void **state)
{
    (void)state;
    tutti_run_lines r;
    tutti_failure err = {0};
    char path[128];
    put("metrics.jsonl", "{\"ev\":\"step\",\"step\":1}\nstep 2\n");
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    assert_int_equal(tutti_run_lines_read(path, &r, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "line 2 is not JSON"));
    tutti_run_lines_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tests_costs_and_words_are_kept),    cmocka_unit_test(seconds_go_on_where_the_run_went_on),
        cmocka_unit_test(bytes_go_on_where_the_run_went_on), cmocka_unit_test(workers_and_centre_have_a_point_a_line),
        cmocka_unit_test(an_end_is_known_by_its_step),       cmocka_unit_test(what_is_no_json_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_drop);
}
