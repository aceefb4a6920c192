/* SPDX-License-Identifier: Apache-2.0 */
/* topology_bigraph.c: the topology bigraph: BiGraph (EFLOPS, Dong et al., HPCA 2020). The network has `switches`
 * switches, half of them in each of two layers. Every switch of the upper layer is linked to every switch of the lower
 * layer, and each switch has `hosts` hosts. Hosts of different layers have one shortest route, over two switches. Hosts
 * of one layer go through a switch of the other layer, chosen by the destination's number. Seats of upper switches come
 * first. With place=parity, the partners that a rank has in halving and doubling all sit on the other layer. */
#include <stdio.h>

#include "topology_impl.h"

typedef struct {
    int32_t half, hosts, nseats;
} shape;

static shape shape_of(const tutti_topology *t)
{
    shape s = {tutti_count(t, TUTTI_FIGURE_SWITCHES) / 2, tutti_count(t, TUTTI_FIGURE_HOSTS), 0};
    s.nseats = 2 * s.half * s.hosts;
    return s;
}

static tutti_status bigraph_check(const tutti_topology *t, tutti_failure *err)
{
    int32_t switches = tutti_count(t, TUTTI_FIGURE_SWITCHES);
    if (switches % 2)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: bigraph: %d switches do not make two equal layers",
                          (int)switches);
    if (t->figure[TUTTI_FIGURE_SWITCHES] * t->figure[TUTTI_FIGURE_HOSTS] > 65536 || switches > 2048)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: bigraph: at most 65536 hosts and 2048 switches");
    return TUTTI_OK;
}

static int32_t bigraph_nseats(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    return shape_of(t).nseats;
}

static int32_t bigraph_group(const tutti_topology *t)
{
    return tutti_count(t, TUTTI_FIGURE_HOSTS);
}

static int32_t bigraph_nnodes(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    shape s = shape_of(t);
    return s.nseats + 2 * s.half;
}

/* Returns the number of links. There is one cable for each host, and cable nseats + u * half + v joins upper switch u
 * and lower switch v. */
static int32_t bigraph_nlinks(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    shape s = shape_of(t);
    return 2 * (s.nseats + s.half * s.half);
}

static tutti_link bigraph_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    (void)nranks;
    shape s = shape_of(t);
    int32_t cable = link / 2;
    if (cable < s.nseats)
        return tutti_cable_link(link, cable, s.nseats + cable / s.hosts, t->figure[TUTTI_FIGURE_BANDWIDTH],
                                link % 2 ? 0 : t->figure[TUTTI_FIGURE_LATENCY]);
    cable -= s.nseats;
    return tutti_cable_link(link, s.nseats + cable / s.half, s.nseats + s.half + cable % s.half,
                            t->figure[TUTTI_FIGURE_UP], t->figure[TUTTI_FIGURE_HOP]);
}

static void bigraph_node_name(const tutti_topology *t, int32_t nranks, int32_t node, char out[40])
{
    (void)nranks;
    shape s = shape_of(t);
    int32_t at = node - s.nseats;
    if (at < 0)
        snprintf(out, 40, "host%d", (int)node);
    else
        snprintf(out, 40, "%s%d", at < s.half ? "upper" : "lower", (int)(at % s.half));
}

/* Returns the link from switch a to switch b of the other layer. */
static int32_t between(shape s, int32_t a, int32_t b)
{
    if (a < s.half) return 2 * (s.nseats + a * s.half + (b - s.half));
    return 2 * (s.nseats + b * s.half + (a - s.half)) + 1;
}

static int bigraph_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                         int32_t links[TUTTI_MAX_HOPS])
{
    (void)channel;
    shape s = shape_of(t);
    int32_t from = src / s.hosts, to = dst / s.hosts;
    int n = 0;
    links[n++] = 2 * src;
    if (from != to && from / s.half != to / s.half) {
        links[n++] = between(s, from, to);
    } else if (from != to) {
        int32_t over = dst % s.half + (from < s.half ? s.half : 0);
        links[n++] = between(s, from, over);
        links[n++] = between(s, over, to);
    }
    links[n++] = 2 * dst + 1;
    return n;
}

static const tutti_preset presets[] = {
    {TUTTI_FIGURE_SWITCHES, 8, TUTTI_FROM_ASSUMED, NULL, "in two layers of half as many"},
    {TUTTI_FIGURE_HOSTS, 4, TUTTI_FROM_ASSUMED, NULL, "on each switch"},
    {TUTTI_FIGURE_BANDWIDTH, 12.5e9, TUTTI_FROM_ASSUMED, NULL, "of a host's link each way"},
    {TUTTI_FIGURE_UP, 12.5e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_LATENCY, 2e-6, TUTTI_FROM_ASSUMED, NULL, "alpha of a way without hops"},
    {TUTTI_FIGURE_HOP, 0.3e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SOFTWARE, 0.5e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_ADD, 10e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_PLACE, TUTTI_PLACE_BLOCK, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_INCAST, 0, TUTTI_FROM_ASSUMED, NULL, NULL},
};

const tutti_topology_row tutti_topology_bigraph_row = {
    .name = "bigraph",
    .about = "two layers of switches, each linked to all of the other layer, hosts on both (EFLOPS)",
    .presets = presets,
    .npresets = sizeof presets / sizeof presets[0],
    .behind_port = 1,
    .places = 1u << TUTTI_PLACE_ROUND_ROBIN | 1u << TUTTI_PLACE_PARITY,
    .check = bigraph_check,
    .nseats = bigraph_nseats,
    .group = bigraph_group,
    .nnodes = bigraph_nnodes,
    .nlinks = bigraph_nlinks,
    .link = bigraph_link,
    .node_name = bigraph_node_name,
    .route = bigraph_route,
};
