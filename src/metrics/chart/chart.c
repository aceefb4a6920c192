/* SPDX-License-Identifier: Apache-2.0 */
/* chart.c: draws line charts as SVG: panels with ticks at round numbers. Lines with more points than the chart has
 * pixels keep one lowest and one highest point in each pixel column, so that spikes stay visible and files stay
 * small. */
#include "chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"

enum {
    WIDTH = 820,
    PANEL = 250,
    LEFT = 64,
    RIGHT = 150,
    TOP = 44,
    GAP = 34,
    BOTTOM = 46,
    LINE = 18,
    MAX_PANELS = 3,
    SMOOTH = 12
};
/* Sizes of charts inside a page. */
enum { NARROW = 400, LOW = 210, MARGIN = 42, EDGE = 14, BAR_ROW = 38, BAR = 14, BAR_NUMBER = 44, A_TICK = 80 };

typedef struct {
    double x0, x1, y0, y1; /* ranges of the axes */
    double left, top, width, height;
    bool by_powers; /* the y axis is logarithmic: y0, y1 are logarithms */
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
    if (f->y0 > 0 && f->y0 < f->y1 / 2) f->y0 = 0;
    if (f->y1 >= f->y0 && f->y1 - f->y0 < panel->least_range) f->y0 = f->y1 - panel->least_range;
    widen(&f->y0, &f->y1);
    for (int again = 0; again < 2; again++) { /* twice: rounding widens the range, which may need longer steps */
        const double step = tutti_svg_tick_step(f->y1 - f->y0, 5);
        f->y0 = floor(f->y0 / step + 1e-9) * step;
        f->y1 = ceil(f->y1 / step - 1e-9) * step;
    }
}

static void take_ranges(const tutti_chart_panel *panels, int npanels, frame *frames)
{
    double x0 = INFINITY, x1 = -INFINITY;
    for (int p = 0; p < npanels; p++) take_panel_range(&panels[p], &frames[p], &x0, &x1);
    widen(&x0, &x1);
    double top = TOP;
    for (int p = 0; p < npanels; p++) {
        frames[p].x0 = x0;
        frames[p].x1 = x1;
        frames[p].left = LEFT;
        frames[p].width = WIDTH - LEFT - RIGHT;
        frames[p].top = top;
        frames[p].height = panels[p].height ? panels[p].height : PANEL;
        top += frames[p].height + GAP;
    }
}

static double at_x(const frame *f, double x)
{
    return f->left + (x - f->x0) / (f->x1 - f->x0) * f->width;
}

static double at_y(const frame *f, double value)
{
    const double y = !f->by_powers ? value : value > 0 ? fmax(log10(value), f->y0) : f->y0;
    return f->top + f->height - (y - f->y0) / (f->y1 - f->y0) * f->height;
}

static void draw_level(const frame *f, double y, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n", f->left, at_y(f, y), f->width);
    tutti_svg_number(f->left - 8, at_y(f, y) + 4, "text-anchor=\"end\"", y, out);
}

static void draw_levels(const frame *f, tutti_strbuf *out)
{
    static const double digits[] = {1, 2, 5};
    const double step = tutti_svg_tick_step(f->y1 - f->y0, 5);
    for (double y = f->y0; !f->by_powers && y <= f->y1 + step / 1000; y += step)
        draw_level(f, fabs(y) < step / 1000 ? 0 : y, out);
    for (double power = floor(f->y0); f->by_powers && power <= f->y1; power++)
        for (int i = 0; i < 3; i++) {
            const double at = power + log10(digits[i]);
            if (at > f->y0 - 1e-9 && at < f->y1 + 1e-9) draw_level(f, digits[i] * pow(10, power), out);
        }
}

