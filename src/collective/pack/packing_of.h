/* SPDX-License-Identifier: Apache-2.0 */
/* packing_of.h: which trees a topology gets: its links as a network, and a packing whose edges travel as the topology routes.
 *
 * Where links between ranks (NVLinks, a torus) join all ranks, trees are packed into those. Over several servers (hosts of a
 * cluster, several DGX-1) a tree joins local trees, one a server, by one hop between their roots: three phases (after Blink).
 * Elsewhere bytes go through switches, which the topology routes, not we: then every rank is the root of a one-hop tree over all
 * others, all equally heavy (after Blink on DGX-2): the algorithm `direct`, in chunks. Threads: shared. */
#ifndef TUTTI_PACKING_OF_H
#define TUTTI_PACKING_OF_H

#include "packers.h"
#include "tutti/topology.h"

/* All links of a topology, or those between two ranks only; capacities in bytes/s. TUTTI_ERR_USAGE: a host has no links to
 * pack into, or there is no room for nranks. */
tutti_status tutti_network_of(const tutti_topology *t, int32_t nranks, bool direct_only, tutti_network *out,
                              tutti_failure *err);

/* What trees are packed for. A broadcast or a reduction to `root` gets trees from there. At most `loss` of the rate (0 .. 0.5) is given
 * for having fewer trees. */
typedef struct {
    tutti_packing_use use;
    int32_t root;
    double loss;
} tutti_packing_wish;

/* By the greedy choice, so that every rank that asks has the same trees. shares_only (may be NULL): it is not the first
 * case; then weights are shares, and there is no bound. */
tutti_status tutti_packing_of(const tutti_topology *t, int32_t nranks, const tutti_packing_wish *wish,
                              tutti_packing *out, bool *shares_only, tutti_failure *err);

/* One tree, the ranks in their order from root 0 (allreduce), or from the root both ways: for wires whose links are shared by many ways, such
 * as PCIe, where neighbours in number are neighbours. *rate: bytes/s that every way of the tree carries at once on this channel, in both
 * directions for an allreduce. nranks fit t, a network. */
void tutti_packing_chain(const tutti_topology *t, int32_t nranks, int32_t channel, const tutti_packing_wish *wish,
                         tutti_packing *out, double *rate);

#endif
