/* SPDX-License-Identifier: Apache-2.0 */
/* unique.c: draws a number that differs from that of every other process, by getrandom. */
#include "unique.h"

#include <sys/random.h>
#include <unistd.h>

#include "../clock.h"

uint64_t tutti_unique_number(void)
{
    uint64_t number = (uint64_t)tutti_clock_ns() ^ (uint64_t)getpid() << 40;
    (void)!getrandom(&number, sizeof number, 0); /* if this fails, `number` still has the time and the process number */
    return number;
}
