/* SPDX-License-Identifier: Apache-2.0 */
/* convert_avx512.h: sixteen 16-bit numbers in registers, for loops of the row files *_avx512.c. bf16 by integer instructions:
 * those of AVX512-BF16 take subnormal numbers for zero. */
#ifndef TUTTI_CONVERT_AVX512_H
#define TUTTI_CONVERT_AVX512_H

#include <immintrin.h>
#include <stdint.h>

static inline __m256i tutti_load_halves(const uint16_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline void tutti_store_halves(uint16_t *to, __m256i halves)
{
    _mm256_storeu_si256((__m256i *)(void *)to, halves);
}

static inline __m512 tutti_widen_bf16(__m256i halves)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

static inline __m512 tutti_widen_f16(__m256i halves)
{
    return _mm512_cvtph_ps(halves);
}

static inline __m256i tutti_narrow_bf16(__m512 v)
{
    const __m512i bits = _mm512_castps_si512(v), upper = _mm512_srli_epi32(bits, 16);
    const __m512i even = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), even);
    rounded = _mm512_srli_epi32(rounded, 16);
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(rounded, nan, upper, _mm512_set1_epi32(0x40)));
}

static inline __m256i tutti_narrow_f16(__m512 v)
{
    return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

#endif
