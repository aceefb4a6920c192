/* SPDX-License-Identifier: Apache-2.0 */
/* topology_star.c: the topology star: hosts on one switch that never blocks, with one rank on each host and full-duplex
 * links. Links: up(r) = 2r, down(r) = 2r + 1. The up link has the latency of the whole route. */
#include <stdio.h>

#include "topology_impl.h"

static bool star_idle(const tutti_topology *t, tutti_figure f)
{
    return f == TUTTI_FIGURE_BURST && t->figure[f] == 0;
}

static int32_t star_nseats(const tutti_topology *t, int32_t nranks)
{
    (void)t;
    return nranks;
}

static int32_t star_nnodes(const tutti_topology *t, int32_t nranks)
{
    (void)t;
    return nranks + 1;
}

static int32_t star_nlinks(const tutti_topology *t, int32_t nranks)
{
    (void)t;
    return 2 * nranks;
}

static tutti_link star_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    return tutti_cable_link(link, link / 2, nranks, t->figure[TUTTI_FIGURE_BANDWIDTH],
                            link % 2 ? 0 : t->figure[TUTTI_FIGURE_LATENCY]);
}

static void star_link_name(const tutti_topology *t, int32_t nranks, int32_t link, char out[32])
{
    (void)t, (void)nranks;
    snprintf(out, 32, "%s(%d)", link % 2 ? "down" : "up", (int)(link / 2));
}

static int star_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel, int32_t links[TUTTI_MAX_HOPS])
{
    (void)t, (void)channel;
    links[0] = 2 * src;
    links[1] = 2 * dst + 1;
    return 2;
}

static void star_node_name(const tutti_topology *t, int32_t nranks, int32_t node, char out[40])
{
    (void)t;
    if (node == nranks)
        snprintf(out, 40, "switch");
    else
        snprintf(out, 40, "host%d", (int)node);
}

static const tutti_preset presets[] = {
    {TUTTI_FIGURE_BANDWIDTH, 1.25e9, TUTTI_FROM_ASSUMED, NULL, "of a host's link each way"},
    {TUTTI_FIGURE_LATENCY, 5e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SOFTWARE, 0.5e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_ADD, 10e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_INCAST, 0, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_BURST, 0, TUTTI_FROM_ASSUMED, NULL, NULL},
};

const tutti_topology_row tutti_topology_star_row = {
    .name = "star",
    .about = "one rank a host, all on one switch that never blocks",
    .presets = presets,
    .npresets = sizeof presets / sizeof presets[0],
    .behind_port = 1,
    .idle = star_idle,
    .nseats = star_nseats,
    .nnodes = star_nnodes,
    .nlinks = star_nlinks,
    .link = star_link,
    .node_name = star_node_name,
    .link_name = star_link_name,
    .route = star_route,
};
