/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c: time from clock_gettime. Sleeps go on after a signal until their time is over. */
#include "clock.h"

#include <errno.h>
#include <time.h>

int64_t tutti_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double tutti_clock_thread_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
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
    if (!(seconds > 0)) return;
    int64_t end = tutti_clock_ns() + (int64_t)(seconds * 1e9);
    struct timespec t = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
}
