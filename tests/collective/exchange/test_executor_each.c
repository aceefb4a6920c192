/* SPDX-License-Identifier: Apache-2.0 */
/* test_executor_each.c: sums of 16 bits by algorithms that pass partial sums on, each of which is rounded: exact where
 * every partial sum has a place in the type, within P u sum |g| where not (u = 2^-8 for bf16, 2^-11 for f16), the same
 * bits on all ranks, half of f32's bytes. Ranks are threads, over shared memory and over the wire tcp. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "collective/exchange/executor.h"
#include "collective/thread_ranks.h"
#include "collective/wired_ranks.h"
#include "tensor/convert.h"
#include "tutti/check.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { N = 20011 };

typedef struct {
    const char *algorithm;
    tutti_collective collective;
    tutti_dtype type;
    bool exact;
    /* results */
    uint16_t *bits[MOST_RANKS];
    int64_t crossed[MOST_RANKS];
} each_case;

static float contribution(const each_case *c, int rank, int64_t i)
{
    const tutti_random4 r = tutti_random(7, TUTTI_STREAM_TEST, (uint64_t)rank, (uint64_t)i);
    if (c->exact) return (float)((int64_t)(r.word[0] % 51) - 25); /* five of them have seven bits and a sign */
    const float value = 1 + (float)(r.word[0] >> 8) / 16777216.0f;
    return ldexpf(r.word[2] % 2 ? value : -value, (int)(r.word[1] % 12) - 6);
}

static float widened(tutti_dtype type, uint16_t half)
{
    float value;
    tutti_convert_to_f32(type, &half, &value, 1);
    return value;
}

static uint16_t rounded(tutti_dtype type, float value)
{
    uint16_t half;
    tutti_convert_from_f32(type, &value, &half, 1);
    return half;
}

