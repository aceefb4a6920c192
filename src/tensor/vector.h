/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h: vectors of the instruction set that a file is compiled for, so that its loops are written once.
 * NAME_vector.c is compiled for each set and makes a row each time; NAME_avx512.c is compiled for AVX-512 alone
 * (cmake/library.cmake). Loops of a set run only if tutti_isa_here returns at least this set.
 *
 *   vector                WIDTH floats; a + b, a < b and the like are C's own, lane by lane
 *   load, store           WIDTH floats at any address; load_some, store_some: the first n < WIDTH of them, others zero
 *   stream, stream_fence  a store past the caches, to memory aligned as a vector; a fence, which is needed before
 *                         another thread is told of such stores
 *   all(x)                x in every lane
 *   multiply_add(a, b, c) a * b + c, rounded once except in generic; square_root; rectify: max(0, v), NaN of a NaN
 *   lanes_set             a set of lanes of a vector: positive, above, is_nan make such a set, | joins two, keep
 *                         and choose take one
 *   bits, pair_bits       one bit for each lane of one vector, of two: lanes_set in memory, converted by
 *                         bits_of(lanes_set) and lanes_set_of(bits)
 *   halves                WIDTH numbers of 16 bits: load_halves, store_halves, widen_bf16, narrow_bf16, and so with f16
 *   words                 2 * WIDTH numbers of 16 bits, or WIDTH numbers of 32 bits; longs: numbers of 64 bits
 *   half_vector           WIDTH / 2 floats
 *   doubles               DOUBLES doubles, in as many bytes as a vector: load_doubles, store_doubles, all_doubles,
 *                         widen_floats(from), and operations as for floats, called NAME_doubles; smaller, larger: if
 *                         one is NaN, the second one; fold: adds halves until one number is left
 *   double_lanes          a set of lanes of doubles: above, at_least, equal make it, & joins, choose_doubles and
 *                         bits_of_doubles take it
 *   put_nonzero(to, place, v, first)
 *                         writes the numbers of v that are not zero (a NaN counts) side by side into `to`, and the
 *                         lane of each plus `first` into `place`; writes a whole vector of both, returns their number
 *   sum_lanes(v)          adds all lanes, in an order that depends on the instruction set
 *   transpose(v)          transposes a square of WIDTH vectors; transpose_doubles(v): of DOUBLES vectors
 *   leave_vectors         to be called before scalar code that follows vectors without a return between them: upper
 *                         halves left dirty slow it down */
#ifndef TUTTI_VECTOR_H
#define TUTTI_VECTOR_H

#if defined(TUTTI_FOR_AVX512)
#include "vector_avx512.h"
#define TUTTI_ISA_ROW(name) name##_avx512 /* the row that this file adds to the table `name` (isa.h) */
#elif defined(TUTTI_FOR_AVX2)
#include "vector_avx2.h"
#define TUTTI_ISA_ROW(name) name##_avx2
#else
#include "vector_generic.h"
#define TUTTI_ISA_ROW(name) name##_generic
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE vector load(const float *from)
{
    return *(const loose *)(const void *)from;
}

INLINE void store(float *to, vector v)
{
    *(loose *)(void *)to = v;
}

INLINE vector all(float x)
{
    /* C's subtraction of a vector copies the scalar x to all lanes; subtracting 0 changes no number */
    return x - (vector){0};
}

INLINE vector keep_positive(vector kept, vector where)
{
    return keep(kept, positive(where));
}

/* Converts to bf16, rounded to nearest even. */
INLINE halves narrow_bf16(vector v)
{
    return cut_bf16((vector)round_bf16(v));
}

INLINE doubles load_doubles(const double *from)
{
    return *(const loose_doubles *)(const void *)from;
}

INLINE void store_doubles(double *to, doubles v)
{
    *(loose_doubles *)(void *)to = v;
}

INLINE doubles all_doubles(double x)
{
    return x - (doubles){0};
}

/* Transposes a square of DOUBLES vectors of doubles. Each step interleaves the first and the second half of all numbers
 * (a and b) as a0 b0 a1 b1 ... After log2(DOUBLES) such steps the square is transposed. */
INLINE void transpose_doubles(doubles v[DOUBLES])
{
    doubles w[DOUBLES];
    for (int step = 1; step < DOUBLES; step *= 2) {
        for (int i = 0; i < DOUBLES / 2; i++) {
            w[2 * i] = lower_pairs(v[i], v[i + DOUBLES / 2]);
            w[2 * i + 1] = upper_pairs(v[i], v[i + DOUBLES / 2]);
        }
        for (int i = 0; i < DOUBLES; i++) v[i] = w[i];
    }
}

#endif
