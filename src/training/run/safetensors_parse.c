/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_parse.c: reads what nobody has promised us: each length is checked before it is used, the data must be covered
 * by the tensors exactly once, in order, without a hole. Refused besides: duplicate names, unknown keys, dtypes other than
 * F32, more than four dimensions. Header at most 100,000,000 bytes, as the format says.
 *
 * Invariant after parse: tensors[i].data .. + count floats lie inside the file (or its aligned copy). */
#include <cjson/cJSON.h>
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "checkpoint.h"

enum { MAX_HEADER = 100000000, PREFIX = 8 };
static const double MAX_EXACT = 9007199254740992.0; /* 2^53: integers above are not exact in JSON numbers */

struct tutti_safetensors {
    cJSON *header; /* owns the names */
    float *copy;   /* of the data, where the file's is not aligned; else NULL */
    tutti_tensor_ref *tensors;
    int n;
};

typedef struct {
    const cJSON *entry;
    tutti_shape shape;
    int64_t begin, end;
} entry_range;

static bool whole_number(const cJSON *item, int64_t *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > MAX_EXACT) return false;
    *out = (int64_t)item->valuedouble;
    return (double)*out == item->valuedouble;
}

static tutti_status read_shape(const char *name, const cJSON *entry, const cJSON *shape, entry_range *out,
                               tutti_failure *err)
{
    int64_t count = 1;
    if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) > TUTTI_MAX_DIMS)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: tensor '%s': shape must be a list of at most %d numbers", name,
                          entry->string, TUTTI_MAX_DIMS);
    for (const cJSON *dim = shape->child; dim; dim = dim->next) {
        int64_t value;
        if (!whole_number(dim, &value) || __builtin_mul_overflow(count, value, &count))
            return tutti_fail(err, TUTTI_ERR_DATA,
                              "%s: tensor '%s': a dimension is no count, or their product too large", name,
                              entry->string);
        out->shape.dim[out->shape.ndims++] = value;
    }
    int64_t nbytes;
    if (__builtin_mul_overflow(count, (int64_t)sizeof(float), &nbytes) || nbytes != out->end - out->begin)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: tensor '%s': its shape has %" PRId64 " numbers, data_offsets give it %" PRId64 " bytes",
                          name, entry->string, count, out->end - out->begin);
    return TUTTI_OK;
}

static tutti_status read_entry(const char *name, const cJSON *entry, entry_range *out, tutti_failure *err)
{
    const cJSON *dtype = NULL, *shape = NULL, *offsets = NULL;
    *out = (entry_range){.entry = entry};
    for (const cJSON *field = cJSON_IsObject(entry) ? entry->child : NULL; field; field = field->next) {
        const cJSON **slot = !strcmp(field->string, "dtype")          ? &dtype
                             : !strcmp(field->string, "shape")        ? &shape
                             : !strcmp(field->string, "data_offsets") ? &offsets
                                                                      : NULL;
        if (!slot || *slot)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: tensor '%s': key '%s' is %s", name, entry->string,
                              field->string, slot ? "there twice" : "unknown");
        *slot = field;
    }
    if (!cJSON_IsString(dtype) || !shape || !offsets)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: tensor '%s': dtype, shape and data_offsets must be there", name,
                          entry->string);
    if (strcmp(dtype->valuestring, "F32") != 0)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: tensor '%s' has dtype %s; only F32 is read", name, entry->string,
                          dtype->valuestring);
    const bool pair = cJSON_IsArray(offsets) && cJSON_GetArraySize(offsets) == 2;
    if (!pair || !whole_number(offsets->child, &out->begin) || !whole_number(offsets->child->next, &out->end) ||
        out->end < out->begin)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: tensor '%s': data_offsets must be [begin, end]", name,
                          entry->string);
    return read_shape(name, entry, shape, out, err);
}

static tutti_status check_metadata(const char *name, const cJSON *metadata, tutti_failure *err)
{
    bool good = cJSON_IsObject(metadata);
    for (const cJSON *field = good ? metadata->child : NULL; field; field = field->next)
        good = good && cJSON_IsString(field);
    return good ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_DATA, "%s: __metadata__ must map texts to texts", name);
}

