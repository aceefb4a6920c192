/* SPDX-License-Identifier: Apache-2.0 */
/* pack_bound.c: the greatest rate that trees packed into a network can have, exactly.
 *
 * Spanning trees of rate a/b fit if and only if b c(dP) >= a (|P| - 1) for every partition P of the nodes, where c(dP)
 * is the capacity between P's classes. With g(S) = b c(dS) - 2a for a set S, twice the slack of P is the sum of g over
 * its classes, plus 2a. The least such sum is the maximum of y(V) under y(S) <= g(S) for all S; a greedy algorithm
 * finds it with one cut for each node (Dilworth's truncation; Cunningham 1985; Barahona 1992). A violated partition
 * gives the next, smaller rate (Dinkelbach), until none is violated. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "maxflow.h"
#include "packers.h"

/* Returns the smaller of the capacities in the two directions. */
static int64_t both(const tutti_network *g, int32_t u, int32_t v)
{
    int64_t a = tutti_network_capacity(g, u, v), b = tutti_network_capacity(g, v, u);
    return a < b ? a : b;
}

/* One step of the greedy algorithm above: returns the minimum of g(S) - y(S without v) over the sets S that contain v
 * and are within {0..v}; side: the minimal set. Nodes above v are one node with the sink. */
static int64_t least_over_sets(const int64_t *c, int32_t n, int32_t v, const int64_t *y, tutti_ratio rate, bool *side)
{
    tutti_maxflow *f = tutti_maxflow_create(v + 2);
    int64_t constant = 0;
    for (int32_t u = 0; u <= v; u++) {
        int64_t out = 0;
        for (int32_t w = v + 1; w < n; w++) out += c[u * n + w];
        out *= rate.den;
        if (u < v && y[u] < 0) out -= y[u];
        if (u < v && y[u] > 0) tutti_maxflow_arc(f, v, u, y[u]), constant += y[u];
        if (out) tutti_maxflow_arc(f, u, v + 1, out);
        for (int32_t w = 0; w <= v; w++)
            if (w != u && c[u * n + w]) tutti_maxflow_arc(f, u, w, c[u * n + w] * rate.den);
    }
    int64_t cut = tutti_maxflow_solve(f, v, v + 1, TUTTI_MAXFLOW_UNBOUNDED);
    tutti_maxflow_cut(f, side);
    tutti_maxflow_destroy(f);
    return cut - constant - 2 * rate.num;
}

/* Sets `part` to the partition with the least sum of g over its classes. */
static void least_partition(const int64_t *c, int32_t n, tutti_ratio rate, int32_t *part)
{
    int64_t *y = tutti_alloc((size_t)n * sizeof *y);
    bool *side = tutti_alloc((size_t)(n + 1) * sizeof *side), *joined = tutti_alloc((size_t)n * sizeof *joined);
    for (int32_t v = 0; v < n; v++) {
        y[v] = least_over_sets(c, n, v, y, rate, side);
        part[v] = v;
        memset(joined, 0, (size_t)n * sizeof *joined);
        for (int32_t u = 0; u <= v; u++)
            /* the union of two tight sets with a common node is tight, so their classes are joined */
            if (side[u]) joined[part[u]] = true;
        for (int32_t u = 0; u <= v; u++)
            if (joined[part[u]]) part[u] = v;
    }
    free(y), free(side), free(joined);
}

/* Sets *cut to the capacity between the classes of the partition `part`, and *classes to the number of classes. */
static void value_of(const int64_t *c, int32_t n, const int32_t *part, int64_t *cut, int64_t *classes)
{
    *cut = *classes = 0;
    for (int32_t u = 0; u < n; u++) {
        bool first = true;
        for (int32_t v = 0; v < n; v++) {
            if (v < u && part[v] == part[u]) first = false;
            if (v > u && part[v] != part[u]) *cut += c[u * n + v];
        }
        *classes += first;
    }
}

tutti_ratio tutti_packing_strength(const tutti_network *g, int32_t *part)
{
    int32_t n = g->nnodes, *next = tutti_alloc((size_t)n * sizeof *next);
    int64_t *c = tutti_alloc((size_t)n * (size_t)n * sizeof *c), unit = tutti_network_unit(g), cut, classes;
    tutti_ratio rate = {0, 1};
    for (int32_t i = 0; i < g->narcs; i++)
        c[g->arcs[i].src * n + g->arcs[i].dst] = both(g, g->arcs[i].src, g->arcs[i].dst) / unit;
    for (int32_t v = 0; v < n; v++) next[v] = v;
    bool better = n > 1;
    while (better) {
        value_of(c, n, next, &cut, &classes);
        rate = tutti_ratio_of(cut, classes - 1);
        if (part) memcpy(part, next, (size_t)n * sizeof *part);
        if (!rate.num) break;
        least_partition(c, n, rate, next);
        value_of(c, n, next, &cut, &classes);
        better = classes > 1 && cut * rate.den < rate.num * (classes - 1);
    }
    free(next), free(c);
    return tutti_ratio_of(rate.num * unit, rate.den);
}

/* Computes the all-gather rate. A rate x = a/b of every rank fits if and only if the capacity out of S is at least x
 * times the number of S's ranks, for each set S that lacks a rank. The test adds a source that sends x to each rank: a
 * flow of p x must then reach every rank. If it does not, the cut that limits the rank is the next S. */
static tutti_ratio all_gather_rate(const tutti_network *g)
{
    int64_t unit = tutti_network_unit(g), cut = 0, inside;
    tutti_ratio x = {0, 1};
    bool *side = tutti_alloc((size_t)(g->nnodes + 1) * sizeof *side), better = g->nranks > 1;
    for (int32_t v = 1; v < g->nnodes; v++) side[v] = true; /* the first cut: all nodes but rank 0 */
    while (better) {
        cut = inside = 0;
        for (int32_t i = 0; i < g->narcs; i++)
            if (side[g->arcs[i].src] && !side[g->arcs[i].dst]) cut += g->arcs[i].capacity / unit;
        for (int32_t v = 0; v < g->nranks; v++) inside += side[v];
        x = tutti_ratio_of(cut, inside);
        if (!x.num) break;
        tutti_maxflow *f = tutti_maxflow_create(g->nnodes + 1);
        for (int32_t i = 0; i < g->narcs; i++)
            tutti_maxflow_arc(f, g->arcs[i].src, g->arcs[i].dst, g->arcs[i].capacity / unit * x.den);
        for (int32_t v = 0; v < g->nranks; v++) tutti_maxflow_arc(f, g->nnodes, v, x.num);
        better = false;
        for (int32_t v = 0; v < g->nranks && !better; v++)
            better = tutti_maxflow_solve(f, g->nnodes, v, g->nranks * x.num) < g->nranks * x.num;
        if (better) tutti_maxflow_cut(f, side);
        tutti_maxflow_destroy(f);
    }
    free(side);
    return tutti_ratio_of(x.num * unit, x.den);
}

tutti_ratio tutti_packing_bound(const tutti_network *g, tutti_packing_use use, int32_t root)
{
    if (use == TUTTI_PACKING_BROADCAST) return (tutti_ratio){tutti_maxflow_broadcast(g, root), 1};
    if (use == TUTTI_PACKING_ALLREDUCE && g->nnodes == g->nranks) return tutti_packing_strength(g, NULL);
    tutti_ratio x = all_gather_rate(g);
    return tutti_ratio_of(x.num * g->nranks, x.den * (use == TUTTI_PACKING_ALLREDUCE ? 2 : 1));
}
