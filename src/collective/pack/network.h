/* SPDX-License-Identifier: Apache-2.0 */
/* network.h: a directed graph with whole capacities: which node can send to which, and how much.
 *
 * Nodes 0 .. nranks - 1 are the ranks, nranks .. nnodes - 1 the switches, which pass bytes on and neither copy nor add.
 * Between two nodes there is at most one arc each way. The caller chooses the unit of capacities (a topology: bytes/s;
 * a list of NVLinks: links). Capacities stay below TUTTI_NETWORK_MAX_CAPACITY, so that sums and small multiples of them
 * are exact.
 *
 * Threads: one at a time, and any once built. */
#ifndef TUTTI_NETWORK_H
#define TUTTI_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/failure.h"

#define TUTTI_NETWORK_MAX_CAPACITY ((int64_t)1 << 44)

typedef struct {
    int32_t src, dst;
    int64_t capacity;
} tutti_arc;

typedef struct {
    int32_t nranks, nnodes, narcs;
    tutti_arc *arcs;
    int32_t arcs_capacity; /* number of arcs that there is room for */
} tutti_network;

void tutti_network_init(tutti_network *g, int32_t nranks, int32_t nnodes);
void tutti_network_release(tutti_network *g);
/* Adds capacity from src to dst: an existing arc grows. Zero adds nothing. */
void tutti_network_add(tutti_network *g, int32_t src, int32_t dst, int64_t capacity);
void tutti_network_add_both(tutti_network *g, int32_t a, int32_t b, int64_t capacity);
/* Returns the number of the arc, -1 = none. O(arcs). */
int32_t tutti_network_find(const tutti_network *g, int32_t src, int32_t dst);
int64_t tutti_network_capacity(const tutti_network *g, int32_t src, int32_t dst); /* returns 0 if there is no arc */
/* Makes the network of the ranks ranks[0 .. n-1], renumbered 0 .. n-1, all switches, and the arcs between them. */
void tutti_network_subset(const tutti_network *g, const int32_t *ranks, int32_t n, tutti_network *out);
/* Returns true if every rank reaches every other one. */
bool tutti_network_connected(const tutti_network *g);
/* Returns the greatest number that divides every capacity (1 without arcs). */
int64_t tutti_network_unit(const tutti_network *g);

#endif
