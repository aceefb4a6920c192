/* SPDX-License-Identifier: Apache-2.0 */
/* topology_layout.c: places the nodes and cables of a network's picture. Cables between nodes of the bottom row run
 * below the row. Cables that would overlap run at different heights, called lanes, with longer cables lower. */
#include "topology_layout.h"

#include <math.h>
#include <stdlib.h>

#include "../base/arena.h"

enum { CELL_X = 96, CELL_Y = 76, SPACE = 74, APART = 110, ROW = 110, EDGE = 24, LANE = 9, PORT = 7, AROUND = 10 };

/* Computes each node's row: its distance from the nearest rank in links, ignoring their direction. */
static int32_t rows_find(const tutti_fabric *net, int32_t *row)
{
    int32_t most = 0;
    for (int32_t v = 0; v < net->nnodes; v++) row[v] = v < net->nranks ? 0 : INT32_MAX / 2;
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t l = 0; l < net->nlinks; l++) {
            const int32_t a = net->links[l].src, b = net->links[l].dst;
            if (row[a] + 1 < row[b]) row[b] = row[a] + 1, changed = true;
            if (row[b] + 1 < row[a]) row[a] = row[b] + 1, changed = true;
        }
    }
    for (int32_t v = 0; v < net->nnodes; v++) {
        if (row[v] == INT32_MAX / 2) row[v] = 0; /* a seat that no link reaches goes into the bottom row */
        most = row[v] > most ? row[v] : most;
    }
    return most;
}

static bool cells_take(const tutti_topology *t, const tutti_fabric *net, double top, tutti_drawing *out)
{
    double cell[2];
    for (int32_t v = 0; v < net->nnodes; v++) {
        if (!tutti_topology_cell(t, net->nranks, v, cell)) return false;
        out->x[v] = EDGE + AROUND + TUTTI_NODE_WIDTH / 2.0 + CELL_X * cell[0];
        out->y[v] = top + AROUND + TUTTI_NODE_HEIGHT / 2.0 + CELL_Y * cell[1];
    }
    return true;
}

static void circle_take(const tutti_fabric *net, double top, tutti_drawing *out)
{
    const double radius = fmax(120, 14.0 * net->nnodes);
    for (int32_t v = 0; v < net->nnodes; v++) {
        const double angle = 2 * M_PI * v / net->nnodes - M_PI / 2;
        out->x[v] = EDGE + TUTTI_NODE_WIDTH / 2.0 + radius + radius * cos(angle);
        out->y[v] = top + TUTTI_NODE_HEIGHT / 2.0 + radius + radius * sin(angle);
    }
}

typedef struct {
    double middle; /* mean position of the node's neighbours in the row below */
    int32_t node;
} sitter;

