/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_coll_bench.c: `tutti coll bench` from outside: rows, JSON, refusals, exit codes. Its figures are nobody's
 * business here. */
#include "testing.h"

#include <unistd.h>

#include "command_line.h"

static void every_collective_is_timed_and_right(void **state)
{
    (void)state;
    static const char *const collectives[] = {"allreduce", "reduce-scatter", "all-gather", "gather",
                                              "broadcast", "reduce",         "all-to-all", "barrier"};
    char arguments[300];
    for (int c = 0; c < 8; c++) {
        snprintf(arguments, sizeof arguments,
                 "coll bench --algo direct --ranks 3 --bytes 4,1KB,1MB --iters 30 --collective %s", collectives[c]);
        char *text = command_says(arguments, 0, "# Out of bounds values : 0 OK");
        assert_non_null(strstr(text, "\n        1000           250     float"));
        free(text);
    }
}

static void canonical_sums_and_auto_are_served(void **state)
{
    (void)state;
    expect("coll bench --ranks 2 --slots 8 --algo direct --bytes 64KB --iters 30", 0, "0 OK");
    expect("coll bench --ranks 2 --bytes 1KB --iters 30 --check 0", 0, "N/A");
}

static void rows_are_written_as_json(void **state)
{
    (void)state;
    char path[] = P_tmpdir "/tutti_bench_XXXXXX", arguments[300], line[2000];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    snprintf(arguments, sizeof arguments, "coll bench --algo one-shot --ranks 2 --bytes 1KB,2KB --iters 30 --json %s",
             path);
    expect(arguments, 0, "");
    FILE *f = fopen(path, "r"); /* it has taken the place of the empty one */
    assert_non_null(f);
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
    expect("coll bench --bytes 2", 2, "from 4 bytes");
    expect("coll bench --collective sum", 2, "");
    expect("coll bench --algo dirct --ranks 2 --bytes 4", 2, "direct");
    expect("coll bench --bites 4", 2, "bytes");
    expect("coll bench --help", 0, "");
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
