/* SPDX-License-Identifier: Apache-2.0 */
/* idx.c: reads IDX, the format of MNIST (LeCun et al. 1998): two zero bytes, a type byte (8 = unsigned byte), the
 * number of dimensions, each dimension as a big-endian 32-bit number, then the bytes; plain or gzip.
 *
 * A file is accepted as a whole or not at all. Sizes are compared with what a file of that length can hold before
 * anything is allocated, so that a false header costs nothing. Offsets in messages count uncompressed bytes. */
#include <stdlib.h>

#include "../dataset_impl.h"
#include "../gunzip.h"

enum { TYPE_UNSIGNED_BYTE = 8, DEFLATE_MOST = 1032 /* largest factor by which deflate can compress */ };

typedef struct {
    tutti_gunzip *file;
    const char *path;
    int64_t offset;
    tutti_failure *err;
} reader;

/* Reads up to n bytes; failures name the place in the file. */
static tutti_status read_some(reader *r, void *into, int64_t n, int64_t *got)
{
    const tutti_status st = tutti_gunzip_read(r->file, into, n, got, r->err);
    r->offset += *got;
    if (st) tutti_fail_at(r->err, "%s: byte %lld", r->path, (long long)r->offset);
    return st;
}

static tutti_status read_exactly(reader *r, void *into, int64_t n)
{
    int64_t got;
    const tutti_status st = read_some(r, into, n, &got);
    if (st || got == n) return st;
    return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: byte %lld: the file ends here, %lld bytes early", r->path,
                      (long long)r->offset, (long long)(n - got));
}

static tutti_status read_header(reader *r, int min_dims, int max_dims, tutti_idx *out)
{
    uint8_t head[4], number[4];
    tutti_status st = read_exactly(r, head, sizeof head);
    if (st) return st;
    if (head[0] || head[1] || head[2] != TYPE_UNSIGNED_BYTE || head[3] < min_dims || head[3] > max_dims)
        return tutti_fail(r->err, TUTTI_ERR_DATA,
                          "%s: byte 0: magic number %02x%02x%02x%02x, wanted 000008%02x to 000008%02x (unsigned bytes, "
                          "%d to %d dimensions)",
                          r->path, head[0], head[1], head[2], head[3], min_dims, max_dims, min_dims, max_dims);
    out->ndims = head[3];
    out->nbytes = 1;
    for (int i = 0; i < out->ndims; i++) {
        st = read_exactly(r, number, sizeof number);
        if (st) return st;
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

/* Compares the sizes in the header with the size of the file, before memory is allocated. */
static tutti_status check_size(const reader *r, const tutti_idx *idx)
{
    const int64_t length = tutti_gunzip_file_bytes(r->file), missing = idx->header_bytes + idx->nbytes - length;
    if (!tutti_gunzip_is_packed(r->file) && missing > 0)
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: byte %lld: the file ends here, %lld bytes early", r->path,
                          (long long)length, (long long)missing);
    if (idx->nbytes / DEFLATE_MOST > length)
        return tutti_fail(
            r->err, TUTTI_ERR_DATA,
            "%s: byte 4: the header promises %lld bytes, a compressed file of %lld bytes cannot hold them", r->path,
            (long long)idx->nbytes, (long long)length);
    return TUTTI_OK;
}

/* Finds a wrong checksum, a cut trailer, or bytes behind the compressed data. */
static tutti_status check_end(reader *r)
{
    char extra;
    int64_t got;
    const tutti_status st = read_some(r, &extra, 1, &got);
    if (st || !got) return st;
    return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: byte %lld: more bytes than the header promises", r->path,
                      (long long)r->offset - 1);
}

tutti_status tutti_idx_read(const char *path, int min_dims, int max_dims, tutti_idx *out, tutti_failure *err)
{
    reader r = {NULL, path, 0, err};
    tutti_idx idx = {0};
    tutti_status st = tutti_gunzip_open(path, &r.file, err);
    if (st) {
        tutti_fail_at(err, "%s", path);
        return st;
    }
    st = read_header(&r, min_dims, max_dims, &idx);
    if (!st) st = check_size(&r, &idx);
    if (!st) {
        idx.bytes = malloc((size_t)idx.nbytes);
        st = idx.bytes ? read_exactly(&r, idx.bytes, idx.nbytes)
                       : tutti_fail(err, TUTTI_ERR_FAILED, "%s: no memory for %lld bytes", path, (long long)idx.nbytes);
    }
    if (!st) st = check_end(&r);
    tutti_gunzip_close(r.file);
    if (st)
        free(idx.bytes);
    else
        *out = idx;
    return st;
}
