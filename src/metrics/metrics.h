/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h: named numbers of a run as JSON lines: {"ev":"step","step":100,"loss":0.25,...}, one object a line, appended and
 * handed to the system line by line, so that a killed run keeps what it said. JSON has no NaN or infinity: such a number is
 * null and its key stands in "nan":[...]. Readers must bear a torn last line. Threads: owner. */
#ifndef TUTTI_METRICS_H
#define TUTTI_METRICS_H

#include <stdbool.h>
#include <stdint.h>

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

/* Opens for appending. The file first loses what a resumed run will say again: lines of steps beyond last_step, ends, and
 * whatever is no line of ours (all or nothing, by renaming). last_step < 0: it starts empty. */
tutti_status tutti_metrics_open(const char *path, int64_t last_step, tutti_metrics **out, tutti_failure *err);
/* One line; `event` is the value of "ev". A file that was removed, renamed or replaced meanwhile is a failure. */
tutti_status tutti_metrics_write(tutti_metrics *m, const char *event, const tutti_metric *metrics, int n,
                                 tutti_failure *err);
/* What was written lasts. */
tutti_status tutti_metrics_sync(tutti_metrics *m, tutti_failure *err);
void tutti_metrics_close(tutti_metrics *m); /* NULL is accepted */

#endif
