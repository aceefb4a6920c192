/* SPDX-License-Identifier: Apache-2.0 */
/* serve.h: rank 0's threads that stand in for workers of other hosts. Threads: one at a time for each group. */
#ifndef TUTTI_SERVE_H
#define TUTTI_SERVE_H

#include "../step/step.h"

typedef struct tutti_serve tutti_serve;

/* Creates the threads. They play in the memories of s, as its visits say; *out stays NULL, and nothing is done, if no
 * worker is on another host. */
tutti_status tutti_serve_create(const tutti_stepping *s, tutti_serve **out, tutti_failure *err);
void tutti_serve_destroy(tutti_serve *serve); /* call it before the visits are destroyed */
void tutti_serve_open(tutti_serve *serve);    /* lets the threads continue, when a stop was opened */
/* All ranks have come to the stop: waits until the threads rest, also those whose workers are gone. */
tutti_status tutti_serve_rest(tutti_serve *serve, tutti_group *group, tutti_failure *err);
/* Returns the nanoseconds that the thread of that worker has spent on this cost part; call it when all have met. 0:
 * there is no such thread. */
int64_t tutti_serve_spent(const tutti_serve *serve, int worker, tutti_cost_part part);

#endif
