/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.c: times below which no algorithm can be, as long as sums are made at the ends and nothing is compressed.
 *
 * Network: one message must be waited for; p - 1 vectors must leave the ranks together in a reduce-scatter or an all-gather,
 * twice that in an allreduce (Patarasuk and Yuan 2009, for ranks that are equal), (p-1)/p of one in an all-to-all; the root
 * must send all of it in a broadcast and receive all of it in a reduce, (p-1)/p of it in a gather; (p-1) n additions are
 * shared by p ranks.
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

/* Bytes a second that the ranks send, all together, and that the root (rank 0) sends and receives; the shortest latency. */
typedef struct {
    double sent, root_sends, root_receives, latency;
} ends;

static ends ends_of(const tutti_topology *t, int32_t p)
{
    tutti_fabric net;
    ends e = {.latency = INFINITY};
    if (!tutti_topology_graph(t, p, &net)) return e;
    for (int32_t l = 0; l < net.nlinks; l++) {
        const tutti_link *link = &net.links[l];
        if (link->src == 0) e.root_sends += link->bytes_per_s;
        if (link->dst == 0) e.root_receives += link->bytes_per_s;
        if (link->src >= p) continue;
        e.sent += link->bytes_per_s;
        e.latency = fmin(e.latency, link->latency_s);
    }
    tutti_fabric_release(&net);
    return e;
}

/* Seconds that some ranks need at least to send or receive what they must. */
static double network_transfer(tutti_collective c, int32_t p, double bytes, const ends *e)
{
    double most = (double)(p - 1) / p;
    switch (c) {
    case TUTTI_ALLREDUCE: return 2 * (double)(p - 1) * bytes / e->sent;
    case TUTTI_REDUCE_SCATTER:
    case TUTTI_ALL_GATHER: return (double)(p - 1) * bytes / e->sent;
    case TUTTI_GATHER: return most * bytes / e->root_receives;
    case TUTTI_BROADCAST: return bytes / e->root_sends;
    case TUTTI_REDUCE: return bytes / e->root_receives;
    case TUTTI_ALL_TO_ALL: return most * bytes / e->sent;
    case TUTTI_BARRIER:
    case TUTTI_NCOLLECTIVES: break;
    }
    return 0;
}

static void network_bounds(tutti_collective c, int32_t p, double bytes, const tutti_topology *t, tutti_bounds *out)
{
    ends e = ends_of(t, p);
    bool adds = tutti_collective_reduces(c);
    out->latency_s = e.latency + t->figure[TUTTI_FIGURE_SOFTWARE];
    out->bandwidth_s = network_transfer(c, p, bytes, &e);
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
    case TUTTI_BROADCAST: return p * bytes; /* in place: one read, p - 1 written */
    case TUTTI_REDUCE: return (p + 1) * bytes;
    case TUTTI_ALL_TO_ALL: return 2 * bytes;
    case TUTTI_BARRIER:
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
