/* SPDX-License-Identifier: Apache-2.0 */
/* workers_chart.c: draws workers and centre as they move: above, their paths in a plane; below, how far each worker is
 * from the centre.
 *
 * Dots and a line move along by SMIL, which needs no script. Colours are classes of a style sheet that has a light and
 * a dark set of them. Nothing moves for readers who have asked their system for less motion. */
#include "chart.h"

#include <math.h>
#include <stdio.h>

enum {
    WIDTH = 560,
    LEFT = 56,
    RIGHT = 16,
    TOP = 62,
    PLANE = 330,
    GAP = 56,
    BELOW = 150,
    BOTTOM = 52,
    FRAMES = 150, /* greatest number of frames of the motion */
    PAUSE = 8,    /* frames for which the motion stands still at its end */
    POINTS = 600, /* greatest number of points of a line */
    MAX_NAMES = 8
};
static const double FRAME_S = 0.1, LEAST_S = 5;

static const char *const dark[TUTTI_SVG_NCOLOURS] = {
    "#7fb0ff", "#ff9a5c", "#6fd39a", "#cf96ea", "#f0d050", "#4fd3ea", "#ff7fae", "#c79a80", "#bfe06a", "#a9bfce",
};

typedef struct {
    double x0, y0, scale_x, scale_y; /* x0, y0: values at the lower left; scales: pixels a unit */
    double left, bottom;
} frame;

static double at_x(const frame *f, double x)
{
    return f->left + (x - f->x0) * f->scale_x;
}

static double at_y(const frame *f, double y)
{
    return f->bottom - (y - f->y0) * f->scale_y;
}

/* Picks m of n points evenly: returns the index of the i-th picked point. */
static int pick(int i, int m, int n)
{
    return m < 2 ? n - 1 : (int)((int64_t)i * (n - 1) / (m - 1));
}

static int at_most(int n, int most)
{
    return n < most ? n : most;
}

static void begin(int height, const char *title, tutti_strbuf *out)
{
    tutti_strbuf_printf(out,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                        "role=\"img\" font-family=\"sans-serif\" font-size=\"14\">\n<title>",
                        WIDTH, height, WIDTH, height);
    tutti_svg_escape(title, out);
    tutti_strbuf_puts(out, "</title>\n<style>.page{fill:#fff}text{fill:#222}.grid{stroke:#e4e4e4}.axis{stroke:#555}"
                           ".title{font-weight:bold}.way,.line{fill:none;stroke-width:1.6}.way{stroke-opacity:.45}"
                           ".centre{stroke:#111;fill:#111}.way.centre{stroke-width:3;fill:none;stroke-opacity:.8}");
    for (int i = 0; i < TUTTI_SVG_NCOLOURS; i++)
        tutti_strbuf_printf(out, ".s%d{stroke:%s}.f%d{fill:%s}", i, tutti_svg_colour(i), i, tutti_svg_colour(i));
    tutti_strbuf_puts(out, "\n@media (prefers-color-scheme:dark){.page{fill:#15181d}text{fill:#e8e8e8}"
                           ".grid{stroke:#343a42}.axis{stroke:#aaa}.centre{stroke:#fff;fill:#fff}");
    for (int i = 0; i < TUTTI_SVG_NCOLOURS; i++)
        tutti_strbuf_printf(out, ".s%d{stroke:%s}.f%d{fill:%s}", i, dark[i], i, dark[i]);
    tutti_strbuf_printf(out,
                        "}\n@media (prefers-reduced-motion:reduce){.moves{display:none}}</style>\n"
                        "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n",
                        WIDTH, height);
}

/* Appends the class of the centre (i = 0) or of a worker. */
static void put_class(const char *kind, char colour, int i, tutti_strbuf *out)
{
    if (i == 0)
        tutti_strbuf_printf(out, "class=\"%s centre\"", kind);
    else
        tutti_strbuf_printf(out, "class=\"%s %c%d\"", kind, colour, (i - 1) % TUTTI_SVG_NCOLOURS);
}

