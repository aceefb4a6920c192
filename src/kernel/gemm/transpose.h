/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.h: transposes a matrix out of place. Threads: any (pure function). */
#ifndef TUTTI_KERNEL_TRANSPOSE_H
#define TUTTI_KERNEL_TRANSPOSE_H

#include <stdint.h>

#include "../../tensor/tensor.h"

typedef struct {
    tutti_dtype from_type, to_type;
    const void *from;
    void *to;
    int64_t rows, columns; /* rows and columns of `from` */
} tutti_transposition;

/* Writes the transpose of from (rows, columns) to `to` (columns, rows). Both are row-major, of f32, bf16 or f16, and do
 * not overlap. If the types differ, elements are converted and rounded once. Squares of vectors are transposed in
 * registers, tile by tile, so that lines of both matrices are read and written whole. Cost: reading one and writing the
 * other. */
void tutti_transpose(const tutti_transposition *t, int nthreads);

#endif
