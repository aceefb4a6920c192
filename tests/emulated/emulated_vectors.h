/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_vectors.h: AVX-512 F, BW, DQ, VL for immintrin.h: what vector_avx512.h and the loops of src/ call. Most
 * instructions are two of AVX2, which take gcc and the processor less time than sixteen of one lane. What must be
 * aligned and is not ends the program, as the processor would; masked loads and stores touch the lanes of their mask
 * alone. */
#ifndef TUTTI_EMULATED_VECTORS_H
#define TUTTI_EMULATED_VECTORS_H

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EMULATED static inline __attribute__((always_inline))

typedef uint32_t emulated_words __attribute__((vector_size(64), may_alias));
typedef uint64_t emulated_longs __attribute__((vector_size(64), may_alias));
typedef uint16_t emulated_shorts __attribute__((vector_size(32), may_alias));
typedef uint8_t emulated_bytes __attribute__((vector_size(16), may_alias));

EMULATED void emulated_aligned(const void *place)
{
    if ((uintptr_t)place % 64 != 0) abort();
}

/* ---- loads, stores ---- */

EMULATED __m512i emulated_loadu_si512(const void *from)
{
    __m512i v;
    memcpy(&v, from, sizeof v);
    return v;
}

EMULATED void emulated_storeu_si512(void *to, __m512i v)
{
    memcpy(to, &v, sizeof v);
}

EMULATED void emulated_store_si512(void *to, __m512i v)
{
    emulated_aligned(to);
    memcpy(to, &v, sizeof v);
}

/* Lanes of so many bytes each. */
EMULATED void emulated_some(void *to, const void *from, uint32_t mask, int lanes, size_t bytes)
{
    for (int i = 0; i < lanes; i++)
        if (mask >> i & 1) memcpy((char *)to + (size_t)i * bytes, (const char *)from + (size_t)i * bytes, bytes);
}

#define EMULATED_SOME(name, vector, mask_of, lanes, bytes)                                                             \
    EMULATED vector emulated_load_##name(mask_of mask, const void *from)                                               \
    {                                                                                                                  \
        vector v = {0};                                                                                                \
        emulated_some(&v, from, mask, lanes, bytes);                                                                   \
        return v;                                                                                                      \
    }                                                                                                                  \
    EMULATED void emulated_store_##name(void *to, mask_of mask, vector v)                                              \
    {                                                                                                                  \
        emulated_some(to, &v, mask, lanes, bytes);                                                                     \
    }
EMULATED_SOME(16_floats, __m512, __mmask16, 16, 4)
EMULATED_SOME(8_floats, __m256, __mmask8, 8, 4)
EMULATED_SOME(32_halves, __m512i, __mmask32, 32, 2)
EMULATED_SOME(16_halves, __m256i, __mmask16, 16, 2)
EMULATED_SOME(8_halves, __m128i, __mmask8, 8, 2)

/* ---- constants, halves ---- */

EMULATED __m512i emulated_set1_epi32(int32_t x)
{
    return (__m512i)((emulated_words){0} + (uint32_t)x);
}

EMULATED __m512i emulated_set1_epi64(int64_t x)
{
    return (__m512i)((emulated_longs){0} + (uint64_t)x);
}

EMULATED __m512i emulated_join(__m256i lower, __m256i upper)
{
    const __m256i both[2] = {lower, upper};
    return emulated_loadu_si512(both);
}

EMULATED __m256i emulated_half(__m512i v, int upper)
{
    __m256i half;
    memcpy(&half, (const char *)&v + (upper ? 32 : 0), sizeof half);
    return half;
}

EMULATED __m256 emulated_half_ps(__m512 v, int upper)
{
    return (__m256)emulated_half((__m512i)v, upper);
}

EMULATED __m256d emulated_half_pd(__m512d v, int upper)
{
    return (__m256d)emulated_half((__m512i)v, upper);
}

EMULATED __m512 emulated_join_ps(__m256 lower, __m256 upper)
{
    return (__m512)emulated_join((__m256i)lower, (__m256i)upper);
}

EMULATED __m512d emulated_join_pd(__m256d lower, __m256d upper)
{
    return (__m512d)emulated_join((__m256i)lower, (__m256i)upper);
}

EMULATED __m512i emulated_inserti64x4(__m512i v, __m256i half, int upper)
{
    return upper ? emulated_join(emulated_half(v, 0), half) : emulated_join(half, emulated_half(v, 1));
}

/* ---- arithmetic ---- */

