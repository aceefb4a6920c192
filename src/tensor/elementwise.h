/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.h: sums and copies of f32 vectors, the commonest work of collectives (reduce.h has all types).
 *
 * The bits do not depend on offset or alignment: each element is computed by the same additions in the same order, with
 * any instruction set (isa.h). `stream` asks for non-temporal stores and is for vectors larger than the caches.
 * Threads: shared (pure). */
#ifndef TUTTI_ELEMENTWISE_H
#define TUTTI_ELEMENTWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* outputs[0..nout)[i] = expression over inputs[0..nin)[i], i < n, postfix with folds as in tutti/schedule.h.
 * An output may be one of the inputs (same address); else outputs overlap nothing. nin >= 1, nout >= 1. */
typedef struct {
    float *const *outputs;
    int nout;
    const float *const *inputs;
    int nin;
    const uint8_t *folds; /* order of the sum, postfix; NULL: left to right */
    float *stack;         /* scratch; tutti_elementwise_reduce sets it itself */
    int64_t n;
    bool stream;
} tutti_elementwise_call;
void tutti_elementwise_reduce(const tutti_elementwise_call *c);
void tutti_elementwise_copy(float *const *outputs, int nout, const float *input, int64_t n, bool stream);
/* computes y += x */
void tutti_elementwise_add(float *y, const float *x, int64_t n);
/* True if no element is infinite or NaN. */
bool tutti_elementwise_is_finite(const float *x, int64_t n);

#endif
