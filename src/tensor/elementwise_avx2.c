/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_avx2.c: the row for AVX2: eight floats a vector. Compiled with -mavx2; nothing of it runs before usable() has
 * asked the processor, for F16C too, which convert_avx2.c needs. No fused multiply-add is involved, so its sums are those of every other row. */
#include <cpuid.h>
#include <immintrin.h>

#include "elementwise_impl.h"

typedef __m256 vector;
enum { WIDTH = 8 };

static inline vector load(const float *from)
{
    return _mm256_loadu_ps(from);
}

static inline vector add(vector older, vector newer)
{
    return _mm256_add_ps(older, newer);
}

static inline void store(float *to, vector v)
{
    _mm256_storeu_ps(to, v);
}

static inline void stream(float *to, vector v)
{
    _mm256_stream_ps(to, v);
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
    unsigned a, b, c = 0, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) &&
           c & bit_F16C; /* not all compilers ask by name */
}

const tutti_elementwise_row tutti_elementwise_avx2 = {
    "avx2", usable, run_reduce, run_add_rows, &tutti_convert_avx2, &tutti_reduce_avx2};
