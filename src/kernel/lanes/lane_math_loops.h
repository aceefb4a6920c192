/* SPDX-License-Identifier: Apache-2.0 */
/* lane_math_loops.h: functions of whole vectors by polynomials, with a relative error of 2^-22 or less. They use only
 * additions, multiplications and one division, so their bits are the same on every processor with the same instruction
 * set. The coefficients have the least maximal relative error over the interval (computed in double by Lawson's
 * iteration). NaN stays NaN. */
#ifndef TUTTI_LANE_MATH_LOOPS_H
#define TUTTI_LANE_MATH_LOOPS_H

#include "lane_loops.h"

/* Returns c[0] + c[1] x + ... + c[n - 1] x^(n - 1). */
INLINE vector polynomial(vector x, const float *c, int n)
{
    vector y = all(c[n - 1]);
    for (int i = n - 2; i >= 0; i--) y = multiply_add(y, x, all(c[i]));
    return y;
}

INLINE vector between(vector x, float least, float most)
{
    const vector raised = choose(above(all(least), x), all(least), x);
    return choose(above(raised, all(most)), all(most), raised);
}

/* Returns 2^(whole + x * factor), with factor as two floats, for results within 2^-126 and 2^127. */
INLINE vector exp2_of_product(vector x, float factor, float factor_low)
{
    static const float c[] = {1,
                              0.693147206f,
                              0.240226469f,
                              0.0555032878f,
                              0.00961848911f,
                              0.00133999310f,
                              0.000153457715f}; /* coefficients of 2^x for |x| <= 1/2 */
    const vector magic = all(0x1.8p23f), shifted = x * factor + magic, whole = shifted - magic;
    const vector rest = multiply_add(x, all(factor_low), multiply_add(x, all(factor), -whole));
    const words exponent = ((words)shifted << 23) + 0x3f800000u;
    return polynomial(rest, c, 7) * (vector)exponent;
}

INLINE vector exponential(vector x)
{
    return exp2_of_product(between(x, -87, 88), 0x1.715476p0f, 0x1.4ae0cp-26f);
}

/* Returns log2(x) for a normal x > 0. */
INLINE vector logarithm2(vector x)
{
    static const float c[] = {
        1.44269500f,   -0.721347199f, 0.480910280f,  -0.360716258f, 0.287939081f,
        -0.238675804f, 0.215212517f,  -0.208933058f, 0.129262637f}; /* coefficients of log2(1 + t) / t */
    const words raw = (words)x - 0x3f3504f3u;                       /* 0x3f3504f3: bits of sqrt(1/2) */
    typedef int32_t signed_words __attribute__((vector_size(sizeof(words))));
    const signed_words exponent = (signed_words)raw >> 23;
    const vector t = (vector)((raw & 0x7fffffu) + 0x3f3504f3u) - 1;
    return multiply_add(t, polynomial(t, c, 9), __builtin_convertvector(exponent, vector));
}

/* Returns x^exponent for a normal x > 0. */
INLINE vector power(vector x, float exponent)
{
    const vector log = between(logarithm2(x) * exponent, -126, 127);
    return exp2_of_product(log, 1, 0);
}

INLINE vector sigmoid_of(vector x)
{
    return 1 / (1 + exponential(-x));
}

/* Returns tanh(x): by a polynomial near 0, because 1 - 2 / (e^2x + 1) would lose digits there. */
INLINE vector tanh_of(vector x)
{
    static const float c[] = {-0.333332839f, 0.133314908f, -0.0537434575f, 0.0206504635f,
                              -0.00571691500f}; /* coefficients of (tanh(x) / x - 1) / x^2 */
    const vector square = x * x, far = 1 - 2 / (exponential(x + x) + 1);
    const vector near = multiply_add(x * square, polynomial(square, c, 5), x);
    return choose(above(all(0.625f * 0.625f), square), near, far);
}

#endif
