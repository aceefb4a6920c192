/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs_avx2.c: the row for AVX2: four members at once. Compiled with -mavx2; nothing of it runs where tutti_isa_here does
 * not say avx2. */
#include <immintrin.h>

#include "svm_pairs_impl.h"

enum { WIDTH = 4 };
typedef double vector __attribute__((vector_size(32)));
typedef double loose __attribute__((vector_size(32), aligned(8), may_alias));

static inline vector widen(const float *from)
{
    return (vector)_mm256_cvtps_pd(_mm_loadu_ps(from));
}

static inline vector smaller(vector a, vector b)
{
    return (vector)_mm256_min_pd((__m256d)a, (__m256d)b); /* of a NaN, the second one is taken */
}

static inline vector larger(vector a, vector b)
{
    return (vector)_mm256_max_pd((__m256d)a, (__m256d)b);
}

static inline vector positive(vector a)
{
    const __m256d flat = _mm256_cmp_pd((__m256d)a, _mm256_setzero_pd(), _CMP_LE_OQ);
    return (vector)_mm256_blendv_pd((__m256d)a, _mm256_set1_pd(TUTTI_SVM_FLAT), flat);
}

static inline unsigned equal(vector a, vector b)
{
    return (unsigned)_mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_EQ_OQ));
}

static inline unsigned candidates(vector d, vector squares, vector limit)
{
    const __m256d grows = _mm256_cmp_pd((__m256d)d, _mm256_setzero_pd(), _CMP_GT_OQ),
                  reaches = _mm256_cmp_pd((__m256d)squares, (__m256d)limit, _CMP_GE_OQ);
    return (unsigned)_mm256_movemask_pd(_mm256_and_pd(grows, reaches));
}

#include "svm_pairs_loops.h"

const tutti_svm_pairs_row tutti_svm_pairs_avx2 = {"avx2", scan, move, partner};
