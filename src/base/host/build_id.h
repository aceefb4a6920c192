/* SPDX-License-Identifier: Apache-2.0 */
/* build_id.h: the identity of this build of the program, which all ranks compare when they join. Threads: any. */
#ifndef TUTTI_BASE_BUILD_ID_H
#define TUTTI_BASE_BUILD_ID_H

#include <stdint.h>

/* Returns a number that differs between any two builds of the program, or of the library beside it: from the linker's
 * build ids, which are in memory; if a build has none, from the bytes of the program's file. 0 = unknown. */
uint64_t tutti_build_id(void);

#endif
