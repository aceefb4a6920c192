/* SPDX-License-Identifier: Apache-2.0 */
/* processor.h: the name and caches of this processor, so that figures measured on one processor are not used on
 * another. Threads: one at a time. */
#ifndef TUTTI_BASE_PROCESSOR_H
#define TUTTI_BASE_PROCESSOR_H

#include <stdint.h>

enum { TUTTI_PROCESSOR_NAME = 128, TUTTI_PROCESSOR_LEVELS = 3 };

typedef struct {
    /* "AuthenticAMD 25.17.1 AMD EPYC": maker; family, model and stepping; and the name that the processor gives itself.
     * Other processors have the name that the system gives them ("ARM 0x41 0xd40 1"); "unknown" if it gives none. One
     * line, words separated by one blank. */
    char name[TUTTI_PROCESSOR_NAME];
    /* bytes of the data caches of levels 1, 2, 3 of core 0; 0 = none or unknown */
    int64_t cache[TUTTI_PROCESSOR_LEVELS];
} tutti_processor;

/* Reads /proc/cpuinfo and sysfs. root: put in front of both paths, "" for this machine. */
void tutti_processor_read(const char *root, tutti_processor *out);

#endif
