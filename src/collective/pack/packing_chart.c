/* SPDX-License-Identifier: Apache-2.0 */
/* packing_chart.c: trees over links. Each link's trees lie side by side across it, those of one link in the order of the legend. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../metrics/chart/svg.h"
#include "packing_chart.h"

enum { WIDTH = 860, HEIGHT = 560, MIDDLE_X = 290, MIDDLE_Y = 300, RADIUS = 215, LEGEND_X = 600, MAX_LEGEND = 26 };

static const char *const colours[] = {"#2457a6", "#c2571a", "#2e7d4f", "#7a3b93", "#b3261e", "#0d8aa0",
                                      "#8a6d00", "#d0468f", "#4b5d67", "#6b9e1f", "#5b4bd1", "#a0522d"};
enum { NCOLOURS = sizeof colours / sizeof colours[0] };

typedef struct {
    double x, y;
} point;

typedef struct {
    const tutti_packing *p;
    const tutti_network *g;
    point *at;
    double per_weight; /* width of a unit of weight */
    tutti_strbuf *out;
} drawing;

/* A cube: quad 0 1 2 3 before quad 4 5 6 7. */
static point cube(int gpu)
{
    static const point front[] = {{-170, -70}, {70, -70}, {70, 170}, {-170, 170}};
    point p = front[gpu % 4];
    if (gpu >= 4) p.x += 120, p.y -= 60; /* no link runs through another GPU */
    return (point){MIDDLE_X + p.x, MIDDLE_Y + p.y};
}

static void place(drawing *d, char (*names)[40])
{
    int32_t n = d->p->nranks;
    bool gpus = true;
    for (int32_t r = 0; r < n; r++)
        gpus = gpus && !strncmp(names[r], "gpu", 3) && names[r][3] >= '0' && names[r][3] <= '7' && !names[r][4];
    for (int32_t r = 0; r < n; r++) {
        double angle = 2 * acos(-1) * r / n - acos(0);
        d->at[r] =
            gpus ? cube(names[r][3] - '0') : (point){MIDDLE_X + RADIUS * cos(angle), MIDDLE_Y + RADIUS * sin(angle)};
    }
}

static void line(const drawing *d, point a, point b, double aside, const char *colour, double width)
{
    double dx = b.x - a.x, dy = b.y - a.y, length = hypot(dx, dy);
    double nx = -dy / length * aside, ny = dx / length * aside;
    tutti_strbuf_printf(d->out,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.2f\" "
                        "stroke-linecap=\"round\"/>\n",
                        a.x + nx, a.y + ny, b.x + nx, b.y + ny, colour, width);
}

/* Weight that trees before `tree` put between two ranks, or all trees. */
static double weight_between(const drawing *d, int32_t u, int32_t v, int32_t before)
{
    double sum = 0;
    for (int32_t i = 0; i < before; i++)
        for (int32_t k = 0; k < d->p->nranks - 1; k++) {
            const tutti_tree_edge *e = &d->p->edges[d->p->trees[i].first_edge + k];
            if ((e->src == u && e->dst == v) || (e->src == v && e->dst == u)) sum += (double)d->p->trees[i].weight;
        }
    return sum;
}

static void draw_links(const drawing *d)
{
    for (int32_t i = 0; i < d->g->narcs; i++) {
        const tutti_arc *a = &d->g->arcs[i];
        if (a->src > a->dst || a->dst >= d->p->nranks) continue;
        double units = (double)a->capacity / tutti_ratio_value(d->p->unit);
        line(d, d->at[a->src], d->at[a->dst], 0, "#ececec", units * d->per_weight + 5);
    }
}

static void draw_tree(const drawing *d, int32_t tree)
{
    const tutti_packed_tree *t = &d->p->trees[tree];
    for (int32_t k = 0; k < d->p->nranks - 1; k++) {
        const tutti_tree_edge *e = &d->p->edges[t->first_edge + k];
        int32_t u = e->src < e->dst ? e->src : e->dst, v = e->src < e->dst ? e->dst : e->src;
        double all = weight_between(d, u, v, d->p->ntrees), before = weight_between(d, u, v, tree);
        double aside = (before + (double)t->weight / 2 - all / 2) * d->per_weight;
        line(d, d->at[u], d->at[v], aside, colours[tree % NCOLOURS], fmax(0.8, (double)t->weight * d->per_weight - 1));
    }
}

static void draw_ranks(const drawing *d, char (*names)[40])
{
    for (int32_t r = 0; r < d->p->nranks; r++) {
        bool root = false;
        for (int32_t i = 0; i < d->p->ntrees; i++) root = root || d->p->trees[i].root == r;
        tutti_strbuf_printf(d->out,
                            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"20\" fill=\"#fff\" stroke=\"#222\" "
                            "stroke-width=\"%s\"/>\n",
                            d->at[r].x, d->at[r].y, root ? "3" : "1");
        tutti_svg_text(d->at[r].x, d->at[r].y + 4, "text-anchor=\"middle\"", names[r], d->out);
    }
}

static void draw_legend(const drawing *d)
{
    char text[120];
    const double unit = tutti_ratio_value(d->p->unit);
    const double giga = tutti_ratio_value(d->p->bound) > 1e6 ? 1e9 : 1; /* bytes/s, else links */
    snprintf(text, sizeof text, "%s: %.4g of at most %.4g%s", tutti_packing_use_name(d->p->use),
             tutti_packing_rate(d->p) / giga, tutti_ratio_value(d->p->bound) / giga, giga > 1 ? " GB/s" : " links");
    tutti_svg_text(LEGEND_X, 64, "", text, d->out);
    for (int32_t i = 0; i < d->p->ntrees && i < MAX_LEGEND; i++) {
        const double y = 90 + 17.0 * i;
        tutti_strbuf_printf(d->out, "<rect x=\"%d\" y=\"%.1f\" width=\"18\" height=\"8\" fill=\"%s\"/>\n", LEGEND_X,
                            y - 8, colours[i % NCOLOURS]);
        snprintf(text, sizeof text, "tree %d: %.4g%s", i, (double)d->p->trees[i].weight * unit / giga,
                 giga > 1 ? " GB/s" : " links");
        tutti_svg_text(LEGEND_X + 26, y, "", text, d->out);
    }
    if (d->p->ntrees <= MAX_LEGEND) return;
    snprintf(text, sizeof text, "and %d more", d->p->ntrees - MAX_LEGEND);
    tutti_svg_text(LEGEND_X + 26, 90 + 17.0 * MAX_LEGEND, "class=\"quiet\"", text, d->out);
}

void tutti_packing_chart(const tutti_packing *p, const tutti_network *g, char (*names)[40], const char *title,
                         tutti_strbuf *out)
{
    drawing d = {.p = p, .g = g, .out = out};
    double widest = 1;
    d.at = tutti_alloc((size_t)p->nranks * sizeof *d.at);
    place(&d, names);
    for (int32_t u = 0; u < p->nranks; u++)
        for (int32_t v = u + 1; v < p->nranks; v++) widest = fmax(widest, weight_between(&d, u, v, p->ntrees));
    d.per_weight = (g->nnodes == g->nranks ? 30.0 : 60.0 / p->nranks) / widest;
    tutti_svg_begin(WIDTH, HEIGHT, out);
    tutti_svg_text(24, 32, "class=\"title\"", title, out);
    if (g->nnodes == g->nranks) draw_links(&d);
    for (int32_t i = 0; i < p->ntrees; i++) draw_tree(&d, i);
    draw_ranks(&d, names);
    draw_legend(&d);
    tutti_svg_end(out);
    free(d.at);
}
