/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_compare_command.c: `tutti compare`: what it runs, what it does not run again, what it refuses, what it
 * writes. */
#include "testing.h"

#include <signal.h>
#include <sys/stat.h>

#include "cli/command_folder.h"

static const char job[] = "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 30}\nbatch: 16\nsteps: 8\n"
                          "eval_every_epochs: 1\nlog_every: 2\noptimiser: {rule: sgd, lr: 0.02}\ntensorboard: false\n";
#define LINE "compare $/job.yaml --ranks 2 --out $/out --seeds 2 --methods "

static int make(void **state)
{
    const int problem = folder_make(state);
    if (!problem) put("job.yaml", job);
    return problem;
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) n++;
    return n;
}

static bool is_there(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void a_page_and_a_table_hold_all_runs(void **state)
{
    (void)state;
    check(LINE "sync-sgd,async-easgd:period=2 --until accuracy=1", 0, "compare.html");
    char *page = get("out/compare.html"), *table = get("out/compare.csv");
    assert_non_null(strstr(page, "sync-sgd"));
    assert_non_null(strstr(page, "async-easgd:period=2"));
    assert_non_null(strstr(page, "not reached by 2 of 2")); /* by no run of 8 steps */
    assert_int_equal(count(page, "visits to the centre"), 2);
    assert_null(strstr(page, "http"));
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "src="));
    assert_null(strstr(page, "href="));
    assert_null(strstr(page, "nan"));
    assert_true(!strncmp(table, "method,seed,step,samples,seconds,accuracy,loss,bytes,note\n", 58));
    assert_int_equal(count(table, "\n"), 1 + 2 * 2 * 5); /* 5 tests a run */
    assert_int_equal(count(table, "\nsync-sgd,1,4,64,"), 1);
    assert_int_equal(count(table, "\nsync-sgd,1,8,128,"), 1);
    assert_int_equal(count(table, "\nasync-easgd:period=2,2,8,128,"), 1);
    free(page);
    free(table);
}

#define SHARDED "sync-sgd:exchange.algorithm=direct:exchange.update=sharded" /* not as the job chooses */

/* The last but one field of the row that begins so. (Inlined, gcc 12 takes `table` for a local variable.) */
__attribute__((noinline)) static long long bytes_of(const char *table, const char *begins)
{
    const char *field = strstr(table, begins);
    assert_non_null(field);
    field += strlen(begins);
    for (int i = 0; i < 3; i++) field += strcspn(field, ",") + 1;
    return atoll(field);
}

/* mlp's vector has 101,776 elements. Workers of easgd visit once a period each; rank 0 has the centre, so what moves is
 * rank 1's: a vector there and one back. In sync-sgd each of two ranks reads half of the gradients and half of the
 * weights, and 48 control numbers. */
static void bytes_that_were_sent_stand_beside_each_test(void **state)
{
    (void)state;
    static const struct {
        const char *label;
        int step;
        long long bytes;
    } want[] = {{SHARDED, 2, 2 * (2 * 101776 * 4 + 2 * 48 * 4)},
                {SHARDED, 8, 8 * (2 * 101776 * 4 + 2 * 48 * 4)},
                {"easgd", 2, 2 * 2 * 101776 * 4},
                {"easgd", 8, 8 * 2 * 101776 * 4},
                {"easgd:period=4", 8, 2 * 2 * 101776 * 4}};
    free(says(LINE SHARDED ",easgd,easgd:period=4", 0, " MB sent "));
    char *page = get("out/compare.html"), *table = get("out/compare.csv"), row[160];
    assert_non_null(strstr(page, "Test error over bytes sent"));
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        snprintf(row, sizeof row, "\n%s,1,%d,%d,", want[i].label, want[i].step, want[i].step * 16);
        assert_int_equal(bytes_of(table, row), want[i].bytes);
    }
    free(page);
    free(table);
}

static void tests_are_as_many_as_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *sets;
        int ntests;
    } cases[] = {{"--set eval_points=8", 8}, {"--set eval_points=0", 2}, {"--set eval_every_epochs=0.25", 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[200];
        snprintf(line, sizeof line, "compare $/job.yaml --methods sync-sgd --out $/out%d %s", (int)i, cases[i].sets);
        free(says(line, 0, "compare.csv"));
        char name[32];
        snprintf(name, sizeof name, "out%d/compare.csv", (int)i);
        char *table = get(name);
        assert_int_equal(count(table, "\n"), 1 + cases[i].ntests);
        free(table);
    }
}

