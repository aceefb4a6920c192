/* SPDX-License-Identifier: Apache-2.0 */
/* dice.h: random whole numbers for one generated sample: each is a pure function of (seed, sample, number of draws
 * before). Whole numbers only, so that generated sets have the same bytes on every machine. Threads: one at a time. */
#ifndef TUTTI_DATA_DICE_H
#define TUTTI_DATA_DICE_H

#include "../../base/rng.h"

typedef struct {
    uint64_t seed, sample, drawn;
    tutti_random4 words;
} tutti_dice; /* initialise with seed and sample */

static inline uint32_t tutti_dice_word(tutti_dice *d)
{
    if (d->drawn % 4 == 0) d->words = tutti_random(d->seed, TUTTI_STREAM_DRAW, d->sample, d->drawn / 4);
    return d->words.word[d->drawn++ % 4];
}

/* Returns a number in 0 .. n - 1. */
static inline int64_t tutti_dice_below(tutti_dice *d, int64_t n)
{
    return (int64_t)(((uint64_t)tutti_dice_word(d) * (uint64_t)n) >> 32);
}

/* Returns a triangularly distributed number in -half .. half: numbers near 0 are common, numbers near the ends rare. */
static inline int64_t tutti_dice_spread(tutti_dice *d, int64_t half)
{
    return tutti_dice_below(d, half + 1) + tutti_dice_below(d, half + 1) - half;
}

#endif
