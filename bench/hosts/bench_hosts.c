/* SPDX-License-Identifier: Apache-2.0 */
/* bench_hosts.c: one rank of ./dev bench hosts: an allreduce of floats in place, on the hosts that the ranks are on.
 *
 * The vector is cut into parts, each an exchange of its own, all in flight together, as the buckets of a training step
 * are: while one waits for a peer's answer the others use the wire.
 *
 * usage: bench_hosts BYTES ITERATIONS PARTS ALGORITHM..., started with torchrun's variables. Rank 0 prints "ALGORITHM
 * SECONDS" a line: the median over iterations of the slowest rank. Sums of whole numbers, every element of every
 * iteration compared. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sort.h"
#include "collective/exchange/executor.h"
#include "collective/launch/join.h"
#include "tutti/check.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { MOST = 64 };

typedef struct {
    tutti_exchange *x[MOST];
    int n;
} parts;

static tutti_status run_once(tutti_group *g, const parts *all_parts, float *v, int64_t n, double *seconds,
                             tutti_failure *err)
{
    const int me = tutti_group_rank(g), p = tutti_group_nranks(g);
    double own, all[MOST];
    for (int64_t i = 0; i < n; i++) v[i] = (float)(me + i % 7);
    tutti_status s = tutti_group_barrier(g, "begin", err);
    const double begin = tutti_clock_s();
    for (int k = 0; k < all_parts->n; k++) tutti_exchange_start(all_parts->x[k], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int k = 0; k < all_parts->n && !s; k++) s = tutti_exchange_wait(all_parts->x[k], err);
    own = tutti_clock_s() - begin;
    for (int64_t i = 0; i < n && !s; i++)
        if (v[i] != (float)(p * (p - 1) / 2 + p * (i % 7)))
            s = tutti_fail(err, TUTTI_ERR_FAILED, "element %lld is wrong", (long long)i);
    if (!s) s = tutti_group_all_gather(g, "seconds", &own, all, sizeof own, err);
    *seconds = 0;
    for (int r = 0; r < p && !s; r++) *seconds = all[r] > *seconds ? all[r] : *seconds;
    return s;
}

static tutti_status time_algorithm(tutti_group *g, const char *name, int64_t n, int iterations, int nparts,
                                   double *median, tutti_failure *err)
{
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = tutti_group_nranks(g), .in_place = true};
    tutti_schedule *compiled = NULL, *lowered = NULL;
    tutti_region *region = NULL;
    parts all = {.n = 0};
    tutti_check_report report;
    double seconds[MOST];
    tutti_status s = tutti_schedule_compile(name, &q, &compiled, err);
    if (!s) s = tutti_schedule_lower_hosts(compiled, tutti_group_hosts(g), &lowered, err);
    if (!s) s = tutti_schedule_check(lowered, &report, err);
    if (!s) s = tutti_region_create(g, "vector", (size_t)n * sizeof(float), &region, err);
    for (; all.n < nparts && !s; all.n++) {
        const int64_t from = n * all.n / nparts, to = n * (all.n + 1) / nparts;
        const tutti_place in = {region, (size_t)from * sizeof(float)};
        const tutti_exchange_binding b = {.name = name, .n = to - from, .in = &in, .nin = 1, .out = in};
        s = tutti_exchange_create(g, lowered, &b, &all.x[all.n], err);
    }
    float *v = s ? NULL : tutti_region_base(region, tutti_group_rank(g));
    for (int i = 0; i < iterations && !s; i++) s = run_once(g, &all, v, n, &seconds[i], err);
    if (!s) tutti_sort_doubles(seconds, (size_t)iterations);
    if (!s) *median = seconds[iterations / 2];
    for (int k = 0; k < all.n; k++) tutti_exchange_destroy(all.x[k]);
    tutti_region_destroy(region);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(compiled);
    return s;
}

int main(int argc, char **argv)
{
    tutti_group_config config;
    tutti_failure err = {0};
    tutti_group *g = NULL;
    if (argc < 5) return TUTTI_ERR_USAGE;
    const int64_t n = strtoll(argv[1], NULL, 10) / (int64_t)sizeof(float);
    const long iterations = strtol(argv[2], NULL, 10), nparts = strtol(argv[3], NULL, 10);
    if (iterations < 1 || iterations > MOST || nparts < 1 || nparts > MOST) return TUTTI_ERR_USAGE;
    tutti_status s = tutti_group_config_from_env(&config, &err);
    if (!s && config.nranks > MOST) s = tutti_fail(&err, TUTTI_ERR_USAGE, "at most %d ranks", MOST);
    if (!s) s = tutti_group_join(&config, &g, &err);
    for (int i = 4; i < argc && !s; i++) {
        double median = 0;
        s = time_algorithm(g, argv[i], n, (int)iterations, (int)nparts, &median, &err);
        if (!s && config.rank == 0) printf("%s %.6f\n", argv[i], median);
        fflush(stdout);
    }
    if (s) fprintf(stderr, "bench_hosts: %s\n", err.text);
    tutti_group_leave(g);
    return s;
}
