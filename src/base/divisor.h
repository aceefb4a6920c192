/* SPDX-License-Identifier: Apache-2.0 */
/* divisor.h: the greatest common divisor of two whole numbers. Threads: shared. */
#ifndef TUTTI_BASE_DIVISOR_H
#define TUTTI_BASE_DIVISOR_H

#include <stdint.h>

/* The greatest common divisor of a, b >= 0; of a and 0: a. */
static inline int64_t tutti_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

#endif
