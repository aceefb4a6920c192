/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_wide.c: integers of two widths, fields of bits, packing. */
#include "ptx_lanes.h"

PTX_OP2(mul_wide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)a *b)
PTX_OP2(mul_wide_s16, int32_t, int16_t, int16_t, (int32_t)a *b)
PTX_OP2(mul_wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)a *b)
PTX_OP2(mul_wide_s32, int64_t, int32_t, int32_t, (int64_t)a *b)
PTX_OP3(mad_wide_u16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)a *b + c)
PTX_OP3(mad_wide_s16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)((int32_t)a *b) + c)
PTX_OP3(mad_wide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a *b + c)
PTX_OP3(mad_wide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a *b) + c)
static inline uint64_t high_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)(((ptx_u128)a * b) >> 64);
}
static inline uint64_t high_s64(int64_t a, int64_t b)
{
    return (uint64_t)(((ptx_s128)a * b) >> 64);
}
PTX_OP2(mul_hi_u16, uint16_t, uint16_t, uint16_t, ((uint32_t)a * b) >> 16)
PTX_OP2(mul_hi_s16, uint16_t, int16_t, int16_t, ((int32_t)a * b) >> 16)
PTX_OP2(mul_hi_u32, uint32_t, uint32_t, uint32_t, ((uint64_t)a * b) >> 32)
PTX_OP2(mul_hi_s32, uint32_t, int32_t, int32_t, ((int64_t)a * b) >> 32)
PTX_OP2(mul_hi_u64, uint64_t, uint64_t, uint64_t, high_u64(a, b))
PTX_OP2(mul_hi_s64, uint64_t, int64_t, int64_t, high_s64(a, b))
PTX_OP3(mad_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, (((uint64_t)a * b) >> 32) + c)
PTX_OP3(mad_hi_s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)(((int64_t)a * b) >> 32) + c)
PTX_OP3(mad_hi_u64, uint64_t, uint64_t, uint64_t, uint64_t, high_u64(a, b) + c)
PTX_OP3(mad_hi_s64, uint64_t, int64_t, int64_t, uint64_t, high_s64(a, b) + c)
PTX_OP3(mad24_lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, (a & 0xffffff) * (b & 0xffffff) + c)
PTX_OP2(mul24_lo_u32, uint32_t, uint32_t, uint32_t, (a & 0xffffff) * (b & 0xffffff))

static uint64_t field(uint64_t v, uint32_t from, uint32_t count, uint32_t width, bool is_signed)
{
    from &= 0xff;
    count &= 0xff;
    if (!count) return 0;
    const uint32_t top = from + count - 1 < width - 1 ? from + count - 1 : width - 1;
    const uint64_t sign = is_signed ? v >> top & 1 : 0;
    const uint64_t taken = from < width ? v >> from : 0;
    uint32_t have = from < width ? width - from : 0;
    have = have < count ? have : count;
    return have < 64 ? (taken & ((UINT64_C(1) << have) - 1)) | (sign ? ~UINT64_C(0) << have : 0) : taken;
}
PTX_OP3(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, field(a, b, c, 32, false))
PTX_OP3(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, field(a, b, c, 32, true))
PTX_OP3(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, field(a, b, c, 64, false))
PTX_OP3(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, field(a, b, c, 64, true))

