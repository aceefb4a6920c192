/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_half.c: floats of 16 bits, one or two in a register. Sums, products and quotients are rounded once: 24 bits hold
 * what twice 11 need. */
#include <math.h>

#include "ptx_lanes.h"

float ptx_half_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31) return ptx_float_of(sign | 0x7f800000u | fraction << 13);
    if (exponent) return ptx_float_of(sign | (exponent + 112) << 23 | fraction << 13);
    const float v = (float)fraction * 0x1p-24f;
    return sign ? -v : v;
}

/* Rounds v to nearest even. The type has `bits` of fraction; exponents of normal numbers go from `least` to `most`. */
static uint16_t narrowed(double v, int bits, int least, int most)
{
    const uint16_t sign = signbit(v) ? 0x8000 : 0, infinite = (uint16_t)((most - least + 2) << bits);
    if (v != v) return 0x7fff;
    v = fabs(v);
    if (isinf(v)) return sign | infinite;
    if (v == 0) return sign;
    int exponent;
    frexp(v, &exponent);
    exponent--;
    if (exponent < least) exponent = least;
    double scaled = ldexp(v, bits - exponent); /* exact but for the smallest doubles, which round to zero anyway */
    double whole = floor(scaled), rest = scaled - whole;
    if (rest > 0.5 || (rest == 0.5 && fmod(whole, 2) == 1)) whole++;
    const uint32_t r = ((uint32_t)(exponent - least) << bits) + (uint32_t)whole;
    return r >= infinite ? sign | infinite : (uint16_t)(sign | r);
}

uint16_t ptx_half_from_double(double v)
{
    return narrowed(v, 10, -14, 15);
}
uint16_t ptx_bf16_from_double(double v)
{
    return narrowed(v, 7, -126, 127);
}
/* A float that is rounded once is the common case. */
static inline uint16_t bf16_from_float(float v)
{
    const uint32_t bits = ptx_bits_of(v);
    return v != v ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static inline uint16_t half_from_float(float v)
{
    const uint32_t bits = ptx_bits_of(v), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size < 0x38800000 || size >= 0x7f800000) return ptx_half_from_double((double)v); /* small, or no number */
    const uint32_t r = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    return (uint16_t)(sign | (r < 0x7c00 ? r : 0x7c00));
}

/* An operation is made for one value a lane and for two. */
#define LOOP(count, statement)                                                                                         \
    for (int n = 0; n < PTX_LANES * count; n++)                                                                        \
        if (mask >> (n / count) & 1) {                                                                                 \
            statement                                                                                                  \
        }
#define HALF(name, count, to, from, expression)                                                                        \
    static void op_##name(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                               \
    {                                                                                                                  \
        uint16_t *d = PTX_REG(uint16_t, w, i->d);                                                                      \
        const uint16_t *x = PTX_REG(uint16_t, w, i->a), *y = PTX_REG(uint16_t, w, i->b),                               \
                       *z = PTX_REG(uint16_t, w, i->c);                                                                \
        LOOP(count, const double a = to(x[n]); const double b = to(y[n]); const double c = to(z[n]); (void)b; (void)c; \
             d[n] = from(expression);)                                                                                 \
    }
#define BITS(name, count, expression)                                                                                  \
    static void op_##name(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                               \
    {                                                                                                                  \
        uint16_t *d = PTX_REG(uint16_t, w, i->d);                                                                      \
        const uint16_t *x = PTX_REG(uint16_t, w, i->a);                                                                \
        LOOP(count, const uint16_t a = x[n]; d[n] = (uint16_t)(expression);)                                           \
    }