static void draw_axes(const frame *f, const char *title, bool numbers_below, tutti_strbuf *out)
{
    double base = f->top + f->height, step;
    draw_levels(f, out);
    step = tutti_svg_tick_step(f->x1 - f->x0, (int)f->width / A_TICK);
    for (double x = ceil(f->x0 / step) * step; x <= f->x1 + step / 1000; x += step) {
        tutti_strbuf_printf(out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>\n", at_x(f, x), base);
        if (numbers_below) tutti_svg_number(at_x(f, x), base + 19, "text-anchor=\"middle\"", x, out);
    }
    tutti_strbuf_printf(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fh%.1f\"/>\n", f->left, f->top, base, f->width);
    tutti_svg_text(f->left, f->top - 8, "class=\"title\"", title, out);
}

/* Draws a line through the lowest and the highest point of each pixel column. */
static void draw_line(const frame *f, const tutti_chart_series *s, tutti_strbuf *out)
{
    int column = -1;
    double low = 0, high = 0, last = 0;
    const char *letter = "M";
    for (int i = 0; i <= s->n; i++) {
        if (i < s->n && !isfinite(s->y[i])) continue;
        int c = i < s->n ? (int)at_x(f, s->x[i]) : -2;
        double y = i < s->n ? at_y(f, s->y[i]) : 0;
        if (c == column) {
            low = fmin(low, y);
            high = fmax(high, y);
            last = y;
            continue;
        }
        if (column >= 0) {
            tutti_strbuf_printf(out, "%s%d %.1f", letter, column, low);
            if (high > low) tutti_strbuf_printf(out, "L%d %.1f", column, high);
            letter = "L";
            if (s->steps && c >= 0) tutti_strbuf_printf(out, "L%d %.1fL%d %.1f", column, last, c, last);
        }
        column = c;
        low = high = last = y;
    }
}

/* Draws the number at the end of a line inside the plot, above its point or, at the top, below it. */
static void draw_end(const frame *f, double x, double y, tutti_strbuf *out)
{
    char words[24];
    const double py = at_y(f, y);
    snprintf(words, sizeof words, fabs(y) < 9999.5 ? "%.4g" : "%.0f", y);
    tutti_svg_text(at_x(f, x) - 4, py - f->top > LINE + 6 ? py - 8 : py + LINE, "class=\"title\" text-anchor=\"end\"",
                   words, out);
}

static void draw_series(const frame *f, const tutti_chart_panel *panel, int index, tutti_strbuf *out)
{
    const tutti_chart_series *s = &panel->series[index];
    const char *colour = tutti_svg_colour(index - (s->pale && index)),
               *look = s->pale ? " stroke-opacity=\"0.35\"" : "";
    double legend = f->left + f->width + 24, py = f->top + 14 + LINE * index;
    tutti_strbuf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"%s/>\n", legend, py - 9,
                        colour, s->pale ? " fill-opacity=\"0.35\"" : "");
    tutti_svg_text(legend + 16, py, "", s->name, out);
    tutti_strbuf_printf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s d=\"", colour,
                        s->pale ? "1" : "1.6", look);
    if (!s->marks) draw_line(f, s, out);
    tutti_strbuf_puts(out, "\"/>\n");
    int last = -1;
    for (int i = 0; (s->points || s->marks) && i < s->n; i++) {
        if (!isfinite(s->y[i])) continue;
        tutti_strbuf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", at_x(f, s->x[i]),
                            at_y(f, s->y[i]), colour);
        last = i;
    }
    if (last >= 0 && !s->marks) draw_end(f, s->x[last], s->y[last], out);
}

void tutti_chart_smooth(const double *y, int n, double *out)
{
    const int reach = n / SMOOTH;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        int count = 0;
        for (int k = i - reach < 0 ? 0 : i - reach; k < n && k <= i + reach; k++)
            if (isfinite(y[k])) sum += y[k], count++;
        out[i] = count ? sum / count : (double)NAN;
    }
}

void tutti_chart_svg(const char *title, const char *x_title, const tutti_chart_panel *panels, int npanels,
                     tutti_strbuf *out)
{
    frame frames[MAX_PANELS] = {0};
    if (npanels > MAX_PANELS) npanels = MAX_PANELS;
    take_ranges(panels, npanels, frames);
    const frame *lowest = &frames[npanels - 1];
    const int height = (int)(lowest->top + lowest->height) + BOTTOM;
    tutti_svg_begin(WIDTH, height, out);
    tutti_svg_text(WIDTH / 2.0, 18, "class=\"title\" text-anchor=\"middle\" font-size=\"14\"", title, out);
    for (int p = 0; p < npanels; p++) {
        draw_axes(&frames[p], panels[p].title, p == npanels - 1, out);
        for (int s = 0; s < panels[p].nseries; s++) draw_series(&frames[p], &panels[p], s, out);
    }
    tutti_svg_text(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, height - 8, "text-anchor=\"middle\"", x_title, out);
    tutti_svg_end(out);
}

