/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_float.c: arithmetic of 32 and 64 bit floats. A result that is not a number has the card's bits, 0x7fffffff, in 32
 * bits. */
#include <fenv.h>
#include <math.h>

#include "ptx_lanes.h"

static inline float canon(float v)
{
    return ptx_float_of(v != v ? 0x7fffffffu : ptx_bits_of(v));
}
static inline float lesser(float a, float b)
{
    if (a != a) return b;
    if (b != b) return a;
    return a < b || (a == b && ptx_bits_of(a) >> 31) ? a : b;
}
static inline float greater(float a, float b)
{
    if (a != a) return b;
    if (b != b) return a;
    return a > b || (a == b && !(ptx_bits_of(a) >> 31)) ? a : b;
}
static inline float flushed(float a)
{
    return ptx_float_of(ptx_bits_of(a) & 0x7f800000u ? ptx_bits_of(a) : ptx_bits_of(a) & 0x80000000u);
}

#define F1(name, expression) PTX_OP1(name, float, float, canon(expression))
#define F2(name, expression) PTX_OP2(name, float, float, float, canon(expression))
F2(add_f32, a + b)
F2(sub_f32, a - b)
F2(mul_f32, a *b)
F2(div_f32, a / b)
PTX_OP3(fma_f32, float, float, float, float, canon(fmaf(a, b, c)))
F2(min_f32, lesser(a, b))
F2(max_f32, greater(a, b))
F2(min_nan_f32, a != a || b != b ? NAN : lesser(a, b))
F2(max_nan_f32, a != a || b != b ? NAN : greater(a, b))
PTX_OP1(neg_f32, uint32_t, uint32_t, a ^ 0x80000000u)
PTX_OP1(abs_f32, uint32_t, uint32_t, a & 0x7fffffffu)
PTX_OP2(copysign_f32, uint32_t, uint32_t, uint32_t, (a & 0x80000000u) | (b & 0x7fffffffu))
F1(sqrt_f32, sqrtf(a))
F1(rcp_f32, 1.0f / a)
F1(rsqrt_f32, (float)(1.0 / sqrt((double)a)))
F1(ex2_f32, exp2f(a))
F1(lg2_f32, log2f(a))
F1(sin_f32, sinf(a))
F1(cos_f32, cosf(a))
F1(tanh_f32, tanhf(a))
F1(sat_f32, a != a ? 0.0f : a < 0.0f ? 0.0f : a > 1.0f ? 1.0f : a)
PTX_OP1(ftz_f32, float, float, flushed(a))

#define D2(name, expression) PTX_OP2(name, double, double, double, expression)
D2(add_f64, a + b)
D2(sub_f64, a - b)
D2(mul_f64, a *b)
D2(div_f64, a / b)
PTX_OP3(fma_f64, double, double, double, double, fma(a, b, c))
D2(min_f64, ptx_lesser(a, b))
D2(max_f64, ptx_greater(a, b))
PTX_OP1(neg_f64, uint64_t, uint64_t, a ^ UINT64_C(1) << 63)
PTX_OP1(abs_f64, uint64_t, uint64_t, a & ~(UINT64_C(1) << 63))
PTX_OP2(copysign_f64, uint64_t, uint64_t, uint64_t, (a & UINT64_C(1) << 63) | (b & ~(UINT64_C(1) << 63)))
PTX_OP1(sqrt_f64, double, double, sqrt(a))
PTX_OP1(rcp_f64, double, double, 1.0 / a)
PTX_OP1(rsqrt_f64, double, double, 1.0 / sqrt(a))
/* rcp.approx.ftz.f64 gives the upper word only; so does rsqrt. */
static uint64_t upper_word(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return v != v ? bits : bits & ~UINT64_C(0xffffffff);
}
PTX_OP1(rcp_approx_f64, uint64_t, double, upper_word(fpclassify(a) == FP_SUBNORMAL ? copysign(INFINITY, a) : 1.0 / a))
PTX_OP1(rsqrt_approx_f64, uint64_t, double, upper_word(1.0 / sqrt(a)))

