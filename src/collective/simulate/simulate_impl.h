/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_impl.h: messages and local work of a schedule, collected part by part; private to src/collective/simulate.
 *
 * Parts are generated one at a time and given back, so a ring of 1,024 ranks costs its messages (2 million, 24 bytes each),
 * not its steps. */
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
    int32_t npaths;    /* flows a message */
    tutti_flow *flows; /* sorted by stage */
    int64_t nflows, room;
    tutti_work *work; /* [stage * nranks + rank] */
    uint8_t *waits;   /* a stage: somebody waits or receives in it */
    int64_t nmessages;
    double footprint; /* bytes of all buffers of all ranks, every bank */
} tutti_traffic;

void tutti_traffic_collect(const tutti_schedule *s, const tutti_topology *t, int64_t n, tutti_traffic *out);
void tutti_traffic_release(tutti_traffic *traffic);

/* Flows that start together and have max-min fair shares of the links. */
typedef struct {
    double end_s;                           /* when the last one ends */
    double most_latency_s, least_latency_s; /* of their routes */
} tutti_filled;
/* load[link] += bytes. */
tutti_filled tutti_rounds_fill(const tutti_topology *t, const tutti_fabric *net, const tutti_flow *flows,
                               int64_t nflows, double *load);

#endif
