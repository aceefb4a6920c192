/* SPDX-License-Identifier: Apache-2.0 */
/* pack_weights.c: fractional packing by multiplicative weights, after Garg and Koenemann (FOCS 1998) as Blink uses it.
 *
 * Every link has a length, 1 / capacity at first. In each step the lightest tree gets the rate that its weakest link
 * carries, and its links grow by 1 + eps * carried / capacity. The sum of all rates, divided by the worst overload, is
 * a packing. The bound is known exactly, so packing ends when the rate is near enough to it. If the rate does not come
 * near enough because eps is too coarse, packing begins again with half of eps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "pack_impl.h"

enum { MAX_TREES = 4000, LOOK_EVERY = 64 };

typedef struct {
    int32_t *chosen; /* for each rank: the route that leads to it in the current tree */
    double amount;
} light;

typedef struct {
    const tutti_ways *w;
    const int32_t *back; /* for each route, the opposite one, because allreduce loads both; else NULL */
    int32_t root;
    double *length, *load;
    light *trees;
    int32_t ntrees;
    double total;
} mixing;

static int32_t tree_number(mixing *m, const int32_t *chosen)
{
    size_t bytes = (size_t)m->w->nranks * sizeof *chosen;
    for (int32_t i = 0; i < m->ntrees; i++)
        if (!memcmp(m->trees[i].chosen, chosen, bytes)) return i;
    if (m->ntrees == MAX_TREES) return -1;
    m->trees[m->ntrees].chosen = tutti_alloc(bytes);
    memcpy(m->trees[m->ntrees].chosen, chosen, bytes);
    m->trees[m->ntrees].amount = 0;
    return m->ntrees++;
}

static void use_way(mixing *m, int32_t way, double amount, double eps)
{
    m->load[way] += amount;
    m->length[way] *= 1 + eps * amount / (double)m->w->ways[way].capacity;
}

/* Adds one tree. False: no tree connects the ranks, or there are too many trees. */
static bool step(mixing *m, double eps, int32_t *chosen)
{
    bool ok = m->back ? tutti_light_tree(m->w, m->length, m->root, chosen)
                      : tutti_light_arborescence(m->w, m->length, m->root, chosen);
    int32_t tree = ok ? tree_number(m, chosen) : -1;
    if (tree < 0) return false;
    double least = INFINITY;
    for (int32_t v = 0; v < m->w->nranks; v++)
        if (v != m->root) least = fmin(least, (double)m->w->ways[chosen[v]].capacity);
    for (int32_t v = 0; v < m->w->nranks; v++) {
        if (v == m->root) continue;
        use_way(m, chosen[v], least, eps);
        if (m->back) use_way(m, m->back[chosen[v]], least, eps);
    }
    m->trees[tree].amount += least;
    m->total += least;
    return true;
}

static double overload(const mixing *m)
{
    double worst = 0;
    for (int32_t i = 0; i < m->w->nways; i++) worst = fmax(worst, m->load[i] / (double)m->w->ways[i].capacity);
    return worst;
}

static void restart(mixing *m)
{
    for (int32_t i = 0; i < m->w->nways; i++) m->length[i] = 1 / (double)m->w->ways[i].capacity, m->load[i] = 0;
    for (int32_t i = 0; i < m->ntrees; i++) free(m->trees[i].chosen);
    m->ntrees = 0, m->total = 0;
}

/* Scales lengths, which grow without limit; only their ratios matter. */
static void rescale(mixing *m)
{
    double most = 0;
    for (int32_t i = 0; i < m->w->nways; i++) most = fmax(most, m->length[i]);
    if (most < 1e100) return;
    for (int32_t i = 0; i < m->w->nways; i++) m->length[i] = fmax(m->length[i] / most, 1e-200);
}

static bool mix(mixing *m, double wanted, int32_t *chosen)
{
    for (double eps = 0.1; eps > 1e-3; eps /= 2) {
        restart(m);
        /* about 1 / eps uses make the length of a link of capacity 1 grow by the factor e; after ln(m) / eps^2 uses of
         * each of m links the rates are near the best */
        double rounds = 4 * log((double)m->w->nways + 2) / (eps * eps) * (double)m->w->nways;
        for (double i = 1; i < rounds; i++) {
            if (!step(m, eps, chosen)) break;
            if ((int64_t)i % LOOK_EVERY) continue;
            if (m->total / overload(m) >= wanted) return true;
            rescale(m);
        }
    }
    return false;
}