#define CLASS(name, A, expression) PTX_TEST(name, A, ((void)b, (expression)))
CLASS(finite_f32, float, isfinite(a) != 0)
CLASS(infinite_f32, float, isinf(a) != 0)
CLASS(number_f32, float, a == a)
CLASS(notanumber_f32, float, a != a)
CLASS(normal_f32, float, isnormal(a) != 0)
CLASS(subnormal_f32, float, fpclassify(a) == FP_SUBNORMAL)
CLASS(finite_f64, double, isfinite(a) != 0)
CLASS(infinite_f64, double, isinf(a) != 0)
CLASS(number_f64, double, a == a)
CLASS(notanumber_f64, double, a != a)
CLASS(normal_f64, double, isnormal(a) != 0)
CLASS(subnormal_f64, double, fpclassify(a) == FP_SUBNORMAL)

/* Runs another operation with the rounding that imm is: values are read from registers, so nothing is computed
 * beforehand. */
void ptx_directed(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    fesetround((int)i->imm);
    i->inner(w, i, mask);
    fesetround(FE_TONEAREST);
}

ptx_rows ptx_rows_float(void)
{
    static const ptx_row rows[] = {
        {"add.f32", op_add_f32, "444"},
        {"sub.f32", op_sub_f32, "444"},
        {"mul.f32", op_mul_f32, "444"},
        {"div.f32", op_div_f32, "444"},
        {"fma.f32", op_fma_f32, "4444"},
        {"mad.f32", op_fma_f32, "4444"},
        {"min.f32", op_min_f32, "444"},
        {"max.f32", op_max_f32, "444"},
        {"min.NaN.f32", op_min_nan_f32, "444"},
        {"max.NaN.f32", op_max_nan_f32, "444"},
        {"neg.f32", op_neg_f32, "44"},
        {"abs.f32", op_abs_f32, "44"},
        {"copysign.f32", op_copysign_f32, "444"},
        {"sqrt.f32", op_sqrt_f32, "44"},
        {"rcp.f32", op_rcp_f32, "44"},
        {"rsqrt.f32", op_rsqrt_f32, "44"},
        {"ex2.f32", op_ex2_f32, "44"},
        {"lg2.f32", op_lg2_f32, "44"},
        {"sin.f32", op_sin_f32, "44"},
        {"cos.f32", op_cos_f32, "44"},
        {"tanh.f32", op_tanh_f32, "44"},
        {"saturate.f32", op_sat_f32, "44"},
        {"flush.f32", op_ftz_f32, "44"},
        {"add.f64", op_add_f64, "888"},
        {"sub.f64", op_sub_f64, "888"},
        {"mul.f64", op_mul_f64, "888"},
        {"div.f64", op_div_f64, "888"},
        {"fma.f64", op_fma_f64, "8888"},
        {"mad.f64", op_fma_f64, "8888"},
        {"min.f64", op_min_f64, "888"},
        {"max.f64", op_max_f64, "888"},
        {"neg.f64", op_neg_f64, "88"},
        {"abs.f64", op_abs_f64, "88"},
        {"copysign.f64", op_copysign_f64, "888"},
        {"sqrt.f64", op_sqrt_f64, "88"},
        {"rcp.f64", op_rcp_f64, "88"},
        {"rsqrt.f64", op_rsqrt_f64, "88"},
        {"rcp.approx.ftz.f64", op_rcp_approx_f64, "88"},
        {"rsqrt.approx.ftz.f64", op_rsqrt_approx_f64, "88"},
        {"testp.finite.f32", op_finite_f32, "p4"},
        {"testp.infinite.f32", op_infinite_f32, "p4"},
        {"testp.number.f32", op_number_f32, "p4"},
        {"testp.notanumber.f32", op_notanumber_f32, "p4"},
        {"testp.normal.f32", op_normal_f32, "p4"},
        {"testp.subnormal.f32", op_subnormal_f32, "p4"},
        {"testp.finite.f64", op_finite_f64, "p8"},
        {"testp.infinite.f64", op_infinite_f64, "p8"},
        {"testp.number.f64", op_number_f64, "p8"},
        {"testp.notanumber.f64", op_notanumber_f64, "p8"},
        {"testp.normal.f64", op_normal_f64, "p8"},
        {"testp.subnormal.f64", op_subnormal_f64, "p8"},
    };
    return (ptx_rows){rows, (int)(sizeof(rows) / sizeof(*rows))};
}
