/* SPDX-License-Identifier: Apache-2.0 */
/* topology_layout.h: places of the nodes and cables in a network's picture. Threads: one at a time. */
#ifndef TUTTI_TOPOLOGY_LAYOUT_H
#define TUTTI_TOPOLOGY_LAYOUT_H

#include "topology_impl.h"

enum { TUTTI_NODE_WIDTH = 58, TUTTI_NODE_HEIGHT = 30 };

/* A cable of the picture. The cable is a straight line, or it bends around the nodes between its ends. Then it first
 * leaves each end by (dx, dy), and the part in between is straight. */
typedef struct {
    double x1, y1, x2, y2, dx, dy;
} tutti_cable_way;

typedef struct {
    double *x, *y;         /* position of the middle of each node */
    tutti_cable_way *ways; /* for each link: the way of its cable in the picture */
    double width, height;
} tutti_drawing;

/* Places nodes by the row's cells if it has a grid. Otherwise a network without switches lies on a circle. Any other
 * network lies in rows by the distance from the ranks: ranks at the bottom, each switch over the middle of its
 * neighbours below. top: height of the free space above the picture. */
void tutti_drawing_make(const tutti_topology *t, const tutti_fabric *net, double top, tutti_drawing *out);
void tutti_drawing_release(tutti_drawing *drawing);

#endif
