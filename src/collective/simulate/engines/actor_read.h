/* SPDX-License-Identifier: Apache-2.0 */
/* actor_read.h: the file of a problem as arrays. Threads: owner. */
#ifndef TUTTI_ACTOR_READ_H
#define TUTTI_ACTOR_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "actor_problem.h"

/* Arrays lie in the bytes. False: why says what is wrong with them; every index of a problem that was read is in its
 * range. */
bool tutti_actor_read(const void *bytes, size_t nbytes, tutti_actor_problem *out, char why[200]);

#endif
