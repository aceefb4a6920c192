/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_f64_avx512.c: the row for f64 and AVX-512. Compiled with -mavx512f; nothing of it runs where tutti_isa_here does not
 * say avx512. */
#include <immintrin.h>

#include "svm_tile_f64.h"

enum { WIDTH = 8, DOUBLES = 8 };
typedef double vector __attribute__((vector_size(64)));
typedef double loose __attribute__((vector_size(64), aligned(8), may_alias));
typedef whole_number whole __attribute__((vector_size(64)));
typedef double wide __attribute__((vector_size(64)));
typedef double loose_wide __attribute__((vector_size(64), aligned(8), may_alias));

static inline vector fused(vector a, vector b, vector c)
{
    return (vector)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

static inline vector rectify(vector v)
{
    return (vector)_mm512_max_pd(_mm512_setzero_pd(), (__m512d)v); /* of a NaN, the second one is taken */
}

static inline wide fused_wide(wide a, wide b, wide c)
{
    return (wide)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

static inline wide widen(const number *from)
{
    return *(const loose_wide *)(const void *)from;
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

const tutti_svm_tile_row tutti_svm_tile_f64_avx512 = ROW("avx512");
