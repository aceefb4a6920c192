/* SPDX-License-Identifier: Apache-2.0 */
/* unique.h: a number that no other process draws. The number tells runs and processes of several hosts apart. Threads:
 * any. */
#ifndef TUTTI_BASE_UNIQUE_H
#define TUTTI_BASE_UNIQUE_H

#include <stdint.h>

/* Returns 64 random bits of the system. If it has none, returns bits of the time and of the process number. Such a
 * number is no secret and never part of a computation. */
uint64_t tutti_unique_number(void);

#endif
