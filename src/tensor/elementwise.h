/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.h: sums and copies of f32 vectors, the commonest work of collectives (reduce.h has all types).
 *
 * Each element is computed by the same additions in the same order, at any offset and alignment and with any
 * instruction set (isa.h), so its bits are always the same. `stream` asks for non-temporal stores, which pay for
 * vectors larger than the caches. Threads: any (pure functions). */
#ifndef TUTTI_ELEMENTWISE_H
#define TUTTI_ELEMENTWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Computes an expression over the inputs, element by element, and writes the result to each output. `folds` is the
 * expression in postfix form, as in tutti/schedule.h. An output may be one of the inputs (same address); otherwise an
 * output overlaps no other vector. nin >= 1, nout >= 1. */
typedef struct {
    float *const *outputs;
    int nout;
    const float *const *inputs;
    int nin;
    const uint8_t *folds; /* order of the additions, in postfix form; NULL means left to right */
    float *stack;         /* scratch, which tutti_elementwise_reduce sets itself */
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
