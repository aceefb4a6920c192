/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_f64_avx2.c: the row for f64, AVX2 and fused multiply-adds. Compiled with -mavx2 -mfma; nothing of it runs where
 * tutti_isa_here does not say avx2. The same bits as AVX-512. */
#include <immintrin.h>

#include "svm_tile_f64.h"

enum { WIDTH = 4, DOUBLES = 4 };
typedef double vector __attribute__((vector_size(32)));
typedef double loose __attribute__((vector_size(32), aligned(8), may_alias));
typedef whole_number whole __attribute__((vector_size(32)));
typedef double wide __attribute__((vector_size(32)));
typedef double loose_wide __attribute__((vector_size(32), aligned(8), may_alias));

static inline vector fused(vector a, vector b, vector c)
{
    return (vector)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

static inline vector rectify(vector v)
{
    return (vector)_mm256_max_pd(_mm256_setzero_pd(), (__m256d)v); /* of a NaN, the second one is taken */
}

static inline wide fused_wide(wide a, wide b, wide c)
{
    return (wide)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

static inline wide widen(const number *from)
{
    return *(const loose_wide *)(const void *)from;
}

static inline vector low_pairs(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}

static inline vector high_pairs(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

#include "svm_tile_loops.h"

const tutti_svm_tile_row tutti_svm_tile_f64_avx2 = ROW("avx2");
