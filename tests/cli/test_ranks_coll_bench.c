/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_coll_bench.c: `tutti coll bench` from outside: rows, JSON, refusals, exit codes. Its figures are nobody's business here. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(const char *arguments, char *out, size_t size)
{
    char command[600];
    snprintf(command, sizeof command, "%s coll bench %s 2>&1", TUTTI_PROGRAM, arguments);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(out, 1, size - 1, f);
    out[n] = '\0';
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void every_collective_is_timed_and_right(void **state)
{
    (void)state;
    static const char *const collectives[] = {"allreduce", "reduce-scatter", "all-gather", "gather",
                                              "broadcast", "reduce",         "all-to-all", "barrier"};
    char out[8000], arguments[300];
    for (int c = 0; c < 8; c++) {
        snprintf(arguments, sizeof arguments, "--algo direct --ranks 3 --bytes 4,1KB,1MB --iters 30 --collective %s",
                 collectives[c]);
        int code = run(arguments, out, sizeof out);
        if (code != 0) fail_msg("%s: exit code %d: %s", collectives[c], code, out);
        assert_non_null(strstr(out, "# Out of bounds values : 0 OK"));
        assert_non_null(strstr(out, "\n        1000           250     float"));
    }
}

static void canonical_sums_and_auto_are_served(void **state)
{
    (void)state;
    char out[8000];
    assert_int_equal(run("--ranks 2 --slots 8 --algo direct --bytes 64KB --iters 30", out, sizeof out), 0);
    assert_non_null(strstr(out, "0 OK"));
    assert_int_equal(run("--ranks 2 --bytes 1KB --iters 30 --check 0", out, sizeof out), 0);
    assert_non_null(strstr(out, "N/A"));
}

static void rows_are_written_as_json(void **state)
{
    (void)state;
    char path[] = P_tmpdir "/tutti_bench_XXXXXX", arguments[300], out[8000], line[2000];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    snprintf(arguments, sizeof arguments, "--algo one-shot --ranks 2 --bytes 1KB,2KB --iters 30 --json %s", path);
    assert_int_equal(run(arguments, out, sizeof out), 0);
    FILE *f = fdopen(fd, "r");
    int rows = 0;
    for (; fgets(line, sizeof line, f); rows++) {
        assert_non_null(strstr(line, "\"out_of_place\":{\"algorithm\":\"one-shot\",\"time\":"));
        assert_non_null(strstr(line, "\"nwrong\":0"));
        assert_non_null(strstr(line, "\"bound\":"));
    }
    assert_int_equal(rows, 2);
    fclose(f);
    unlink(path);
}

static void what_cannot_be_timed_is_refused_with_words(void **state)
{
    (void)state;
    char out[8000];
    assert_int_equal(run("--bytes 2", out, sizeof out), 2);
    assert_non_null(strstr(out, "from 4 bytes"));
    assert_int_equal(run("--collective sum", out, sizeof out), 2);
    assert_int_equal(run("--algo dirct --ranks 2 --bytes 4", out, sizeof out), 2);
    assert_non_null(strstr(out, "direct"));
    assert_int_equal(run("--bites 4", out, sizeof out), 2);
    assert_non_null(strstr(out, "bytes"));
    assert_int_equal(run("--help", out, sizeof out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_is_timed_and_right),
        cmocka_unit_test(canonical_sums_and_auto_are_served),
        cmocka_unit_test(rows_are_written_as_json),
        cmocka_unit_test(what_cannot_be_timed_is_refused_with_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
