/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_group.c: groups of real processes: deaths, refusals, deadlines, shared memory. The test starts itself as
 * ranks; a rank tells what it saw through a pipe, one line each. */
#include "testing.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "collective/exchange/executor.h"
#include "collective/rank_processes.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { N = 5000 };

/* --- as a rank --- */

typedef struct {
    tutti_schedule *compiled, *lowered;
    tutti_region *in, *out;
    tutti_exchange *x;
} exact_sum;

static tutti_status open_sum(tutti_group *g, const char *algorithm, exact_sum *s, tutti_failure *err)
{
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = tutti_group_nranks(g)};
    tutti_status status = tutti_schedule_compile(algorithm, &q, &s->compiled, err);
    if (!status) status = tutti_schedule_lower(s->compiled, TUTTI_WIRE_MAPPED, &s->lowered, err);
    if (!status) status = tutti_region_create(g, "in", N * sizeof(float), &s->in, err);
    if (!status) status = tutti_region_create(g, "out", N * sizeof(float), &s->out, err);
    if (status) return status;
    const tutti_place in = {s->in, 0};
    const tutti_exchange_binding b = {.name = "sum", .n = N, .in = &in, .nin = 1, .out = {s->out, 0}};
    return tutti_exchange_create(g, s->lowered, &b, &s->x, err);
}

