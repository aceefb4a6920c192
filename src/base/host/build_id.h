/* SPDX-License-Identifier: Apache-2.0 */
/* build_id.h: the identity of this build of the program, which all ranks compare when they join. Threads: shared. */
#ifndef TUTTI_BASE_BUILD_ID_H
#define TUTTI_BASE_BUILD_ID_H

#include <stdint.h>

/* A number that two builds of the program, or of this library beside it, do not share: from the linker's build ids,
 * which are in memory; where a build has none, from the bytes of the program's file. 0 = cannot be known. */
uint64_t tutti_build_id(void);

#endif
