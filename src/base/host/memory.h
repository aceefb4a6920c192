/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: the memory that is left, so that work that needs more can be refused before it begins. Linux grants memory
 * that it does not have, and kills the process later, when it touches that memory. Threads: any. */
#ifndef TUTTI_BASE_MEMORY_H
#define TUTTI_BASE_MEMORY_H

#include <stdint.h>

#include "tutti/failure.h"

/* Returns the bytes that this process can still get, by the system's own estimate: memory that is free or can be freed,
 * plus swap, but not more than what the tightest control group or RLIMIT_AS still allows. INT64_MAX = unknown. */
int64_t tutti_memory_left(void);
/* returns the bytes that the control groups still allow; root: see control_group.h */
int64_t tutti_memory_left_of_groups(const char *root);
/* Returns how many processes in the control groups around this process the kernel has killed because memory had run
 * out; 0 if it does not say. root: as above. */
int64_t tutti_memory_kills(const char *root);
/* Returns TUTTI_ERR_FAILED if `nbytes` is more than the memory that is left; the message has both numbers. what: the
 * thing that needs them, such as "the rows"; remedy: such as "use more ranks". A few MB are never refused. */
tutti_status tutti_memory_check(int64_t nbytes, const char *what, const char *remedy, tutti_failure *err);

#endif
