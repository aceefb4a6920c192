/* SPDX-License-Identifier: Apache-2.0 */
/* actor_read.h: reads the file of a problem (actor_problem.h) as arrays. Threads: one at a time. */
#ifndef TUTTI_ACTOR_READ_H
#define TUTTI_ACTOR_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "actor_problem.h"

/* Makes the arrays, which lie in the given bytes. False: `why` says what is wrong with the bytes. In a problem that was
 * read every index is in its range. */
bool tutti_actor_read(const void *bytes, size_t nbytes, tutti_actor_problem *out, char why[200]);

#endif
