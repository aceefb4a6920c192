/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: monotonic and wall time, deadlines, and times as words. Deadlines use the monotonic clock, so jumps of the
 * wall clock do not matter. Threads: any. */
#ifndef TUTTI_BASE_CLOCK_H
#define TUTTI_BASE_CLOCK_H

#include <stdint.h>

int64_t tutti_clock_ns(void); /* returns the nanoseconds of CLOCK_MONOTONIC */
double tutti_clock_s(void);
/* seconds of processor time of the calling thread; time in which its core ran other threads does not count */
double tutti_clock_thread_s(void);
double tutti_clock_wall_s(void); /* seconds since 1970, only to be shown to people */
void tutti_clock_sleep_s(double seconds);

/* A time as text for people, with four digits and a fitting unit: "148.8 ms", "37.92 us", "0 s"; "-" for NaN. Files and
 * JSON use seconds. */
typedef struct {
    char text[16];
} tutti_time_text;
tutti_time_text tutti_time_words(double seconds);

#endif
