/* SPDX-License-Identifier: Apache-2.0 */
/* maxflow.c: Dinic, "Algorithm for solution of a problem of maximum flow in networks" (1970): blocking flows over the
 * levels of a breadth-first search. Arc i is at 2i, its reverse at 2i + 1. */
#include <assert.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "maxflow.h"

typedef struct {
    int32_t to, next; /* next: the next arc from the same tail, -1 = last */
    int64_t left;     /* remaining capacity */
} half;

struct tutti_maxflow {
    int32_t nnodes, narcs, capacity; /* numbers of nodes and of arcs; capacity: number of arcs that the arrays have room
                                      * for */
    half *halves;
    int64_t *limits;                      /* capacity of each arc */
    int32_t *first, *level, *now, *queue; /* for each node: first arc, level in the search, next arc to try; queue:
                                           * nodes to be searched */
};

tutti_maxflow *tutti_maxflow_create(int32_t nnodes)
{
    tutti_maxflow *f = tutti_alloc(sizeof *f);
    size_t bytes = (size_t)nnodes * sizeof(int32_t);
    *f = (tutti_maxflow){.nnodes = nnodes};
    f->first = tutti_alloc(bytes), f->level = tutti_alloc(bytes);
    f->now = tutti_alloc(bytes), f->queue = tutti_alloc(bytes);
    for (int32_t v = 0; v < nnodes; v++) f->first[v] = -1;
    return f;
}

tutti_maxflow *tutti_maxflow_of(const tutti_network *g, int32_t more)
{
    tutti_maxflow *f = tutti_maxflow_create(g->nnodes + more);
    for (int32_t i = 0; i < g->narcs; i++) tutti_maxflow_arc(f, g->arcs[i].src, g->arcs[i].dst, g->arcs[i].capacity);
    return f;
}

void tutti_maxflow_destroy(tutti_maxflow *f)
{
    if (!f) return;
    free(f->halves), free(f->limits);
    free(f->first), free(f->level), free(f->now), free(f->queue);
    free(f);
}

int32_t tutti_maxflow_arc(tutti_maxflow *f, int32_t src, int32_t dst, int64_t capacity)
{
    assert(src >= 0 && dst >= 0 && src < f->nnodes && dst < f->nnodes && src != dst && capacity >= 0);
    if (f->narcs == f->capacity) {
        f->halves = tutti_grow(f->halves, f->narcs, &f->capacity, 2 * sizeof *f->halves);
        f->limits = tutti_realloc(f->limits, (size_t)f->capacity * sizeof *f->limits);
    }
    int32_t i = f->narcs++;
    f->halves[2 * i] = (half){dst, f->first[src], 0};
    f->halves[2 * i + 1] = (half){src, f->first[dst], 0};
    f->first[src] = 2 * i, f->first[dst] = 2 * i + 1;
    f->limits[i] = capacity;
    return i;
}

void tutti_maxflow_set(tutti_maxflow *f, int32_t arc, int64_t capacity)
{
    f->limits[arc] = capacity;
}

static bool find_levels(tutti_maxflow *f, int32_t source, int32_t sink)
{
    int32_t head = 0, tail = 0;
    for (int32_t v = 0; v < f->nnodes; v++) f->level[v] = -1;
    f->level[source] = 0;
    f->queue[tail++] = source;
    while (head < tail) {
        int32_t v = f->queue[head++];
        for (int32_t e = f->first[v]; e >= 0; e = f->halves[e].next) {
            int32_t w = f->halves[e].to;
            if (!f->halves[e].left || f->level[w] >= 0) continue;
            f->level[w] = f->level[v] + 1;
            f->queue[tail++] = w;
        }
    }
    return f->level[sink] >= 0;
}

/* Sends up to `most` from v; recursion is as deep as there are levels. */
static int64_t push(tutti_maxflow *f, int32_t v, int32_t sink, int64_t most)
{
    if (v == sink) return most;
    int64_t sent = 0;
    for (int32_t *e = &f->now[v]; *e >= 0; *e = f->halves[*e].next) {
        half *h = &f->halves[*e];
        if (!h->left || f->level[h->to] != f->level[v] + 1) continue;
        int64_t room = most - sent < h->left ? most - sent : h->left;
        int64_t part = push(f, h->to, sink, room);
        h->left -= part;
        f->halves[*e ^ 1].left += part;
        sent += part;
        if (sent == most) return sent; /* this arc may carry more, so it stays the next one to try */
    }
    return sent;
}

int64_t tutti_maxflow_solve(tutti_maxflow *f, int32_t source, int32_t sink, int64_t limit)
{
    int64_t flow = 0;
    assert(source != sink);
    for (int32_t i = 0; i < f->narcs; i++) f->halves[2 * i].left = f->limits[i], f->halves[2 * i + 1].left = 0;
    while (flow < limit && find_levels(f, source, sink)) {
        for (int32_t v = 0; v < f->nnodes; v++) f->now[v] = f->first[v];
        flow += push(f, source, sink, limit - flow);
    }
    return flow;
}

int64_t tutti_maxflow_on(const tutti_maxflow *f, int32_t arc)
{
    return f->limits[arc] - f->halves[2 * arc].left;
}

void tutti_maxflow_cut(const tutti_maxflow *f, bool *source_side)
{
    for (int32_t v = 0; v < f->nnodes; v++) source_side[v] = f->level[v] >= 0;
}

int64_t tutti_maxflow_broadcast(const tutti_network *g, int32_t root)
{
    tutti_maxflow *f = tutti_maxflow_of(g, 0);
    int64_t least = TUTTI_MAXFLOW_UNBOUNDED;
    for (int32_t v = 0; v < g->nranks; v++)
        if (v != root) least = tutti_maxflow_solve(f, root, v, least);
    tutti_maxflow_destroy(f);
    return least;
}
