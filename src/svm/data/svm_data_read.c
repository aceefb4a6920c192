/* SPDX-License-Identifier: Apache-2.0 */
/* svm_data_read.c: reads a LIBSVM file: each rank reads one range of its bytes.
 *
 * If the file has S bytes, rank r of p has those from S r / p to S (r + 1) / p; a line belongs to the rank that has its
 * first byte. So a rank begins at the first line that begins in its range, and reads the last such line to the line's
 * end, even beyond the range. All ranks then exchange one report each, and find the same first error. A pipe (standard
 * input, `<(zcat set.gz)`) has no ranges: it is read by one rank alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "svm_data_impl.h"

enum { PIECE = 1 << 20 };

typedef struct {
    int fd;
    bool seeks;
    int64_t position; /* offset in the file of the next byte to read */
    bool over;        /* true once the whole file has been read into `bytes` */
    char *bytes;      /* [capacity]; bytes begin .. end - 1 are still to be used */
    int64_t begin, end, capacity;
} source;

static void source_release(source *s)
{
    close(s->fd);
    free(s->bytes);
}

/* Moves unused bytes to the front and reads behind them. A full buffer is doubled (one byte stays free for a '\n'). */
static tutti_status source_fill(source *s, tutti_failure *err)
{
    const int64_t kept = s->end - s->begin;
    if (s->begin) memmove(s->bytes, s->bytes + s->begin, (size_t)kept);
    s->begin = 0, s->end = kept;
    if (kept + 1 >= s->capacity) {
        const int64_t capacity = 2 * s->capacity;
        char *larger = realloc(s->bytes, (size_t)capacity);
        if (!larger) return tutti_fail(err, TUTTI_ERR_FAILED, "no memory for a line of %lld bytes", (long long)kept);
        s->bytes = larger, s->capacity = capacity;
    }
    const size_t room = (size_t)(s->capacity - kept - 1);
    ssize_t n;
    do {
        n = s->seeks ? pread(s->fd, s->bytes + kept, room, s->position) : read(s->fd, s->bytes + kept, room);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return tutti_fail(err, TUTTI_ERR_FAILED, "cannot read: %s", strerror(errno));
    s->over = n == 0;
    s->position += n;
    s->end += n;
    return TUTTI_OK;
}

/* Returns the next line with its '\n' (the last line of the file gets one). *nbytes is 0 if there is none. Valid until
 * the next call. */
static tutti_status next_line(source *s, char **line, int64_t *nbytes, tutti_failure *err)
{
    int64_t seen = 0;
    for (;;) {
        char *from = s->bytes + s->begin;
        char *newline = s->end - s->begin > seen ? memchr(from + seen, '\n', (size_t)(s->end - s->begin - seen)) : NULL;
        if (!newline && s->over && s->end > s->begin) {
            newline = s->bytes + s->end++;
            *newline = '\n';
        }
        *line = from;
        *nbytes = newline ? newline + 1 - from : 0;
        s->begin += *nbytes;
        if (newline || s->over) return TUTTI_OK;
        seen = s->end - s->begin;
        tutti_status st = source_fill(s, err);
        if (st) return st;
    }
}

/* Moves to the first line that begins at `from` or later; s->position - (s->end - s->begin) is the line's offset. */
static tutti_status skip_to_line(source *s, int64_t from, int64_t until, tutti_failure *err)
{
    if (from == 0) return TUTTI_OK;
    s->position = from - 1; /* if the byte before `from` is a '\n', a line begins at `from` */
    while (!s->over && s->position - (s->end - s->begin) < until) {
        char *newline = s->end > s->begin ? memchr(s->bytes + s->begin, '\n', (size_t)(s->end - s->begin)) : NULL;
        if (newline) {
            s->begin = newline + 1 - s->bytes;
            return TUTTI_OK;
        }
        s->begin = s->end; /* drops all bytes in the buffer: they belong to an earlier line */
        tutti_status st = source_fill(s, err);
        if (st) return st;
    }
    return TUTTI_OK;
}

/* Scans the lines that begin in [from, until). */
static tutti_status scan_range(source *s, int64_t from, int64_t until, tutti_svm_scan *scan, tutti_failure *err)
{
    tutti_status st = skip_to_line(s, from, until, err);
    while (!st && s->position - (s->end - s->begin) < until) {
        char *line;
        int64_t nbytes;
        st = next_line(s, &line, &nbytes, err);
        if (!st && !nbytes)
            return s->seeks ? tutti_fail(err, TUTTI_ERR_FAILED, "became shorter while it was read") : TUTTI_OK;
        if (!st) st = tutti_svm_scan_line(scan, line, nbytes, err);
    }
    return st;
}

/* Opens the file and scans this rank's part. *file_bytes: -1 for a pipe. */
static tutti_status scan_file(const char *path, int rank, int nranks, tutti_svm_scan *scan, int64_t *file_bytes,
                              tutti_failure *err)
{
    source s = {0};
    struct stat info;
    tutti_status st = tutti_file_open(path, TUTTI_ERR_DATA, &s.fd, err);
    if (st) return st;
    s.bytes = tutti_alloc(PIECE), s.capacity = PIECE;
    if (fstat(s.fd, &info) != 0) {
        st = tutti_fail(err, TUTTI_ERR_FAILED, "cannot look at it: %s", strerror(errno));
    } else if (S_ISREG(info.st_mode)) {
        const int64_t size = *file_bytes = info.st_size;
        s.seeks = true;
        st = scan_range(&s, size / nranks * rank + size % nranks * rank / nranks,
                        size / nranks * (rank + 1) + size % nranks * (rank + 1) / nranks, scan, err);
    } else if (nranks == 1) {
        *file_bytes = -1;
        st = scan_range(&s, 0, INT64_MAX, scan, err);
    } else {
        st = tutti_fail(err, TUTTI_ERR_DATA, "is not a regular file, and only such a file is read by several ranks");
    }
    source_release(&s);
    return st;
}

tutti_status tutti_svm_data_read(tutti_comm *comm, const char *path, const tutti_svm_reading *how, tutti_svm_data *out,
                                 tutti_failure *err)
{
    tutti_svm_scan scan = {.how = how};
    tutti_failure words = {0};
    int64_t file_bytes = 0;
    tutti_status st = tutti_svm_growing_reserve(&scan.rows, 0, &words);
    if (!st)
        st = scan_file(path, comm ? tutti_comm_rank(comm) : 0, comm ? tutti_comm_size(comm) : 1, &scan, &file_bytes,
                       &words);
    tutti_svm_report own = tutti_svm_report_of(&scan, st, &words);
    own.file_bytes = file_bytes;
    return tutti_svm_data_agree(comm, path, &scan, &own, out, err);
}
