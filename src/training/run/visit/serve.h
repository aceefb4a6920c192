/* SPDX-License-Identifier: Apache-2.0 */
/* serve.h: rank 0's threads that stand in for workers of other hosts. Threads: owner of the group. */
#ifndef TUTTI_SERVE_H
#define TUTTI_SERVE_H

#include "../step/step.h"

typedef struct tutti_serve tutti_serve;

/* They play in the memories of s, as its visits say; *out stays NULL where there is nobody to play for, and nothing is
 * done then. */
tutti_status tutti_serve_create(const tutti_stepping *s, tutti_serve **out, tutti_failure *err);
void tutti_serve_destroy(tutti_serve *serve); /* before the visits */
void tutti_serve_open(tutti_serve *serve);    /* a stop was opened: they go on */
/* All have come there: until they rest, also those whose workers are gone. */
tutti_status tutti_serve_rest(tutti_serve *serve, tutti_group *group, tutti_failure *err);
/* Nanoseconds of this part that the thread of that worker has spent; when all have met. 0: there is none. */
int64_t tutti_serve_spent(const tutti_serve *serve, int worker, tutti_cost_part part);

#endif
