/* SPDX-License-Identifier: Apache-2.0 */
/* topology_layout.h: where a picture of a network shows its nodes and cables. Threads: owner. */
#ifndef TUTTI_TOPOLOGY_LAYOUT_H
#define TUTTI_TOPOLOGY_LAYOUT_H

#include "topology_impl.h"

enum { TUTTI_NODE_WIDTH = 58, TUTTI_NODE_HEIGHT = 30 };

/* A cable is a line, or runs around the nodes between its ends: out of both by (dx, dy) and then straight. */
typedef struct {
    double x1, y1, x2, y2, dx, dy;
} tutti_cable_way;

typedef struct {
    double *x, *y;         /* middles of nodes */
    tutti_cable_way *ways; /* of links */
    double width, height;
} tutti_drawing;

/* What the row's cells say; else without switches on a circle; else in rows by the distance from the ranks, ranks at
 * the bottom, each switch over the middle of what it joins. top: above all of it. */
void tutti_drawing_make(const tutti_topology *t, const tutti_fabric *net, double top, tutti_drawing *out);
void tutti_drawing_release(tutti_drawing *drawing);

#endif
