/* SPDX-License-Identifier: Apache-2.0 */
/* convert_avx2.h: eight 16-bit numbers in registers, for loops of the row files *_avx2.c; needs F16C too. */
#ifndef TUTTI_CONVERT_AVX2_H
#define TUTTI_CONVERT_AVX2_H

#include <immintrin.h>
#include <stdint.h>

static inline __m128i tutti_load_halves(const uint16_t *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

static inline void tutti_store_halves(uint16_t *to, __m128i halves)
{
    _mm_storeu_si128((__m128i *)(void *)to, halves);
}

static inline __m256 tutti_widen_bf16(__m128i halves)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

static inline __m256 tutti_widen_f16(__m128i halves)
{
    return _mm256_cvtph_ps(halves);
}

static inline __m128i tutti_narrow_bf16(__m256 v)
{
    const __m256i bits = _mm256_castps_si256(v), upper = _mm256_srli_epi32(bits, 16);
    const __m256i even = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), even);
    rounded = _mm256_srli_epi32(rounded, 16);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(upper, _mm256_set1_epi32(0x40)), nan);
    const __m256i packed = _mm256_packus_epi32(rounded, rounded); /* within each half of the vector */
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}

static inline __m128i tutti_narrow_f16(__m256 v)
{
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

#endif
