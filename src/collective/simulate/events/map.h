/* SPDX-License-Identifier: Apache-2.0 */
/* map.h: which rank sits where, so that the fullest link of each stage of a schedule carries as little as possible. Any
 * network, schedule and rank count up to TUTTI_MAX_SEATS_LISTED; reproducible: the same seed gives the same seats.
 * Threads: shared. */
#ifndef TUTTI_MAP_H
#define TUTTI_MAP_H

#include "../simulate.h"

/* What the links carry under one seating. */
typedef struct {
    double seconds;   /* sum over stages of the fullest link's bytes / its rate */
    int32_t messages; /* of one stage on one link between switches (or any, where there are none), the most */
} tutti_map_load;

typedef struct {
    uint64_t seed;
    int64_t nswaps;
    bool any_start;
} tutti_map_options;

typedef struct {
    tutti_map_load before, after;
    double
        lower_s; /* of seconds: what the busiest rank sends over the fastest seat's links, and the largest message over
                          one of them, stage by stage */
    int32_t *seat;     /* after; nranks entries, released by tutti_mapping_release */
    int64_t naccepted; /* swaps */
} tutti_mapping;

/* n elements; nswaps: how many are tried. The search begins with the topology's own placement or, with any_start, with
 * the best of all placements that its kind has; `before` is its own. TUTTI_ERR_USAGE on a host, for a schedule
 * that is not two-sided, or if the ranks do not fit. */
tutti_status tutti_map_ranks(const tutti_schedule *s, const tutti_topology *t, int64_t n,
                             const tutti_map_options *options, tutti_mapping *out, tutti_failure *err);
void tutti_mapping_release(tutti_mapping *mapping);

/* The load of a schedule as the topology seats it. */
tutti_status tutti_map_measure(const tutti_schedule *s, const tutti_topology *t, int64_t n, tutti_map_load *out,
                               tutti_failure *err);

#endif
