/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.c: lower bounds of the time of a collective, as long as sums are made at the ends and nothing is compressed.
 *
 * Network: the limits L1, L3 and L7 of choose.h, and also L2, which holds even if switches add. Host: each input must
 * be read and each output written, by the available cores, and through the memory if the vectors do not fit the caches.
 * In an all-gather a rank's own slice is in place, and each slice is read once. */
#include <math.h>

#include "choose.h"

double tutti_simulate_host_latency(const tutti_topology *t, int32_t nranks)
{
    double turns = ceil(nranks / t->figure[TUTTI_FIGURE_CORES]);
    return t->figure[TUTTI_FIGURE_LATENCY] + (turns > 1 ? turns * t->figure[TUTTI_FIGURE_SWITCH] : 0);
}

static void network_bounds(tutti_collective c, int32_t p, double bytes, const tutti_topology *t, tutti_bounds *out)
{
    tutti_cuts cuts;
    tutti_limit in_network = {0}, partition = {0};
    if (!tutti_cuts_init(t, p, &cuts)) return;
    out->latency_s = tutti_limit_latency(&cuts, t);
    out->in_network_s = tutti_limit_in_network(&cuts, c, bytes, &in_network);
    out->bandwidth_s = fmax(tutti_limit_partition(&cuts, t, c, bytes, &partition), out->in_network_s);
    out->compute_s = tutti_limit_work(c, p, bytes, t);
    tutti_cuts_release(&cuts);
}

/* Returns the bytes that all ranks together must read and write. */
static double host_traffic(tutti_collective c, int32_t p, double bytes)
{
    switch (c) {
    case TUTTI_ALLREDUCE: return 2 * p * bytes;
    case TUTTI_REDUCE_SCATTER: return (p + 1) * bytes;
    case TUTTI_ALL_GATHER: return p * bytes;
    case TUTTI_GATHER: return 2.0 * (p - 1) / p * bytes;
    /* in place, the root has its output already: one rank reads the vector, p - 1 ranks write it */
    case TUTTI_BROADCAST: return p * bytes;
    case TUTTI_REDUCE: return (p + 1) * bytes;
    case TUTTI_ALL_TO_ALL: return 2 * bytes;
    case TUTTI_BARRIER:
    case TUTTI_NCOLLECTIVES: break;
    }
    return 0;
}

static void host_bounds(tutti_collective c, int32_t p, int64_t n, const tutti_topology *t, tutti_bounds *out)
{
    const double bytes = (double)n * TUTTI_ELEMENT_BYTES, traffic = host_traffic(c, p, bytes);
    double workers = fmin(p, t->figure[TUTTI_FIGURE_CORES]);
    double rate = fmax(fmax(t->figure[TUTTI_FIGURE_ADD], t->figure[TUTTI_FIGURE_COPY]), t->figure[TUTTI_FIGURE_REMOTE]);
    out->latency_s = t->figure[TUTTI_FIGURE_LATENCY];
    out->compute_s = traffic / workers / rate;
    if (bytes * p > t->figure[TUTTI_FIGURE_CACHE]) out->bandwidth_s = traffic / t->figure[TUTTI_FIGURE_BANDWIDTH];
}

void tutti_simulate_bounds(tutti_collective collective, int32_t nranks, int64_t n, const tutti_topology *t,
                           tutti_bounds *out)
{
    *out = (tutti_bounds){.best = "latency"};
    if (nranks <= 1) return;
    bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    if (host)
        host_bounds(collective, nranks, n, t, out);
    else
        network_bounds(collective, nranks, (double)n * TUTTI_ELEMENT_BYTES, t, out);
    out->best_s = out->latency_s;
    if (out->bandwidth_s > out->best_s) out->best_s = out->bandwidth_s, out->best = host ? "memory" : "bandwidth";
    if (out->compute_s > out->best_s) out->best_s = out->compute_s, out->best = "compute";
}
