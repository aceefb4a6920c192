/* SPDX-License-Identifier: Apache-2.0 */
/* order.c: the shuffle of an epoch: the order of samples as a pure function. The shuffle is a Feistel network over the
 * smallest power of two that is at least count, repeated until the result is below count (Black and Rogaway 2002). The
 * network is a bijection for any round function, and is repeated less than twice on average. Any rank can compute any
 * position without computing the others. */
#include "../base/rng.h"
#include "dataset.h"

/* number of rounds of the network: small sets need 8 to mix well; 4 would be enough for 60,000 samples */
enum { NROUNDS = 8 };

/* Mixes the bits of v by the last steps of the generator splitmix64. Each bit of the result depends on all bits of
 * v. */
static uint64_t mixed(uint64_t v)
{
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return v ^ (v >> 31);
}

/* Permutes v, a number of `bits` bits. Its halves have bits / 2 and bits - bits / 2 bits. Rounds change the two halves
 * in turn, so an odd number of bits works, too. */
static uint64_t permuted(uint64_t v, int bits, const uint64_t key[NROUNDS])
{
    int low = bits / 2;
    uint64_t low_mask = ((uint64_t)1 << low) - 1, high_mask = ((uint64_t)1 << (bits - low)) - 1;
    uint64_t left = v >> low, right = v & low_mask;
    for (int r = 0; r < NROUNDS; r++) {
        if (r % 2)
            right ^= mixed(left ^ key[r]) & low_mask;
        else
            left ^= mixed(right ^ key[r]) & high_mask;
    }
    return left << low | right;
}

int64_t tutti_sample_order_at(uint64_t seed, int64_t epoch, int64_t count, bool shuffle, int64_t position)
{
    if (!shuffle || count <= 1) return position;
    uint64_t key[NROUNDS];
    for (int i = 0; i < NROUNDS; i += 2) {
        tutti_random4 r = tutti_random(seed, TUTTI_STREAM_ORDER, (uint64_t)epoch, (uint64_t)i);
        key[i] = (uint64_t)r.word[0] << 32 | r.word[1];
        key[i + 1] = (uint64_t)r.word[2] << 32 | r.word[3];
    }
    int bits = 0;
    while (bits < 62 && (int64_t)1 << bits < count) bits++;
    uint64_t v = (uint64_t)position;
    do v = permuted(v, bits, key);
    while (v >= (uint64_t)count);
    return (int64_t)v;
}
