/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h: converts vectors between f32, bf16 and f16, and adds 16-bit vectors.
 *
 * Rounding is to nearest, ties to even. Infinities stay, too large values become infinite, subnormal values are kept. A
 * NaN stays a NaN: its sign and the upper bits of its payload are kept, and narrowing (and widening of f16) makes it
 * quiet. The bits of a result do not depend on the element's offset or alignment, nor on the instruction set (isa.h).
 * Threads: any (pure functions). Cost: one pass over memory. */
#ifndef TUTTI_CONVERT_H
#define TUTTI_CONVERT_H

#include "tensor.h"

/* Convert to and from f32. type is f32 (a copy), bf16 or f16; from and to do not overlap. */
void tutti_convert_to_f32(tutti_dtype type, const void *from, float *to, int64_t n);
void tutti_convert_from_f32(tutti_dtype type, const float *from, void *to, int64_t n);
/* Adds x to y in f32, rounded once. y may be x. */
void tutti_convert_add(tutti_dtype type, void *y, const void *x, int64_t n);

#endif
