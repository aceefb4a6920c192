/* SPDX-License-Identifier: Apache-2.0 */
/* types.h: types of elements and operations of a reduction.
 *
 * Implemented in src/tensor. An element follows from the type and the operation: for argmin and argmax it is a pair of
 * a value of the type and an index, else one number.
 *
 *   sum, prod   i32 and i64 wrap around. f16 and bf16 are widened to f32, combined there, and rounded once for each
 *               reduce step of the schedule, however many inputs it has. f32 and f64: one rounding for each operation.
 *   min, max    NaN if any input is NaN (0x7fc00000 widened or narrowed, so that the bits are the same in every order);
 *               -0 is smaller than +0.
 *   avg         the sum, then one division by the number of ranks, rounded once more by the rank that owns the slice of
 *               the result; integers are cut towards zero. Only collectives that sum accept avg.
 *   argmin,     the whole element with the smallest (largest) value. Among equal values (-0 equals +0) the lower
 *   argmax      index wins. A NaN beats every number, and among NaNs the lower index wins.
 *
 * Threads: any (pure functions). */
#ifndef TUTTI_TYPES_H
#define TUTTI_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TUTTI_F32,
    TUTTI_BF16, /* bfloat16: the upper half of an f32 */
    TUTTI_F16,  /* IEEE 754 binary16 */
    TUTTI_I32,
    TUTTI_U8, /* a byte that is moved, never reduced */
    TUTTI_F64,
    TUTTI_I64,
    TUTTI_NDTYPES
} tutti_dtype;
const char *tutti_dtype_name(tutti_dtype t); /* returns a name such as "f32" */
size_t tutti_dtype_bytes(tutti_dtype t);

typedef enum {
    TUTTI_SUM,
    TUTTI_MIN,
    TUTTI_MAX,
    TUTTI_PROD,
    TUTTI_AVG,
    TUTTI_ARGMIN,
    TUTTI_ARGMAX,
    TUTTI_NOPERATIONS
} tutti_operation;
const char *tutti_operation_name(tutti_operation op); /* returns a name such as "sum" */

/* Elements of argmin and argmax. The result is a copy of one of the inputs, its `unused` included. */
typedef struct {
    float value;
    int32_t index;
} tutti_f32_at;
typedef struct {
    double value;
    int64_t index;
} tutti_f64_at;
typedef struct {
    int32_t value, index;
} tutti_i32_at;
typedef struct {
    int64_t value, index;
} tutti_i64_at;
typedef struct {
    uint16_t value; /* the bits of an f16 or bf16 */
    uint16_t unused;
    int32_t index;
} tutti_half_at;

/* Return the bytes of an element, and the alignment of its address: the type's bytes, 4 for pairs of 16-bit values. */
size_t tutti_element_bytes(tutti_dtype type, tutti_operation op);
size_t tutti_element_alignment(tutti_dtype type, tutti_operation op);
/* Returns true if the operation exists on the type: it does on all types but u8. */
bool tutti_can_reduce(tutti_dtype type, tutti_operation op);

#ifdef __cplusplus
}
#endif
#endif
