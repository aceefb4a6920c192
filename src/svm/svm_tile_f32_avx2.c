/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_f32_avx2.c: the row for f32, AVX2 and fused multiply-adds. Compiled with -mavx2 -mfma; nothing of it runs where
 * tutti_isa_here does not say avx2. The same bits as AVX-512. */
#include <immintrin.h>

#include "svm_tile_f32.h"

enum { WIDTH = 8, DOUBLES = 4 };
typedef float vector __attribute__((vector_size(32)));
typedef float loose __attribute__((vector_size(32), aligned(4), may_alias));
typedef whole_number whole __attribute__((vector_size(32)));
typedef double wide __attribute__((vector_size(32)));
typedef double loose_wide __attribute__((vector_size(32), aligned(8), may_alias));

static inline vector fused(vector a, vector b, vector c)
{
    return (vector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

static inline vector rectify(vector v)
{
    return (vector)_mm256_max_ps(_mm256_setzero_ps(), (__m256)v); /* of a NaN, the second one is taken */
}

static inline wide fused_wide(wide a, wide b, wide c)
{
    return (wide)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

static inline wide widen(const number *from)
{
    return (wide)_mm256_cvtps_pd(_mm_loadu_ps(from));
}

static inline vector low_pairs(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

static inline vector high_pairs(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

#include "svm_tile_loops.h"

const tutti_svm_tile_row tutti_svm_tile_f32_avx2 = ROW("avx2");
