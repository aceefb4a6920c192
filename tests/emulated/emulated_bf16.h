/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_bf16.h: AVX512-BF16 for immintrin.h. Subnormal numbers are zeros of their sign, whatever goes in or comes
 * out; rounded to nearest even, whatever the processor's control register says. */
#ifndef TUTTI_EMULATED_BF16_H
#define TUTTI_EMULATED_BF16_H

#include "emulated_vectors.h"

typedef uint32_t emulated_half_words __attribute__((vector_size(32), may_alias));
typedef uint16_t emulated_half_shorts __attribute__((vector_size(16), may_alias));

EMULATED __m256 emulated_flushed(__m256 x)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256 is_small = _mm256_cmp_ps(_mm256_andnot_ps(sign, x), _mm256_set1_ps(0x1p-126f), _CMP_LT_OQ);
    return _mm256_blendv_ps(x, _mm256_and_ps(x, sign), is_small);
}

/* The first, second number of each pair. */
EMULATED __m256 emulated_firsts(__m256i pairs)
{
    return emulated_flushed((__m256)_mm256_slli_epi32(pairs, 16));
}

EMULATED __m256 emulated_seconds(__m256i pairs)
{
    return emulated_flushed((__m256)_mm256_and_si256(pairs, _mm256_set1_epi32((int)0xffff0000)));
}

/* The second numbers of pairs first, each product exact. */
EMULATED __m256 emulated_dpbf16_ps256(__m256 sum, __m256 a, __m256 b)
{
    const __m256i left = (__m256i)a, right = (__m256i)b;
    sum = _mm256_fmadd_ps(emulated_seconds(left), emulated_seconds(right), emulated_flushed(sum));
    return emulated_flushed(_mm256_fmadd_ps(emulated_firsts(left), emulated_firsts(right), emulated_flushed(sum)));
}

EMULATED __m512 emulated_dpbf16_ps(__m512 sum, __m512 a, __m512 b)
{
    return emulated_join_ps(
        emulated_dpbf16_ps256(emulated_half_ps(sum, 0), emulated_half_ps(a, 0), emulated_half_ps(b, 0)),
        emulated_dpbf16_ps256(emulated_half_ps(sum, 1), emulated_half_ps(a, 1), emulated_half_ps(b, 1)));
}

/* A NaN keeps its upper half and is made a quiet one. */
EMULATED __m128i emulated_cvtneps_pbh256(__m256 v)
{
    const __m256 x = emulated_flushed(v);
    const emulated_half_words raw = (emulated_half_words)x, upper = raw >> 16;
    const emulated_half_words rounded = (raw + 0x7fff + (upper & 1)) >> 16;
    const __m256 chosen = _mm256_blendv_ps((__m256)rounded, (__m256)(upper | 0x40), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return (__m128i) __builtin_convertvector((emulated_half_words)chosen, emulated_half_shorts);
}

EMULATED __m256i emulated_cvtneps_pbh(__m512 v)
{
    const __m128i lower = emulated_cvtneps_pbh256(emulated_half_ps(v, 0));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(lower), emulated_cvtneps_pbh256(emulated_half_ps(v, 1)), 1);
}

#endif