static tutti_status run_sum(tutti_group *g, exact_sum *s, int e, tutti_failure *err)
{
    int p = tutti_group_nranks(g), me = tutti_group_rank(g);
    float *in = tutti_region_base(s->in, me), *out = tutti_region_base(s->out, me);
    for (int i = 0; i < N; i++) in[i] = (float)(me * e + i % 11);
    tutti_exchange_start(s->x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    tutti_status status = tutti_exchange_wait(s->x, err);
    for (int i = 0; i < N && !status; i++)
        if (out[i] != (float)(e * p * (p - 1) / 2 + p * (i % 11)))
            status = tutti_fail(err, TUTTI_ERR_FAILED, "invocation %d: element %d is wrong", e, i);
    return status;
}

static void close_sum(exact_sum *s)
{
    tutti_exchange_destroy(s->x);
    tutti_region_destroy(s->in), tutti_region_destroy(s->out);
    tutti_schedule_destroy(s->lowered), tutti_schedule_destroy(s->compiled);
}

static tutti_status sum_rank(tutti_group *g, tutti_failure *err)
{
    static const char *const algorithms[] = {"direct", "one-shot", "ring"};
    tutti_status status = TUTTI_OK;
    for (int a = 0; a < 3 && !status; a++) {
        exact_sum s = {0};
        status = open_sum(g, algorithms[a], &s, err);
        for (int e = 0; e < 50 && !status; e++) status = run_sum(g, &s, e, err);
        close_sum(&s);
    }
    return status;
}

/* One rank kills itself in the middle; TEST_DIE is "rank step". */
static tutti_status dying_rank(tutti_group *g, tutti_failure *err)
{
    exact_sum s = {0};
    char *rest;
    long rank = strtol(getenv("TEST_DIE"), &rest, 10), step = strtol(rest, NULL, 10);
    tutti_status status = open_sum(g, "direct", &s, err);
    for (int e = 0; e < 100000 && !status; e++) {
        if (tutti_group_rank(g) == rank && e == step) {
            say("dies");
            raise(SIGKILL);
        }
        status = step % 3 ? run_sum(g, &s, e, err) : tutti_group_barrier(g, "step", err);
    }
    close_sum(&s);
    return status;
}

static tutti_status stopped_rank(tutti_group *g, tutti_failure *err)
{
    exact_sum s = {0};
    tutti_status status = open_sum(g, "direct", &s, err);
    if (!status && tutti_group_rank(g) == 1) raise(SIGSTOP);
    if (!status) status = run_sum(g, &s, 1, err);
    close_sum(&s);
    return status;
}

static int run_as_rank(const char *mode)
{
    tutti_group_config c;
    tutti_failure err = {0};
    tutti_group *g = NULL;
    tutti_status s = tutti_group_config_from_env(&c, &err);
    bool odd = c.rank == 1;
    c.fingerprint = !strcmp(mode, "fingerprint") && odd ? "job\nbatch: 32\nend" : "job\nbatch: 64\nend";
    if (!strcmp(mode, "count") && odd) c.nranks = 3;
    if (!strcmp(mode, "cookie") && odd) c.cookie++;
    if (!strcmp(mode, "isa") && odd) setenv("TUTTI_ISA", "generic", 1);
    if (!strcmp(mode, "late") && odd) pause();
    if (!s) s = tutti_group_join(&c, &g, &err);
    if (!s && !strcmp(mode, "sum")) s = sum_rank(g, &err);
    if (!s && !strcmp(mode, "die")) s = dying_rank(g, &err);
    if (!s && !strcmp(mode, "stop")) s = stopped_rank(g, &err);
    say(s ? err.text : "fine");
    tutti_group_leave(g);
    return s;
}

/* --- as the test --- */

static int count_files(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static void processes_sum_exactly_over_shared_memory(void **state)
{
    (void)state;
    outcome o;
    int before = count_files("/dev/shm");
    for (int p = 1; p <= 4; p++) {
        run_mode("test_ranks_group", "sum", p, &o);
        if (o.exit_code) fail_msg("%d ranks: %s %s", p, o.words, o.heard[0]);
        for (int r = 0; r < p; r++) expect_words(&o, r, "fine");
    }
    assert_int_equal(count_files("/dev/shm"), before);
}

static void a_killed_rank_is_named_by_all_others_within_a_second(void **state)
{
    (void)state;
    int before = count_files("/dev/shm");
    for (uint32_t trial = 0; trial < 12; trial++) {
        tutti_random4 random = tutti_random(trial, TUTTI_STREAM_TEST, 0, 0);
        int victim = (int)(random.word[0] % 3), step = (int)(random.word[1] % 40);
        char die[32], name[16];
        outcome o;
        snprintf(die, sizeof die, "%d %d", victim, step);
        snprintf(name, sizeof name, "rank %d ", victim);
        setenv("TEST_DIE", die, 1);
        run_mode("test_ranks_group", "die", 3, &o);
        assert_int_equal(o.exit_code, 128 + SIGKILL);
        assert_non_null(strstr(o.words, "was killed by signal 9"));
        for (int r = 0; r < 3; r++) {
            if (r == victim) continue;
            expect_words(&o, r, " died");
            expect_words(&o, r, name);
            assert_true(o.at[r] - o.at[victim] < 1);
            if (step % 3) expect_words(&o, r, "exchange 'sum'");
        }
        assert_non_null(strstr(o.words, "ended with 4 (peer lost)"));
    }
    assert_int_equal(count_files("/dev/shm"), before);
}

/* Every rank gets the same refusal with both values. */
static void refuse(const char *mode, const char *zeros, const char *others)
{
    outcome o;
    run_mode("test_ranks_group", mode, 2, &o);
    assert_int_equal(o.exit_code, TUTTI_ERR_RENDEZVOUS);
    for (int r = 0; r < 2; r++) {
        expect_words(&o, r, zeros);
        expect_words(&o, r, others);
    }
}

static void test_f29_disagreement_is_refused_with_both_values(void **state)
{
    (void)state;
    setenv("TUTTI_DEADLINE_S", "10", 1);
    refuse("fingerprint", "rank 0 has 'batch: 64'", "rank 1 has 'batch: 32'");
    refuse("count", "rank 0 has 2 ranks", "has 3 ranks");
    unsetenv("TUTTI_DEADLINE_S");
}

static void test_f29_another_instruction_set_is_refused(void **state)
{
    (void)state;
    setenv("TUTTI_ISA", "avx2", 1); /* rank 1 sets generic for itself */
    outcome o;
    run_mode("test_ranks_group", "isa", 2, &o);
    unsetenv("TUTTI_ISA");
    if (o.exit_code == 0) skip(); /* a processor that has only the generic row */
    assert_int_equal(o.exit_code, TUTTI_ERR_RENDEZVOUS);
    expect_words(&o, 0, "has generic");
}

static void a_neighbours_rank_is_sent_away_and_the_missing_one_named(void **state)
{
    (void)state;
    outcome o;
    setenv("TUTTI_DEADLINE_S", "0.5", 1);
    run_mode("test_ranks_group", "cookie", 2, &o);
    assert_int_equal(o.exit_code, TUTTI_ERR_RENDEZVOUS);
    expect_words(&o, 1, "another job listens here");
    expect_words(&o, 0, "not arrived: rank 1");
    run_mode("test_ranks_group", "late", 3, &o);
    expect_words(&o, 0, "not arrived: rank 1");
    expect_words(&o, 2, "not arrived: rank 1");
    unsetenv("TUTTI_DEADLINE_S");
}

static void a_stopped_rank_is_named_at_the_deadline(void **state)
{
    (void)state;
    outcome o;
    setenv("TUTTI_DEADLINE_S", "0.5", 1);
    run_mode("test_ranks_group", "stop", 3, &o);
    unsetenv("TUTTI_DEADLINE_S");
    assert_int_equal(o.exit_code, TUTTI_ERR_PEER);
    expect_words(&o, 0, "not arrived: rank 1 ");
    expect_words(&o, 2, "not arrived: rank 1 ");
    assert_non_null(strstr(o.words, "rank 1 (pid"));
    assert_non_null(strstr(o.words, "has been killed"));
}

int main(int argc, char **argv)
{
    if (is_rank(argc)) return run_as_rank(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_sum_exactly_over_shared_memory),
        cmocka_unit_test(a_killed_rank_is_named_by_all_others_within_a_second),
        cmocka_unit_test(test_f29_disagreement_is_refused_with_both_values),
        cmocka_unit_test(test_f29_another_instruction_set_is_refused),
        cmocka_unit_test(a_neighbours_rank_is_sent_away_and_the_missing_one_named),
        cmocka_unit_test(a_stopped_rank_is_named_at_the_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
