/* SPDX-License-Identifier: Apache-2.0 */
/* topology_draw.c: draws networks as text for Graphviz, and as SVG. Both directions of a cable are one line. Its
 * thickness is proportional to the cubic root of the cable's rate, and each rate has a colour. */
#include <math.h>
#include <stdlib.h>

#include "../base/text/strbuf.h"
#include "topology_layout.h"

/* Returns true if link l is the opposite direction of link l - 1, whose line stands for both. */
bool tutti_link_goes_back(const tutti_fabric *net, int32_t l)
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
        bool pair = l + 1 < net.nlinks && tutti_link_goes_back(&net, l + 1);
        if (tutti_link_goes_back(&net, l)) continue;
        tutti_strbuf_printf(&out, "  n%d -> n%d [label=\"%.4g\"%s];\n", (int)net.links[l].src, (int)net.links[l].dst,
                            net.links[l].bytes_per_s / 1e9, pair ? "" : " dir=forward");
    }
    tutti_strbuf_puts(&out, "}\n");
    tutti_fabric_release(&net);
    return tutti_strbuf_detach(&out);
}

/* ---- SVG ---- */

enum { TOP = 64, LEGEND_WIDTH = 110, MOST_RATES = 6 };
static const char *const colours[MOST_RATES] = {"#2457a6", "#c2571a", "#2e7d4f", "#7a3b93", "#c9a100", "#5f7482"};

/* The different rates, the largest first; rates beyond MOST_RATES get the last colour. */
typedef struct {
    double rate[MOST_RATES];
    int n;
} rates;

static int rate_of(const rates *r, double rate)
{
    int i = 0;
    while (i < r->n - 1 && fabs(r->rate[i] - rate) > 1e-6 * rate) i++;
    return i;
}

static void rates_take(const tutti_fabric *net, rates *out)
{
    *out = (rates){.n = 0};
    for (int32_t l = 0; l < net->nlinks; l++) {
        const double rate = net->links[l].bytes_per_s;
        int i = 0;
        while (i < out->n && out->rate[i] > rate * (1 + 1e-6)) i++;
        if (i == MOST_RATES || (i < out->n && out->rate[i] >= rate * (1 - 1e-6))) continue;
        if (out->n < MOST_RATES) out->n++;
        for (int k = out->n - 1; k > i; k--) out->rate[k] = out->rate[k - 1];
        out->rate[i] = rate;
    }
}

static double thickness(double rate)
{
    return fmin(8, 0.8 * cbrt(rate / 1e9));
}

static void rates_explain(const rates *r, const char *kind, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "<text class=\"title\" x=\"24\" y=\"20\">%s, rates each way</text>\n", kind);
    for (int i = 0; i < r->n; i++)
        tutti_strbuf_printf(out,
                            "<path d=\"M%d 37h22\" stroke=\"%s\" stroke-width=\"%.1f\"/>"
                            "<text class=\"left\" x=\"%d\" y=\"41\">%.4g GB/s</text>\n",
                            24 + LEGEND_WIDTH * i, colours[i], thickness(r->rate[i]), 52 + LEGEND_WIDTH * i,
                            r->rate[i] / 1e9);
}

static void cables_draw(const tutti_fabric *net, const tutti_drawing *at, const rates *r, tutti_strbuf *out)
{
    for (int32_t l = 0; l < net->nlinks; l++) {
        const tutti_cable_way *w = &at->ways[l];
        const double rate = net->links[l].bytes_per_s;
        if (tutti_link_goes_back(net, l)) continue;
        tutti_strbuf_printf(out, "<path d=\"M%.1f %.1f", w->x1, w->y1);
        if (w->dx != 0 || w->dy != 0)
            tutti_strbuf_printf(out, "L%.1f %.1fL%.1f %.1f", w->x1 + w->dx, w->y1 + w->dy, w->x2 + w->dx,
                                w->y2 + w->dy);
        tutti_strbuf_printf(out, "L%.1f %.1f\" stroke=\"%s\" stroke-width=\"%.1f\"><title>%.4g GB/s</title></path>\n",
                            w->x2, w->y2, colours[rate_of(r, rate)], thickness(rate), rate / 1e9);
    }
}

static void node_draw(const tutti_topology *t, int32_t nranks, int32_t v, const tutti_drawing *at, tutti_strbuf *out)
{
    char name[40];
    tutti_topology_node_name(t, nranks, v, name);
    tutti_strbuf_printf(out, "<rect%s x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n",
                        v < nranks ? " class=\"rank\"" : "", at->x[v] - TUTTI_NODE_WIDTH / 2.0,
                        at->y[v] - TUTTI_NODE_HEIGHT / 2.0, TUTTI_NODE_WIDTH, TUTTI_NODE_HEIGHT);
    tutti_strbuf_printf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", at->x[v], at->y[v] + (v < nranks ? -2 : 4),
                        name);
    if (v < nranks)
        tutti_strbuf_printf(out, "<text class=\"rank-number\" x=\"%.1f\" y=\"%.1f\">rank %d</text>\n", at->x[v],
                            at->y[v] + 10, (int)v);
}

char *tutti_topology_svg(const tutti_topology *t, int32_t nranks)
{
    tutti_fabric net;
    tutti_drawing at;
    rates r;
    tutti_strbuf out = {0};
    if (!tutti_topology_graph(t, nranks, &net)) return NULL;
    tutti_drawing_make(t, &net, TOP, &at);
    rates_take(&net, &r);
    at.width = fmax(at.width, 60 + LEGEND_WIDTH * (r.n + 1));
    tutti_strbuf_printf(
        &out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n"
        "<style>text{font:11px sans-serif;text-anchor:middle}.title,.left{text-anchor:start}"
        ".title{font-weight:bold;font-size:14px}.rank-number{font-size:9px;fill:#666}"
        "path{fill:none;stroke-linejoin:round}rect{fill:#dfe8f3;stroke:#34567a}.rank{fill:#fbe3c4}</style>\n"
        "<rect x=\"0\" y=\"0\" width=\"100%%\" height=\"100%%\" style=\"fill:#fff;stroke:none\"/>\n",
        at.width, at.height, at.width, at.height);
    rates_explain(&r, tutti_topology_kind_name(t->kind), &out);
    cables_draw(&net, &at, &r, &out);
    for (int32_t v = 0; v < net.nnodes; v++) node_draw(t, nranks, v, &at, &out);
    tutti_strbuf_puts(&out, "</svg>\n");
    tutti_drawing_release(&at);
    tutti_fabric_release(&net);
    return tutti_strbuf_detach(&out);
}
