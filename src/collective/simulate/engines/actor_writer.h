/* SPDX-License-Identifier: Apache-2.0 */
/* actor_writer.h: writes a schedule on a network as a problem for actors (actor_problem.h), piece by piece: memory
 * holds the tables of lines and routes, not the steps. Private to src/collective/simulate. Threads: one at a time. */
#ifndef TUTTI_ACTOR_WRITER_H
#define TUTTI_ACTOR_WRITER_H

#include <stdio.h>

#include "../simulate.h"
#include "actor_problem.h"

typedef struct {
    bool tcp;              /* true: use SimGrid's model of TCP */
    const double *late_s;  /* when each rank begins; NULL: all at once */
    int64_t most_messages; /* limit of messages: a schedule with more of them is refused */
} tutti_actor_options;
/* Writes into an empty, seekable file of the caller's. TUTTI_ERR_USAGE: more than most_messages; TUTTI_ERR_FAILED: the
 * file cannot be written. */
tutti_status tutti_actor_write(const tutti_schedule *s, const tutti_topology *t, int64_t n,
                               const tutti_actor_options *o, FILE *file, tutti_failure *err);

#endif
