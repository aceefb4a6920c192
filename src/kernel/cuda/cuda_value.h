/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_value.h: whole values in a card's memory: the functions that kernel.h has for values in host memory, and copies
 * from one order and type into another.
 *
 * Values are f32, bf16 or f16, row-major or channels last (tutti_cuda_reads). Each function puts a launch on the card's
 * stream. Call it from work of the card's queue (device/cuda/cuda.h). The first call of tutti_cuda_values_of for a card
 * finds all device functions, so that no later launch fails for a missing one. Threads: one at a time for each card.
 * Cost: one launch, one pass over memory. */
#ifndef TUTTI_KERNEL_CUDA_VALUE_H
#define TUTTI_KERNEL_CUDA_VALUE_H

#include "../../device/cuda/cuda.h"
#include "../kernel.h"

typedef struct {
    tutti_cuda_function sum, convert, transpose, transpose_few, zeros;
} tutti_cuda_values;

/* Sets *out to the functions of the card c. They live as long as the card. Once a call was successful, no later call
 * fails. TUTTI_ERR_FAILED has the compiler's message. */
tutti_status tutti_cuda_values_of(tutti_cuda *c, const tutti_cuda_values **out, tutti_failure *err);

/* True if kernels on a card read the value's type and order. */
bool tutti_cuda_reads(const tutti_value *v);
/* True if the value has channels last and this order differs from row-major: the value has more than one channel and
 * more than one position. */
bool tutti_cuda_is_nhwc(const tutti_value *v);

/* The description of a value, and its address in the card's memory. */
typedef struct {
    const tutti_value *value;
    void *memory;
} tutti_cuda_place;
/* Copies from to `to`. Both shapes have the same elements in the same row-major order; orders and types may differ
 * (rounded to nearest even). The two memories must not overlap. They may also be the same memory with the same
 * description; then nothing is copied. */
void tutti_cuda_value_move(tutti_cuda *c, const tutti_cuda_values *f, tutti_cuda_place from, tutti_cuda_place to);
/* Copy a value to row-major f32 (`plain`), and back, as tutti_value_to_plain and tutti_value_from_plain do on the
 * host. */
void tutti_cuda_value_to_plain(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const void *from,
                               float *plain);
void tutti_cuda_value_from_plain(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const float *plain,
                                 void *to);
/* Adds values as tutti_value_sum does on the host, with the same bits. n <= TUTTI_MAX_SUM_PARTS; out may be one of the
 * parts. */
void tutti_cuda_value_sum(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const void *const *parts,
                          int n, void *out);
/* Adds the number of the value's zero elements to *zeros, which lies in the card's memory. */
void tutti_cuda_value_zeros(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const void *memory,
                            int64_t *zeros);

#endif
