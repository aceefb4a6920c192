/* SPDX-License-Identifier: Apache-2.0 */
/* vector_avx2.h: vector.h by AVX2 with FMA and F16C: eight floats a vector. */
#ifndef TUTTI_VECTOR_AVX2_H
#define TUTTI_VECTOR_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { WIDTH = 8, DOUBLES = 4 };
typedef float vector __attribute__((vector_size(32)));
typedef float loose __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(32)));
typedef uint64_t longs __attribute__((vector_size(32)));
typedef double doubles __attribute__((vector_size(32)));
typedef double loose_doubles __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t double_lanes __attribute__((vector_size(32)));
typedef float half_vector __attribute__((vector_size(16)));
typedef __m128i halves;
typedef int32_t lanes_set __attribute__((vector_size(32)));
typedef uint8_t bits;
typedef uint16_t pair_bits;

static inline __m256i first_lanes(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline vector load_some(const float *from, int64_t n)
{
    return (vector)_mm256_maskload_ps(from, first_lanes(n));
}

/* Stores the first n floats piece by piece, because a masked store is slow on AMD's processors: some 40 operations on
 * Zen 3. */
static inline void store_few(float *to, __m128 v, int64_t n)
{
    if (n >= 4) {
        _mm_storeu_ps(to, v);
        return;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)to, v);
        v = _mm_movehl_ps(v, v);
        to += 2;
    }
    if (n & 1) _mm_store_ss(to, v);
}

static inline void store_some(float *to, vector v, int64_t n)
{
    const __m128 lower = _mm256_castps256_ps128((__m256)v), upper = _mm256_extractf128_ps((__m256)v, 1);
    store_few(to, lower, n);
    if (n > 4) store_few(to + 4, upper, n - 4);
}

static inline void stream(float *to, vector v)
{
    _mm256_stream_ps(to, (__m256)v);
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
    return (vector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

/* --- the lower half of a vector; its first n numbers --- */

static inline half_vector lower_half(vector v)
{
    return (half_vector)_mm256_castps256_ps128((__m256)v);
}

static inline half_vector multiply_add_half(half_vector a, half_vector b, half_vector c)
{
    return (half_vector)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
}

static inline half_vector load_some_half(const float *from, int64_t n)
{
    return (half_vector)_mm_maskload_ps(from, _mm256_castsi256_si128(first_lanes(n)));
}

static inline void store_some_half(float *to, half_vector v, int64_t n)
{
    store_few(to, (__m128)v, n);
}

static inline vector square_root(vector v)
{
    return (vector)_mm256_sqrt_ps((__m256)v);
}

static inline bits bits_of(lanes_set where)
{
    return (bits)_mm256_movemask_ps((__m256)where);
}

static inline lanes_set lanes_set_of(bits where)
{
    const __m256i one_each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128),
                  set = _mm256_and_si256(_mm256_set1_epi32(where), one_each);
    return (lanes_set)_mm256_cmpeq_epi32(set, one_each);
}

static inline lanes_set positive(vector v)
{
    return (lanes_set)_mm256_cmp_ps((__m256)v, _mm256_setzero_ps(), _CMP_GT_OQ);
}

static inline lanes_set above(vector a, vector b)
{
    return (lanes_set)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ);
}

static inline lanes_set is_nan(vector v)
{
    return (lanes_set)_mm256_cmp_ps((__m256)v, (__m256)v, _CMP_UNORD_Q);
}

static inline vector keep(vector v, lanes_set where)
{
    return (vector)((lanes_set)v & where);
}

static inline vector choose(lanes_set where, vector v, vector otherwise)
{
    return (vector)_mm256_blendv_ps((__m256)otherwise, (__m256)v, (__m256)where);
}

static inline vector rectify(vector v)
{
    /* if one of the two is NaN, the second one is taken */
    return (vector)_mm256_max_ps(_mm256_setzero_ps(), (__m256)v);
}

/* --- 16-bit numbers, as many as a vector has floats --- */

