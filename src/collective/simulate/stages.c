/* SPDX-License-Identifier: Apache-2.0 */
/* stages.c: finds which stages of a schedule move the same bytes between the same ranks. The shares of their links are
 * then computed only once: the 2(p - 1) stages of a ring count as one. If only the parts of some ranks were collected,
 * each kind's flows are written out for all ranks when its times are computed.
 *
 * The number of ranks that send to one host at a time is counted here. If the topology has an incast, ports into hosts
 * with several senders are slower in that stage.
 *
 * On a star, flows of one size that are spread evenly need no computing of shares: all ranks' links carry equally many
 * flows, so all shares are equal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "simulate_impl.h"

/* most flows whose shares are computed together: they take a second or two, and a GiB of memory */
enum { MOST_TOGETHER = 8 << 20 };

/* Data that all stages share. */
typedef struct {
    const tutti_traffic *traffic;
    const tutti_topology *t;
    const tutti_fabric *net;
    const int32_t *host_of; /* host of each rank */
} ground;

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

/* Numbers the kinds of stages in the order of their first stages, and sets the kind of each stage. slots: a hash table
 * of kinds, -1 = free. */
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

/* Writes the flows of a kind between all ranks, where the traffic has those of some ranks only. NULL: the traffic has
 * all of them. */
static tutti_flow *lay_out(const tutti_traffic *traffic, const tutti_stage_kind *k, int64_t *n)
{
    const int64_t seen = k->end - k->begin, ways = traffic->nranks / traffic->nseen;
    *n = seen * ways;
    if (ways == 1) return NULL;
    tutti_flow *flows = tutti_alloc((size_t)*n * sizeof *flows);
    for (int64_t way = 0; way < ways; way++)
        for (int64_t i = 0; i < seen; i++) {
            tutti_flow f = traffic->flows[k->begin + i];
            f.src = tutti_traffic_further(traffic, f.src, way);
            f.dst = tutti_traffic_further(traffic, f.dst, way);
            flows[way * seen + i] = f;
        }
    return flows;
}

/* Returns true if, on a star and with the parts of only some ranks collected, each rank sends and gets equally many
 * flows of one size. */
static bool is_even(const tutti_traffic *traffic, const tutti_topology *t, const tutti_stage_kind *k)
{
    const int64_t n = k->end - k->begin, each = n / traffic->nseen;
    if (t->kind != TUTTI_TOPOLOGY_STAR || traffic->nseen == traffic->nranks || n % traffic->nseen) return false;
    int64_t *out = tutti_alloc(2 * (size_t)traffic->nseen * sizeof *out), *in = out + traffic->nseen;
    bool even = true;
    for (int64_t i = k->begin; i < k->end && even; i++) {
        const tutti_flow *f = &traffic->flows[i];
        even = f->bytes == traffic->flows[k->begin].bytes && f->src != f->dst;
        out[f->src % traffic->nseen]++, in[f->dst % traffic->nseen]++;
    }
    for (int32_t r = 0; r < traffic->nseen && even; r++) even = out[r] == each && in[r] == each;
    free(out);
    return even;
}

/* ---- several senders to one host ---- */

/* Counts the ranks that have a flow to each rank, or into each port of a host. Flows of one rank follow each other. */
typedef struct {
    int32_t *of, *last; /* for each rank or port. of: number of ranks that send to it; last: 1 + the sender that was
                         * counted last */
    int32_t most;
} senders;

/* Counts rank src once as a sender to `at`, a rank or port; at = -1: the flow does not count. */
static void count_sender(senders *s, int32_t at, int32_t src)
{
    if (at < 0 || s->last[at] == src + 1) return;
    s->last[at] = src + 1;
    if (++s->of[at] > s->most) s->most = s->of[at];
}

static senders senders_begin(int32_t nplaces)
{
    return (senders){tutti_alloc((size_t)nplaces * sizeof(int32_t)), tutti_alloc((size_t)nplaces * sizeof(int32_t)), 0};
}

static void senders_end(senders *s)
{
    free(s->of);
    free(s->last);
}

/* Returns the largest number of senders to one rank, among flows between hosts. */
static int32_t fan_in_of(const ground *g, const tutti_flow *flows, int64_t n)
{
    senders s = senders_begin(g->traffic->nranks);
    for (int64_t i = 0; i < n; i++) {
        const bool leaves = flows[i].bytes > 0 && g->host_of[flows[i].src] != g->host_of[flows[i].dst];
        count_sender(&s, leaves ? flows[i].dst : -1, flows[i].src);
    }
    senders_end(&s);
    return s.most;
}

/* Returns a copy of the network in which ports with several senders are slower; the caller frees its links. */
static tutti_fabric with_incast(const ground *g, const tutti_flow *flows, int64_t n)
{
    tutti_fabric out = *g->net;
    int32_t links[TUTTI_MAX_HOPS];
    senders s = senders_begin(g->net->nlinks);
    for (int64_t i = 0; i < n; i++) {
        const int nhops = tutti_topology_route(g->t, flows[i].src, flows[i].dst, flows[i].channel, links);
        const int port = flows[i].bytes > 0 ? tutti_topology_port(g->t, nhops) : -1;
        count_sender(&s, port < 0 ? -1 : links[port], flows[i].src);
    }
    out.links = tutti_alloc((size_t)out.nlinks * sizeof *out.links);
    memcpy(out.links, g->net->links, (size_t)out.nlinks * sizeof *out.links);
    for (int32_t l = 0; l < out.nlinks; l++)
        if (s.of[l] > 1) out.links[l].bytes_per_s /= 1 + g->t->figure[TUTTI_FIGURE_INCAST] * (s.of[l] - 1);
    senders_end(&s);
    return out;
}

