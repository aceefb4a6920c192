/* SPDX-License-Identifier: Apache-2.0 */
/* series.c: reads metrics.jsonl as it grows. A file that was replaced, cut back or written anew is known by its inode,
 * its size, or the bytes before the place that was read; then reading begins again. */
#include "series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/file.h"
#include "series_impl.h"

tutti_series *tutti_series_open(const char *path)
{
    tutti_series *s = tutti_alloc(sizeof *s);
    s->path = strdup(path);
    if (!s->path) tutti_no_memory(strlen(path));
    tutti_series_lines_begin(&s->lines);
    return s;
}

void tutti_series_close(tutti_series *s)
{
    if (!s) return;
    tutti_series_lines_release(&s->lines);
    free(s->path);
    free(s);
}

uint64_t tutti_series_bytes(const tutti_series *s)
{
    return s->nread;
}

/* Forgets all that was read. */
static void begin_again(tutti_series *s)
{
    tutti_series_lines_release(&s->lines);
    tutti_series_lines_begin(&s->lines);
    s->is_known = s->skips = false;
    s->offset = 0;
    s->ntail = 0;
}

static ssize_t read_at(int fd, char *bytes, size_t nbytes, int64_t offset)
{
    size_t have = 0;
    while (have < nbytes) {
        const ssize_t n = pread(fd, bytes + have, nbytes - have, (off_t)offset + (off_t)have);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        if (n == 0) break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* True if the file is the one that was read, with all that was read still in it. */
static bool is_same(const tutti_series *s, int fd, const struct stat *now)
{
    char tail[sizeof s->tail];
    if (!s->is_known) return true;
    if (s->device != now->st_dev || s->inode != now->st_ino || now->st_size < s->offset) return false;
    return read_at(fd, tail, (size_t)s->ntail, s->offset - s->ntail) == s->ntail &&
           memcmp(tail, s->tail, (size_t)s->ntail) == 0;
}

/* Takes the whole lines of a piece; returns the bytes that need not be read again. */
static size_t take_lines(tutti_series *s, const char *piece, size_t nbytes, bool is_full)
{
    const char *at = piece, *end;
    while ((end = memchr(at, '\n', nbytes - (size_t)(at - piece)))) {
        if (!s->skips) tutti_series_lines_take(&s->lines, at, (size_t)(end - at));
        s->skips = false;
        at = end + 1;
    }
    if (at > piece || !is_full) return (size_t)(at - piece);
    if (!s->skips) s->lines.sum.nlines++, s->lines.sum.nbad++; /* a line that is longer than a piece */
    s->skips = true;
    return nbytes;
}

static void remember_tail(tutti_series *s, const char *piece, size_t taken)
{
    const size_t n = taken < sizeof s->tail ? taken : sizeof s->tail;
    s->offset += (int64_t)taken;
    if (n == 0) return;
    memcpy(s->tail, piece + taken - n, n);
    s->ntail = (int)n;
}

static tutti_status read_new(tutti_series *s, int fd, size_t max_bytes, bool *more, tutti_failure *err)
{
    struct stat now;
    if (fstat(fd, &now) != 0) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", s->path, strerror(errno));
    if (!is_same(s, fd, &now)) begin_again(s);
    s->device = now.st_dev;
    s->inode = now.st_ino;
    s->is_known = true;
    const int64_t left = now.st_size - s->offset;
    if (left <= 0 || max_bytes == 0) return TUTTI_OK;
    const bool is_full = (uint64_t)left > max_bytes;
    const size_t want = is_full ? max_bytes : (size_t)left;
    char *piece = malloc(want);
    if (!piece) tutti_no_memory(want);
    const ssize_t got = read_at(fd, piece, want, s->offset);
    tutti_status st = TUTTI_OK;
    if (got < 0) {
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", s->path, strerror(errno));
    } else {
        const size_t taken = take_lines(s, piece, (size_t)got, is_full);
        s->nread += (uint64_t)taken;
        remember_tail(s, piece, taken);
        *more = is_full;
    }
    free(piece);
    return st;
}

tutti_status tutti_series_refresh(tutti_series *s, size_t max_bytes, bool *more, tutti_failure *err)
{
    struct stat now;
    int fd;
    *more = false;
    if (stat(s->path, &now) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        begin_again(s);
        return TUTTI_OK;
    }
    tutti_status st = tutti_file_open(s->path, TUTTI_ERR_FAILED, &fd, err);
    if (st) return tutti_fail_at(err, "%s", s->path);
    st = read_new(s, fd, max_bytes, more, err);
    close(fd);
    return st;
}
