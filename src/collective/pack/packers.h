/* SPDX-License-Identifier: Apache-2.0 */
/* packers.h: makes packings: bounds, fractional and exact packing, and packing with few trees.
 *
 *   bound      exact, by max-flow; nothing packed for that use carries more.
 *   weights    multiplicative weights: light trees again and again, links that are used become heavy (Garg and
 *              Koenemann; after Blink). Close to the bound, many trees.
 *   exact      equal to the bound. Directed: arborescences grown by max-flow (Edmonds 1973; Berczi and Frank; after
 *              ForestColl), switches removed by splitting. Allreduce without switches: spanning trees by matroid union
 *              (Edmonds 1965).
 *   fewest     out of given trees the fewest that carry (1 - loss) of the rate: an integer program, for a solver that
 *              is a program of its own (cbc), never linked; without it a greedy choice of ours.
 * Refusals are TUTTI_ERR_USAGE and say what would do. Threads: shared. */
#ifndef TUTTI_PACKERS_H
#define TUTTI_PACKERS_H

#include "packing.h"
#include "tutti/topology.h"

/* Of a connected network. root: of a broadcast. Allreduce with switches: half the all-gather's bound, since trees of
 * both phases share the links; the truth may lie higher. */
tutti_ratio tutti_packing_bound(const tutti_network *g, tutti_packing_use use, int32_t root);
/* min over partitions P of the ranks of c(dP) / (|P| - 1), links as strong as their weaker direction; switches count as
 * nodes. part (may be NULL) gets the number of each node's class in a partition that attains it. */
tutti_ratio tutti_packing_strength(const tutti_network *g, int32_t *part);

/* accuracy: stops at (1 - accuracy) of the bound, e.g. 0.005. All-gather is not served, nor is allreduce with
 * switches. */
tutti_status tutti_packing_by_weights(const tutti_network *g, tutti_packing_use use, int32_t root, double accuracy,
                                      tutti_packing *out, tutti_failure *err);
tutti_status tutti_packing_exact(const tutti_network *g, tutti_packing_use use, int32_t root, tutti_packing *out,
                                 tutti_failure *err);

enum { TUTTI_FEWEST_CANDIDATES = 64 };
typedef struct {
    double loss;        /* of the rate, e.g. 0.05 */
    double limit_s;     /* for the solver */
    const char *solver; /* a program, e.g. "cbc"; NULL = the greedy choice */
} tutti_fewest_options;
typedef struct {
    bool solved;   /* by the solver; else by our greedy choice */
    bool fewest;   /* the solver proved that the heaviest TUTTI_FEWEST_CANDIDATES trees allow no smaller choice */
    char why[200]; /* not solved: why; else "" */
} tutti_fewest_report;
/* Never worse than the input: its trees or fewer. The bound stays. */
tutti_status tutti_packing_fewest(const tutti_network *g, const tutti_packing *from,
                                  const tutti_fewest_options *options, tutti_packing *out, tutti_fewest_report *report,
                                  tutti_failure *err);

/* Which trees a topology gets: its links as a network, and a packing whose edges travel as the topology routes.
 *
 * Where links between ranks (NVLinks, a torus) join all ranks, trees are packed into those. Over several servers (hosts
 * of a cluster, several DGX-1) a tree joins local trees, one a server, by one hop between their roots: three phases
 * (after Blink). Elsewhere bytes go through switches, which the topology routes, not we: then every rank is the root of
 * a one-hop tree over all others, all equally heavy (after Blink on DGX-2): the algorithm `direct`, in chunks. Threads:
 * shared. */

/* All links of a topology, or those between two ranks only; capacities in bytes/s. TUTTI_ERR_USAGE: a host has no links
 * to pack into, or there is no room for nranks. */
tutti_status tutti_network_of(const tutti_topology *t, int32_t nranks, bool direct_only, tutti_network *out,
                              tutti_failure *err);

/* Trees are packed for a use. A broadcast or a reduction to `root` gets trees from there. At most `loss` of the rate (0
 * .. 0.5) is given for having fewer trees. */
typedef struct {
    tutti_packing_use use;
    int32_t root;
    double loss;
} tutti_packing_wish;

/* By the greedy choice, so that every rank that asks has the same trees. In all but the first case weights are shares,
 * and there is no bound. */
tutti_status tutti_packing_of(const tutti_topology *t, int32_t nranks, const tutti_packing_wish *wish,
                              tutti_packing *out, tutti_failure *err);

/* One tree, the ranks in their order from root 0 (allreduce), or from the root both ways: for wires whose links are
 * shared by many ways, such as PCIe, where neighbours in number are neighbours. *rate: bytes/s that every way of the
 * tree carries at once on this channel, in both directions for an allreduce. nranks fit t, a network. */
void tutti_packing_chain(const tutti_topology *t, int32_t nranks, int32_t channel, const tutti_packing_wish *wish,
                         tutti_packing *out, double *rate);

#endif