/* bfi d, a, b, from, count: the fourth source is the extra register. */
#define INSERT(bits)                                                                                                   \
    static void op_bfi_##bits(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                           \
    {                                                                                                                  \
        uint##bits##_t *d = PTX_REG(uint##bits##_t, w, i->d);                                                          \
        const uint##bits##_t *x = PTX_REG(uint##bits##_t, w, i->a), *y = PTX_REG(uint##bits##_t, w, i->b);             \
        const uint32_t *from = PTX_REG(uint32_t, w, i->c), *count = PTX_REG(uint32_t, w, (uint32_t)i->imm);            \
        PTX_EACH(mask, const uint32_t p = from[l] & 0xff; const uint32_t n = count[l] & 0xff;                          \
                 uint64_t ones = n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1; ones = p < bits ? ones << p : 0;     \
                 d[l] =                                                                                                \
                     (uint##bits##_t)((p < bits ? (uint64_t)x[l] << p : 0) & ones) | (uint##bits##_t)(y[l] & ~ones);); \
    }
INSERT(32)
INSERT(64)

PTX_OP1(popc_32, uint32_t, uint32_t, __builtin_popcount(a))
PTX_OP1(popc_64, uint32_t, uint64_t, __builtin_popcountll(a))
PTX_OP1(clz_32, uint32_t, uint32_t, a ? __builtin_clz(a) : 32)
PTX_OP1(clz_64, uint32_t, uint64_t, a ? __builtin_clzll(a) : 64)
static uint64_t reversed(uint64_t v)
{
    uint64_t r = 0;
    for (int n = 0; n < 64; n++) r |= (v >> n & 1) << (63 - n);
    return r;
}
PTX_OP1(brev_32, uint32_t, uint32_t, reversed(a) >> 32)
PTX_OP1(brev_64, uint64_t, uint64_t, reversed(a))
PTX_OP1(bfind_u32, uint32_t, uint32_t, a ? 31 - __builtin_clz(a) : -1)
PTX_OP1(bfind_s32, uint32_t, int32_t, (a < 0 ? ~a : a) ? 31 - __builtin_clz((uint32_t)(a < 0 ? ~a : a)) : -1)
PTX_OP1(bfind_u64, uint32_t, uint64_t, a ? 63 - __builtin_clzll(a) : -1)
PTX_OP1(bfind_shiftamt_u32, uint32_t, uint32_t, a ? __builtin_clz(a) : -1)

PTX_OP3(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, ((((uint64_t)b << 32 | a) << (c & 31)) >> 32))
PTX_OP3(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, ((uint64_t)b << 32 | a) >> (c & 31))
PTX_OP3(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t, c >= 32 ? a : ((((uint64_t)b << 32 | a) << c) >> 32))
PTX_OP3(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t, ((uint64_t)b << 32 | a) >> (c > 32 ? 32 : c))
PTX_OP3(sad_u32, uint32_t, uint32_t, uint32_t, uint32_t, (a > b ? a - b : b - a) + c)
PTX_OP3(sad_s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)(a > b ? (int64_t)a - b : (int64_t)b - a) + c)

static uint32_t permuted(uint32_t a, uint32_t b, uint32_t select)
{
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int n = 0; n < 4; n++) {
        const uint32_t s = select >> (4 * n) & 15;
        uint32_t byte = (uint32_t)(both >> (8 * (s & 7))) & 0xff;
        if (s & 8) byte = byte & 0x80 ? 0xff : 0;
        r |= byte << (8 * n);
    }
    return r;
}
PTX_OP3(prmt, uint32_t, uint32_t, uint32_t, uint32_t, permuted(a, b, c))
static int32_t dot4(uint32_t a, uint32_t b, int32_t c, bool sa, bool sb)
{
    for (int n = 0; n < 32; n += 8)
        c +=
            (sa ? (int8_t)(a >> n) : (int32_t)(uint8_t)(a >> n)) * (sb ? (int8_t)(b >> n) : (int32_t)(uint8_t)(b >> n));
    return c;
}
PTX_OP3(dp4a_ss, int32_t, uint32_t, uint32_t, int32_t, dot4(a, b, c, true, true))
PTX_OP3(dp4a_uu, int32_t, uint32_t, uint32_t, int32_t, dot4(a, b, c, false, false))

/* lop3 has its table in the register whose offset is imm. */
static void op_lop3(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    uint32_t *d = PTX_REG(uint32_t, w, i->d);
    const uint32_t *x = PTX_REG(uint32_t, w, i->a), *y = PTX_REG(uint32_t, w, i->b), *z = PTX_REG(uint32_t, w, i->c);
    const uint32_t *table = PTX_REG(uint32_t, w, (uint32_t)i->imm);
    PTX_EACH(mask, const uint32_t a = x[l]; const uint32_t b = y[l]; const uint32_t c = z[l];
             const uint32_t t = table[l]; uint32_t r = t & 1 ? ~a & ~b & ~c : 0; r |= t & 2 ? ~a & ~b & c : 0;
             r |= t & 4 ? ~a & b & ~c : 0; r |= t & 8 ? ~a & b & c : 0; r |= t & 16 ? a & ~b & ~c : 0;
             r |= t & 32 ? a & ~b & c : 0; r |= t & 64 ? a & b & ~c : 0; r |= t & 128 ? a & b & c : 0; d[l] = r;);
}

