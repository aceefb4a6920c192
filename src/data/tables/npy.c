/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c: the set `npy`: arrays of NumPy, train_x.npy, train_y.npy, test_x.npy, test_y.npy in a folder (NEP 1).
 *
 * Samples are bytes (u1: they stay bytes), f2, f4 or f8 (rounded to f4); labels are integers. Arrays of shape (N, C, H,
 * W) are taken as they are, (N, H, W) gets one channel, and (N, D) is D numbers for each sample; data.shape may give
 * another shape. Anything else is refused, with the line of Python that converts it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/host/memory.h"
#include "../../base/text/strbuf.h"
#include "../../tensor/convert.h"
#include "../dataset_impl.h"
#include "../gunzip.h"
#include "numbers.h"

enum { MAGIC = 6, MAX_HEADER = 1 << 16, ALL_DIMS = 8, CHUNK = 1 << 16 };

typedef struct {
    char kind; /* kind of element: u unsigned, i signed, f float, b bool */
    int size;
    int ndims;
    int64_t dim[ALL_DIMS], count;
    int64_t header_bytes;
} array;

typedef struct {
    tutti_gunzip *file;
    const char *path;
    tutti_failure *err;
} reader;

static tutti_status read_exactly(const reader *r, void *into, int64_t n)
{
    int64_t got;
    tutti_status st = tutti_gunzip_read(r->file, into, n, &got, r->err);
    if (st) tutti_fail_at(r->err, "%s", r->path);
    if (!st && got < n)
        st = tutti_fail(r->err, TUTTI_ERR_DATA, "%s: the file ends %" PRId64 " bytes early", r->path, n - got);
    return st;
}

/* ---- reading the header of a file ---- */

/* Returns the text behind 'key': in the header's Python literal; NULL if the key is missing. */
static const char *value_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (!at) return NULL;
    at += strlen(key);
    return at + strspn(at, " :");
}

static tutti_status refuse(const reader *r, const char *what, const char *remedy)
{
    return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: %s: %s", r->path, what, remedy);
}

static tutti_status read_type(const reader *r, const char *text, array *a)
{
    const char *at = value_of(text, "'descr'");
    char order = 0, words[80];
    if (!at || *at != '\'' || sscanf(at + 1, "%c%c%d'", &order, &a->kind, &a->size) != 3)
        return refuse(r, "its numbers are a record or of no known type",
                      "save one array of plain numbers, x.astype('<f4')");
    snprintf(words, sizeof words, "its numbers are '%c%c%d'", order, a->kind, a->size);
    if (order == '>' && a->size > 1)
        return refuse(r, words, "bytes in the other order: save x.astype('<f4') or y.astype('<i8')");
    const bool known = (strchr("uib", a->kind) && (a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8)) ||
                       (a->kind == 'f' && (a->size == 2 || a->size == 4 || a->size == 8));
    return known ? TUTTI_OK : refuse(r, words, "save x.astype('<f4'), or uint8, and labels as y.astype('<i8')");
}

static tutti_status read_shape(const reader *r, const char *text, array *a)
{
    const char *at = value_of(text, "'shape'");
    a->count = 1;
    if (!at || *at++ != '(') return refuse(r, "its header says no shape", "save it anew with np.save");
    for (at += strspn(at, " "); *at >= '0' && *at <= '9'; at += strspn(at, ", ")) {
        char *end;
        const int64_t dim = strtoll(at, &end, 10);
        if (a->ndims == ALL_DIMS || dim > INT32_MAX || __builtin_mul_overflow(a->count, dim, &a->count) ||
            a->count > INT64_MAX / 16)
            return refuse(r, "its shape is too large", "at most 8 dimensions");
        a->dim[a->ndims++] = dim;
        at = end;
    }
    if (*at != ')' || !a->ndims || !a->count)
        return refuse(r, "its shape is empty or no shape", "an array of samples has some");
    return TUTTI_OK;
}

static tutti_status read_header(const reader *r, array *a)
{
    uint8_t head[12];
    tutti_status st = read_exactly(r, head, MAGIC + 4);
    if (st) return st;
    if (head[0] == 'P' && head[1] == 'K')
        return refuse(r, "this is an .npz archive",
                      "save each array of it: np.save('train_x.npy', np.load('all.npz')['x'])");
    if (memcmp(head, "\x93NUMPY", MAGIC) != 0) return refuse(r, "no array of NumPy", "write it with np.save");
    int64_t length = head[8] | head[9] << 8;
    if (head[6] > 1) {
        st = read_exactly(r, head + 10, 2);
        length |= (int64_t)head[10] << 16 | (int64_t)head[11] << 24;
    }
    if (!st && (length > MAX_HEADER || head[6] > 3))
        return refuse(r, "its header is of no known form", "save it anew with np.save");
    if (st) return st;
    char *text = tutti_alloc((size_t)length + 1);
    st = read_exactly(r, text, length);
    a->header_bytes = (head[6] > 1 ? 12 : 10) + length;
    if (!st) st = read_type(r, text, a);
    const char *fortran = value_of(text, "'fortran_order'");
    if (!st) st = read_shape(r, text, a);
    if (!st && fortran && !strncmp(fortran, "True", 4) && a->ndims > 1)
        st = refuse(r, "its numbers lie in Fortran order", "save np.ascontiguousarray(x)");
    free(text);
    return st;
}

