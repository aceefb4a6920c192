/* SPDX-License-Identifier: Apache-2.0 */
/* divisor.h: the greatest common divisor of two whole numbers. Threads: any. */
#ifndef TUTTI_BASE_DIVISOR_H
#define TUTTI_BASE_DIVISOR_H

#include <stdint.h>

/* Returns the greatest common divisor of a and b, both >= 0. If one of them is 0, the result is the other. */
static inline int64_t tutti_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

#endif
