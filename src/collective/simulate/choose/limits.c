/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c: the lower bounds L1 to L7 of a collective's time on a topology.
 *
 *   L1  A rank that handles k messages in a round hears from k others; the round costs a latency and k times `soft`,
 *       the work for a message. To hear from all p ranks, the product of (k + 1) over the rounds must reach p. The
 *       bound is the cost of the cheapest such rounds, and at least the latency of the longest of all shortest paths.
 *   L2  Bytes that must leave a set of ranks, even if switches add on the way.
 *   L4  Every rank's slice goes to all ranks: ForestColl's rate (Zhao et al.), attained by packed trees.
 *   L5  A broadcast or reduce on trees (Edmonds 1973).
 *   L7  The time of the additions, which are work of the ranks. */
#include "choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../base/arena.h"
#include "tree_rate.h"

const char *tutti_limit_kind_name(tutti_limit_kind k)
{
    switch (k) {
    case TUTTI_LIMIT_NONE: return "-";
    case TUTTI_LIMIT_BOUND: return "bound";
    case TUTTI_LIMIT_EXACT: return "exact";
    case TUTTI_LIMIT_REACHED: return "reached";
    }
    return "?";
}

/* Returns the cost of the cheapest rounds in which one of p ranks can hear from all, by dynamic programming: cost[m] is
 * that of m ranks. */
static double rounds_cost(int32_t p, double wire, double soft)
{
    double *cost = tutti_alloc(((size_t)p + 1) * sizeof *cost);
    for (int32_t m = 2; m <= p; m++) {
        cost[m] = INFINITY;
        for (int32_t k = 1; k < m; k++) {
            int32_t before = (m + k) / (k + 1); /* before = ceil(m / (k + 1)) */
            double seconds = (before > 1 ? cost[before] : 0) + wire + soft * k;
            if (seconds >= cost[m] && wire + soft * k > cost[m])
                break; /* rounds of more messages cost more than the best found so far */
            cost[m] = fmin(cost[m], seconds);
        }
    }
    double least = p > 1 ? cost[p] : 0;
    free(cost);
    return least;
}

/* Computes shortest paths from one node by latency (Bellman and Ford; paths have few hops). */
static double farthest_from(const tutti_fabric *net, int32_t from, double *shortest_hop)
{
    double *at = tutti_alloc((size_t)net->nnodes * sizeof *at), farthest = 0;
    for (int32_t v = 0; v < net->nnodes; v++) at[v] = v == from ? 0 : INFINITY;
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t l = 0; l < net->nlinks; l++) {
            const tutti_link *link = &net->links[l];
            if (at[link->src] + link->latency_s < at[link->dst]) {
                at[link->dst] = at[link->src] + link->latency_s;
                changed = true;
            }
        }
    }
    for (int32_t r = 0; r < net->nranks; r++) {
        if (r == from) continue;
        farthest = fmax(farthest, at[r]);
        *shortest_hop = fmin(*shortest_hop, at[r]);
    }
    free(at);
    return farthest;
}

double tutti_limit_latency(const tutti_cuts *cuts, const tutti_topology *t)
{
    const double soft = t->figure[TUTTI_FIGURE_SOFTWARE];
    double farthest = 0, nearest = INFINITY;
    int32_t p = cuts->net.nranks;
    if (p < 2) return 0;
    for (int32_t r = 0; r < (cuts->exact ? p : 1); r++)
        farthest = fmax(farthest, farthest_from(&cuts->net, r, &nearest));
    for (int32_t l = 0; l < cuts->net.nlinks && !cuts->exact; l++)
        if (cuts->net.links[l].src < p) nearest = fmin(nearest, cuts->net.links[l].latency_s);
    return fmax(farthest + soft, p <= 4096 ? rounds_cost(p, nearest, soft) : 0);
}

/* Writes "120 GB/s out of ranks 0-3 (gpu0>gpu4 ...)". */
static void cut_say(const tutti_cuts *cuts, const tutti_cut *cut, bool in, tutti_limit *out)
{
    int32_t p = cuts->net.nranks, *part = tutti_alloc((size_t)p * sizeof *part);
    char ranks[80], links[120];
    for (int32_t r = 0; r < p; r++) part[r] = cut->side[r];
    tutti_limit_ranks(p, part, 1, ranks, sizeof ranks);
    tutti_cut_links(cuts, cut, in, links, sizeof links);
    snprintf(out->where, sizeof out->where, "%.4g GB/s %s ranks %s%s%s", cut->bytes_per_s / 1e9, in ? "into" : "out of",
             ranks, links, cuts->exact ? "" : "; single ranks only, there are many");
    free(part);
}

/* Returns the time in which every rank's slice reaches all ranks (to < 0) or rank `to`; reversed: in which rank `to`
 * sends a slice to each rank. */
static double slices_cross(const tutti_cuts *cuts, int32_t to, bool reversed, double bytes, tutti_limit *out)
{
    tutti_cut cut = tutti_cuts_gather(cuts, to, reversed);
    double slice = bytes / cuts->net.nranks, seconds = slice * tutti_cut_nranks(cuts, &cut) / cut.bytes_per_s;
    cut_say(cuts, &cut, reversed, out);
    free(cut.side);
    return seconds;
}

