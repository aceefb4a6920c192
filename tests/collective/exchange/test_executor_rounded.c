/* SPDX-License-Identifier: Apache-2.0 */
/* test_executor_rounded.c: f32 sums of what was rounded to 16 bits to travel, over shared memory and over the wire tcp:
 * exact where rounding changes nothing, within P u max |g| where it does (u = 2^-8 for bf16, 2^-11 for f16), half of
 * the bytes; and what is refused. Ranks are threads. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "collective/exchange/executor.h"
#include "collective/thread_ranks.h"
#include "collective/wired_ranks.h"
#include "tensor/convert.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { N = 100003 };

typedef struct {
    const char *algorithm;
    tutti_collective collective;
    tutti_dtype type, sent, taken;
    bool in_place, exact;
    /* results */
    int64_t crossed[MOST_RANKS], works;
    double worst; /* error over the largest contribution and P u */
    pthread_mutex_t lock;
} rounded_case;

static float contribution(const rounded_case *c, int rank, int64_t i)
{
    const tutti_random4 r = tutti_random(3, TUTTI_STREAM_TEST, (uint64_t)rank, (uint64_t)i);
    if (c->exact) return (float)((int64_t)(r.word[0] % 255) - 127); /* eight bits */
    const float value = 1 + (float)(r.word[0] >> 8) / 16777216.0f;  /* no subnormal number of f16 */
    return ldexpf(r.word[2] % 2 ? value : -value, (int)(r.word[1] % 12) - 6);
}

static float rounded(const rounded_case *c, float value)
{
    uint16_t half;
    tutti_convert_from_f32(c->sent, &value, &half, 1);
    tutti_convert_to_f32(c->sent, &half, &value, 1);
    return value;
}

typedef struct {
    tutti_schedule *compiled, *lowered;
    tutti_region *in, *out;
    tutti_exchange *x;
} rounded_sum;

static tutti_status open_rounded(tutti_group *g, const rounded_case *c, rounded_sum *s, tutti_failure *err)
{
    const tutti_compile_request q = {
        .collective = c->collective, .nranks = tutti_group_nranks(g), .in_place = c->in_place};
    tutti_status st = tutti_schedule_compile(c->algorithm, &q, &s->compiled, err);
    if (!st) st = tutti_schedule_lower_hosts(s->compiled, tutti_group_hosts(g), &s->lowered, err);
    if (!st) st = tutti_region_create(g, "in", N * 4, &s->in, err);
    if (!st) st = tutti_region_create(g, "out", N * 4, &s->out, err);
    if (st) return st;
    const tutti_place in = {s->in, 0};
    const tutti_exchange_binding b = {.name = "rounded",
                                      .n = N,
                                      .type = c->type,
                                      .sent = c->sent,
                                      .taken = c->taken,
                                      .in = &in,
                                      .nin = 1,
                                      .out = {s->out, 0}};
    return tutti_exchange_create(g, s->lowered, &b, &s->x, err);
}

static void close_rounded(rounded_sum *s)
{
    tutti_exchange_destroy(s->x);
    if (s->in) tutti_region_destroy(s->in);
    if (s->out) tutti_region_destroy(s->out);
    tutti_schedule_destroy(s->lowered), tutti_schedule_destroy(s->compiled);
}

/* The error of element i over what is allowed; exact cases allow none. */
static double error_of(const rounded_case *c, int nranks, int64_t i, float got)
{
    const double u = c->sent == TUTTI_BF16 ? 1.0 / 256 : 1.0 / 2048;
    double sum = 0, largest = 0;
    for (int r = 0; r < nranks; r++) {
        const double g = (double)contribution(c, r, i);
        sum += g;
        largest = fmax(largest, fabs(g));
    }
    const double error = fabs((double)got - sum);
    return c->exact ? (error > 0 ? INFINITY : 0) : largest > 0 ? error / (nranks * u * largest) : 0;
}