/* Writes amounts as multiples of a fine unit, rounded down so that they fit. */
static void to_packing(const mixing *m, tutti_packing *out)
{
    double worst = overload(m), bound = tutti_ratio_value(out->bound);
    int64_t den = 1;
    while (bound * (double)den < (double)(1 << 22)) den *= 2;
    out->unit = (tutti_ratio){1, den};
    for (int32_t i = 0; i < m->ntrees; i++) {
        double units = m->trees[i].amount / worst * (double)den * (1 - 1e-12);
        tutti_ways_tree(m->w, m->trees[i].chosen, m->root, (int64_t)units, out);
    }
    tutti_packing_tidy(out);
}

static void symmetric_ways(const tutti_network *g, tutti_ways *w, int32_t *back)
{
    int32_t n = 0;
    for (int32_t i = 0; i < w->nways; i++) {
        int64_t a = w->ways[i].capacity, b = tutti_network_capacity(g, w->ways[i].dst, w->ways[i].src);
        if (!b) continue;
        w->ways[n] = w->ways[i];
        w->ways[n++].capacity = a < b ? a : b;
    }
    w->nways = n;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < n; k++)
            if (w->ways[k].src == w->ways[i].dst && w->ways[k].dst == w->ways[i].src) back[i] = k;
}

static tutti_status refuse(const tutti_network *g, tutti_packing_use use, int32_t root, tutti_failure *err)
{
    if (use == TUTTI_PACKING_ALL_GATHER)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "multiplicative weights pack a broadcast or an allreduce; 'exact' packs "
                          "an all-gather");
    if (use == TUTTI_PACKING_ALLREDUCE && g->nnodes > g->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "multiplicative weights pack an allreduce where there are no switches; 'exact' "
                          "packs it through switches");
    return tutti_packing_can_span(g, root, err);
}

tutti_status tutti_packing_by_weights(const tutti_network *g, tutti_packing_use use, int32_t root, double accuracy,
                                      tutti_packing *out, tutti_failure *err)
{
    tutti_status st = refuse(g, use, root, err);
    if (st != TUTTI_OK) return st;
    tutti_ways w;
    int64_t *demand = tutti_alloc((size_t)g->nranks * sizeof *demand);
    tutti_packing made;
    tutti_packing_init(&made, use, g);
    made.root = root;
    made.bound = tutti_packing_bound(g, use, root);
    demand[root] = use == TUTTI_PACKING_BROADCAST ? made.bound.num : 0;
    st = tutti_ways_split(g, (tutti_ratio){1, 1}, demand, &w, err);
    free(demand);
    if (st != TUTTI_OK) return st;
    int32_t *back = tutti_alloc((size_t)(w.nways + 1) * sizeof *back);
    int32_t *chosen = tutti_alloc((size_t)g->nranks * sizeof *chosen);
    mixing m = {.w = &w, .root = root, .back = use == TUTTI_PACKING_ALLREDUCE ? back : NULL};
    if (m.back) symmetric_ways(g, &w, back);
    m.length = tutti_alloc((size_t)(w.nways + 1) * sizeof *m.length);
    m.load = tutti_alloc((size_t)(w.nways + 1) * sizeof *m.load);
    m.trees = tutti_alloc(MAX_TREES * sizeof *m.trees);
    if (g->nranks == 1 || mix(&m, (1 - accuracy) * tutti_ratio_value(made.bound), chosen))
        to_packing(&m, &made);
    else
        st = tutti_fail(err, TUTTI_ERR_FAILED, "multiplicative weights stay more than %g %% below the bound",
                        100 * accuracy);
    for (int32_t i = 0; i < m.ntrees; i++) free(m.trees[i].chosen);
    free(m.trees), free(m.load), free(m.length), free(back), free(chosen);
    tutti_ways_release(&w);
    if (st == TUTTI_OK)
        *out = made;
    else
        tutti_packing_release(&made);
    return st;
}
