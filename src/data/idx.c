/* SPDX-License-Identifier: Apache-2.0 */
/* idx.c: reads IDX, the format of MNIST (LeCun et al. 1998): two zero bytes, a type byte (8 = unsigned byte), the number
 * of dimensions, each dimension as a big-endian 32-bit number, then the bytes. zlib reads plain and gzip alike.
 *
 * A file is accepted whole or not at all. Sizes are compared with what a file of that length can hold before anything
 * is allocated: a lying header costs nothing. Offsets in failures count uncompressed bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "dataset_impl.h"

enum { TYPE_UNSIGNED_BYTE = 8, DEFLATE_MOST = 1032 /* deflate cannot shrink more than this */ };

typedef struct {
    gzFile file;
    const char *path;
    int64_t offset;
    tutti_failure *err;
} reader;

/* Reads exactly n bytes or says where the file ended or what zlib found. */
static tutti_status read_exactly(reader *r, void *into, int64_t n)
{
    char *at = into;
    while (n > 0) {
        unsigned piece = n < (1 << 20) ? (unsigned)n : 1u << 20;
        int got = gzread(r->file, at, piece);
        if (got > 0) {
            at += got, n -= got, r->offset += got;
            continue;
        }
        int code = Z_OK;
        const char *words = gzerror(r->file, &code);
        if (got < 0 || (code != Z_OK && code != Z_BUF_ERROR))
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: byte %lld: %s", r->path, (long long)r->offset,
                              code == Z_ERRNO ? strerror(errno) : words);
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: byte %lld: the file ends here, %lld bytes early", r->path,
                          (long long)r->offset, (long long)n);
    }
    return TUTTI_OK;
}

static tutti_status read_header(reader *r, int min_dims, int max_dims, tutti_idx *out)
{
    uint8_t head[4], number[4];
    tutti_status status = read_exactly(r, head, sizeof head);
    if (status) return status;
    if (head[0] || head[1] || head[2] != TYPE_UNSIGNED_BYTE || head[3] < min_dims || head[3] > max_dims)
        return tutti_fail(r->err, TUTTI_ERR_DATA,
                          "%s: byte 0: magic number %02x%02x%02x%02x, wanted 000008%02x to 000008%02x (unsigned bytes, "
                          "%d to %d dimensions)",
                          r->path, head[0], head[1], head[2], head[3], min_dims, max_dims, min_dims, max_dims);
    out->ndims = head[3];
    out->nbytes = 1;
    for (int i = 0; i < out->ndims; i++) {
        status = read_exactly(r, number, sizeof number);
        if (status) return status;
        int64_t dim = (int64_t)number[0] << 24 | number[1] << 16 | number[2] << 8 | number[3];
        if (dim == 0)
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: byte %lld: dimension %d is 0: there is nothing in it",
                              r->path, (long long)r->offset - 4, i);
        if (out->nbytes > INT64_MAX / 2 / dim)
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: byte %lld: dimension %d is %lld: too large to count",
                              r->path, (long long)r->offset - 4, i, (long long)dim);
        out->dim[i] = dim;
        out->nbytes *= dim;
    }
    out->header_bytes = r->offset;
    return TUTTI_OK;
}

/* The promise of the header against what is in the folder, before memory is asked for. */
static tutti_status check_size(const reader *r, const tutti_idx *idx)
{
    struct stat st;
    if (stat(r->path, &st)) return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: %s", r->path, strerror(errno));
    int64_t length = st.st_size, missing = idx->header_bytes + idx->nbytes - length;
    if (gzdirect(r->file) && missing > 0)
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: byte %lld: the file ends here, %lld bytes early", r->path,
                          (long long)length, (long long)missing);
    if (idx->nbytes / DEFLATE_MOST > length)
        return tutti_fail(
            r->err, TUTTI_ERR_DATA,
            "%s: byte 4: the header promises %lld bytes, a compressed file of %lld bytes cannot hold them", r->path,
            (long long)idx->nbytes, (long long)length);
    return TUTTI_OK;
}

static tutti_status check_end(reader *r)
{
    char extra;
    int got = gzread(r->file, &extra, 1);
    if (got > 0)
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: byte %lld: more bytes than the header promises", r->path,
                          (long long)r->offset);
    int code = Z_OK;
    const char *words = gzerror(r->file, &code); /* here a wrong checksum or a cut trailer shows */
    if (got < 0 || code != Z_OK)
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: byte %lld: %s", r->path, (long long)r->offset,
                          code == Z_BUF_ERROR ? "the compressed file ends early" : words);
    return TUTTI_OK;
}

tutti_status tutti_idx_read(const char *path, int min_dims, int max_dims, tutti_idx *out, tutti_failure *err)
{
    reader r = {gzopen(path, "rb"), path, 0, err};
    if (!r.file) return tutti_fail(err, TUTTI_ERR_DATA, "%s: %s", path, strerror(errno));
    tutti_idx idx = {0};
    tutti_status status = read_header(&r, min_dims, max_dims, &idx);
    if (!status) status = check_size(&r, &idx);
    if (!status) {
        idx.bytes = malloc((size_t)idx.nbytes);
        status = idx.bytes
                     ? read_exactly(&r, idx.bytes, idx.nbytes)
                     : tutti_fail(err, TUTTI_ERR_FAILED, "%s: no memory for %lld bytes", path, (long long)idx.nbytes);
    }
    if (!status) status = check_end(&r);
    gzclose_r(r.file);
    if (status)
        free(idx.bytes);
    else
        *out = idx;
    return status;
}
