/* SPDX-License-Identifier: Apache-2.0 */
/* packing.h: a packing: trees packed into a network, along which a broadcast or an allreduce travels.
 *
 * Every tree spans all ranks and carries `weight` units of rate. An edge goes from parent to child, straight or through
 * switches. A packing fits when no arc of the network carries more than its capacity. Its rate is the sum of the trees'
 * weights; `bound` is a limit that no packing for this use can pass. Rate, bound and unit are in the unit of the
 * network's capacities and exact.
 *   broadcast   trees from one root, parents to children. bound: the least max-flow from the root to a rank
 *   allreduce   sums go up and results down the same tree, so an edge loads both directions. bound: the minimum over
 *               partitions P of (capacity between P's classes) / (|P| - 1) (Tutte; Nash-Williams); with switches see
 *               packers.h
 *   all-gather  trees from every rank, equal rates. bound: p times the minimum over sets S of (capacity out of S) /
 *              (ranks in S)
 * After Blink (Wang et al., MLSys 2020), which packs trees into NVLinks, and ForestColl (Zhao et al.), which packs
 * exactly. Threads: one at a time, and any once built. */
#ifndef TUTTI_PACKING_H
#define TUTTI_PACKING_H

#include <stddef.h>

#include "network.h"

typedef enum {
    TUTTI_PACKING_BROADCAST,
    TUTTI_PACKING_ALLREDUCE,
    TUTTI_PACKING_ALL_GATHER,
    TUTTI_NPACKING_USES
} tutti_packing_use;
const char *tutti_packing_use_name(tutti_packing_use use); /* returns "broadcast", "allreduce" or "all-gather" */

enum { TUTTI_PACKING_MAX_NODES = 4096 }; /* most nodes of a network that is made from a topology or read from text */

typedef struct {
    int64_t num, den; /* the number num / den, with den >= 1 and no common factor */
} tutti_ratio;
tutti_ratio tutti_ratio_of(int64_t num, int64_t den);
static inline double tutti_ratio_value(tutti_ratio r)
{
    return (double)r.num / (double)r.den;
}

typedef struct {
    int32_t src, dst;        /* ranks: the parent and the child */
    int32_t first_via, nvia; /* switches that the edge passes through: a range of packing.via */
} tutti_tree_edge;

typedef struct {
    int32_t root;
    int64_t weight;     /* rate that the tree carries, in the packing's units */
    int32_t first_edge; /* nranks - 1 edges in packing.edges, each after the edge that reaches its parent */
} tutti_packed_tree;

typedef struct {
    tutti_packing_use use;
    int32_t root; /* root of a broadcast, else 0 */
    int32_t nranks, nnodes;
    tutti_ratio unit, bound;
    tutti_packed_tree *trees;
    tutti_tree_edge *edges;
    int32_t *via;
    int32_t ntrees, nedges, nvia;
    int32_t trees_capacity, edges_capacity, via_capacity;
} tutti_packing;

void tutti_packing_init(tutti_packing *p, tutti_packing_use use, const tutti_network *g);
void tutti_packing_release(tutti_packing *p);
/* Opens a tree; the caller then adds nranks - 1 edges, parents first. */
void tutti_packing_tree(tutti_packing *p, int32_t root, int64_t weight);
void tutti_packing_edge(tutti_packing *p, int32_t src, int32_t dst, const int32_t *via, int32_t nvia);
/* Adds tree `tree` of another packing over the same network, with this weight. */
void tutti_packing_copy(tutti_packing *p, const tutti_packing *from, int32_t tree, int64_t weight);
/* Joins equal trees, drops those of weight 0, and puts the heaviest first. */
void tutti_packing_tidy(tutti_packing *p);

int64_t tutti_packing_weight(const tutti_packing *p); /* returns the sum of the weights of all trees */
double tutti_packing_rate(const tutti_packing *p);
double tutti_packing_gap(const tutti_packing *p);    /* returns 1 - rate / bound; exactly 0 if they are equal */
int32_t tutti_packing_depth(const tutti_packing *p); /* returns the number of edges on the longest path from a root
                                                      * down */
/* Computes the weight on each arc of the network. False: an edge passes between two nodes that no arc joins. */
bool tutti_packing_loads(const tutti_packing *p, const tutti_network *g, int64_t *load);

/* Checks a packing: every tree spans from its root, every hop is an arc, no arc is overloaded, the roots are right for
 * the use, the rate does not pass the bound. TUTTI_ERR_FAILED names the tree or arc and the fault. */
tutti_status tutti_packing_check(const tutti_packing *p, const tutti_network *g, tutti_failure *err);

/* Returns the text form (docs/packing.md): print(parse(print(p))) == print(p). The text is the caller's (free()). */
char *tutti_packing_print(const tutti_packing *p);
tutti_status tutti_packing_parse(const char *name, const char *text, size_t nbytes, tutti_packing *out,
                                 tutti_failure *err);

#endif