static const char *sum_in_place(tutti_group *g, void *arg)
{
    each_case *c = arg;
    const int me = tutti_group_rank(g), p = tutti_group_nranks(g);
    const tutti_compile_request q = {.collective = c->collective, .nranks = p, .in_place = true};
    tutti_schedule *compiled = NULL, *lowered = NULL;
    tutti_region *region = NULL;
    tutti_exchange *x = NULL;
    tutti_failure err = {0};
    EXPECT(!tutti_schedule_compile(c->algorithm, &q, &compiled, &err));
    EXPECT(!tutti_schedule_lower_hosts(compiled, tutti_group_hosts(g), &lowered, &err));
    EXPECT(!tutti_region_create(g, "sums", N * 2, &region, &err));
    const tutti_place there = {region, 0};
    const tutti_exchange_binding b = {
        .name = "each", .n = N, .type = c->type, .taken = c->type, .in = &there, .nin = 1, .out = there};
    EXPECT(!tutti_exchange_create(g, lowered, &b, &x, &err));
    uint16_t *own = tutti_region_base(region, me);
    for (int e = 0; e < 2; e++) {
        for (int64_t i = 0; i < N; i++) own[i] = rounded(c->type, contribution(c, me, i));
        tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        EXPECT(!tutti_exchange_wait(x, &err));
    }
    c->bits[me] = malloc(N * sizeof *own);
    memcpy(c->bits[me], own, N * sizeof *own);
    tutti_exchange_stats stats;
    tutti_exchange_stats_read(x, &stats);
    c->crossed[me] = stats.bytes_crossed;
    tutti_exchange_destroy(x);
    tutti_region_destroy(region);
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(compiled);
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

/* The largest error over P u sum |g|, of the elements that the ranks owe; exact cases allow none. */
static double worst_of(const each_case *c, int p)
{
    const double u = c->type == TUTTI_BF16 ? 1.0 / 256 : 1.0 / 2048;
    double worst = 0;
    for (int r = 0; r < p; r++) {
        const bool all = c->collective == TUTTI_ALLREDUCE;
        const int64_t first = all ? 0 : (int64_t)r * N / p, end = all ? N : (int64_t)(r + 1) * N / p;
        for (int64_t i = first; i < end; i++) {
            double sum = 0, size = 0;
            for (int s = 0; s < p; s++) {
                const double g = (double)widened(c->type, rounded(c->type, contribution(c, s, i)));
                sum += g, size += fabs(g);
            }
            const double error = fabs((double)widened(c->type, c->bits[r][i]) - sum);
            worst = fmax(worst, c->exact ? (error > 0 ? INFINITY : 0) : error / (p * u * size));
        }
    }
    return worst;
}

/* What is cut off of a slice of f32, which would be as many elements. */
static void check_case(each_case c, int p, bool wired)
{
    if (wired)
        run_wired(p, sum_in_place, &c);
    else
        run_ranks(p, 20, sum_in_place, &c);
    const double worst = worst_of(&c, p);
    if (worst > 1) fail_msg("%s of %s, %d ranks: %g of the bound", c.algorithm, tutti_dtype_name(c.type), p, worst);
    int64_t crossed = 0;
    for (int r = 0; r < p; r++) crossed += c.crossed[r];
    if (c.collective == TUTTI_REDUCE_SCATTER) assert_int_equal(crossed, (int64_t)(p - 1) * N * 2);
    for (int r = 1; r < p && c.collective == TUTTI_ALLREDUCE; r++)
        assert_memory_equal(c.bits[r], c.bits[0], N * sizeof *c.bits[0]);
    for (int r = 0; r < p; r++) free(c.bits[r]);
}

static void check_all(bool exact, bool wired, int least, int most)
{
    static const struct {
        const char *even, *odd;
        tutti_collective collective;
    } rows[] = {{"ring", "ring", TUTTI_ALLREDUCE},
                {"ring", "ring", TUTTI_REDUCE_SCATTER},
                {"halving-doubling", "halving-doubling", TUTTI_ALLREDUCE},
                {"hierarchical,group=2", "hierarchical,group=1", TUTTI_ALLREDUCE},
                {"recursive-doubling", "recursive-doubling", TUTTI_ALLREDUCE}};
    for (int p = least; p <= most; p++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (int type = TUTTI_BF16; type <= TUTTI_F16; type++)
                check_case((each_case){.algorithm = p == 4 ? rows[i].even : rows[i].odd,
                                       .collective = rows[i].collective,
                                       .type = (tutti_dtype)type,
                                       .exact = exact},
                           p, wired);
}

static void sums_are_exact_where_each_partial_sum_has_a_place(void **state)
{
    (void)state;
    check_all(true, false, 2, 5);
    check_all(true, true, 2, 3);
}

static void sums_are_within_the_bound_and_the_same_bits_on_all_ranks(void **state)
{
    (void)state;
    check_all(false, false, 2, 5);
    check_all(false, true, 3, 3);
}

/* ---- the proof of equal bits ---- */

static tutti_status check_text(const char *text, tutti_check_report *plain, tutti_check_report *report)
{
    tutti_failure err = {0};
    tutti_schedule *s = NULL;
    if (tutti_schedule_parse("made", text, strlen(text), &s, &err)) fail_msg("%s", err.text);
    if (tutti_schedule_check(s, plain, &err)) fail_msg("%s", err.text);
    const tutti_status st = tutti_schedule_check_rounded(s, report, &err);
    tutti_schedule_destroy(s);
    return st;
}

/* One-shot sums (a + b) + c in one step on each rank; in `text` rank `who` does it in two, and so rounds a + b. */
static char *cut_in_two(const char *text, int who)
{
    char head[16], *out = malloc(strlen(text) + 200);
    snprintf(head, sizeof head, "rank %d\n", who);
    const char *at = strstr(strstr(text, head), "    5 seq 1 stage 0 reduce out <- ((");
    char first[8], second[8], third[8];
    assert_int_equal(
        sscanf(at + strlen("    5 seq 1 stage 0 reduce out <- (("), "%7s %7[^)]) %7[^)])", first, second, third), 3);
    const char *into = strcmp(first, "in") ? first : second;
    sprintf(
        out,
        "%.*s    5 seq 1 stage 0 reduce %s <- (%s %s) after 0 needs ready\n    6 seq 1 stage 0 reduce out <- (%s %s) "
        "needs ready free%s",
        (int)(at - text), text, into, first, second, into, third, strchr(at, '\n'));
    return out;
}

static void ranks_that_round_other_partial_sums_do_not_agree(void **state)
{
    (void)state;
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 3};
    tutti_failure err = {0};
    tutti_schedule *s = NULL;
    tutti_check_report plain, report;
    assert_int_equal(tutti_schedule_compile("one-shot", &q, &s, &err), TUTTI_OK);
    char *text = tutti_schedule_print(s);
    tutti_schedule_destroy(s);
    assert_int_equal(check_text(text, &plain, &report), TUTTI_OK);
    assert_true(plain.agree && report.agree);
    char *all = strdup(text);
    for (int who = 0; who < 3; who++) {
        char *one = cut_in_two(text, who), *more = cut_in_two(all, who);
        assert_int_equal(check_text(one, &plain, &report), TUTTI_OK);
        assert_true(plain.agree && !report.agree); /* equal sums in f32, other bits in 16 */
        free(all), free(one);
        all = more;
    }
    assert_int_equal(check_text(all, &plain, &report), TUTTI_OK);
    assert_true(plain.agree && report.agree); /* all round a + b */
    free(all), free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_where_each_partial_sum_has_a_place),
        cmocka_unit_test(sums_are_within_the_bound_and_the_same_bits_on_all_ranks),
        cmocka_unit_test(ranks_that_round_other_partial_sums_do_not_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
