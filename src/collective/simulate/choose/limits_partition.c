/* SPDX-License-Identifier: Apache-2.0 */
/* limits_partition.c: the lower bound L3: bytes that must cross between the parts of a partition of the ranks.
 *
 * An allreduce among k parts needs 2 (k - 1) messages from part to part for every element: the first part that knows
 * all has heard k - 1 others, and each further part needs one more. Reduce, reduce-scatter, all-gather and broadcast
 * need k - 1 messages; an all-to-all needs all blocks between different parts. Every message leaves a part, so the time
 * is at least the bytes of all messages divided by the sum of the rates out of each part (a max-flow, because parts may
 * share switches). With single ranks behind one switch that is Patarasuk and Yuan's bound (2009). On a network without
 * switches and with equal rates both ways the best partition is that of Tutte and Nash-Williams (1961), which packed
 * trees attain: the bound is exact. */
#include <stdio.h>
#include <stdlib.h>

#include "../../../base/arena.h"
#include "../../pack/packers.h"
#include "choose.h"

enum { MAX_STRENGTH_NODES = 64, MAX_GROUPED = 4096 };

/* Returns how many times the vector's bytes must cross between the parts, summed over all parts. */
static double crossing(tutti_collective c, int32_t p, const int32_t *part, int32_t nparts)
{
    double pairs = 0;
    switch (c) {
    case TUTTI_ALLREDUCE: return 2.0 * (nparts - 1);
    case TUTTI_REDUCE_SCATTER:
    case TUTTI_ALL_GATHER:
    case TUTTI_BROADCAST:
    case TUTTI_REDUCE: return nparts - 1;
    case TUTTI_ALL_TO_ALL:
        for (int32_t which = 0; which < nparts; which++) {
            double inside = 0;
            for (int32_t r = 0; r < p; r++) inside += part[r] == which;
            pairs += inside * (p - inside);
        }
        return pairs / p / p;
    case TUTTI_GATHER:
    case TUTTI_BARRIER:
    case TUTTI_NCOLLECTIVES: break;
    }
    return 0;
}

void tutti_limit_ranks(int32_t nranks, const int32_t *part, int32_t which, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    for (int32_t r = 0; r < nranks; r++) {
        if (part[r] != which) continue;
        int32_t last = r;
        while (last + 1 < nranks && part[last + 1] == which) last++;
        if (used + 20 > room) {
            snprintf(out + used, room - used, ",...");
            return;
        }
        used += (size_t)snprintf(out + used, room - used, "%s%d", used ? "," : "", (int)r);
        if (last > r) used += (size_t)snprintf(out + used, room - used, "%s%d", last > r + 1 ? "-" : ",", (int)last);
        r = last;
    }
}

/* Numbers the parts 0, 1, ... in order of their first rank; returns their number. */
static int32_t parts_number(int32_t p, int32_t *part)
{
    int32_t n = 0;
    int32_t *name = tutti_alloc((size_t)p * sizeof *name);
    for (int32_t r = 0; r < p; r++) {
        int32_t i = 0;
        while (i < n && name[i] != part[r]) i++;
        if (i == n) name[n++] = part[r];
        part[r] = i;
    }
    free(name);
    return n;
}

/* Tries a partition; keeps it in `out` if its bound is larger. */
static void partition_try(const tutti_cuts *cuts, tutti_collective c, double bytes, int32_t *part, const char *what,
                          tutti_limit *out)
{
    int32_t p = cuts->net.nranks, nparts = parts_number(p, part);
    if (nparts < 2) return;
    double leaves = 0;
    for (int32_t which = 0; which < nparts; which++) leaves += tutti_cuts_leaving(cuts, part, which);
    double seconds = crossing(c, p, part, nparts) * bytes / leaves;
    if (seconds <= out->seconds * (1 + 1e-12)) return;
    out->seconds = seconds;
    int used = snprintf(out->where, sizeof out->where, "%s, %.4g GB/s leave %d parts", what, leaves / 1e9, (int)nparts);
    for (int32_t which = 0; nparts < p && which < nparts && used < 150; which++) {
        char ranks[48];
        tutti_limit_ranks(p, part, which, ranks, sizeof ranks);
        used += snprintf(out->where + used, sizeof out->where - (size_t)used, "%s%s", which ? " | " : ": ", ranks);
    }
}

