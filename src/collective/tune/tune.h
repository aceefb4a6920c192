/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h: fits the figures of topology `host` on this machine by running schedules through the executor.
 *
 * Each figure is what makes the simulator's time of one small exchange equal to the measured one, so the same words
 * mean the same thing in both: lat from a one-shot allreduce of 4 bytes, switch from the same with twice as many ranks
 * as cores, add and copy from one core alone, remote from a reduce-scatter of inputs just written by their ranks, bw
 * from an allreduce that does not fit the caches.
 * Ranks are threads of this process over the shm code. Takes about two seconds. Threads: owner. */
#ifndef TUTTI_TUNE_H
#define TUTTI_TUNE_H

#include "../simulate/simulate.h"

typedef struct {
    const char *what;      /* "lat" */
    const char *algorithm; /* NULL: one core alone */
    tutti_collective collective;
    int nranks;
    int64_t n;         /* elements */
    double measured_s; /* of an invocation */
    double value;      /* of the figure */
} tutti_tune_case;

enum { TUTTI_NTUNE_CASES = 6 };
/* Of a rank's vector by which the memory's rate is measured: in all four times what the caches hold, as far as a
 * quarter of the memory that is left goes. 0: with that much the caches would hold half of it, and the rate cannot be
 * told. */
int64_t tutti_tune_large_bytes(double cache_bytes, int nranks, int64_t left);
/* *t: a host, its cores and cache as detected; the fitted figures are set and marked. What cannot be told stays as it
 * is, and its case has n = 0. */
tutti_status tutti_tune_host(tutti_topology *t, tutti_tune_case cases[TUTTI_NTUNE_CASES], tutti_failure *err);

/* The model against this machine on one case: any algorithm, rank count and size. */
typedef struct {
    const char *algorithm;
    int nranks;
    int64_t n;
    double predicted_s, measured_s;
} tutti_tune_check;
/* Allreduce by every algorithm at 2 and 4 ranks and sizes from 4 bytes to 16 MiB; rows that an algorithm cannot serve
 * are left out. Returns how many rows were filled in, at most max. Takes two or three seconds a row. */
tutti_status tutti_tune_compare(const tutti_topology *t, tutti_tune_check *rows, int max, int *nrows,
                                tutti_failure *err);

/* Seconds of one invocation (lower quartile of many blocks) on n elements over nranks threads, lowered for mapped
 * memory. touch: every rank rewrites its input before each one, as training does; what that takes more than in private
 * memory counts. */
tutti_status tutti_tune_time(const char *algorithm, tutti_collective collective, int nranks, int64_t n, bool touch,
                             double *seconds, tutti_failure *err);
/* Seconds that this core takes to add n elements to n others into a third place, or to copy n. */
double tutti_tune_local(bool add, int64_t n);

#endif
