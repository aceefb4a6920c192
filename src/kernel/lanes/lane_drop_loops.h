/* SPDX-License-Identifier: Apache-2.0 */
/* lane_drop_loops.h: dropout: the loops for every instruction set. Random words are those of tutti_random
 * (Philox4x32-10), several counters at once. */
#ifndef TUTTI_LANE_DROP_LOOPS_H
#define TUTTI_LANE_DROP_LOOPS_H

#include "lane_loops.h"

enum { ROUNDS = 10, COUNTERS = WIDTH / 2 };

INLINE longs every(uint64_t x)
{
    return (longs){0} + x;
}

/* Returns 1 in lanes whose lower half is at least `least`, else 0. */
INLINE longs is_at_least(longs word, uint64_t least)
{
    return 1 ^ ((word & 0xffffffffu) - least) >> 63;
}

/* Draws four bytes for each of COUNTERS counters, 1 if the random word is at least `least`. Each 64-bit lane holds a
 * word in its lower half; the upper half may hold anything, because products read only lower halves. */
INLINE void draw_some(uint64_t key, uint64_t a, longs b, uint64_t least, uint8_t *lives)
{
    typedef uint32_t fours __attribute__((vector_size(COUNTERS * sizeof(uint32_t))));
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    longs c0 = every(a), c1 = every(a >> 32), c2 = b, c3 = b >> 32;
    for (int round = 0; round < ROUNDS; round++) {
        const longs p0 = multiply_lower(c0, 0xD2511F53u), p1 = multiply_lower(c2, 0xCD9E8D57u);
        c0 = (p1 >> 32) ^ c1 ^ every(k0);
        c2 = (p0 >> 32) ^ c3 ^ every(k1);
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    const fours bytes = __builtin_convertvector(is_at_least(c0, least) | is_at_least(c1, least) << 8 |
                                                    is_at_least(c2, least) << 16 | is_at_least(c3, least) << 24,
                                                fours);
    __builtin_memcpy(lives, &bytes, sizeof bytes);
}

static void draw(const tutti_draw_call *c)
{
    longs counters;
    int64_t i = 0;
    for (int l = 0; l < COUNTERS; l++) counters[l] = c->first + (uint64_t)l;
    for (; i + COUNTERS <= c->n; i += COUNTERS, counters += COUNTERS)
        draw_some(c->key, c->a, counters, c->least, c->lives + 4 * i);
    if (i == c->n) return;
    uint8_t left[4 * COUNTERS];
    draw_some(c->key, c->a, counters, c->least, left);
    __builtin_memcpy(c->lives + 4 * i, left, (size_t)(4 * (c->n - i)));
}

INLINE vector factors(const uint8_t *lives, float scale)
{
    typedef uint8_t some_bytes __attribute__((vector_size(WIDTH)));
    some_bytes bytes;
    __builtin_memcpy(&bytes, lives, sizeof bytes);
    return __builtin_convertvector(bytes, vector) * scale;
}

INLINE void drop_typed(const tutti_drop_call *c, tutti_dtype type)
{
    int64_t i = c->begin;
    for (; i + WIDTH <= c->end; i += WIDTH)
        put(c->to, i, take(c->from, i, type) * factors(c->lives + i, c->scale), type);
    if (i == c->end) return;
    uint8_t left[WIDTH] = {0};
    __builtin_memcpy(left, c->lives + i, (size_t)(c->end - i));
    put_some(c->to, i, take_some(c->from, i, c->end - i, type) * factors(left, c->scale), c->end - i, type);
}

static void drop(const tutti_drop_call *call)
{
    const tutti_drop_call copy = *call; /* a copy, to keep it in registers */
    BY_TYPE(copy.type, drop_typed, &copy)
}

#endif
