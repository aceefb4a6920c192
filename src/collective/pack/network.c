/* SPDX-License-Identifier: Apache-2.0 */
/* network.c: the network that trees are packed into, a graph with capacities. */
#include <assert.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../base/divisor.h"
#include "network.h"

void tutti_network_init(tutti_network *g, int32_t nranks, int32_t nnodes)
{
    assert(nranks >= 1 && nnodes >= nranks);
    *g = (tutti_network){.nranks = nranks, .nnodes = nnodes};
}

void tutti_network_release(tutti_network *g)
{
    free(g->arcs);
    *g = (tutti_network){0};
}

int32_t tutti_network_find(const tutti_network *g, int32_t src, int32_t dst)
{
    for (int32_t i = 0; i < g->narcs; i++)
        if (g->arcs[i].src == src && g->arcs[i].dst == dst) return i;
    return -1;
}

int64_t tutti_network_capacity(const tutti_network *g, int32_t src, int32_t dst)
{
    int32_t i = tutti_network_find(g, src, dst);
    return i < 0 ? 0 : g->arcs[i].capacity;
}

void tutti_network_add(tutti_network *g, int32_t src, int32_t dst, int64_t capacity)
{
    assert(src != dst && src >= 0 && dst >= 0 && src < g->nnodes && dst < g->nnodes && capacity >= 0);
    if (!capacity) return;
    int32_t i = tutti_network_find(g, src, dst);
    if (i < 0) {
        g->arcs = tutti_grow(g->arcs, g->narcs, &g->arcs_capacity, sizeof *g->arcs);
        i = g->narcs++;
        g->arcs[i] = (tutti_arc){src, dst, 0};
    }
    g->arcs[i].capacity += capacity;
    assert(g->arcs[i].capacity < TUTTI_NETWORK_MAX_CAPACITY);
}

void tutti_network_add_both(tutti_network *g, int32_t a, int32_t b, int64_t capacity)
{
    tutti_network_add(g, a, b, capacity);
    tutti_network_add(g, b, a, capacity);
}

void tutti_network_subset(const tutti_network *g, const int32_t *ranks, int32_t n, tutti_network *out)
{
    int32_t *number = tutti_alloc((size_t)g->nnodes * sizeof *number);
    for (int32_t v = 0; v < g->nnodes; v++) number[v] = v < g->nranks ? -1 : n + v - g->nranks;
    for (int32_t i = 0; i < n; i++) number[ranks[i]] = i;
    tutti_network_init(out, n, n + g->nnodes - g->nranks);
    for (int32_t i = 0; i < g->narcs; i++) {
        const tutti_arc *a = &g->arcs[i];
        if (number[a->src] >= 0 && number[a->dst] >= 0)
            tutti_network_add(out, number[a->src], number[a->dst], a->capacity);
    }
    free(number);
}

/* Returns how many ranks can be reached from rank 0, along arcs or against them. */
static int32_t nreached(const tutti_network *g, bool against)
{
    bool *seen = tutti_alloc((size_t)g->nnodes * sizeof *seen), grown = true;
    int32_t n = 0;
    seen[0] = true;
    while (grown) {
        grown = false;
        for (int32_t i = 0; i < g->narcs; i++) {
            int32_t from = against ? g->arcs[i].dst : g->arcs[i].src, to = against ? g->arcs[i].src : g->arcs[i].dst;
            if (seen[from] && !seen[to]) seen[to] = grown = true;
        }
    }
    for (int32_t v = 0; v < g->nranks; v++) n += seen[v];
    free(seen);
    return n;
}

bool tutti_network_connected(const tutti_network *g)
{
    return nreached(g, false) == g->nranks && nreached(g, true) == g->nranks;
}

int64_t tutti_network_unit(const tutti_network *g)
{
    int64_t unit = 0;
    for (int32_t i = 0; i < g->narcs; i++) unit = tutti_common_divisor(g->arcs[i].capacity, unit);
    return unit ? unit : 1;
}
