/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_f64_generic.c: the row for f64 in plain C with the compiler's vectors of 16 bytes, which every processor has in some form. A
 * product and a sum stand for a fused multiply-add, so bits are its own. */
#include "svm_tile_f64.h"

enum { WIDTH = 2, DOUBLES = 2 };
typedef double vector __attribute__((vector_size(16)));
typedef double loose __attribute__((vector_size(16), aligned(8), may_alias));
typedef whole_number whole __attribute__((vector_size(16)));
typedef double wide __attribute__((vector_size(16)));
typedef double loose_wide __attribute__((vector_size(16), aligned(8), may_alias));

static inline vector fused(vector a, vector b, vector c)
{
    return a * b + c;
}

static inline vector rectify(vector v)
{
    return (vector)((whole)v & ~(whole)(v < (vector){0}));
}

static inline wide fused_wide(wide a, wide b, wide c)
{
    return a * b + c;
}

static inline wide widen(const number *from)
{
    return *(const loose_wide *)(const void *)from;
}

static inline vector low_pairs(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 0, 2);
}

static inline vector high_pairs(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 1, 3);
}

#include "svm_tile_loops.h"

const tutti_svm_tile_row tutti_svm_tile_f64_generic = ROW("generic");
