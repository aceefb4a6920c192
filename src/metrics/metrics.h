/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h: writes metrics.jsonl: a run's numbers, one JSON object a line. Each line is handed to the system at once,
 * so that a killed run keeps what it wrote. JSON has no NaN or infinity: such a number is null and its key stands in
 * "nan":[...]. Readers must accept a torn last line. Threads: one at a time. */
#ifndef TUTTI_METRICS_H
#define TUTTI_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/text/strbuf.h"
#include "tutti/failure.h"

typedef struct {
    const char *key;
    enum { TUTTI_METRIC_IS_INT, TUTTI_METRIC_IS_REAL, TUTTI_METRIC_IS_TEXT } kind;
    int64_t number;
    double real;
    const char *text;
} tutti_metric;
#define TUTTI_METRIC_INT(k, v)  ((tutti_metric){.key = (k), .kind = TUTTI_METRIC_IS_INT, .number = (v)})
#define TUTTI_METRIC_REAL(k, v) ((tutti_metric){.key = (k), .kind = TUTTI_METRIC_IS_REAL, .real = (v)})
#define TUTTI_METRIC_TEXT(k, v) ((tutti_metric){.key = (k), .kind = TUTTI_METRIC_IS_TEXT, .text = (v)})

typedef struct tutti_metrics tutti_metrics;

/* Opens the file for appending. First it removes the lines that a resumed run will write again: lines of steps beyond
 * last_step but for restarts, lines of ends, and lines that are not valid (all or nothing, by renaming). last_step < 0:
 * the file starts empty. */
tutti_status tutti_metrics_open(const char *path, int64_t last_step, tutti_metrics **out, tutti_failure *err);
/* Writes one line; `event` is the value of "ev". Fails if the file was removed, renamed or replaced meanwhile. */
tutti_status tutti_metrics_write(tutti_metrics *m, const char *event, const tutti_metric *metrics, int n,
                                 tutti_failure *err);
/* Waits until all written lines are on the disk (fsync). */
tutti_status tutti_metrics_sync(tutti_metrics *m, tutti_failure *err);
void tutti_metrics_close(tutti_metrics *m); /* NULL is accepted */

/* How the time of a run was spent, in the eight cost parts that You, Buluc and Demmel print (SC 2017, arXiv
 * 1708.02983), so that a run can be compared with the paper's tables, and three more that the paper leaves out.
 *
 * The whole time between two readings of the clock is charged to one part. So the parts sum to the wall time, nothing
 * is counted twice, and time that belongs to no other part is `other`. A charge reads the clock once. Threads:
 * owner. */

typedef enum {
    TUTTI_COST_DATA,         /* compute waits for a batch */
    TUTTI_COST_INIT,         /* everything before the first step */
    TUTTI_COST_EXCHANGE,     /* gradients and weights between ranks: waiting, reducing, copying */
    TUTTI_COST_BATCH_COPY,   /* copying a batch from host to device */
    TUTTI_COST_WEIGHTS_COPY, /* copying weights from host to device and back */
    TUTTI_COST_COMPUTE,      /* forward and backward passes */
    TUTTI_COST_UPDATE,       /* updates of weights, on the workers */
    TUTTI_COST_CENTRE,       /* updates of weights, at the centre */
    TUTTI_COST_EVALUATION,
    TUTTI_COST_CHECKPOINT,
    TUTTI_COST_OTHER,
    TUTTI_NCOSTS
} tutti_cost_part;
const char *tutti_cost_key(tutti_cost_part part);   /* returns the part's key in metrics.jsonl: "data_io" */
const char *tutti_cost_words(tutti_cost_part part); /* returns the part's name for people: "data I/O" */

typedef struct {
    int64_t ns[TUTTI_NCOSTS];
    int64_t charged_ns; /* the time (tutti_clock_ns) up to which everything is charged */
} tutti_cost;

/* Starts charging at now_ns. */
void tutti_cost_begin(tutti_cost *c, int64_t now_ns);
/* Charges the time since the last charge to this part; returns the time now. */
int64_t tutti_cost_charge(tutti_cost *c, tutti_cost_part part);

/* Appends a table for people: seconds and shares, and their sum. It leaves out copies to a device and a centre if they
 * took no time. */
void tutti_cost_table(const double seconds[TUTTI_NCOSTS], int nranks, tutti_strbuf *out);

/* Figures that rank 0 knows besides the mean costs of all ranks. */
typedef struct {
    double served;    /* seconds that rank 0 spent at the centre for workers of other hosts, over all of them */
    int slowest;      /* the rank whose forward and backward passes took longest */
    double slowest_s; /* seconds of that rank's passes */
} tutti_cost_more;

/* Appends sentences below the table. The slowest rank is named if its passes took half as long again as those of the
 * other ranks in the mean, and 0.1 s longer. */
void tutti_cost_add_words(const tutti_cost_more *more, const double seconds[TUTTI_NCOSTS], int nranks,
                          tutti_strbuf *out);

/* The lines of a run's metrics.jsonl (docs/metrics.md). Threads: one at a time. */

typedef struct {
    double *x, *y;
    int n, capacity;
} tutti_run_points;

