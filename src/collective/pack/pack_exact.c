/* SPDX-License-Identifier: Apache-2.0 */
/* pack_exact.c: packs directed trees that reach the bound, grown arc by arc.
 *
 * At the bound a/b, capacities times b are whole numbers, and every root has a whole number of trees. Unfinished trees
 * with the same nodes are one entry: their node set R and their number m. All can be finished if and only if for every
 * node set X the capacity into X is at least the number of trees without a node in X (Edmonds 1973; for several roots
 * Frank). The number of trees of entry 1 that may take the arc (x, y), x in R1 and y not, is
 *   min(m1, c(x, y), maxflow(x, y) - sum of the other m),
 * where in the flow each other entry is a node of its own: an arc of capacity m leads to it from x, and arcs lead from
 * it to all of R (Berczi and Frank; ForestColl). If that number is less than m1, entry 1 splits in two. Arcs near the
 * root are tried first, for shallow trees. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "maxflow.h"
#include "pack_impl.h"

typedef struct {
    int32_t root, nreached;
    int64_t many;
    int32_t *chosen; /* route into each node; -1: the node is the root or not reached */
    int32_t *depth;  /* depth of each node in the tree; -1 = not reached */
} growing;

typedef struct {
    tutti_ways w;
    growing *trees;
    int32_t ntrees, capacity;
} forest;

static void add_tree(forest *f, int32_t root, int64_t many)
{
    size_t bytes = (size_t)f->w.nranks * sizeof(int32_t);
    f->trees = tutti_grow(f->trees, f->ntrees, &f->capacity, sizeof *f->trees);
    growing *t = &f->trees[f->ntrees++];
    *t = (growing){root, 1, many, tutti_alloc(bytes), tutti_alloc(bytes)};
    for (int32_t v = 0; v < f->w.nranks; v++) t->chosen[v] = -1, t->depth[v] = v == root ? 0 : -1;
}

/* Moves `many` of an entry's trees into a new entry. */
static void divide(forest *f, int32_t tree, int64_t many)
{
    size_t bytes = (size_t)f->w.nranks * sizeof(int32_t);
    add_tree(f, f->trees[tree].root, many);
    growing *old = &f->trees[tree], *made = &f->trees[f->ntrees - 1];
    memcpy(made->chosen, old->chosen, bytes);
    memcpy(made->depth, old->depth, bytes);
    made->nreached = old->nreached;
    old->many -= many;
}

/* Returns how many of an entry's trees may take this route between two nodes. */
static int64_t allowed(const forest *f, int32_t tree, int32_t way)
{
    const tutti_packing_way *e = &f->w.ways[way];
    int32_t n = f->w.nranks;
    int64_t others = 0, most = f->trees[tree].many < e->capacity ? f->trees[tree].many : e->capacity;
    tutti_maxflow *flow = tutti_maxflow_create(n + f->ntrees);
    for (int32_t i = 0; i < f->w.nways; i++)
        if (f->w.ways[i].capacity) tutti_maxflow_arc(flow, f->w.ways[i].src, f->w.ways[i].dst, f->w.ways[i].capacity);
    for (int32_t i = 0; i < f->ntrees; i++) {
        const growing *t = &f->trees[i];
        if (i == tree || t->nreached == n) continue;
        others += t->many;
        tutti_maxflow_arc(flow, e->src, n + i, t->many);
        for (int32_t v = 0; v < n; v++)
            if (t->depth[v] >= 0) tutti_maxflow_arc(flow, n + i, v, TUTTI_MAXFLOW_UNBOUNDED);
    }
    int64_t spare = tutti_maxflow_solve(flow, e->src, e->dst, others + most) - others;
    tutti_maxflow_destroy(flow);
    return spare < most ? spare : most;
}

/* Returns the next route that the tree takes, near the root first, wide before narrow, and how many copies take it. */
static int32_t next_way(const forest *f, int32_t tree, int64_t *many)
{
    const growing *t = &f->trees[tree];
    bool *tried = tutti_alloc((size_t)(f->w.nways + 1) * sizeof *tried);
    int32_t best = -1;
    *many = 0;
    while (*many < t->many) {
        int32_t way = -1;
        for (int32_t i = 0; i < f->w.nways; i++) {
            const tutti_packing_way *e = &f->w.ways[i], *now = way < 0 ? NULL : &f->w.ways[way];
            if (tried[i] || !e->capacity || t->depth[e->src] < 0 || t->depth[e->dst] >= 0) continue;
            bool nearer = !now || t->depth[e->src] < t->depth[now->src];
            if (nearer || (t->depth[e->src] == t->depth[now->src] && e->capacity > now->capacity)) way = i;
        }
        if (way < 0) break;
        tried[way] = true;
        int64_t may = allowed(f, tree, way);
        if (may > *many) *many = may, best = way;
    }
    free(tried);
    return best;
}

