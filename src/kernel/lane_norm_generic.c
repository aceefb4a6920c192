/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_generic.c: the row in plain C with the compiler's vectors of four floats, which every processor has in some form
 * (SSE, NEON, or four scalars). */
#include "lane_norm_impl.h"

enum { WIDTH = 4 };
typedef float vector __attribute__((vector_size(16)));
typedef float loose __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t whole __attribute__((vector_size(16)));
typedef uint8_t bits;

static inline bits positive(vector v)
{
    const whole set = v > (vector){0, 0, 0, 0};
    return (bits)((set[0] & 1) | (set[1] & 2) | (set[2] & 4) | (set[3] & 8));
}

static inline vector keep(vector v, bits where)
{
    const whole one_each = {1, 2, 4, 8}, set = (whole){where, where, where, where} & one_each;
    return (vector)((whole)v & (set == one_each));
}

static inline vector keep_positive(vector kept, vector where)
{
    return (vector)((whole)kept & (whole)(where > (vector){0, 0, 0, 0}));
}

static inline vector rectify(vector v)
{
    return (vector)((whole)v & ~(whole)(v < (vector){0, 0, 0, 0}));
}

static inline void stream(float *to, vector v)
{
    *(vector *)(void *)to = v; /* plain C has no other store */
}

static inline void stream_fence(void)
{
}

#include "lane_norm_loops.h"

const tutti_lane_norm_row tutti_lane_norm_generic = {"generic", WIDTH,         sizeof(bits), sums,
                                                     normalise, gradient_sums, gradient};
