/* SPDX-License-Identifier: Apache-2.0 */
/* topology_ring.c: hosts in a ring, one rank each, a duplex cable between neighbours (one between two hosts). Cable c
 * joins c and c + 1. Routing takes the shorter way round; where both are equal, the way up. Every link costs `lat`. */
#include <stdio.h>

#include "topology_impl.h"

enum { MAX_NODES = 2 * TUTTI_MAX_HOPS };

static int32_t ring_nseats(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    return tutti_count(t, TUTTI_FIGURE_HOSTS);
}

static int32_t ring_nlinks(const tutti_topology *t, int32_t nranks)
{
    const int32_t n = ring_nseats(t, nranks);
    return 2 * (n > 2 ? n : n - 1);
}

static tutti_link ring_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    const int32_t from = link / 2;
    return tutti_cable_link(link, from, (from + 1) % ring_nseats(t, nranks), t->figure[TUTTI_FIGURE_BANDWIDTH],
                            t->figure[TUTTI_FIGURE_LATENCY]);
}

static void ring_node_name(const tutti_topology *t, int32_t nranks, int32_t node, char out[40])
{
    (void)t, (void)nranks;
    snprintf(out, 40, "host%d", (int)node);
}

static int ring_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel, int32_t links[TUTTI_MAX_HOPS])
{
    (void)channel;
    const int32_t n = tutti_count(t, TUTTI_FIGURE_HOSTS), up = (dst - src + n) % n;
    const bool forward = 2 * up <= n;
    int nlinks = 0;
    for (int32_t left = forward ? up : n - up; left > 0; left--) {
        const int32_t next = (src + (forward ? 1 : n - 1)) % n, cable = forward ? src : next;
        links[nlinks++] = n == 2 ? src : 2 * cable + !forward;
        src = next;
    }
    return nlinks;
}

static tutti_status ring_check(const tutti_topology *t, tutti_failure *err)
{
    if (t->figure[TUTTI_FIGURE_HOSTS] > MAX_NODES)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: ring: at most %d hosts, so that ways have at most %d links",
                          MAX_NODES, TUTTI_MAX_HOPS);
    return TUTTI_OK;
}

static const tutti_preset presets[] = {
    {TUTTI_FIGURE_HOSTS, 8, TUTTI_FROM_ASSUMED, NULL, "in the ring"},
    {TUTTI_FIGURE_BANDWIDTH, 1.25e9, TUTTI_FROM_ASSUMED, NULL, "of a link each way"},
    {TUTTI_FIGURE_LATENCY, 2e-6, TUTTI_FROM_ASSUMED, NULL, "of each link on the way"},
    {TUTTI_FIGURE_SOFTWARE, 0.5e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_ADD, 10e9, TUTTI_FROM_ASSUMED, NULL, NULL},
};

const tutti_topology_row tutti_topology_ring_row = {
    .name = "ring",
    .about = "one rank a host, in a ring, routed the shorter way",
    .presets = presets,
    .npresets = sizeof presets / sizeof presets[0],
    .check = ring_check,
    .nseats = ring_nseats,
    .nnodes = ring_nseats,
    .nlinks = ring_nlinks,
    .link = ring_link,
    .node_name = ring_node_name,
    .route = ring_route,
};
