/* SPDX-License-Identifier: Apache-2.0 */
/* layer_chart.c: draws layers.svg: the time of each layer from a layer trace. */
#include "chart.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/sort.h"

enum { WIDTH = 820, LEFT = 190, RIGHT = 96, TOP = 66, ROW = 20, BAR = 12, BOTTOM = 44, MOST_ROWS = 40 };
enum { FORWARD, BACKWARD, COMM };

typedef struct {
    tutti_layer_cost rows[MOST_ROWS + 1];
    int nrows; /* number of rows, including the row for other layers */
    /* the last row is for all other layers; its bar is cut if it is the longest, so that it does not set the scale */
    bool has_others;
    double total_us;
    double us_per_px;
    char others[48];
} picture;

static double whole_us(const tutti_layer_cost *l)
{
    return l->forward_us + l->backward_us + l->comm_us;
}

/* Returns the time above which layers have rows of their own. */
static double threshold(const tutti_layer_cost *layers, int n)
{
    if (n <= MOST_ROWS) return -1;
    double *sorted = tutti_alloc(sizeof *sorted * (size_t)n), at;
    for (int l = 0; l < n; l++) sorted[l] = whole_us(&layers[l]);
    tutti_sort_doubles(sorted, (size_t)n);
    at = sorted[n - 1 - MOST_ROWS];
    free(sorted);
    return at;
}

static void choose_rows(picture *p, const tutti_layer_cost *layers, int n)
{
    const double least = threshold(layers, n);
    tutti_layer_cost others = {0};
    int nothers = 0;
    for (int l = 0; l < n; l++) {
        p->total_us += whole_us(&layers[l]);
        if (whole_us(&layers[l]) > least) {
            p->rows[p->nrows++] = layers[l];
            continue;
        }
        nothers++;
        others.forward_us += layers[l].forward_us;
        others.backward_us += layers[l].backward_us;
        others.comm_us += layers[l].comm_us;
    }
    if (!nothers) return;
    snprintf(p->others, sizeof p->others, "%d other layers", nothers);
    others.name = p->others;
    p->has_others = true;
    p->rows[p->nrows++] = others;
}

static void draw_bar(double x, double y, double width, int height, int colour, tutti_strbuf *out)
{
    if (width > 0)
        tutti_strbuf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", x, y,
                            width, height, tutti_svg_colour(colour));
}

static void draw_row(const picture *p, int row, tutti_strbuf *out)
{
    const tutti_layer_cost *l = &p->rows[row];
    const double most_px = WIDTH - LEFT - RIGHT, scale = fmin(1 / p->us_per_px, most_px / fmax(whole_us(l), 1e-9));
    const bool cut = scale < 0.999 / p->us_per_px; /* true if the bar is too long for the picture, which only the bar of
                                                    * the row `other layers` can be */
    const double us[] = {l->forward_us, l->backward_us, l->comm_us}, y = TOP + ROW * row + 2;
    double x = LEFT;
    char name[40], share[32];
    snprintf(name, sizeof name, "%.28s", l->name);
    snprintf(share, sizeof share, "%.1f %%", p->total_us > 0 ? 100 * whole_us(l) / p->total_us : 0);
    tutti_svg_text(LEFT - 8, y + BAR - 1, "text-anchor=\"end\"", name, out);
    for (int i = FORWARD; i <= COMM; i++) {
        draw_bar(x, y, us[i] * scale, BAR, i, out);
        x += us[i] * scale;
    }
    if (cut) {
        tutti_strbuf_printf(out, "<path stroke=\"#fff\" stroke-width=\"4\" d=\"M%.1f %.1fl-8 %d\"/>\n", x - 18, y - 2,
                            BAR + 4);
        snprintf(share, sizeof share, "%.3g ms, %.1f %%", whole_us(l) / 1000, 100 * whole_us(l) / p->total_us);
    }
    tutti_svg_text(x + 6, y + BAR - 1, "class=\"quiet\" font-size=\"11\"", share, out);
}

static void draw_grid(const picture *p, double most_us, tutti_strbuf *out)
{
    const double ms_per_px = p->us_per_px / 1000, step = tutti_svg_tick_step(most_us / 1000, 6);
    const double bottom = TOP + ROW * p->nrows;
    for (int i = 0; i * step <= most_us / 1000 * 1.0001; i++) {
        const double x = LEFT + i * step / ms_per_px;
        tutti_strbuf_printf(out, "<path class=\"grid\" d=\"M%.1f %dV%.1f\"/>\n", x, TOP - 4, bottom);
        tutti_svg_number(x, bottom + 16, "text-anchor=\"middle\"", i * step, out);
    }
    tutti_svg_text(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 36, "text-anchor=\"middle\"",
                   p->has_others ? "milliseconds of a step; %: share of all layers; the last bar is cut"
                                 : "milliseconds of a step; %: share of all layers",
                   out);
}

static void draw_legend(bool exchanges, tutti_strbuf *out)
{
    static const char *const names[] = {"forward", "backward", "exchange"};
    double x = LEFT;
    for (int i = FORWARD; i <= (exchanges ? COMM : BACKWARD); i++) {
        draw_bar(x, 34, 10, 10, i, out);
        tutti_svg_text(x + 16, 43, "", names[i], out);
        x += i == FORWARD ? 84 : 94;
    }
}

void tutti_layer_chart_svg(const char *title, const tutti_layer_cost *layers, int nlayers, tutti_strbuf *out)
{
    picture p = {0};
    double most_us = 0;
    bool exchanges = false;
    choose_rows(&p, layers, nlayers);
    for (int r = 0; r < p.nrows - p.has_others; r++) {
        most_us = fmax(most_us, whole_us(&p.rows[r]));
        exchanges |= p.rows[r].comm_us > 0;
    }
    if (!(most_us > 0)) most_us = 1;
    p.us_per_px = most_us / (WIDTH - LEFT - RIGHT);
    tutti_svg_begin(WIDTH, TOP + ROW * p.nrows + BOTTOM, out);
    tutti_svg_text(WIDTH / 2.0, 18, "class=\"title\" text-anchor=\"middle\" font-size=\"14\"", title, out);
    draw_legend(exchanges, out);
    draw_grid(&p, most_us, out);
    for (int r = 0; r < p.nrows; r++) draw_row(&p, r, out);
    tutti_svg_end(out);
}
