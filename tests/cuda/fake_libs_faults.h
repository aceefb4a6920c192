/* SPDX-License-Identifier: Apache-2.0 */
/* fake_libs_faults.h: a fault in a process of its own, with fresh fake libraries, and what they say of it. */
#ifndef TESTS_FAKE_LIBS_FAULTS_H
#define TESTS_FAKE_LIBS_FAULTS_H

#include "fake_child.h"
#include "fake_libs_rig.h"

/* The case `what` looks at statuses itself. Its report has the words; words NULL: nothing may be reported. */
static inline void must_say(void (*what)(void), const char *words)
{
    char said[4096];
    setenv("TUTTI_FAKE_CUDA_FATAL", "0", 1);
    const int counted = run_in_child(libraries_open, what, said, sizeof said);
    if (counted || (words ? !strstr(said, words) : said[0])) fail_msg("code %d: %s", counted, said);
    unsetenv("TUTTI_FAKE_CUDA_FATAL");
    if (!words) return;
    const int fatal = run_in_child(libraries_open, what, said, sizeof said);
    if (fatal != REPORTED || !strstr(said, words)) fail_msg("code %d: %s", fatal, said);
}

#endif
