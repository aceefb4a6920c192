/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_parse.c: parses safetensors files. Files are not trusted: each length is checked before it is used; the
 * tensors must cover the data exactly once, in order, without a hole. Duplicate names and unknown keys are refused, and
 * in files that this program wrote also dtypes other than F32 and more than four dimensions. The header has at most
 * 100,000,000 bytes, as the format says.
 *
 * Invariant after parse: all floats from tensors[i].data on lie inside the file (or its aligned copy), and so do the
 * ranges. */
#include <cjson/cJSON.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/text/json.h"
#include "../../../tensor/convert.h"
#include "checkpoint.h"

enum { MAX_HEADER = 100000000, PREFIX = 8 };
static const double MAX_EXACT = 9007199254740992.0; /* 2^53: integers above are not exact in JSON numbers */

typedef struct {
    const cJSON *entry;
    tutti_shape shape;
    const char *type; /* dtype as text; for more than four dimensions the text also says how many */
    int64_t begin, end;
} entry_range;

struct tutti_safetensors {
    cJSON *header; /* owns the names */
    float *copy;   /* aligned copy of the data, if the file's data are not aligned; else NULL */
    tutti_tensor_ref *tensors;
    int n;
    bool foreign;
    const char *data; /* the data in the file */
    entry_range *ranges;
    tutti_arena arena;
};

/* Returns the bytes of an element; 0 for an unknown (newer) type, whose size follows only from its offsets. */
static int bytes_of_type(const char *dtype)
{
    static const struct {
        const char *name;
        int nbytes;
    } types[] = {{"F32", 4}, {"F16", 2},  {"BF16", 2},    {"F64", 8},     {"I64", 8}, {"I32", 4}, {"I16", 2}, {"I8", 1},
                 {"U8", 1},  {"BOOL", 1}, {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"U16", 2}, {"U32", 4}, {"U64", 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(dtype, types[i].name)) return types[i].nbytes;
    return 0;
}

static bool whole_number(const cJSON *item, int64_t *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > MAX_EXACT) return false;
    *out = (int64_t)item->valuedouble;
    return (double)*out == item->valuedouble;
}

/* A file that is being read: its name, for messages, and the parts found in it. */
typedef struct {
    const char *name;
    tutti_safetensors *found;
} reading;

static void say_dimensions(const reading *r, int ndims, entry_range *out)
{
    char type[80];
    snprintf(type, sizeof type, "%.24s of %d dimensions", out->type, ndims);
    out->type = tutti_arena_strdup(&r->found->arena, type);
    out->shape.ndims = 0;
}

static tutti_status read_shape(const reading *r, const cJSON *entry, const cJSON *shape, entry_range *out,
                               tutti_failure *err)
{
    const char *name = r->name;
    const int ndims = cJSON_IsArray(shape) ? cJSON_GetArraySize(shape) : 0, nbytes_each = bytes_of_type(out->type);
    int64_t count = 1;
    if (!cJSON_IsArray(shape) || (ndims > TUTTI_MAX_DIMS && !r->found->foreign))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: tensor '%s': shape must be a list of at most %d numbers", name,
                          entry->string, TUTTI_MAX_DIMS);
    for (const cJSON *dim = shape->child; dim; dim = dim->next) {
        int64_t value;
        if (!whole_number(dim, &value) || __builtin_mul_overflow(count, value, &count))
            return tutti_fail(err, TUTTI_ERR_DATA,
                              "%s: tensor '%s': a dimension is not a count, or their product too large", name,
                              entry->string);
        if (out->shape.ndims < TUTTI_MAX_DIMS) out->shape.dim[out->shape.ndims++] = value;
    }
    int64_t nbytes;
    if (ndims > TUTTI_MAX_DIMS) say_dimensions(r, ndims, out);
    if (nbytes_each &&
        (__builtin_mul_overflow(count, (int64_t)nbytes_each, &nbytes) || nbytes != out->end - out->begin))
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: tensor '%s': its shape has %" PRId64 " numbers, data_offsets give it %" PRId64 " bytes",
                          name, entry->string, count, out->end - out->begin);
    return TUTTI_OK;
}

static tutti_status read_entry(const reading *r, const cJSON *entry, entry_range *out, tutti_failure *err)
{
    const char *name = r->name;
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
    out->type = dtype->valuestring;
    if (!r->found->foreign && strcmp(dtype->valuestring, "F32") != 0)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: tensor '%s' has dtype %s; only F32 is read", name, entry->string,
                          dtype->valuestring);
    const bool pair = cJSON_IsArray(offsets) && cJSON_GetArraySize(offsets) == 2;
    if (!pair || !whole_number(offsets->child, &out->begin) || !whole_number(offsets->child->next, &out->end) ||
        out->end < out->begin)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: tensor '%s': data_offsets must be [begin, end]", name,
                          entry->string);
    return read_shape(r, entry, shape, out, err);
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
    for (const cJSON *entry = header->child; entry; entry = entry->next) {
        if (!tutti_text_is_utf8(entry->string) && !st) /* the writer would give the tensor another name */
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: the name of tensor %d of the header is not UTF-8", name, i);
        sorted[i++] = entry;
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_name);
    for (i = 1; i < n && !st; i++)
        if (!strcmp(sorted[i - 1]->string, sorted[i]->string))
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: '%s' is there twice", name, sorted[i]->string);
    free(sorted);
    return st;
}

/* Checks that the sorted ranges are together [0, nbytes), without a hole or an overlap. */
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