static void draw_line(const frame *f, const char *kind, int i, const tutti_curve *c, tutti_strbuf *out)
{
    const int m = at_most(c->n, POINTS);
    tutti_strbuf_puts(out, "<path ");
    put_class(kind, 's', i, out);
    for (int p = 0; p < m; p++) {
        const int at = pick(p, m, c->n);
        tutti_strbuf_printf(out, "%s%.1f %.1f", p ? "L" : " d=\"M", at_x(f, c->x[at]), at_y(f, c->y[at]));
    }
    tutti_strbuf_puts(out, "\"/>\n");
}

/* Lists the attribute's value in each frame; the last one stays for the pause. */
static void animate(const char *attribute, const frame *f, double (*place)(const frame *, double), const double *value,
                    int n, tutti_strbuf *out)
{
    const int m = at_most(n, FRAMES);
    const double seconds = fmax(LEAST_S, FRAME_S * (m + PAUSE));
    tutti_strbuf_printf(out, "<animate attributeName=\"%s\" dur=\"%.1fs\" repeatCount=\"indefinite\" values=\"",
                        attribute, seconds);
    for (int i = 0; i < m + PAUSE; i++)
        tutti_strbuf_printf(out, "%s%.1f", i ? ";" : "", place(f, value[pick(i < m ? i : m - 1, m, n)]));
    tutti_strbuf_puts(out, "\"/>");
}

/* Draws a pale dot where the path ends, and another dot that moves along the path to that place. */
static void draw_dot(const frame *f, int i, const tutti_chart_way *w, tutti_strbuf *out)
{
    const double x = at_x(f, w->x[w->n - 1]), y = at_y(f, w->y[w->n - 1]);
    tutti_strbuf_puts(out, "<circle ");
    put_class("end", 'f', i, out);
    tutti_strbuf_printf(out, " fill-opacity=\".5\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n<circle ", x, y);
    put_class("moves", 'f', i, out);
    tutti_strbuf_printf(out, " cx=\"%.1f\" cy=\"%.1f\" r=\"%s\">", x, y, i ? "5" : "7");
    animate("cx", f, at_x, w->x, w->n, out);
    animate("cy", f, at_y, w->y, w->n, out);
    tutti_strbuf_puts(out, "</circle>\n");
}

static void take(double *low, double *high, const double *values, int n)
{
    for (int i = 0; i < n; i++) {
        if (!isfinite(values[i])) continue;
        *low = fmin(*low, values[i]);
        *high = fmax(*high, values[i]);
    }
}

/* Returns the frame of the plane. A unit has the same length on both axes, so that distances in the plane are true. */
static frame frame_of_plane(const tutti_chart_way *ways, int n)
{
    const double width = WIDTH - LEFT - RIGHT;
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
    for (int i = 0; i < n; i++) {
        take(&x0, &x1, ways[i].x, ways[i].n);
        take(&y0, &y1, ways[i].y, ways[i].n);
    }
    const double span = fmax(fmax((x1 - x0) / width, (y1 - y0) / PLANE), 1e-12), scale = 0.92 / span;
    return (frame){.x0 = (x0 + x1 - width / scale) / 2,
                   .y0 = (y0 + y1 - PLANE / scale) / 2,
                   .scale_x = scale,
                   .scale_y = scale,
                   .left = LEFT,
                   .bottom = TOP + PLANE};
}

static frame frame_of_distances(const tutti_chart_way *ways, int n)
{
    double x0 = INFINITY, x1 = -INFINITY, y0 = 0, y1 = 0;
    for (int i = 1; i < n; i++) {
        take(&x0, &x1, ways[i].step, ways[i].n);
        take(&y0, &y1, ways[i].distance, ways[i].n);
    }
    return (frame){.x0 = x0,
                   .scale_x = (WIDTH - LEFT - RIGHT) / fmax(x1 - x0, 1e-12),
                   .scale_y = BELOW / fmax(y1, 1e-12),
                   .left = LEFT,
                   .bottom = TOP + PLANE + GAP + BELOW};
}

