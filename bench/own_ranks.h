/* SPDX-License-Identifier: Apache-2.0 */
/* own_ranks.h: what benchmarks of tutti/comm.h share: they start their ranks themselves, and time what all of them
 * do. */
#ifndef TUTTI_BENCH_OWN_RANKS_H
#define TUTTI_BENCH_OWN_RANKS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sort.h"
#include "collective/launch/launch.h"
#include "tutti/comm.h"

enum { ROUNDS = 7 };

/* A call that failed ends the process. */
static inline void check(tutti_status s, const tutti_failure *err)
{
    if (!s) return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, err->text);
    exit((int)s);
}

/* Runs this program as so many ranks, which have RANK in their environment; the exit code of the first that failed. */
static inline int start_ranks(int nranks, char **argv)
{
    const tutti_launch_options options = {.nranks = nranks};
    tutti_launch_result ended;
    tutti_failure err = {0};
    check(tutti_launch(&options, argv, &ended, &err), &err);
    fputs(ended.words, stderr);
    free(ended.words);
    return ended.exit_code;
}

/* The slowest rank's mean. */
static inline double time_round(tutti_comm *comm, void (*step)(void *arg), void *arg, long iterations)
{
    tutti_failure err = {0};
    double own, slowest;
    check(tutti_comm_barrier(comm, &err), &err);
    const double begin = tutti_clock_s();
    for (long i = 0; i < iterations; i++) step(arg);
    own = (tutti_clock_s() - begin) / (double)iterations;
    check(tutti_comm_allreduce(comm, &own, &slowest, 1, TUTTI_F64, TUTTI_MAX, &err), &err);
    return slowest;
}

/* Seconds of a step that all ranks do: the median of rounds that take about round_s each. */
static inline double time_steps(tutti_comm *comm, void (*step)(void *arg), void *arg, double round_s)
{
    double rounds[ROUNDS], once;
    time_round(comm, step, arg, 2);
    once = time_round(comm, step, arg, 3);
    if (once < 1e-3) once = time_round(comm, step, arg, 20);
    if (once < round_s) once = time_round(comm, step, arg, (long)(round_s / once)); /* what is found out by doing is */
    const long iterations = round_s / once < 1 ? 1 : (long)(round_s / once);
    for (int r = 0; r < ROUNDS; r++) rounds[r] = time_round(comm, step, arg, iterations);
    tutti_sort_doubles(rounds, ROUNDS);
    return rounds[ROUNDS / 2];
}

#endif