static void a_rank_is_held_up_in_all_runs_or_in_none(void **state)
{
    (void)state;
    check(LINE "sync-sgd --slow 2=3", 2, "--slow 2=3: there are ranks 0 to 1");
    check(LINE "sync-sgd --stall 1=3", 2, "--stall 1=3: RANK=SECONDS@STEP, such as");
    check(LINE "sync-sgd --slow 1=0.5", 2, "--slow 1=0.5: RANK=FACTOR with a factor of 1 to 1000");
    assert_false(is_there("out"));
    free(says(LINE "sync-sgd,easgd --set eval_points=0 --stall 1=0.3@6 --slow 0=2", 0, "compare.csv"));
    char *page = get("out/compare.html"), *table = get("out/compare.csv");
    assert_non_null(strstr(page, "Held up on purpose: --slow 0=2, --stall 1=0.3@6. "));
    for (const char *line = table; (line = strstr(line, ",8,128,")); line++)
        assert_true(strtod(line + 7, NULL) >= 0.3); /* the other one waits, before no test */
    char *text = says(LINE "sync-sgd,easgd --set eval_points=0 --stall 1=0.3@6 --slow 0=2", 0, "done before");
    assert_int_equal(count(text, "done before"), 4);
    free(text);
    check(LINE "sync-sgd,easgd --slow 0=2", 2, "/sync-sgd-1 holds a run with --slow 0=2 --stall 1=0.3@6, not with ");
    check(LINE "sync-sgd,easgd", 2, "not with none: give another --out");
    free(page);
    free(table);
}

static void a_rule_that_is_not_the_papers_is_said(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"diloco:optimiser.rule=momentum", "go by adamw, this job's by momentum"},
                                           {"hogwild-sgd:optimiser.rule=nesterov", "go by sgd, this job's by nesterov"},
                                           {"easgd:optimiser.rule=adamw", "go by sgd, momentum, nesterov, this job's"},
                                           {"diloco:optimiser.rule=adamw", NULL},
                                           {"local-sgd:optimiser.rule=nesterov", NULL},
                                           {"sync-sgd:optimiser.rule=lamb", NULL}};
    char line[160], name[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line, "compare $/job.yaml --ranks 2 --out $/p%d --methods %s", (int)i, cases[i][0]);
        char *text = says(line, 0, "compare.csv");
        assert_int_equal(count(text, "its paper's workers go by"), cases[i][1] != NULL);
        if (cases[i][1]) assert_non_null(strstr(text, cases[i][1]));
        free(text);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(cases[i][0], ":"), cases[i][0]);
        snprintf(line, sizeof line, "train $/job.yaml --ranks 2 --dry-run --set method=%s --set %s", name,
                 cases[i][0] + strlen(name) + 1);
        text = says(line, 0, "# memory of a rank");
        assert_int_equal(count(text, "its paper's workers go by"), cases[i][1] != NULL);
        free(text);
    }
}

static void what_has_been_done_is_not_done_again(void **state)
{
    (void)state;
    free(says(LINE "sync-sgd,easgd", 0, "run 4 of 4"));
    char *before = get("out/easgd-2/metrics.jsonl"), *table = get("out/compare.csv");
    char *text = says(LINE "sync-sgd,easgd", 0, "done before");
    assert_int_equal(count(text, "done before"), 4);
    assert_int_equal(count(text, "run "), 0);
    free(text);

    char path[128];
    snprintf(path, sizeof path, "%s/out/sync-sgd-2", dir);
    assert_int_equal(tutti_file_remove_tree(path, NULL), TUTTI_OK);
    text = says(LINE "sync-sgd,easgd", 0, "run 3 of 4: sync-sgd, seed 2\n");
    assert_int_equal(count(text, "done before"), 3);
    assert_int_equal(count(text, "run "), 1);
    free(text);
    char *after = get("out/easgd-2/metrics.jsonl");
    assert_string_equal(before, after);
    free(before);
    free(after);
    free(table);
}

static void another_job_in_the_folder_is_not_taken_for_done(void **state)
{
    (void)state;
    check(LINE "sync-sgd --seeds=1", 2, "--seeds is given twice");
    check("compare $/job.yaml --methods sync-sgd --out $/out", 0, "run 1 of 1");
    char *text = says("compare $/job.yaml --methods sync-sgd --out $/out --set steps=12", 0, "run 1 of 1");
    assert_int_equal(count(text, "done before"), 0);
    free(text);
    char *page = get("out/compare.html");
    assert_non_null(strstr(page, "in 2 stretches")); /* it went on from step 8 */
    free(page);
    /* The run refuses what it cannot go on with; its words and its code are those of the command. */
    check("compare $/job.yaml --methods sync-sgd --out $/out --set optimiser.lr=0.1", 2,
          "sync-sgd seed 1 ended with 2: ");
}

