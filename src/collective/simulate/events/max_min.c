/* SPDX-License-Identifier: Apache-2.0 */
/* max_min.c: max-min fair shares by water filling: the link that can give its flows the smallest share fixes their
 * shares, then the next link does. */
#include "max_min.h"

#include <math.h>
#include <stdlib.h>

#include "../../../base/arena.h"

void tutti_max_min_begin(const tutti_topology *t, const tutti_fabric *net, const tutti_flow *flows, int64_t nflows,
                         tutti_max_min *out)
{
    int32_t links[TUTTI_MAX_HOPS];
    int64_t room = 4 * nflows + TUTTI_MAX_HOPS;
    *out = (tutti_max_min){.nflows = nflows,
                           .left = tutti_alloc((size_t)net->nlinks * sizeof *out->left),
                           .waiting = tutti_alloc((size_t)net->nlinks * sizeof *out->waiting),
                           .weighing = tutti_alloc((size_t)net->nlinks * sizeof *out->weighing),
                           .weight = tutti_alloc((size_t)nflows * sizeof *out->weight),
                           .used = tutti_alloc((size_t)net->nlinks * sizeof *out->used),
                           .share = tutti_alloc((size_t)nflows * sizeof *out->share),
                           .rest = tutti_alloc((size_t)nflows * sizeof *out->rest),
                           .active = tutti_alloc((size_t)nflows * sizeof *out->active),
                           .first = tutti_alloc(((size_t)nflows + 1) * sizeof *out->first),
                           .hops = tutti_alloc((size_t)room * sizeof *out->hops)};
    for (int64_t i = 0; i < nflows; i++) {
        int nhops = tutti_topology_route(t, flows[i].src, flows[i].dst, flows[i].channel, links);
        if (out->first[i] + nhops > room) {
            room *= 2;
            out->hops = tutti_realloc(out->hops, (size_t)room * sizeof *out->hops);
        }
        for (int h = 0; h < nhops; h++) out->hops[out->first[i] + h] = links[h];
        out->first[i + 1] = out->first[i] + nhops;
        out->share[i] = INFINITY;
        out->weight[i] = 1;
    }
}

void tutti_max_min_charge_incast(const tutti_topology *t, const tutti_fabric *net, tutti_max_min *s)
{
    s->incast = t->figure[TUTTI_FIGURE_INCAST];
    if (s->incast <= 0) return;
    s->port = tutti_alloc((size_t)s->nflows * sizeof *s->port);
    s->coming = tutti_alloc((size_t)net->nlinks * sizeof *s->coming);
    for (int64_t i = 0; i < s->nflows; i++) {
        const int at = tutti_topology_port(t, (int)(s->first[i + 1] - s->first[i]));
        s->port[i] = at < 0 ? -1 : s->hops[s->first[i] + at];
    }
}

bool tutti_max_min_add(tutti_max_min *s, int64_t flow, double bytes)
{
    if (s->first[flow] == s->first[flow + 1]) return false;
    /* a flow that has ended since shares were computed is in the list still */
    if (s->share[flow] == INFINITY) s->active[s->nactive++] = flow;
    s->rest[flow] = bytes;
    s->share[flow] = 0;
    return true;
}

void tutti_max_min_release(tutti_max_min *s)
{
    free(s->port);
    free(s->coming);
    free(s->hops);
    free(s->first);
    free(s->used);
    free(s->left);
    free(s->waiting);
    free(s->weighing);
    free(s->weight);
    free(s->share);
    free(s->rest);
    free(s->active);
}

/* Returns the smallest share, for a weight of one, that any link can still give. */
static double level_find(const tutti_max_min *s)
{
    double level = INFINITY;
    for (int32_t i = 0; i < s->nused; i++) {
        int32_t l = s->used[i];
        if (s->waiting[l] > 0 && s->left[l] / s->weighing[l] < level) level = s->left[l] / s->weighing[l];
    }
    return level;
}

/* Gives the final share `level` to the flows through links that can give each flow no more; returns their number. */
static int64_t level_fix(double level, tutti_max_min *s)
{
    int64_t fixed = 0;
    const double limit = level * (1 + 1e-12);
    for (int64_t k = 0; k < s->nactive; k++) {
        const int64_t i = s->active[k];
        if (s->share[i] > 0) continue;
        bool full = false;
        for (int64_t h = s->first[i]; h < s->first[i + 1]; h++)
            full |= s->left[s->hops[h]] / s->weighing[s->hops[h]] <= limit;
        if (full)
            s->share[i] = -level * s->weight[i], fixed++; /* a share stays negative until the loop below, so that all
                                                           * flows of this level are judged before any link's capacity
                                                           * changes */
    }
    for (int64_t k = 0; k < s->nactive; k++) {
        const int64_t i = s->active[k];
        if (s->share[i] >= 0) continue;
        s->share[i] = -s->share[i];
        for (int64_t h = s->first[i]; h < s->first[i + 1]; h++) {
            s->left[s->hops[h]] -= s->share[i];
            s->weighing[s->hops[h]] -= s->weight[i];
            s->waiting[s->hops[h]]--;
        }
    }
    return fixed;
}

/* Removes ended flows from the list of flows under way. */
static void drop_ended(tutti_max_min *s)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < s->nactive; k++) {
        const int64_t i = s->active[k];
        const bool lasts = s->rest[i] > 0;
        s->share[i] = lasts ? 0 : INFINITY;
        if (lasts) s->active[kept++] = i;
    }
    s->nactive = kept;
}

static void count_waiting(const tutti_fabric *net, tutti_max_min *s)
{
    for (int32_t i = 0; i < s->nused; i++) s->waiting[s->used[i]] = 0;
    s->nused = 0;
    for (int64_t k = 0; k < s->nactive; k++)
        for (int64_t h = s->first[s->active[k]]; h < s->first[s->active[k] + 1]; h++) {
            const int32_t l = s->hops[h];
            s->weighing[l] = s->weight[s->active[k]] + (s->waiting[l] ? s->weighing[l] : 0);
            if (s->waiting[l]++) continue;
            s->left[l] = net->links[l].bytes_per_s;
            s->used[s->nused++] = l;
        }
}

/* Reduces the rates of ports into which several ranks send. */
static void slow_ports(tutti_max_min *s)
{
    for (int32_t i = 0; i < s->nused; i++) s->coming[s->used[i]] = 0;
    for (int64_t k = 0; k < s->nactive; k++)
        if (s->port[s->active[k]] >= 0) s->coming[s->port[s->active[k]]]++;
    for (int32_t i = 0; i < s->nused; i++) {
        const int64_t n = s->coming[s->used[i]];
        if (n > 1) s->left[s->used[i]] /= 1 + s->incast * (double)(n - 1);
    }
}

bool tutti_max_min_find(const tutti_fabric *net, tutti_max_min *s)
{
    drop_ended(s);
    count_waiting(net, s);
    if (s->port) slow_ports(s);
    for (int64_t without = s->nactive; without > 0;) without -= level_fix(level_find(s), s);
    return s->nactive > 0;
}