/* One test of the run. */
typedef struct {
    int64_t step;
    double seconds; /* training time since the first step of the run, without the time between an end of the program and
                     * its resumption */
    double accuracy, loss;
    double bytes; /* bytes sent between ranks since the first step of the run; NAN = not known */
} tutti_run_test;

/* Share of zeros in a ReLU's output, at the first and the last test. */
typedef struct {
    char *name;
    double first, last, elements; /* first, last: fractions of the output that were zero; elements: number of elements
                                   * of the output */
} tutti_run_relu;

/* The path of a worker, or of the centre, in the plane of the picture workers.svg. */
typedef struct {
    tutti_run_points x, y, distance; /* values over steps; distance: from the centre, empty for the centre itself */
} tutti_run_way;

typedef struct {
    tutti_run_points loss, speed; /* values over steps; a loss that was not finite is NaN; speed: samples/s */
    tutti_run_test *tests;
    int ntests, test_capacity;
    tutti_run_relu *relus;
    int nrelus, relu_capacity;
    tutti_run_way centre, *workers; /* one worker for each rank; none if the file has no lines of workers */
    int nworkers, worker_capacity;
    tutti_run_points times;    /* points (step, milliseconds that the step took) */
    tutti_run_points restarts; /* after each loss of a rank: the step from which the run went on, and seconds
                                * from the loss to the end of the next step */
    double comm_ms, step_ms;   /* sums over all lines of steps: milliseconds of exchanges, and of whole steps */
    double cost[TUTTI_NCOSTS]; /* seconds of each part of the costs; if the run was resumed, over all its starts */
    int nranks;                /* ranks of the last start that has ended; 0 = none has ended */
    /* last_step: step of the last line that is not a restart; end_step: step of the last line that reports an end, by a
     * signal or not; -1 = none */
    int64_t last_step, end_step;
    char weights[32];
    bool has_ended; /* the run ended with its last step, not by a signal */
    /* has_diverged: loss or weights became infinite or NaN; ended_so: the run ended because it diverged */
    bool has_diverged, ended_so;
    int64_t diverged_step; /* the step at which the run diverged */
    double seconds;        /* seconds in the last line of a test that has them */
    int nstretches;        /* how often the run was started: once, and once for each time that it was resumed */
    char *bound;           /* how the ranks were bound to cores at the last start; NULL: they were not */
    char *staleness;       /* how stale the centre was at the visits since the last start, in words; NULL = there were
                            * no visits */
} tutti_run_lines;

/* Reads a file. A torn last line (the run was killed) is ignored; any other line must be JSON: TUTTI_ERR_DATA. The
 * caller releases *out in any case. */
tutti_status tutti_run_lines_read(const char *path, tutti_run_lines *out, tutti_failure *err);
void tutti_run_lines_release(tutti_run_lines *r);
/* True if the file says that the run has ended with this step, by a signal or not. False if the file is missing. */
bool tutti_run_lines_end_at(const char *path, int64_t step);

/* Numbers of a run as event files, which TensorBoard and the trackers that sync with it read.
 *
 * A file is a sequence of records: u64 length, u32 masked CRC-32C of the length, data, u32 masked CRC-32C of the data,
 * little-endian; the data is a protobuf message Event (tensorflow/core/util/event.proto). Each record is handed to the
 * system by one write(), so a killed run loses at most a torn last record. A resumed run never appends to an old file:
 * it begins a new one, whose second record says from which step on older points are void. Threads: one at a time. */

typedef struct {
    const char *tag; /* name of the number: "train/loss" */
    double value;    /* the number; files store it as a float */
} tutti_scalar;

typedef struct tutti_tensorboard tutti_tensorboard;

/* Begins DIR/events.out.tfevents.<seconds since 1970>.<host>.<pid>.0, a name that sorts after all others in the folder.
 * last_step: the step from which a run continues; < 0: a new run. */
tutti_status tutti_tensorboard_open(const char *dir, int64_t last_step, tutti_tensorboard **out, tutti_failure *err);
/* Removes the event files of an earlier run from a folder. */
tutti_status tutti_tensorboard_remove(const char *dir, tutti_failure *err);
/* Writes all numbers of one step as one record. */
tutti_status tutti_tensorboard_write(tutti_tensorboard *t, int64_t step, const tutti_scalar *scalars, int n,
                                     tutti_failure *err);
void tutti_tensorboard_close(tutti_tensorboard *t); /* NULL is accepted */

/* Append one record of an event file to *out; pure functions. wall_s: seconds since 1970. */
void tutti_event_version(double wall_s, tutti_strbuf *out); /* appends the first record of every file */
/* appends a record: points from this step on are void */
void tutti_event_restart(double wall_s, int64_t first_step, tutti_strbuf *out);
void tutti_event_scalars(double wall_s, int64_t step, const tutti_scalar *scalars, int n, tutti_strbuf *out);

/* The two-sided sign test for n pairs that are not equal, of which one side was better in `wins`. Threads: any. */

/* Returns the probability of a split that is at least this uneven, to either side, if both sides are equally good: 2 *
 * P(X >= max(wins, n - wins)), X binomial (n, 1/2), at most 1. 5 of 5: 0.0625. n = 0: 1. 0 <= wins <= n. */
double tutti_sign_test(int wins, int n);

#endif
