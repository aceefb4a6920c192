/* SPDX-License-Identifier: Apache-2.0 */
/* step_costs.h: predicts what the messages of a step cost on a topology, if no plan says how they travel.
 *
 *   allreduce[:ALGORITHM]  the fastest algorithm of each size, or the given one, at its best parameters if none are
 *                          given: simulated as the chooser does
 *   ps[:S]                 allreduce:ps,servers=S: S of the ranks keep 1/S of every message each; default: as many as
 *                          hosts with ranks
 *
 * Sizes grow by a factor of four from the smallest message to all bytes; between two sizes, costs lie on a straight
 * line. Threads: any (pure functions). */
#ifndef TUTTI_STEP_COSTS_H
#define TUTTI_STEP_COSTS_H

#include "../training/plan/merge.h"
#include "tutti/topology.h"
#include "tutti/types.h"

enum { TUTTI_STEP_NAME = 96 };

typedef struct {
    bool has_servers;
    int servers;                     /* number of parameter servers; 0 means one for each host with ranks */
    char algorithm[TUTTI_STEP_NAME]; /* algorithm of the exchanges; "" means the fastest */
} tutti_step_exchange;
/* Reads an exchange. TUTTI_ERR_USAGE if it is unknown, or if there is no such algorithm. */
tutti_status tutti_step_exchange_read(const char *text, tutti_step_exchange *out, tutti_failure *err);

typedef struct {
    tutti_exchange_cost cost;
    char smallest[TUTTI_STEP_NAME], whole[TUTTI_STEP_NAME]; /* the algorithm that is used for the smallest message, and
                                                             * the one for all bytes at once */
    char bottleneck[32];                                    /* the busiest link when all bytes travel at once; "" if
                                                             * nothing moves */
} tutti_step_costs;
/* The messages of a step: bytes of the smallest message and of all together; 1 <= smallest <= total. */
typedef struct {
    int64_t smallest, total;
} tutti_message_bytes;
/* Predicts the costs between at least two ranks. TUTTI_ERR_USAGE if the topology has no room, or if no algorithm is
 * possible. Cost: every schedule at up to 16 sizes; beyond 64 ranks one size, and lines for the others
 * (collective/simulate/events/flows.h). */
tutti_status tutti_step_costs_of(const tutti_step_exchange *x, const tutti_topology *t, int nranks,
                                 tutti_message_bytes bytes, tutti_step_costs *out, tutti_failure *err);

#endif
