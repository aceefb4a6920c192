/* SPDX-License-Identifier: Apache-2.0 */
/* fake_demand.h: what the environment demands of the fake card and of the fake libraries beside it: settings, failures,
 * ends. Each library has its own copy of this. Threads: one at a time, who holds the library's lock. */
#ifndef FAKE_DEMAND_H
#define FAKE_DEMAND_H

#include <stdarg.h>

/* Reads the number that the environment has under `name`; `otherwise` where there is none. */
int fake_setting(const char *name, int otherwise);
/* Counts a call of `name`, and says the code that TUTTI_FAKE_CUDA_FAIL lets the call fail with: `otherwise` where no
 * code is named, 0 where the call goes on. */
int fake_failure_of(const char *name, int otherwise);
/* Prints one line "fake LIBRARY: ..." on stderr, and ends the process with 97 unless TUTTI_FAKE_CUDA_FATAL=0. */
void fake_say(const char *library, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

#endif
