/* SPDX-License-Identifier: Apache-2.0 */
/* actor_writer.h: a schedule on a network as a problem for actors (actor_problem.h), written as it is made: what is
 * held is tables of lines and routes, not steps. Private to src/collective/simulate. Threads: owner. */
#ifndef TUTTI_ACTOR_WRITER_H
#define TUTTI_ACTOR_WRITER_H

#include <stdio.h>

#include "../simulate.h"
#include "actor_problem.h"

typedef struct {
    bool tcp;              /* SimGrid's model of it */
    const double *late_s;  /* of each rank: it does nothing before; NULL: nobody is late */
    int64_t most_messages; /* more are refused */
} tutti_actor_options;
/* Into an empty file (that can go back to its beginning), the caller's. TUTTI_ERR_USAGE: more than most_messages;
 * TUTTI_ERR_FAILED: it cannot be written. */
tutti_status tutti_actor_write(const tutti_schedule *s, const tutti_topology *t, int64_t n,
                               const tutti_actor_options *o, FILE *file, tutti_failure *err);

#endif
