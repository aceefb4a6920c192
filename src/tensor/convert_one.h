/* SPDX-License-Identifier: Apache-2.0 */
/* convert_one.h: converts one number of 16 bits in plain C. All vector loops give the same bits as these functions.
 *
 * bf16 is the upper half of an f32: 8 bits of exponent, 7 of mantissa. f16 is IEEE 754's binary16: 5 and 10. */
#ifndef TUTTI_CONVERT_ONE_H
#define TUTTI_CONVERT_ONE_H

#include <stdint.h>
#include <string.h>

static inline float tutti_f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t tutti_bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float tutti_f32_of_bf16(uint16_t half)
{
    return tutti_f32_of_bits((uint32_t)half << 16);
}

static inline uint16_t tutti_bf16_of_f32(float value)
{
    const uint32_t bits = tutti_bits_of_f32(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float tutti_f32_of_f16(uint16_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    if (magnitude > 0x7c00) return tutti_f32_of_bits(sign | 0x7fc00000 | (magnitude & 0x3ff) << 13);
    if (magnitude == 0x7c00) return tutti_f32_of_bits(sign | 0x7f800000);
    if (magnitude >= 0x400) return tutti_f32_of_bits(sign | ((magnitude << 13) + (112u << 23)));
    /* subnormal: the mantissa counts units of 2^-24 */
    return tutti_f32_of_bits(sign | tutti_bits_of_f32((float)magnitude * 0x1p-24f));
}

/* Returns the mantissa m without its last `drop` bits, rounded to nearest even. */
static inline uint32_t tutti_round_away(uint32_t m, uint32_t drop)
{
    return (m + (1u << (drop - 1)) - 1 + (m >> drop & 1)) >> drop;
}

static inline uint16_t tutti_f16_of_f32(float value)
{
    const uint32_t bits = tutti_bits_of_f32(value), magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    uint32_t half;
    if (magnitude > 0x7f800000) half = 0x7e00 | (magnitude >> 13 & 0x3ff);
    /* at least 65520: half way from the largest f16 to 2^16, which f16 does not have */
    else if (magnitude >= 0x477ff000)
        half = 0x7c00;
    else if (magnitude >= 0x38800000) /* at least 2^-14, the smallest normal number; a carry goes into the exponent */
        half = tutti_round_away(magnitude - (112u << 23), 13);
    else if (magnitude > 0x33000000) /* above 2^-25: more than half of the smallest subnormal number */
        half = tutti_round_away((magnitude & 0x7fffff) | 0x800000, 126 - (magnitude >> 23));
    else
        half = 0;
    return (uint16_t)(sign | half);
}

#endif
