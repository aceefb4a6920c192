/* SPDX-License-Identifier: Apache-2.0 */
/* actor_tables.c: the tables of lines, routes and links of a problem. A route is kept once for each pair of ranks that
 * uses it; a pair's second, different route is its alias 1. */
#include "actor_tables.h"

#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"

/* Returns the place of a name in the hash table (open addressing), or the free place where it belongs. */
static int64_t slot_of(const tutti_numbering *a, const int32_t key[3])
{
    uint64_t h = (uint32_t)key[0] * 0x9e3779b97f4a7c15u ^ (uint32_t)key[1] * 0xc2b2ae3d27d4eb4fu ^
                 (uint32_t)key[2] * 0x165667b19e3779f9u;
    int64_t at = (int64_t)((h ^ h >> 29) & (uint64_t)(a->room - 1));
    while (a->values[at] >= 0 && memcmp(a->keys[at], key, sizeof a->keys[at])) at = (at + 1) & (a->room - 1);
    return at;
}

static void numbering_grow(tutti_numbering *a)
{
    tutti_numbering old = *a;
    a->room = old.room ? old.room * 2 : 1024;
    a->keys = tutti_alloc((size_t)a->room * sizeof *a->keys);
    a->values = tutti_alloc((size_t)a->room * sizeof *a->values);
    memset(a->values, 0xff, (size_t)a->room * sizeof *a->values);
    for (int64_t i = 0; i < old.room; i++) {
        if (old.values[i] < 0) continue;
        const int64_t at = slot_of(a, old.keys[i]);
        memcpy(a->keys[at], old.keys[i], sizeof a->keys[at]);
        a->values[at] = old.values[i];
    }
    free(old.keys), free(old.values);
}

/* Returns the number of a name; a new name gets `next`. */
static int32_t number_of(tutti_numbering *a, const int32_t key[3], int32_t next)
{
    if (a->n * 2 >= a->room) numbering_grow(a);
    const int64_t at = slot_of(a, key);
    if (a->values[at] < 0) {
        memcpy(a->keys[at], key, sizeof a->keys[at]);
        a->values[at] = next;
        a->n++;
    }
    return a->values[at];
}

void tutti_actor_tables_begin(const tutti_topology *t, int32_t nranks, tutti_actor_tables *out)
{
    tutti_fabric net;
    *out = (tutti_actor_tables){.t = t, .nranks = nranks, .nparts = tutti_topology_npaths(t), .naliases = 1};
    tutti_topology_graph(t, nranks, &net);
    out->nlinks = net.nlinks;
    out->links = tutti_alloc(((size_t)net.nlinks + 1) * sizeof *out->links);
    for (int32_t i = 0; i < net.nlinks; i++)
        out->links[i] = (tutti_actor_link){net.links[i].bytes_per_s, net.links[i].latency_s};
    tutti_fabric_release(&net);
}

void tutti_actor_tables_release(tutti_actor_tables *a)
{
    free(a->line_of.keys), free(a->line_of.values);
    free(a->pair_of.keys), free(a->pair_of.values);
    free(a->links), free(a->pairs), free(a->lines), free(a->loads), free(a->hops), free(a->aliases);
}

static double latency_of(const tutti_actor_tables *a, const int32_t *links, int nhops)
{
    double latency_s = 0;
    for (int h = 0; h < nhops; h++) latency_s += a->links[links[h]].latency_s;
    return latency_s;
}

static void hops_add(tutti_actor_tables *a, const int32_t *links, int nhops)
{
    if (a->nhops + nhops > a->hop_room) {
        a->hop_room = (a->nhops + nhops) * 2;
        a->hops = tutti_realloc(a->hops, (size_t)a->hop_room * sizeof *a->hops);
    }
    memcpy(a->hops + a->nhops, links, (size_t)nhops * sizeof *links);
    a->nhops += nhops;
}

/* Returns the alias whose route is that of the channel. */
static int32_t alias_of(tutti_actor_tables *a, int32_t src, int32_t dst, int32_t channel, double *latency_s)
{
    int32_t links[TUTTI_MAX_HOPS];
    const int nhops = tutti_topology_route(a->t, src, dst, channel, links);
    *latency_s = latency_of(a, links, nhops);
    for (int32_t alias = 0;; alias++) {
        const int32_t i = number_of(&a->pair_of, (int32_t[]){src, dst, alias}, a->npairs);
        if (i < a->npairs) {
            const tutti_actor_pair *p = &a->pairs[i];
            if (p->nhops == nhops && !memcmp(a->hops + p->first_hop, links, (size_t)nhops * sizeof *links))
                return alias;
            continue;
        }
        a->pairs = tutti_grow(a->pairs, i, &a->pair_room, sizeof *a->pairs);
        a->pairs[a->npairs++] = (tutti_actor_pair){src, alias, dst, nhops, a->nhops};
        hops_add(a, links, nhops);
        if (alias >= a->naliases) a->naliases = alias + 1;
        return alias;
    }
}

int32_t tutti_actor_line_of(tutti_actor_tables *a, int32_t src, int32_t dst, int32_t channel, bool eager)
{
    const int32_t i = number_of(&a->line_of, (int32_t[]){src, dst, channel}, a->nlines);
    if (i < a->nlines) return i;
    a->lines = tutti_grow(a->lines, i, &a->line_room, sizeof *a->lines);
    tutti_actor_line *line = &a->lines[a->nlines++];
    *line = (tutti_actor_line){src, dst, channel, eager, i * a->nparts, 0, 0};
    for (int32_t part = 0; part < a->nparts; part++) {
        double latency_s;
        const int32_t alias = alias_of(a, src, dst, channel * a->nparts + part, &latency_s);
        a->aliases = tutti_grow(a->aliases, line->first_alias + part, &a->alias_room, sizeof *a->aliases);
        a->aliases[line->first_alias + part] = alias;
        if (latency_s > line->latency_s) line->latency_s = latency_s;
    }
    return i;
}

void tutti_actor_load_add(tutti_actor_tables *a, int32_t src, int32_t dst, int64_t bytes)
{
    double latency_s;
    alias_of(a, src, dst, 0, &latency_s); /* returns the route of memory accesses: ranks that map each other's memory
                                           * have only one route */
    a->loads = tutti_grow(a->loads, a->nloads, &a->load_room, sizeof *a->loads);
    a->loads[a->nloads++] = (tutti_actor_load){src, dst, (double)bytes, latency_s};
}

static int by_pair(const void *left, const void *right)
{
    const tutti_actor_pair *a = left, *b = right;
    if (a->src != b->src) return a->src < b->src ? -1 : 1;
    if (a->alias != b->alias) return a->alias < b->alias ? -1 : 1;
    return (a->dst > b->dst) - (a->dst < b->dst);
}

void tutti_actor_tables_finish(tutti_actor_tables *a)
{
    if (a->npairs) qsort(a->pairs, (size_t)a->npairs, sizeof *a->pairs, by_pair);
}
