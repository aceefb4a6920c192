/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_generic.c: the loops of sparse convolutions in plain C, with the compiler's vectors of four floats. */
#include "../tensor/vector_generic.h"

static inline float sum_lanes(vector v)
{
    return (v[0] + v[2]) + (v[1] + v[3]);
}

static inline int64_t put_nonzero(float *to, int32_t *place, vector v, int32_t first)
{
    int64_t n = 0;
    for (int i = 0; i < WIDTH; i++) {
        to[n] = v[i];
        place[n] = first + i;
        n += v[i] != 0;
    }
    return n;
}

#include "sparse_loops.h"

const tutti_sparse_loops tutti_sparse_generic = {"generic", WIDTH, sparse_list, sparse_sum, sparse_weight, sparse_dot};
