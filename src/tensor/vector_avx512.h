/* SPDX-License-Identifier: Apache-2.0 */
/* vector_avx512.h: vector.h by AVX-512 (F, BW, DQ, VL): sixteen floats a vector. bf16 is converted by integer
 * instructions, because those of AVX512-BF16 treat subnormal numbers as zero. */
#ifndef TUTTI_VECTOR_AVX512_H
#define TUTTI_VECTOR_AVX512_H

#include <immintrin.h>
#include <stdint.h>

enum { WIDTH = 16, DOUBLES = 8 };
typedef float vector __attribute__((vector_size(64)));
typedef float loose __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(64)));
typedef uint64_t longs __attribute__((vector_size(64)));
typedef double doubles __attribute__((vector_size(64)));
typedef double loose_doubles __attribute__((vector_size(64), aligned(8), may_alias));
typedef __mmask8 double_lanes;
typedef float half_vector __attribute__((vector_size(32)));
typedef __m256i halves;
typedef __mmask16 lanes_set;
typedef uint16_t bits;
typedef uint32_t pair_bits;

static inline vector load_some(const float *from, int64_t n)
{
    return (vector)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), from);
}

static inline void store_some(float *to, vector v, int64_t n)
{
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << n) - 1), (__m512)v);
}

static inline void stream(float *to, vector v)
{
    _mm512_stream_ps(to, (__m512)v);
}

static inline void stream_fence(void)
{
    _mm_sfence();
}

static inline void leave_vectors(void)
{
    _mm256_zeroupper();
}