static inline halves load_halves(const uint16_t *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

static inline halves load_some_halves(const uint16_t *from, int64_t n)
{
    uint16_t some[WIDTH] = {0};
    memcpy(some, from, (size_t)n * sizeof *from);
    return load_halves(some);
}

static inline void store_halves(uint16_t *to, halves h)
{
    _mm_storeu_si128((__m128i *)(void *)to, h);
}

static inline void store_some_halves(uint16_t *to, halves h, int64_t n)
{
    uint16_t some[WIDTH];
    store_halves(some, h);
    memcpy(to, some, (size_t)n * sizeof *to);
}

static inline vector widen_bf16(halves h)
{
    return (vector)_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

static inline vector widen_f16(halves h)
{
    return (vector)_mm256_cvtph_ps(h);
}

/* Returns the upper halves of the floats' bits, which are numbers of bf16. */
static inline halves cut_bf16(vector v)
{
    const __m256i upper = _mm256_srli_epi32((__m256i)v, 16), packed = _mm256_packus_epi32(upper, upper);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}

static inline halves narrow_f16(vector v)
{
    return _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* --- 16-bit numbers, twice as many as a vector has floats --- */

static inline words load_words(const uint16_t *from)
{
    return (words)_mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline words load_some_words(const uint16_t *from, int64_t n)
{
    uint16_t some[2 * WIDTH] = {0};
    memcpy(some, from, (size_t)n * sizeof *from);
    return load_words(some);
}

static inline void store_words(uint16_t *to, words w)
{
    _mm256_storeu_si256((__m256i *)(void *)to, (__m256i)w);
}

static inline void store_some_words(uint16_t *to, words w, int64_t n)
{
    uint16_t some[2 * WIDTH];
    store_words(some, w);
    memcpy(to, some, (size_t)n * sizeof *to);
}

static inline void stream_words(uint16_t *to, words w)
{
    _mm256_stream_si256((__m256i *)(void *)to, (__m256i)w);
}

static inline words join_halves(halves lower, halves upper)
{
    return (words)_mm256_inserti128_si256(_mm256_castsi128_si256(lower), upper, 1);
}

static inline halves lower_halves(words w)
{
    return _mm256_castsi256_si128((__m256i)w);
}

static inline halves upper_halves(words w)
{
    return _mm256_extracti128_si256((__m256i)w, 1);
}

/* Rounds to bf16 (nearest even) in the upper half of each word; NaN stays NaN. The lower half is undefined. */
static inline words round_bf16(vector v)
{
    const __m256i raw = (__m256i)v, even = _mm256_and_si256(_mm256_srli_epi32(raw, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(raw, _mm256_set1_epi32(0x7fff)), even);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps((__m256)v, (__m256)v, _CMP_UNORD_Q));
    return (words)_mm256_blendv_epi8(rounded, _mm256_or_si256(raw, _mm256_set1_epi32(0x400000)), nan);
}

/* Joins the upper halves of the words: those of `even` go to even places, those of `odd` to odd places. */
static inline words join_upper(words even, words odd)
{
    return (words)_mm256_blend_epi16(_mm256_srli_epi32((__m256i)even, 16), (__m256i)odd, 0xaa);
}

/* --- bytes --- */

/* Returns the lanes of WIDTH bytes that are `value`. */
static inline lanes_set equal_bytes(const uint8_t *from, uint8_t value)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return (lanes_set)_mm256_cvtepi8_epi32(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)value)));
}

static inline void store_bytes(uint8_t *to, words w)
{
    const __m256i pairs = _mm256_packus_epi32((__m256i)w, (__m256i)w), fours = _mm256_packus_epi16(pairs, pairs);
    const int lower = _mm256_extract_epi32(fours, 0), upper = _mm256_extract_epi32(fours, 4);
    memcpy(to, &lower, sizeof lower);
    memcpy(to + sizeof lower, &upper, sizeof upper);
}

/* --- 64-bit numbers --- */

/* Returns the 64-bit products of the lower 32 bits of each lane of v with factor. */
static inline longs multiply_lower(longs v, uint32_t factor)
{
    return (longs)_mm256_mul_epu32((__m256i)v, _mm256_set1_epi64x(factor));
}

/* --- sums of lanes, and the numbers that are not zero --- */