/* ---- charts inside a page ---- */

static const char *dashes_of(int i)
{
    static const char *const dashes[] = {"", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 3\""};
    return dashes[i / TUTTI_SVG_NCOLOURS % (int)(sizeof dashes / sizeof *dashes)];
}

/* Draws all points, because there are few. */
static void draw_curve(const frame *f, const double *x, const double *y, int n, int step, tutti_strbuf *out)
{
    for (int i = step > 0 ? 0 : n - 1; i >= 0 && i < n; i += step)
        tutti_strbuf_printf(out, "L%.1f %.1f", at_x(f, x[i]), at_y(f, y[i]));
}

static void draw_band(const frame *f, const tutti_chart_band *b, int index, tutti_strbuf *out)
{
    const char *colour = tutti_svg_colour(index);
    if (!b->n) return;
    tutti_strbuf_puts(out, "<g><title>");
    tutti_svg_escape(b->name, out);
    tutti_strbuf_printf(out, "</title><path fill=\"%s\" fill-opacity=\"0.16\" d=\"M%.1f %.1f", colour, at_x(f, b->x[0]),
                        at_y(f, b->most[0]));
    draw_curve(f, b->x, b->most, b->n, 1, out);
    draw_curve(f, b->x, b->least, b->n, -1, out);
    tutti_strbuf_printf(out, "z\"/>\n<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"%s d=\"M%.1f %.1f", colour,
                        dashes_of(index), at_x(f, b->x[0]), at_y(f, b->mean[0]));
    draw_curve(f, b->x, b->mean, b->n, 1, out);
    tutti_strbuf_printf(out, "\"/>\n<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/></g>\n",
                        at_x(f, b->x[b->n - 1]), at_y(f, b->mean[b->n - 1]), colour);
}

/* Sets the range to powers of ten times 1, 2 or 5, around all values above 0. */
static void take_powers(const tutti_chart_series *all, int n, frame *f)
{
    static const double digits[] = {0, 0.30102999566398120, 0.69897000433601880, 1}; /* log10 of 1, 2, 5, 10 */
    double low = INFINITY, high = -INFINITY;
    for (int s = 0; s < n; s++)
        for (int i = 0; i < all[s].n; i++) {
            const double y = all[s].y[i] > 0 ? log10(all[s].y[i]) : (double)NAN;
            low = fmin(low, y);
            high = fmax(high, y);
        }
    if (!(low < high)) high = (low = isfinite(low) ? floor(low) : 0) + 1;
    f->by_powers = true;
    f->y0 = floor(low), f->y1 = floor(high);
    for (int i = 0; i < 4; i++)
        if (floor(low) + digits[i] <= low) f->y0 = floor(low) + digits[i];
    for (int i = 3; i >= 0; i--)
        if (floor(high) + digits[i] >= high) f->y1 = floor(high) + digits[i];
}

/* Returns the frame that shows all bands and the guide. */
static frame frame_of(const tutti_chart_bands *c)
{
    frame f = {0};
    tutti_chart_series *all = tutti_alloc(sizeof *all * (size_t)(2 * c->nbands + 1));
    double x0 = INFINITY, x1 = -INFINITY;
    for (int b = 0; b < c->nbands; b++) {
        all[2 * b] =
            (tutti_chart_series){c->bands[b].name, c->bands[b].x, c->bands[b].least, c->bands[b].n, .points = false};
        all[2 * b + 1] =
            (tutti_chart_series){c->bands[b].name, c->bands[b].x, c->bands[b].most, c->bands[b].n, .points = false};
    }
    if (isfinite(c->guide) && c->nbands && c->bands[0].n)
        all[2 * c->nbands] = (tutti_chart_series){"", c->bands[0].x, &c->guide, 1, .points = false};
    const tutti_chart_panel panel = {.title = "", .series = all, .nseries = 2 * c->nbands + 1};
    take_panel_range(&panel, &f, &x0, &x1);
    if (c->by_powers) take_powers(all, 2 * c->nbands + 1, &f);
    widen(&x0, &x1);
    f.x0 = fmin(x0, 0);
    f.x1 = x1;
    f.left = MARGIN;
    f.width = NARROW - MARGIN - EDGE;
    f.top = LINE + EDGE;
    f.height = LOW;
    free(all);
    return f;
}