static inline vector multiply_add(vector a, vector b, vector c)
{
    return (vector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

/* --- the lower half of a vector; its first n numbers --- */

static inline half_vector lower_half(vector v)
{
    return (half_vector)_mm512_castps512_ps256((__m512)v);
}

static inline half_vector multiply_add_half(half_vector a, half_vector b, half_vector c)
{
    return (half_vector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

static inline half_vector load_some_half(const float *from, int64_t n)
{
    return (half_vector)_mm256_maskz_loadu_ps((__mmask8)((1u << n) - 1), from);
}

static inline void store_some_half(float *to, half_vector v, int64_t n)
{
    _mm256_mask_storeu_ps(to, (__mmask8)((1u << n) - 1), (__m256)v);
}

static inline vector square_root(vector v)
{
    return (vector)_mm512_sqrt_ps((__m512)v);
}

static inline bits bits_of(lanes_set where)
{
    return where;
}

static inline lanes_set lanes_set_of(bits where)
{
    return where;
}

static inline lanes_set positive(vector v)
{
    return _mm512_cmp_ps_mask((__m512)v, _mm512_setzero_ps(), _CMP_GT_OQ);
}

static inline lanes_set above(vector a, vector b)
{
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
}

static inline lanes_set is_nan(vector v)
{
    return _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q);
}

static inline vector keep(vector v, lanes_set where)
{
    return (vector)_mm512_maskz_mov_ps(where, (__m512)v);
}

static inline vector choose(lanes_set where, vector v, vector otherwise)
{
    return (vector)_mm512_mask_mov_ps((__m512)otherwise, where, (__m512)v);
}

static inline vector rectify(vector v)
{
    /* if one of the two is NaN, the second one is taken */
    return (vector)_mm512_max_ps(_mm512_setzero_ps(), (__m512)v);
}

/* --- 16-bit numbers, as many as a vector has floats --- */

static inline halves load_halves(const uint16_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline halves load_some_halves(const uint16_t *from, int64_t n)
{
    return _mm256_maskz_loadu_epi16((__mmask16)((1u << n) - 1), from);
}

static inline void store_halves(uint16_t *to, halves h)
{
    _mm256_storeu_si256((__m256i *)(void *)to, h);
}

static inline void store_some_halves(uint16_t *to, halves h, int64_t n)
{
    _mm256_mask_storeu_epi16(to, (__mmask16)((1u << n) - 1), h);
}

static inline vector widen_bf16(halves h)
{
    return (vector)_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

static inline vector widen_f16(halves h)
{
    return (vector)_mm512_cvtph_ps(h);
}

/* Returns the upper halves of the floats' bits, which are numbers of bf16. */
static inline halves cut_bf16(vector v)
{
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32((__m512i)v, 16));
}

static inline halves narrow_f16(vector v)
{
    return _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* --- 16-bit numbers, twice as many as a vector has floats --- */

static inline words load_words(const uint16_t *from)
{
    return (words)_mm512_loadu_si512(from);
}

static inline words load_some_words(const uint16_t *from, int64_t n)
{
    return (words)_mm512_maskz_loadu_epi16((__mmask32)((UINT64_C(1) << n) - 1), from);
}

static inline void store_words(uint16_t *to, words w)
{
    _mm512_storeu_si512(to, (__m512i)w);
}

static inline void store_some_words(uint16_t *to, words w, int64_t n)
{
    _mm512_mask_storeu_epi16(to, (__mmask32)((UINT64_C(1) << n) - 1), (__m512i)w);
}

static inline void stream_words(uint16_t *to, words w)
{
    _mm512_stream_si512((__m512i *)(void *)to, (__m512i)w);
}

static inline words join_halves(halves lower, halves upper)
{
    return (words)_mm512_inserti64x4(_mm512_castsi256_si512(lower), upper, 1);
}

static inline halves lower_halves(words w)
{
    return _mm512_castsi512_si256((__m512i)w);
}

static inline halves upper_halves(words w)
{
    return _mm512_extracti64x4_epi64((__m512i)w, 1);
}

/* Rounds to bf16 (nearest even) in the upper half of each word; NaN stays NaN. The lower half is undefined. */
static inline words round_bf16(vector v)
{
    const __m512i raw = (__m512i)v, even = _mm512_and_si512(_mm512_srli_epi32(raw, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(raw, _mm512_set1_epi32(0x7fff)), even);
    return (words)_mm512_mask_or_epi32(rounded, is_nan(v), raw, _mm512_set1_epi32(0x400000));
}

/* Joins the upper halves of the words: those of `even` go to even places, those of `odd` to odd places. */
static inline words join_upper(words even, words odd)
{
    enum { A_OR_B_AND_C = 0xf8 };
    return (words)_mm512_ternarylogic_epi32(_mm512_srli_epi32((__m512i)even, 16), (__m512i)odd,
                                            _mm512_set1_epi32((int)0xffff0000u), A_OR_B_AND_C);
}

/* --- bytes --- */

/* Returns the lanes of WIDTH bytes that are `value`. */
static inline lanes_set equal_bytes(const uint8_t *from, uint8_t value)
{
    return _mm_cmpeq_epi8_mask(_mm_loadu_si128((const __m128i *)(const void *)from), _mm_set1_epi8((char)value));
}

static inline void store_bytes(uint8_t *to, words w)
{
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8((__m512i)w));
}

/* --- 64-bit numbers --- */

/* Returns the 64-bit products of the lower 32 bits of each lane of v with factor. */
static inline longs multiply_lower(longs v, uint32_t factor)
{
    return (longs)_mm512_mul_epu32((__m512i)v, _mm512_set1_epi64(factor));
}

/* --- sums of lanes, and the numbers that are not zero --- */

static inline float sum_lanes(vector v)
{
    return _mm512_reduce_add_ps((__m512)v);
}

/* Writes the nonzero numbers (vector.h). The function compresses in a register, because compression straight into
 * memory is many times slower on Zen 4. */
static inline int64_t put_nonzero(float *to, int32_t *place, vector v, int32_t first)
{
    const __mmask16 where = _mm512_cmp_ps_mask((__m512)v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(where, (__m512)v));
    _mm512_storeu_si512(place, _mm512_maskz_compress_epi32(where, _mm512_add_epi32(lanes, _mm512_set1_epi32(first))));
    return __builtin_popcount(where);
}

/* --- doubles, as many as fill a vector --- */

static inline doubles widen_floats(const float *from)
{
    return (doubles)_mm512_cvtps_pd(_mm256_loadu_ps(from));
}

static inline doubles multiply_add_doubles(doubles a, doubles b, doubles c)
{
    return (doubles)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

static inline doubles rectify_doubles(doubles v)
{
    /* if one of the two is NaN, the second one is taken */
    return (doubles)_mm512_max_pd(_mm512_setzero_pd(), (__m512d)v);
}

static inline doubles smaller_doubles(doubles a, doubles b)
{
    return (doubles)_mm512_min_pd((__m512d)a, (__m512d)b);
}

static inline doubles larger_doubles(doubles a, doubles b)
{
    return (doubles)_mm512_max_pd((__m512d)a, (__m512d)b);
}

static inline double_lanes above_doubles(doubles a, doubles b)
{
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ);
}

static inline double_lanes at_least_doubles(doubles a, doubles b)
{
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GE_OQ);
}

static inline double_lanes equal_doubles(doubles a, doubles b)
{
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ);
}

static inline bits bits_of_doubles(double_lanes where)
{
    return where;
}

static inline doubles choose_doubles(double_lanes where, doubles v, doubles otherwise)
{
    return (doubles)_mm512_mask_mov_pd((__m512d)otherwise, where, (__m512d)v);
}

static inline doubles lower_pairs(doubles a, doubles b)
{
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

static inline doubles upper_pairs(doubles a, doubles b)
{
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

/* Returns the sum of all lanes: adds the upper half to the lower half until one number is left. */
static inline double fold_doubles(doubles v)
{
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256((__m512d)v), _mm512_extractf64x4_pd((__m512d)v, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return two[0] + two[1];
}

/* --- transposing a square of numbers --- */

/* Transposes 4 x 4 squares: in each group of four lanes, the four vectors are a square. */
static inline void transpose_fours(__m512 v[4])
{
    const __m512 ab = _mm512_unpacklo_ps(v[0], v[1]), cd = _mm512_unpacklo_ps(v[2], v[3]);
    const __m512 ab_high = _mm512_unpackhi_ps(v[0], v[1]), cd_high = _mm512_unpackhi_ps(v[2], v[3]);
    v[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
    v[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
    v[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab_high), _mm512_castps_pd(cd_high)));
    v[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab_high), _mm512_castps_pd(cd_high)));
}

static inline void transpose(vector v[WIDTH])
{
    __m512 t[4][4];
    for (int g = 0; g < 4; g++) {
        for (int i = 0; i < 4; i++) t[g][i] = (__m512)v[4 * g + i];
        transpose_fours(t[g]);
    }
    /* t[g][i] now holds lanes 4 l + i of vectors 4 g .. 4 g + 3, for l = 0 .. 3; the next step transposes these
     * groups */
    for (int i = 0; i < 4; i++) {
        const __m512 low01 = _mm512_shuffle_f32x4(t[0][i], t[1][i], 0x44),
                     high01 = _mm512_shuffle_f32x4(t[0][i], t[1][i], 0xee);
        const __m512 low23 = _mm512_shuffle_f32x4(t[2][i], t[3][i], 0x44),
                     high23 = _mm512_shuffle_f32x4(t[2][i], t[3][i], 0xee);
        v[i] = (vector)_mm512_shuffle_f32x4(low01, low23, 0x88);
        v[4 + i] = (vector)_mm512_shuffle_f32x4(low01, low23, 0xdd);
        v[8 + i] = (vector)_mm512_shuffle_f32x4(high01, high23, 0x88);
        v[12 + i] = (vector)_mm512_shuffle_f32x4(high01, high23, 0xdd);
    }
}

#endif
