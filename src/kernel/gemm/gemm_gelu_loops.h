/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_gelu_loops.h: GELU of a vector, x (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel, arXiv 1606.08415). */
#ifndef TUTTI_GEMM_GELU_LOOPS_H
#define TUTTI_GEMM_GELU_LOOPS_H

#include "../lanes/lane_math_loops.h"

/* Returns GELU of x. For a negative x, x Phi(x) is computed from erfc: e^(-x^2 / 2) times a polynomial of 1 / (1 + 0.3
 * |x|). For a positive x the result is x plus the result for -x. So there is no cancellation where GELU is near 0. */
INLINE vector gelu_of(vector x)
{
    static const float c[] = {0.119623266f,   0.120845489f, 0.0993473828f, 0.130415618f,
                              -0.0571658127f, 0.210116744f, -0.159377381f, 0.0361946374f};
    const vector far = all(13), size = (vector)((words)x & 0x7fffffffu), u = 1 / multiply_add(size, all(0.3f), all(1));
    const vector tail = exponential(size * size * all(-0.5f)) * u * polynomial(u, c, 8) * size;
    const vector small = choose(above(size, far), (vector){0}, tail);
    return choose(is_nan(x), x, rectify(x) - small);
}

#endif
