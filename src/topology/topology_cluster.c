/* SPDX-License-Identifier: Apache-2.0 */
/* topology_cluster.c: the topology cluster: hosts on one switch that never blocks, several ranks on each host. Inside a
 * host bytes go over its memory (bus), which all its ranks share. To another host they go through a NIC, which ranks of
 * a host share too: the i-th rank of a host uses NIC i mod nics, at both ends.
 *
 *   inside    rank -> out(host) -> [bus] -> in(host) -> rank'
 *   between   rank -> out(host) -> [nic] -> switch -> [nic'] -> in(host') -> rank'
 *
 * The latency of a route between hosts is `near` (rank to host) plus `lat` (host to host). */
#include <stdio.h>

#include "topology_impl.h"

typedef struct {
    int32_t hosts, ranks, nics, nseats;
} shape;

static shape shape_of(const tutti_topology *t)
{
    shape s = {tutti_count(t, TUTTI_FIGURE_HOSTS), tutti_count(t, TUTTI_FIGURE_RANKS),
               tutti_count(t, TUTTI_FIGURE_NICS), 0};
    s.nseats = s.hosts * s.ranks;
    return s;
}

static bool cluster_idle(const tutti_topology *t, tutti_figure f)
{
    bool network =
        f == TUTTI_FIGURE_NICS || f == TUTTI_FIGURE_NIC || f == TUTTI_FIGURE_LATENCY || f == TUTTI_FIGURE_BURST;
    if (f == TUTTI_FIGURE_BURST && t->figure[f] == 0) return true;
    return network && tutti_count(t, TUTTI_FIGURE_HOSTS) == 1;
}

static tutti_status cluster_check(const tutti_topology *t, tutti_failure *err)
{
    shape s = shape_of(t);
    if ((int64_t)s.hosts * s.ranks > 65536 || (int64_t)s.hosts * s.nics > 65536)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: cluster: at most 65536 ranks and NICs");
    if (s.nics > s.ranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: cluster: %d NICs for %d ranks a host; nobody uses some",
                          (int)s.nics, (int)s.ranks);
    return TUTTI_OK;
}

static int32_t cluster_nseats(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    return shape_of(t).nseats;
}

static int32_t cluster_group(const tutti_topology *t)
{
    return tutti_count(t, TUTTI_FIGURE_RANKS);
}

static int32_t cluster_nnodes(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    shape s = shape_of(t);
    return s.nseats + 2 * s.hosts + (s.hosts > 1);
}

/* Returns the number of links. Their numbers: out(r) = 2r, in(r) = 2r + 1; then bus(host); then two links for each NIC,
 * up and down. */
static int32_t cluster_nlinks(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    shape s = shape_of(t);
    return 2 * s.nseats + s.hosts + (s.hosts > 1 ? 2 * s.hosts * s.nics : 0);
}

static tutti_link cluster_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    (void)nranks;
    shape s = shape_of(t);
    const double copy = t->figure[TUTTI_FIGURE_COPY], nic = t->figure[TUTTI_FIGURE_NIC];
    if (link < 2 * s.nseats) {
        int32_t seat = link / 2, out = s.nseats + 2 * (seat / s.ranks);
        if (link % 2) return (tutti_link){out + 1, seat, copy, 0};
        return (tutti_link){seat, out, copy, t->figure[TUTTI_FIGURE_NEAR]};
    }
    link -= 2 * s.nseats;
    int32_t out = s.nseats + 2 * link;
    if (link < s.hosts) return (tutti_link){out, out + 1, t->figure[TUTTI_FIGURE_BUS], 0};
    link -= s.hosts;
    out = s.nseats + 2 * (link / 2 / s.nics);
    int32_t middle = s.nseats + 2 * s.hosts;
    if (link % 2) return (tutti_link){middle, out + 1, nic, 0};
    return (tutti_link){out, middle, nic, t->figure[TUTTI_FIGURE_LATENCY]};
}

static void cluster_node_name(const tutti_topology *t, int32_t nranks, int32_t node, char out[40])
{
    (void)nranks;
    shape s = shape_of(t);
    if (node < s.nseats)
        snprintf(out, 40, "h%d.%d", (int)(node / s.ranks), (int)(node % s.ranks));
    else if (node == s.nseats + 2 * s.hosts)
        snprintf(out, 40, "switch");
    else
        snprintf(out, 40, "h%d.%s", (int)((node - s.nseats) / 2), (node - s.nseats) % 2 ? "in" : "out");
}

static int cluster_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                         int32_t links[TUTTI_MAX_HOPS])
{
    (void)channel;
    shape s = shape_of(t);
    int32_t from = src / s.ranks, to = dst / s.ranks, bus = 2 * s.nseats, nic = bus + s.hosts, n = 0;
    links[n++] = 2 * src;
    if (from == to) {
        links[n++] = bus + from;
    } else {
        links[n++] = nic + 2 * (from * s.nics + src % s.ranks % s.nics);
        links[n++] = nic + 2 * (to * s.nics + dst % s.ranks % s.nics) + 1;
    }
    links[n++] = 2 * dst + 1;
    return n;
}

static const tutti_preset presets[] = {
    {TUTTI_FIGURE_HOSTS, 4, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_RANKS, 2, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_NICS, 1, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_NIC, 1.25e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_BUS, 20e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_COPY, 10e9, TUTTI_FROM_ASSUMED, NULL, "between a rank and its host, each way"},
    {TUTTI_FIGURE_NEAR, 0.5e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_LATENCY, 5e-6, TUTTI_FROM_ASSUMED, NULL, "from host to host, beside near"},
    {TUTTI_FIGURE_SOFTWARE, 0.5e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_ADD, 10e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_BURST, 0, TUTTI_FROM_ASSUMED, NULL, "of a NIC"},
    {TUTTI_FIGURE_PLACE, TUTTI_PLACE_BLOCK, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_INCAST, 0, TUTTI_FROM_ASSUMED, NULL, NULL},
};

const tutti_topology_row tutti_topology_cluster_row = {
    .name = "cluster",
    .about = "hosts on one switch, several ranks a host share its memory and NICs",
    .presets = presets,
    .npresets = sizeof presets / sizeof presets[0],
    .behind_port = 2,
    .maps_memory = true,
    .is_machine = true,
    .places = 1u << TUTTI_PLACE_ROUND_ROBIN,
    .idle = cluster_idle,
    .check = cluster_check,
    .nseats = cluster_nseats,
    .group = cluster_group,
    .nnodes = cluster_nnodes,
    .nlinks = cluster_nlinks,
    .link = cluster_link,
    .node_name = cluster_node_name,
    .route = cluster_route,
};
