/* SPDX-License-Identifier: Apache-2.0 */
/* test_predict_wait.c: a prediction that takes long says so, on a line a while; one that does not says nothing. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/predict/predict_wait.c"

static int lines_of(const char *path)
{
    char line[200];
    int n = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) && strchr(line, '\n')) {
        assert_memory_equal(line, "predicting 1024 ranks (3 of 4), ", 32);
        n++;
    }
    fclose(f);
    return n;
}

static void who_waits_is_told_again_and_again(void **state)
{
    (void)state;
    char path[] = "/tmp/tutti-wait-XXXXXX";
    FILE *to = fdopen(mkstemp(path), "w");
    assert_non_null(to);
    tutti_predict_wait *w = tutti_predict_wait_begin(to, 0.01);
    tutti_predict_wait_at(w, 1024, 2, 4);
    while (lines_of(path) < 2) nanosleep(&(struct timespec){0, 10000000}, NULL); /* as long as it takes */
    tutti_predict_wait_end(w);
    fclose(to);
    unlink(path);
}

static void what_is_quick_says_nothing(void **state)
{
    (void)state;
    FILE *to = tmpfile();
    assert_non_null(to);
    tutti_predict_wait *w = tutti_predict_wait_begin(to, 3600);
    tutti_predict_wait_at(w, 8, 0, 1);
    tutti_predict_wait_end(w);
    assert_int_equal(ftell(to), 0);
    fclose(to);
    tutti_predict_wait_at(NULL, 8, 0, 1); /* no thread could be had */
    tutti_predict_wait_end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_is_told_again_and_again),
        cmocka_unit_test(what_is_quick_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
