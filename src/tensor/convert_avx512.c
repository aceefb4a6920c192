/* SPDX-License-Identifier: Apache-2.0 */
/* convert_avx512.c: the row for AVX-512: sixteen numbers a vector. Compiled with -mavx512f. */
#include "convert_avx512.h"

#include "convert_impl.h"

typedef __m512 vector;
enum { WIDTH = 16 };

static inline vector load(const float *from)
{
    return _mm512_loadu_ps(from);
}

static inline void store(float *to, vector v)
{
    _mm512_storeu_ps(to, v);
}

static inline vector add(vector older, vector newer)
{
    return _mm512_add_ps(older, newer);
}

static inline vector load_bf16(const uint16_t *from)
{
    return tutti_widen_bf16(tutti_load_halves(from));
}

static inline vector load_f16(const uint16_t *from)
{
    return tutti_widen_f16(tutti_load_halves(from));
}

static inline void store_bf16(uint16_t *to, vector v)
{
    tutti_store_halves(to, tutti_narrow_bf16(v));
}

static inline void store_f16(uint16_t *to, vector v)
{
    tutti_store_halves(to, tutti_narrow_f16(v));
}

static inline void leave_vectors(void)
{
    _mm256_zeroupper();
}

static inline void stream(float *to, vector v)
{
    _mm512_stream_ps(to, v);
}

static inline void stream_fence(void)
{
    _mm_sfence();
}

#include "convert_loops.h"
#include "convert_sum_loops.h"

const tutti_convert_row tutti_convert_avx512 = CONVERT_ROW;
