/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_value.h: whole values in a card's memory: what kernel.h has for the host's, and copies from one order and type into another.
 *
 * Values are f32, bf16 or f16, row-major or channels last (tutti_cuda_reads). Functions put launches on the card's stream; who calls them runs as
 * work of the queue (device/cuda/cuda.h). They are found when they are first asked for, once a card, so that running cannot fail.
 * Threads: as a tutti_cuda. Cost: one launch, one pass over memory. */
#ifndef TUTTI_KERNEL_CUDA_VALUE_H
#define TUTTI_KERNEL_CUDA_VALUE_H

#include "../../device/cuda/cuda.h"
#include "../kernel.h"

typedef struct {
    tutti_cuda_function sum, convert, transpose, transpose_few, zeros;
} tutti_cuda_values;

/* The card's own, alive as long as the card. After the first call that went well it cannot fail. TUTTI_ERR_FAILED with the compiler's words. */
tutti_status tutti_cuda_values_of(tutti_cuda *c, const tutti_cuda_values **out, tutti_failure *err);

/* Its type and order are those that kernels on a card read. */
bool tutti_cuda_reads(const tutti_value *v);
/* True: channels lie side by side, in another place than row-major would have them (more than one channel and position). */
bool tutti_cuda_is_nhwc(const tutti_value *v);

/* to = from, of shapes with the same numbers in the same row-major order: other orders, other types (rounded to nearest even). They are the
 * same memory, and then one description, or overlap nothing. What is there already is not moved. */
typedef struct {
    const tutti_value *value;
    void *memory;
} tutti_cuda_place;
void tutti_cuda_value_move(tutti_cuda *c, const tutti_cuda_values *f, tutti_cuda_place from, tutti_cuda_place to);
/* As tutti_value_to_plain and _from_plain: plain is row-major f32. */
void tutti_cuda_value_to_plain(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const void *from,
                               float *plain);
void tutti_cuda_value_from_plain(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const float *plain,
                                 void *to);
/* As tutti_value_sum, with its bits. n <= TUTTI_MAX_SUM_PARTS; out may be one of the parts. */
void tutti_cuda_value_sum(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const void *const *parts,
                          int n, void *out);
/* Adds how many of its elements are zero to *zeros, a number in the card's memory. */
void tutti_cuda_value_zeros(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const void *memory,
                            int64_t *zeros);

#endif
