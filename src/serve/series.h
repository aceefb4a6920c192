/* SPDX-License-Identifier: Apache-2.0 */
/* series.h: reads the numbers of a run from its metrics.jsonl while the run writes it, and samples them for curves.
 *
 * A series keeps what it has read. A refresh reads only what is new, and begins again when the file was replaced or cut
 * back, as a resumed run does. Curves answer from a pyramid of buckets, one level for each power of two, so that
 * extrema are exact and the time does not grow with the points. Threads: one at a time. */
#ifndef TUTTI_SERVE_SERIES_H
#define TUTTI_SERVE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/text/json.h"
#include "tutti/failure.h"

typedef struct tutti_series tutti_series;

/* Opens the series of a file that may not exist yet. path: of metrics.jsonl; it is copied. Never NULL. */
tutti_series *tutti_series_open(const char *path);
void tutti_series_close(tutti_series *s); /* NULL is accepted */

/* Reads what the file has gained, at most max_bytes. A torn last line waits for the next call; a line that is no JSON
 * is counted and passed over; a missing file is an empty one. *more: true if whole lines are left to read.
 * TUTTI_ERR_FAILED: the file exists and cannot be read. */
tutti_status tutti_series_refresh(tutti_series *s, size_t max_bytes, bool *more, tutti_failure *err);
/* Bytes of the file that have been read; the server counts them. */
uint64_t tutti_series_bytes(const tutti_series *s);

/* Numbers of a run as of the last refresh. Times are seconds since 1970, as the run wrote them. A number that the file
 * does not have is NAN, -1 or "". */
typedef struct {
    int64_t step;            /* of the last line that has one */
    double epoch, loss, ips; /* of the last line "step" */
    double accuracy;         /* of the last line "eval" or "end" */
    char weights[32];        /* hash of the weights, of the last line "end" */
    double at;               /* time of the last line of any kind */
    double step_at;          /* time of the last line "step", "eval" or "restart" */
    double step_gap;         /* median of seconds between the last 101 lines "step" of one process */
    int nrestarts;           /* lines "restart" */
    bool is_recovering;      /* no step has come after the last line "restart" */
    bool has_ended;          /* the last line "end" is the last line, without a signal */
    int64_t nlines, nbad;    /* lines read; nbad: lines that were no JSON object with "ev" */
} tutti_series_summary;
/* Returns the summary of a run without lines. */
tutti_series_summary tutti_series_none(void);
void tutti_series_summarise(const tutti_series *s, tutti_series_summary *out);

/* Write into an open object of the answer: "tags":[..]; "restarts":[{"step","seconds","lost"}..];
 * "cost":{part:seconds} summed over all processes of the run, {} if there is none. */
void tutti_series_write_tags(const tutti_series *s, tutti_json *j);
void tutti_series_write_restarts(const tutti_series *s, tutti_json *j);
void tutti_series_write_cost(const tutti_series *s, tutti_json *j);

/* The question for a curve: points of `tag` with from <= step <= to in at most npoints buckets (1..10000). */
typedef struct {
    const char *tag;
    int64_t from, to; /* steps; to = INT64_MAX: up to the end */
    int npoints;
} tutti_series_ask;
/* Writes "tag","points","step":[..],"min":[..],"max":[..],"mean":[..],"count":[..],"total" into an open object. False,
 * and nothing is written: the series has no such tag. */
bool tutti_series_write_points(const tutti_series *s, const tutti_series_ask *ask, tutti_json *j);

#endif
