/* SPDX-License-Identifier: Apache-2.0 */
/* packing.c: builds packings and computes their totals. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/divisor.h"
#include "packing.h"

const char *tutti_packing_use_name(tutti_packing_use use)
{
    static const char *const names[] = {"broadcast", "allreduce", "all-gather"};
    static_assert(sizeof names / sizeof *names == TUTTI_NPACKING_USES, "a name for each use, in their order");
    return names[use];
}

tutti_ratio tutti_ratio_of(int64_t num, int64_t den)
{
    assert(num >= 0 && den >= 1);
    int64_t common = tutti_common_divisor(num, den);
    return (tutti_ratio){num / common, den / common};
}

void tutti_packing_init(tutti_packing *p, tutti_packing_use use, const tutti_network *g)
{
    *p = (tutti_packing){.use = use, .nranks = g->nranks, .nnodes = g->nnodes, .unit = {1, 1}, .bound = {0, 1}};
}

void tutti_packing_release(tutti_packing *p)
{
    free(p->trees), free(p->edges), free(p->via);
    *p = (tutti_packing){0};
}

void tutti_packing_tree(tutti_packing *p, int32_t root, int64_t weight)
{
    assert(p->nedges == p->ntrees * (p->nranks - 1));
    p->trees = tutti_grow(p->trees, p->ntrees, &p->trees_capacity, sizeof *p->trees);
    p->trees[p->ntrees++] = (tutti_packed_tree){root, weight, p->nedges};
}

void tutti_packing_edge(tutti_packing *p, int32_t src, int32_t dst, const int32_t *via, int32_t nvia)
{
    p->edges = tutti_grow(p->edges, p->nedges, &p->edges_capacity, sizeof *p->edges);
    p->edges[p->nedges++] = (tutti_tree_edge){src, dst, p->nvia, nvia};
    for (int32_t i = 0; i < nvia; i++) {
        p->via = tutti_grow(p->via, p->nvia, &p->via_capacity, sizeof *p->via);
        p->via[p->nvia++] = via[i];
    }
}

void tutti_packing_copy(tutti_packing *p, const tutti_packing *from, int32_t tree, int64_t weight)
{
    const tutti_packed_tree *t = &from->trees[tree];
    tutti_packing_tree(p, t->root, weight);
    for (int32_t k = 0; k < from->nranks - 1; k++) {
        const tutti_tree_edge *e = &from->edges[t->first_edge + k];
        tutti_packing_edge(p, e->src, e->dst, e->nvia ? from->via + e->first_via : NULL, e->nvia);
    }
}

static bool same_edge(const tutti_packing *p, const tutti_tree_edge *a, const tutti_tree_edge *b)
{
    return a->src == b->src && a->dst == b->dst && a->nvia == b->nvia &&
           (!a->nvia || !memcmp(p->via + a->first_via, p->via + b->first_via, (size_t)a->nvia * sizeof *p->via));
}

/* Returns true if the trees have the same edges, in any order. */
static bool same_tree(const tutti_packing *p, const tutti_packed_tree *a, const tutti_packed_tree *b)
{
    if (a->root != b->root) return false;
    for (int32_t i = 0; i < p->nranks - 1; i++) {
        bool found = false;
        for (int32_t j = 0; j < p->nranks - 1 && !found; j++)
            found = same_edge(p, &p->edges[a->first_edge + i], &p->edges[b->first_edge + j]);
        if (!found) return false;
    }
    return true;
}

static int heavier_first(const void *a, const void *b)
{
    const tutti_packed_tree *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return x->first_edge < y->first_edge ? -1 : 1;
}

void tutti_packing_tidy(tutti_packing *p)
{
    tutti_packing tidy = *p;
    int32_t n = 0;
    for (int32_t i = 0; i < p->ntrees; i++) {
        int32_t same = 0;
        while (same < n && !same_tree(p, &p->trees[same], &p->trees[i])) same++;
        if (same < n)
            p->trees[same].weight += p->trees[i].weight;
        else if (p->trees[i].weight)
            p->trees[n++] = p->trees[i];
    }
    if (n) qsort(p->trees, (size_t)n, sizeof *p->trees, heavier_first);
    tidy.trees = NULL, tidy.edges = NULL, tidy.via = NULL;
    tidy.ntrees = tidy.nedges = tidy.nvia = tidy.trees_capacity = tidy.edges_capacity = tidy.via_capacity = 0;
    for (int32_t i = 0; i < n; i++) tutti_packing_copy(&tidy, p, i, p->trees[i].weight);
    tutti_packing_release(p);
    *p = tidy;
}

int64_t tutti_packing_weight(const tutti_packing *p)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < p->ntrees; i++) sum += p->trees[i].weight;
    return sum;
}

double tutti_packing_rate(const tutti_packing *p)
{
    return (double)tutti_packing_weight(p) * tutti_ratio_value(p->unit);
}

double tutti_packing_gap(const tutti_packing *p)
{
    int64_t rate, bound; /* the packing's rate and its bound as whole numbers: both are multiplied by the bound's and
                          * the unit's denominators */
    bool passes = __builtin_mul_overflow(tutti_packing_weight(p), p->unit.num, &rate) ||
                  __builtin_mul_overflow(rate, p->bound.den, &rate) ||
                  __builtin_mul_overflow(p->bound.num, p->unit.den, &bound);
    if (!p->bound.num || (!passes && rate == bound)) return 0;
    return 1 - tutti_packing_rate(p) / tutti_ratio_value(p->bound);
}

int32_t tutti_packing_depth(const tutti_packing *p)
{
    int32_t *depth = tutti_alloc((size_t)p->nranks * sizeof *depth), deepest = 0;
    for (int32_t i = 0; i < p->ntrees; i++) {
        depth[p->trees[i].root] = 0;
        for (int32_t k = 0; k < p->nranks - 1; k++) {
            const tutti_tree_edge *e = &p->edges[p->trees[i].first_edge + k];
            depth[e->dst] = depth[e->src] + 1;
            if (depth[e->dst] > deepest) deepest = depth[e->dst];
        }
    }
    free(depth);
    return deepest;
}
