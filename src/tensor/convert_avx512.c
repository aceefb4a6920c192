/* SPDX-License-Identifier: Apache-2.0 */
/* convert_avx512.c: the row for AVX-512: sixteen numbers a vector. bf16 by integer instructions: those of AVX512-BF16 take
 * subnormal numbers for zero. Compiled with -mavx512f. */
#include <immintrin.h>

#include "convert_impl.h"

typedef __m512 vector;
enum { WIDTH = 16 };

static inline vector load(const float *from)
{
    return _mm512_loadu_ps(from);
}

static inline void store(float *to, vector v)
{
    _mm512_storeu_ps(to, v);
}

static inline vector add(vector older, vector newer)
{
    return _mm512_add_ps(older, newer);
}

static inline __m256i load_halves(const uint16_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline void store_halves(uint16_t *to, __m256i halves)
{
    _mm256_storeu_si256((__m256i *)(void *)to, halves);
}

static inline vector load_bf16(const uint16_t *from)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_halves(from)), 16));
}

static inline vector load_f16(const uint16_t *from)
{
    return _mm512_cvtph_ps(load_halves(from));
}

static inline void store_bf16(uint16_t *to, vector v)
{
    const __m512i bits = _mm512_castps_si512(v), upper = _mm512_srli_epi32(bits, 16);
    const __m512i even = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), even);
    rounded = _mm512_srli_epi32(rounded, 16);
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    rounded = _mm512_mask_or_epi32(rounded, nan, upper, _mm512_set1_epi32(0x40));
    store_halves(to, _mm512_cvtepi32_epi16(rounded));
}

static inline void store_f16(uint16_t *to, vector v)
{
    store_halves(to, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline void leave_vectors(void)
{
    _mm256_zeroupper();
}

#include "convert_loops.h"

const tutti_convert_row tutti_convert_avx512 = CONVERT_ROW;
