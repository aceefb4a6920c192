/* SPDX-License-Identifier: Apache-2.0 */
/* rings.c: all rings of a small network, and the most of them that share no link. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "rings.h"

enum { MOST = TUTTI_RINGS_MOST_RANKS, MAX_RINGS = 2520 /* 7! / 2 */ };

typedef struct {
    int32_t n;
    int64_t left[MOST][MOST]; /* units between two ranks */
    int8_t (*rings)[MOST];
    int32_t nrings, most, goal;
} search;

static void load(const tutti_network *g, int64_t unit, int64_t c[MOST][MOST])
{
    assert(g->nranks <= MOST && g->nnodes == g->nranks);
    memset(c, 0, sizeof(int64_t) * MOST * MOST);
    for (int32_t u = 0; u < g->nranks; u++)
        for (int32_t v = 0; v < g->nranks; v++) {
            int64_t a = tutti_network_capacity(g, u, v), b = tutti_network_capacity(g, v, u);
            c[u][v] = (a < b ? a : b) / unit;
        }
}

/* Rings that begin with ring[0 .. at - 1]; each once: the second rank below the last one. */
static void enumerate(search *s, int8_t ring[MOST], int32_t at, unsigned used)
{
    if (at == s->n) {
        if (s->left[ring[at - 1]][0] && ring[1] < ring[at - 1]) memcpy(s->rings[s->nrings++], ring, MOST);
        return;
    }
    for (int8_t v = 1; v < s->n; v++) {
        if (used >> v & 1 || !s->left[ring[at - 1]][v]) continue;
        ring[at] = v;
        enumerate(s, ring, at + 1, used | 1u << v);
    }
}

/* Takes a unit of every link of the ring, or gives it back; false (and nothing done): one has none. */
static bool take(search *s, const int8_t *ring, int64_t amount)
{
    for (int32_t i = 0; i < s->n && amount > 0; i++)
        if (!s->left[ring[i]][ring[(i + 1) % s->n]]) return false;
    for (int32_t i = 0; i < s->n; i++) {
        int8_t u = ring[i], v = ring[(i + 1) % s->n];
        s->left[u][v] -= amount, s->left[v][u] -= amount;
    }
    return true;
}

static void choose(search *s, int32_t from, int32_t taken)
{
    if (taken > s->most) s->most = taken;
    for (int32_t i = from; i < s->nrings && s->most < s->goal; i++) {
        if (!take(s, s->rings[i], 1)) continue;
        choose(s, i, taken + 1);
        take(s, s->rings[i], -1);
    }
}

int32_t tutti_rings_most(const tutti_network *g)
{
    search s = {.n = g->nranks, .goal = INT32_MAX};
    int8_t ring[MOST] = {0};
    assert(s.n >= 3);
    load(g, tutti_network_unit(g), s.left);
    s.rings = tutti_alloc(MAX_RINGS * sizeof *s.rings);
    enumerate(&s, ring, 1, 1);
    for (int32_t u = 0; u < s.n; u++) { /* each ring takes two units at every rank */
        int64_t units = 0;
        for (int32_t v = 0; v < s.n; v++) units += s.left[u][v];
        if (units / 2 < s.goal) s.goal = (int32_t)(units / 2);
    }
    choose(&s, 0, 0);
    free(s.rings);
    return s.most;
}

tutti_ratio tutti_rings_rate(const tutti_network *g, int32_t nrings)
{
    return tutti_ratio_of(tutti_network_unit(g) * nrings * g->nranks, g->nranks - 1);
}

/* Continues a renumbering of ranks 0 .. at - 1. */
static bool renumber(int64_t a[MOST][MOST], int64_t b[MOST][MOST], int32_t n, int8_t *to, int32_t at, unsigned used)
{
    if (at == n) return true;
    for (int8_t v = 0; v < n; v++) {
        bool fits = !(used >> v & 1);
        for (int32_t u = 0; u < at && fits; u++) fits = a[u][at] == b[to[u]][v] && a[at][u] == b[v][to[u]];
        if (!fits) continue;
        to[at] = v;
        if (renumber(a, b, n, to, at + 1, used | 1u << v)) return true;
    }
    return false;
}

bool tutti_network_alike(const tutti_network *a, const tutti_network *b)
{
    int64_t x[MOST][MOST], y[MOST][MOST];
    int8_t to[MOST];
    if (a->nranks != b->nranks) return false;
    load(a, 1, x), load(b, 1, y);
    return renumber(x, y, a->nranks, to, 0, 0);
}