static void grow(forest *f)
{
    for (int32_t tree = 0; tree < f->ntrees; tree++)
        while (f->trees[tree].nreached < f->w.nranks) {
            int64_t many;
            int32_t way = next_way(f, tree, &many);
            assert(way >= 0 && many > 0); /* by the theorem above (Edmonds 1973) some route is allowed, because the
                                           * trees' demands could be met so far */
            if (many < f->trees[tree].many) divide(f, tree, f->trees[tree].many - many);
            growing *t = &f->trees[tree];
            tutti_packing_way *e = &f->w.ways[way];
            t->chosen[e->dst] = way, t->depth[e->dst] = t->depth[e->src] + 1, t->nreached++;
            e->capacity -= many;
        }
}

/* Sets the rate of the trees of each root, in units of the greatest number that divides all capacities, and which ranks
 * are roots. */
static tutti_ratio demands(const tutti_network *g, const tutti_packing *made, int64_t *demand)
{
    bool all = made->use != TUTTI_PACKING_BROADCAST;
    int64_t unit = tutti_network_unit(g), ways = made->use == TUTTI_PACKING_ALLREDUCE ? 2 : 1;
    tutti_ratio share = tutti_ratio_of(made->bound.num * ways, made->bound.den * unit * (all ? g->nranks : 1));
    for (int32_t r = 0; r < g->nranks; r++) demand[r] = all || r == made->root ? share.num : 0;
    return share;
}

/* Packs the trees of an all-gather in one direction; an allreduce uses the same trees, both ways, at half the rate. */
static tutti_status pack_directed(const tutti_network *g, tutti_packing *made, tutti_failure *err)
{
    int64_t *demand = tutti_alloc((size_t)g->nranks * sizeof *demand), unit = tutti_network_unit(g);
    tutti_ratio share = demands(g, made, demand);
    forest f = {0};
    tutti_status st = tutti_ways_split(g, (tutti_ratio){share.den, unit}, demand, &f.w, err);
    if (st == TUTTI_OK) {
        made->unit = tutti_ratio_of(unit, share.den * (made->use == TUTTI_PACKING_ALLREDUCE ? 2 : 1));
        for (int32_t r = 0; r < g->nranks; r++)
            if (demand[r]) add_tree(&f, r, demand[r]);
        grow(&f);
        for (int32_t i = 0; i < f.ntrees; i++)
            tutti_ways_tree(&f.w, f.trees[i].chosen, f.trees[i].root, f.trees[i].many, made);
        tutti_packing_tidy(made);
    }
    for (int32_t i = 0; i < f.ntrees; i++) free(f.trees[i].chosen), free(f.trees[i].depth);
    free(f.trees);
    tutti_ways_release(&f.w);
    free(demand);
    return st;
}

/* Returns true if each arc has an equal one back, as an allreduce needs: its reduce-scatter goes against the arcs of
 * the all-gather. */
static bool symmetric(const tutti_network *g)
{
    for (int32_t i = 0; i < g->narcs; i++)
        if (tutti_network_capacity(g, g->arcs[i].dst, g->arcs[i].src) != g->arcs[i].capacity) return false;
    return true;
}

tutti_status tutti_packing_can_span(const tutti_network *g, int32_t root, tutti_failure *err)
{
    if (root < 0 || root >= g->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "root %d: ranks are 0 to %d", root, g->nranks - 1);
    if (!tutti_network_connected(g))
        return tutti_fail(err, TUTTI_ERR_USAGE, "the network is not connected: no tree spans it");
    return TUTTI_OK;
}

tutti_status tutti_packing_exact(const tutti_network *g, tutti_packing_use use, int32_t root, tutti_packing *out,
                                 tutti_failure *err)
{
    bool both = use == TUTTI_PACKING_ALLREDUCE, switches = g->nnodes > g->nranks;
    tutti_packing made;
    tutti_status st = tutti_packing_can_span(g, root, err);
    if (st != TUTTI_OK) return st;
    if (both && switches && !symmetric(g))
        return tutti_fail(err, TUTTI_ERR_USAGE, "an allreduce through switches needs links that are as wide both ways");
    tutti_packing_init(&made, use, g);
    made.root = root;
    made.bound = tutti_packing_bound(g, use, root);
    if (g->nranks > 1) st = both && !switches ? tutti_packing_union(g, &made, err) : pack_directed(g, &made, err);
    if (st == TUTTI_OK)
        *out = made;
    else
        tutti_packing_release(&made);
    return st;
}
