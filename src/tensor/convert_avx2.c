/* SPDX-License-Identifier: Apache-2.0 */
/* convert_avx2.c: the row for AVX2 and F16C: eight numbers a vector. Compiled with -mavx2 -mf16c. */
#include <immintrin.h>

#include "convert_impl.h"

typedef __m256 vector;
enum { WIDTH = 8 };

static inline vector load(const float *from)
{
    return _mm256_loadu_ps(from);
}

static inline void store(float *to, vector v)
{
    _mm256_storeu_ps(to, v);
}

static inline vector add(vector older, vector newer)
{
    return _mm256_add_ps(older, newer);
}

static inline __m128i load_halves(const uint16_t *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

static inline void store_halves(uint16_t *to, __m128i halves)
{
    _mm_storeu_si128((__m128i *)(void *)to, halves);
}

static inline vector load_bf16(const uint16_t *from)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_halves(from)), 16));
}

static inline vector load_f16(const uint16_t *from)
{
    return _mm256_cvtph_ps(load_halves(from));
}

static inline void store_bf16(uint16_t *to, vector v)
{
    const __m256i bits = _mm256_castps_si256(v), upper = _mm256_srli_epi32(bits, 16);
    const __m256i even = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), even);
    rounded = _mm256_srli_epi32(rounded, 16);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(upper, _mm256_set1_epi32(0x40)), nan);
    const __m256i packed = _mm256_packus_epi32(rounded, rounded); /* within each half of the vector */
    store_halves(to, _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
}

static inline void store_f16(uint16_t *to, vector v)
{
    store_halves(to, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline void leave_vectors(void)
{
    _mm256_zeroupper();
}

#include "convert_loops.h"

const tutti_convert_row tutti_convert_avx2 = CONVERT_ROW;
