/* SPDX-License-Identifier: Apache-2.0 */
/* processor.h: the name and caches of this processor, so that figures measured on one processor are not used on
 * another. Threads: owner. */
#ifndef TUTTI_BASE_PROCESSOR_H
#define TUTTI_BASE_PROCESSOR_H

#include <stdint.h>

enum { TUTTI_PROCESSOR_NAME = 128, TUTTI_PROCESSOR_LEVELS = 3 };

typedef struct {
    /* "AuthenticAMD 25.17.1 AMD EPYC": maker, family, model and stepping, the name that it gives itself; what else the
     * system says where it says that ("ARM 0x41 0xd40 1"); "unknown" where nothing. One line, words apart by one
     * blank. */
    char name[TUTTI_PROCESSOR_NAME];
    int64_t cache
        [TUTTI_PROCESSOR_LEVELS]; /* bytes of data of levels 1, 2, 3 as core 0 sees them; 0 = there is none, or nobody
                                   * says */
} tutti_processor;

/* Reads /proc/cpuinfo and sysfs. root: in front of both, "" for this machine. */
void tutti_processor_read(const char *root, tutti_processor *out);

#endif
