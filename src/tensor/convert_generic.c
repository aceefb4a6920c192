/* SPDX-License-Identifier: Apache-2.0 */
/* convert_generic.c: the row that runs everywhere: a vector of one, in plain C. */
#include "convert_impl.h"

typedef float vector;
enum { WIDTH = 1 };

static inline vector load(const float *from)
{
    return *from;
}

static inline void store(float *to, vector v)
{
    *to = v;
}

static inline vector add(vector older, vector newer)
{
    return older + newer;
}

static inline vector load_bf16(const uint16_t *from)
{
    return tutti_f32_of_bf16(*from);
}

static inline vector load_f16(const uint16_t *from)
{
    return tutti_f32_of_f16(*from);
}

static inline void store_bf16(uint16_t *to, vector v)
{
    *to = tutti_bf16_of_f32(v);
}

static inline void store_f16(uint16_t *to, vector v)
{
    *to = tutti_f16_of_f32(v);
}

static inline void leave_vectors(void)
{
}

static inline void stream(float *to, vector v)
{
    *to = v;
}

static inline void stream_fence(void)
{
}

#include "convert_loops.h"
#include "convert_sum_loops.h"

const tutti_convert_row tutti_convert_generic = CONVERT_ROW;
