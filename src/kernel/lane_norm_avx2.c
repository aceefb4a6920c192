/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_avx2.c: the row for AVX2: eight channels a vector. Compiled with -mavx2; nothing of it runs where
 * tutti_elementwise_isa does not say avx2. */
#include <immintrin.h>

#include "../tensor/convert_avx2.h"
#include "lane_norm_impl.h"

enum { WIDTH = 8 };
typedef float vector __attribute__((vector_size(32)));
typedef float loose __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint8_t bits;

static inline __m256 is_positive(vector v)
{
    return _mm256_cmp_ps((__m256)v, _mm256_setzero_ps(), _CMP_GT_OQ);
}

static inline bits positive(vector v)
{
    return (bits)_mm256_movemask_ps(is_positive(v));
}

static inline vector keep(vector v, bits where)
{
    const __m256i one_each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128),
                  set = _mm256_and_si256(_mm256_set1_epi32(where), one_each);
    return (vector)_mm256_and_ps((__m256)v, _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, one_each)));
}

static inline vector keep_positive(vector kept, vector where)
{
    return (vector)_mm256_and_ps((__m256)kept, is_positive(where));
}

static inline vector rectify(vector v)
{
    return (vector)_mm256_max_ps(_mm256_setzero_ps(), (__m256)v); /* of a NaN, the second one is taken */
}

static inline void stream(float *to, vector v)
{
    _mm256_stream_ps(to, (__m256)v);
}

static inline void stream_fence(void)
{
    _mm_sfence();
}

typedef __m128i halves;

static inline halves load_halves(const uint16_t *from)
{
    return tutti_load_halves(from);
}

static inline void store_halves(uint16_t *to, halves h)
{
    tutti_store_halves(to, h);
}

static inline void stream_halves(uint16_t *to, halves h)
{
    _mm_stream_si128((__m128i *)(void *)to, h);
}

static inline vector widen_bf16(halves h)
{
    return (vector)tutti_widen_bf16(h);
}

static inline vector widen_f16(halves h)
{
    return (vector)tutti_widen_f16(h);
}

static inline halves narrow_bf16(vector v)
{
    return tutti_narrow_bf16((__m256)v);
}

static inline halves narrow_f16(vector v)
{
    return tutti_narrow_f16((__m256)v);
}

#include "lane_norm_loops.h"

const tutti_lane_norm_row tutti_lane_norm_avx2 = {"avx2",    WIDTH,         sizeof(bits), sums,
                                                  normalise, gradient_sums, gradient};