/* Returns the time in which the whole vector crosses the narrowest cut, out of a set of ranks or into it. */
static double vector_crosses(const tutti_cuts *cuts, tutti_collective c, double bytes, tutti_limit *out)
{
    tutti_cut cut = c == TUTTI_ALLREDUCE ? tutti_cuts_least(cuts) : tutti_cuts_from(cuts, 0, c == TUTTI_BROADCAST);
    double seconds = bytes / cut.bytes_per_s;
    cut_say(cuts, &cut, c == TUTTI_REDUCE, out);
    free(cut.side);
    return seconds;
}

/* Returns the time in which each rank (or group of ranks) can send its blocks to the others, over the links that leave
 * it. */
static double blocks_cross(const tutti_cuts *cuts, const tutti_topology *t, double bytes, tutti_limit *out)
{
    int32_t p = cuts->net.nranks, *part = tutti_alloc((size_t)p * sizeof *part);
    double most = 0;
    for (int grouped = 0; grouped < 2; grouped++) {
        int32_t last = -1;
        for (int32_t r = 0; r < p; r++) part[r] = grouped ? tutti_topology_group_of(t, r) : r;
        for (int32_t r = 0; r < p; r++) {
            double inside = 0;
            if (part[r] <= last) continue;
            last = part[r];
            for (int32_t other = 0; other < p; other++) inside += part[other] == part[r];
            double leaves = tutti_cuts_leaving(cuts, part, part[r]);
            double seconds = leaves > 0 ? inside * (p - inside) / p / p * bytes / leaves : 0;
            if (seconds <= most) continue;
            most = seconds;
            char ranks[80];
            tutti_limit_ranks(p, part, part[r], ranks, sizeof ranks);
            snprintf(out->where, sizeof out->where, "%.4g GB/s out of ranks %s (ranks and groups are tried)",
                     leaves / 1e9, ranks);
        }
    }
    free(part);
    return most;
}

double tutti_limit_in_network(const tutti_cuts *cuts, tutti_collective c, double bytes, tutti_limit *out)
{
    out->kind = TUTTI_LIMIT_BOUND;
    switch (c) {
    case TUTTI_ALLREDUCE:
    case TUTTI_BROADCAST:
    case TUTTI_REDUCE: return out->seconds = vector_crosses(cuts, c, bytes, out);
    case TUTTI_ALL_GATHER: return out->seconds = slices_cross(cuts, -1, false, bytes, out);
    case TUTTI_REDUCE_SCATTER: return out->seconds = slices_cross(cuts, -1, true, bytes, out);
    case TUTTI_GATHER: return out->seconds = slices_cross(cuts, 0, false, bytes, out);
    case TUTTI_ALL_TO_ALL:
    case TUTTI_BARRIER:
    case TUTTI_NCOLLECTIVES: break;
    }
    out->kind = TUTTI_LIMIT_NONE;
    snprintf(out->where, sizeof out->where, "no bytes are owed");
    return out->seconds = 0;
}

/* Returns true if as much goes into every switch as out of it: then trees can be packed as if there were no
 * switches. */
static bool is_balanced(const tutti_fabric *net)
{
    double *more = tutti_alloc((size_t)net->nnodes * sizeof *more), most = 0;
    for (int32_t l = 0; l < net->nlinks; l++) {
        more[net->links[l].src] -= net->links[l].bytes_per_s;
        more[net->links[l].dst] += net->links[l].bytes_per_s;
    }
    for (int32_t v = net->nranks; v < net->nnodes; v++) most = fmax(most, fabs(more[v]));
    free(more);
    return most < 1;
}

/* L4: the best time of scattering and gathering slices. */
static void slices_limit(const tutti_cuts *cuts, tutti_collective c, double bytes, tutti_limit *out)
{
    const bool packs = cuts->exact && is_balanced(&cuts->net);
    tutti_limit back = {0};
    switch (c) {
    case TUTTI_ALL_GATHER:
    case TUTTI_REDUCE_SCATTER:
        out->kind = packs ? TUTTI_LIMIT_EXACT : TUTTI_LIMIT_BOUND;
        out->seconds = slices_cross(cuts, -1, c == TUTTI_REDUCE_SCATTER, bytes, out);
        return;
    case TUTTI_ALLREDUCE:
        if (!packs) break;
        out->kind = TUTTI_LIMIT_REACHED;
        out->seconds = slices_cross(cuts, -1, false, bytes, out) + slices_cross(cuts, -1, true, bytes, &back);
        return;
    default: break;
    }
    snprintf(out->where, sizeof out->where, "%s",
             c != TUTTI_ALLREDUCE ? "of all-gather, reduce-scatter and allreduce"
             : cuts->exact        ? "switches could hand out more than they get: not known to be reached"
                                  : "too many ranks for flows");
}

