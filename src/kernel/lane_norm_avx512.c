/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_avx512.c: the row for AVX-512: sixteen channels a vector. Compiled with -mavx512f; nothing of it runs where
 * tutti_elementwise_isa does not say avx512. */
#include <immintrin.h>

#include "../tensor/convert_avx512.h"
#include "lane_norm_impl.h"

enum { WIDTH = 16 };
typedef float vector __attribute__((vector_size(64)));
typedef float loose __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t bits;

static inline bits positive(vector v)
{
    return _mm512_cmp_ps_mask((__m512)v, _mm512_setzero_ps(), _CMP_GT_OQ);
}

static inline vector keep(vector v, bits where)
{
    return (vector)_mm512_maskz_mov_ps(where, (__m512)v);
}

static inline vector keep_positive(vector kept, vector where)
{
    return keep(kept, positive(where));
}

static inline vector rectify(vector v)
{
    return (vector)_mm512_max_ps(_mm512_setzero_ps(), (__m512)v); /* of a NaN, the second one is taken */
}

static inline void stream(float *to, vector v)
{
    _mm512_stream_ps(to, (__m512)v);
}

static inline void stream_fence(void)
{
    _mm_sfence();
}

typedef __m256i halves;

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
    _mm256_stream_si256((__m256i *)(void *)to, h);
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
    return tutti_narrow_bf16((__m512)v);
}

static inline halves narrow_f16(vector v)
{
    return tutti_narrow_f16((__m512)v);
}

#include "lane_norm_loops.h"

const tutti_lane_norm_row tutti_lane_norm_avx512 = {"avx512",  WIDTH,         sizeof(bits), sums,
                                                    normalise, gradient_sums, gradient};
