/* SPDX-License-Identifier: Apache-2.0 */
/* bench_links.c: one rank of ./dev bench predicted: exchanges of floats in place, one after the other without a pause,
 * on the hosts that the ranks are on: a link that idles between two of them would carry the next one sooner
 * (docs/topologies.md, burst).
 *
 * usage: bench_links SECONDS COLLECTIVE ALGORITHM@BYTES..., started with torchrun's variables; SECONDS: that a case may
 * take, beside its warming up. Rank 0 prints "ALGORITHM@BYTES SECONDS" a line: of 16 rounds' means, each of the slowest
 * rank, the lower quartile: what else runs on the machine makes many of them longer, and a round after one that was
 * held up is shorter where links are shaped. Of cases that take long there are 4. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sort.h"
#include "collective/exchange/executor.h"
#include "collective/launch/join.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { MOST_RANKS = 64, WARM = 1, ROUNDS = 16, FEW_ROUNDS = 4, MOST_ITERATIONS = 2000 };

/* Where ranks have just been started they take several times as long for half a second: who sleeps and who wakes him
 * find their cores by and by. */
static const double FIRST_WARM_S = 1;

typedef struct {
    bool is_first; /* case of the process */
    tutti_group *group;
    tutti_prepared made;
    tutti_region *region;
    tutti_exchange *x;
} bound;

/* Seconds of so many, one by one, on this rank. */
static tutti_status run(const bound *b, int iterations, double *seconds, tutti_failure *err)
{
    const double begin = tutti_clock_s();
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < iterations && !st; i++) {
        tutti_exchange_start(b->x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        st = tutti_exchange_wait(b->x, err);
    }
    *seconds = (tutti_clock_s() - begin) / iterations;
    return st;
}

static tutti_status take_slowest(tutti_group *g, double *seconds, int n, tutti_failure *err)
{
    double all[MOST_RANKS * ROUNDS];
    const tutti_status st = tutti_group_all_gather(g, "seconds", seconds, all, sizeof *seconds * (size_t)n, err);
    for (int i = 0; i < tutti_group_nranks(g) * n && !st; i++)
        if (all[i] > seconds[i % n]) seconds[i % n] = all[i];
    return st;
}

/* So many seconds of them, if one takes less; how long one takes. */
static tutti_status warm_up(const bound *b, double wanted_s, double *seconds, tutti_failure *err)
{
    tutti_status st = run(b, WARM, seconds, err);
    if (!st) st = take_slowest(b->group, seconds, 1, err);
    const double fit = wanted_s / *seconds;
    if (!st && fit >= 1) st = run(b, fit > MOST_ITERATIONS ? MOST_ITERATIONS : (int)fit, seconds, err);
    return st ? st : take_slowest(b->group, seconds, 1, err);
}

static tutti_status time_case(const bound *b, double wanted_s, double *quartile, tutti_failure *err)
{
    double seconds[ROUNDS] = {0};
    tutti_status st = warm_up(b, b->is_first ? FIRST_WARM_S : wanted_s / 4, seconds, err);
    const int rounds = seconds[0] * ROUNDS <= 4 * wanted_s ? ROUNDS : FEW_ROUNDS;
    const double fit = wanted_s / rounds / seconds[0];
    const int iterations = fit < 1 ? 1 : fit > MOST_ITERATIONS ? MOST_ITERATIONS : (int)fit;
    if (!st) st = run(b, 1, seconds, err); /* since ranks told each other their times, links have idled */
    for (int i = 0; i < rounds && !st; i++) st = run(b, iterations, &seconds[i], err);
    if (!st) st = take_slowest(b->group, seconds, rounds, err);
    tutti_sort_doubles(seconds, rounds);
    *quartile = seconds[rounds / 4];
    return st;
}

static tutti_status bind(bound *b, tutti_collective collective, const char *name, int64_t n, tutti_failure *err)
{
    const tutti_compile_request q = {
        .collective = collective, .nranks = tutti_group_nranks(b->group), .in_place = true};
    const tutti_prover together = tutti_group_prover(b->group);
    tutti_status st = tutti_schedule_prepare(name, &q, tutti_group_hosts(b->group), &together, &b->made, err);
    if (!st) st = tutti_region_create(b->group, "vector", (size_t)n * sizeof(float), &b->region, err);
    if (st) return st;
    const tutti_place in = {b->region, 0};
    const tutti_exchange_binding binding = {.name = name, .n = n, .in = &in, .nin = 1, .out = in};
    memset(tutti_region_base(b->region, tutti_group_rank(b->group)), 0, (size_t)n * sizeof(float));
    return tutti_exchange_create(b->group, b->made.lowered, &binding, &b->x, err);
}

/* text: ALGORITHM@BYTES */
static tutti_status run_case(tutti_group *g, tutti_collective collective, double wanted_s, const char *text,
                             bool is_first, tutti_failure *err)
{
    char name[TUTTI_ALGORITHM_TEXT];
    const char *at = strchr(text, '@');
    bound b = {.group = g, .is_first = is_first};
    double quartile = 0;
    if (!at || (size_t)(at - text) >= sizeof name) return tutti_fail(err, TUTTI_ERR_USAGE, "%s: ALGORITHM@BYTES", text);
    snprintf(name, sizeof name, "%.*s", (int)(at - text), text);
    tutti_status st = bind(&b, collective, name, strtoll(at + 1, NULL, 10) / (int64_t)sizeof(float), err);
    if (!st) st = time_case(&b, wanted_s, &quartile, err);
    if (!st && tutti_group_rank(g) == 0) printf("%s %.9f\n", text, quartile);
    fflush(stdout);
    tutti_exchange_destroy(b.x);
    tutti_region_destroy(b.region);
    tutti_prepared_release(&b.made);
    return st;
}

int main(int argc, char **argv)
{
    tutti_group_config config = {0};
    tutti_failure err = {0};
    tutti_group *g = NULL;
    if (argc < 4) return TUTTI_ERR_USAGE;
    tutti_collective collective;
    if (!tutti_collective_find(argv[2], &collective)) return TUTTI_ERR_USAGE;
    tutti_status st = tutti_group_config_from_env(&config, &err);
    if (!st && config.nranks > MOST_RANKS) st = tutti_fail(&err, TUTTI_ERR_USAGE, "at most %d ranks", MOST_RANKS);
    if (!st) st = tutti_group_join(&config, &g, &err);
    for (int i = 3; i < argc && !st; i++) st = run_case(g, collective, strtod(argv[1], NULL), argv[i], i == 3, &err);
    if (st) fprintf(stderr, "bench_links: %s\n", err.text);
    tutti_group_leave(g);
    return (int)st;
}