#define KIND(suffix, count, to, from)                                                                                  \
    HALF(add_##suffix, count, to, from, a + b)                                                                         \
    HALF(sub_##suffix, count, to, from, a - b)                                                                         \
    HALF(mul_##suffix, count, to, from, a *b)                                                                          \
    HALF(fma_##suffix, count, to, from, fma(a, b, c))                                                                  \
    HALF(fma_relu_##suffix, count, to, from, ptx_greater(fma(a, b, c), 0))                                             \
    HALF(min_##suffix, count, to, from, ptx_lesser(a, b))                                                              \
    HALF(max_##suffix, count, to, from, ptx_greater(a, b))                                                             \
    HALF(min_nan_##suffix, count, to, from, a != a || b != b ? (double)NAN : ptx_lesser(a, b))                         \
    HALF(max_nan_##suffix, count, to, from, a != a || b != b ? (double)NAN : ptx_greater(a, b))                        \
    HALF(ex2_##suffix, count, to, from, exp2(a))                                                                       \
    HALF(tanh_##suffix, count, to, from, tanh(a))                                                                      \
    BITS(neg_##suffix, count, a ^ 0x8000)                                                                              \
    BITS(abs_##suffix, count, a & 0x7fff)
KIND(f16, 1, ptx_half_to_float, ptx_half_from_double)
KIND(f16x2, 2, ptx_half_to_float, ptx_half_from_double)
KIND(bf16, 1, ptx_bf16_to_float, ptx_bf16_from_double)
KIND(bf16x2, 2, ptx_bf16_to_float, ptx_bf16_from_double)

/* Conversions from and to 32 bits; two at once have the first source in the upper half. */
PTX_OP1(bf16_f32, uint16_t, float, bf16_from_float(a))
PTX_OP1(f32_bf16, float, uint16_t, ptx_bf16_to_float(a))
PTX_OP1(f16_f32, uint16_t, float, half_from_float(a))
PTX_OP1(f32_f16, float, uint16_t, ptx_half_to_float(a))
PTX_OP1(bf16_relu_f32, uint16_t, float, a < 0 ? 0 : bf16_from_float(a))
PTX_OP1(f16_relu_f32, uint16_t, float, a < 0 ? 0 : half_from_float(a))
PTX_OP2(bf16x2_f32, uint32_t, float, float, (uint32_t)bf16_from_float(a) << 16 | bf16_from_float(b))
PTX_OP2(f16x2_f32, uint32_t, float, float, (uint32_t)half_from_float(a) << 16 | half_from_float(b))
PTX_OP1(f16_f64, uint16_t, double, ptx_half_from_double(a))
PTX_OP1(bf16_f64, uint16_t, double, ptx_bf16_from_double(a))
PTX_OP1(f64_f16, double, uint16_t, ptx_half_to_float(a))
PTX_OP1(f64_bf16, double, uint16_t, ptx_bf16_to_float(a))

#define ROWS(suffix, k)                                                                                                \
    {"add." #suffix, op_add_##suffix, k k k}, {"sub." #suffix, op_sub_##suffix, k k k},                                \
        {"mul." #suffix, op_mul_##suffix, k k k}, {"fma." #suffix, op_fma_##suffix, k k k k},                          \
        {"fma.relu." #suffix, op_fma_relu_##suffix, k k k k}, {"min." #suffix, op_min_##suffix, k k k},                \
        {"max." #suffix, op_max_##suffix, k k k}, {"min.NaN." #suffix, op_min_nan_##suffix, k k k},                    \
        {"max.NaN." #suffix, op_max_nan_##suffix, k k k}, {"ex2." #suffix, op_ex2_##suffix, k k},                      \
        {"tanh." #suffix, op_tanh_##suffix, k k}, {"neg." #suffix, op_neg_##suffix, k k},                              \
    {                                                                                                                  \
        "abs." #suffix, op_abs_##suffix, k k                                                                           \
    }

ptx_rows ptx_rows_half(void)
{
    static const ptx_row rows[] = {
        ROWS(f16, "2"),
        ROWS(f16x2, "4"),
        ROWS(bf16, "2"),
        ROWS(bf16x2, "4"),
        {"cvt.bf16.f32", op_bf16_f32, "24"},
        {"cvt.f32.bf16", op_f32_bf16, "42"},
        {"cvt.f16.f32", op_f16_f32, "24"},
        {"cvt.f32.f16", op_f32_f16, "42"},
        {"cvt.relu.bf16.f32", op_bf16_relu_f32, "24"},
        {"cvt.relu.f16.f32", op_f16_relu_f32, "24"},
        {"cvt.bf16x2.f32", op_bf16x2_f32, "444"},
        {"cvt.f16x2.f32", op_f16x2_f32, "444"},
        {"cvt.f16.f64", op_f16_f64, "28"},
        {"cvt.bf16.f64", op_bf16_f64, "28"},
        {"cvt.f64.f16", op_f64_f16, "82"},
        {"cvt.f64.bf16", op_f64_bf16, "82"},
    };
    return (ptx_rows){rows, (int)(sizeof(rows) / sizeof(*rows))};
}