EMULATED __m512 emulated_fmadd_ps(__m512 a, __m512 b, __m512 c)
{
    return emulated_join_ps(_mm256_fmadd_ps(emulated_half_ps(a, 0), emulated_half_ps(b, 0), emulated_half_ps(c, 0)),
                            _mm256_fmadd_ps(emulated_half_ps(a, 1), emulated_half_ps(b, 1), emulated_half_ps(c, 1)));
}

EMULATED __m512d emulated_fmadd_pd(__m512d a, __m512d b, __m512d c)
{
    return emulated_join_pd(_mm256_fmadd_pd(emulated_half_pd(a, 0), emulated_half_pd(b, 0), emulated_half_pd(c, 0)),
                            _mm256_fmadd_pd(emulated_half_pd(a, 1), emulated_half_pd(b, 1), emulated_half_pd(c, 1)));
}

EMULATED __m512 emulated_sqrt_ps(__m512 v)
{
    return emulated_join_ps(_mm256_sqrt_ps(emulated_half_ps(v, 0)), _mm256_sqrt_ps(emulated_half_ps(v, 1)));
}

/* Of two zeros, and of a NaN, the second one: as AVX2 has it, too. */
EMULATED __m512 emulated_max_ps(__m512 a, __m512 b)
{
    return emulated_join_ps(_mm256_max_ps(emulated_half_ps(a, 0), emulated_half_ps(b, 0)),
                            _mm256_max_ps(emulated_half_ps(a, 1), emulated_half_ps(b, 1)));
}

EMULATED __m512d emulated_max_pd(__m512d a, __m512d b)
{
    return emulated_join_pd(_mm256_max_pd(emulated_half_pd(a, 0), emulated_half_pd(b, 0)),
                            _mm256_max_pd(emulated_half_pd(a, 1), emulated_half_pd(b, 1)));
}

EMULATED __m512d emulated_min_pd(__m512d a, __m512d b)
{
    return emulated_join_pd(_mm256_min_pd(emulated_half_pd(a, 0), emulated_half_pd(b, 0)),
                            _mm256_min_pd(emulated_half_pd(a, 1), emulated_half_pd(b, 1)));
}

EMULATED __m512i emulated_mul_epu32(__m512i a, __m512i b)
{
    const emulated_longs lower = (emulated_longs){0} + UINT32_MAX;
    return (__m512i)(((emulated_longs)a & lower) * ((emulated_longs)b & lower));
}

/* As the intrinsics guide has it: the upper half is added to the lower one, until one number is left. */
EMULATED float emulated_reduce_add_ps(__m512 v)
{
    for (int n = 8; n; n /= 2)
        for (int i = 0; i < n; i++) v[i] += v[i + n];
    return v[0];
}

EMULATED __m512i emulated_ternarylogic_epi32(__m512i a, __m512i b, __m512i c, int table)
{
    emulated_words all = {0};
    for (int i = 0; i < 8; i++)
        if (table >> i & 1) {
            const emulated_words with_a = i & 4 ? (emulated_words)a : ~(emulated_words)a;
            const emulated_words with_b = i & 2 ? (emulated_words)b : ~(emulated_words)b;
            const emulated_words with_c = i & 1 ? (emulated_words)c : ~(emulated_words)c;
            all |= with_a & with_b & with_c;
        }
    return (__m512i)all;
}

/* ---- masks ---- */

/* A comparison of AVX2 takes its number as a constant. */
#define EMULATED_COMPARE_PS(number)                                                                                    \
    case number:                                                                                                       \
        return (__mmask16)(_mm256_movemask_ps(_mm256_cmp_ps(emulated_half_ps(a, 0), emulated_half_ps(b, 0), number)) | \
                           _mm256_movemask_ps(_mm256_cmp_ps(emulated_half_ps(a, 1), emulated_half_ps(b, 1), number))   \
                               << 8)
#define EMULATED_COMPARE_PD(number)                                                                                    \
    case number:                                                                                                       \
        return (__mmask8)(_mm256_movemask_pd(_mm256_cmp_pd(emulated_half_pd(a, 0), emulated_half_pd(b, 0), number)) |  \
                          _mm256_movemask_pd(_mm256_cmp_pd(emulated_half_pd(a, 1), emulated_half_pd(b, 1), number))    \
                              << 4)

EMULATED __mmask16 emulated_cmp_ps_mask(__m512 a, __m512 b, int how)
{
    switch (how) {
        EMULATED_COMPARE_PS(_CMP_GT_OQ);
        EMULATED_COMPARE_PS(_CMP_GE_OQ);
        EMULATED_COMPARE_PS(_CMP_EQ_OQ);
        EMULATED_COMPARE_PS(_CMP_NEQ_UQ);
        EMULATED_COMPARE_PS(_CMP_UNORD_Q);
    default: abort();
    }
}

