/* SPDX-License-Identifier: Apache-2.0 */
/* topology_torus.c: the topology torus: nodes on a grid of x * y * z whose last and first nodes are neighbours in every
 * direction, with one rank on each node. Neighbours have one duplex cable, even if a side has only two nodes. Node = (k
 * * y + j) * x + i. A route goes along x, then y, then z, each time in the shorter direction. If both ways are equally
 * long, even nodes go forward and odd nodes backward. Every link has the latency `lat`. */
#include <stdio.h>

#include "topology_impl.h"

enum { NDIMS = 3 };

typedef struct {
    int32_t side[NDIMS], stride[NDIMS];
    int32_t first[NDIMS]; /* for each dimension: number of the first cable along it */
    int32_t nseats, ncables;
} shape;

static shape shape_of(const tutti_topology *t)
{
    shape s = {.side = {tutti_count(t, TUTTI_FIGURE_X), tutti_count(t, TUTTI_FIGURE_Y), tutti_count(t, TUTTI_FIGURE_Z)},
               .nseats = 1};
    for (int d = 0; d < NDIMS; d++) {
        s.stride[d] = s.nseats;
        s.nseats *= s.side[d];
    }
    for (int d = 0; d < NDIMS; d++) {
        s.first[d] = s.ncables;
        s.ncables += s.side[d] > 2 ? s.nseats : s.side[d] == 2 ? s.nseats / 2 : 0;
    }
    return s;
}

static tutti_status torus_check(const tutti_topology *t, tutti_failure *err)
{
    double x = t->figure[TUTTI_FIGURE_X], y = t->figure[TUTTI_FIGURE_Y], z = t->figure[TUTTI_FIGURE_Z];
    if (x * y * z > 65536 || x / 2 + y / 2 + z / 2 > TUTTI_MAX_HOPS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: torus: at most 65536 nodes and ways of %d links",
                          TUTTI_MAX_HOPS);
    return TUTTI_OK;
}

static int32_t torus_nseats(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    return shape_of(t).nseats;
}

static int32_t torus_nlinks(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    return 2 * shape_of(t).ncables;
}

static int32_t coordinate(const shape *s, int32_t node, int d)
{
    return node / s->stride[d] % s->side[d];
}

static int32_t neighbour(const shape *s, int32_t node, int d)
{
    int32_t at = coordinate(s, node, d);
    return node + ((at + 1) % s->side[d] - at) * s->stride[d];
}

/* Returns the number of the cable from `node` forward along dimension d. If the side has two nodes, only the node with
 * coordinate 0 has such a cable. */
static int32_t cable_of(const shape *s, int32_t node, int d)
{
    if (s->side[d] > 2) return s->first[d] + node;
    return s->first[d] + node / (2 * s->stride[d]) * s->stride[d] + node % s->stride[d];
}

static tutti_link torus_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    (void)nranks;
    shape s = shape_of(t);
    int32_t cable = link / 2;
    int d = NDIMS - 1;
    while (cable < s.first[d]) d--;
    cable -= s.first[d];
    int32_t node = s.side[d] > 2 ? cable : cable / s.stride[d] * 2 * s.stride[d] + cable % s.stride[d];
    return tutti_cable_link(link, node, neighbour(&s, node, d), t->figure[TUTTI_FIGURE_BANDWIDTH],
                            t->figure[TUTTI_FIGURE_LATENCY]);
}

static void torus_node_name(const tutti_topology *t, int32_t nranks, int32_t node, char out[40])
{
    (void)nranks;
    shape s = shape_of(t);
    snprintf(out, 40, "%d.%d.%d", (int)coordinate(&s, node, 0), (int)coordinate(&s, node, 1),
             (int)coordinate(&s, node, 2));
}

/* Places a node in a picture. The layers of dimension z are drawn behind each other, a little shifted. A torus with
 * only one row is drawn as a ring and has no grid. */
static bool torus_cell(const tutti_topology *t, int32_t node, double at[2])
{
    const shape s = shape_of(t);
    const double x = coordinate(&s, node, 0), y = coordinate(&s, node, 1), z = coordinate(&s, node, 2),
                 layers = s.side[2] - 1;
    at[0] = x * (1 + 0.75 * layers) + 0.75 * z;
    at[1] = y * (1 + 0.6 * layers) + 0.6 * z;
    return s.side[1] > 1 || s.side[2] > 1;
}

static int torus_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                       int32_t links[TUTTI_MAX_HOPS])
{
    (void)channel;
    shape s = shape_of(t);
    int n = 0;
    for (int d = 0; d < NDIMS; d++) {
        int32_t side = s.side[d], ahead = (coordinate(&s, dst, d) - coordinate(&s, src, d) + side) % side;
        bool forward = 2 * ahead < side || (2 * ahead == side && coordinate(&s, src, d) % 2 == 0);
        int32_t hops = forward ? ahead : side - ahead;
        for (; hops > 0; hops--) {
            int32_t at = coordinate(&s, src, d), before = src + ((at + side - 1) % side - at) * s.stride[d];
            /* true for the link in the cable's own direction, false for the opposite one */
            bool out = side == 2 ? at == 0 : forward;
            links[n++] = 2 * cable_of(&s, forward || side == 2 ? src : before, d) + !out;
            src = forward ? neighbour(&s, src, d) : before;
        }
    }
    return n;
}

static const tutti_preset presets[] = {
    {TUTTI_FIGURE_X, 4, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_Y, 4, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_Z, 1, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_BANDWIDTH, 12.5e9, TUTTI_FROM_ASSUMED, NULL, "of a link each way"},
    {TUTTI_FIGURE_LATENCY, 1e-6, TUTTI_FROM_ASSUMED, NULL, "of each link on the way"},
    {TUTTI_FIGURE_SOFTWARE, 0.5e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_ADD, 10e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_PLACE, TUTTI_PLACE_BLOCK, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_INCAST, 0, TUTTI_FROM_ASSUMED, NULL, NULL},
};

const tutti_topology_row tutti_topology_torus_row = {
    .name = "torus",
    .about = "a grid of nodes that closes in every direction, routed by dimension",
    .presets = presets,
    .npresets = sizeof presets / sizeof presets[0],
    .behind_port = 1,
    .check = torus_check,
    .nseats = torus_nseats,
    .nnodes = torus_nseats,
    .nlinks = torus_nlinks,
    .link = torus_link,
    .node_name = torus_node_name,
    .cell = torus_cell,
    .route = torus_route,
};
