/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h: fits the figures of topology `host` on this machine by running schedules through the executor.
 *
 * Each figure gets the value at which the simulator's time of one small exchange equals the measured one, so that a
 * figure has the same meaning in both: lat from a one-shot allreduce of 4 bytes, switch from the same with twice as
 * many ranks as cores, add and copy from one core alone, remote from a reduce-scatter of inputs just written by their
 * ranks, bw from an allreduce that does not fit the caches. Ranks are threads of this process over the shm code. Takes
 * about two seconds. Threads: one at a time. */
#ifndef TUTTI_TUNE_H
#define TUTTI_TUNE_H

#include "../simulate/simulate.h"

typedef struct {
    const char *what;      /* name of the figure, such as "lat" */
    const char *algorithm; /* algorithm of the timed exchange; NULL: work of one core alone */
    tutti_collective collective;
    int nranks;
    int64_t n;         /* number of elements */
    double measured_s; /* measured seconds of an invocation */
    double value;      /* the fitted figure */
} tutti_tune_case;

enum { TUTTI_NTUNE_CASES = 6 };
/* Returns the bytes of a rank's vector for measuring the memory's rate: all vectors together hold four times the
 * caches, limited to a quarter of the free memory. 0: even that would fit half into the caches, so the rate cannot be
 * measured. */
int64_t tutti_tune_large_bytes(double cache_bytes, int nranks, int64_t left);
/* Fits *t, a host with detected cores and cache: sets and marks the fitted figures. A figure that cannot be measured
 * keeps its value, and its case has n = 0. */
tutti_status tutti_tune_host(tutti_topology *t, tutti_tune_case cases[TUTTI_NTUNE_CASES], tutti_failure *err);

/* Measured and simulated time of one case: any algorithm, rank count and size. */
typedef struct {
    const char *algorithm;
    int nranks;
    int64_t n;
    double predicted_s, measured_s;
} tutti_tune_check;
/* Measures allreduce by every algorithm at 2 and 4 ranks and sizes from 4 bytes to 16 MiB; leaves out rows that an
 * algorithm cannot serve. *nrows becomes the number of rows filled in, at most max. Takes two or three seconds for each
 * row. */
tutti_status tutti_tune_compare(const tutti_topology *t, tutti_tune_check *rows, int max, int *nrows,
                                tutti_failure *err);

/* Measures the seconds of one invocation (lower quartile of many blocks) on n elements over nranks threads, lowered for
 * mapped memory. touch: every rank rewrites its input before each invocation, as training does; only the extra time
 * over writing private memory counts. */
tutti_status tutti_tune_time(const char *algorithm, tutti_collective collective, int nranks, int64_t n, bool touch,
                             double *seconds, tutti_failure *err);
/* Returns the seconds in which this core adds n elements to n others into a third place, or copies n. */
double tutti_tune_local(bool add, int64_t n);

#endif
