/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_impl.h: messages and local work of a schedule, collected part by part; private to src/collective/simulate.
 *
 * Parts are generated one at a time and given back, so a ring of 1,024 ranks costs its messages (2 million, 24 bytes
 * each), not its steps. */
#ifndef TUTTI_SIMULATE_IMPL_H
#define TUTTI_SIMULATE_IMPL_H

#include "simulate.h"

typedef struct {
    int32_t stage, src, dst, channel;
    int64_t bytes;
} tutti_flow;

/* Local work of one rank in one stage. */
typedef struct {
    double core_s;   /* alone on its core, data in cache */
    double traffic;  /* bytes read and written */
    double recall_s; /* more, while the lines lie in private caches: calling them back */
    int32_t sent, received;
} tutti_work;

typedef struct {
    int32_t nranks, nstages;
    int32_t nseen; /* parts that were looked at, of ranks 0 ..; those of all others are the same, so many ranks further
                * on */
    bool by_bits;  /* further on: xor */
    int64_t
        unit; /* so many elements that all slices of parts that were looked at, and their paths, are whole; 0: it is too
               * large */
    int32_t npaths;    /* flows a message */
    tutti_flow *flows; /* sorted by stage */
    int64_t nflows, room;
    tutti_work *work; /* [stage * nseen + rank] */
    uint8_t *waits;   /* a stage: somebody waits or receives in it */
    int64_t nmessages;
    double footprint; /* bytes of all buffers of all ranks, every bank */
} tutti_traffic;

/* nseen: the schedule's ranks, or as many as tutti_traffic_alike says. */
void tutti_traffic_collect(const tutti_schedule *s, const tutti_topology *t, int64_t n, int32_t nseen,
                           tutti_traffic *out);
/* How many ranks, from 0 on, say what all do if all slices are of one size: those of a host, or one, of a schedule
 * whose row rotates; else all. */
int32_t tutti_traffic_alike(const tutti_schedule *s);
/* The rank that is to rank `way * nseen` what r is to rank 0. */
static inline int32_t tutti_traffic_further(const tutti_traffic *traffic, int32_t r, int64_t way)
{
    const int64_t by = way * traffic->nseen;
    return (int32_t)(traffic->by_bits ? r ^ by : (r + by) % traffic->nranks);
}
void tutti_traffic_release(tutti_traffic *traffic);

/* Can such a schedule be simulated there at all? TUTTI_ERR_USAGE says why not. */
tutti_status tutti_simulate_fits(const tutti_schedule_header *head, const tutti_topology *t, tutti_failure *err);

/* Flows that start together and have max-min fair shares of the links. */
typedef struct {
    double end_s;                           /* when the last one ends */
    double most_latency_s, least_latency_s; /* of their routes */
    int32_t fan_in;                         /* of a stage: tutti_simulation.fan_in */
} tutti_filled;
/* load[link] += bytes. */
tutti_filled tutti_rounds_fill(const tutti_topology *t, const tutti_fabric *net, const tutti_flow *flows,
                               int64_t nflows, double *load);

/* Stages that move the same, or whose flows all ranks further on are the same, are solved once (stages.c). */
typedef struct {
    int64_t begin, end; /* flows of the first such stage that there is */
    int32_t times;      /* stages */
    tutti_filled filled;
    double *load; /* bytes of one such stage on each link; NULL: nobody asked */
} tutti_stage_kind;
typedef struct {
    int32_t *kind; /* a stage; -1: nothing moves in it */
    tutti_stage_kind *kinds;
    int32_t nkinds;
} tutti_stages;
/* Solves all kinds, with the loads of each where links are shaped; load[link] += bytes of all stages. TUTTI_ERR_USAGE:
 * more messages at a time than can be looked at. */
tutti_status tutti_stages_solve(const tutti_traffic *traffic, const tutti_topology *t, const tutti_fabric *net,
                                double *load, tutti_stages *out, tutti_failure *err);
void tutti_stages_release(tutti_stages *stages);

/* What the ranks do themselves in a stage. */
typedef struct {
    int32_t messages; /* that one rank sends, or receives: its core handles one after the other */
    double most_s;    /* work of the busiest */
} tutti_stage_work;
tutti_stage_work tutti_stage_work_of(const tutti_traffic *traffic, int32_t stage);

/* What of a simulation is whose multiple: lower_s is the largest of the first, wait + link, and work. */
typedef struct {
    double least_s, wait_s, link_s, work_s;
    struct tutti_token_buckets *buckets; /* the caller's; NULL: wires. What they save is not taken off yet */
} tutti_lower;
/* As tutti_simulate_schedule, from the parts of nseen ranks; it has looked at whether the schedule fits. out_unit: of
 * the traffic. */
tutti_status tutti_simulate_seen(const tutti_playing *p, int32_t nseen, tutti_simulation *out, tutti_lower *lower,
                                 tutti_traffic *traffic, tutti_failure *err);

#endif