/* Returns the most senders to one rank. If ranks 0 .. nseen - 1 represent all ranks, a rank has as many senders as
 * there are pairs that end at a rank with the same number modulo nseen. */
static int32_t most_pairs(const tutti_traffic *traffic, const tutti_stage_kind *k)
{
    int32_t most = 0, *n = tutti_alloc((size_t)traffic->nseen * sizeof *n);
    for (int64_t i = k->begin; i < k->end; i++) {
        const tutti_flow *f = &traffic->flows[i];
        const bool again = i > k->begin && f[-1].src == f->src && f[-1].dst == f->dst;
        int32_t *of = &n[f->dst % traffic->nseen];
        *of += !again;
        if (*of > most) most = *of;
    }
    free(n);
    return most;
}

/* ---- times of a stage ---- */

static tutti_filled fill_evenly(const ground *g, const tutti_stage_kind *k, double *own)
{
    const tutti_flow *first = &g->traffic->flows[k->begin];
    const double together = (double)(k->end - k->begin) / g->traffic->nseen * (double)first->bytes;
    int32_t links[TUTTI_MAX_HOPS];
    const int nhops = tutti_topology_route(g->t, first->src, first->dst, first->channel, links),
              port = tutti_topology_port(g->t, nhops);
    tutti_filled out = {0, 0, 0, 0};
    double rate = INFINITY;
    if (first->bytes > 0) out.fan_in = most_pairs(g->traffic, k);
    for (int h = 0; h < nhops; h++) {
        const tutti_link *l = &g->net->links[links[h]];
        const double slower =
            h == port && out.fan_in > 1 ? 1 + g->t->figure[TUTTI_FIGURE_INCAST] * (out.fan_in - 1) : 1;
        out.most_latency_s += l->latency_s;
        rate = fmin(rate, l->bytes_per_s / slower);
    }
    out.least_latency_s = out.most_latency_s;
    out.end_s = together / rate;
    for (int32_t l = 0; l < g->net->nlinks; l++) own[l] = together;
    return out;
}

static tutti_filled fill(const ground *g, const tutti_flow *flows, int64_t n, double *own)
{
    const bool incast = g->t->figure[TUTTI_FIGURE_INCAST] > 0;
    tutti_fabric slower = incast ? with_incast(g, flows, n) : (tutti_fabric){0};
    tutti_filled out = tutti_rounds_fill(g->t, incast ? &slower : g->net, flows, n, own);
    out.fan_in = fan_in_of(g, flows, n);
    tutti_fabric_release(&slower);
    return out;
}

/* Computes the times of one kind of stage. own: gets its bytes on each link. */
static tutti_status solve(const ground *g, tutti_stage_kind *k, double *own, tutti_failure *err)
{
    const tutti_traffic *traffic = g->traffic;
    int64_t n = (k->end - k->begin) * (traffic->nranks / traffic->nseen);
    if (is_even(traffic, g->t, k)) {
        k->filled = fill_evenly(g, k, own);
        return TUTTI_OK;
    }
    if (n > MOST_TOGETHER)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "simulate: %lld million messages at a time between %d ranks, more than the %d million that are simulated "
            "on a network such as %s; choose an algorithm with more rounds and fewer messages",
            (long long)(n >> 20), traffic->nranks, MOST_TOGETHER >> 20, tutti_topology_kind_name(g->t->kind));
    tutti_flow *flows = lay_out(traffic, k, &n);
    memset(own, 0, (size_t)g->net->nlinks * sizeof *own);
    k->filled = fill(g, flows ? flows : traffic->flows + k->begin, n, own);
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
    int32_t *host_of = tutti_alloc((size_t)traffic->nranks * sizeof *host_of);
    const ground g = {traffic, t, net, host_of};
    tutti_topology_machines(t, traffic->nranks, host_of);
    find_kinds(traffic, out);
    for (int32_t i = 0; i < out->nkinds && !st; i++) {
        tutti_stage_kind *k = &out->kinds[i];
        if (t->figure[TUTTI_FIGURE_BURST] > 0) k->load = tutti_alloc((size_t)net->nlinks * sizeof *k->load);
        st = solve(&g, k, k->load ? k->load : own, err);
        for (int32_t l = 0; l < net->nlinks && !st; l++) load[l] += (k->load ? k->load : own)[l] * k->times;
    }
    free(host_of);
    free(own);
    return st;
}

void tutti_stages_release(tutti_stages *stages)
{
    for (int32_t i = 0; i < stages->nkinds; i++) free(stages->kinds[i].load);
    free(stages->kind);
    free(stages->kinds);
    *stages = (tutti_stages){0};
}
