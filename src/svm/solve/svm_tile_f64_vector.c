/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_f64_vector.c: the vector loops of kernel values in f64 (see svm_tile_f32_vector.c). The polynomial's
 * relative error is 3.6e-18. */
#include "../../tensor/vector.h"
#include "svm_tile_impl.h"

typedef double number;
typedef int64_t whole_number;
typedef doubles numbers;
typedef loose_doubles loose_numbers;

enum { EACH = DOUBLES, LANES = TUTTI_SVM_F64_LANES, MANTISSA = 52, BIAS = 1023 };
#define PRECISION    TUTTI_SVM_F64
#define EXP_LEAST    (-708.39641853226408) /* ln(2^-1022), rounded up: for smaller x, e^x is 0 here */
#define EXP_ROUNDER  6755399441055744.0    /* 1.5 * 2^52: a number that is added to it is rounded to a whole number */
#define EXP_PER_LN2  1.4426950408889634
#define EXP_LN2_HIGH 0.693145751953125 /* the first part of ln(2), with 20 bits */
#define EXP_LN2_LOW  1.4286068203094172e-6
#define EXP_POLYNOMIAL                                                                                                 \
    {                                                                                                                  \
        2.5000060913375838342e-8, 2.7630248366114965044e-7, 2.7557586375990773834e-6, 2.4801493098947544343e-5,        \
            1.9841269506576396734e-4, 1.3888888943630069847e-3, 8.3333333334944626093e-3, 4.166666666653015876e-2,     \
            1.6666666666666412522e-1, 5.0000000000000106271e-1, 1.0, 1.0                                               \
    }
enum { EXP_TERMS = 12 };

INLINE numbers fused(numbers a, numbers b, numbers c)
{
    return multiply_add_doubles(a, b, c);
}

INLINE numbers rectified(numbers v)
{
    return rectify_doubles(v);
}

INLINE doubles as_doubles(const number *from)
{
    return load_doubles(from);
}

INLINE void turn(numbers *v)
{
    transpose_doubles(v);
}

#include "svm_tile_loops.h"

const tutti_svm_tile_row TUTTI_ISA_ROW(tutti_svm_tile_f64) = TILE_ROW;
