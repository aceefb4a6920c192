/* SPDX-License-Identifier: Apache-2.0 */
/* chart.c: draws panels with ticks at round numbers. Lines longer than the chart has pixels are thinned to one lowest and one
 * highest point a column, so that spikes stay visible and files stay small. */
#include "chart.h"

#include <math.h>

#include "svg.h"

enum { WIDTH = 820, PANEL = 250, LEFT = 64, RIGHT = 150, TOP = 44, GAP = 34, BOTTOM = 46, LINE = 18, MAX_PANELS = 2 };

typedef struct {
    double x0, x1, y0, y1; /* range of values */
    double left, top, width, height;
} frame;

static void widen(double *low, double *high)
{
    if (*low > *high) {
        *low = 0;
        *high = 1;
    } else if (*low == *high) {
        *high = *low + (*low == 0 ? 1 : fabs(*low) * 0.1);
    }
}

static void take_panel_range(const tutti_chart_panel *panel, frame *f, double *x0, double *x1)
{
    f->y0 = INFINITY;
    f->y1 = -INFINITY;
    for (int s = 0; s < panel->nseries; s++) {
        const tutti_chart_series *series = &panel->series[s];
        for (int i = 0; i < series->n; i++) {
            if (!isfinite(series->y[i])) continue;
            *x0 = fmin(*x0, series->x[i]);
            *x1 = fmax(*x1, series->x[i]);
            f->y0 = fmin(f->y0, series->y[i]);
            f->y1 = fmax(f->y1, series->y[i]);
        }
    }
    widen(&f->y0, &f->y1);
    double step = tutti_svg_tick_step(f->y1 - f->y0, 5);
    f->y0 = floor(f->y0 / step) * step;
    f->y1 = ceil(f->y1 / step) * step;
}

static void take_ranges(const tutti_chart_panel *panels, int npanels, frame *frames)
{
    double x0 = INFINITY, x1 = -INFINITY;
    for (int p = 0; p < npanels; p++) take_panel_range(&panels[p], &frames[p], &x0, &x1);
    widen(&x0, &x1);
    for (int p = 0; p < npanels; p++) {
        frames[p].x0 = x0;
        frames[p].x1 = x1;
        frames[p].left = LEFT;
        frames[p].width = WIDTH - LEFT - RIGHT;
        frames[p].top = TOP + p * (PANEL + GAP);
        frames[p].height = PANEL;
    }
}

static double at_x(const frame *f, double x)
{
    return f->left + (x - f->x0) / (f->x1 - f->x0) * f->width;
}

static double at_y(const frame *f, double y)
{
    return f->top + f->height - (y - f->y0) / (f->y1 - f->y0) * f->height;
}

static void draw_axes(const frame *f, const char *title, bool numbers_below, tutti_strbuf *out)
{
    double base = f->top + f->height, step = tutti_svg_tick_step(f->y1 - f->y0, 5);
    for (double y = f->y0; y <= f->y1 + step / 2; y += step) {
        tutti_strbuf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n", f->left, at_y(f, y), f->width);
        tutti_svg_number(f->left - 8, at_y(f, y) + 4, "text-anchor=\"end\"", fabs(y) < step / 1000 ? 0 : y, out);
    }
    step = tutti_svg_tick_step(f->x1 - f->x0, 7);
    for (double x = ceil(f->x0 / step) * step; x <= f->x1 + step / 1000; x += step) {
        tutti_strbuf_printf(out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>\n", at_x(f, x), base);
        if (numbers_below) tutti_svg_number(at_x(f, x), base + 19, "text-anchor=\"middle\"", x, out);
    }
    tutti_strbuf_printf(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fh%.1f\"/>\n", f->left, f->top, base, f->width);
    tutti_svg_text(f->left, f->top - 8, "class=\"title\"", title, out);
}

/* One lowest and one highest point a pixel column. */
static void draw_line(const frame *f, const tutti_chart_series *s, tutti_strbuf *out)
{
    int column = -1;
    double low = 0, high = 0;
    const char *letter = "M";
    for (int i = 0; i <= s->n; i++) {
        if (i < s->n && !isfinite(s->y[i])) continue;
        int c = i < s->n ? (int)at_x(f, s->x[i]) : -2;
        double y = i < s->n ? at_y(f, s->y[i]) : 0;
        if (c == column) {
            low = fmin(low, y);
            high = fmax(high, y);
            continue;
        }
        if (column >= 0) {
            tutti_strbuf_printf(out, "%s%d %.1f", letter, column, low);
            if (high > low) tutti_strbuf_printf(out, "L%d %.1f", column, high);
            letter = "L";
        }
        column = c;
        low = high = y;
    }
}

/* The number at the end of a line stands below its point and below the legend, which is beside it. */
static void draw_series(const frame *f, const tutti_chart_panel *panel, int index, tutti_strbuf *out)
{
    const tutti_chart_series *s = &panel->series[index];
    const char *colour = tutti_svg_colour(index);
    double legend = f->left + f->width + 24, py = f->top + 14 + LINE * index;
    tutti_strbuf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", legend, py - 9,
                        colour);
    tutti_svg_text(legend + 16, py, "", s->name, out);
    tutti_strbuf_printf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" d=\"", colour);
    draw_line(f, s, out);
    tutti_strbuf_puts(out, "\"/>\n");
    int last = -1;
    for (int i = 0; s->points && i < s->n; i++) {
        if (!isfinite(s->y[i])) continue;
        tutti_strbuf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", at_x(f, s->x[i]),
                            at_y(f, s->y[i]), colour);
        last = i;
    }
    if (last >= 0)
        tutti_svg_number(at_x(f, s->x[last]) + 8, fmax(at_y(f, s->y[last]) + 16, f->top + 14 + LINE * panel->nseries),
                         "class=\"title\"", s->y[last], out);
}

void tutti_chart_svg(const char *title, const char *x_title, const tutti_chart_panel *panels, int npanels,
                     tutti_strbuf *out)
{
    frame frames[MAX_PANELS] = {0};
    if (npanels > MAX_PANELS) npanels = MAX_PANELS;
    take_ranges(panels, npanels, frames);
    int height = TOP + npanels * PANEL + (npanels - 1) * GAP + BOTTOM;
    tutti_svg_begin(WIDTH, height, out);
    tutti_svg_text(WIDTH / 2.0, 18, "class=\"title\" text-anchor=\"middle\" font-size=\"14\"", title, out);
    for (int p = 0; p < npanels; p++) {
        draw_axes(&frames[p], panels[p].title, p == npanels - 1, out);
        for (int s = 0; s < panels[p].nseries; s++) draw_series(&frames[p], &panels[p], s, out);
    }
    tutti_svg_text(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, height - 8, "text-anchor=\"middle\"", x_title, out);
    tutti_svg_end(out);
}
