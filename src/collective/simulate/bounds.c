/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.c: times below which no algorithm can be, as long as sums are made at the ends and nothing is compressed.
 *
 * Network: one message must be waited for; p - 1 vectors must leave the ranks together in a reduce-scatter or an all-gather,
 * twice that in an allreduce (Patarasuk and Yuan 2009, for ranks that are equal), the root must receive (p-1)/p of one in a
 * gather; (p-1) n additions are shared by p ranks.
 * Host: each input must be read and each output written, by the cores that there are, and through the memory when the
 * vectors do not fit the caches. In an all-gather the own slice is in place and each slice is read once. */
#include <math.h>

#include "simulate.h"

bool tutti_simulate_fits_cache(const tutti_topology *t, int32_t nranks, int64_t n)
{
    return (double)n * TUTTI_ELEMENT_BYTES * nranks <= t->figure[TUTTI_FIGURE_CACHE];
}

double tutti_simulate_host_latency(const tutti_topology *t, int32_t nranks)
{
    double turns = ceil(nranks / t->figure[TUTTI_FIGURE_CORES]);
    return t->figure[TUTTI_FIGURE_LATENCY] + (turns > 1 ? turns * t->figure[TUTTI_FIGURE_SWITCH] : 0);
}

/* Bytes a second that ranks can send, all together (or `one` alone can receive), and the shortest latency that there is. */
static void ends_of(const tutti_topology *t, int32_t p, int32_t one, double *sent, double *received, double *latency)
{
    tutti_fabric net;
    *sent = *received = 0;
    *latency = INFINITY;
    if (!tutti_topology_graph(t, p, &net)) return;
    for (int32_t l = 0; l < net.nlinks; l++) {
        const tutti_link *link = &net.links[l];
        if (link->src < p) *sent += link->bytes_per_s;
        if (link->dst == one) *received += link->bytes_per_s;
        if (link->src < p) *latency = fmin(*latency, link->latency_s);
    }
    tutti_fabric_release(&net);
}

static void network_bounds(tutti_collective c, int32_t p, double bytes, const tutti_topology *t, tutti_bounds *out)
{
    double twice = c == TUTTI_ALLREDUCE ? 2 : 1, sent, received, latency;
    bool adds = c == TUTTI_ALLREDUCE || c == TUTTI_REDUCE_SCATTER;
    ends_of(t, p, 0, &sent, &received, &latency);
    out->latency_s = latency + t->figure[TUTTI_FIGURE_SOFTWARE];
    out->bandwidth_s =
        c == TUTTI_GATHER ? (double)(p - 1) / p * bytes / received : twice * (double)(p - 1) * bytes / sent;
    out->compute_s = adds ? (double)(p - 1) / p * bytes / t->figure[TUTTI_FIGURE_ADD] : 0;
}

/* Bytes that all ranks together must read and write. */
static double host_traffic(tutti_collective c, int32_t p, double bytes)
{
    switch (c) {
    case TUTTI_ALLREDUCE: return 2 * p * bytes;
    case TUTTI_REDUCE_SCATTER: return (p + 1) * bytes;
    case TUTTI_ALL_GATHER: return p * bytes;
    case TUTTI_GATHER: return 2.0 * (p - 1) / p * bytes;
    case TUTTI_NCOLLECTIVES: break;
    }
    return 0;
}

static void host_bounds(tutti_collective c, int32_t p, int64_t n, const tutti_topology *t, tutti_bounds *out)
{
    double traffic = host_traffic(c, p, (double)n * TUTTI_ELEMENT_BYTES);
    double workers = fmin(p, t->figure[TUTTI_FIGURE_CORES]);
    double rate = fmax(fmax(t->figure[TUTTI_FIGURE_ADD], t->figure[TUTTI_FIGURE_COPY]), t->figure[TUTTI_FIGURE_REMOTE]);
    out->latency_s = t->figure[TUTTI_FIGURE_LATENCY];
    out->compute_s = traffic / workers / rate;
    if (!tutti_simulate_fits_cache(t, p, n)) out->bandwidth_s = traffic / t->figure[TUTTI_FIGURE_BANDWIDTH];
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
