/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_trace.c: traces of a training are read back as they were written, and nothing else is. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "svm/svm_trace.h"

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/tutti-svm-trace-%d.jsonl", (int)getpid());
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static tutti_svm_event make_event(int64_t i, bool over)
{
    tutti_svm_event e = {.pair = 1,
                         .npairs = 3,
                         .round = i,
                         .iterations = 100 * i,
                         .gap = 0.75,
                         .samples = 1000,
                         .active = 900 - i,
                         .eliminated = 100 + i,
                         .reconstructed = 2 * i,
                         .kernel_rows = 64 * i,
                         .cached_rows = 3 * i,
                         .seconds = 0.5,
                         .block = 1024,
                         .row_bytes = 4096 * i,
                         .collectives = 3 * i,
                         .bytes = 5000 * i,
                         .over = over};
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) e.spent_s[w] = 0.125 * (w + 1);
    return e;
}

static char *write_trace(const tutti_svm_event *events, int64_t n)
{
    tutti_metrics *to = NULL;
    tutti_failure err = {0};
    char *text;
    size_t nbytes;
    assert_int_equal(tutti_metrics_open(path, -1, &to, &err), TUTTI_OK);
    assert_int_equal(tutti_svm_trace_begin(to, 4, 2, &err), TUTTI_OK);
    for (int64_t i = 0; i < n; i++) assert_int_equal(tutti_svm_trace_event(to, &events[i], &err), TUTTI_OK);
    tutti_metrics_close(to);
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &text, &nbytes, &err), TUTTI_OK);
    return text;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    enum { N = 300 };
    tutti_svm_event events[N];
    tutti_failure err = {0};
    tutti_svm_trace t;
    for (int64_t i = 0; i < N; i++) events[i] = make_event(i, i == N - 1);
    char *text = write_trace(events, N);
    assert_true(tutti_svm_trace_is(path));
    assert_int_equal(tutti_svm_trace_read(path, &t, &err), TUTTI_OK);
    assert_true(t.nranks == 4 && t.nthreads == 2 && t.n == N);
    assert_true(t.events[7].pair == 1 && t.events[7].active == 893 && t.events[7].gap == 0.75 && !t.events[7].over);
    assert_true(t.events[7].spent_s[TUTTI_SVM_OTHER] == 0.75 && t.events[7].row_bytes == 28672);
    char *again = write_trace(t.events, t.n);
    assert_string_equal(text, again);
    tutti_svm_trace_release(&t);
    free(text);
    free(again);
}

static void refuse(const char *text, const char *words)
{
    tutti_svm_trace t = {0};
    tutti_failure err = {0};
    assert_int_equal(tutti_file_write_atomic(path, text, strlen(text), &err), TUTTI_OK);
    assert_int_equal(tutti_svm_trace_read(path, &t, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
    assert_null(t.events);
}

#define BEGINNING "{\"ev\":\"training\",\"ranks\":1,\"threads\":1}\n"

static void other_files_are_refused_with_their_line(void **state)
{
    (void)state;
    tutti_failure err = {0};
    tutti_svm_trace t;
    refuse("", "no round");
    refuse("model: mlp\n", "line 1");
    refuse("{\"ev\":\"step\",\"step\":1}\n", "line 1"); /* of tutti train */
    refuse("{\"ev\":\"training\",\"ranks\":0,\"threads\":1}\n", "ranks");
    refuse("{\"ev\":\"training\",\"ranks\":1.5,\"threads\":1}\n", "ranks");
    refuse("{\"ev\":\"training\",\"ranks\":1,\"threads\":-1}\n", "threads");
    refuse(BEGINNING, "no round");
    refuse(BEGINNING "{\"ev\":\"round\",\"pair\":0", "no round"); /* torn */
    refuse(BEGINNING "{\"ev\":\"round\",\"pair\":0}\n", "line 2 is none of a trace of svm-train: see its npairs");
    refuse(BEGINNING "{\"ev\":\"step\"}\n", "line 2");
    refuse(BEGINNING "{\"ev\":\"round\",\"pair\":\"x\"}\n", "pair");
    refuse(BEGINNING "{\"ev\":\"round\",\"pair\":0,\"npairs\":1,\"round\":1e16}\n", "its round");
    refuse(BEGINNING "{\"ev\":\"round\",\"pair\":0,\"npairs\":1,\"round\":-1}\n", "its round");
    assert_int_equal(tutti_svm_trace_read("/nowhere/t.jsonl", &t, &err), TUTTI_ERR_DATA);
    assert_false(tutti_svm_trace_is("/nowhere/t.jsonl"));
    assert_false(tutti_svm_trace_is(TUTTI_SOURCE_DIR "/examples/mlp.yaml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(other_files_are_refused_with_their_line),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
