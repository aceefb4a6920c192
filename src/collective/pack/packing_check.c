/* SPDX-License-Identifier: Apache-2.0 */
/* packing_check.c: checks a packing by its trees and the network alone. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "packing.h"

static bool add_load(const tutti_network *g, int32_t from, int32_t to, int64_t weight, int64_t *load)
{
    int32_t arc = tutti_network_find(g, from, to);
    return arc >= 0 && !__builtin_add_overflow(load[arc], weight, &load[arc]);
}

static bool load_edge(const tutti_packing *p, const tutti_network *g, const tutti_tree_edge *e, int64_t weight,
                      int64_t *load)
{
    int32_t from = e->src;
    for (int32_t h = 0; h <= e->nvia; h++) {
        int32_t to = h < e->nvia ? p->via[e->first_via + h] : e->dst;
        if (!add_load(g, from, to, weight, load)) return false;
        if (p->use == TUTTI_PACKING_ALLREDUCE && !add_load(g, to, from, weight, load)) return false;
        from = to;
    }
    return true;
}

bool tutti_packing_loads(const tutti_packing *p, const tutti_network *g, int64_t *load)
{
    memset(load, 0, (size_t)g->narcs * sizeof *load);
    for (int32_t i = 0; i < p->ntrees; i++)
        for (int32_t k = 0; k < p->nranks - 1; k++)
            if (!load_edge(p, g, &p->edges[p->trees[i].first_edge + k], p->trees[i].weight, load)) return false;
    return true;
}

static tutti_status check_tree(const tutti_packing *p, int32_t tree, bool *seen, tutti_failure *err)
{
    const tutti_packed_tree *t = &p->trees[tree];
    if (t->weight <= 0) return tutti_fail(err, TUTTI_ERR_FAILED, "tree %d carries nothing", tree);
    if (t->root < 0 || t->root >= p->nranks)
        return tutti_fail(err, TUTTI_ERR_FAILED, "tree %d has root %d, but there are %d ranks", tree, t->root,
                          p->nranks);
    if (p->use == TUTTI_PACKING_BROADCAST && t->root != p->root)
        return tutti_fail(err, TUTTI_ERR_FAILED, "tree %d begins at rank %d, but the broadcast at %d", tree, t->root,
                          p->root);
    memset(seen, 0, (size_t)p->nranks * sizeof *seen);
    seen[t->root] = true;
    for (int32_t k = 0; k < p->nranks - 1; k++) {
        const tutti_tree_edge *e = &p->edges[t->first_edge + k];
        bool ranks = e->src >= 0 && e->dst >= 0 && e->src < p->nranks && e->dst < p->nranks;
        if (!ranks || !seen[e->src] || seen[e->dst])
            return tutti_fail(err, TUTTI_ERR_FAILED, "tree %d: edge %d>%d %s", tree, e->src, e->dst,
                              !ranks         ? "does not join ranks"
                              : seen[e->dst] ? "reaches a rank a second time"
                                             : "begins where the tree has not been");
        seen[e->dst] = true;
    }
    return TUTTI_OK;
}

static tutti_status check_roots(const tutti_packing *p, tutti_failure *err)
{
    if (p->use != TUTTI_PACKING_ALL_GATHER) return TUTTI_OK;
    int64_t *sum = tutti_alloc((size_t)p->nranks * sizeof *sum);
    tutti_status st = TUTTI_OK;
    for (int32_t i = 0; i < p->ntrees; i++) sum[p->trees[i].root] += p->trees[i].weight;
    for (int32_t r = 1; r < p->nranks && st == TUTTI_OK; r++)
        if (sum[r] != sum[0])
            st = tutti_fail(err, TUTTI_ERR_FAILED, "the trees of rank 0 carry %lld units, those of rank %d %lld",
                            (long long)sum[0], r, (long long)sum[r]);
    free(sum);
    return st;
}

static tutti_status check_loads(const tutti_packing *p, const tutti_network *g, tutti_failure *err)
{
    int64_t *load = tutti_alloc((size_t)(g->narcs + 1) * sizeof *load), carried, room;
    tutti_status st = TUTTI_OK;
    if (!tutti_packing_loads(p, g, load))
        st = tutti_fail(err, TUTTI_ERR_FAILED, "a tree goes where the network has no link");
    for (int32_t i = 0; i < g->narcs && st == TUTTI_OK; i++) {
        const tutti_arc *a = &g->arcs[i];
        if (__builtin_mul_overflow(load[i], p->unit.num, &carried) ||
            __builtin_mul_overflow(a->capacity, p->unit.den, &room) || carried > room)
            st = tutti_fail(err, TUTTI_ERR_FAILED, "the link %d>%d carries %.9g of %lld", a->src, a->dst,
                            (double)load[i] * tutti_ratio_value(p->unit), (long long)a->capacity);
    }
    free(load);
    return st;
}

tutti_status tutti_packing_check(const tutti_packing *p, const tutti_network *g, tutti_failure *err)
{
    if (p->nranks != g->nranks || p->nnodes != g->nnodes)
        return tutti_fail(err, TUTTI_ERR_FAILED, "a packing of %d ranks in %d nodes, a network of %d in %d", p->nranks,
                          p->nnodes, g->nranks, g->nnodes);
    if (p->nedges != (int64_t)p->ntrees * (p->nranks - 1))
        return tutti_fail(err, TUTTI_ERR_FAILED, "%d edges for %d trees of %d ranks", p->nedges, p->ntrees, p->nranks);
    bool *seen = tutti_alloc((size_t)p->nranks * sizeof *seen);
    tutti_status st = TUTTI_OK;
    for (int32_t i = 0; i < p->ntrees && st == TUTTI_OK; i++) st = check_tree(p, i, seen, err);
    free(seen);
    if (st == TUTTI_OK) st = check_roots(p, err);
    if (st == TUTTI_OK) st = check_loads(p, g, err);
    bool strict =
        /* false: for an allreduce through switches the bound is not exact, so the rate may pass it */
        p->use != TUTTI_PACKING_ALLREDUCE || g->nnodes == g->nranks;
    if (st == TUTTI_OK && strict && tutti_packing_gap(p) < 0)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "a rate of %.9g passes the bound %.9g: the bound is wrong",
                        tutti_packing_rate(p), tutti_ratio_value(p->bound));
    return st;
}
