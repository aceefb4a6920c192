/* SPDX-License-Identifier: Apache-2.0 */
/* times_chart.c: draws times over sizes, both axes logarithmic, so that fixed cost appears as a level line and cost per
 * byte as a slope. */
#include "chart.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"

enum {
    WIDTH = 900,
    HEIGHT = 560,
    LEFT = 70,
    RIGHT = 200,
    TOP = 56,
    BOTTOM = 56,
    LEGEND_ROW = 18,
    LABELS = 8,
    NDASHES = 3
};

typedef struct {
    const tutti_times_chart *c;
    double x0, x1, y0, y1; /* logarithms of the axes' ranges */
    tutti_strbuf *out;
} picture;

static double at_x(const picture *p, double bytes)
{
    return LEFT + (log10(bytes) - p->x0) / (p->x1 - p->x0) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const picture *p, double seconds)
{
    return HEIGHT - BOTTOM - (log10(seconds) - p->y0) / (p->y1 - p->y0) * (HEIGHT - TOP - BOTTOM);
}

static void take_ranges(picture *p)
{
    const tutti_times_chart *c = p->c;
    double low = INFINITY, high = -INFINITY;
    for (int k = 0; k < c->ncurves; k++)
        for (int i = 0; i < c->nsizes; i++) {
            const double y = c->curves[k].seconds[i];
            if (!(y > 0) || !isfinite(y)) continue;
            low = fmin(low, log10(y));
            high = fmax(high, log10(y));
        }
    p->x0 = log10(c->bytes[0]);
    p->x1 = log10(c->bytes[c->nsizes - 1]);
    if (p->x1 <= p->x0) p->x1 = p->x0 + 1;
    p->y0 = low <= high ? floor(low) : -6;
    p->y1 = low <= high ? ceil(high) : 0;
    if (p->y1 <= p->y0) p->y1 = p->y0 + 1;
}

/* Writes "64 B", "1 MiB", "102.4 kB": in powers of 1,024 if that gives a whole number. */
static void size_words(double bytes, char *out)
{
    static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB"}, *const decimal[] = {"B", "kB", "MB", "GB",
                                                                                               "TB"};
    const double base = bytes >= 1024 && fmod(bytes, 1024) == 0 ? 1024 : 1000;
    int unit = 0;
    while (bytes >= base && unit < 4) bytes /= base, unit++;
    snprintf(out, 24, "%.4g %s", bytes, (base == 1024 ? binary : decimal)[unit]);
}

static void power_words(int power, char out[24])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    const int unit = power < -9 ? 0 : power >= 0 ? 3 : (power + 9) / 3;
    snprintf(out, 24, "%.6g %s", pow(10, power + 9 - 3 * unit), units[unit]);
}

static void draw_axes(const picture *p)
{
    const tutti_times_chart *c = p->c;
    char words[24];
    for (double power = p->y0; power <= p->y1; power++) {
        const double y = at_y(p, pow(10, power));
        tutti_strbuf_printf(p->out, "<path class=\"grid\" d=\"M%d %.1fh%d\"/>\n", LEFT, y, WIDTH - LEFT - RIGHT);
        power_words((int)power, words);
        tutti_svg_text(LEFT - 8, y + 4, "text-anchor=\"end\"", words, p->out);
    }
    const int every = (c->nsizes + LABELS - 1) / LABELS;
    for (int i = 0; i < c->nsizes; i += every) {
        tutti_strbuf_printf(p->out, "<path class=\"axis\" d=\"M%.1f %dv5\"/>\n", at_x(p, c->bytes[i]), HEIGHT - BOTTOM);
        size_words(c->bytes[i], words);
        tutti_svg_text(at_x(p, c->bytes[i]), HEIGHT - BOTTOM + 19, "text-anchor=\"middle\"", words, p->out);
    }
    tutti_strbuf_printf(p->out, "<path class=\"axis\" d=\"M%d %dV%dh%d\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
                        WIDTH - LEFT - RIGHT);
    tutti_svg_text(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, HEIGHT - 14, "text-anchor=\"middle\"",
                   "bytes of the vector on each rank", p->out);
}

