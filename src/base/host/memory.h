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
/* Returns TUTTI_ERR_FAILED, with both numbers in its words, if `nbytes` is more than the memory left. what: names the
 * data, "the rows"; remedy: "use more ranks". A few MB are never refused. */
tutti_status tutti_memory_check(int64_t nbytes, const char *what, const char *remedy, tutti_failure *err);

#endif
