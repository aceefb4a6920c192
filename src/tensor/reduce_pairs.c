/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_pairs.c: argmin and argmax. An element is a pair of value and index; of two elements the winner is kept with
 * both. One rule orders elements of all types (tutti/types.h): NaN wins, then the value decides, then the lower index.
 * If two elements are equal in all of these, the older one stays. */
#include "convert_one.h"
#include "reduce_impl.h"

/* True if element b wins over element a. */
#define ORDER(suffix, pair, number, widen)                                                                             \
    static inline bool before_##suffix(const pair *b, const pair *a, bool largest)                                     \
    {                                                                                                                  \
        const number x = widen(a->value), y = widen(b->value);                                                         \
        const bool x_nan = x != x, y_nan = y != y;                                                                     \
        if (x_nan != y_nan) return y_nan;                                                                              \
        if (x_nan || x == y) return b->index < a->index;                                                               \
        return largest ? y > x : y < x;                                                                                \
    }                                                                                                                  \
    static void combine_##suffix(pair *to, const pair *older, const pair *newer, int64_t n, bool largest)              \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) to[i] = before_##suffix(&newer[i], &older[i], largest) ? newer[i] : older[i];  \
    }                                                                                                                  \
    static void argmin_##suffix(void *to, const void *older, const void *newer, int64_t n)                             \
    {                                                                                                                  \
        combine_##suffix(to, older, newer, n, false);                                                                  \
    }                                                                                                                  \
    static void argmax_##suffix(void *to, const void *older, const void *newer, int64_t n)                             \
    {                                                                                                                  \
        combine_##suffix(to, older, newer, n, true);                                                                   \
    }

#define AS_IT_IS(value) (value)
ORDER(f32, tutti_f32_at, float, AS_IT_IS)
ORDER(f64, tutti_f64_at, double, AS_IT_IS)
ORDER(i32, tutti_i32_at, int32_t, AS_IT_IS)
ORDER(i64, tutti_i64_at, int64_t, AS_IT_IS)
ORDER(f16, tutti_half_at, float, tutti_f32_of_f16)
ORDER(bf16, tutti_half_at, float, tutti_f32_of_bf16)

const tutti_combine tutti_reduce_pairs[TUTTI_NDTYPES][2] = {
    [TUTTI_F32] = {argmin_f32, argmax_f32}, [TUTTI_BF16] = {argmin_bf16, argmax_bf16},
    [TUTTI_F16] = {argmin_f16, argmax_f16}, [TUTTI_I32] = {argmin_i32, argmax_i32},
    [TUTTI_F64] = {argmin_f64, argmax_f64}, [TUTTI_I64] = {argmin_i64, argmax_i64},
};
