/* SPDX-License-Identifier: Apache-2.0 */
/* topology_fat_tree.c: the topology fat-tree: fat-trees of two levels (pods = 1) or three. A leaf has `hosts` hosts;
 * every leaf of a pod is linked to each of its `spines`; with several pods, spine i of every pod is linked to the same
 * `tops` top switches. A leaf has the total rate hosts * bw downwards and spines * up upwards. If both are equal, it is
 * not oversubscribed.
 *
 * The route downwards is fixed; the route upwards is chosen. dmodk chooses by the destination's number: spine dst mod
 * spines, top (dst div spines) mod tops (D-mod-k routing), so all bytes to one host come down one route. ecmp chooses
 * by a hash of seed, source, destination and channel. So all bytes of a flow go the same way, and two flows may meet on
 * one link, as in a network that hashes packet headers. */
#include <stdio.h>

#include "topology_impl.h"

typedef struct {
    int32_t pods, leaves, hosts, spines, tops;
    /* number of seats, and number of switches of each level, in the whole network */
    int32_t nseats, nleaves, nspines, ntops;
} shape;

static shape shape_of(const tutti_topology *t)
{
    shape s = {tutti_count(t, TUTTI_FIGURE_PODS),
               tutti_count(t, TUTTI_FIGURE_LEAVES),
               tutti_count(t, TUTTI_FIGURE_HOSTS),
               tutti_count(t, TUTTI_FIGURE_SPINES),
               tutti_count(t, TUTTI_FIGURE_TOPS),
               0,
               0,
               0,
               0};
    s.nleaves = s.pods * s.leaves;
    s.nseats = s.nleaves * s.hosts;
    s.nspines = s.pods * s.spines;
    s.ntops = s.pods > 1 ? s.spines * s.tops : 0;
    return s;
}

static bool fat_tree_idle(const tutti_topology *t, tutti_figure f)
{
    if (f == TUTTI_FIGURE_TOPS) return tutti_count(t, TUTTI_FIGURE_PODS) == 1;
    bool hash = f == TUTTI_FIGURE_SEED || f == TUTTI_FIGURE_PATHS;
    return hash && tutti_count(t, TUTTI_FIGURE_ROUTING) != TUTTI_ROUTING_ECMP;
}

static tutti_status fat_tree_check(const tutti_topology *t, tutti_failure *err)
{
    double hosts = t->figure[TUTTI_FIGURE_PODS] * t->figure[TUTTI_FIGURE_LEAVES] * t->figure[TUTTI_FIGURE_HOSTS];
    double inner = t->figure[TUTTI_FIGURE_PODS] * t->figure[TUTTI_FIGURE_SPINES] *
                   (t->figure[TUTTI_FIGURE_LEAVES] + t->figure[TUTTI_FIGURE_TOPS]);
    if (hosts <= 65536 && inner <= 1e6 && t->figure[TUTTI_FIGURE_PATHS] <= 256) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "topology: fat-tree: at most 65536 hosts, a million cables between switches and 256 paths");
}

static int32_t fat_tree_nseats(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    return shape_of(t).nseats;
}

static int32_t fat_tree_group(const tutti_topology *t)
{
    return tutti_count(t, TUTTI_FIGURE_HOSTS);
}

static int32_t fat_tree_nnodes(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    shape s = shape_of(t);
    return s.nseats + s.nleaves + s.nspines + s.ntops;
}

/* Returns the number of links. Cables are numbered in this order: those of the hosts, from leaf to spine, from spine to
 * top. */
static int32_t fat_tree_nlinks(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    shape s = shape_of(t);
    return 2 * (s.nseats + s.nleaves * s.spines + (s.ntops ? s.nspines * s.tops : 0));
}

