/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_compare.c: comparisons. A comparison of floats that ends in u holds also where one of them is not a number. */
#include "ptx_lanes.h"

#define ORDERED(suffix, A)                                                                                             \
    PTX_TEST(eq_##suffix, A, a == b)                                                                                   \
    PTX_TEST(ne_##suffix, A, a != b)                                                                                   \
    PTX_TEST(lt_##suffix, A, a < b)                                                                                    \
    PTX_TEST(le_##suffix, A, a <= b)                                                                                   \
    PTX_TEST(gt_##suffix, A, a > b)                                                                                    \
    PTX_TEST(ge_##suffix, A, a >= b)
ORDERED(u16, uint16_t)
ORDERED(s16, int16_t)
ORDERED(u32, uint32_t)
ORDERED(s32, int32_t)
ORDERED(u64, uint64_t)
ORDERED(s64, int64_t)
#define FLOATS(suffix, A, v)                                                                                           \
    PTX_TEST(eq_##suffix, A, v(a) == v(b))                                                                             \
    PTX_TEST(ne_##suffix, A, v(a) < v(b) || v(a) > v(b))                                                               \
    PTX_TEST(lt_##suffix, A, v(a) < v(b))                                                                              \
    PTX_TEST(le_##suffix, A, v(a) <= v(b))                                                                             \
    PTX_TEST(gt_##suffix, A, v(a) > v(b))                                                                              \
    PTX_TEST(ge_##suffix, A, v(a) >= v(b))                                                                             \
    PTX_TEST(equ_##suffix, A, !(v(a) < v(b) || v(a) > v(b)))                                                           \
    PTX_TEST(neu_##suffix, A, v(a) != v(b))                                                                            \
    PTX_TEST(ltu_##suffix, A, !(v(a) >= v(b)))                                                                         \
    PTX_TEST(leu_##suffix, A, !(v(a) > v(b)))                                                                          \
    PTX_TEST(gtu_##suffix, A, !(v(a) <= v(b)))                                                                         \
    PTX_TEST(geu_##suffix, A, !(v(a) < v(b)))                                                                          \
    PTX_TEST(num_##suffix, A, v(a) == v(a) && v(b) == v(b))                                                            \
    PTX_TEST(nan_##suffix, A, v(a) != v(a) || v(b) != v(b))
FLOATS(f32, float, )
FLOATS(f64, double, )
FLOATS(f16, uint16_t, ptx_half_to_float)
FLOATS(bf16, uint16_t, ptx_bf16_to_float)

#define ORDERED_ROWS(suffix, k)                                                                                        \
    {"setp.eq." #suffix, op_eq_##suffix, "p" k k}, {"setp.ne." #suffix, op_ne_##suffix, "p" k k},                      \
        {"setp.lt." #suffix, op_lt_##suffix, "p" k k}, {"setp.le." #suffix, op_le_##suffix, "p" k k},                  \
        {"setp.gt." #suffix, op_gt_##suffix, "p" k k},                                                                 \
    {                                                                                                                  \
        "setp.ge." #suffix, op_ge_##suffix, "p" k k                                                                    \
    }
#define FLOAT_ROWS(suffix, k)                                                                                          \
    ORDERED_ROWS(suffix, k), {"setp.equ." #suffix, op_equ_##suffix, "p" k k},                                          \
        {"setp.neu." #suffix, op_neu_##suffix, "p" k k}, {"setp.ltu." #suffix, op_ltu_##suffix, "p" k k},              \
        {"setp.leu." #suffix, op_leu_##suffix, "p" k k}, {"setp.gtu." #suffix, op_gtu_##suffix, "p" k k},              \
        {"setp.geu." #suffix, op_geu_##suffix, "p" k k}, {"setp.num." #suffix, op_num_##suffix, "p" k k},              \
    {                                                                                                                  \
        "setp.nan." #suffix, op_nan_##suffix, "p" k k                                                                  \
    }

ptx_rows ptx_rows_compare(void)
{
    static const ptx_row rows[] = {
        ORDERED_ROWS(u16, "2"),
        ORDERED_ROWS(s16, "2"),
        ORDERED_ROWS(u32, "4"),
        ORDERED_ROWS(s32, "4"),
        ORDERED_ROWS(u64, "8"),
        ORDERED_ROWS(s64, "8"),
        FLOAT_ROWS(f32, "4"),
        FLOAT_ROWS(f64, "8"),
        FLOAT_ROWS(f16, "2"),
        FLOAT_ROWS(bf16, "2"),
        {"setp.lo.u16", op_lt_u16, "p22"},
        {"setp.ls.u16", op_le_u16, "p22"},
        {"setp.hi.u16", op_gt_u16, "p22"},
        {"setp.hs.u16", op_ge_u16, "p22"},
        {"setp.lo.u32", op_lt_u32, "p44"},
        {"setp.ls.u32", op_le_u32, "p44"},
        {"setp.hi.u32", op_gt_u32, "p44"},
        {"setp.hs.u32", op_ge_u32, "p44"},
        {"setp.lo.u64", op_lt_u64, "p88"},
        {"setp.ls.u64", op_le_u64, "p88"},
        {"setp.hi.u64", op_gt_u64, "p88"},
        {"setp.hs.u64", op_ge_u64, "p88"},
    };
    return (ptx_rows){rows, (int)(sizeof(rows) / sizeof(*rows))};
}
