/* SPDX-License-Identifier: Apache-2.0 */
/* fake_demand.h: what the environment demands of the fake card and of the fake libraries beside it: settings, failures, ends. Each of them has its
 * own copy of this. Threads: owner, who holds its library's lock. */
#ifndef FAKE_DEMAND_H
#define FAKE_DEMAND_H

#include <stdarg.h>

/* The number that the environment has under the name; `otherwise` where it has none. */
int fake_setting(const char *name, int otherwise);
/* Counts a call of this name. The code that TUTTI_FAKE_CUDA_FAIL lets it fail with, `otherwise` where it names none; 0: the call goes on. */
int fake_failure_of(const char *name, int otherwise);
/* One line "fake LIBRARY: ..." on stderr; ends the process with 97 unless TUTTI_FAKE_CUDA_FATAL=0. */
void fake_say(const char *library, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

#endif
