/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_bf16.h: AVX512-BF16 for immintrin.h. Subnormal numbers are zeros of their sign, whatever goes in or comes
 * out; rounded to nearest even, whatever the processor's control register says. */
#ifndef TUTTI_EMULATED_BF16_H
#define TUTTI_EMULATED_BF16_H

#include "emulated_vectors.h"

EMULATED float emulated_flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

EMULATED float emulated_bf16(uint32_t upper_half)
{
    float x;
    memcpy(&x, &upper_half, sizeof x);
    return emulated_flushed(x);
}

/* The second numbers of pairs first, each product exact. */
EMULATED float emulated_dpbf16_lane(float sum, uint32_t a, uint32_t b)
{
    sum = emulated_flushed(fmaf(emulated_bf16(a & 0xffff0000), emulated_bf16(b & 0xffff0000), emulated_flushed(sum)));
    return emulated_flushed(fmaf(emulated_bf16(a << 16), emulated_bf16(b << 16), sum));
}

EMULATED __m512 emulated_dpbf16_ps(__m512 sum, __m512 a, __m512 b)
{
    const emulated_words left = (emulated_words)a, right = (emulated_words)b;
    for (int i = 0; i < 16; i++) sum[i] = emulated_dpbf16_lane(sum[i], left[i], right[i]);
    return sum;
}

EMULATED __m256 emulated_dpbf16_ps256(__m256 sum, __m256 a, __m256 b)
{
    const __m512 left = (__m512)emulated_join((__m256i)a, (__m256i)a);
    const __m512 right = (__m512)emulated_join((__m256i)b, (__m256i)b);
    const __m512 all = emulated_dpbf16_ps((__m512)emulated_join((__m256i)sum, (__m256i)sum), left, right);
    return (__m256)emulated_half((__m512i)all, 0);
}

/* A NaN keeps its upper half and is made a quiet one. */
EMULATED uint16_t emulated_cvtne_lane(float x)
{
    uint32_t raw;
    x = emulated_flushed(x);
    memcpy(&raw, &x, sizeof raw);
    if (isnan(x)) return (uint16_t)(raw >> 16 | 0x40);
    return (uint16_t)((raw + 0x7fff + (raw >> 16 & 1)) >> 16);
}

EMULATED __m256i emulated_cvtneps_pbh(__m512 v)
{
    uint16_t to[16];
    for (int i = 0; i < 16; i++) to[i] = emulated_cvtne_lane(v[i]);
    return _mm256_loadu_si256((const __m256i *)(const void *)to);
}

EMULATED __m128i emulated_cvtneps_pbh256(__m256 v)
{
    uint16_t to[8];
    for (int i = 0; i < 8; i++) to[i] = emulated_cvtne_lane(v[i]);
    return _mm_loadu_si128((const __m128i *)(const void *)to);
}

#endif
