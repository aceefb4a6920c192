/* SPDX-License-Identifier: Apache-2.0 */
/* ways.c: removes the switches of a network, one after the other, and keeps the routes through them.
 *
 * At a switch w each pair (u > w, w > t) may be joined to a way u > t by some amount. First all pairs get their
 * proportional share at once, which keeps a symmetric fabric symmetric (p one-hop trees through one switch). The
 * remaining capacity, or all of it if the shares would break the demands, is joined pair by pair, each as much as the
 * demands allow (bisection). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "maxflow.h"
#include "pack_impl.h"

typedef struct {
    tutti_ways w; /* routes between nodes of any kind */
    int32_t nnodes;
    const int64_t *demand; /* for each rank: rate that its trees must carry */
    int64_t total;
} splitting;

void tutti_ways_release(tutti_ways *w)
{
    free(w->ways), free(w->via);
    *w = (tutti_ways){0};
}

static void push_via(tutti_ways *w, int32_t node)
{
    w->via = tutti_grow(w->via, w->nvia, &w->via_capacity, sizeof *w->via);
    w->via[w->nvia++] = node;
}

static void push_way(tutti_ways *w, const tutti_packing_way *way)
{
    w->ways = tutti_grow(w->ways, w->nways, &w->ways_capacity, sizeof *w->ways);
    w->ways[w->nways++] = *way;
}

/* Returns true if the remaining capacities still let all ranks receive the demands. */
static bool met(const splitting *s)
{
    tutti_maxflow *f = tutti_maxflow_create(s->nnodes + 1);
    bool all = true;
    for (int32_t i = 0; i < s->w.nways; i++)
        if (s->w.ways[i].capacity && s->w.ways[i].src != s->w.ways[i].dst)
            tutti_maxflow_arc(f, s->w.ways[i].src, s->w.ways[i].dst, s->w.ways[i].capacity);
    for (int32_t v = 0; v < s->w.nranks; v++)
        if (s->demand[v]) tutti_maxflow_arc(f, s->nnodes, v, s->demand[v]);
    for (int32_t v = 0; v < s->w.nranks && all; v++) all = tutti_maxflow_solve(f, s->nnodes, v, s->total) == s->total;
    tutti_maxflow_destroy(f);
    return all;
}

/* Joins in > switch > out to a route of its own that carries `amount`; returns the route's number. */
static int32_t join(splitting *s, int32_t in, int32_t out, int64_t amount)
{
    tutti_packing_way way = {s->w.ways[in].src, s->w.ways[out].dst, amount, s->w.nvia, 0};
    for (int32_t i = 0; i < s->w.ways[in].nvia; i++) push_via(&s->w, s->w.via[s->w.ways[in].first_via + i]);
    push_via(&s->w, s->w.ways[in].dst);
    for (int32_t i = 0; i < s->w.ways[out].nvia; i++) push_via(&s->w, s->w.via[s->w.ways[out].first_via + i]);
    way.nvia = s->w.nvia - way.first_via;
    s->w.ways[in].capacity -= amount, s->w.ways[out].capacity -= amount;
    push_way(&s->w, &way);
    return s->w.nways - 1;
}

static void set_joined(splitting *s, int32_t in, int32_t out, int32_t way, int64_t amount)
{
    int64_t more = amount - s->w.ways[way].capacity;
    s->w.ways[in].capacity -= more, s->w.ways[out].capacity -= more, s->w.ways[way].capacity = amount;
}

/* Lists the routes that end (or begin) at the node, with the sum of their capacities; returns their number. */
static int32_t at_node(const splitting *s, int32_t node, bool in, int32_t *list, int64_t *sum)
{
    int32_t n = 0;
    *sum = 0;
    for (int32_t i = 0; i < s->w.nways; i++) {
        const tutti_packing_way *way = &s->w.ways[i];
        if ((in ? way->dst : way->src) != node || !way->capacity) continue;
        /* a route that ends where it begins, joined at another switch, carries nothing */
        if (way->src == way->dst) continue;
        list[n++] = i;
        *sum += s->w.ways[i].capacity;
    }
    return n;
}

/* Joins every pair of routes (in, out), except one that would lead back to its beginning. The pair's rate is c(in)
 * c(out) / (sum of other outgoing capacities), rounded down. Does nothing if that would break the demands. */

