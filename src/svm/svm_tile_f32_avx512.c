/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_f32_avx512.c: the row for f32 and AVX-512. Compiled with -mavx512f; nothing of it runs where tutti_isa_here does not
 * say avx512. */
#include <immintrin.h>

#include "svm_tile_f32.h"

enum { WIDTH = 16, DOUBLES = 8 };
typedef float vector __attribute__((vector_size(64)));
typedef float loose __attribute__((vector_size(64), aligned(4), may_alias));
typedef whole_number whole __attribute__((vector_size(64)));
typedef double wide __attribute__((vector_size(64)));
typedef double loose_wide __attribute__((vector_size(64), aligned(8), may_alias));

static inline vector fused(vector a, vector b, vector c)
{
    return (vector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

static inline vector rectify(vector v)
{
    return (vector)_mm512_max_ps(_mm512_setzero_ps(), (__m512)v); /* of a NaN, the second one is taken */
}

static inline wide fused_wide(wide a, wide b, wide c)
{
    return (wide)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

static inline wide widen(const number *from)
{
    return (wide)_mm512_cvtps_pd(_mm256_loadu_ps(from));
}

static inline vector low_pairs(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

static inline vector high_pairs(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

#include "svm_tile_loops.h"

const tutti_svm_tile_row tutti_svm_tile_f32_avx512 = ROW("avx512");
