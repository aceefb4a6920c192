/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_impl.h: the rows behind elementwise.h, one a file: AVX-512, AVX2, plain C.
 *
 * A row file defines a vector type and four inline functions, then includes elementwise_loops.h, which holds the loops
 * once for all rows. Every row adds the same operands in the same order, so all rows give equal bits. */
#ifndef TUTTI_ELEMENTWISE_IMPL_H
#define TUTTI_ELEMENTWISE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "convert_impl.h"
#include "reduce_impl.h"

enum { TUTTI_ELEMENTWISE_STACK = 32 }; /* pending sums of a fold expression that need no heap */
/* Most values that an expression keeps waiting, its newest one included. folds NULL: left to right. */
int tutti_folds_depth(const uint8_t *folds, int nin);
bool tutti_folds_left_to_right(const uint8_t *folds, int nin); /* not NULL */

typedef struct {
    float *const *outputs;
    int nout;
    const float *const *inputs;
    int nin;
    const uint8_t *folds; /* NULL = left to right */
    float *stack;         /* depth * TUTTI_ELEMENTWISE_BLOCK floats, used only where folds != NULL */
    int64_t n;
    bool stream;
} tutti_elementwise_call;

/* Floats that a row computes at once at most; the stack is that wide. */
enum { TUTTI_ELEMENTWISE_BLOCK = 64 };

typedef struct {
    const char *name;
    bool (*usable)(void);
    void (*reduce)(const tutti_elementwise_call *call);
    void (*add_rows)(float *y, int64_t y_apart, const float *x, int64_t x_apart, int64_t rows, int64_t n);
    const tutti_convert_row *convert; /* of the same instruction set */
    const tutti_reduce_row *typed;
} tutti_elementwise_row;

extern const tutti_elementwise_row tutti_elementwise_avx512, tutti_elementwise_avx2, tutti_elementwise_generic;

/* Best first; the last one is usable everywhere. elementwise_rows_avx2.c or elementwise_rows_portable.c. */
extern const tutti_elementwise_row *const tutti_elementwise_rows[];
extern const int tutti_elementwise_nrows;
/* The row for this processor. */
const tutti_elementwise_row *tutti_elementwise_current(void);

#endif
