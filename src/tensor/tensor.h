/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h: shapes (dtypes are in tutti/types.h). Row-major, up to four dimensions: B batch, C channels, H, W. Threads:
 * any. */
#ifndef TUTTI_TENSOR_H
#define TUTTI_TENSOR_H

#include "tutti/types.h"

enum { TUTTI_MAX_DIMS = 4 };

typedef struct {
    int ndims;
    int64_t dim[TUTTI_MAX_DIMS];
} tutti_shape;

int64_t tutti_shape_count(const tutti_shape *s); /* Returns the product of the dims; 1 without dims. */
bool tutti_shape_equal(const tutti_shape *a, const tutti_shape *b);
/* Writes the shape as text, such as "(64, 20, 12, 12)", into out. */
void tutti_shape_text(const tutti_shape *s, char out[96]);

#endif
