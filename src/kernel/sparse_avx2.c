/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_avx2.c: the loops of sparse convolutions for AVX2 with FMA: eight floats a vector, lists by a table of orders of four lanes. */
#include "../tensor/vector_avx2.h"

static inline float sum_lanes(vector v)
{
    const __m128 fours = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1)),
                 twos = _mm_add_ps(fours, _mm_movehl_ps(fours, fours));
    return _mm_cvtss_f32(_mm_add_ss(twos, _mm_movehdup_ps(twos)));
}

/* For each set of four lanes: those of the set first. */
static const int32_t SIDE_BY_SIDE[16][4] = {
    {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {2, 0, 0, 0}, {0, 2, 0, 0}, {1, 2, 0, 0}, {0, 1, 2, 0},
    {3, 0, 0, 0}, {0, 3, 0, 0}, {1, 3, 0, 0}, {0, 1, 3, 0}, {2, 3, 0, 0}, {0, 2, 3, 0}, {1, 2, 3, 0}, {0, 1, 2, 3}};

static inline int64_t put_four(float *to, int32_t *place, __m128 v, int set, int32_t first)
{
    const __m128i order = _mm_loadu_si128((const __m128i *)(const void *)SIDE_BY_SIDE[set]);
    _mm_storeu_ps(to, _mm_permutevar_ps(v, order));
    _mm_storeu_si128((__m128i *)(void *)place, _mm_add_epi32(order, _mm_set1_epi32(first)));
    return __builtin_popcount((unsigned)set);
}

static inline int64_t put_nonzero(float *to, int32_t *place, vector v, int32_t first)
{
    const int where = _mm256_movemask_ps(_mm256_cmp_ps((__m256)v, _mm256_setzero_ps(), _CMP_NEQ_UQ));
    const int64_t n = put_four(to, place, _mm256_castps256_ps128((__m256)v), where & 15, first);
    return n + put_four(to + n, place + n, _mm256_extractf128_ps((__m256)v, 1), where >> 4, first + 4);
}

#include "sparse_loops.h"

const tutti_sparse_loops tutti_sparse_avx2 = {"avx2", WIDTH, sparse_list, sparse_sum, sparse_weight, sparse_dot};
