/* SPDX-License-Identifier: Apache-2.0 */
/* squares.h: exact sums of squares: the bits do not depend on the order, the slices or the number of ranks.
 *
 * A square of an f32 is a whole multiple of 2^-298 below 2^256, so a sum of 2^40 squares is a whole number of 594 bits.
 * The sum is kept in limbs of 32 bits, each in an i64 with room for the carries of 2^31 partial sums. Adding limb by
 * limb is exact. So if the slices of a vector lie on different ranks, an allreduce of i64 gives the vector's norm
 * exactly, wherever the slices begin.
 *
 * Cost: about a nanosecond an element (test_squares bounds it; ./dev bench update measures it beside the update that
 * uses it). Threads: any (pure functions). */
#ifndef TUTTI_SQUARES_H
#define TUTTI_SQUARES_H

#include <stdbool.h>
#include <stdint.h>

enum { TUTTI_SQUARES_LIMBS = 20 };

/* Adds the squares of n numbers to the limbs. Returns false if any of them is not finite; such numbers add nothing. */
bool tutti_squares_add(const float *x, int64_t n, int64_t limbs[TUTTI_SQUARES_LIMBS]);
/* Returns the sum as a double (relative error below 2^-52). The result depends on the sum alone, not on how the limbs
 * hold it. */
double tutti_squares_value(const int64_t limbs[TUTTI_SQUARES_LIMBS]);

#endif