void tutti_chart_bands_svg(const tutti_chart_bands *c, tutti_strbuf *out)
{
    const frame f = frame_of(c);
    const int height = (int)f.top + LOW + BOTTOM;
    tutti_svg_begin_inline(NARROW, height, c->title, out);
    draw_axes(&f, c->title, true, out);
    if (isfinite(c->guide))
        tutti_strbuf_printf(out, "<path class=\"axis\" stroke-dasharray=\"3 3\" d=\"M%.1f %.1fh%.1f\"/>\n", f.left,
                            at_y(&f, c->guide), f.width);
    for (int b = 0; b < c->nbands; b++) draw_band(&f, &c->bands[b], b, out);
    tutti_svg_text(f.left + f.width / 2, height - 8, "text-anchor=\"middle\"", c->x_title, out);
    tutti_svg_end(out);
}

static double length_of(const tutti_chart_bar *bar, int nparts)
{
    double sum = 0;
    for (int p = 0; p < nparts; p++) sum += bar->part[p];
    return sum;
}

/* Draws a bar: the name above, the parts below it, each with its number as a tooltip, and their sum behind them. */
static void draw_bar(const frame *f, const tutti_chart_bar *bar, double y, const char *const *parts, int nparts,
                     tutti_strbuf *out)
{
    double at = 0;
    char words[32];
    snprintf(words, sizeof words, length_of(bar, nparts) < 1000 ? "%.3g" : "%.0f", length_of(bar, nparts));
    tutti_svg_text(f->left, y, "", bar->name, out);
    tutti_svg_text(at_x(f, length_of(bar, nparts)) + 6, y + BAR + 2, "", words, out);
    for (int p = 0; p < nparts; at += bar->part[p++]) {
        if (!(bar->part[p] > 0)) continue;
        tutti_strbuf_printf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>",
                            at_x(f, at), y + 5, at_x(f, bar->part[p]) - f->left, BAR, tutti_svg_colour(p));
        tutti_svg_escape(parts[p], out);
        tutti_strbuf_printf(out, " %.4g</title></rect>\n", bar->part[p]);
    }
}

void tutti_chart_bars_svg(const tutti_chart_bars *c, tutti_strbuf *out)
{
    frame f = {.left = EDGE, .width = NARROW - 2 * EDGE - BAR_NUMBER, .top = LINE + EDGE, .height = BAR_ROW * c->nbars};
    const int height = (int)(f.top + f.height) + BOTTOM;
    for (int b = 0; b < c->nbars; b++) f.x1 = fmax(f.x1, length_of(&c->bars[b], c->nparts));
    widen(&f.x0, &f.x1);
    const double step = tutti_svg_tick_step(f.x1, NARROW / A_TICK);
    tutti_svg_begin_inline(NARROW, height, c->title, out);
    tutti_svg_text(f.left, LINE, "class=\"title\"", c->title, out);
    for (double x = 0; x <= f.x1 + step / 1000; x += step) {
        tutti_strbuf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fv%.1f\"/>\n", at_x(&f, x), f.top, f.height);
        tutti_svg_number(at_x(&f, x), f.top + f.height + 16, "text-anchor=\"middle\"", x, out);
    }
    for (int b = 0; b < c->nbars; b++) draw_bar(&f, &c->bars[b], f.top + BAR_ROW * b + EDGE, c->parts, c->nparts, out);
    tutti_svg_text(f.left + f.width / 2, height - 8, "text-anchor=\"middle\"", c->x_title, out);
    tutti_svg_end(out);
}

void tutti_chart_mark(int i, tutti_strbuf *out)
{
    tutti_strbuf_printf(out,
                        "<svg width=\"22\" height=\"10\" aria-hidden=\"true\"><path stroke=\"%s\" stroke-width=\"3\"%s "
                        "d=\"M0 5h22\"/></svg>",
                        tutti_svg_colour(i), dashes_of(i));
}

void tutti_chart_square(int i, tutti_strbuf *out)
{
    tutti_strbuf_printf(out,
                        "<svg width=\"11\" height=\"11\" aria-hidden=\"true\"><path fill=\"%s\" "
                        "d=\"M0 0h11v11H0z\"/></svg>",
                        tutti_svg_colour(i));
}
