/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_read.h: what stands in the metrics.jsonl of a run (docs/metrics.md). Threads: owner. */
#ifndef TUTTI_METRICS_READ_H
#define TUTTI_METRICS_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "cost.h"
#include "tutti/failure.h"

typedef struct {
    double *x, *y;
    int n, capacity;
} tutti_run_points;

/* One test. */
typedef struct {
    int64_t step;
    double seconds; /* training since the first step of the run, over all its processes */
    double accuracy, loss;
    double bytes; /* that travelled between ranks since the first step of the run; NAN: not told */
} tutti_run_test;

/* A ReLU's output, at the first and the last test. */
typedef struct {
    char *name;
    double first, last, elements; /* fractions that are zero */
} tutti_run_relu;

typedef struct {
    tutti_run_points loss, speed; /* over steps; a loss that was not finite is NaN; samples/s */
    tutti_run_test *tests;
    int ntests, test_capacity;
    tutti_run_relu *relus;
    int nrelus, relu_capacity;
    tutti_run_points times;      /* ms of a step, over steps */
    double comm_ms, step_ms;     /* sums over lines */
    double cost[TUTTI_NCOSTS];   /* of all stretches of the run */
    int nranks;                  /* of the last one; 0 = none has ended */
    int64_t last_step, end_step; /* of the last line; of the last line that is an end, by a signal or not: -1 = none */
    char weights[32];
    bool has_ended;              /* with its last step, not by a signal */
    bool has_diverged, ended_so; /* loss or weights were not finite any more; and that was its end */
    int64_t diverged_step;       /* then */
    double seconds;              /* as of a test, at the last line that says so */
    int nstretches;              /* processes that it took */
    char *bound;                 /* words, of the last stretch; NULL: ranks were not */
    char *staleness;             /* words, of the last stretch; NULL: none */
} tutti_run_lines;

/* A torn last line (the run was killed) is passed over; any other line must be JSON: TUTTI_ERR_DATA. Release in any case. */
tutti_status tutti_run_lines_read(const char *path, tutti_run_lines *out, tutti_failure *err);
void tutti_run_lines_release(tutti_run_lines *r);
/* Whether the file says that the run has ended with this step, by a signal or not. A missing file does not. */
bool tutti_run_lines_end_at(const char *path, int64_t step);

#endif