/* ---- converting numbers ---- */

static double number_at(const array *a, const uint8_t *at)
{
    if (a->kind == 'f' && a->size == 2) {
        uint16_t half;
        float wide;
        memcpy(&half, at, 2);
        tutti_convert_to_f32(TUTTI_F16, &half, &wide, 1);
        return (double)wide;
    }
    if (a->kind == 'f' && a->size == 4) {
        float v;
        memcpy(&v, at, 4);
        return (double)v;
    }
    double v;
    memcpy(&v, at, 8);
    return v;
}

/* Returns the element as an integer; INT64_MIN if it does not fit. */
static int64_t integer_at(const array *a, const uint8_t *at)
{
    uint64_t v = 0;
    memcpy(&v, at, (size_t)a->size); /* numbers in files are little-endian */
    if (a->kind == 'i' && a->size < 8 && v >> (8 * a->size - 1)) return INT64_MIN;
    return v > INT32_MAX ? INT64_MIN : (int64_t)v;
}

static void say_element(const void *file, int64_t i, tutti_strbuf *words)
{
    (void)file;
    tutti_strbuf_printf(words, "element %" PRId64, i);
}

/* A function that gets an array's data chunk by chunk. Each chunk has whole elements. */
typedef tutti_status taker(const reader *r, const array *a, const uint8_t *bytes, int64_t first, int64_t n,
                           tutti_dataset *d);
static tutti_status take_all(const reader *r, const array *a, int64_t count, taker *take, tutti_dataset *d)
{
    uint8_t *bytes = tutti_alloc(CHUNK);
    tutti_status st = TUTTI_OK;
    for (int64_t i = 0; i < count && !st; i += CHUNK / a->size) {
        const int64_t n = count - i < CHUNK / a->size ? count - i : CHUNK / a->size;
        st = read_exactly(r, bytes, n * a->size);
        if (!st) st = take(r, a, bytes, i, n, d);
    }
    free(bytes);
    return st;
}

static tutti_status take_samples(const reader *r, const array *a, const uint8_t *bytes, int64_t first, int64_t n,
                                 tutti_dataset *d)
{
    if (d->pixels) {
        memcpy(d->pixels + first, bytes, (size_t)n);
        return TUTTI_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        const float v = (float)number_at(a, bytes + i * a->size);
        if (!isfinite(v))
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: sample %" PRId64 ": number %" PRId64 " of it is %g", r->path,
                              (first + i) / tutti_shape_count(&d->shape), (first + i) % tutti_shape_count(&d->shape),
                              (double)v);
        d->numbers[first + i] = v;
    }
    return TUTTI_OK;
}

static tutti_status take_labels(const reader *r, const array *a, const uint8_t *bytes, int64_t first, int64_t n,
                                tutti_dataset *d)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t label = integer_at(a, bytes + i * a->size);
        if (label < 0 || label > TUTTI_MAX_LABEL)
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: element %" PRId64 " is not a label: they are 0 to %d",
                              r->path, first + i, TUTTI_MAX_LABEL);
        d->labels[first + i] = (int32_t)label;
    }
    return TUTTI_OK;
}

/* ---- finding the files and opening the set ---- */

static tutti_status sample_shape(const reader *r, const array *a, tutti_shape *out)
{
    const bool last = a->ndims == 4 && (a->dim[3] == 1 || a->dim[3] == 3) && a->dim[1] > 4;
    if (a->ndims < 2 || a->ndims > 4)
        return refuse(r, "samples are (N, C, H, W), (N, H, W) or (N, D)", "reshape it before np.save");
    if (last) return refuse(r, "its channels lie last", "save np.ascontiguousarray(np.moveaxis(x, -1, 1))");
    *out = a->ndims == 2 ? (tutti_shape){.ndims = 1, .dim = {a->dim[1]}} : (tutti_shape){.ndims = 3, .dim = {1, 1, 1}};
    for (int i = 1; i < a->ndims && a->ndims > 2; i++) out->dim[3 - a->ndims + i] = a->dim[i];
    return TUTTI_OK;
}