static tutti_link fat_tree_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    (void)nranks;
    shape s = shape_of(t);
    const double up = t->figure[TUTTI_FIGURE_UP], hop = t->figure[TUTTI_FIGURE_HOP];
    int32_t cable = link / 2, leaf0 = s.nseats, spine0 = leaf0 + s.nleaves, top0 = spine0 + s.nspines;
    if (cable < s.nseats)
        return tutti_cable_link(link, cable, leaf0 + cable / s.hosts, t->figure[TUTTI_FIGURE_BANDWIDTH],
                                link % 2 ? 0 : t->figure[TUTTI_FIGURE_LATENCY]);
    cable -= s.nseats;
    if (cable < s.nleaves * s.spines) {
        int32_t leaf = cable / s.spines, spine = leaf / s.leaves * s.spines + cable % s.spines;
        return tutti_cable_link(link, leaf0 + leaf, spine0 + spine, up, hop);
    }
    cable -= s.nleaves * s.spines;
    int32_t spine = cable / s.tops, top = spine % s.spines * s.tops + cable % s.tops;
    return tutti_cable_link(link, spine0 + spine, top0 + top, up, hop);
}

static void fat_tree_node_name(const tutti_topology *t, int32_t nranks, int32_t node, char out[40])
{
    (void)nranks;
    shape s = shape_of(t);
    if (node < s.nseats)
        snprintf(out, 40, "host%d", (int)node);
    else if (node < s.nseats + s.nleaves)
        snprintf(out, 40, "leaf%d", (int)(node - s.nseats));
    else if (node < s.nseats + s.nleaves + s.nspines)
        snprintf(out, 40, "spine%d", (int)(node - s.nseats - s.nleaves));
    else
        snprintf(out, 40, "top%d", (int)(node - s.nseats - s.nleaves - s.nspines));
}

static int fat_tree_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                          int32_t links[TUTTI_MAX_HOPS])
{
    shape s = shape_of(t);
    bool hashed = tutti_count(t, TUTTI_FIGURE_ROUTING) == TUTTI_ROUTING_ECMP;
    int32_t from = src / s.hosts, to = dst / s.hosts, leaf0 = s.nseats, spine0 = leaf0 + s.nleaves * s.spines;
    int n = 0;
    links[n++] = 2 * src;
    if (from != to) {
        int32_t spine = hashed ? tutti_ecmp_pick(t, src, dst, channel, 0, s.spines) : dst % s.spines;
        int32_t pod = from / s.leaves, pod_to = to / s.leaves;
        links[n++] = 2 * (leaf0 + from * s.spines + spine);
        if (pod != pod_to) {
            int32_t top = hashed ? tutti_ecmp_pick(t, src, dst, channel, 1, s.tops) : dst / s.spines % s.tops;
            links[n++] = 2 * (spine0 + (pod * s.spines + spine) * s.tops + top);
            links[n++] = 2 * (spine0 + (pod_to * s.spines + spine) * s.tops + top) + 1;
        }
        links[n++] = 2 * (leaf0 + to * s.spines + spine) + 1;
    }
    links[n++] = 2 * dst + 1;
    return n;
}

static const tutti_preset presets[] = {
    {TUTTI_FIGURE_PODS, 1, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_LEAVES, 4, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_HOSTS, 4, TUTTI_FROM_ASSUMED, NULL, "under one leaf"},
    {TUTTI_FIGURE_SPINES, 4, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_TOPS, 4, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_BANDWIDTH, 12.5e9, TUTTI_FROM_ASSUMED, NULL, "of a host's link each way"},
    {TUTTI_FIGURE_UP, 12.5e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_LATENCY, 2e-6, TUTTI_FROM_ASSUMED, NULL, "alpha of a way without hops"},
    {TUTTI_FIGURE_HOP, 0.3e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SOFTWARE, 0.5e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_ADD, 10e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_ROUTING, TUTTI_ROUTING_DMODK, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_PATHS, 1, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SEED, 1, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_PLACE, TUTTI_PLACE_BLOCK, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_INCAST, 0, TUTTI_FROM_ASSUMED, NULL, NULL},
};

const tutti_topology_row tutti_topology_fat_tree_row = {
    .name = "fat-tree",
    .about = "leaves, spines and, with several pods, tops; D-mod-k or hashed ECMP routing",
    .presets = presets,
    .npresets = sizeof presets / sizeof presets[0],
    .behind_port = 1,
    .places = 1u << TUTTI_PLACE_ROUND_ROBIN,
    .idle = fat_tree_idle,
    .check = fat_tree_check,
    .nseats = fat_tree_nseats,
    .group = fat_tree_group,
    .nnodes = fat_tree_nnodes,
    .nlinks = fat_tree_nlinks,
    .link = fat_tree_link,
    .node_name = fat_tree_node_name,
    .route = fat_tree_route,
};
