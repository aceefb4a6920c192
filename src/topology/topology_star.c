/* SPDX-License-Identifier: Apache-2.0 */
/* topology_star.c: hosts on one switch that never blocks, one rank each, full duplex. Links: up(r) = 2r, down(r) = 2r + 1.
 * The latency is that of the whole way and sits on the up link. */
#include <stdio.h>

#include "topology_impl.h"

static int32_t star_nlinks(const tutti_topology *t, int32_t nranks)
{
    (void)t;
    return 2 * nranks;
}

static tutti_link star_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    (void)nranks;
    return (tutti_link){t->figure[TUTTI_FIGURE_BANDWIDTH], link % 2 ? 0 : t->figure[TUTTI_FIGURE_LATENCY]};
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

const tutti_topology_row tutti_topology_star_row = {
    .name = "star",
    .figures = 1u << TUTTI_FIGURE_BANDWIDTH | 1u << TUTTI_FIGURE_LATENCY | 1u << TUTTI_FIGURE_SOFTWARE |
               1u << TUTTI_FIGURE_ADD,
    .assumed = {[TUTTI_FIGURE_BANDWIDTH] = 1.25e9,
                [TUTTI_FIGURE_LATENCY] = 5e-6,
                [TUTTI_FIGURE_SOFTWARE] = 0.5e-6,
                [TUTTI_FIGURE_ADD] = 10e9},
    .nlinks = star_nlinks,
    .link = star_link,
    .link_name = star_link_name,
    .route = star_route,
};
