/* SPDX-License-Identifier: Apache-2.0 */
/* maxflow.h: max-flow: the greatest flow from one node to another, and the cut that stops it. Dinic's algorithm on
 * int64 capacities: O(n^2 m) at worst, far less on graphs of links. A solver is built once and asked many times;
 * capacities may change between questions. Threads: one at a time. */
#ifndef TUTTI_MAXFLOW_H
#define TUTTI_MAXFLOW_H

#include "network.h"

/* More than any sum of capacities of a network; for arcs that never limit a flow. */
#define TUTTI_MAXFLOW_UNBOUNDED ((int64_t)1 << 60)

typedef struct tutti_maxflow tutti_maxflow;
tutti_maxflow *tutti_maxflow_create(int32_t nnodes);
/* Makes a solver. The network's arcs are arcs 0 .. narcs - 1; `more` extra nodes follow its own. */
tutti_maxflow *tutti_maxflow_of(const tutti_network *g, int32_t more);
void tutti_maxflow_destroy(tutti_maxflow *f); /* NULL is accepted */

/* Adds an arc and returns its number: 0, 1, ... */
int32_t tutti_maxflow_arc(tutti_maxflow *f, int32_t src, int32_t dst, int64_t capacity);
void tutti_maxflow_set(tutti_maxflow *f, int32_t arc, int64_t capacity);

/* Returns the flow, computed from zero. Stops at `limit`, for callers that only ask whether a flow of that size exists.
 * source != sink. */
int64_t tutti_maxflow_solve(tutti_maxflow *f, int32_t source, int32_t sink, int64_t limit);
/* Details of the last answer: the flow over an arc; and, if the flow is below its limit, the nodes on the source's side
 * of a least cut (the smallest such side). */
int64_t tutti_maxflow_on(const tutti_maxflow *f, int32_t arc);
void tutti_maxflow_cut(const tutti_maxflow *f, bool *source_side);

/* Returns min over v of the flow from root to v: the rate that a broadcast can reach (Edmonds 1973). */
int64_t tutti_maxflow_broadcast(const tutti_network *g, int32_t root);

#endif
