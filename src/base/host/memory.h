/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: the memory that is left, so that work which needs more is refused before any of it is done. Linux grants
 * memory that it does not have, and kills the process when it touches that memory. Threads: shared. */
#ifndef TUTTI_BASE_MEMORY_H
#define TUTTI_BASE_MEMORY_H

#include <stdint.h>

#include "tutti/failure.h"

/* Returns the bytes that this process can still get, by the system's own estimate: memory that is free or can be freed,
 * swap, and the rest of the tightest control group's limit and of RLIMIT_AS. INT64_MAX = unknown. */
int64_t tutti_memory_left(void);
int64_t tutti_memory_left_of_groups(const char *root); /* returns what the control groups alone leave; root: see
                                                        * control_group.h */
/* Returns how many processes of the control groups around this one the kernel has killed because memory had run out; 0
 * if it does not say. root: as above. */
int64_t tutti_memory_kills(const char *root);
/* TUTTI_ERR_FAILED, with both numbers, if `nbytes` is more than what is left. what: "the rows"; remedy: "use more
 * ranks". A few MB are never refused. */
tutti_status tutti_memory_check(int64_t nbytes, const char *what, const char *remedy, tutti_failure *err);

#endif
