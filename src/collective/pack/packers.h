/* SPDX-License-Identifier: Apache-2.0 */
/* packers.h: makes packings: bounds, fractional and exact packing, and packing with few trees.
 *
 *   bound      exact, by max-flow; no packing for that use carries more.
 *   weights    multiplicative weights: finds light trees again and again, and links that are used become heavier (Garg
 *              and Koenemann; after Blink). Close to the bound, many trees.
 *   exact      equal to the bound. Directed: arborescences grown by max-flow (Edmonds 1973; Berczi and Frank; after
 *              ForestColl), switches removed by splitting. Allreduce without switches: spanning trees by matroid union
 *              (Edmonds 1965).
 *   fewest     the fewest of given trees that carry (1 - loss) of the rate. An integer program for a solver that is a
 *              program of its own (cbc), never linked; without it our greedy choice.
 * Refusals are TUTTI_ERR_USAGE and say what would do. Threads: any. */
#ifndef TUTTI_PACKERS_H
#define TUTTI_PACKERS_H

#include "packing.h"
#include "tutti/topology.h"

/* Returns the bound of a connected network. root: the root of a broadcast. Allreduce with switches: half the
 * all-gather's bound, since trees of both phases share the links; the true bound may be higher. */
tutti_ratio tutti_packing_bound(const tutti_network *g, tutti_packing_use use, int32_t root);
/* Returns the minimum, over all partitions P of the nodes (switches included), of (capacity between P's classes) / (|P|
 * - 1). A link counts with its weaker direction. part (may be NULL) gets the number of each node's class in a partition
 * that attains it. */
tutti_ratio tutti_packing_strength(const tutti_network *g, int32_t *part);

/* Packs by weights. accuracy: stops at (1 - accuracy) of the bound, e.g. 0.005. Refuses all-gather, and allreduce with
 * switches. */
tutti_status tutti_packing_by_weights(const tutti_network *g, tutti_packing_use use, int32_t root, double accuracy,
                                      tutti_packing *out, tutti_failure *err);
tutti_status tutti_packing_exact(const tutti_network *g, tutti_packing_use use, int32_t root, tutti_packing *out,
                                 tutti_failure *err);

enum { TUTTI_FEWEST_CANDIDATES = 64 };
typedef struct {
    double loss;        /* fraction of the rate that may be lost, e.g. 0.05 */
    double limit_s;     /* time limit of the solver */
    const char *solver; /* name of the solver's program, e.g. "cbc"; NULL = the greedy choice */
} tutti_fewest_options;
typedef struct {
    bool solved;   /* true if the solver chose, false if our greedy choice did */
    bool fewest;   /* true if the solver proved that no fewer of the heaviest TUTTI_FEWEST_CANDIDATES trees are
                    * enough */
    char why[200]; /* why the solver did not choose; else "" */
} tutti_fewest_report;
/* Chooses trees of a packing. The result is never worse than the input: its trees or fewer. The bound stays. */
tutti_status tutti_packing_fewest(const tutti_network *g, const tutti_packing *from,
                                  const tutti_fewest_options *options, tutti_packing *out, tutti_fewest_report *report,
                                  tutti_failure *err);

/* Trees for a topology: its links as a network, and a packing whose edges follow the topology's routes.
 *
 * If links between ranks (NVLinks, a torus) join all ranks, trees are packed into those. Over several servers (hosts of
 * a cluster, several DGX-1) a tree joins local trees, one for each server, by one hop between their roots: three phases
 * (after Blink). Elsewhere bytes go through switches, along the topology's routes. Then every rank is the root of a
 * one-hop tree over all others, all equally heavy (after Blink on DGX-2): the algorithm `direct`, in chunks. Threads:
 * shared. */

/* Makes a network of all links of a topology, or of those between two ranks only; capacities in bytes/s.
 * TUTTI_ERR_USAGE: a host has no links to pack into, or there is no room for nranks. */
tutti_status tutti_network_of(const tutti_topology *t, int32_t nranks, bool direct_only, tutti_network *out,
                              tutti_failure *err);

/* The trees that the caller wants. A broadcast or a reduction to `root` gets trees from that root. Fewer trees may cost
 * at most `loss` of the rate (0 .. 0.5). */
typedef struct {
    tutti_packing_use use;
    int32_t root;
    double loss;
} tutti_packing_wish;

/* Makes a packing by the greedy choice, so that every rank gets the same trees. If links between ranks do not join all
 * ranks, weights are shares, and there is no bound. */
tutti_status tutti_packing_of(const tutti_topology *t, int32_t nranks, const tutti_packing_wish *wish,
                              tutti_packing *out, tutti_failure *err);

/* Makes one tree that is a chain: the ranks in their order from root 0 (allreduce), or from the root both ways. It is
 * for topologies whose links are shared by many routes, such as PCIe, where consecutive ranks are neighbours. *rate:
 * bytes/s that every edge of the tree carries at once on this channel, in both directions for an allreduce. nranks fit
 * t, a network. */
void tutti_packing_chain(const tutti_topology *t, int32_t nranks, int32_t channel, const tutti_packing_wish *wish,
                         tutti_packing *out, double *rate);

#endif