/* Reads the header, whose JSON must begin with '{' and end in spaces only. */
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
    const char *text = bytes + PREFIX;
    if (length == 0 || text[0] != '{')
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: the header does not begin with '{'", name);
    *header = tutti_json_parse(text, length);
    if (!cJSON_IsObject(*header)) {
        cJSON_Delete(*header);
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: the header is not a JSON object, or a NUL stands in it", name);
    }
    *data = PREFIX + (size_t)length;
    return TUTTI_OK;
}

static tutti_status read_entries(const char *name, tutti_safetensors *found, entry_range *ranges, tutti_failure *err)
{
    const reading r = {name, found};
    tutti_status st = check_names(name, found->header, err);
    for (const cJSON *entry = found->header->child; entry && !st; entry = entry->next)
        st = strcmp(entry->string, "__metadata__") ? read_entry(&r, entry, &ranges[found->n++], err)
                                                   : check_metadata(name, entry, err);
    return st;
}

static void take_tensors(tutti_safetensors *found, const char *data, size_t nbytes)
{
    if ((uintptr_t)data % _Alignof(float) && !found->foreign) {
        found->copy = tutti_alloc(nbytes + 1);
        memcpy(found->copy, data, nbytes);
    }
    const char *base = found->copy ? (const char *)found->copy : data;
    found->data = data;
    found->tensors = tutti_alloc(sizeof *found->tensors * (size_t)(found->n + 1));
    for (int i = 0; i < found->n; i++) {
        const entry_range *r = &found->ranges[i];
        float *floats = found->foreign ? NULL : (float *)(uintptr_t)(base + r->begin);
        found->tensors[i] = (tutti_tensor_ref){.name = r->entry->string, .shape = r->shape, .data = floats};
    }
}

/* Converts elements where they lie in the file, perhaps at an odd address: copies them to aligned memory block by
 * block. */
static void widen(tutti_dtype type, const char *from, int64_t n, float *out)
{
    enum { BLOCK = 1024 };
    float block[BLOCK];
    const int64_t each = (int64_t)tutti_dtype_bytes(type);
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t now = n - i < BLOCK ? n - i : BLOCK;
        memcpy(block, from + i * each, (size_t)(now * each));
        tutti_convert_to_f32(type, block, out + i, now);
    }
}

/* Converts doubles to f32; a double that is too large becomes infinite. */
static void narrow(const char *from, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        double value;
        memcpy(&value, from + i * (int64_t)sizeof value, sizeof value);
        out[i] = (float)value;
    }
}

static tutti_status parse(const char *name, const char *bytes, size_t nbytes, bool foreign, tutti_safetensors **out,
                          tutti_failure *err)
{
    tutti_safetensors *found = tutti_alloc(sizeof *found);
    size_t data = 0;
    found->foreign = foreign;
    tutti_status st = read_header(name, bytes, nbytes, &found->header, &data, err);
    if (st) {
        free(found);
        return st;
    }
    found->ranges = tutti_alloc(sizeof *found->ranges * ((size_t)cJSON_GetArraySize(found->header) + 1));
    st = read_entries(name, found, found->ranges, err);
    if (!st) {
        qsort(found->ranges, (size_t)found->n, sizeof *found->ranges, by_begin);
        st = check_cover(name, found->ranges, found->n, (int64_t)(nbytes - data), err);
    }
    if (!st) take_tensors(found, bytes + data, nbytes - data);
    if (st)
        tutti_safetensors_destroy(found);
    else
        *out = found;
    return st;
}

tutti_status tutti_safetensors_parse(const char *name, const char *bytes, size_t nbytes, tutti_safetensors **out,
                                     tutti_failure *err)
{
    return parse(name, bytes, nbytes, false, out, err);
}

tutti_status tutti_safetensors_parse_foreign(const char *name, const char *bytes, size_t nbytes,
                                             tutti_safetensors **out, tutti_failure *err)
{
    return parse(name, bytes, nbytes, true, out, err);
}

const char *tutti_safetensors_type(const tutti_safetensors *found, int i)
{
    return found->ranges[i].type;
}

bool tutti_safetensors_widen(const tutti_safetensors *found, int i, float *out)
{
    static const struct {
        const char *name;
        tutti_dtype type;
    } kinds[] = {{"F32", TUTTI_F32}, {"F16", TUTTI_F16}, {"BF16", TUTTI_BF16}};
    const entry_range *r = &found->ranges[i];
    if (!strcmp(r->type, "F64")) {
        if (out) narrow(found->data + r->begin, tutti_shape_count(&r->shape), out);
        return true;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(r->type, kinds[k].name) != 0) continue;
        if (out) widen(kinds[k].type, found->data + r->begin, tutti_shape_count(&r->shape), out);
        return true;
    }
    return false;
}

const void *tutti_safetensors_bytes(const tutti_safetensors *found, int i, size_t *nbytes)
{
    *nbytes = (size_t)(found->ranges[i].end - found->ranges[i].begin);
    return found->data + found->ranges[i].begin;
}

int tutti_safetensors_count(const tutti_safetensors *found)
{
    return found->n;
}

const tutti_tensor_ref *tutti_safetensors_at(const tutti_safetensors *found, int i)
{
    return i >= 0 && i < found->n ? &found->tensors[i] : NULL;
}

const tutti_tensor_ref *tutti_safetensors_find(const tutti_safetensors *found, const char *name)
{
    for (int i = 0; i < found->n; i++)
        if (!strcmp(found->tensors[i].name, name)) return &found->tensors[i];
    return NULL;
}

void tutti_safetensors_destroy(tutti_safetensors *found)
{
    if (!found) return;
    cJSON_Delete(found->header);
    tutti_arena_release(&found->arena);
    free(found->tensors);
    free(found->ranges);
    free(found->copy);
    free(found);
}
