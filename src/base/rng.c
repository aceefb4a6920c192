/* SPDX-License-Identifier: Apache-2.0 */
/* rng.c: counter-based random numbers. Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
 * 1, 2, 3", SC'11).
 *
 * The 128-bit counter is (a, b). The 64-bit key is seed + stream * an odd constant. So two streams of one seed have
 * different keys, and so has one stream under two seeds. */
#include "rng.h"

#include <math.h>

enum { ROUNDS = 10 };

__extension__ typedef unsigned __int128 wide_uint;

static const uint64_t STREAM_STEP = 0x9E3779B97F4A7C15u; /* 2^64 / golden ratio, made odd: the distance between the keys
                                                          * of two streams */

static uint32_t high32(uint64_t x)
{
    return (uint32_t)(x >> 32);
}

uint64_t tutti_random_key(uint64_t seed, tutti_stream stream)
{
    return seed + (uint64_t)stream * STREAM_STEP;
}

tutti_random4 tutti_random(uint64_t seed, tutti_stream stream, uint64_t a, uint64_t b)
{
    uint64_t key = tutti_random_key(seed, stream);
    uint32_t k0 = (uint32_t)key, k1 = high32(key);
    uint32_t c0 = (uint32_t)a, c1 = high32(a), c2 = (uint32_t)b, c3 = high32(b);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = high32(p1) ^ c1 ^ k0;
        c2 = high32(p0) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (tutti_random4){{c0, c1, c2, c3}};
}

float tutti_random_unit(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

void tutti_random_normal2(tutti_random4 r, float out[2])
{
    double u = ((double)r.word[0] + 1.0) * 0x1p-32; /* in (0, 1], so that the logarithm is finite */
    double v = (double)r.word[1] * 0x1p-32;
    double radius = sqrt(-2.0 * log(u)), angle = 6.283185307179586 * v;
    out[0] = (float)(radius * cos(angle));
    out[1] = (float)(radius * sin(angle));
}

uint64_t tutti_random_below(tutti_random4 r, uint64_t n)
{
    uint64_t wide = (uint64_t)r.word[1] << 32 | r.word[0];
    return (uint64_t)(((wide_uint)wide * n) >> 64);
}