static void draw_grid(const frame *f, bool across, double length, double height, tutti_strbuf *out)
{
    const double range = across ? length / f->scale_x : height / f->scale_y, from = across ? f->x0 : f->y0;
    const double step = tutti_svg_tick_step(range, across ? 6 : 4);
    for (double v = ceil(from / step - 1e-9) * step; v <= from + range * (1 + 1e-9); v += step) {
        const double at = fabs(v) < step / 1000 ? 0 : v;
        if (across) {
            tutti_strbuf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fv%.1f\"/>\n", at_x(f, at), f->bottom, -height);
            tutti_svg_number(at_x(f, at), f->bottom + 18, "text-anchor=\"middle\"", at, out);
        } else {
            tutti_strbuf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n", f->left, at_y(f, at), length);
            tutti_svg_number(f->left - 8, at_y(f, at) + 5, "text-anchor=\"end\"", at, out);
        }
    }
}

static void draw_legend(const tutti_chart_way *ways, int n, tutti_strbuf *out)
{
    double x = LEFT;
    for (int i = 0; i < n && i <= MAX_NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, i == MAX_NAMES ? "..." : "%.20s", ways[i].name);
        tutti_strbuf_puts(out, "<circle ");
        put_class("mark", 'f', i, out);
        tutti_strbuf_printf(out, " cx=\"%.1f\" cy=\"43\" r=\"5\"/>\n", x + 5);
        tutti_svg_text(x + 14, 48, "", i && i < MAX_NAMES ? name + sizeof "worker " - 1 : name, out);
        x += i ? 40 : 80;
        if (i == 0 && n > 1) tutti_svg_text(x, 48, "", n > 2 ? "workers" : "worker", out), x += 70;
    }
}

void tutti_workers_chart_svg(const char *title, const tutti_chart_way *ways, int n, tutti_strbuf *out)
{
    const double width = WIDTH - LEFT - RIGHT;
    const frame plane = frame_of_plane(ways, n), distances = frame_of_distances(ways, n);
    begin(TOP + PLANE + GAP + BELOW + BOTTOM, title, out);
    tutti_svg_text(WIDTH / 2.0, 22, "class=\"title\" text-anchor=\"middle\"", title, out);
    draw_legend(ways, n, out);
    draw_grid(&plane, true, width, PLANE, out);
    draw_grid(&plane, false, width, PLANE, out);
    for (int i = n - 1; i >= 0; i--) draw_line(&plane, "way", i, &(tutti_curve){ways[i].x, ways[i].y, ways[i].n}, out);
    for (int i = n - 1; i >= 0; i--) draw_dot(&plane, i, &ways[i], out);
    draw_grid(&distances, true, width, BELOW, out);
    draw_grid(&distances, false, width, BELOW, out);
    for (int i = 1; i < n; i++)
        draw_line(&distances, "line", i, &(tutti_curve){ways[i].step, ways[i].distance, ways[i].n}, out);
    tutti_strbuf_printf(out,
                        "<path class=\"axis moves\" d=\"M0 %.1fv%d\"><animateTransform attributeName=\"transform\" "
                        "type=\"translate\" dur=\"%.1fs\" repeatCount=\"indefinite\" values=\"",
                        distances.bottom, -BELOW, fmax(LEAST_S, FRAME_S * (at_most(ways[0].n, FRAMES) + PAUSE)));
    const int m = at_most(ways[0].n, FRAMES);
    for (int i = 0; i < m + PAUSE; i++)
        tutti_strbuf_printf(out, "%s%.1f", i ? ";" : "",
                            at_x(&distances, ways[0].step[pick(i < m ? i : m - 1, m, ways[0].n)]));
    tutti_strbuf_puts(out, "\"/></path>\n");
    tutti_svg_text(LEFT, TOP + PLANE + GAP - 12, "class=\"title\"", "distance of a worker from the centre", out);
    tutti_svg_text(LEFT + width / 2, TOP + PLANE + GAP + BELOW + BOTTOM - 12, "text-anchor=\"middle\"", "step", out);
    tutti_svg_end(out);
}