EMULATED __mmask8 emulated_cmp_pd_mask(__m512d a, __m512d b, int how)
{
    switch (how) {
        EMULATED_COMPARE_PD(_CMP_GT_OQ);
        EMULATED_COMPARE_PD(_CMP_GE_OQ);
        EMULATED_COMPARE_PD(_CMP_EQ_OQ);
        EMULATED_COMPARE_PD(_CMP_NEQ_UQ);
        EMULATED_COMPARE_PD(_CMP_UNORD_Q);
    default: abort();
    }
}

EMULATED __mmask16 emulated_cmpeq_epi8_mask(__m128i a, __m128i b)
{
    return (__mmask16)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b));
}

/* All bits of lane i, where the mask has bit i. */
EMULATED __m256 emulated_lanes_ps(int mask)
{
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return (__m256)_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(mask), bits), bits);
}

EMULATED __m256d emulated_lanes_pd(int mask)
{
    const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
    return (__m256d)_mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(mask), bits), bits);
}

EMULATED __m512 emulated_mask_mov_ps(__m512 otherwise, __mmask16 mask, __m512 v)
{
    return emulated_join_ps(
        _mm256_blendv_ps(emulated_half_ps(otherwise, 0), emulated_half_ps(v, 0), emulated_lanes_ps(mask)),
        _mm256_blendv_ps(emulated_half_ps(otherwise, 1), emulated_half_ps(v, 1), emulated_lanes_ps(mask >> 8)));
}

EMULATED __m512d emulated_mask_mov_pd(__m512d otherwise, __mmask8 mask, __m512d v)
{
    return emulated_join_pd(
        _mm256_blendv_pd(emulated_half_pd(otherwise, 0), emulated_half_pd(v, 0), emulated_lanes_pd(mask)),
        _mm256_blendv_pd(emulated_half_pd(otherwise, 1), emulated_half_pd(v, 1), emulated_lanes_pd(mask >> 4)));
}

EMULATED __m512i emulated_mask_or_epi32(__m512i otherwise, __mmask16 mask, __m512i a, __m512i b)
{
    return (__m512i)emulated_mask_mov_ps((__m512)otherwise, mask, (__m512)(a | b));
}

EMULATED __m512i emulated_maskz_compress_epi32(__mmask16 mask, __m512i v)
{
    const emulated_words from = (emulated_words)v;
    emulated_words to = {0};
    int n = 0;
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1) to[n++] = from[i];
    return (__m512i)to;
}

/* ---- conversions ---- */

EMULATED __m512i emulated_cvtepu16_epi32(__m256i v)
{
    return (__m512i) __builtin_convertvector((emulated_shorts)v, emulated_words);
}

EMULATED __m256i emulated_cvtepi32_epi16(__m512i v)
{
    return (__m256i) __builtin_convertvector((emulated_words)v, emulated_shorts);
}

EMULATED __m128i emulated_cvtepi32_epi8(__m512i v)
{
    return (__m128i) __builtin_convertvector((emulated_words)v, emulated_bytes);
}

EMULATED __m512d emulated_cvtps_pd(__m256 v)
{
    return __builtin_convertvector(v, __m512d);
}

EMULATED __m512 emulated_cvtph_ps(__m256i v)
{
    const __m256 lower = _mm256_cvtph_ps(_mm256_castsi256_si128(v)),
                 upper = _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
    return (__m512)emulated_join((__m256i)lower, (__m256i)upper);
}

/* To nearest even: what the loops ask for. */
EMULATED __m256i emulated_cvtps_ph(__m512 v)
{
    const __m128i lower = _mm256_cvtps_ph((__m256)emulated_half((__m512i)v, 0), _MM_FROUND_TO_NEAREST_INT);
    const __m128i upper = _mm256_cvtps_ph((__m256)emulated_half((__m512i)v, 1), _MM_FROUND_TO_NEAREST_INT);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(lower), upper, 1);
}

/* Quarters: two of a, then two of b, two bits each. */
EMULATED __m512 emulated_shuffle_f32x4(__m512 a, __m512 b, int how)
{
    __m512 to;
    for (int i = 0; i < 4; i++)
        memcpy((char *)&to + 16 * i, (const char *)(i < 2 ? &a : &b) + 16 * (how >> 2 * i & 3), 16);
    return to;
}

#endif
