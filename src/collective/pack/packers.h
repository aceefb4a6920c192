/* SPDX-License-Identifier: Apache-2.0 */
/* packers.h: makes packings: the bounds, the fractional and the exact way, and the one with few trees.
 *
 *   bound      exact, by max-flow; nothing packed for that use carries more.
 *   weights    multiplicative weights: light trees again and again, links that are used become heavy (Garg and Koenemann; after
 *              Blink). Close to the bound, many trees.
 *   exact      equal to the bound. Directed: arborescences grown by max-flow (Edmonds 1973; Berczi and Frank; after ForestColl),
 *              switches removed by splitting. Allreduce without switches: spanning trees by matroid union (Edmonds 1965).
 *   fewest     out of given trees the fewest that carry (1 - loss) of the rate: an integer program, for a solver that is a
 *              program of its own (cbc), never linked; without it a greedy choice of ours.
 * Refusals are TUTTI_ERR_USAGE and say what would do. Threads: shared. */
#ifndef TUTTI_PACKERS_H
#define TUTTI_PACKERS_H

#include "packing.h"

/* Of a connected network. root: of a broadcast. Allreduce with switches: half the all-gather's bound, since trees of both
 * phases share the links; the truth may lie higher. */
tutti_ratio tutti_packing_bound(const tutti_network *g, tutti_packing_use use, int32_t root);
/* min over partitions P of the ranks of c(dP) / (|P| - 1), links as strong as their weaker direction; switches count as
 * nodes. part (may be NULL) gets the number of each node's class in a partition that attains it. */
tutti_ratio tutti_packing_strength(const tutti_network *g, int32_t *part);

/* accuracy: stops at (1 - accuracy) of the bound, e.g. 0.005. All-gather is not served, nor is allreduce with switches. */
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

#endif
