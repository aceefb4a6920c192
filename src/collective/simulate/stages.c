/* SPDX-License-Identifier: Apache-2.0 */
/* stages.c: which stages of a schedule move the same between the same ranks, so that the links are shared out once for all of them: a ring's
 * 2(p - 1) stages are one. Where the parts of some ranks stand for all, each kind's flows are laid out for all ranks when it is solved.
 *
 * On a star such flows of one size need no solution: all ranks' links carry equally many, so each has the same share of any. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "simulate_impl.h"

enum { MOST_TOGETHER = 8 << 20 }; /* flows of one stage: a second or two, and a GiB */

static bool are_equal(const tutti_flow *a, const tutti_flow *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (a[i].src != b[i].src || a[i].dst != b[i].dst || a[i].channel != b[i].channel || a[i].bytes != b[i].bytes)
            return false;
    return true;
}

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_of(const tutti_flow *flows, int64_t n)
{
    uint64_t h = (uint64_t)n;
    for (int64_t i = 0; i < n; i++) {
        h = mix(h, (uint64_t)(uint32_t)flows[i].src << 32 | (uint32_t)flows[i].dst);
        h = mix(h, (uint64_t)flows[i].bytes ^ (uint64_t)(uint32_t)flows[i].channel << 40);
    }
    return h;
}

/* Fills in kind and kinds, in the order of the first stage of each. slots: a hash table of kinds, -1 = free. */
static void find_kinds(const tutti_traffic *traffic, tutti_stages *out)
{
    size_t room = 16;
    while (room < 2 * (size_t)traffic->nstages) room *= 2;
    int32_t *slots = tutti_alloc(room * sizeof *slots);
    for (size_t i = 0; i < room; i++) slots[i] = -1;
    int64_t at = 0;
    for (int32_t stage = 0; stage < traffic->nstages; stage++) {
        int64_t end = at;
        while (end < traffic->nflows && traffic->flows[end].stage == stage) end++;
        const tutti_flow *flows = traffic->flows + at;
        const int64_t n = end - at;
        out->kind[stage] = -1;
        if (!n) continue;
        size_t slot = hash_of(flows, n) & (room - 1);
        for (; slots[slot] >= 0; slot = (slot + 1) & (room - 1)) {
            const tutti_stage_kind *k = &out->kinds[slots[slot]];
            if (k->end - k->begin == n && are_equal(traffic->flows + k->begin, flows, n)) break;
        }
        if (slots[slot] < 0) {
            slots[slot] = out->nkinds;
            out->kinds[out->nkinds++] = (tutti_stage_kind){.begin = at, .end = end};
        }
        out->kind[stage] = slots[slot];
        out->kinds[slots[slot]].times++;
        at = end;
    }
    free(slots);
}

/* The flows of a kind between all ranks. NULL: the traffic has them. */
static tutti_flow *lay_out(const tutti_traffic *traffic, const tutti_stage_kind *k, int64_t *n)
{
    const int64_t seen = k->end - k->begin, ways = traffic->nranks / traffic->nseen;
    *n = seen * ways;
    if (ways == 1) return NULL;
    tutti_flow *flows = tutti_alloc((size_t)*n * sizeof *flows);
    for (int64_t way = 0; way < ways; way++)
        for (int64_t i = 0; i < seen; i++) {
            tutti_flow f = traffic->flows[k->begin + i];
            f.src = (int32_t)((f.src + way * traffic->nseen) % traffic->nranks);
            f.dst = (int32_t)((f.dst + way * traffic->nseen) % traffic->nranks);
            flows[way * seen + i] = f;
        }
    return flows;
}

/* Whether one rank stands for all on a star, and its flows are of one size. */
static bool is_even(const tutti_traffic *traffic, const tutti_topology *t, const tutti_stage_kind *k)
{
    if (t->kind != TUTTI_TOPOLOGY_STAR || traffic->nseen > 1) return false;
    for (int64_t i = k->begin; i < k->end; i++)
        if (traffic->flows[i].bytes != traffic->flows[k->begin].bytes || traffic->flows[i].src == traffic->flows[i].dst)
            return false;
    return true;
}

static tutti_filled fill_evenly(const tutti_traffic *traffic, const tutti_topology *t, const tutti_fabric *net,
                                const tutti_stage_kind *k, double *load)
{
    const tutti_flow *first = &traffic->flows[k->begin];
    const double together = (double)(k->end - k->begin) * (double)first->bytes;
    int32_t links[TUTTI_MAX_HOPS];
    const int nhops = tutti_topology_route(t, first->src, first->dst, first->channel, links);
    double latency_s = 0, rate = INFINITY;
    for (int h = 0; h < nhops; h++) {
        latency_s += net->links[links[h]].latency_s;
        rate = fmin(rate, net->links[links[h]].bytes_per_s);
    }
    for (int32_t l = 0; l < net->nlinks; l++) load[l] += together * k->times;
    return (tutti_filled){together / rate, latency_s, latency_s};
}

static tutti_status solve(const tutti_traffic *traffic, const tutti_topology *t, const tutti_fabric *net,
                          tutti_stage_kind *k, double *load, double *own, tutti_failure *err)
{
    int64_t n = (k->end - k->begin) * (traffic->nranks / traffic->nseen);
    if (is_even(traffic, t, k)) {
        k->filled = fill_evenly(traffic, t, net, k, load);
        return TUTTI_OK;
    }
    if (n > MOST_TOGETHER)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "simulate: %lld million messages at a time between %d ranks, more than the %d million that "
                          "are looked at on a network such as %s; take an algorithm of more rounds and fewer messages",
                          (long long)(n >> 20), traffic->nranks, MOST_TOGETHER >> 20,
                          tutti_topology_kind_name(t->kind));
    tutti_flow *flows = lay_out(traffic, k, &n);
    memset(own, 0, (size_t)net->nlinks * sizeof *own);
    k->filled = tutti_rounds_fill(t, net, flows ? flows : traffic->flows + k->begin, n, own);
    for (int32_t l = 0; l < net->nlinks; l++) load[l] += own[l] * k->times;
    free(flows);
    return TUTTI_OK;
}

tutti_status tutti_stages_solve(const tutti_traffic *traffic, const tutti_topology *t, const tutti_fabric *net,
                                double *load, tutti_stages *out, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    *out = (tutti_stages){.kind = tutti_alloc((size_t)traffic->nstages * sizeof *out->kind),
                          .kinds = tutti_alloc((size_t)traffic->nstages * sizeof *out->kinds)};
    double *own = tutti_alloc((size_t)net->nlinks * sizeof *own);
    find_kinds(traffic, out);
    for (int32_t i = 0; i < out->nkinds && !st; i++) st = solve(traffic, t, net, &out->kinds[i], load, own, err);
    free(own);
    return st;
}

void tutti_stages_release(tutti_stages *stages)
{
    free(stages->kind);
    free(stages->kinds);
    *stages = (tutti_stages){0};
}
