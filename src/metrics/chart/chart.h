/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h: charts as SVG text, without fonts or scripts from elsewhere: lines on a page of their own, three panels at most, one above the
 * other, with a common x axis; lines with bands and stacked bars inside a page of HTML, which has the legend. Pure: the same series give the same bytes. Threads: shared. */
#ifndef TUTTI_CHART_H
#define TUTTI_CHART_H

#include <stdbool.h>

#include "../../base/text/strbuf.h"

typedef struct {
    const char *name;
    const double *x, *y; /* n points, x growing; what is not finite is left out */
    int n;
    bool points; /* draw dots too, and label the last one */
    bool pale;   /* a thin light line, for numbers whose mean is drawn too */
    bool steps;  /* a number holds until the next */
} tutti_chart_series;

typedef struct {
    const char *title; /* of the y axis */
    const tutti_chart_series *series;
    int nseries;
    double least_range; /* y goes over at least this much, up from the top; 0 = over the values */
    int height;         /* of the panel in pixels; 0 = 250 */
} tutti_chart_panel;

/* At most 4 series a panel (they differ in colour; a pale one has that of the one before). Series without points are named but not drawn. y begins at 0 where no value is
 * below 0 and the least is below half of the most. */
void tutti_chart_svg(const char *title, const char *x_title, const tutti_chart_panel *panels, int npanels,
                     tutti_strbuf *out);

/* The mean of each point and its neighbours, those within n/12 of it on both sides, what is not finite left out; NAN where there is none. */
void tutti_chart_smooth(const double *y, int n, double *out);

/* ---- inside a page of HTML: narrow, so that words can be read on a telephone ---- */

/* A mean with the least and the most around it. */
typedef struct {
    const char *name;
    const double *x, *mean, *least, *most; /* n points, x growing */
    int n;
} tutti_chart_band;

/* Band i is drawn like tutti_chart_mark(i). guide: a level across, NAN = none. by_powers: y goes by powers of ten; what is not above 0 lies
 * on the lowest level. */
void tutti_chart_bands_svg(const char *title, const char *x_title, const tutti_chart_band *bands, int nbands,
                           double guide, bool by_powers, tutti_strbuf *out);

typedef struct {
    const char *name;
    const double *part; /* nparts lengths of 0 or more, one behind the other */
} tutti_chart_bar;

/* Part i has the colour of tutti_svg_colour(i). */
void tutti_chart_bars_svg(const char *title, const char *x_title, const tutti_chart_bar *bars, int nbars,
                          const char *const *parts, int nparts, tutti_strbuf *out);

/* For a legend, as HTML: the line of band i, the square of part i. Lines that share a colour differ in their dashes. */
void tutti_chart_mark(int i, tutti_strbuf *out);
void tutti_chart_square(int i, tutti_strbuf *out);

#endif
