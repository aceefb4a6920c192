/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_carry.c: sums of many words by the condition code, which is a bit a lane. */
#include "ptx_lanes.h"

/* A sum takes the carry in where `takes` says so and leaves its own where `gives` does. A difference is a sum with the
 * complement, whose carry means no borrow and is kept as a borrow. */
#define CARRY(name, bits, sources, first, second, takes, gives, borrow)                                                \
    static void op_##name(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                               \
    {                                                                                                                  \
        uint##bits##_t *d = PTX_REG(uint##bits##_t, w, i->d);                                                          \
        const uint##bits##_t *x = PTX_REG(uint##bits##_t, w, i->a), *y = PTX_REG(uint##bits##_t, w, i->b);             \
        const uint##bits##_t *z = PTX_REG(uint##bits##_t, w, sources == 3 ? i->c : i->b);                              \
        for (int l = 0; l < PTX_LANES; l++) {                                                                          \
            if (!(mask >> l & 1)) continue;                                                                            \
            const uint##bits##_t a = x[l], b = y[l], c = z[l];                                                         \
            (void)c;                                                                                                   \
            const uint32_t held = w->carry >> l & 1;                                                                   \
            const uint32_t in = takes ? (borrow ? !held : held) : borrow;                                              \
            const ptx_u128 s = (ptx_u128)(uint##bits##_t)(first) + (uint##bits##_t)(second) + in;                      \
            const uint32_t over = (uint32_t)(s >> bits) & 1;                                                           \
            d[l] = (uint##bits##_t)s;                                                                                  \
            if (gives) w->carry = (w->carry & ~(UINT32_C(1) << l)) | (uint32_t)(borrow ? !over : over) << l;           \
        }                                                                                                              \
    }
#define HIGH(bits) (uint##bits##_t)(((ptx_u128)a * b) >> bits)
#define LOW(bits)  (uint##bits##_t)((ptx_u128)a * b)
#define SIZED(bits)                                                                                                    \
    CARRY(add_cc_##bits, bits, 2, a, b, 0, 1, 0)                                                                       \
    CARRY(addc_##bits, bits, 2, a, b, 1, 0, 0)                                                                         \
    CARRY(addc_cc_##bits, bits, 2, a, b, 1, 1, 0)                                                                      \
    CARRY(sub_cc_##bits, bits, 2, a, ~b, 0, 1, 1)                                                                      \
    CARRY(subc_##bits, bits, 2, a, ~b, 1, 0, 1)                                                                        \
    CARRY(subc_cc_##bits, bits, 2, a, ~b, 1, 1, 1)                                                                     \
    CARRY(mad_lo_cc_##bits, bits, 3, LOW(bits), c, 0, 1, 0)                                                            \
    CARRY(mad_hi_cc_##bits, bits, 3, HIGH(bits), c, 0, 1, 0)                                                           \
    CARRY(madc_lo_##bits, bits, 3, LOW(bits), c, 1, 0, 0)                                                              \
    CARRY(madc_hi_##bits, bits, 3, HIGH(bits), c, 1, 0, 0)                                                             \
    CARRY(madc_lo_cc_##bits, bits, 3, LOW(bits), c, 1, 1, 0)                                                           \
    CARRY(madc_hi_cc_##bits, bits, 3, HIGH(bits), c, 1, 1, 0)
SIZED(32)
SIZED(64)

#define ROWS(bits, kind)                                                                                               \
    {"add.cc.u" #bits, op_add_cc_##bits, kind kind kind}, {"addc.u" #bits, op_addc_##bits, kind kind kind},            \
        {"addc.cc.u" #bits, op_addc_cc_##bits, kind kind kind}, {"sub.cc.u" #bits, op_sub_cc_##bits, kind kind kind},  \
        {"subc.u" #bits, op_subc_##bits, kind kind kind}, {"subc.cc.u" #bits, op_subc_cc_##bits, kind kind kind},      \
        {"mad.lo.cc.u" #bits, op_mad_lo_cc_##bits, kind kind kind kind},                                               \
        {"mad.hi.cc.u" #bits, op_mad_hi_cc_##bits, kind kind kind kind},                                               \
        {"madc.lo.u" #bits, op_madc_lo_##bits, kind kind kind kind},                                                   \
        {"madc.hi.u" #bits, op_madc_hi_##bits, kind kind kind kind},                                                   \
        {"madc.lo.cc.u" #bits, op_madc_lo_cc_##bits, kind kind kind kind},                                             \
    {                                                                                                                  \
        "madc.hi.cc.u" #bits, op_madc_hi_cc_##bits, kind kind kind kind                                                \
    }

ptx_rows ptx_rows_carry(void)
{
    static const ptx_row rows[] = {ROWS(32, "4"), ROWS(64, "8")};
    return (ptx_rows){rows, (int)(sizeof(rows) / sizeof(*rows))};
}