static inline float sum_lanes(vector v)
{
    const __m128 fours = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1)),
                 twos = _mm_add_ps(fours, _mm_movehl_ps(fours, fours));
    return _mm_cvtss_f32(_mm_add_ss(twos, _mm_movehdup_ps(twos)));
}

/* for each set of four lanes: a permutation with the lanes of the set first */
static const int32_t lanes_first[16][4] = {
    {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {2, 0, 0, 0}, {0, 2, 0, 0}, {1, 2, 0, 0}, {0, 1, 2, 0},
    {3, 0, 0, 0}, {0, 3, 0, 0}, {1, 3, 0, 0}, {0, 1, 3, 0}, {2, 3, 0, 0}, {0, 2, 3, 0}, {1, 2, 3, 0}, {0, 1, 2, 3}};

static inline int64_t put_four(float *to, int32_t *place, __m128 v, int set, int32_t first)
{
    const __m128i order = _mm_loadu_si128((const __m128i *)(const void *)lanes_first[set]);
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

/* --- doubles, as many as fill a vector --- */

static inline doubles widen_floats(const float *from)
{
    return (doubles)_mm256_cvtps_pd(_mm_loadu_ps(from));
}

static inline doubles multiply_add_doubles(doubles a, doubles b, doubles c)
{
    return (doubles)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

static inline doubles rectify_doubles(doubles v)
{
    /* if one of the two is NaN, the second one is taken */
    return (doubles)_mm256_max_pd(_mm256_setzero_pd(), (__m256d)v);
}

static inline doubles smaller_doubles(doubles a, doubles b)
{
    return (doubles)_mm256_min_pd((__m256d)a, (__m256d)b);
}

static inline doubles larger_doubles(doubles a, doubles b)
{
    return (doubles)_mm256_max_pd((__m256d)a, (__m256d)b);
}

static inline double_lanes above_doubles(doubles a, doubles b)
{
    return (double_lanes)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_GT_OQ);
}

static inline double_lanes at_least_doubles(doubles a, doubles b)
{
    return (double_lanes)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_GE_OQ);
}

static inline double_lanes equal_doubles(doubles a, doubles b)
{
    return (double_lanes)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_EQ_OQ);
}

static inline bits bits_of_doubles(double_lanes where)
{
    return (bits)_mm256_movemask_pd((__m256d)where);
}

static inline doubles choose_doubles(double_lanes where, doubles v, doubles otherwise)
{
    return (doubles)_mm256_blendv_pd((__m256d)otherwise, (__m256d)v, (__m256d)where);
}

static inline doubles lower_pairs(doubles a, doubles b)
{
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}

static inline doubles upper_pairs(doubles a, doubles b)
{
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

/* Returns the sum of all lanes: adds the upper half to the lower half until one number is left. */
static inline double fold_doubles(doubles v)
{
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128((__m256d)v), _mm256_extractf128_pd((__m256d)v, 1));
    return two[0] + two[1];
}

/* --- transposing a square of numbers --- */

/* Transposes 4 x 4 squares: in each group of four lanes, the four vectors are a square. */
static inline void transpose_fours(__m256 v[4])
{
    const __m256 ab = _mm256_unpacklo_ps(v[0], v[1]), cd = _mm256_unpacklo_ps(v[2], v[3]);
    const __m256 ab_high = _mm256_unpackhi_ps(v[0], v[1]), cd_high = _mm256_unpackhi_ps(v[2], v[3]);
    v[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd)));
    v[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd)));
    v[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(ab_high), _mm256_castps_pd(cd_high)));
    v[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(ab_high), _mm256_castps_pd(cd_high)));
}

static inline void transpose(vector v[WIDTH])
{
    __m256 t[2][4];
    for (int g = 0; g < 2; g++) {
        for (int i = 0; i < 4; i++) t[g][i] = (__m256)v[4 * g + i];
        transpose_fours(t[g]);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = (vector)_mm256_permute2f128_ps(t[0][i], t[1][i], 0x20);
        v[4 + i] = (vector)_mm256_permute2f128_ps(t[0][i], t[1][i], 0x31);
    }
}

#endif