static void what_cannot_be_run_is_refused_before_the_first_run(void **state)
{
    (void)state;
    check(LINE "sync-sgd,async-eagsd", 2, "--methods: 'async-eagsd' is not a method; did you mean 'async-easgd'?");
    check(LINE "sync-sgd,,easgd", 2, "a name is missing");
    check(LINE "sync-sgd,sync-sgd", 2, "sync-sgd is given twice");
    check(LINE "sync-sgd,easgd:period", 2, "'period' is not a KEY=VALUE");
    check(LINE "sync-sgd,easgd:perio=2", 2, "did you mean 'method.period'?");
    check(LINE "sync-sgd,easgd:name=easgd", 2, "the method's name comes first");
    check(LINE "easgd,sync-sgd:period=2", 2, "has no effect with 'method: sync-sgd'; it is for local-sgd");
    check(LINE "sync-sgd,async-easgd:rho=1000", 2, "async-easgd:rho=1000: ");
    check(LINE "sync-sgd,easgd --set batch=15", 2, "batch 15 does not divide into 2 ");
    check("compare $/job.yaml --out $/out", 2, "--methods is missing");
    check("compare --methods sync-sgd", 2, "one job file is wanted");
    static const char *const wrong[] = {"accuracy",  "accuracy=",    "accuracy=98.8", "seconds=0",
                                        "seconds=x", "accuracy=nan", "steps=4",       "accuracy=0.5x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[160];
        snprintf(line, sizeof line, LINE "sync-sgd --until %s", wrong[i]);
        check(line, 2, "--until: ");
    }
    check("compare $/job.yaml --methods sync-sgd --seeds 0", 2, "--seeds: 0 is outside 1 .. 1000");
    check("compare $/job.yaml --methods sync-sgd --seeds many", 2, "--seeds: 'many' is not a whole number");
    assert_false(is_there("out"));
}

/* Long enough that it is still running when the signal comes: it would take minutes. */
static void a_signal_saves_the_run_and_the_same_command_goes_on(void **state)
{
    (void)state;
    char *words =
        in_folder("cd '" TUTTI_SOURCE_DIR "' && exec '" TUTTI_PROGRAM "' compare $/job.yaml --methods sync-sgd "
                  "--out $/out --set steps=100000000 --set checkpoint.every_steps=1000000 >$/log 2>&1");
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", words, NULL);
        _exit(127);
    }
    char *lines = NULL;
    for (int i = 0; i < 3000 && !(lines && strstr(lines, "\"ev\":\"step\"")); i++) { /* until it has begun */
        usleep(20000);
        free(lines);
        lines = is_there("out/sync-sgd-1/metrics.jsonl") ? get("out/sync-sgd-1/metrics.jsonl") : NULL;
    }
    assert_non_null(lines);
    int status;
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(kill(pid, SIGTERM), 0); /* within a second: the same request */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGINT);
    free(lines);
    lines = get("out/sync-sgd-1/metrics.jsonl");
    assert_non_null(strstr(lines, "\"signal\":15")); /* it has saved */
    assert_false(is_there("out/compare.html"));
    free(lines);
    lines = get("log");
    assert_non_null(strstr(lines, "stopped by signal 2 with 0 of 1 runs done; the same command goes on from there"));
    free(lines);
    free(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_page_and_a_table_hold_all_runs, make, folder_drop),
        cmocka_unit_test_setup_teardown(bytes_that_were_sent_stand_beside_each_test, make, folder_drop),
        cmocka_unit_test_setup_teardown(tests_are_as_many_as_asked_for, make, folder_drop),
        cmocka_unit_test_setup_teardown(a_rank_is_held_up_in_all_runs_or_in_none, make, folder_drop),
        cmocka_unit_test_setup_teardown(a_rule_that_is_not_the_papers_is_said, make, folder_drop),
        cmocka_unit_test_setup_teardown(what_has_been_done_is_not_done_again, make, folder_drop),
        cmocka_unit_test_setup_teardown(another_job_in_the_folder_is_not_taken_for_done, make, folder_drop),
        cmocka_unit_test_setup_teardown(what_cannot_be_run_is_refused_before_the_first_run, make, folder_drop),
        cmocka_unit_test_setup_teardown(a_signal_saves_the_run_and_the_same_command_goes_on, make, folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