/* Several registers are one, and one is several: the others are in `extra`. */
#define PACK(big, small)                                                                                               \
    static void op_pack_##big##_##small(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                 \
    {                                                                                                                  \
        const uint32_t *parts = w->block->launch->f->extra + i->extra;                                                 \
        uint##big##_t *d = PTX_REG(uint##big##_t, w, i->d);                                                            \
        for (int l = 0; l < PTX_LANES; l++) {                                                                          \
            if (!(mask >> l & 1)) continue;                                                                            \
            uint##big##_t r = 0;                                                                                       \
            for (int n = 0; n < big / small; n++)                                                                      \
                r |= (uint##big##_t)((uint##big##_t)PTX_REG(uint##small##_t, w, parts[n])[l] << (n * small));          \
            d[l] = r;                                                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void op_unpack_##big##_##small(ptx_warp *w, const ptx_inst *i, uint32_t mask)                               \
    {                                                                                                                  \
        const uint32_t *parts = w->block->launch->f->extra + i->extra;                                                 \
        for (int l = 0; l < PTX_LANES; l++) {                                                                          \
            if (!(mask >> l & 1)) continue;                                                                            \
            const uint##big##_t a = PTX_REG(uint##big##_t, w, i->a)[l];                                                \
            for (int n = 0; n < big / small; n++)                                                                      \
                PTX_REG(uint##small##_t, w, parts[n])[l] = (uint##small##_t)(a >> (n * small));                        \
        }                                                                                                              \
    }
PACK(64, 32)
PACK(64, 16)
PACK(64, 8)
PACK(32, 16)
PACK(32, 8)
PACK(16, 8)

#define PACK_ROWS                                                                                                      \
    {"pack.64.32", op_pack_64_32, ""}, {"unpack.64.32", op_unpack_64_32, ""}, {"pack.64.16", op_pack_64_16, ""},       \
        {"unpack.64.16", op_unpack_64_16, ""}, {"pack.64.8", op_pack_64_8, ""}, {"unpack.64.8", op_unpack_64_8, ""},   \
        {"pack.32.16", op_pack_32_16, ""}, {"unpack.32.16", op_unpack_32_16, ""}, {"pack.32.8", op_pack_32_8, ""},     \
        {"unpack.32.8", op_unpack_32_8, ""}, {"pack.16.8", op_pack_16_8, ""},                                          \
    {                                                                                                                  \
        "unpack.16.8", op_unpack_16_8, ""                                                                              \
    }

ptx_rows ptx_rows_wide(void)
{
    static const ptx_row rows[] = {
        {"mul.wide.u16", op_mul_wide_u16, "422"},
        {"mul.wide.s16", op_mul_wide_s16, "422"},
        {"mul.wide.u32", op_mul_wide_u32, "844"},
        {"mul.wide.s32", op_mul_wide_s32, "844"},
        {"mad.wide.u16", op_mad_wide_u16, "4224"},
        {"mad.wide.s16", op_mad_wide_s16, "4224"},
        {"mad.wide.u32", op_mad_wide_u32, "8448"},
        {"mad.wide.s32", op_mad_wide_s32, "8448"},
        {"mul.hi.u16", op_mul_hi_u16, "222"},
        {"mul.hi.s16", op_mul_hi_s16, "222"},
        {"mul.hi.u32", op_mul_hi_u32, "444"},
        {"mul.hi.s32", op_mul_hi_s32, "444"},
        {"mul.hi.u64", op_mul_hi_u64, "888"},
        {"mul.hi.s64", op_mul_hi_s64, "888"},
        {"mad.hi.u32", op_mad_hi_u32, "4444"},
        {"mad.hi.s32", op_mad_hi_s32, "4444"},
        {"mad.hi.u64", op_mad_hi_u64, "8888"},
        {"mad.hi.s64", op_mad_hi_s64, "8888"},
        {"mad24.lo.u32", op_mad24_lo_u32, "4444"},
        {"mul24.lo.u32", op_mul24_lo_u32, "444"},
        {"bfe.u32", op_bfe_u32, "4444"},
        {"bfe.s32", op_bfe_s32, "4444"},
        {"bfe.u64", op_bfe_u64, "8844"},
        {"bfe.s64", op_bfe_s64, "8844"},
        {"bfi.u32", op_bfi_32, "44444"},
        {"bfi.u64", op_bfi_64, "88844"},
        {"popc.u32", op_popc_32, "44"},
        {"popc.u64", op_popc_64, "48"},
        {"clz.u32", op_clz_32, "44"},
        {"clz.u64", op_clz_64, "48"},
        {"brev.u32", op_brev_32, "44"},
        {"brev.u64", op_brev_64, "88"},
        {"bfind.u32", op_bfind_u32, "44"},
        {"bfind.s32", op_bfind_s32, "44"},
        {"bfind.u64", op_bfind_u64, "48"},
        {"bfind.shiftamt.u32", op_bfind_shiftamt_u32, "44"},
        {"shf.l.wrap.u32", op_shf_l_wrap, "4444"},
        {"shf.r.wrap.u32", op_shf_r_wrap, "4444"},
        {"shf.l.clamp.u32", op_shf_l_clamp, "4444"},
        {"shf.r.clamp.u32", op_shf_r_clamp, "4444"},
        {"sad.u32", op_sad_u32, "4444"},
        {"sad.s32", op_sad_s32, "4444"},
        {"prmt.u32", op_prmt, "4444"},
        {"dp4a.s32.s32", op_dp4a_ss, "4444"},
        {"dp4a.u32.u32", op_dp4a_uu, "4444"},
        {"lop3.u32", op_lop3, "44444"},
        PACK_ROWS,
    };
    return (ptx_rows){rows, (int)(sizeof(rows) / sizeof(*rows))};
}
