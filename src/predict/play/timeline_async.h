/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_async.h: predicts plans whose workers take steps of their own. Threads: any (pure functions). */
#ifndef TUTTI_TIMELINE_ASYNC_H
#define TUTTI_TIMELINE_ASYNC_H

#include "action_cost.h"
#include "tutti/predict.h"

typedef struct {
    tutti_action_costs costs;
    bool overlaps; /* true if exchanges overlap with computing: on a network, not on a host */
    double turns;  /* number of ranks that take turns on a core */
} tutti_async_timeline;

/* Predicts workers that take steps of their own. load_s: seconds of loading for each worker and step. The workers must
 * fit t; slowness: timeline.h. */
void tutti_timeline_async(const tutti_async_timeline *p, double load_s, const tutti_topology *t, const double *slowness,
                          tutti_prediction *out);

#endif
