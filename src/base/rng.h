/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h: counter-based random numbers: each number is a pure function of a key and a counter (Philox4x32-10, Salmon et
 * al., SC'11). So a number does not depend on the thread or rank that draws it, nor on the numbers drawn before. Each
 * use has a stream of its own, so two uses with the same seed and counter get different numbers. Threads: any (no
 * state). */
#ifndef TUTTI_BASE_RNG_H
#define TUTTI_BASE_RNG_H

#include <stdint.h>

typedef enum {
    TUTTI_STREAM_INIT = 1, /* initial weights */
    TUTTI_STREAM_ORDER,    /* order of samples in an epoch */
    TUTTI_STREAM_DROPOUT,
    TUTTI_STREAM_DRAW, /* generated data sets */
    TUTTI_STREAM_AUGMENT,
    TUTTI_STREAM_TEST,
    TUTTI_STREAM_ROUTE,   /* choice of a network path by a hash */
    TUTTI_STREAM_SEARCH,  /* searches that try things at random */
    TUTTI_STREAM_PICTURE, /* random directions in the space of weights, for pictures of the loss */
} tutti_stream;

typedef struct {
    uint32_t word[4];
} tutti_random4;

/* Returns the 64-bit key of a stream, for callers that draw many numbers. */
uint64_t tutti_random_key(uint64_t seed, tutti_stream stream);
/* Returns four independent 32-bit words for (seed, stream, a, b). */
tutti_random4 tutti_random(uint64_t seed, tutti_stream stream, uint64_t a, uint64_t b);
/* Returns a number in [0, 1), a multiple of 2^-24, from a random word. */
float tutti_random_unit(uint32_t word);
/* Makes two standard normal numbers from words 0..3 (Box-Muller, in double, rounded to float). */
void tutti_random_normal2(tutti_random4 r, float out[2]);
/* Returns a whole number in [0, n), for n >= 1: the upper half of the product of n and 64 random bits. */
uint64_t tutti_random_below(tutti_random4 r, uint64_t n);

#endif
