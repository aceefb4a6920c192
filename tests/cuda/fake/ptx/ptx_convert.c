/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_convert.c: conversions between types, and the table of all operations. */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#include "ptx_lanes.h"

#define WHOLE(d, D, s, S) PTX_OP1(cvt_##d##_##s, D, S, a)
#define FROM(s, S)                                                                                                     \
    WHOLE(u8, uint8_t, s, S)                                                                                           \
    WHOLE(u16, uint16_t, s, S)                                                                                         \
    WHOLE(u32, uint32_t, s, S)                                                                                         \
    WHOLE(u64, uint64_t, s, S)                                                                                         \
    WHOLE(f32, float, s, S)                                                                                            \
    WHOLE(f64, double, s, S)
FROM(u8, uint8_t)
FROM(s8, int8_t)
FROM(u16, uint16_t)
FROM(s16, int16_t)
FROM(u32, uint32_t)
FROM(s32, int32_t)
FROM(u64, uint64_t)
FROM(s64, int64_t)
PTX_OP1(cvt_f64_f32, double, float, a)
PTX_OP1(cvt_f32_f64, float, double, a)
PTX_OP1(cvt_f32_f32, float, float, a)
PTX_OP1(cvt_f64_f64, double, double, a)

uint32_t ptx_type_size(ptx_type t)
{
    static const uint8_t sizes[PTX_TYPES] = {0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8};
    return sizes[t];
}
ptx_type ptx_type_named(const char *name)
{
    static const char *names[PTX_TYPES] = {"",    "pred", "b8",  "u8",  "s8",    "b16",    "u16", "s16", "f16", "bf16",
                                           "b32", "u32",  "s32", "f32", "f16x2", "bf16x2", "b64", "u64", "s64", "f64"};
    for (int t = 1; t < PTX_TYPES; t++)
        if (!strcmp(names[t], name)) return (ptx_type)t;
    return PTX_T_NONE;
}

static double rounded_to_whole(double v, int mode)
{
    switch (mode) {
    case FE_TOWARDZERO: return trunc(v);
    case FE_DOWNWARD: return floor(v);
    case FE_UPWARD: return ceil(v);
    default: return nearbyint(v);
    }
}

/* Saturates v to the range of the whole type t; NaN becomes what the card makes of it. */
static uint64_t whole_of(double v, ptx_type t, ptx_type from)
{
    const uint32_t bits = 8 * ptx_type_size(t);
    const bool is_signed = t == PTX_T_S8 || t == PTX_T_S16 || t == PTX_T_S32 || t == PTX_T_S64;
    const uint64_t top = is_signed    ? (UINT64_C(1) << (bits - 1)) - 1
                         : bits == 64 ? ~UINT64_C(0)
                                      : (UINT64_C(1) << bits) - 1;
    if (v != v) return bits == 64 || from == PTX_T_F64 ? UINT64_C(1) << (bits - 1) : 0;
    if (is_signed) {
        const double low = -ldexp(1, (int)bits - 1);
        if (v <= low) return ~top;
        return v >= -low ? top : (uint64_t)(int64_t)v;
    }
    if (v <= 0) return 0;
    return v >= ldexp(1, (int)bits) ? top : (uint64_t)v;
}

static double value_at(ptx_warp *w, uint32_t at, ptx_type t, int l)
{
    switch (t) {
    case PTX_T_F16: return (double)ptx_half_to_float(PTX_REG(uint16_t, w, at)[l]);
    case PTX_T_BF16: return (double)ptx_bf16_to_float(PTX_REG(uint16_t, w, at)[l]);
    case PTX_T_F32: return (double)PTX_REG(float, w, at)[l];
    case PTX_T_F64: return PTX_REG(double, w, at)[l];
    case PTX_T_U8: return PTX_REG(uint8_t, w, at)[l];
    case PTX_T_S8: return PTX_REG(int8_t, w, at)[l];
    case PTX_T_U16: return PTX_REG(uint16_t, w, at)[l];
    case PTX_T_S16: return PTX_REG(int16_t, w, at)[l];
    case PTX_T_U32: return PTX_REG(uint32_t, w, at)[l];
    case PTX_T_S32: return PTX_REG(int32_t, w, at)[l];
    case PTX_T_U64: return (double)PTX_REG(uint64_t, w, at)[l];
    default: return (double)PTX_REG(int64_t, w, at)[l];
    }
}

