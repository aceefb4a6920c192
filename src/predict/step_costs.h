/* SPDX-License-Identifier: Apache-2.0 */
/* step_costs.h: what the messages of a step cost on a topology, if no plan says how they travel.
 *
 *   allreduce[:ALGORITHM]  the fastest algorithm of each size, or that one, at its best parameters if none are given:
 *                          simulated as the chooser does
 *   ps[:S]                 allreduce:ps,servers=S: S of the ranks keep 1/S of every message each; default: as many as
 *                          hosts with ranks
 *
 * Sizes are a factor of four apart from the smallest message to all bytes; between them costs are straight. Threads:
 * shared (pure). */
#ifndef TUTTI_STEP_COSTS_H
#define TUTTI_STEP_COSTS_H

#include "../training/plan/merge.h"
#include "tutti/topology.h"
#include "tutti/types.h"

enum { TUTTI_STEP_NAME = 96 };

typedef struct {
    bool has_servers;
    int servers;                     /* 0: as many as hosts with ranks */
    char algorithm[TUTTI_STEP_NAME]; /* "": the fastest */
} tutti_step_exchange;
/* TUTTI_ERR_USAGE: it is none, or there is no algorithm of that name. */
tutti_status tutti_step_exchange_read(const char *text, tutti_step_exchange *out, tutti_failure *err);

typedef struct {
    tutti_exchange_cost cost;
    char smallest[TUTTI_STEP_NAME], whole[TUTTI_STEP_NAME]; /* how the smallest message and all bytes at once travel */
    char bottleneck[32];                                    /* of all bytes at once; "": nothing moves */
} tutti_step_costs;
/* Bytes of the smallest message and of all of them; 1 <= smallest <= total. */
typedef struct {
    int64_t smallest, total;
} tutti_message_bytes;
/* Two ranks or more. TUTTI_ERR_USAGE: the topology has no room, or no algorithm can. Cost: every schedule at
 * up to 16 sizes; beyond 64 ranks once, other sizes on lines (collective/simulate/events/flows.h). */
tutti_status tutti_step_costs_of(const tutti_step_exchange *x, const tutti_topology *t, int nranks,
                                 tutti_message_bytes bytes, tutti_step_costs *out, tutti_failure *err);

#endif