static void join_shares(splitting *s, const int32_t *ins, int32_t nins, const int32_t *outs, int32_t nouts, int64_t sum)
{
    int32_t before = s->w.nways;
    int64_t *old = tutti_alloc((size_t)before * sizeof *old);
    for (int32_t i = 0; i < before; i++) old[i] = s->w.ways[i].capacity;
    for (int32_t i = 0; i < nins; i++)
        for (int32_t k = 0; k < nouts; k++) {
            const tutti_packing_way a = s->w.ways[ins[i]], b = s->w.ways[outs[k]];
            int64_t elsewhere = sum - old[ins[i]], least = a.capacity < b.capacity ? a.capacity : b.capacity;
            if (a.src == b.dst || elsewhere <= 0) continue;
            int64_t share = (int64_t)((double)old[ins[i]] * (double)old[outs[k]] / (double)elsewhere);
            if (share > least) share = least;
            if (share) join(s, ins[i], outs[k], share);
        }
    if (!met(s)) {
        for (int32_t i = 0; i < before; i++) s->w.ways[i].capacity = old[i];
        s->w.nways = before;
    }
    free(old);
}

/* Joins as much of the capacity of a pair as the demands allow. */
static void join_pair(splitting *s, int32_t in, int32_t out)
{
    int64_t a = s->w.ways[in].capacity, b = s->w.ways[out].capacity, low = 0, high = a < b ? a : b;
    if (!high) return;
    int32_t way = join(s, in, out, high);
    if (met(s)) return;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        set_joined(s, in, out, way, middle);
        if (met(s))
            low = middle;
        else
            high = middle;
    }
    set_joined(s, in, out, way, low);
}

static void split_off(splitting *s, int32_t node)
{
    size_t room = (size_t)s->w.nways * sizeof(int32_t);
    int32_t *ins = tutti_alloc(room), *outs = tutti_alloc(room);
    int64_t sum_in, sum_out;
    int32_t nins = at_node(s, node, true, ins, &sum_in), nouts = at_node(s, node, false, outs, &sum_out);
    join_shares(s, ins, nins, outs, nouts, sum_out);
    for (int turn = 0; turn < 2; turn++) /* pairs whose route turns back come last, because joining them only takes
                                          * capacity away */
        for (int32_t i = 0; i < nins; i++)
            for (int32_t k = 0; k < nouts; k++)
                if ((s->w.ways[ins[i]].src == s->w.ways[outs[k]].dst) == turn) join_pair(s, ins[i], outs[k]);
    for (int32_t i = 0; i < nins; i++) s->w.ways[ins[i]].capacity = 0;
    for (int32_t i = 0; i < nouts; i++) s->w.ways[outs[i]].capacity = 0;
    free(ins), free(outs);
}

/* Keeps only routes between ranks. */
static void keep_ranks(tutti_ways *w)
{
    int32_t n = 0;
    for (int32_t i = 0; i < w->nways; i++)
        if (w->ways[i].capacity && w->ways[i].src != w->ways[i].dst && w->ways[i].src < w->nranks &&
            w->ways[i].dst < w->nranks)
            w->ways[n++] = w->ways[i];
    w->nways = n;
}

tutti_status tutti_ways_split(const tutti_network *g, tutti_ratio scale, const int64_t *demand, tutti_ways *out,
                              tutti_failure *err)
{
    splitting s = {.nnodes = g->nnodes, .demand = demand, .w.nranks = g->nranks};
    for (int32_t i = 0; i < g->narcs; i++) {
        tutti_packing_way way = {.src = g->arcs[i].src, .dst = g->arcs[i].dst};
        way.capacity = g->arcs[i].capacity / scale.den * scale.num;
        push_way(&s.w, &way);
    }
    for (int32_t v = 0; v < g->nranks; v++) s.total += demand[v];
    for (int32_t node = g->nranks; node < g->nnodes; node++) split_off(&s, node);
    keep_ranks(&s.w);
    if (!met(&s)) {
        tutti_ways_release(&s.w);
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "the switches cannot be split off: at one of them more comes in than leaves, or less");
    }
    *out = s.w;
    return TUTTI_OK;
}

void tutti_ways_tree(const tutti_ways *w, const int32_t *chosen, int32_t root, int64_t weight, tutti_packing *out)
{
    bool *reached = tutti_alloc((size_t)w->nranks * sizeof *reached);
    tutti_packing_tree(out, root, weight);
    reached[root] = true;
    for (int32_t n = 1; n < w->nranks;) {
        int32_t before = n;
        for (int32_t v = 0; v < w->nranks; v++) {
            if (reached[v] || !reached[w->ways[chosen[v]].src]) continue;
            const tutti_packing_way *e = &w->ways[chosen[v]];
            tutti_packing_edge(out, e->src, v, e->nvia ? w->via + e->first_via : NULL, e->nvia);
            reached[v] = true;
            n++;
        }
        assert(n > before);
    }
    free(reached);
}
