/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_lanes.h: how instructions that work lane by lane are written. */
#ifndef FAKE_PTX_LANES_H
#define FAKE_PTX_LANES_H

#include <math.h>
#include <string.h>

#include "ptx.h"

/* PTX_EACH runs the statement for all 32 lanes in a loop without conditions, or for the lanes of the mask. A lane reads
 * and writes its own values only, which ivdep says. */
#define PTX_EACH(mask, statement)                                                                                      \
    do {                                                                                                               \
        if ((mask) == ~UINT32_C(0)) {                                                                                  \
            _Pragma("GCC ivdep") for (int l = 0; l < PTX_LANES; l++)                                                   \
            {                                                                                                          \
                statement                                                                                              \
            }                                                                                                          \
        } else {                                                                                                       \
            _Pragma("GCC ivdep") for (int l = 0; l < PTX_LANES; l++) if ((mask) >> l & 1)                              \
            {                                                                                                          \
                statement                                                                                              \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

#define PTX_OP1(name, D, A, expression)                                                                                \
    static void op_##name(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                               \
    {                                                                                                                  \
        D *d = PTX_REG(D, w, i->d);                                                                                    \
        const A *x = PTX_REG(A, w, i->a);                                                                              \
        PTX_EACH(mask, const A a = x[l]; d[l] = (D)(expression););                                                     \
    }
#define PTX_OP2(name, D, A, B, expression)                                                                             \
    static void op_##name(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                               \
    {                                                                                                                  \
        D *d = PTX_REG(D, w, i->d);                                                                                    \
        const A *x = PTX_REG(A, w, i->a);                                                                              \
        const B *y = PTX_REG(B, w, i->b);                                                                              \
        PTX_EACH(mask, const A a = x[l]; const B b = y[l]; d[l] = (D)(expression););                                   \
    }
#define PTX_OP3(name, D, A, B, C, expression)                                                                          \
    static void op_##name(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                               \
    {                                                                                                                  \
        D *d = PTX_REG(D, w, i->d);                                                                                    \
        const A *x = PTX_REG(A, w, i->a);                                                                              \
        const B *y = PTX_REG(B, w, i->b);                                                                              \
        const C *z = PTX_REG(C, w, i->c);                                                                              \
        PTX_EACH(mask, const A a = x[l]; const B b = y[l]; const C c = z[l]; d[l] = (D)(expression););                 \
    }
/* PTX_TEST makes a comparison, whose result is a predicate. */
#define PTX_TEST(name, A, expression)                                                                                  \
    static void op_##name(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                               \
    {                                                                                                                  \
        const A *x = PTX_REG(A, w, i->a);                                                                              \
        const A *y = PTX_REG(A, w, i->b);                                                                              \
        uint32_t r = 0;                                                                                                \
        for (int l = 0; l < PTX_LANES; l++) {                                                                          \
            const A a = x[l];                                                                                          \
            const A b = y[l];                                                                                          \
            r |= (uint32_t)(expression) << l;                                                                          \
        }                                                                                                              \
        ptx_set_pred(w, i->d, r, mask);                                                                                \
    }

__extension__ typedef unsigned __int128 ptx_u128;
__extension__ typedef __int128 ptx_s128;

/* Zeros have an order, -0 first; a NaN gives way. */
static inline double ptx_lesser(double a, double b)
{
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
static inline double ptx_greater(double a, double b)
{
    return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b;
}

#endif