static const char *sum_rounded(tutti_group *g, void *arg)
{
    rounded_case *c = arg;
    const int me = tutti_group_rank(g), p = tutti_group_nranks(g);
    tutti_failure err = {0};
    rounded_sum s = {0};
    EXPECT(!open_rounded(g, c, &s, &err));
    uint16_t *in = tutti_region_base(s.in, me);
    float *wide = tutti_region_base(s.in, me);
    const float *out = tutti_region_base(s.out, me);
    for (int e = 0; e < 2; e++) {
        for (int64_t i = 0; i < N; i++) {
            const float value = contribution(c, me, i);
            if (c->taken)
                tutti_convert_from_f32(c->sent, &value, &in[i], 1);
            else
                wide[i] = value;
        }
        tutti_exchange_start(s.x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        EXPECT(!tutti_exchange_wait(s.x, &err));
    }
    double worst = 0;
    for (int64_t i = (int64_t)me * N / p; i < (int64_t)(me + 1) * N / p; i++)
        worst = fmax(worst, error_of(c, p, i, out[i]));
    tutti_exchange_stats stats;
    tutti_exchange_stats_read(s.x, &stats);
    pthread_mutex_lock(&c->lock);
    c->crossed[me] = stats.bytes_crossed;
    c->worst = fmax(c->worst, worst);
    pthread_mutex_unlock(&c->lock);
    EXPECT(stats.copies == 0);
    close_rounded(&s);
    return NULL;
}

static void run_wired(int nranks, rank_body body, void *arg)
{
    tutti_group *groups[MOST_WIRED_RANKS];
    rank_thread threads[MOST_WIRED_RANKS];
    tutti_failure err = {0};
    if (wired_create(nranks, 20, groups, &err)) fail_msg("%s", err.text);
    for (int r = 0; r < nranks; r++) {
        threads[r] = (rank_thread){.group = groups[r], .body = body, .arg = arg};
        assert_int_equal(pthread_create(&threads[r].thread, NULL, run_rank, &threads[r]), 0);
    }
    for (int r = 0; r < nranks; r++) pthread_join(threads[r].thread, NULL);
    for (int r = 0; r < nranks; r++)
        if (threads[r].words) fail_msg("rank %d of %d: %s", r, nranks, threads[r].words);
}

static double sum_on(int nranks, bool wired, tutti_dtype sent, bool exact)
{
    rounded_case c = {.algorithm = "direct",
                      .collective = TUTTI_REDUCE_SCATTER,
                      .sent = sent,
                      .taken = sent,
                      .exact = exact,
                      .lock = PTHREAD_MUTEX_INITIALIZER};
    int64_t crossed = 0;
    if (wired)
        run_wired(nranks, sum_rounded, &c);
    else
        run_ranks(nranks, 20, sum_rounded, &c);
    for (int r = 0; r < nranks; r++) crossed += c.crossed[r];
    assert_int_equal(crossed, (int64_t)(nranks - 1) * N * 2); /* every rank's, but for the owner's own slice */
    return c.worst;
}

static void sums_are_exact_where_rounding_changes_nothing_and_half_the_bytes_travel(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 5; nranks++)
        for (int sent = TUTTI_BF16; sent <= TUTTI_F16; sent++)
            assert_true(sum_on(nranks, false, (tutti_dtype)sent, true) == 0);
    for (int nranks = 2; nranks <= 3; nranks++)
        for (int sent = TUTTI_BF16; sent <= TUTTI_F16; sent++)
            assert_true(sum_on(nranks, true, (tutti_dtype)sent, true) == 0);
}

/* A half of the last place of eight bits is 2^-8 of what lies just above a power of two: half of that bound is not
 * kept. */
static void sums_are_within_the_bound_of_one_rounding_and_not_within_half_of_it(void **state)
{
    (void)state;
    for (int sent = TUTTI_BF16; sent <= TUTTI_F16; sent++) {
        const double one = sum_on(1, false, (tutti_dtype)sent, false),
                     four = sum_on(4, false, (tutti_dtype)sent, false);
        assert_true(one > 0.5 && one <= 1);
        assert_true(four > 0.25 && four <= 1 + 1e-4); /* and what f32 rounds */
        assert_true(sum_on(3, true, (tutti_dtype)sent, false) <= 1 + 1e-4);
    }
    const rounded_case bf16 = {.sent = TUTTI_BF16};
    assert_true(rounded(&bf16, 1 + 1.0f / 256) == 1 && rounded(&bf16, 1 + 3.0f / 256) == 1 + 4.0f / 256);
}

