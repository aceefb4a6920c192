/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip.c: unpacks gzip files with zlib, a piece at a time. A gzip file consists of members: behind a member follows
 * another member or the end of the file. zlib's inflate checks each member's checksum and length. */
#include "gunzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "../base/arena.h"
#include "../base/file.h"

enum { PIECE = 1 << 16, GZIP_ONLY = 16 + MAX_WBITS };

struct tutti_gunzip {
    int fd;
    bool packed;
    bool inside; /* true while the reader is inside a member of the file */
    bool over;   /* true if the file has no more bytes */
    int64_t file_bytes;
    z_stream stream; /* zlib's state; next_in, avail_in: the bytes of `piece` that are still to be read */
    uint8_t piece[PIECE];
};

static tutti_status fill(tutti_gunzip *g, tutti_failure *err)
{
    z_stream *s = &g->stream;
    if (s->avail_in) memmove(g->piece, s->next_in, s->avail_in);
    ssize_t n;
    do {
        n = read(g->fd, g->piece + s->avail_in, PIECE - s->avail_in);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return tutti_fail(err, TUTTI_ERR_FAILED, "cannot read: %s", strerror(errno));
    s->next_in = g->piece;
    s->avail_in += (uInt)n;
    g->over = n == 0;
    return TUTTI_OK;
}

/* Finds out, from the next two bytes, whether another member begins or the file ends. */
static tutti_status begin_member(tutti_gunzip *g, tutti_failure *err)
{
    z_stream *s = &g->stream;
    tutti_status st = TUTTI_OK;
    while (!st && s->avail_in < 2 && !g->over) st = fill(g, err);
    if (st || s->avail_in == 0) return st;
    if (s->avail_in < 2 || s->next_in[0] != 0x1f || s->next_in[1] != 0x8b)
        return tutti_fail(err, TUTTI_ERR_DATA, "something that is not gzip follows the compressed data");
    g->inside = true;
    return inflateReset(s) == Z_OK ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_FAILED, "zlib cannot begin anew");
}

/* Turns inflate's return code into TUTTI_OK or a failure. */
static tutti_status judge(const tutti_gunzip *g, int code, tutti_failure *err)
{
    if (code == Z_MEM_ERROR) return tutti_fail(err, TUTTI_ERR_FAILED, "no memory to unpack it");
    if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR)
        return TUTTI_OK; /* Z_BUF_ERROR: inflate needs more input */
    return tutti_fail(err, TUTTI_ERR_DATA, "%s", g->stream.msg ? g->stream.msg : "no gzip data");
}

static tutti_status unpack(tutti_gunzip *g, tutti_failure *err)
{
    z_stream *s = &g->stream;
    if (!g->inside) return begin_member(g, err);
    if (!s->avail_in && !g->over) return fill(g, err);
    if (!s->avail_in) return tutti_fail(err, TUTTI_ERR_DATA, "the compressed file ends early");
    const int code = inflate(s, Z_NO_FLUSH);
    if (code == Z_STREAM_END) g->inside = false;
    return judge(g, code, err);
}

static tutti_status pass(tutti_gunzip *g, tutti_failure *err)
{
    z_stream *s = &g->stream;
    if (!s->avail_in) return fill(g, err);
    const uInt n = s->avail_in < s->avail_out ? s->avail_in : s->avail_out;
    memcpy(s->next_out, s->next_in, n);
    s->next_in += n, s->avail_in -= n;
    s->next_out += n, s->avail_out -= n;
    return TUTTI_OK;
}

static bool is_over(const tutti_gunzip *g)
{
    return g->over && !g->stream.avail_in && !g->inside;
}

tutti_status tutti_gunzip_read(tutti_gunzip *g, void *into, int64_t n, int64_t *got, tutti_failure *err)
{
    z_stream *s = &g->stream;
    tutti_status st = TUTTI_OK;
    for (*got = 0; *got < n && !is_over(g) && !st;) {
        const uInt room = n - *got < PIECE ? (uInt)(n - *got) : PIECE;
        s->next_out = (uint8_t *)into + *got;
        s->avail_out = room;
        st = g->packed ? unpack(g, err) : pass(g, err);
        *got += room - s->avail_out;
    }
    return st;
}

static tutti_status begin(tutti_gunzip *g, tutti_failure *err)
{
    struct stat info;
    if (fstat(g->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return tutti_fail(err, TUTTI_ERR_DATA, "is not a regular file");
    g->file_bytes = info.st_size;
    tutti_status st = fill(g, err);
    while (!st && g->stream.avail_in < 2 && !g->over) st = fill(g, err);
    g->packed = g->inside = g->stream.avail_in >= 2 && g->piece[0] == 0x1f && g->piece[1] == 0x8b;
    return st;
}

tutti_status tutti_gunzip_open(const char *path, tutti_gunzip **out, tutti_failure *err)
{
    int fd;
    tutti_status st = tutti_file_open(path, TUTTI_ERR_DATA, &fd, err);
    if (st) return st;
    tutti_gunzip *g = tutti_alloc(sizeof *g);
    g->fd = fd;
    if (inflateInit2(&g->stream, GZIP_ONLY) != Z_OK) st = tutti_fail(err, TUTTI_ERR_FAILED, "no memory to unpack it");
    if (!st) st = begin(g, err);
    if (st)
        tutti_gunzip_close(g);
    else
        *out = g;
    return st;
}

bool tutti_gunzip_is_packed(const tutti_gunzip *g)
{
    return g->packed;
}

int64_t tutti_gunzip_file_bytes(const tutti_gunzip *g)
{
    return g->file_bytes;
}

void tutti_gunzip_close(tutti_gunzip *g)
{
    if (!g) return;
    inflateEnd(&g->stream);
    close(g->fd);
    free(g);
}
