/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c: sizes and names of shapes and dtypes. Products of dims do not overflow: code that makes a shape from a file
 * bounds its dims (kernel/op/op_table.c). */
#include "tensor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const struct {
    size_t nbytes;
    const char *name;
} dtypes[] = {
    [TUTTI_F32] = {4, "f32"}, [TUTTI_BF16] = {2, "bf16"}, [TUTTI_F16] = {2, "f16"}, [TUTTI_I32] = {4, "i32"},
    [TUTTI_U8] = {1, "u8"},   [TUTTI_F64] = {8, "f64"},   [TUTTI_I64] = {8, "i64"},
};
static_assert(sizeof dtypes / sizeof *dtypes == TUTTI_NDTYPES, "a row for each dtype");

size_t tutti_dtype_bytes(tutti_dtype t)
{
    return dtypes[t].nbytes;
}

const char *tutti_dtype_name(tutti_dtype t)
{
    return dtypes[t].name;
}

int64_t tutti_shape_count(const tutti_shape *s)
{
    int64_t count = 1;
    for (int d = 0; d < s->ndims; d++) count *= s->dim[d];
    return count;
}

bool tutti_shape_equal(const tutti_shape *a, const tutti_shape *b)
{
    if (a->ndims != b->ndims) return false;
    for (int d = 0; d < a->ndims; d++)
        if (a->dim[d] != b->dim[d]) return false;
    return true;
}

void tutti_shape_text(const tutti_shape *s, char out[96])
{
    int n = snprintf(out, 96, "(");
    /* the text fits into 96 bytes: four dims of at most 20 characters, and 8 other characters */
    for (int d = 0; d < s->ndims; d++) n += snprintf(out + n, 96 - (size_t)n, "%s%" PRId64, d ? ", " : "", s->dim[d]);
    snprintf(out + n, 96 - (size_t)n, ")");
}
