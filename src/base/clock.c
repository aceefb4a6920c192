/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c: the system's clocks. */
#include "clock.h"

#include <time.h>

int64_t tutti_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double tutti_clock_s(void)
{
    return (double)tutti_clock_ns() * 1e-9;
}

double tutti_clock_wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void tutti_clock_sleep_s(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0) {
    }
}