/* Two groups of two: what a group has is summed as it is, and each sum is rounded on its way to the other. So of two
 * sums of two the error is that of two roundings of numbers twice as large. */
static void groups_sums_are_rounded_where_they_leave_the_group(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        rounded_case c = {.algorithm = "two-level,group=2",
                          .collective = TUTTI_REDUCE_SCATTER,
                          .sent = k % 2 ? TUTTI_F16 : TUTTI_BF16,
                          .exact = k < 2,
                          .in_place = false,
                          .lock = PTHREAD_MUTEX_INITIALIZER};
        int64_t crossed = 0;
        run_ranks(4, 20, sum_rounded, &c);
        for (int r = 0; r < 4; r++) crossed += c.crossed[r];
        assert_int_equal(crossed, (int64_t)2 * N * 4 + N * 2);
        assert_true(k < 2 ? c.worst == 0 : c.worst > 0.25 && c.worst <= 1 + 1e-4);
    }
}

static const char *expect_refused(tutti_group *g, void *arg)
{
    const rounded_case *c = arg;
    tutti_failure err = {0};
    rounded_sum s = {0};
    EXPECT(open_rounded(g, c, &s, &err) == TUTTI_ERR_USAGE);
    EXPECT(strstr(err.text, "passes partial sums on") || strstr(err.text, "what is sent is rounded for sums, in f32"));
    close_rounded(&s);
    return NULL;
}

static void schedules_and_types_that_would_round_twice_are_refused_by_all(void **state)
{
    (void)state;
    rounded_case cases[] = {
        {.algorithm = "ring", .collective = TUTTI_REDUCE_SCATTER, .sent = TUTTI_BF16},
        {.algorithm = "halving-doubling", .collective = TUTTI_REDUCE_SCATTER, .sent = TUTTI_BF16, .taken = TUTTI_BF16},
        {.algorithm = "split-rail,group=2", .collective = TUTTI_REDUCE_SCATTER, .sent = TUTTI_F16, .taken = TUTTI_F16},
        {.algorithm = "direct",
         .collective = TUTTI_REDUCE_SCATTER,
         .sent = TUTTI_F16,
         .taken = TUTTI_F16,
         .in_place = true},
        {.algorithm = "ring", .collective = TUTTI_REDUCE_SCATTER, .sent = TUTTI_F16, .taken = TUTTI_F16},
        {.algorithm = "direct", .collective = TUTTI_REDUCE_SCATTER, .sent = TUTTI_F16, .taken = TUTTI_BF16},
        {.algorithm = "direct", .collective = TUTTI_ALL_GATHER, .sent = TUTTI_F16},
        {.algorithm = "direct", .collective = TUTTI_REDUCE_SCATTER, .type = TUTTI_F64, .sent = TUTTI_F16},
        {.algorithm = "direct", .collective = TUTTI_REDUCE_SCATTER, .sent = TUTTI_I32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_ranks(4, 20, expect_refused, &cases[i]);
    rounded_case apart = {.algorithm = "two-level,group=2", .collective = TUTTI_REDUCE_SCATTER, .sent = TUTTI_BF16};
    run_wired(4, expect_refused, &cases[0]);
    run_wired(4, expect_refused, &apart); /* groups between hosts would have to send what is not rounded */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_where_rounding_changes_nothing_and_half_the_bytes_travel),
        cmocka_unit_test(sums_are_within_the_bound_of_one_rounding_and_not_within_half_of_it),
        cmocka_unit_test(groups_sums_are_rounded_where_they_leave_the_group),
        cmocka_unit_test(schedules_and_types_that_would_round_twice_are_refused_by_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