/* Tries every rank alone. If there are too many ranks for flows, it uses the rates of each rank's own links. */
static void singles_try(const tutti_cuts *cuts, tutti_collective c, double bytes, int32_t *part, tutti_limit *out)
{
    const tutti_fabric *net = &cuts->net;
    for (int32_t r = 0; r < net->nranks; r++) part[r] = r;
    if (cuts->exact) {
        partition_try(cuts, c, bytes, part, "single ranks", out);
        return;
    }
    double leaves = 0;
    for (int32_t l = 0; l < net->nlinks; l++)
        if (net->links[l].src < net->nranks) leaves += net->links[l].bytes_per_s;
    double vectors = c == TUTTI_ALL_TO_ALL ? 1 - 1.0 / net->nranks : crossing(c, 1, part, net->nranks);
    out->seconds = vectors * bytes / leaves;
    snprintf(out->where, sizeof out->where, "single ranks, %.4g GB/s leave %d of them", leaves / 1e9, (int)net->nranks);
}

/* Tries the least cut as a partition of two. */
static void least_cut_try(const tutti_cuts *cuts, tutti_collective c, double bytes, int32_t *part, tutti_limit *out)
{
    tutti_cut cut = tutti_cuts_least(cuts);
    for (int32_t r = 0; r < cuts->net.nranks; r++) part[r] = cut.side[r];
    partition_try(cuts, c, bytes, part, "least cut", out);
    free(cut.side);
}

/* Tries the partition that attains the network's strength (tutti_packing_strength), if rates are equal both ways and
 * there are no switches. */
static bool strength_try(const tutti_cuts *cuts, const tutti_topology *t, tutti_collective c, double bytes,
                         int32_t *part, tutti_limit *out)
{
    const tutti_fabric *net = &cuts->net;
    tutti_network g;
    if (net->nnodes != net->nranks || net->nnodes > MAX_STRENGTH_NODES) return false;
    if (tutti_network_of(t, net->nranks, false, &g, NULL)) return false;
    bool both = true;
    for (int32_t i = 0; i < g.narcs; i++)
        both &= g.arcs[i].capacity == tutti_network_capacity(&g, g.arcs[i].dst, g.arcs[i].src);
    tutti_packing_strength(&g, part);
    tutti_network_release(&g);
    partition_try(cuts, c, bytes, part, "weakest partition", out);
    return both;
}

double tutti_limit_partition(const tutti_cuts *cuts, const tutti_topology *t, tutti_collective c, double bytes,
                             tutti_limit *out)
{
    int32_t p = cuts->net.nranks, *part = tutti_alloc((size_t)p * sizeof *part);
    out->seconds = 0;
    out->kind = TUTTI_LIMIT_BOUND;
    if (c == TUTTI_GATHER || c == TUTTI_BARRIER) {
        out->kind = TUTTI_LIMIT_NONE;
        snprintf(out->where, sizeof out->where, "%s",
                 c == TUTTI_BARRIER ? "no bytes are owed" : "nothing is summed or copied: L2 says it all");
        free(part);
        return 0;
    }
    singles_try(cuts, c, bytes, part, out);
    for (int32_t r = 0; r < p; r++) part[r] = tutti_topology_group_of(t, r);
    if (p <= MAX_GROUPED) partition_try(cuts, c, bytes, part, "hosts behind one switch", out);
    if (cuts->exact) least_cut_try(cuts, c, bytes, part, out);
    bool symmetric = cuts->exact && strength_try(cuts, t, c, bytes, part, out);
    if (symmetric && c == TUTTI_ALLREDUCE) out->kind = TUTTI_LIMIT_EXACT;
    free(part);
    return out->seconds;
}
