/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_avx512.c: the loops of sparse convolutions for AVX-512: sixteen floats a vector, lists by compression in a register. */
#include "../tensor/vector_avx512.h"

static inline float sum_lanes(vector v)
{
    return _mm512_reduce_add_ps((__m512)v);
}

/* Straight into memory, compression is many times slower on Zen 4. */
static inline int64_t put_nonzero(float *to, int32_t *place, vector v, int32_t first)
{
    const __mmask16 where = _mm512_cmp_ps_mask((__m512)v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(where, (__m512)v));
    _mm512_storeu_si512(place, _mm512_maskz_compress_epi32(where, _mm512_add_epi32(lanes, _mm512_set1_epi32(first))));
    return __builtin_popcount(where);
}

#include "sparse_loops.h"

const tutti_sparse_loops tutti_sparse_avx512 = {"avx512", WIDTH, sparse_list, sparse_sum, sparse_weight, sparse_dot};