/* Converts where there is no row. `what` is the result's type, `flags` the source's, `imm` the rounding; count 1 rounds
 * to a whole number, size 1 keeps the result in 0..1. A whole result is saturated, as floats always are and integers
 * with .sat. */
void ptx_convert_slow(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    const ptx_type to = (ptx_type)i->what, from = (ptx_type)i->flags;
    for (int l = 0; l < PTX_LANES; l++) {
        if (!(mask >> l & 1)) continue;
        double v = value_at(w, i->a, from, l);
        if (i->count) v = rounded_to_whole(v, (int)i->imm);
        if (i->size) v = v > 1 ? 1 : v > 0 ? v : 0;
        switch (to) {
        case PTX_T_F16: PTX_REG(uint16_t, w, i->d)[l] = ptx_half_from_double(v); break;
        case PTX_T_BF16: PTX_REG(uint16_t, w, i->d)[l] = ptx_bf16_from_double(v); break;
        case PTX_T_F32: PTX_REG(uint32_t, w, i->d)[l] = v != v ? 0x7fffffffu : ptx_bits_of((float)v); break;
        case PTX_T_F64: PTX_REG(double, w, i->d)[l] = v; break;
        default:
            switch (ptx_type_size(to)) {
            case 1: PTX_REG(uint8_t, w, i->d)[l] = (uint8_t)whole_of(v, to, from); break;
            case 2: PTX_REG(uint16_t, w, i->d)[l] = (uint16_t)whole_of(v, to, from); break;
            case 4: PTX_REG(uint32_t, w, i->d)[l] = (uint32_t)whole_of(v, to, from); break;
            default: PTX_REG(uint64_t, w, i->d)[l] = whole_of(v, to, from); break;
            }
        }
    }
}

#define WHOLE_ROW(d, s, k)                                                                                             \
    {                                                                                                                  \
        "cvt." #d "." #s, op_cvt_##d##_##s, k                                                                          \
    }
#define ROWS(s, k)                                                                                                     \
    WHOLE_ROW(u8, s, "1" k), WHOLE_ROW(u16, s, "2" k), WHOLE_ROW(u32, s, "4" k), WHOLE_ROW(u64, s, "8" k),             \
        WHOLE_ROW(f32, s, "4" k), WHOLE_ROW(f64, s, "8" k)

ptx_rows ptx_rows_convert(void)
{
    static const ptx_row rows[] = {
        ROWS(u8, "1"),
        ROWS(s8, "1"),
        ROWS(u16, "2"),
        ROWS(s16, "2"),
        ROWS(u32, "4"),
        ROWS(s32, "4"),
        ROWS(u64, "8"),
        ROWS(s64, "8"),
        WHOLE_ROW(f64, f32, "84"),
        WHOLE_ROW(f32, f64, "48"),
        WHOLE_ROW(f32, f32, "44"),
        WHOLE_ROW(f64, f64, "88"),
    };
    return (ptx_rows){rows, (int)(sizeof(rows) / sizeof(*rows))};
}

const ptx_row *ptx_row_find(const char *name)
{
    const ptx_rows all[] = {ptx_rows_integer(), ptx_rows_float(), ptx_rows_wide(), ptx_rows_compare(),
                            ptx_rows_convert(), ptx_rows_half(),  ptx_rows_carry()};
    for (size_t t = 0; t < sizeof(all) / sizeof(*all); t++)
        for (int n = 0; n < all[t].count; n++)
            if (!strcmp(all[t].rows[n].name, name)) return &all[t].rows[n];
    return NULL;
}
