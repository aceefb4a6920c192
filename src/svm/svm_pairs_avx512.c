/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs_avx512.c: the row for AVX-512: eight members at once. Compiled with -mavx512f; nothing of it runs where
 * tutti_isa_here does not say avx512. */
#include <immintrin.h>

#include "svm_pairs_impl.h"

enum { WIDTH = 8 };
typedef double vector __attribute__((vector_size(64)));
typedef double loose __attribute__((vector_size(64), aligned(8), may_alias));

static inline vector widen(const float *from)
{
    return (vector)_mm512_cvtps_pd(_mm256_loadu_ps(from));
}

static inline vector smaller(vector a, vector b)
{
    return (vector)_mm512_min_pd((__m512d)a, (__m512d)b); /* of a NaN, the second one is taken */
}

static inline vector larger(vector a, vector b)
{
    return (vector)_mm512_max_pd((__m512d)a, (__m512d)b);
}

static inline vector positive(vector a)
{
    const __mmask8 flat = _mm512_cmp_pd_mask((__m512d)a, _mm512_setzero_pd(), _CMP_LE_OQ);
    return (vector)_mm512_mask_mov_pd((__m512d)a, flat, _mm512_set1_pd(TUTTI_SVM_FLAT));
}

static inline unsigned equal(vector a, vector b)
{
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ);
}

static inline unsigned candidates(vector d, vector squares, vector limit)
{
    const __mmask8 grows = _mm512_cmp_pd_mask((__m512d)d, _mm512_setzero_pd(), _CMP_GT_OQ);
    return _mm512_mask_cmp_pd_mask(grows, (__m512d)squares, (__m512d)limit, _CMP_GE_OQ);
}

#include "svm_pairs_loops.h"

const tutti_svm_pairs_row tutti_svm_pairs_avx512 = {"avx512", scan, move, partner};
