/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h: writes metrics.jsonl, a run's numbers as one JSON object a line, handed to the system line by line, so
 * that a killed run keeps what it wrote. JSON has no NaN or infinity: such a number is null and its key stands in
 * "nan":[...]. Readers must bear a torn last line. Threads: owner. */
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

/* Opens for appending. The file first loses what a resumed run will say again: lines of steps beyond last_step, ends,
 * and whatever is no line of ours (all or nothing, by renaming). last_step < 0: it starts empty. */
tutti_status tutti_metrics_open(const char *path, int64_t last_step, tutti_metrics **out, tutti_failure *err);
/* One line; `event` is the value of "ev". A file that was removed, renamed or replaced meanwhile is a failure. */
tutti_status tutti_metrics_write(tutti_metrics *m, const char *event, const tutti_metric *metrics, int n,
                                 tutti_failure *err);
/* What was written lasts. */
tutti_status tutti_metrics_sync(tutti_metrics *m, tutti_failure *err);
void tutti_metrics_close(tutti_metrics *m); /* NULL is accepted */

/* Where the time of a run went, in the eight cost parts that You, Buluc and Demmel print (SC 2017, arXiv 1708.02983),
 * so that a run can be held beside the paper's tables, and three more that the paper leaves out.
 *
 * Every stretch between two looks at the clock is charged to one part: the parts sum to the wall time, nothing is
 * counted twice, and what nobody named is `other`. A charge is one look at the clock. Threads: owner. */

typedef enum {
    TUTTI_COST_DATA,         /* compute waits for a batch */
    TUTTI_COST_INIT,         /* everything before the first step */
    TUTTI_COST_EXCHANGE,     /* gradients and weights between ranks: waiting, reducing, copying */
    TUTTI_COST_BATCH_COPY,   /* batch, host to device */
    TUTTI_COST_WEIGHTS_COPY, /* weights, host to device and back */
    TUTTI_COST_COMPUTE,      /* forward and backward */
    TUTTI_COST_UPDATE,       /* of weights, on the workers */
    TUTTI_COST_CENTRE,       /* of weights, at the centre */
    TUTTI_COST_EVALUATION,
    TUTTI_COST_CHECKPOINT,
    TUTTI_COST_OTHER,
    TUTTI_NCOSTS
} tutti_cost_part;
const char *tutti_cost_key(tutti_cost_part part);   /* in metrics.jsonl: "data_io" */
const char *tutti_cost_words(tutti_cost_part part); /* "data I/O" */

typedef struct {
    int64_t ns[TUTTI_NCOSTS];
    int64_t charged_ns; /* the clock (tutti_clock_ns) up to which everything is charged */
} tutti_cost;

/* Charging starts at this time. */
void tutti_cost_begin(tutti_cost *c, int64_t now_ns);
/* What has passed since the last charge goes to this part; returns now. */
int64_t tutti_cost_charge(tutti_cost *c, tutti_cost_part part);

/* A table for people: seconds and shares, and their sum. Copies to a device and a centre that took no time are not
 * there. */
void tutti_cost_table(const double seconds[TUTTI_NCOSTS], int nranks, tutti_strbuf *out);

/* The lines of a run's metrics.jsonl (docs/metrics.md). Threads: owner. */

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

/* A torn last line (the run was killed) is passed over; any other line must be JSON: TUTTI_ERR_DATA. Release in any
 * case. */
tutti_status tutti_run_lines_read(const char *path, tutti_run_lines *out, tutti_failure *err);
void tutti_run_lines_release(tutti_run_lines *r);
/* Whether the file says that the run has ended with this step, by a signal or not. A missing file does not. */
bool tutti_run_lines_end_at(const char *path, int64_t step);

/* Numbers of a run as event files, which TensorBoard and the trackers that sync with it read.
 *
 * A file is a row of records: u64 length, u32 masked CRC-32C of the length, data, u32 masked CRC-32C of the data,
 * little-endian; the data is a protobuf message Event (tensorflow/core/util/event.proto). Each record is handed to the
 * system by one write(), so a killed run loses at most a torn last record. A run that goes on never appends to that
 * file: it begins the next one, whose second record says from which step on older points are void. Threads: owner. */

typedef struct {
    const char *tag; /* "train/loss" */
    double value;    /* becomes a float */
} tutti_scalar;

typedef struct tutti_tensorboard tutti_tensorboard;

/* Begins DIR/events.out.tfevents.<seconds since 1970>.<host>.<pid>.0, a name that sorts after all others in the folder.
 * last_step: the step that a run goes on from; < 0: a new run. */
tutti_status tutti_tensorboard_open(const char *dir, int64_t last_step, tutti_tensorboard **out, tutti_failure *err);
/* Removes the event files of an earlier run from a folder. */
tutti_status tutti_tensorboard_remove(const char *dir, tutti_failure *err);
/* All of one step as one record. */
tutti_status tutti_tensorboard_write(tutti_tensorboard *t, int64_t step, const tutti_scalar *scalars, int n,
                                     tutti_failure *err);
void tutti_tensorboard_close(tutti_tensorboard *t); /* NULL is accepted */

/* The records by themselves; pure. wall_s: seconds since 1970. */
void tutti_event_version(double wall_s, tutti_strbuf *out);                     /* first of every file */
void tutti_event_restart(double wall_s, int64_t first_step, tutti_strbuf *out); /* points from this step on are void */
void tutti_event_scalars(double wall_s, int64_t step, const tutti_scalar *scalars, int n, tutti_strbuf *out);

/* The two-sided sign test: of n pairs that are not equal the one side was better `wins` times. Threads: shared. */

/* How likely so uneven a split, or a more uneven one, to either side is where both sides are as good: 2 * P(X >=
 * max(wins, n - wins)), X binomial (n, 1/2), at most 1. 5 of 5: 0.0625. n = 0: 1. 0 <= wins <= n. */
double tutti_sign_test(int wins, int n);

#endif
