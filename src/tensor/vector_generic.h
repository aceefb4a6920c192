/* SPDX-License-Identifier: Apache-2.0 */
/* vector_generic.h: vector.h in plain C, with the compiler's vectors of four floats, which every processor has in
 * some form (SSE, NEON, or four scalars). */
#ifndef TUTTI_VECTOR_GENERIC_H
#define TUTTI_VECTOR_GENERIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "convert_one.h"

enum { WIDTH = 4, DOUBLES = 2 };
typedef float vector __attribute__((vector_size(16)));
typedef float loose __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(16)));
typedef int32_t lanes_set __attribute__((vector_size(16)));
typedef uint64_t longs __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(16)));
typedef double loose_doubles __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t double_lanes __attribute__((vector_size(16)));
typedef float half_vector __attribute__((vector_size(8)));
typedef uint16_t halves __attribute__((vector_size(8)));
typedef uint8_t bits;
typedef uint8_t pair_bits;

static inline vector load_some(const float *from, int64_t n)
{
    float some[WIDTH] = {0};
    memcpy(some, from, (size_t)n * sizeof *from);
    return *(const loose *)(const void *)some;
}

static inline void store_some(float *to, vector v, int64_t n)
{
    memcpy(to, &v, (size_t)n * sizeof *to);
}

static inline void stream(float *to, vector v)
{
    *(vector *)(void *)to = v; /* plain C has no streaming store */
}

static inline void stream_fence(void)
{
}

static inline void leave_vectors(void)
{
}

static inline vector multiply_add(vector a, vector b, vector c)
{
    return a * b + c;
}

/* --- the lower half of a vector; its first n numbers --- */

static inline half_vector lower_half(vector v)
{
    return (half_vector){v[0], v[1]};
}

static inline half_vector multiply_add_half(half_vector a, half_vector b, half_vector c)
{
    return a * b + c;
}

static inline half_vector load_some_half(const float *from, int64_t n)
{
    half_vector v = {0};
    memcpy(&v, from, (size_t)n * sizeof *from);
    return v;
}

static inline void store_some_half(float *to, half_vector v, int64_t n)
{
    memcpy(to, &v, (size_t)n * sizeof *to);
}

static inline vector square_root(vector v)
{
    return (vector){sqrtf(v[0]), sqrtf(v[1]), sqrtf(v[2]), sqrtf(v[3])};
}

static inline bits bits_of(lanes_set set)
{
    return (bits)((set[0] & 1) | (set[1] & 2) | (set[2] & 4) | (set[3] & 8));
}

static inline lanes_set lanes_set_of(bits where)
{
    const lanes_set one_each = {1, 2, 4, 8}, set = (lanes_set){where, where, where, where} & one_each;
    return set == one_each;
}

static inline lanes_set positive(vector v)
{
    return v > (vector){0, 0, 0, 0};
}

static inline lanes_set above(vector a, vector b)
{
    return a > b;
}

static inline lanes_set is_nan(vector v)
{
    return v != v;
}

static inline vector keep(vector v, lanes_set where)
{
    return (vector)((lanes_set)v & where);
}

static inline vector choose(lanes_set where, vector v, vector otherwise)
{
    return (vector)(((lanes_set)v & where) | ((lanes_set)otherwise & ~where));
}

static inline vector rectify(vector v)
{
    return (vector)((lanes_set)v & ~(lanes_set)(v < (vector){0, 0, 0, 0}));
}

/* --- 16-bit numbers, as many as a vector has floats --- */

static inline halves load_some_halves(const uint16_t *from, int64_t n)
{
    halves h = {0};
    memcpy(&h, from, (size_t)n * sizeof *from);
    return h;
}

static inline halves load_halves(const uint16_t *from)
{
    return load_some_halves(from, WIDTH);
}

static inline void store_some_halves(uint16_t *to, halves h, int64_t n)
{
    memcpy(to, &h, (size_t)n * sizeof *to);
}

static inline void store_halves(uint16_t *to, halves h)
{
    memcpy(to, &h, sizeof h);
}

static inline vector widen_bf16(halves h)
{
    /* the 16 bits become the upper halves of floats, in little-endian order */
    return (vector)__builtin_shufflevector((halves){0}, h, 0, 4, 1, 5, 2, 6, 3, 7);
}

static inline vector widen_f16(halves h)
{
    return (vector){tutti_f32_of_f16(h[0]), tutti_f32_of_f16(h[1]), tutti_f32_of_f16(h[2]), tutti_f32_of_f16(h[3])};
}

/* Returns the upper halves of the floats' bits, which are numbers of bf16. */
static inline halves cut_bf16(vector v)
{
    return __builtin_convertvector((words)v >> 16, halves);
}

static inline halves narrow_f16(vector v)
{
    return (halves){tutti_f16_of_f32(v[0]), tutti_f16_of_f32(v[1]), tutti_f16_of_f32(v[2]), tutti_f16_of_f32(v[3])};
}

/* --- 16-bit numbers, twice as many as a vector has floats --- */

