/* SPDX-License-Identifier: Apache-2.0 */
/* light_tree.c: lightest arborescences and spanning trees, on the few nodes that machines have.
 *
 * Chu and Liu, Edmonds: every node takes its lightest incoming arc. A circle among these arcs becomes one node; an arc
 * into it costs its length minus that of the arc that it would replace. The solution of the smaller graph breaks each
 * circle at one node. */
#include <math.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "pack_impl.h"

typedef struct {
    int32_t src, dst, origin; /* the arrow leads from src to dst; origin: index of its arrow in the larger graph */
    double length;
} arrow;

/* Sets lightest[v] to the lightest arrow into v; false: some node has none. */
static bool choose_lightest(const arrow *a, int32_t m, int32_t n, int32_t root, int32_t *lightest)
{
    for (int32_t v = 0; v < n; v++) lightest[v] = -1;
    for (int32_t i = 0; i < m; i++) {
        int32_t v = a[i].dst;
        if (v == root || a[i].src == v) continue;
        if (lightest[v] < 0 || a[i].length < a[lightest[v]].length) lightest[v] = i;
    }
    for (int32_t v = 0; v < n; v++)
        if (v != root && lightest[v] < 0) return false;
    return true;
}

/* Numbers nodes anew, each circle as one; returns the new number of nodes. */
static int32_t contract(const arrow *a, const int32_t *lightest, int32_t n, int32_t root, int32_t *number, bool *circle)
{
    int32_t *seen = tutti_alloc((size_t)n * sizeof *seen), next = 0;
    for (int32_t v = 0; v < n; v++) number[v] = seen[v] = -1, circle[v] = false;
    for (int32_t v = 0; v < n; v++) {
        int32_t u = v;
        while (u != root && seen[u] < 0 && number[u] < 0) seen[u] = v, u = a[lightest[u]].src;
        if (u == root || number[u] >= 0 || seen[u] != v) continue;
        for (int32_t x = u; number[x] < 0; x = a[lightest[x]].src) number[x] = next, circle[x] = true;
        next++;
    }
    for (int32_t v = 0; v < n; v++)
        if (number[v] < 0) number[v] = next++;
    free(seen);
    return next;
}

/* Sets take[i], false at first, for each arrow i of the arborescence. */
static bool solve(const arrow *a, int32_t m, int32_t n, int32_t root, bool *take)
{
    int32_t *lightest = tutti_alloc((size_t)n * sizeof *lightest), *number = tutti_alloc((size_t)n * sizeof *number);
    bool *circle = tutti_alloc((size_t)n * sizeof *circle), *entered = tutti_alloc((size_t)n * sizeof *entered);
    bool ok = choose_lightest(a, m, n, root, lightest);
    int32_t fewer = ok ? contract(a, lightest, n, root, number, circle) : n;
    if (ok && fewer < n) {
        arrow *b = tutti_alloc((size_t)m * sizeof *b);
        bool *below = tutti_alloc((size_t)m * sizeof *below);
        int32_t k = 0;
        for (int32_t i = 0; i < m; i++) {
            if (number[a[i].src] == number[a[i].dst] || a[i].dst == root) continue;
            double less = circle[a[i].dst] ? a[lightest[a[i].dst]].length : 0;
            b[k++] = (arrow){number[a[i].src], number[a[i].dst], i, a[i].length - less};
        }
        ok = solve(b, k, fewer, number[root], below);
        for (int32_t j = 0; j < k && ok; j++)
            if (below[j]) take[b[j].origin] = entered[a[b[j].origin].dst] = true;
        free(b), free(below);
    }
    /* takes the lightest arrow of every node of a circle, except the node at which `below` enters it; without circles,
     * of every node */
    for (int32_t v = 0; v < n && ok; v++)
        if (v != root && !entered[v] && (circle[v] || fewer == n)) take[lightest[v]] = true;
    free(lightest), free(number), free(circle), free(entered);
    return ok;
}

bool tutti_light_arborescence(const tutti_ways *w, const double *length, int32_t root, int32_t *chosen)
{
    arrow *a = tutti_alloc((size_t)(w->nways + 1) * sizeof *a);
    bool *take = tutti_alloc((size_t)(w->nways + 1) * sizeof *take);
    for (int32_t i = 0; i < w->nways; i++) a[i] = (arrow){w->ways[i].src, w->ways[i].dst, i, length[i]};
    bool ok = solve(a, w->nways, w->nranks, root, take);
    chosen[root] = -1;
    for (int32_t i = 0; i < w->nways && ok; i++)
        if (take[i]) chosen[w->ways[i].dst] = i;
    free(a), free(take);
    return ok;
}

bool tutti_light_tree(const tutti_ways *w, const double *length, int32_t root, int32_t *chosen)
{
    bool *in = tutti_alloc((size_t)w->nranks * sizeof *in), ok = true;
    for (int32_t v = 0; v < w->nranks; v++) in[v] = v == root, chosen[v] = -1;
    for (int32_t n = 1; n < w->nranks && ok; n++) {
        int32_t best = -1;
        for (int32_t i = 0; i < w->nways; i++)
            if (in[w->ways[i].src] && !in[w->ways[i].dst] && (best < 0 || length[i] < length[best])) best = i;
        ok = best >= 0;
        if (ok) in[w->ways[best].dst] = true, chosen[w->ways[best].dst] = best;
    }
    free(in);
    return ok;
}
