/* SPDX-License-Identifier: Apache-2.0 */
/* cuts.h: rates at which bytes can cross between parts of a network: least cuts, the rate out of a set of ranks, and
 * the rates at which all ranks, or one rank, can receive from all the others. Capacities are bytes/s, rounded to whole
 * numbers.
 *
 * Exact up to TUTTI_CUTS_MAX_RANKS ranks. Above, only the links of single ranks and groups count, which can make a
 * bound weaker but never wrong. Threads: one at a time. */
#ifndef TUTTI_CUTS_H
#define TUTTI_CUTS_H

#include "../../pack/maxflow.h"
#include "tutti/topology.h"

enum { TUTTI_CUTS_MAX_RANKS = 256 };

typedef struct {
    const tutti_topology *topology; /* the network's topology, which the caller owns */
    tutti_fabric net;
    int64_t unit; /* greatest number that divides every capacity */
    bool exact;   /* true if there are few enough ranks for max-flows */
} tutti_cuts;

/* A set of nodes and the rate that can leave it. */
typedef struct {
    double bytes_per_s;
    bool *side; /* for each node: true if the set holds it */
} tutti_cut;

/* Returns false on a host. Release a filled value; release also accepts a zeroed one. */
bool tutti_cuts_init(const tutti_topology *t, int32_t nranks, tutti_cuts *out);
void tutti_cuts_release(tutti_cuts *cuts);

/* out: returns the least cut out of a set of nodes that holds `root` and lacks some rank; else the least cut into such
 * a set. */
tutti_cut tutti_cuts_from(const tutti_cuts *cuts, int32_t root, bool out);
/* Returns the least cut of all sets that split the ranks, in both directions. */
tutti_cut tutti_cuts_least(const tutti_cuts *cuts);
/* Returns the most bytes/s that can go from the ranks with part[r] == which to the others. */
double tutti_cuts_leaving(const tutti_cuts *cuts, const int32_t *part, int32_t which);
/* Finds the greatest x, in bytes/s, such that each rank can send x to all ranks (to = -1) or to rank `to` at once;
 * reversed: links are turned round, so that rank `to` (or each rank) sends x to every rank. Returns the cut that limits
 * x: x = its bytes_per_s / its number of ranks. */
tutti_cut tutti_cuts_gather(const tutti_cuts *cuts, int32_t to, bool reversed);
/* Writes " (gpu0>gpu1, ...)": links that leave the cut, or enter it, as many as there is room for; "" if none. */
void tutti_cut_links(const tutti_cuts *cuts, const tutti_cut *cut, bool in, char *out, size_t room);
int32_t tutti_cut_nranks(const tutti_cuts *cuts, const tutti_cut *cut);

#endif
