/* SPDX-License-Identifier: Apache-2.0 */
/* lane_conv_avx512bf16.c: convolutions of bf16 in lanes. For lane_conv_loops.h a lane holds two elements, whose
 * products AVX512-BF16 adds to one f32 sum. These instructions take subnormal numbers for zero, as the library's
 * kernels do. Nothing of this file runs unless tutti_lane_conv_bf16 returns its loops. */
#include <string.h>

#include "lane_loops.h"

typedef uint16_t conv_number;
enum { CONV_PAIR = 2 };

/* Loads x[0] and x[1] into every lane, wherever they lie. */
INLINE vector conv_factor(const uint16_t *x)
{
    int32_t pair;
    memcpy(&pair, x, sizeof pair);
    return (vector)_mm512_set1_epi32(pair);
}

/* Loads x[0] and a zero into every lane. The element behind x[0] must not be loaded: it may be an infinity, which times
 * zero is not zero, or it may lie beyond the end. */
INLINE vector conv_factor_alone(const uint16_t *x)
{
    return (vector)_mm512_set1_epi32(*x);
}

INLINE vector conv_multiply_add(vector a, vector b, vector c)
{
    return (vector)_mm512_dpbf16_ps((__m512)c, (__m512bh)a, (__m512bh)b);
}

INLINE half_vector conv_multiply_add_half(half_vector a, half_vector b, half_vector c)
{
    return (half_vector)_mm256_dpbf16_ps((__m256)c, (__m256bh)a, (__m256bh)b);
}

INLINE vector conv_take(const uint16_t *x)
{
    return (vector)load_words(x);
}

INLINE vector conv_take_some(const uint16_t *x, int64_t n)
{
    return (vector)load_some_words(x, n);
}

/* Loads the first element of each pair, with a zero as the second element. */
INLINE vector conv_take_lower(const uint16_t *x)
{
    return (vector)(load_words(x) & 0xffff);
}

/* Stores sums as bf16. The instruction rounds like narrow_bf16 except for subnormal numbers, and no sum is subnormal,
 * because products take such numbers for zero. */
INLINE void conv_put(uint16_t *to, vector v)
{
    store_halves(to, (halves)_mm512_cvtneps_pbh((__m512)v));
}

INLINE void conv_put_half(uint16_t *to, half_vector v, int64_t n)
{
    _mm_mask_storeu_epi16(to, (__mmask8)((1u << n) - 1), (__m128i)_mm256_cvtneps_pbh((__m256)v));
}

INLINE words conv_upper(vector v, tutti_dtype type)
{
    return type == TUTTI_F32 ? round_bf16(v) : (words)v;
}

/* Writes n words: the lower halves are n elements of a, the upper halves n elements of b. b = NULL means zeros. */
INLINE void conv_join_rows(const void *a, const void *b, int64_t n, uint16_t *to, tutti_dtype type)
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        const vector upper = b ? take(b, i, type) : all(0);
        store_words(to + 2 * i, join_upper(conv_upper(take(a, i, type), type), conv_upper(upper, type)));
    }
    if (i == n) return;
    const vector upper = b ? take_some(b, i, n - i, type) : all(0);
    const words last = join_upper(conv_upper(take_some(a, i, n - i, type), type), conv_upper(upper, type));
    store_some_words(to + 2 * i, last, 2 * (n - i));
}

INLINE void conv_join_all(const char *from, int64_t apart, int64_t rows, int64_t n, uint16_t *to, tutti_dtype type)
{
    const int64_t next = apart * (int64_t)tutti_dtype_bytes(type);
    for (; rows > 1; rows -= 2, from += 2 * next, to += 2 * n) conv_join_rows(from, from + next, n, to, type);
    if (rows) conv_join_rows(from, NULL, n, to, type);
}

static void conv_join(tutti_dtype type, const void *from, int64_t apart, int64_t rows, int64_t n, void *to)
{
    if (type == TUTTI_F32)
        conv_join_all(from, apart, rows, n, to, TUTTI_F32);
    else
        conv_join_all(from, apart, rows, n, to, TUTTI_BF16);
}

#include "lane_conv_loops.h"

const tutti_conv_loops tutti_lane_conv_avx512bf16 = {conv_forward, conv_weight_gradient, conv_input_gradient,
                                                     conv_join};