static void tree_limit(const tutti_cuts *cuts, tutti_collective c, double bytes, tutti_limit *out)
{
    bool exact = false;
    double rate = c == TUTTI_ALLREDUCE ? tutti_tree_rate(cuts, &exact) : 0;
    if (rate > 0) {
        out->kind = exact ? TUTTI_LIMIT_EXACT : TUTTI_LIMIT_BOUND;
        out->seconds = bytes / rate;
        snprintf(out->where, sizeof out->where, "%.6g GB/s of the vector%s", rate / 1e9,
                 exact ? "" : "; cut short, the truth is slower");
    } else {
        snprintf(out->where, sizeof out->where,
                 c == TUTTI_ALLREDUCE ? "too many links for the program: between L3 and L4" : "of allreduce");
    }
}

double tutti_limit_work(tutti_collective c, int32_t nranks, double bytes, const tutti_topology *t)
{
    return tutti_collective_reduces(c) ? (double)(nranks - 1) / nranks * bytes / t->figure[TUTTI_FIGURE_ADD] : 0;
}

static void network_limits(tutti_collective c, int32_t p, double bytes, const tutti_topology *t, tutti_limit *out)
{
    tutti_cuts cuts;
    if (!tutti_cuts_init(t, p, &cuts)) return;
    bool one_way = c == TUTTI_BROADCAST || c == TUTTI_REDUCE;
    out[0].kind = TUTTI_LIMIT_BOUND;
    out[0].seconds = tutti_limit_latency(&cuts, t);
    snprintf(out[0].where, sizeof out[0].where, "the farthest pair, or rounds in which one rank hears of all %d",
             (int)p);
    tutti_limit_in_network(&cuts, c, bytes, &out[1]);
    if (c == TUTTI_ALL_TO_ALL) out[1].kind = TUTTI_LIMIT_BOUND, out[1].seconds = blocks_cross(&cuts, t, bytes, &out[1]);
    tutti_limit_partition(&cuts, t, c, bytes, &out[2]);
    slices_limit(&cuts, c, bytes, &out[3]);
    if (one_way || c == TUTTI_ALLREDUCE) {
        out[4].kind = one_way && cuts.exact && is_balanced(&cuts.net) ? TUTTI_LIMIT_EXACT : TUTTI_LIMIT_BOUND;
        out[4].seconds = vector_crosses(&cuts, one_way ? c : TUTTI_BROADCAST, bytes, &out[4]);
    } else {
        snprintf(out[4].where, sizeof out[4].where, "of broadcast, reduce and allreduce");
    }
    tree_limit(&cuts, c, bytes, &out[5]);
    if (tutti_collective_reduces(c)) {
        out[6].kind = TUTTI_LIMIT_BOUND;
        out[6].seconds = tutti_limit_work(c, p, bytes, t);
        snprintf(out[6].where, sizeof out[6].where, "%d additions an element, shared by %d ranks", (int)p - 1, (int)p);
    } else {
        snprintf(out[6].where, sizeof out[6].where, "nothing is summed");
    }
    tutti_cuts_release(&cuts);
}

static void host_limits(tutti_collective c, int32_t p, int64_t n, const tutti_topology *t, tutti_limit *out)
{
    tutti_bounds b;
    tutti_simulate_bounds(c, p, n, t, &b);
    for (int i = 1; i < 6; i++)
        snprintf(out[i].where, sizeof out[i].where, "a host has no links between ranks; see L7");
    out[0].kind = out[6].kind = TUTTI_LIMIT_BOUND;
    out[0].seconds = b.latency_s;
    out[6].seconds = fmax(b.compute_s, b.bandwidth_s);
    snprintf(out[0].where, sizeof out[0].where, "one signal");
    snprintf(out[6].where, sizeof out[6].where, "every input read and every output written once, %s",
             b.bandwidth_s > b.compute_s ? "through the memory" : "by the cores");
}

void tutti_simulate_limits(tutti_collective collective, int32_t nranks, int64_t n, const tutti_topology *t,
                           tutti_limit out[TUTTI_NLIMITS])
{
    static const char *const texts[TUTTI_NLIMITS][2] = {
        {"L1 latency", "the last rank must hear of the first"},
        {"L2 cut", "what must cross a cut, even if switches add"},
        {"L3 partition", "what must cross between parts, if only ranks add"},
        {"L4 slices", "everybody's slice to, or from, everybody (allreduce: both, one after the other)"},
        {"L5 broadcast", "from rank 0 (reduce: to it) on trees"},
        {"L6 trees", "allreduce up in-trees and down out-trees of any shape"},
        {"L7 work", "additions, and on a host bytes read and written"},
    };
    for (int i = 0; i < TUTTI_NLIMITS; i++) out[i] = (tutti_limit){.name = texts[i][0], .meaning = texts[i][1]};
    if (nranks < 2) return;
    if (t->kind == TUTTI_TOPOLOGY_HOST)
        host_limits(collective, nranks, n, t, out);
    else
        network_limits(collective, nranks, (double)n * TUTTI_ELEMENT_BYTES, t, out);
}
