/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_integer.c: arithmetic and logic of integers. */
#include "ptx_lanes.h"

#define SIZED(bits, letter)                                                                                            \
    PTX_OP2(add_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a + b)                                         \
    PTX_OP2(sub_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a - b)                                         \
    PTX_OP2(mul_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, (uint64_t)a *b)                                \
    PTX_OP3(mad_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, uint##bits##_t, (uint64_t)a *b + c)            \
    PTX_OP2(and_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a &b)                                          \
    PTX_OP2(or_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a | b)                                          \
    PTX_OP2(xor_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a ^ b)                                         \
    PTX_OP1(not_##bits, uint##bits##_t, uint##bits##_t, ~a)                                                            \
    PTX_OP1(cnot_##bits, uint##bits##_t, uint##bits##_t, a == 0)                                                       \
    PTX_OP1(neg_##bits, uint##bits##_t, uint##bits##_t, 0 - a)                                                         \
    PTX_OP1(abs_s##bits, uint##bits##_t, int##bits##_t, a < 0 ? 0 - (uint64_t)a : (uint64_t)a)                         \
    PTX_OP1(mov_##bits, uint##bits##_t, uint##bits##_t, a)                                                             \
    PTX_OP2(shl_##bits, uint##bits##_t, uint##bits##_t, uint32_t, b < bits ? (uint64_t)a << b : 0)                     \
    PTX_OP2(shr_u##bits, uint##bits##_t, uint##bits##_t, uint32_t, b < bits ? a >> b : 0)                              \
    PTX_OP2(shr_s##bits, int##bits##_t, int##bits##_t, uint32_t, a >> (b < bits ? b : bits - 1))                       \
    PTX_OP2(div_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, b ? a / b : ~UINT64_C(0))                     \
    PTX_OP2(rem_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, b ? a % b : a)                                \
    PTX_OP2(div_s##bits, int##bits##_t, int##bits##_t, int##bits##_t,                                                  \
            b == 0    ? -1                                                                                             \
            : b == -1 ? (int##bits##_t)(0 - (uint64_t)a)                                                               \
                      : a / b)                                                                                         \
    PTX_OP2(rem_s##bits, int##bits##_t, int##bits##_t, int##bits##_t, b == 0 ? a : b == -1 ? 0 : a % b)                \
    PTX_OP2(min_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a < b ? a : b)                                \
    PTX_OP2(max_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a > b ? a : b)                                \
    PTX_OP2(min_s##bits, int##bits##_t, int##bits##_t, int##bits##_t, a < b ? a : b)                                   \
    PTX_OP2(max_s##bits, int##bits##_t, int##bits##_t, int##bits##_t, a > b ? a : b)                                   \
    static void op_selp_##bits(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                          \
    {                                                                                                                  \
        uint##bits##_t *d = PTX_REG(uint##bits##_t, w, i->d);                                                          \
        const uint##bits##_t *x = PTX_REG(uint##bits##_t, w, i->a), *y = PTX_REG(uint##bits##_t, w, i->b);             \
        const uint32_t p = *ptx_pred(w, i->c);                                                                         \
        PTX_EACH(mask, const uint##bits##_t a = x[l]; const uint##bits##_t b = y[l]; d[l] = p >> l & 1 ? a : b;);      \
    }

SIZED(16, 2)
SIZED(32, 4)
SIZED(64, 8)

PTX_OP1(mov_8, uint8_t, uint8_t, a)
PTX_OP3(slct_s32_32, uint32_t, uint32_t, uint32_t, int32_t, c >= 0 ? a : b)
PTX_OP3(slct_s32_64, uint64_t, uint64_t, uint64_t, int32_t, c >= 0 ? a : b)
PTX_OP3(slct_f32_32, uint32_t, uint32_t, uint32_t, float, c >= 0 ? a : b)
PTX_OP3(slct_f32_64, uint64_t, uint64_t, uint64_t, float, c >= 0 ? a : b)

static int32_t saturated(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}
PTX_OP2(add_sat_s32, int32_t, int32_t, int32_t, saturated((int64_t)a + b))
PTX_OP2(sub_sat_s32, int32_t, int32_t, int32_t, saturated((int64_t)a - b))

#define LOGIC(name, expression)                                                                                        \
    static void op_##name##_pred(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                        \
    {                                                                                                                  \
        const uint32_t a = *ptx_pred(w, i->a), b = *ptx_pred(w, i->b);                                                 \
        (void)b;                                                                                                       \
        ptx_set_pred(w, i->d, expression, mask);                                                                       \
    }
LOGIC(and, a &b)
LOGIC(or, a | b)
LOGIC(xor, a ^ b)
LOGIC(not, ~a)
LOGIC(mov, a)
LOGIC(notand, ~a &b)
LOGIC(notor, ~a | b)
LOGIC(notxor, ~a ^ b)
static void op_selp_pred(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    const uint32_t a = *ptx_pred(w, i->a), b = *ptx_pred(w, i->b), c = *ptx_pred(w, i->c);
    uint32_t *p = ptx_pred(w, i->d);
    *p = (*p & ~mask) | (((a & c) | (b & ~c)) & mask);
}

#define ROWS(bits, kind)                                                                                               \
    {"add.u" #bits, op_add_##bits, kind kind kind}, {"sub.u" #bits, op_sub_##bits, kind kind kind},                    \
        {"mul.lo.u" #bits, op_mul_##bits, kind kind kind}, {"mad.lo.u" #bits, op_mad_##bits, kind kind kind kind},     \
        {"and.u" #bits, op_and_##bits, kind kind kind}, {"or.u" #bits, op_or_##bits, kind kind kind},                  \
        {"xor.u" #bits, op_xor_##bits, kind kind kind}, {"not.u" #bits, op_not_##bits, kind kind},                     \
        {"cnot.u" #bits, op_cnot_##bits, kind kind}, {"neg.u" #bits, op_neg_##bits, kind kind},                        \
        {"abs.s" #bits, op_abs_s##bits, kind kind}, {"mov.u" #bits, op_mov_##bits, kind kind},                         \
        {"shl.u" #bits, op_shl_##bits, kind kind "4"}, {"shr.u" #bits, op_shr_u##bits, kind kind "4"},                 \
        {"shr.s" #bits, op_shr_s##bits, kind kind "4"}, {"div.u" #bits, op_div_u##bits, kind kind kind},               \
        {"div.s" #bits, op_div_s##bits, kind kind kind}, {"rem.u" #bits, op_rem_u##bits, kind kind kind},              \
        {"rem.s" #bits, op_rem_s##bits, kind kind kind}, {"min.u" #bits, op_min_u##bits, kind kind kind},              \
        {"min.s" #bits, op_min_s##bits, kind kind kind}, {"max.u" #bits, op_max_u##bits, kind kind kind},              \
        {"max.s" #bits, op_max_s##bits, kind kind kind},                                                               \
    {                                                                                                                  \
        "selp.u" #bits, op_selp_##bits, kind kind kind "p"                                                             \
    }

ptx_rows ptx_rows_integer(void)
{
    static const ptx_row rows[] = {
        ROWS(16, "2"),
        ROWS(32, "4"),
        ROWS(64, "8"),
        {"mov.u8", op_mov_8, "11"},
        {"add.sat.s32", op_add_sat_s32, "444"},
        {"sub.sat.s32", op_sub_sat_s32, "444"},
        {"slct.u32.s32", op_slct_s32_32, "4444"},
        {"slct.u64.s32", op_slct_s32_64, "8884"},
        {"slct.u32.f32", op_slct_f32_32, "4444"},
        {"slct.u64.f32", op_slct_f32_64, "8884"},
        {"and.pred", op_and_pred, "ppp"},
        {"or.pred", op_or_pred, "ppp"},
        {"xor.pred", op_xor_pred, "ppp"},
        {"not.pred", op_not_pred, "pp"},
        {"mov.pred", op_mov_pred, "pp"},
        {"selp.pred", op_selp_pred, "pppp"},
        {"notand.pred", op_notand_pred, "ppp"},
        {"notor.pred", op_notor_pred, "ppp"},
        {"notxor.pred", op_notxor_pred, "ppp"},
    };
    return (ptx_rows){rows, (int)(sizeof(rows) / sizeof(*rows))};
}
