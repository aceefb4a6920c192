/* SPDX-License-Identifier: Apache-2.0 */
/* squares.c: adds squares exactly. The product of two f32 is exact in a double. Its mantissa of 48 bits is added, as a
 * whole number, to the bin of its exponent. Before a bin could overflow, all bins are added to the limbs. */
#include "squares.h"

#include <math.h>
#include <string.h>

enum {
    LOWEST = 725,   /* exponent field of 2^-298 as a double */
    HIGHEST = 1279, /* the exponent field of the largest square */
    UNIT = 772,     /* the exponent field of a mantissa of 48 bits that counts units of 2^-298 */
    /* number of bins: one for each exponent, the first one for zeros, the last one for numbers that are not finite */
    NBINS = HIGHEST - LOWEST + 3,
    /* number of sets of bins; neighbouring elements go to different sets, so that no addition waits for the one
     * before */
    NSETS = 4,
    /* largest number of additions to a bin before it must be emptied, because more would overflow: 2^48 * 2^15 =
     * 2^63 */
    MOST = 1 << 15,
    LIMB_BITS = 32,
};

typedef struct {
    int64_t bin[NSETS][NBINS];
} bins;

static void add_one(bins *b, int set, float x)
{
    const double square = (double)x * (double)x;
    uint64_t bits;
    memcpy(&bits, &square, sizeof bits);
    const int64_t mantissa = (int64_t)(((bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52) >> 5);
    int at = (int)(bits >> 52) - LOWEST + 1;
    at = at < 0 ? 0 : at;
    at = at >= NBINS ? NBINS - 1 : at;
    b->bin[set][at] += mantissa;
}

/* Adds sum * 2^shift units to the limbs. */
static void add_shifted(int64_t sum, int shift, int64_t *limbs)
{
    if (shift < 0) { /* all squares in these bins are multiples of 2^-shift, so the shift loses no bit */
        sum >>= -shift;
        shift = 0;
    }
    const int at = shift / LIMB_BITS, up = shift % LIMB_BITS;
    const uint64_t low = (uint64_t)sum << up, high = up ? (uint64_t)sum >> (64 - up) : 0;
    limbs[at] += (int64_t)(low & UINT32_MAX);
    limbs[at + 1] += (int64_t)(low >> LIMB_BITS);
    limbs[at + 2] += (int64_t)high;
}

/* Empties the bins. Returns false if a number was not finite. */
static bool collect(bins *b, int64_t *limbs)
{
    bool finite = true;
    for (int s = 0; s < NSETS; s++) {
        for (int i = 1; i < NBINS - 1; i++)
            if (b->bin[s][i]) add_shifted(b->bin[s][i], i - 1 + LOWEST - UNIT, limbs);
        finite = finite && !b->bin[s][NBINS - 1];
    }
    *b = (bins){0};
    return finite;
}

/* Moves what exceeds 32 bits of each limb to the next limb. Only the last limb may then have more. */
static void carry(int64_t *limbs)
{
    for (int i = 0; i + 1 < TUTTI_SQUARES_LIMBS; i++) {
        limbs[i + 1] += limbs[i] >> LIMB_BITS;
        limbs[i] &= UINT32_MAX;
    }
}

bool tutti_squares_add(const float *x, int64_t n, int64_t limbs[TUTTI_SQUARES_LIMBS])
{
    bins b = {0};
    bool finite = true;
    for (int64_t begin = 0; begin < n; begin += MOST) {
        const int64_t end = n - begin < MOST ? n : begin + MOST;
        int64_t i = begin;
        for (; i + NSETS <= end; i += NSETS)
            for (int s = 0; s < NSETS; s++) add_one(&b, s, x[i + s]);
        for (; i < end; i++) add_one(&b, 0, x[i]);
        finite = collect(&b, limbs) && finite;
        carry(limbs);
    }
    return finite;
}

double tutti_squares_value(const int64_t limbs[TUTTI_SQUARES_LIMBS])
{
    int64_t sum[TUTTI_SQUARES_LIMBS];
    memcpy(sum, limbs, sizeof sum);
    carry(sum);
    int top = TUTTI_SQUARES_LIMBS - 1;
    while (top > 0 && !sum[top]) top--;
    /* the three limbs from `top` down are enough: they hold at least 65 bits, or the whole sum */
    const int64_t middle = top > 0 ? sum[top - 1] : 0, low = top > 1 ? sum[top - 2] : 0;
    const double high = (double)((uint64_t)sum[top] << LIMB_BITS | (uint64_t)middle);
    return ldexp(ldexp(high, LIMB_BITS) + (double)low, LIMB_BITS * (top - 2) - 298);
}
