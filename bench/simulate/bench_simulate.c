/* SPDX-License-Identifier: Apache-2.0 */
/* bench_simulate.c: one engine's time and memory for one schedule. usage: bench_simulate ENGINE ALGORITHM RANKS
 * TOPOLOGY BYTES REPEATS Prints {"best_s", "seconds", "mib"} as JSON: the fastest call, what it predicts, peak memory
 * of this process and of its helpers. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "collective/simulate/engines/engines.h"
#include "tutti/compile.h"

static double mib_of(int who)
{
    struct rusage used;
    getrusage(who, &used);
    return (double)used.ru_maxrss / 1024;
}

static tutti_status measure(char **argv, tutti_failure *err)
{
    tutti_topology t;
    tutti_schedule *s = NULL;
    const tutti_engine *engine = tutti_engine_find(argv[1]);
    const int repeats = (int)strtol(argv[6], NULL, 10);
    double best = 1e9, seconds = 0;
    if (!engine) return tutti_fail(err, TUTTI_ERR_USAGE, "no engine %s", argv[1]);
    tutti_status st = tutti_topology_parse(argv[4], &t, err);
    const tutti_compile_request request = {
        .collective = TUTTI_ALLREDUCE, .nranks = (int32_t)strtol(argv[3], NULL, 10), .in_place = true, .topology = &t};
    if (!st) st = tutti_schedule_compile(argv[2], &request, &s, err);
    const tutti_engine_question q = {
        .schedule = s, .algorithm = argv[2], .topology = &t, .n = strtoll(argv[5], NULL, 10) / 4, .limit_s = 600};
    for (int i = 0; i < repeats && !st; i++) {
        const double begin = tutti_clock_s();
        st = tutti_engine_ask(engine, &q, &seconds, err);
        const double took = tutti_clock_s() - begin;
        if (took < best) best = took;
    }
    tutti_schedule_destroy(s);
    if (!st)
        printf("{\"best_s\": %.9g, \"seconds\": %.12g, \"mib\": %.1f, \"helper_mib\": %.1f}\n", best, seconds,
               mib_of(RUSAGE_SELF), mib_of(RUSAGE_CHILDREN));
    return st;
}

int main(int argc, char **argv)
{
    tutti_failure err = {0};
    if (argc != 7) {
        fprintf(stderr, "usage: bench_simulate ENGINE ALGORITHM RANKS TOPOLOGY BYTES REPEATS\n");
        return 2;
    }
    if (measure(argv, &err) == TUTTI_OK) return 0;
    fprintf(stderr, "bench_simulate: %s\n", err.text);
    return 1;
}
