/* SPDX-License-Identifier: Apache-2.0 */
/* exact_sums.h: allreduces whose every element is known, by every algorithm, with counted bytes: what ranks of a test
 * do. After testing.h. */
#ifndef TUTTI_TESTS_EXACT_SUMS_H
#define TUTTI_TESTS_EXACT_SUMS_H

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "collective/compile/algorithms.h"
#include "collective/exchange/executor.h"
#include "collective/group/group_impl.h"
#include "tutti/check.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { N = 3001, LARGE = 300001, INVOCATIONS = 4 };

typedef struct {
    tutti_schedule *compiled, *lowered;
    tutti_region *in, *out;
    tutti_exchange *x;
} exact_sum;

static inline tutti_status open_sum(tutti_group *g, const char *algorithm, bool in_place, int64_t n, exact_sum *s,
                                    tutti_failure *err)
{
    const tutti_compile_request q = {
        .collective = TUTTI_ALLREDUCE, .nranks = tutti_group_nranks(g), .in_place = in_place};
    const size_t bytes = (size_t)n * sizeof(float);
    tutti_check_report report;
    tutti_status status = tutti_schedule_compile(algorithm, &q, &s->compiled, err);
    if (!status) status = tutti_schedule_lower_hosts(s->compiled, tutti_group_hosts(g), &s->lowered, err);
    if (!status) status = tutti_schedule_check(s->lowered, &report, err);
    if (!status) status = tutti_region_create(g, "in", bytes, &s->in, err);
    if (!status) status = tutti_region_create(g, "out", bytes, &s->out, err);
    if (status) return status;
    const tutti_place in = {s->in, 0};
    const tutti_exchange_binding b = {.name = "sum", .n = n, .in = &in, .nin = 1, .out = {s->out, 0}};
    return tutti_exchange_create(g, s->lowered, &b, &s->x, err);
}

static inline void close_sum(exact_sum *s)
{
    tutti_exchange_destroy(s->x);
    tutti_region_destroy(s->in), tutti_region_destroy(s->out);
    tutti_schedule_destroy(s->lowered), tutti_schedule_destroy(s->compiled);
}

/* computes: the owner is busy while its thread makes progress, and only then looks. */
static inline tutti_status run_sum(tutti_group *g, exact_sum *s, bool in_place, int64_t n, int e, bool computes,
                                   tutti_failure *err)
{
    const int p = tutti_group_nranks(g), me = tutti_group_rank(g);
    float *in = tutti_region_base(s->in, me), *out = in_place ? in : tutti_region_base(s->out, me);
    for (int64_t i = 0, k = 0; i < n; i++, k = k == 10 ? 0 : k + 1) in[i] = (float)(me * e + (int)k); /* k: i % 11 */
    tutti_exchange_start(s->x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    bool done = false;
    tutti_status status = TUTTI_OK;
    const double until = tutti_clock_s() + (computes ? 10 : 0);
    while (!status && !done && tutti_clock_s() < until) {
        tutti_clock_sleep_s(0.001);
        status = tutti_exchange_test(s->x, &done, err);
    }
    if (!status) status = tutti_exchange_wait(s->x, err);
    for (int64_t i = 0, k = 0; i < n && !status; i++, k = k == 10 ? 0 : k + 1)
        if (out[i] != (float)(e * p * (p - 1) / 2 + p * (int)k))
            status = tutti_fail(err, TUTTI_ERR_FAILED, "invocation %d: element %lld is wrong", e, (long long)i);
    return status;
}

static inline tutti_status all_sums(tutti_group *g, tutti_failure *err)
{
    tutti_status status = TUTTI_OK;
    for (int a = 0; a < tutti_algorithm_count() && !status; a++)
        for (int large = 0; large < 2 && !status; large++) {
            const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = tutti_group_nranks(g)};
            const char *name = tutti_algorithm_at(a)->name;
            tutti_schedule *possible = NULL;
            if (tutti_schedule_compile(name, &q, &possible, NULL)) continue; /* not at this rank count */
            tutti_schedule_destroy(possible);
            exact_sum s = {0};
            const int64_t n = large ? LARGE : N;
            status = open_sum(g, name, large, n, &s, err);
            for (int e = 0; e < INVOCATIONS && !status; e++) {
                tutti_exchange_delay(s.x, 7 * (uint64_t)a + 1, e == 2 ? 300 : 0);
                status = run_sum(g, &s, large, n, e, e == 1, err);
            }
            close_sum(&s);
            if (status) tutti_fail_at(err, "%s", name);
        }
    return status;
}

/* Bytes that this rank puts on the wire in one invocation. */
static inline int64_t put_bytes(tutti_group *g, const exact_sum *s, int64_t n)
{
    tutti_part part;
    int64_t bytes = 0;
    tutti_schedule_part(s->lowered, tutti_group_rank(g), &part);
    for (int32_t i = 0; i < part.nsteps; i++) {
        const tutti_slice *what = &part.slices[part.steps[i].first_in];
        if (part.steps[i].kind != TUTTI_STEP_PUT) continue;
        bytes += 4 * ((int64_t)(what->first + what->count) * n / what->of - (int64_t)what->first * n / what->of);
    }
    tutti_part_release(&part);
    return bytes;
}

static inline int64_t copied_bytes(const exact_sum *s)
{
    tutti_exchange_stats stats;
    tutti_exchange_stats_read(s->x, &stats);
    return stats.copies;
}

/* One algorithm, and how much of it crossed. */
static inline tutti_status counted_sum(tutti_group *g, char words[300], tutti_failure *err)
{
    exact_sum s = {0};
    tutti_status status = open_sum(g, getenv("TEST_ALGORITHM"), false, LARGE, &s, err);
    for (int e = 0; e < INVOCATIONS && !status; e++) status = run_sum(g, &s, false, LARGE, e, e == 1, err);
    if (!status)
        snprintf(words, 300, "fine, %lld bytes put, %lld copied; here %lld",
                 (long long)(INVOCATIONS * put_bytes(g, &s, LARGE)), (long long)(INVOCATIONS * copied_bytes(&s)),
                 g->wire ? (long long)g->wire->copied : 0);
    close_sum(&s);
    return status;
}

#endif
