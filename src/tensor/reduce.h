/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h: reductions and copies of vectors, for every type and operation of tutti/types.h. The executor of
 * collectives calls them.
 *
 * elementwise.h sums f32; the other reductions go over the vector in blocks that stay in the first cache. Each element
 * is computed by the same operations in the same order wherever it lies, on every instruction set, so the bits do not
 * depend on the offset. `stream` asks for non-temporal stores, which pay for vectors larger than the caches. Threads:
 * any (pure functions). */
#ifndef TUTTI_REDUCE_H
#define TUTTI_REDUCE_H

#include "tutti/types.h"

/* The vectors of a reduction: inputs and outputs. nin >= 1, nout >= 1. */
typedef struct {
    char *const *outputs;
    int nout;
    const char *const *inputs;
    int nin;
} tutti_operands;

/* Computes outputs[0..nout)[i] = expression over inputs[0..nin)[i] for n elements, postfix with folds as in
 * tutti/schedule.h (NULL: left to right). An output may be one of the inputs (same address); else outputs do not
 * overlap anything. avg is computed as a sum. With one input the result is a copy of it. */
void tutti_reduce(tutti_dtype type, tutti_operation op, const tutti_operands *of, const uint8_t *folds, int64_t n,
                  bool stream);
/* Computes f32 outputs = sums over inputs of a 16-bit type, in f32, without rounding to 16 bits. Outputs do not overlap
 * anything. Otherwise it works as tutti_reduce. With one input it only widens. Cost: one pass, each input read once. */
void tutti_reduce_wide(tutti_dtype type, const tutti_operands *of, const uint8_t *folds, int64_t n, bool stream);
/* Computes 16-bit outputs = f32 sums over f32 inputs, rounded once. With one input it only rounds. */
void tutti_reduce_narrow(tutti_dtype type, const tutti_operands *of, const uint8_t *folds, int64_t n);
/* Copies the input to each output. Addresses and lengths may have any value; an output may be the input. */
void tutti_reduce_copy(char *const *outputs, int nout, const char *input, size_t nbytes, bool stream);
/* Divides the n elements of x by nranks. This is the second half of avg, after the sum. */
void tutti_reduce_average(tutti_dtype type, char *x, int64_t n, int32_t nranks);

#endif
