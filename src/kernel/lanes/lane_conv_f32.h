/* SPDX-License-Identifier: Apache-2.0 */
/* lane_conv_f32.h: multiplies and adds floats, one a lane, for lane_conv_loops.h. */
#ifndef TUTTI_LANE_CONV_F32_H
#define TUTTI_LANE_CONV_F32_H

#include "lane_loops.h"

typedef float conv_number;
enum { CONV_PAIR = 1 };

INLINE vector conv_factor(const float *x)
{
    return all(*x);
}

INLINE vector conv_factor_alone(const float *x)
{
    return all(*x);
}

INLINE vector conv_multiply_add(vector a, vector b, vector c)
{
    return multiply_add(a, b, c);
}

INLINE half_vector conv_multiply_add_half(half_vector a, half_vector b, half_vector c)
{
    return multiply_add_half(a, b, c);
}

INLINE vector conv_take(const float *x)
{
    return load(x);
}

INLINE vector conv_take_some(const float *x, int64_t n)
{
    return load_some(x, n);
}

/* Loads floats. With bf16 this function takes the first element of each pair, but floats have no pairs. */
INLINE vector conv_take_lower(const float *x)
{
    return load(x);
}

INLINE void conv_put(float *to, vector v)
{
    store(to, v);
}

INLINE void conv_put_half(float *to, half_vector v, int64_t n)
{
    store_some_half(to, v, n);
}

#endif