static int by_middle(const void *x, const void *y)
{
    const sitter *a = x, *b = y;
    if (a->middle != b->middle) return a->middle < b->middle ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Places each node over the middle of its neighbours below. Nodes that would overlap stand side by side, and the row as
 * a whole is shifted to the mean of the wanted places. */
static void row_seat(const tutti_fabric *net, const int32_t *row, int32_t r, sitter *list, tutti_drawing *out)
{
    int32_t n = 0;
    double excess = 0, last = -INFINITY;
    for (int32_t v = 0; v < net->nnodes; v++)
        if (row[v] == r) list[n++] = (sitter){0, v};
    for (int32_t i = 0; i < n; i++) {
        double sum = 0;
        int32_t count = 0;
        for (int32_t l = 0; r && l < net->nlinks; l++) {
            const tutti_link *link = &net->links[l];
            const int32_t other = link->src == list[i].node ? link->dst : link->dst == list[i].node ? link->src : -1;
            if (other >= 0 && row[other] == r - 1) sum += out->x[other], count++;
        }
        list[i].middle = r ? sum / fmax(count, 1) : SPACE * i;
    }
    qsort(list, (size_t)n, sizeof *list, by_middle);
    for (int32_t i = 0; i < n; i++) {
        last = out->x[list[i].node] = fmax(list[i].middle, last + (r ? APART : SPACE));
        excess += last - list[i].middle;
    }
    for (int32_t i = 0; i < n; i++) out->x[list[i].node] -= excess / n;
}

static void rows_take(const tutti_fabric *net, const int32_t *row, int32_t highest, double top, tutti_drawing *out)
{
    sitter *list = tutti_alloc((size_t)net->nnodes * sizeof *list);
    double least = INFINITY;
    for (int32_t r = 0; r <= highest; r++) row_seat(net, row, r, list, out);
    for (int32_t v = 0; v < net->nnodes; v++) least = fmin(least, out->x[v]);
    for (int32_t v = 0; v < net->nnodes; v++) {
        out->x[v] += EDGE + TUTTI_NODE_WIDTH / 2.0 - least;
        out->y[v] = top + TUTTI_NODE_HEIGHT / 2.0 + (double)ROW * (highest - row[v]);
    }
    free(list);
}

/* ---- routes of cables ---- */

static bool is_between(double a, double x, double b)
{
    return x > fmin(a, b) + 1 && x < fmax(a, b) - 1;
}

/* Returns true if a third node lies on the horizontal or vertical line between nodes a and b. */
static bool is_blocked(const tutti_fabric *net, const tutti_drawing *at, int32_t a, int32_t b)
{
    const bool level = at->y[a] == at->y[b], upright = at->x[a] == at->x[b];
    for (int32_t v = 0; v < net->nnodes; v++) {
        if (level && at->y[v] == at->y[a] && is_between(at->x[a], at->x[v], at->x[b])) return true;
        if (upright && at->x[v] == at->x[a] && is_between(at->y[a], at->y[v], at->y[b])) return true;
    }
    return false;
}

typedef struct {
    int32_t link, lane;
    double from, to; /* x positions of the middles of the cable's two end nodes, from < to */
} span;

static int by_length(const void *x, const void *y)
{
    const span *a = x, *b = y;
    const double d = (a->to - a->from) - (b->to - b->from);
    return d < 0 ? -1 : d > 0 ? 1 : a->link < b->link ? -1 : a->link > b->link;
}

/* Assigns a lane to each cable. Orders the cables' ends at each node so that ends of shorter cables are farther from
 * the node's middle. */
static void lanes_give(span *spans, int32_t n, double bottom, tutti_drawing *out)
{
    qsort(spans, (size_t)n, sizeof *spans, by_length);
    for (int32_t i = 0; i < n; i++) {
        span *s = &spans[i];
        /* left: number of shorter cables that begin at the same node as this cable's left end; right: the same for its
         * right end */
        int32_t left = 0, right = 0;
        for (int32_t k = 0; k < i; k++) {
            const bool apart = spans[k].to < s->from - 1 || spans[k].from > s->to + 1;
            left += fabs(spans[k].from - s->from) < 1;
            right += fabs(spans[k].to - s->to) < 1;
            if (!apart && spans[k].lane >= s->lane) s->lane = spans[k].lane + 1;
        }
        const double reach = TUTTI_NODE_WIDTH / 2.0 - 4;
        out->ways[s->link] = (tutti_cable_way){s->from + fmax(reach - PORT * left, 2),
                                               bottom,
                                               s->to - fmax(reach - PORT * right, 2),
                                               bottom,
                                               0,
                                               AROUND + LANE * s->lane};
    }
}

static tutti_cable_way way_around(const tutti_drawing *at, int32_t a, int32_t b)
{
    const double half = TUTTI_NODE_HEIGHT / 2.0, side = TUTTI_NODE_WIDTH / 2.0;
    if (at->y[a] == at->y[b])
        return (tutti_cable_way){at->x[a], at->y[a] - half, at->x[b], at->y[b] - half, 0, -AROUND};
    return (tutti_cable_way){at->x[a] - side, at->y[a], at->x[b] - side, at->y[b], -AROUND, 0};
}

/* Sets the routes of all cables in the picture. lowest: y position of the row whose cables get lanes below it; NAN: no
 * row has lanes. */
static void ways_take(const tutti_fabric *net, double lowest, tutti_drawing *out)
{
    span *spans = tutti_alloc(((size_t)net->nlinks + 1) * sizeof *spans);
    int32_t n = 0;
    for (int32_t l = 0; l < net->nlinks; l++) {
        const int32_t a = net->links[l].src, b = net->links[l].dst;
        const double xa = out->x[a], xb = out->x[b];
        const double up =
            isnan(lowest) || out->y[a] == out->y[b] ? 0 : TUTTI_NODE_HEIGHT / 2.0 * (out->y[a] > out->y[b] ? -1 : 1);
        out->ways[l] = (tutti_cable_way){xa, out->y[a] + up, xb, out->y[b] - up, 0, 0};
        if (!is_blocked(net, out, a, b)) continue;
        if (out->y[a] == lowest && out->y[b] == lowest) {
            if (!tutti_link_goes_back(net, l)) spans[n++] = (span){l, 0, fmin(xa, xb), fmax(xa, xb)};
        } else {
            out->ways[l] = way_around(out, a, b);
        }
    }
    if (n) lanes_give(spans, n, lowest + TUTTI_NODE_HEIGHT / 2.0, out);
    free(spans);
}

void tutti_drawing_make(const tutti_topology *t, const tutti_fabric *net, double top, tutti_drawing *out)
{
    *out = (tutti_drawing){tutti_alloc((size_t)net->nnodes * sizeof(double)),
                           tutti_alloc((size_t)net->nnodes * sizeof(double)),
                           tutti_alloc(((size_t)net->nlinks + 1) * sizeof(tutti_cable_way)), 0, 0};
    int32_t *row = tutti_alloc((size_t)net->nnodes * sizeof *row);
    const int32_t highest = rows_find(net, row);
    double lowest = (double)NAN;
    if (cells_take(t, net, top, out)) {
        /* in this case the topology is drawn on a grid */
    } else if (highest == 0) {
        circle_take(net, top, out);
    } else {
        rows_take(net, row, highest, top, out);
        lowest = out->y[0];
    }
    ways_take(net, lowest, out);
    for (int32_t v = 0; v < net->nnodes; v++) {
        out->width = fmax(out->width, out->x[v] + TUTTI_NODE_WIDTH / 2.0 + EDGE);
        out->height = fmax(out->height, out->y[v] + TUTTI_NODE_HEIGHT / 2.0 + EDGE);
    }
    for (int32_t l = 0; l < net->nlinks; l++) out->height = fmax(out->height, out->ways[l].y1 + out->ways[l].dy + EDGE);
    free(row);
}

void tutti_drawing_release(tutti_drawing *drawing)
{
    free(drawing->x);
    free(drawing->y);
    free(drawing->ways);
}