static inline words load_some_words(const uint16_t *from, int64_t n)
{
    words w = {0};
    memcpy(&w, from, (size_t)n * sizeof *from);
    return w;
}

static inline words load_words(const uint16_t *from)
{
    return load_some_words(from, 2 * WIDTH);
}

static inline void store_some_words(uint16_t *to, words w, int64_t n)
{
    memcpy(to, &w, (size_t)n * sizeof *to);
}

static inline void store_words(uint16_t *to, words w)
{
    memcpy(to, &w, sizeof w);
}

static inline void stream_words(uint16_t *to, words w)
{
    store_words(to, w);
}

static inline words join_halves(halves lower, halves upper)
{
    words w;
    memcpy(&w, &lower, sizeof lower);
    memcpy((char *)&w + sizeof lower, &upper, sizeof upper);
    return w;
}

static inline halves lower_halves(words w)
{
    halves h;
    memcpy(&h, &w, sizeof h);
    return h;
}

static inline halves upper_halves(words w)
{
    halves h;
    memcpy(&h, (const char *)&w + sizeof h, sizeof h);
    return h;
}

/* Rounds to bf16 (nearest even) in the upper half of each word; NaN stays NaN. The lower half is undefined. */
static inline words round_bf16(vector v)
{
    const words raw = (words)v, rounded = raw + 0x7fff + ((raw >> 16) & 1), nan = (words)(v != v);
    return (rounded & ~nan) | ((raw | 0x400000) & nan);
}

/* Joins the upper halves of the words: those of `even` go to even places, those of `odd` to odd places. */
static inline words join_upper(words even, words odd)
{
    return even >> 16 | (odd & 0xffff0000u); /* little-endian, like all bytes that ranks exchange */
}

/* --- bytes --- */

/* Returns the lanes of WIDTH bytes that are `value`. */
static inline lanes_set equal_bytes(const uint8_t *from, uint8_t value)
{
    return (lanes_set){from[0], from[1], from[2], from[3]} == (lanes_set){value, value, value, value};
}

static inline void store_bytes(uint8_t *to, words w)
{
    for (int i = 0; i < WIDTH; i++) to[i] = (uint8_t)w[i];
}

/* --- 64-bit numbers --- */

/* Returns the 64-bit products of the lower 32 bits of each lane of v with factor. */
static inline longs multiply_lower(longs v, uint32_t factor)
{
    return (v & 0xffffffffu) * factor;
}

/* --- sums of lanes, and the numbers that are not zero --- */

static inline float sum_lanes(vector v)
{
    return (v[0] + v[2]) + (v[1] + v[3]);
}

static inline int64_t put_nonzero(float *to, int32_t *place, vector v, int32_t first)
{
    int64_t n = 0;
    for (int i = 0; i < WIDTH; i++) {
        to[n] = v[i];
        place[n] = first + i;
        n += v[i] != 0;
    }
    return n;
}

/* --- doubles, as many as fill a vector --- */

static inline doubles widen_floats(const float *from)
{
    return (doubles){(double)from[0], (double)from[1]};
}

static inline doubles multiply_add_doubles(doubles a, doubles b, doubles c)
{
    return a * b + c;
}

static inline doubles choose_doubles(double_lanes where, doubles v, doubles otherwise)
{
    return (doubles)(((double_lanes)v & where) | ((double_lanes)otherwise & ~where));
}

static inline doubles rectify_doubles(doubles v)
{
    return (doubles)((double_lanes)v & ~(double_lanes)(v < (doubles){0}));
}

static inline doubles smaller_doubles(doubles a, doubles b)
{
    return choose_doubles((double_lanes)(a < b), a, b);
}

static inline doubles larger_doubles(doubles a, doubles b)
{
    return choose_doubles((double_lanes)(a > b), a, b);
}

static inline double_lanes above_doubles(doubles a, doubles b)
{
    return (double_lanes)(a > b);
}

static inline double_lanes at_least_doubles(doubles a, doubles b)
{
    return (double_lanes)(a >= b);
}

static inline double_lanes equal_doubles(doubles a, doubles b)
{
    return (double_lanes)(a == b);
}

static inline bits bits_of_doubles(double_lanes where)
{
    return (bits)((where[0] & 1) | (where[1] & 2));
}

static inline doubles lower_pairs(doubles a, doubles b)
{
    return __builtin_shufflevector(a, b, 0, 2);
}

static inline doubles upper_pairs(doubles a, doubles b)
{
    return __builtin_shufflevector(a, b, 1, 3);
}

static inline double fold_doubles(doubles v)
{
    return v[0] + v[1];
}

/* --- transposing a square of numbers --- */

static inline void transpose(vector v[WIDTH])
{
    vector t[WIDTH];
    for (int i = 0; i < WIDTH; i++) t[i] = (vector){v[0][i], v[1][i], v[2][i], v[3][i]};
    for (int i = 0; i < WIDTH; i++) v[i] = t[i];
}

#endif
