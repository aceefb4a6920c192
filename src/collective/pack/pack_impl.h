/* SPDX-License-Identifier: Apache-2.0 */
/* pack_impl.h: declarations that the packers share: routes between ranks without switches, light trees. Private to
 * collective/pack. Threads: one at a time. */
#ifndef TUTTI_PACK_IMPL_H
#define TUTTI_PACK_IMPL_H

#include "packers.h"

/* Returns TUTTI_ERR_USAGE if there is no such root, or no tree spans the network. */
tutti_status tutti_packing_can_span(const tutti_network *g, int32_t root, tutti_failure *err);

/* Routes from rank to rank, each with a capacity of its own: an arc, or a piece of arcs that splitting led through
 * switches. */
typedef struct {
    int32_t src, dst;
    int64_t capacity;
    int32_t first_via, nvia;
} tutti_packing_way;
typedef struct {
    int32_t nranks, nways, nvia;
    tutti_packing_way *ways;
    int32_t *via;
    int32_t ways_capacity, via_capacity;
} tutti_ways;
void tutti_ways_release(tutti_ways *w);

/* Removes switches by splitting: u > w > t becomes u > t. Capacities are those of g times num / den, which must be
 * whole numbers. demand[r] is the rate that the trees of rank r must carry to all ranks. Splitting keeps this true:
 * from a source s that is joined to each rank r with capacity demand[r], a flow of the sum of all demands reaches every
 * rank. This is always possible at a switch whose arcs carry as much out as in (Mader; Bang-Jensen, Frank and Jackson;
 * used so by ForestColl). For other switches it returns TUTTI_ERR_USAGE. */
tutti_status tutti_ways_split(const tutti_network *g, tutti_ratio scale, const int64_t *demand, tutti_ways *out,
                              tutti_failure *err);

/* Finds the lightest arborescence from root (Chu and Liu 1965; Edmonds 1967). chosen[v] is the way that reaches v,
 * chosen[root] = -1. False: some rank is not reached. */
bool tutti_light_arborescence(const tutti_ways *w, const double *length, int32_t root, int32_t *chosen);
/* Finds the lightest spanning tree of a symmetric graph (Prim), rooted at root; length(u, v) = length(v, u). */
bool tutti_light_tree(const tutti_ways *w, const double *length, int32_t root, int32_t *chosen);

/* Adds the tree that `chosen` describes to a packing. */
void tutti_ways_tree(const tutti_ways *w, const int32_t *chosen, int32_t root, int64_t weight, tutti_packing *out);

/* The load of each tree on each link for a unit of weight, and the capacities of the links. */
typedef struct {
    int32_t ntrees, nlinks;
    int64_t *load; /* load of each tree on each link: ntrees x nlinks numbers */
    double *room;
} tutti_tree_loads;
/* Returns the greatest rate that the trees with use[i] carry together; x: their weights, few of which are not 0. */
double tutti_most_carried(const tutti_tree_loads *l, const bool *use, double *x);

/* Makes an exact packing of rate made->bound for an allreduce without switches; fills unit and trees. Refused if all
 * links together have more than 600 units, of the size of the greatest common divisor / the bound's denominator. */
tutti_status tutti_packing_union(const tutti_network *g, tutti_packing *made, tutti_failure *err);

/* Packs exactly if the links have few enough units for that (tutti_packing_union), else by weights; then chooses fewer
 * trees, greedily. */
tutti_status tutti_packing_of_links(const tutti_network *g, tutti_packing_use use, int32_t root, double loss,
                                    tutti_packing *out, tutti_failure *err);
/* Adds trees over several servers to a packing that has none; its use and root are set. server_of: a number for each
 * rank, equal for the ranks of a server; g: direct links. Weights count equal pieces of the vector (servers.c), and
 * there is no bound. */
tutti_status tutti_packing_of_servers(const tutti_network *g, const int32_t *server_of, double loss, tutti_packing *out,
                                      tutti_failure *err);

#endif
