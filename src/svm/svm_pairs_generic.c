/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs_generic.c: the row in plain C with the compiler's vectors of two doubles, which every processor has in some form. */
#include "svm_pairs_impl.h"

enum { WIDTH = 2 };
typedef double vector __attribute__((vector_size(16)));
typedef double loose __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t whole __attribute__((vector_size(16)));

static inline vector widen(const float *from)
{
    return (vector){(double)from[0], (double)from[1]};
}

static inline vector chosen(whole mask, vector yes, vector no)
{
    return (vector)(((whole)yes & mask) | ((whole)no & ~mask));
}

static inline vector smaller(vector a, vector b)
{
    return chosen((whole)(a < b), a, b);
}

static inline vector larger(vector a, vector b)
{
    return chosen((whole)(a > b), a, b);
}

static inline vector positive(vector a)
{
    return chosen((whole)(a <= (vector){0, 0}), (vector){TUTTI_SVM_FLAT, TUTTI_SVM_FLAT}, a);
}

static inline unsigned bits_of(whole mask)
{
    return (unsigned)((mask[0] & 1) | (mask[1] & 2));
}

static inline unsigned equal(vector a, vector b)
{
    return bits_of((whole)(a == b));
}

static inline unsigned candidates(vector d, vector squares, vector limit)
{
    return bits_of((whole)(d > (vector){0, 0}) & (whole)(squares >= limit));
}

#include "svm_pairs_loops.h"

const tutti_svm_pairs_row tutti_svm_pairs_generic = {"generic", scan, move, partner};
