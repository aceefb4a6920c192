/* SPDX-License-Identifier: Apache-2.0 */
/* test_chrome_trace.c: events of a small trace, read by cJSON: times, names, threads, collectives. (The real readers'
 * judgement: tests/oracle/read_traces.py.) */
#include "testing.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/trace.h"

enum { FORWARD, STEP, SUMS, LOAD, OF_SOME };
static const int32_t some[] = {3, 1};
static const tutti_span_label labels[] = {
    [FORWARD] = {.name = "forward \"conv1\"", .track = TUTTI_TRACK_COMPUTE},
    [STEP] = {.name = "ProfilerStep", .track = TUTTI_TRACK_COMPUTE, .numbered = true},
    [SUMS] = {.name = "gradients of bucket 0",
              .track = TUTTI_TRACK_EXCHANGE,
              .collective = "reduce-scatter",
              .algorithm = "direct",
              .type = "i64",
              .elements_in = 100,
              .elements_out = 50},
    [LOAD] = {.name = "load", .track = TUTTI_TRACK_LOADER},
    [OF_SOME] = {.name = "sum of two",
                 .track = TUTTI_TRACK_EXCHANGE,
                 .collective = "allreduce",
                 .algorithm = "direct",
                 .type = "f32",
                 .members = some,
                 .nmembers = 2},
};

static cJSON *print_and_parse(tutti_rank_spans *ranks, int nranks)
{
    const tutti_trace trace = {labels, ranks, nranks, 1700000000000000000};
    tutti_strbuf text = {0};
    tutti_chrome_trace_print(&trace, &text);
    cJSON *root = cJSON_ParseWithOpts(text.text, NULL, true);
    if (!root) fail_msg("no JSON: %s", text.text);
    tutti_strbuf_release(&text);
    return root;
}

/* The occurrence-th X or M event of that name in a process. */
static const cJSON *event(const cJSON *root, const char *name, int pid, int occurrence)
{
    const cJSON *e, *events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents");
    cJSON_ArrayForEach(e, events)
    {
        if (!strcmp(cJSON_GetObjectItemCaseSensitive(e, "name")->valuestring, name) &&
            cJSON_GetObjectItemCaseSensitive(e, "pid")->valueint == pid && occurrence-- == 0)
            return e;
    }
    fail_msg("no event '%s' of process %d", name, pid);
    return NULL;
}

static double number(const cJSON *e, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(e, key);
    if (!cJSON_IsNumber(item)) fail_msg("no number %s", key);
    return item->valuedouble;
}

static void times_are_microseconds_after_the_earliest_span_of_all_ranks(void **state)
{
    (void)state;
    tutti_span a[] = {{5000500, 5002000, FORWARD, 7}, {5000000, 5009000, STEP, 7}},
               b[] = {{4000000, 4000001, FORWARD, 7}};
    tutti_rank_spans ranks[] = {{"rank 0", a, 2}, {"rank 1", b, 1}};
    cJSON *root = print_and_parse(ranks, 2);
    const cJSON *step = event(root, "ProfilerStep#7", 0, 0), *forward = event(root, "forward \"conv1\"", 0, 0);
    assert_true(number(root, "baseTimeNanoseconds") == 1700000000004000000.0);
    assert_true(number(step, "ts") == 1000);
    assert_true(number(step, "dur") == 9);
    assert_true(number(forward, "ts") == 1000.5);
    assert_true(number(forward, "dur") == 1.5);
    assert_true(number(event(root, "forward \"conv1\"", 1, 0), "dur") == 0.001);
    assert_ptr_equal(step->next, forward); /* what encloses comes first */
    cJSON_Delete(root);
}

static void exchanges_that_overlap_get_lanes_of_their_own(void **state)
{
    (void)state;
    tutti_span a[] = {{10, 40, SUMS, 1}, {20, 30, SUMS, 1}, {35, 60, SUMS, 1}, {15, 18, LOAD, 1}};
    tutti_rank_spans ranks[] = {{"rank 0", a, 4}};
    cJSON *root = print_and_parse(ranks, 1);
    const char *name = "gradients of bucket 0";
    assert_int_equal(number(event(root, name, 0, 0), "tid"), 1);
    assert_int_equal(number(event(root, name, 0, 1), "tid"), 2);
    assert_int_equal(number(event(root, name, 0, 2), "tid"), 2); /* free again */
    assert_true(number(event(root, "load", 0, 0), "tid") > 2);
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(event(root, "thread_name", 0, 1), "args");
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(args, "name")->valuestring, "exchange 1");
    cJSON_Delete(root);
}

static void an_exchange_says_what_travels_between_whom(void **state)
{
    (void)state;
    tutti_span a[] = {{10, 40, SUMS, 1}}, b[] = {{10, 5, SUMS, 1}, {50, 60, OF_SOME, 1}};
    tutti_rank_spans ranks[] = {{"rank 0", a, 1}, {"rank 1", b, 2}};
    cJSON *root = print_and_parse(ranks, 2);
    const cJSON *e = event(root, "gradients of bucket 0", 1, 0);
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(e, "args");
    assert_true(number(e, "dur") == 0); /* never below */
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(args, "Collective name")->valuestring, "_reduce_scatter_base");
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(args, "dtype")->valuestring, "Long");
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(args, "Process Group Ranks")->valuestring, "[0, 1]");
    assert_true(number(args, "In msg nelems") == 100);
    assert_true(number(args, "Out msg nelems") == 50);
    assert_true(number(args, "Group size") == 2);
    assert_true(number(args, "Rank") == 1);
    args = cJSON_GetObjectItemCaseSensitive(event(root, "sum of two", 1, 0), "args");
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(args, "Process Group Ranks")->valuestring, "[3, 1]");
    assert_true(number(args, "Group size") == 2);
    cJSON_Delete(root);
}

static void a_full_recorder_counts_what_it_drops(void **state)
{
    (void)state;
    tutti_spans s;
    tutti_spans_init(&s, 2);
    for (int i = 0; i < 5; i++) tutti_spans_add(&s, i, 1, i, i + 1);
    assert_true(s.n == 2);
    assert_true(s.dropped == 3);
    assert_true(s.spans[1].label == 1);
    tutti_spans_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_microseconds_after_the_earliest_span_of_all_ranks),
        cmocka_unit_test(exchanges_that_overlap_get_lanes_of_their_own),
        cmocka_unit_test(an_exchange_says_what_travels_between_whom),
        cmocka_unit_test(a_full_recorder_counts_what_it_drops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
