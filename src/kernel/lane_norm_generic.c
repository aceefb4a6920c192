/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_generic.c: the row in plain C with the compiler's vectors of four floats, which every processor has in some form
 * (SSE, NEON, or four scalars). */
#include "../tensor/convert_one.h"
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

typedef struct {
    uint16_t number[WIDTH];
} halves;

static inline halves load_halves(const uint16_t *from)
{
    halves h;
    memcpy(&h, from, sizeof h);
    return h;
}

static inline void store_halves(uint16_t *to, halves h)
{
    memcpy(to, &h, sizeof h);
}

static inline void stream_halves(uint16_t *to, halves h)
{
    store_halves(to, h);
}

static inline vector widen_bf16(halves h)
{
    return (vector){tutti_f32_of_bf16(h.number[0]), tutti_f32_of_bf16(h.number[1]), tutti_f32_of_bf16(h.number[2]),
                    tutti_f32_of_bf16(h.number[3])};
}

static inline vector widen_f16(halves h)
{
    return (vector){tutti_f32_of_f16(h.number[0]), tutti_f32_of_f16(h.number[1]), tutti_f32_of_f16(h.number[2]),
                    tutti_f32_of_f16(h.number[3])};
}

static inline halves narrow_bf16(vector v)
{
    return (halves){
        {tutti_bf16_of_f32(v[0]), tutti_bf16_of_f32(v[1]), tutti_bf16_of_f32(v[2]), tutti_bf16_of_f32(v[3])}};
}

static inline halves narrow_f16(vector v)
{
    return (halves){{tutti_f16_of_f32(v[0]), tutti_f16_of_f32(v[1]), tutti_f16_of_f32(v[2]), tutti_f16_of_f32(v[3])}};
}

#include "lane_norm_loops.h"

const tutti_lane_norm_row tutti_lane_norm_generic = {"generic", WIDTH,         sizeof(bits), sums,
                                                     normalise, gradient_sums, gradient};
