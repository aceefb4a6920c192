/* SPDX-License-Identifier: Apache-2.0 */
/* topology_draw.c: networks as pictures: text for Graphviz, and SVG of our own. In the SVG switches without ranks stand in rows
 * by their distance from the ranks, ranks at the bottom; without switches (mesh, torus) ranks stand on a circle. Cables are
 * drawn once, as thick as the cubic root of their rate, with the rate where there are few; below their row where another node
 * of it stands in between. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/strbuf.h"
#include "topology_impl.h"

/* Does link l run against one before it? Then that one's line stands for both. */
static bool is_way_back(const tutti_fabric *net, int32_t l)
{
    const tutti_link *a = &net->links[l];
    if (l % 2 == 0) return false;
    return net->links[l - 1].src == a->dst && net->links[l - 1].dst == a->src;
}

char *tutti_topology_dot(const tutti_topology *t, int32_t nranks)
{
    tutti_fabric net;
    tutti_strbuf out = {0};
    char name[40];
    if (!tutti_topology_graph(t, nranks, &net)) return NULL;
    tutti_strbuf_printf(&out, "digraph \"%s\" {\n  edge [dir=none];\n", tutti_topology_kind_name(t->kind));
    for (int32_t v = 0; v < net.nnodes; v++) {
        tutti_topology_node_name(t, nranks, v, name);
        tutti_strbuf_printf(&out, "  n%d [label=\"%s", (int)v, name);
        if (v < nranks) tutti_strbuf_printf(&out, "\\nrank %d", (int)v);
        tutti_strbuf_printf(&out, "\" shape=%s];\n", v < nranks ? "box" : "ellipse");
    }
    for (int32_t l = 0; l < net.nlinks; l++) {
        bool pair = l + 1 < net.nlinks && is_way_back(&net, l + 1);
        if (is_way_back(&net, l)) continue;
        tutti_strbuf_printf(&out, "  n%d -> n%d [label=\"%.4g\"%s];\n", (int)net.links[l].src, (int)net.links[l].dst,
                            net.links[l].bytes_per_s / 1e9, pair ? "" : " dir=forward");
    }
    tutti_strbuf_puts(&out, "}\n");
    tutti_fabric_release(&net);
    return tutti_strbuf_detach(&out);
}

typedef struct {
    double *x, *y;
    double width, height;
} places;

/* Rows: ranks are 0, a switch one above the nearest rank. */
static int32_t rows_find(const tutti_fabric *net, int32_t *row)
{
    int32_t most = 0;
    for (int32_t v = 0; v < net->nnodes; v++) row[v] = v < net->nranks ? 0 : INT32_MAX / 2;
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t l = 0; l < net->nlinks; l++) {
            int32_t from = net->links[l].src, to = net->links[l].dst;
            if (row[from] + 1 < row[to]) row[to] = row[from] + 1, changed = true;
        }
    }
    for (int32_t v = 0; v < net->nnodes; v++) {
        if (row[v] == INT32_MAX / 2) row[v] = 0; /* a seat that nobody reaches */
        most = row[v] > most ? row[v] : most;
    }
    return most;
}

static places places_find(const tutti_fabric *net)
{
    places at = {tutti_alloc((size_t)net->nnodes * sizeof(double)), tutti_alloc((size_t)net->nnodes * sizeof(double)),
                 0, 0};
    int32_t *row = tutti_alloc((size_t)net->nnodes * sizeof *row), top = rows_find(net, row);
    if (net->nnodes == net->nranks || top == 0) {
        double radius = fmax(120, 14.0 * net->nnodes);
        at.width = at.height = 2 * radius + 120;
        for (int32_t v = 0; v < net->nnodes; v++) {
            double angle = 2 * M_PI * v / net->nnodes - M_PI / 2;
            at.x[v] = at.width / 2 + radius * cos(angle);
            at.y[v] = at.height / 2 + radius * sin(angle);
        }
        free(row);
        return at;
    }
    int32_t widest = 0;
    for (int32_t r = 0; r <= top; r++) {
        int32_t n = 0;
        for (int32_t v = 0; v < net->nnodes; v++) n += row[v] == r;
        widest = n > widest ? n : widest;
    }
    at.width = fmax(320, 66.0 * widest + 40);
    at.height = 120.0 * top + 100;
    for (int32_t r = 0; r <= top; r++) {
        int32_t n = 0, i = 0;
        for (int32_t v = 0; v < net->nnodes; v++) n += row[v] == r;
        for (int32_t v = 0; v < net->nnodes; v++) {
            if (row[v] != r) continue;
            at.x[v] = 20 + (at.width - 40) * (i++ + 0.5) / n;
            at.y[v] = 50 + 120.0 * (top - r);
        }
    }
    free(row);
    return at;
}

