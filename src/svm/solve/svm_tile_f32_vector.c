/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_f32_vector.c: the vector loops of kernel values in f32. e^x = 2^k e^f with |f| <= ln(2) / 2; the polynomial
 * of e^f was fitted by Remez' exchange for the least relative error, its first two coefficients held at 1, so that e^0
 * = 1: 3.1e-9. ln(2) comes in two parts, the first of so few bits that k times it is exact with and without fused
 * multiply-adds. Below the smallest normal number the result is 0. */
#include "../../tensor/vector.h"
#include "svm_tile_impl.h"

typedef float number;
typedef int32_t whole_number;
typedef vector numbers;
typedef loose loose_numbers;

enum { EACH = WIDTH, LANES = TUTTI_SVM_F32_LANES, MANTISSA = 23, BIAS = 127 };
#define PRECISION    TUTTI_SVM_F32
#define EXP_LEAST    (-87.336544f) /* ln(2^-126), rounded up: for smaller x, e^x is 0 here */
#define EXP_ROUNDER  12582912.0f   /* 1.5 * 2^23: a number that is added to it is rounded to a whole number */
#define EXP_PER_LN2  1.44269504f   /* 1 / ln(2) */
#define EXP_LN2_HIGH 0.693359375f  /* 355 / 512: the first part of ln(2) */
#define EXP_LN2_LOW  -2.12194440e-4f
#define EXP_POLYNOMIAL                                                                                                 \
    {                                                                                                                  \
        0.00138146073f, 0.00836871704f, 0.0416683879f, 0.166665206f, 0.499999934f, 1.0f, 1.0f                          \
    }
enum { EXP_TERMS = 7 };

INLINE numbers fused(numbers a, numbers b, numbers c)
{
    return multiply_add(a, b, c);
}

INLINE numbers rectified(numbers v)
{
    return rectify(v);
}

INLINE doubles as_doubles(const number *from)
{
    return widen_floats(from);
}

INLINE void turn(numbers *v)
{
    transpose(v);
}

#include "svm_tile_loops.h"

const tutti_svm_tile_row TUTTI_ISA_ROW(tutti_svm_tile_f32) = TILE_ROW;
