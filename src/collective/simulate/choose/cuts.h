/* SPDX-License-Identifier: Apache-2.0 */
/* cuts.h: what can cross between parts of a network: least cuts, what leaves a set of ranks, the rates at which
 * everybody or one rank can hear all the others. Capacities are bytes/s, rounded to whole ones.
 *
 * Exact up to TUTTI_CUTS_MAX_RANKS ranks; above, only the links of single ranks and groups are looked at, which can
 * only make a bound weaker, never wrong. Threads: owner. */
#ifndef TUTTI_CUTS_H
#define TUTTI_CUTS_H

#include "../../pack/maxflow.h"
#include "tutti/topology.h"

enum { TUTTI_CUTS_MAX_RANKS = 256 };

typedef struct {
    const tutti_topology *topology; /* the caller's */
    tutti_fabric net;
    int64_t unit; /* greatest that divides every capacity */
    bool exact;   /* few enough ranks for flows */
} tutti_cuts;

/* A set of nodes and what can leave it. */
typedef struct {
    double bytes_per_s;
    bool *side; /* nnodes */
} tutti_cut;

/* False on a host. Release what was made; release accepts the zeroed one. */
bool tutti_cuts_init(const tutti_topology *t, int32_t nranks, tutti_cuts *out);
void tutti_cuts_release(tutti_cuts *cuts);

/* The least that can leave a set which holds `root` and misses a rank (out), or enter it from one (in). */
tutti_cut tutti_cuts_from(const tutti_cuts *cuts, int32_t root, bool out);
/* The least of all sets that split the ranks, in both directions. */
tutti_cut tutti_cuts_least(const tutti_cuts *cuts);
/* The most bytes/s that can go from the ranks with part[r] == which to the others. */
double tutti_cuts_leaving(const tutti_cuts *cuts, const int32_t *part, int32_t which);
/* The greatest x such that every rank can send x to all (to: -1) or to rank `to`, together; reversed: all to every
 * rank. The cut is the set that limits: x = its bytes_per_s / its number of ranks. */
tutti_cut tutti_cuts_gather(const tutti_cuts *cuts, int32_t to, bool reversed);
/* " (gpu0>gpu1, ...)": links that go out of the cut, or into it, as many as there is room for; "" if none. */
void tutti_cut_links(const tutti_cuts *cuts, const tutti_cut *cut, bool in, char *out, size_t room);
int32_t tutti_cut_nranks(const tutti_cuts *cuts, const tutti_cut *cut);

#endif
