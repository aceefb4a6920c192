/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_impl.h: messages and local work of a schedule, collected part by part. Private to src/collective/simulate.
 *
 * Parts are generated one at a time and given back, so a ring of 1,024 ranks needs memory for its messages (2 million,
 * 24 bytes each), not for its steps. */
#ifndef TUTTI_SIMULATE_IMPL_H
#define TUTTI_SIMULATE_IMPL_H

#include "simulate.h"

typedef struct {
    int32_t stage, src, dst, channel;
    int64_t bytes;
} tutti_flow;

/* Local work of one rank in one stage. */
typedef struct {
    double core_s;   /* time of the work alone on its core, with data in cache */
    double traffic;  /* bytes that the rank reads and writes */
    double recall_s; /* extra time to fetch lines from the private caches of other cores */
    int32_t sent, received;
} tutti_work;

typedef struct {
    int32_t nranks, nstages;
    int32_t nseen;     /* number of parts that were collected, those of ranks 0 ..; the parts of all other ranks are the
                        * same, with peers and slices moved on */
    bool by_bits;      /* true: the part of another rank follows from rank 0's by xor of all rank numbers with the
                        * distance; false: by adding the distance */
    int64_t unit;      /* number of elements at which all slices of collected parts, and their paths, are whole; 0: that
                        * number is too large */
    int32_t npaths;    /* number of flows into which a message is cut */
    tutti_flow *flows; /* flows, sorted by stage */
    int64_t nflows, room;
    tutti_work *work; /* work of each rank in each stage: [stage * nseen + rank] */
    uint8_t *waits;   /* for each stage: 1 if some rank waits or receives in it */
    int64_t nmessages;
    double footprint; /* bytes of all buffers of all ranks, every bank */
} tutti_traffic;

/* Collects the traffic. nseen: the number of parts to collect: all ranks, or the number that tutti_traffic_alike
 * returns. */
void tutti_traffic_collect(const tutti_schedule *s, const tutti_topology *t, int64_t n, int32_t nseen,
                           tutti_traffic *out);
/* Returns n such that the parts of ranks 0 .. n - 1 determine those of all ranks, if all slices have one size. For an
 * algorithm that rotates, n is 1 or the number of ranks of a host; else n is the number of ranks. */
int32_t tutti_traffic_alike(const tutti_schedule *s);
/* Returns the rank that corresponds to r when rank `way * nseen` takes the place of rank 0. */
static inline int32_t tutti_traffic_further(const tutti_traffic *traffic, int32_t r, int64_t way)
{
    const int64_t by = way * traffic->nseen;
    return (int32_t)(traffic->by_bits ? r ^ by : (r + by) % traffic->nranks);
}
void tutti_traffic_release(tutti_traffic *traffic);

/* Returns TUTTI_OK if such a schedule can be simulated on the topology; TUTTI_ERR_USAGE says why not. */
tutti_status tutti_simulate_fits(const tutti_schedule_header *head, const tutti_topology *t, tutti_failure *err);

/* Flows that start together and have max-min fair shares of the links. */
typedef struct {
    double end_s;                           /* time at which the last flow ends */
    double most_latency_s, least_latency_s; /* longest and shortest latency among the flows' routes */
    int32_t fan_in;                         /* largest number of ranks that send to one host in the stage, as in
                                             * tutti_simulation */
} tutti_filled;
/* Computes the times of flows that start together; adds their bytes to load[link]. */
tutti_filled tutti_rounds_fill(const tutti_topology *t, const tutti_fabric *net, const tutti_flow *flows,
                               int64_t nflows, double *load);

/* Stages that move the same bytes, or whose flows are the same for ranks moved on by a distance, are solved once
 * (stages.c). */
typedef struct {
    int64_t begin, end; /* range of the array `flows` with the flows of the first stage of this kind */
    int32_t times;      /* number of stages of this kind */
    tutti_filled filled;
    double *load; /* bytes of one such stage on each link; NULL: not needed */
} tutti_stage_kind;
typedef struct {
    int32_t *kind; /* for each stage: number of its kind; -1: nothing moves in it */
    tutti_stage_kind *kinds;
    int32_t nkinds;
} tutti_stages;
/* Computes the times of each kind of stage, and its bytes on each link if links are shaped. Adds the bytes of all
 * stages to load[link]. TUTTI_ERR_USAGE: too many messages travel at a time. */
tutti_status tutti_stages_solve(const tutti_traffic *traffic, const tutti_topology *t, const tutti_fabric *net,
                                double *load, tutti_stages *out, tutti_failure *err);
void tutti_stages_release(tutti_stages *stages);

/* Local work of the ranks in a stage. */
typedef struct {
    int32_t messages; /* largest number of messages that one rank sends, or receives: its core handles one after the
                       * other */
    double most_s;    /* work of the busiest rank */
} tutti_stage_work;
tutti_stage_work tutti_stage_work_of(const tutti_traffic *traffic, int32_t stage);

/* The parts of a lower bound, which grow differently with the vector. The bound lower_s is the largest of three times:
 * least, wait + link, and work. */
typedef struct {
    double least_s, wait_s, link_s, work_s;
    struct tutti_token_buckets *buckets; /* owned by the caller; NULL: links are not shaped. The times beside this field
                                          * do not yet subtract what shaping saves */
} tutti_lower;
/* Simulates as tutti_simulate_schedule does, from the parts of nseen ranks. The caller has checked that the schedule
 * fits. traffic gets the collected traffic. */
tutti_status tutti_simulate_seen(const tutti_playing *p, int32_t nseen, tutti_simulation *out, tutti_lower *lower,
                                 tutti_traffic *traffic, tutti_failure *err);

#endif