static tutti_status read_samples(const tutti_dataset_config *config, tutti_split split, const reader *r,
                                 tutti_dataset *d, int64_t *nsamples)
{
    array a = {0};
    tutti_status st = read_header(r, &a);
    if (!st && a.kind != 'f' && !(a.kind == 'u' && a.size == 1) && a.kind != 'b')
        st =
            refuse(r, "samples are whole numbers of several bytes", "save x.astype(np.float32), or np.uint8 for bytes");
    if (!st) st = sample_shape(r, &a, &d->shape);
    if (!st) st = tutti_numbers_reshape(config, r->path, &d->shape, r->err);
    if (!st) st = tutti_dataset_take(config, split, r->path, a.dim[0], &d->count, r->err);
    *nsamples = a.dim[0];
    const bool bytes = a.kind != 'f';
    const int64_t count = tutti_shape_count(&d->shape) * d->count;
    const int64_t room = tutti_gunzip_file_bytes(r->file) - a.header_bytes - a.count * a.size;
    if (!st && !tutti_gunzip_is_packed(r->file) && room != 0)
        return tutti_fail(r->err, TUTTI_ERR_DATA,
                          "%s: its header promises %" PRId64 " bytes, the file has %" PRId64 " %s", r->path,
                          a.count * a.size, room < 0 ? -room : room, room < 0 ? "fewer" : "more");
    if (!st) st = tutti_memory_check(count * (bytes ? 1 : 4), r->path, "use fewer (data.train_samples)", r->err);
    if (st) return st;
    if (bytes)
        d->pixels = tutti_alloc((size_t)count);
    else
        d->numbers = tutti_alloc((size_t)count * sizeof *d->numbers);
    return take_all(r, &a, count, take_samples, d);
}

static tutti_status read_labels(const tutti_dataset_config *config, tutti_split split, const reader *r,
                                tutti_dataset *d, int64_t *nsamples)
{
    (void)split;
    array a = {0};
    tutti_status st = read_header(r, &a);
    if (st) return st;
    if (a.kind == 'f') return refuse(r, "labels are not whole numbers", "save y.astype(np.int64)");
    if (a.ndims > 1 && a.count != a.dim[0])
        return refuse(r, "a label is one number", "of one-hot rows save y.argmax(1)");
    if (a.dim[0] != *nsamples)
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: %" PRId64 " labels, but there are %" PRId64 " samples", r->path,
                          a.dim[0], *nsamples);
    d->labels = tutti_alloc((size_t)d->count * sizeof *d->labels);
    st = take_all(r, &a, d->count, take_labels, d);
    return st ? st : tutti_dataset_count_labels(config, &(tutti_label_source){r->path, NULL, say_element}, d, r->err);
}

/* Returns the path of the file of a split that has the samples ("x") or, with `labels`, the labels ("y"), under one of
 * its usual names. The caller frees it. */
static char *find_array(const char *folder, tutti_split split, bool labels, tutti_failure *err)
{
    static const char *const names[2][4] = {{"x", "X", "images", "data"}, {"y", "Y", "labels", "targets"}};
    const char *own = split == TUTTI_SPLIT_TRAIN ? "train" : "test";
    for (int k = 0; k < 4; k++)
        for (int turned = 0; turned < 2; turned++) {
            const char *name = names[labels][k];
            tutti_strbuf path = {0};
            tutti_strbuf_printf(&path, "%s/%s_%s.npy", folder, turned ? name : own, turned ? own : name);
            if (!access(path.text, F_OK)) return tutti_strbuf_detach(&path);
            tutti_strbuf_release(&path);
        }
    const char *what = labels ? "y" : "x";
    tutti_fail(err, TUTTI_ERR_DATA, "%s: no file %s_%s.npy in it (nor %s_%s.npy, %s_%s.npy)%s", folder, own, what, what,
               own, own, names[labels][2],
               tutti_numbers_has_ending(folder, ".npz")
                   ? "; there is an .npz: save each array of it, np.save('train_x.npy', np.load('all.npz')['x'])"
                   : "");
    return NULL;
}

typedef tutti_status filler(const tutti_dataset_config *config, tutti_split split, const reader *r, tutti_dataset *d,
                            int64_t *nsamples);
static tutti_status read_file(const tutti_dataset_config *config, tutti_split split, bool labels, tutti_dataset *d,
                              int64_t *nsamples, tutti_failure *err)
{
    filler *fill = labels ? read_labels : read_samples;
    char *path = find_array(config->path, split, labels, err);
    if (!path) return TUTTI_ERR_DATA;
    reader r = {NULL, path, err};
    tutti_status st = tutti_gunzip_open(path, &r.file, err);
    if (st)
        tutti_fail_at(err, "%s", path);
    else
        st = fill(config, split, &r, d, nsamples);
    if (r.file) tutti_gunzip_close(r.file);
    free(path);
    return st;
}

static tutti_status open_npy(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                             tutti_failure *err)
{
    int64_t nsamples = 0;
    tutti_status st = read_file(config, split, false, d, &nsamples, err);
    if (!st) st = read_file(config, split, true, d, &nsamples, err);
    if (!st) tutti_numbers_note(config, d);
    return st;
}

const tutti_dataset_row tutti_dataset_npy = {
    .name = "npy",
    .help = "arrays of NumPy in the folder data.path: train_x.npy, train_y.npy, test_x.npy, test_y.npy",
    .mean = {0.5},
    .std = {0.5},
    .files = "train_x.npy, train_y.npy, test_x.npy, test_y.npy",
    .reshaped = true,
    .labelled = true,
    .open = open_npy,
};