/* How far a cable must hang through to pass below the nodes between its ends: 0 where none is. */
static double sag(const tutti_fabric *net, const places *at, const tutti_link *link)
{
    const double a = at->x[link->src], b = at->x[link->dst], y = at->y[link->src];
    if (y != at->y[link->dst]) return 0;
    for (int32_t v = 0; v < net->nnodes; v++)
        if (at->y[v] == y && at->x[v] > fmin(a, b) && at->x[v] < fmax(a, b)) return fmin(80, 16 + 0.12 * fabs(b - a));
    return 0;
}

static void cables_draw(const tutti_fabric *net, const places *at, tutti_strbuf *out)
{
    for (int32_t l = 0; l < net->nlinks; l++) {
        const tutti_link *link = &net->links[l];
        if (is_way_back(net, l)) continue;
        double x1 = at->x[link->src], y1 = at->y[link->src], x2 = at->x[link->dst], y2 = at->y[link->dst];
        const double low = sag(net, at, link), share = 0.35; /* where the rate stands */
        tutti_strbuf_printf(out, "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\" stroke-width=\"%.1f\"/>\n", x1, y1,
                            (x1 + x2) / 2, (y1 + y2) / 2 + 2 * low, x2, y2,
                            fmin(8, 0.8 * cbrt(link->bytes_per_s / 1e9)));
        if (net->nlinks <= 80)
            tutti_strbuf_printf(out, "<text class=\"rate\" x=\"%.1f\" y=\"%.1f\">%.4g</text>\n",
                                (1 - share) * x1 + share * x2,
                                (1 - share) * y1 + share * y2 + 4 * share * (1 - share) * low, link->bytes_per_s / 1e9);
    }
}

char *tutti_topology_svg(const tutti_topology *t, int32_t nranks)
{
    tutti_fabric net;
    tutti_strbuf out = {0};
    if (!tutti_topology_graph(t, nranks, &net)) return NULL;
    places at = places_find(&net);
    for (int32_t l = 0; l < net.nlinks; l++)
        at.height = fmax(at.height, at.y[net.links[l].src] + sag(&net, &at, &net.links[l]) + 30);
    tutti_strbuf_printf(
        &out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n"
        "<style>text{font:11px sans-serif;text-anchor:middle}.rate{font-size:9px;fill:#666}"
        "path{stroke:#7a9cc6;fill:none}rect{fill:#dfe8f3;stroke:#34567a}.rank{fill:#fbe3c4}</style>\n"
        "<rect x=\"0\" y=\"0\" width=\"100%%\" height=\"100%%\" style=\"fill:#fff;stroke:none\"/>\n",
        at.width, at.height, at.width, at.height);
    cables_draw(&net, &at, &out);
    for (int32_t v = 0; v < net.nnodes; v++) {
        char name[40];
        tutti_topology_node_name(t, nranks, v, name);
        tutti_strbuf_printf(&out, "<rect%s x=\"%.1f\" y=\"%.1f\" width=\"58\" height=\"30\" rx=\"4\"/>\n",
                            v < nranks ? " class=\"rank\"" : "", at.x[v] - 29, at.y[v] - 15);
        tutti_strbuf_printf(&out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", at.x[v], at.y[v] + (v < nranks ? -2 : 4),
                            name);
        if (v < nranks)
            tutti_strbuf_printf(&out, "<text class=\"rate\" x=\"%.1f\" y=\"%.1f\">rank %d</text>\n", at.x[v],
                                at.y[v] + 10, (int)v);
    }
    tutti_strbuf_printf(&out, "<text class=\"rate\" x=\"%.0f\" y=\"14\">%s, GB/s each way</text>\n</svg>\n",
                        at.width / 2, tutti_topology_kind_name(t->kind));
    free(at.x);
    free(at.y);
    tutti_fabric_release(&net);
    return tutti_strbuf_detach(&out);
}
