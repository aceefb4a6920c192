/* SPDX-License-Identifier: Apache-2.0 */
/* series_impl.h: what a series keeps of a run: rows of numbers by kind of line, columns with their pyramids, and the
 * summary. Shared by series.c (the file), series_lines.c (its lines), series_column.c (pyramids) and series_answer.c
 * (answers). Threads: one at a time. */
#ifndef TUTTI_SERVE_SERIES_IMPL_H
#define TUTTI_SERVE_SERIES_IMPL_H

#include <sys/types.h>

#include "../metrics/metrics.h"
#include "series.h"

struct cJSON;

/* Some values of a column as one. A value that is not finite stands in no bucket: only rows count it. */
typedef struct {
    double min, max, sum; /* of the finite values; min > max if there are none */
    int64_t count;        /* finite values */
} tutti_series_bucket;

/* LOWEST: the lowest level that is kept has buckets of 2^LOWEST values, because buckets of fewer are made as fast as
 * they are read. Level l has n >> (LOWEST + l) buckets that are whole; what is behind them is made from values. So
 * taking values back means a smaller n, and nothing is computed again. */
enum { TUTTI_SERIES_LOWEST = 4, TUTTI_SERIES_NLEVELS = 24, TUTTI_SERIES_MAX_ROWS = 1 << 26 };

typedef struct {
    double *values;
    int32_t n, capacity;
    tutti_series_bucket *levels[TUTTI_SERIES_NLEVELS];
    int32_t level_capacity[TUTTI_SERIES_NLEVELS];
    bool has_values; /* some line had the key, as a number or as null */
} tutti_series_column;

void tutti_series_column_push(tutti_series_column *c, double value);
void tutti_series_column_cut(tutti_series_column *c, int32_t n); /* keeps the first n values; n <= c->n */
/* Returns values first..end-1 as one bucket, in time that grows with the logarithm of their number. */
tutti_series_bucket tutti_series_column_fold(const tutti_series_column *c, int32_t first, int32_t end);
void tutti_series_column_release(tutti_series_column *c);

/* The lines of one kind: their steps, which grow from row to row, and a column for each key. */
enum { TUTTI_SERIES_MAX_COLUMNS = 5 };
typedef struct {
    int64_t *steps;
    int32_t n, capacity;
    tutti_series_column columns[TUTTI_SERIES_MAX_COLUMNS];
} tutti_series_rows;

/* Returns the number of rows whose step is at most `step`. */
int32_t tutti_series_rows_until(const tutti_series_rows *r, int64_t step);

/* Kinds of lines that have rows, and the tags of their columns. */
enum { TUTTI_SERIES_STEPS, TUTTI_SERIES_TESTS, TUTTI_SERIES_NKINDS };
typedef struct {
    const char *event; /* "ev" of the lines */
    struct {
        const char *tag, *key;
    } columns[TUTTI_SERIES_MAX_COLUMNS]; /* tag: in answers; key: in lines; a tag of NULL ends the list */
} tutti_series_kind;
extern const tutti_series_kind tutti_series_kinds[TUTTI_SERIES_NKINDS];

typedef struct {
    int64_t step;
    double seconds;
    int lost; /* the rank that was lost; -1: none, the ranks became more */
} tutti_series_restart;

/* All that a series keeps of the lines that it has read. */
typedef struct {
    tutti_series_rows rows[TUTTI_SERIES_NKINDS];
    tutti_series_restart *restarts;
    int32_t nrestarts, restart_capacity;
    double cost[TUTTI_NCOSTS];
    bool has_cost;
    tutti_series_summary sum;
    double times[101]; /* of the last lines "step" of this process, a ring */
    int64_t ntimes;    /* such lines, all of them */
} tutti_series_lines;

void tutti_series_lines_begin(tutti_series_lines *l);
/* Takes one line, without its end. It need not be JSON. */
void tutti_series_lines_take(tutti_series_lines *l, const char *line, size_t nbytes);
void tutti_series_lines_release(tutti_series_lines *l);

/* The file as it was when it was last read. */
struct tutti_series {
    char *path;
    bool is_known; /* device, inode and tail are set */
    dev_t device;
    ino_t inode;
    int64_t offset; /* up to here all lines have been taken */
    char tail[64];  /* the last bytes before offset: a file that was written anew has others there */
    int ntail;
    bool skips; /* a line that was too long is passed over up to its end */
    uint64_t nread;
    tutti_series_lines lines;
};

#endif
