/* SPDX-License-Identifier: Apache-2.0 */
/* sparsity_chart.c: draws sparsity.svg: the share of zeros in the output of each ReLU. */
#include "chart.h"

#include <stdio.h>

enum { WIDTH = 820, LEFT = 190, RIGHT = 96, TOP = 66, ROW = 20, BAR = 12, BOTTOM = 44, TICK = 20 };

static double place_of(double fraction)
{
    return LEFT + fraction * (WIDTH - LEFT - RIGHT);
}

static void draw_grid(int nrows, tutti_strbuf *out)
{
    const double bottom = TOP + ROW * nrows;
    for (int percent = 0; percent <= 100; percent += TICK) {
        const double x = place_of(percent / 100.0);
        tutti_strbuf_printf(out, "<path class=\"grid\" d=\"M%.1f %dV%.1f\"/>\n", x, TOP - 4, bottom);
        tutti_svg_number(x, bottom + 16, "text-anchor=\"middle\"", percent, out);
    }
    tutti_svg_text(place_of(0.5), bottom + 36, "text-anchor=\"middle\"", "% of a ReLU's output that are zero", out);
}

static void draw_mark(double x, double y, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "<path stroke=\"%s\" stroke-width=\"2\" d=\"M%.1f %.1fv%d\"/>\n", tutti_svg_colour(1), x,
                        y - 2, BAR + 4);
}

static void draw_bar(double y, double fraction, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT, y,
                        place_of(fraction) - LEFT, BAR, tutti_svg_colour(0));
}

static void draw_row(const tutti_sparsity_row *row, int i, tutti_strbuf *out)
{
    const double y = TOP + ROW * i + 2;
    char name[40], share[32];
    snprintf(name, sizeof name, "%.28s", row->name);
    snprintf(share, sizeof share, "%.1f", 100 * row->last);
    tutti_svg_text(LEFT - 8, y + BAR - 1, "text-anchor=\"end\"", name, out);
    draw_bar(y, row->last, out);
    draw_mark(place_of(row->first), y, out);
    tutti_svg_text(WIDTH - RIGHT + 10, y + BAR - 1, "class=\"quiet\" font-size=\"11\"", share, out);
}

static void draw_legend(tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "<rect x=\"%d\" y=\"34\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", LEFT,
                        tutti_svg_colour(0));
    tutti_svg_text(LEFT + 16, 43, "", "at the last test", out);
    draw_mark(LEFT + 140, 34, out);
    tutti_svg_text(LEFT + 148, 43, "", "at the first", out);
}

void tutti_sparsity_chart_svg(const char *title, const tutti_sparsity_row *rows, int nrows, tutti_strbuf *out)
{
    tutti_svg_begin(WIDTH, TOP + ROW * nrows + BOTTOM, out);
    tutti_svg_text(WIDTH / 2.0, 18, "class=\"title\" text-anchor=\"middle\" font-size=\"14\"", title, out);
    draw_legend(out);
    draw_grid(nrows, out);
    for (int i = 0; i < nrows; i++) draw_row(&rows[i], i, out);
    tutti_svg_end(out);
}
