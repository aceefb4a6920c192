/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_vector.c: the vector loops behind reduce.h. They are plain C, which the compiler turns into the vectors of the
 * instruction set.
 *
 * Each element is computed by one operation and without fused operations, so every instruction set gives the same bits.
 * Integers are added and multiplied unsigned, where C defines that they wrap. min and max of floats compare their bits
 * as integers. In negative numbers all bits but the sign are inverted first, so that two's complement orders them, -0
 * below +0. */
#include <string.h>

#include "reduce_impl.h"
#include "vector.h"

/* --- one element --- */

#define ARITHMETIC(suffix, type, word)                                                                                 \
    INLINE type sum_##suffix(type a, type b)                                                                           \
    {                                                                                                                  \
        return (type)((word)a + (word)b);                                                                              \
    }                                                                                                                  \
    INLINE type prod_##suffix(type a, type b)                                                                          \
    {                                                                                                                  \
        return (type)((word)a * (word)b);                                                                              \
    }

ARITHMETIC(f32, float, float)
ARITHMETIC(f64, double, double)
ARITHMETIC(i32, int32_t, uint32_t)
ARITHMETIC(i64, int64_t, uint64_t)

#define INTEGER_ORDER(suffix, type)                                                                                    \
    INLINE type min_##suffix(type a, type b)                                                                           \
    {                                                                                                                  \
        return b < a ? b : a;                                                                                          \
    }                                                                                                                  \
    INLINE type max_##suffix(type a, type b)                                                                           \
    {                                                                                                                  \
        return b > a ? b : a;                                                                                          \
    }

INTEGER_ORDER(i32, int32_t)
INTEGER_ORDER(i64, int64_t)

/* rest: all bits but the sign. infinity: bits of infinity; a magnitude with higher bits is NaN. nan: the NaN that is
 * the result if an operand is NaN. */
#define FLOAT_ORDER(suffix, type, bits, rest, infinity, nan)                                                           \
    INLINE bits bits_##suffix(type value)                                                                              \
    {                                                                                                                  \
        bits b;                                                                                                        \
        memcpy(&b, &value, sizeof b);                                                                                  \
        return b;                                                                                                      \
    }                                                                                                                  \
    INLINE bits order_##suffix(bits b)                                                                                 \
    {                                                                                                                  \
        return b < 0 ? b ^ (rest) : b;                                                                                 \
    }                                                                                                                  \
    INLINE type pick_##suffix(bits a, bits b, bool take_b)                                                             \
    {                                                                                                                  \
        const bits picked = take_b ? b : a;                                                                            \
        const bits result = (a & (rest)) > (infinity) || (b & (rest)) > (infinity) ? (nan) : picked;                   \
        type value;                                                                                                    \
        memcpy(&value, &result, sizeof value);                                                                         \
        return value;                                                                                                  \
    }                                                                                                                  \
    INLINE type min_##suffix(type a, type b)                                                                           \
    {                                                                                                                  \
        const bits x = bits_##suffix(a), y = bits_##suffix(b);                                                         \
        return pick_##suffix(x, y, order_##suffix(y) < order_##suffix(x));                                             \
    }                                                                                                                  \
    INLINE type max_##suffix(type a, type b)                                                                           \
    {                                                                                                                  \
        const bits x = bits_##suffix(a), y = bits_##suffix(b);                                                         \
        return pick_##suffix(x, y, order_##suffix(y) > order_##suffix(x));                                             \
    }

FLOAT_ORDER(f32, float, int32_t, INT32_MAX, 0x7f800000, 0x7fc00000)
FLOAT_ORDER(f64, double, int64_t, INT64_MAX, 0x7ff0000000000000, 0x7ff8000000000000)

/* --- vectors --- */

#define COMBINE(name, type)                                                                                            \
    static void combine_##name(void *to, const void *older, const void *newer, int64_t n)                              \
    {                                                                                                                  \
        type *restrict y = to;                                                                                         \
        const type *restrict b = newer;                                                                                \
        if (to == older) {                                                                                             \
            for (int64_t i = 0; i < n; i++) y[i] = name(y[i], b[i]);                                                   \
        } else {                                                                                                       \
            const type *restrict a = older;                                                                            \
            for (int64_t i = 0; i < n; i++) y[i] = name(a[i], b[i]);                                                   \
        }                                                                                                              \
    }

#define COMBINE_ALL(suffix, type)                                                                                      \
    COMBINE(sum_##suffix, type)                                                                                        \
    COMBINE(min_##suffix, type)                                                                                        \
    COMBINE(max_##suffix, type)                                                                                        \
    COMBINE(prod_##suffix, type)                                                                                       \
    static void divide_##suffix(void *x, int64_t n, int32_t by)                                                        \
    {                                                                                                                  \
        type *y = x;                                                                                                   \
        for (int64_t i = 0; i < n; i++) y[i] = y[i] / (type)by;                                                        \
    }

COMBINE_ALL(f32, float)
COMBINE_ALL(f64, double)
COMBINE_ALL(i32, int32_t)
COMBINE_ALL(i64, int64_t)

#define ROW_OF(suffix)                                                                                                 \
    {                                                                                                                  \
        [TUTTI_SUM] = combine_sum_##suffix, [TUTTI_MIN] = combine_min_##suffix, [TUTTI_MAX] = combine_max_##suffix,    \
        [TUTTI_PROD] = combine_prod_##suffix                                                                           \
    }

const tutti_reduce_row TUTTI_ISA_ROW(tutti_reduce) = {
    .combine = {ROW_OF(f32), ROW_OF(f64), ROW_OF(i32), ROW_OF(i64)},
    .divide = {divide_f32, divide_f64, divide_i32, divide_i64},
};
