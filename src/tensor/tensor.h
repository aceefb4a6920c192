/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h: shapes and dtypes. Row-major, up to four dimensions: B batch, C channels, H, W. Threads: shared. */
#ifndef TUTTI_TENSOR_H
#define TUTTI_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TUTTI_MAX_DIMS = 4 };

typedef enum { TUTTI_F32, TUTTI_BF16, TUTTI_F16, TUTTI_I32, TUTTI_U8, TUTTI_NDTYPES } tutti_dtype;
size_t tutti_dtype_bytes(tutti_dtype t);
const char *tutti_dtype_name(tutti_dtype t); /* "f32" */

typedef struct {
    int ndims;
    int64_t dim[TUTTI_MAX_DIMS];
} tutti_shape;

int64_t tutti_shape_count(const tutti_shape *s); /* product of dims, 1 for no dims */
bool tutti_shape_equal(const tutti_shape *a, const tutti_shape *b);
/* "(64, 20, 12, 12)" into out. */
void tutti_shape_text(const tutti_shape *s, char out[96]);

#endif