static int by_begin(const void *a, const void *b)
{
    const entry_range *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static tutti_status check_names(const char *name, const cJSON *header, tutti_failure *err)
{
    const int n = cJSON_GetArraySize(header);
    const cJSON **sorted = tutti_alloc(sizeof *sorted * (size_t)(n + 1));
    tutti_status st = TUTTI_OK;
    int i = 0;
    for (const cJSON *entry = header->child; entry; entry = entry->next) sorted[i++] = entry;
    qsort(sorted, (size_t)n, sizeof *sorted, by_name);
    for (i = 1; i < n && !st; i++)
        if (!strcmp(sorted[i - 1]->string, sorted[i]->string))
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: '%s' is there twice", name, sorted[i]->string);
    free(sorted);
    return st;
}

/* ranges are sorted; together they must be [0, nbytes). */
static tutti_status check_cover(const char *name, const entry_range *ranges, int n, int64_t nbytes, tutti_failure *err)
{
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        if (ranges[i].begin != at)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: tensor '%s' begins at byte %" PRId64 ", %s %" PRId64, name,
                              ranges[i].entry->string, ranges[i].begin,
                              ranges[i].begin > at ? "which leaves a hole from" : "inside its neighbour, which ends at",
                              at);
        at = ranges[i].end;
    }
    if (at != nbytes)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: the tensors take %" PRId64 " bytes, the file has %" PRId64, name,
                          at, nbytes);
    return TUTTI_OK;
}

/* The header's JSON must begin with '{' and end in spaces only. */
static tutti_status read_header(const char *name, const char *bytes, size_t nbytes, cJSON **header, size_t *data,
                                tutti_failure *err)
{
    uint64_t length;
    if (nbytes < PREFIX) return tutti_fail(err, TUTTI_ERR_DATA, "%s: %zu bytes are no safetensors file", name, nbytes);
    memcpy(&length, bytes, PREFIX);
    length = le64toh(length);
    if (length > MAX_HEADER || length > nbytes - PREFIX)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: header of %" PRIu64 " bytes in a file of %zu: truncated or no "
                          "safetensors file",
                          name, length, nbytes);
    const char *text = bytes + PREFIX, *end = NULL;
    if (length == 0 || text[0] != '{')
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: the header does not begin with '{'", name);
    *header = cJSON_ParseWithLengthOpts(text, length, &end, false);
    bool good = cJSON_IsObject(*header);
    while (good && end < text + length) good = *end++ == ' ';
    if (!good) {
        cJSON_Delete(*header);
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: the header is no JSON object", name);
    }
    *data = PREFIX + (size_t)length;
    return TUTTI_OK;
}

static tutti_status read_entries(const char *name, tutti_safetensors *st, entry_range *ranges, tutti_failure *err)
{
    tutti_status status = check_names(name, st->header, err);
    for (const cJSON *entry = st->header->child; entry && !status; entry = entry->next)
        status = strcmp(entry->string, "__metadata__") ? read_entry(name, entry, &ranges[st->n++], err)
                                                       : check_metadata(name, entry, err);
    return status;
}

static void take_tensors(tutti_safetensors *st, const entry_range *ranges, const char *data, size_t nbytes)
{
    if ((uintptr_t)data % _Alignof(float)) {
        st->copy = tutti_alloc(nbytes + 1);
        memcpy(st->copy, data, nbytes);
    }
    const char *base = st->copy ? (const char *)st->copy : data;
    st->tensors = tutti_alloc(sizeof *st->tensors * (size_t)(st->n + 1));
    for (int i = 0; i < st->n; i++)
        st->tensors[i] = (tutti_tensor_ref){.name = ranges[i].entry->string,
                                            .shape = ranges[i].shape,
                                            .data = (float *)(uintptr_t)(base + ranges[i].begin)};
}

tutti_status tutti_safetensors_parse(const char *name, const char *bytes, size_t nbytes, tutti_safetensors **out,
                                     tutti_failure *err)
{
    tutti_safetensors *st = tutti_alloc(sizeof *st);
    size_t data = 0;
    tutti_status status = read_header(name, bytes, nbytes, &st->header, &data, err);
    if (status) {
        free(st);
        return status;
    }
    entry_range *ranges = tutti_alloc(sizeof *ranges * ((size_t)cJSON_GetArraySize(st->header) + 1));
    status = read_entries(name, st, ranges, err);
    if (!status) {
        qsort(ranges, (size_t)st->n, sizeof *ranges, by_begin);
        status = check_cover(name, ranges, st->n, (int64_t)(nbytes - data), err);
    }
    if (!status) take_tensors(st, ranges, bytes + data, nbytes - data);
    free(ranges);
    if (status)
        tutti_safetensors_destroy(st);
    else
        *out = st;
    return status;
}

int tutti_safetensors_count(const tutti_safetensors *st)
{
    return st->n;
}

const tutti_tensor_ref *tutti_safetensors_at(const tutti_safetensors *st, int i)
{
    return i >= 0 && i < st->n ? &st->tensors[i] : NULL;
}

const tutti_tensor_ref *tutti_safetensors_find(const tutti_safetensors *st, const char *name)
{
    for (int i = 0; i < st->n; i++)
        if (!strcmp(st->tensors[i].name, name)) return &st->tensors[i];
    return NULL;
}

void tutti_safetensors_destroy(tutti_safetensors *st)
{
    if (!st) return;
    cJSON_Delete(st->header);
    free(st->tensors);
    free(st->copy);
    free(st);
}