/* Draws the points that a curve has. */
static void draw_line(const picture *p, const tutti_times_curve *curve, const char *attributes)
{
    char letter = 'M';
    tutti_strbuf_printf(p->out, "<path fill=\"none\" %s d=\"", attributes);
    for (int i = 0; i < p->c->nsizes; i++) {
        if (!(curve->seconds[i] > 0) || !isfinite(curve->seconds[i])) continue;
        tutti_strbuf_printf(p->out, "%c%.1f %.1f", letter, at_x(p, p->c->bytes[i]), at_y(p, curve->seconds[i]));
        letter = 'L';
    }
    tutti_strbuf_puts(p->out, "\"/>\n");
}

static void style_of(int k, double width, char out[120])
{
    static const char *const dashes[NDASHES] = {"", " stroke-dasharray=\"7 3\"", " stroke-dasharray=\"2 3\""};
    snprintf(out, 120, "stroke=\"%s\" stroke-width=\"%.1f\"%s", tutti_svg_colour(k), width,
             dashes[k / TUTTI_SVG_NCOLOURS % NDASHES]);
}

/* Draws a broad line below the curves, through the time of the chosen curve at each size. */
static void draw_choice(const picture *p)
{
    const tutti_times_chart *c = p->c;
    double *seconds = tutti_alloc(sizeof *seconds * (size_t)c->nsizes);
    for (int i = 0; i < c->nsizes; i++) seconds[i] = c->chosen[i] < 0 ? 0 : c->curves[c->chosen[i]].seconds[i];
    const tutti_times_curve choice = {"", seconds};
    draw_line(p, &choice, "stroke=\"#ffd54a\" stroke-width=\"9\" stroke-linecap=\"round\" stroke-linejoin=\"round\"");
    free(seconds);
}

static bool is_chosen(const tutti_times_chart *c, int k)
{
    for (int i = 0; i < c->nsizes; i++)
        if (c->chosen[i] == k) return true;
    return false;
}

/* Draws the legend, slowest first, in the order of the curves' right ends. */
static void draw_legend(const picture *p)
{
    const tutti_times_chart *c = p->c;
    bool *named = tutti_alloc(sizeof *named * (size_t)(c->ncurves + 1));
    for (int row = 0; row < c->ncurves; row++) {
        int most = -1;
        for (int k = 0; k < c->ncurves; k++)
            if (!named[k] && (most < 0 || c->curves[k].seconds[c->nsizes - 1] > c->curves[most].seconds[c->nsizes - 1]))
                most = k;
        named[most] = true;
        const double x = WIDTH - RIGHT + 18, y = TOP + 12 + LEGEND_ROW * row;
        char style[120];
        style_of(most, 2.2, style);
        tutti_strbuf_printf(p->out, "<path %s d=\"M%.1f %.1fh24\"/>\n", style, x, y - 4);
        tutti_svg_text(x + 32, y, is_chosen(c, most) ? "class=\"title\"" : "", c->curves[most].name, p->out);
    }
    free(named);
}

void tutti_times_chart_svg(const tutti_times_chart *c, tutti_strbuf *out)
{
    picture p = {.c = c, .out = out};
    const int legend = TOP + LEGEND_ROW * (c->ncurves + 1), height = legend > HEIGHT ? legend : HEIGHT;
    char style[120];
    take_ranges(&p);
    tutti_svg_begin(WIDTH, height, out);
    tutti_svg_text(LEFT, 22, "class=\"title\" font-size=\"14\"", c->title, out);
    tutti_svg_text(LEFT, 40, "class=\"quiet\"", "predicted time; the broad line and bold names: what is chosen", out);
    draw_axes(&p);
    draw_choice(&p);
    for (int k = 0; k < c->ncurves; k++) {
        style_of(k, 1.6, style);
        tutti_strbuf_puts(out, "<g><title>");
        tutti_svg_escape(c->curves[k].name, out);
        tutti_strbuf_puts(out, "</title>");
        draw_line(&p, &c->curves[k], style);
        tutti_strbuf_puts(out, "</g>\n");
    }
    if (c->at > 0) {
        size_words(c->at, style);
        tutti_strbuf_printf(out, "<path stroke=\"#222\" stroke-dasharray=\"3 3\" d=\"M%.1f %dV%d\"/>\n",
                            at_x(&p, c->at), TOP, HEIGHT - BOTTOM);
        tutti_svg_text(at_x(&p, c->at) - 5, TOP + 10, "text-anchor=\"end\"", style, out);
    }
    draw_legend(&p);
    tutti_svg_end(out);
}
