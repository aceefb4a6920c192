/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_avx512.c: the row for AVX-512: sixteen floats, one cache line a vector. Compiled with -mavx512f; nothing of it
 * runs before usable() has asked the processor. */
#include <immintrin.h>

#include "elementwise_impl.h"

typedef __m512 vector;
enum { WIDTH = 16 };

static inline vector load(const float *from)
{
    return _mm512_loadu_ps(from);
}

static inline vector add(vector older, vector newer)
{
    return _mm512_add_ps(older, newer);
}

static inline void store(float *to, vector v)
{
    _mm512_storeu_ps(to, v);
}

static inline void stream(float *to, vector v)
{
    _mm512_stream_ps(to, v);
}

static inline void stream_fence(void)
{
    _mm_sfence();
}

static inline void leave_vectors(void)
{
    _mm256_zeroupper();
}

#include "elementwise_loops.h"

static bool usable(void)
{
    return __builtin_cpu_supports("avx512f");
}

const tutti_elementwise_row tutti_elementwise_avx512 = {
    "avx512", usable, run_reduce, run_add_rows, &tutti_convert_avx512, &tutti_reduce_avx512};
