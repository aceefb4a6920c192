/* SPDX-License-Identifier: Apache-2.0 */
/* maxflow.h: max-flow: the greatest flow from one node to another, and the cut that stops it. Dinic's algorithm on
 * int64 capacities: O(n^2 m) at worst, far less on graphs of links. A solver is built once and asked many times;
 * capacities may change between questions. Threads: owner. */
#ifndef TUTTI_MAXFLOW_H
#define TUTTI_MAXFLOW_H

#include "network.h"

/* More than any sum of capacities of a network; for arcs that never bind. */
#define TUTTI_MAXFLOW_UNBOUNDED ((int64_t)1 << 60)

typedef struct tutti_maxflow tutti_maxflow;
tutti_maxflow *tutti_maxflow_create(int32_t nnodes);
/* The network's arcs are arcs 0 .. narcs - 1; `more` nodes stand behind its own. */
tutti_maxflow *tutti_maxflow_of(const tutti_network *g, int32_t more);
void tutti_maxflow_destroy(tutti_maxflow *f); /* NULL is accepted */

/* Number of the new arc: 0, 1, ... */
int32_t tutti_maxflow_arc(tutti_maxflow *f, int32_t src, int32_t dst, int64_t capacity);
void tutti_maxflow_set(tutti_maxflow *f, int32_t arc, int64_t capacity);

/* Starts from no flow. Stops at `limit`: who only asks whether there is that much passes it. source != sink. */
int64_t tutti_maxflow_solve(tutti_maxflow *f, int32_t source, int32_t sink, int64_t limit);
/* Of the last answer: what runs over an arc; and, if it is below its limit, the nodes on the source's side of a least
 * cut (the smallest such side). */
int64_t tutti_maxflow_on(const tutti_maxflow *f, int32_t arc);
void tutti_maxflow_cut(const tutti_maxflow *f, bool *source_side);

/* min over v of the flow from root to v: what a broadcast can carry (Edmonds 1973). */
int64_t tutti_maxflow_broadcast(const tutti_network *g, int32_t root);

#endif
