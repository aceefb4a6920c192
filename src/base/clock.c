/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c: reads the clocks by clock_gettime, sleeps, and writes times as words. A sleep that a signal interrupts
 * continues until its time is over. */
#include "clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
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

tutti_time_text tutti_time_words(double seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    tutti_time_text out = {"-"};
    int unit = 0;
    if (seconds == 0) return (tutti_time_text){"0 s"};
    if (!isfinite(seconds)) return out;
    /* takes the next unit from 999.95 on, because four digits would show 1000 */
    while (unit < 3 && fabs(seconds) / units[unit].seconds >= 999.95) unit++;
    const double value = seconds / units[unit].seconds, size = fabs(value);
    const int digits = size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0;
    snprintf(out.text, sizeof out.text, size < 1e6 ? "%.*f %s" : "%.*g %s", size < 1e6 ? digits : 4, value,
             units[unit].name);
    return out;
}
