/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h: charts as SVG text, without fonts or scripts from elsewhere: lines on a page of their own, three panels at
 * most, one above the other, with a common x axis; lines with bands and stacked bars inside a page of HTML, which has
 * the legend. Pure: the same series give the same bytes. Threads: shared. */
#ifndef TUTTI_CHART_H
#define TUTTI_CHART_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/text/strbuf.h"
#include "../trace.h"

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

/* At most 4 series a panel (they differ in colour; a pale one has that of the one before). Series without points are
 * named but not drawn. y begins at 0 where no value is below 0 and the least is below half of the most. */
void tutti_chart_svg(const char *title, const char *x_title, const tutti_chart_panel *panels, int npanels,
                     tutti_strbuf *out);

/* The mean of each point and its neighbours, those within n/12 of it on both sides, what is not finite left out; NAN
 * where there is none. */
void tutti_chart_smooth(const double *y, int n, double *out);

/* ---- inside a page of HTML: narrow, so that words can be read on a telephone ---- */

/* A mean with the least and the most around it. */
typedef struct {
    const char *name;
    const double *x, *mean, *least, *most; /* n points, x growing */
    int n;
} tutti_chart_band;

/* Band i is drawn like tutti_chart_mark(i). guide: a level across, NAN = none. by_powers: y goes by powers of ten; what
 * is not above 0 lies on the lowest level. */
typedef struct {
    const char *title, *x_title;
    const tutti_chart_band *bands;
    int nbands;
    double guide;
    bool by_powers;
} tutti_chart_bands;
void tutti_chart_bands_svg(const tutti_chart_bands *c, tutti_strbuf *out);

typedef struct {
    const char *name;
    const double *part; /* nparts lengths of 0 or more, one behind the other */
} tutti_chart_bar;

/* Part i, called parts[i], has the colour of tutti_svg_colour(i). */
typedef struct {
    const char *title, *x_title;
    const tutti_chart_bar *bars;
    int nbars;
    const char *const *parts;
    int nparts;
} tutti_chart_bars;
void tutti_chart_bars_svg(const tutti_chart_bars *c, tutti_strbuf *out);

/* For a legend, as HTML: the line of band i, the square of part i. Lines that share a colour differ in their dashes. */
void tutti_chart_mark(int i, tutti_strbuf *out);
void tutti_chart_square(int i, tutti_strbuf *out);

/* What our pictures share: a white page, text, numbers, colours; no fonts or scripts from elsewhere. Threads:
 * shared. */

enum { TUTTI_SVG_NCOLOURS = 10 };
const char *tutti_svg_colour(int i); /* i mod 10 */

void tutti_svg_begin(int width, int height, tutti_strbuf *out);
/* A picture inside a page of HTML, as wide as its place; .grid, .axis, .title and .quiet are the page's. words: what it
 * shows. */
void tutti_svg_begin_inline(int width, int height, const char *words, tutti_strbuf *out);
/* The same, stretched to its place in both directions: for what has no words in it. */
void tutti_svg_begin_stretched(int width, int height, const char *words, tutti_strbuf *out);
/* These classes, as CSS. */
const char *tutti_svg_style(void);
void tutti_svg_end(tutti_strbuf *out);
/* attributes: of the element, "" for none; class="title" is bold, class="quiet" grey. */
void tutti_svg_text(double x, double y, const char *attributes, const char *text, tutti_strbuf *out);
void tutti_svg_number(double x, double y, const char *attributes, double value, tutti_strbuf *out);
/* Text of an element or of an attribute in double quotes. */
void tutti_svg_escape(const char *text, tutti_strbuf *out);
/* 1, 2 or 5 times a power of ten, about range / wanted. */
double tutti_svg_tick_step(double range, int wanted);

/* Several curves of one thing as one: their mean, and the least and the most of them, on a common grid. Threads:
 * shared. */

typedef struct {
    const double *x, *y; /* n points, x growing */
    int n;
} tutti_curve;

typedef struct {
    double *x, *mean, *least, *most; /* n points each */
    int n;
} tutti_band;

/* From where every curve has begun to where the last one ends, at up to `most` points: those of the curves where they
 * have the same x, else in equal steps. Between points a curve is a straight line; one that has ended stays at its last
 * point. A curve without points is left out; none: n = 0. */
tutti_band tutti_band_make(const tutti_curve *curves, int ncurves, int most);
void tutti_band_release(tutti_band *b);

/* Which class was taken for which: accuracy by class and the confusion matrix, as text and as a picture. Where classes
 * are many, the worst are shown. Threads: owner. */

/* So many classes are shown all; of more the worst few. */
enum { TUTTI_CONFUSION_ALL = 50, TUTTI_CONFUSION_WORST = 20 };

typedef struct {
    int nclasses;
    const char *const *name; /* of the first nnames classes; may be NULL */
    int nnames;
    int64_t *seen, *right; /* a class, by labels; the caller's, zero at first */
    int64_t *count;        /* nclasses x nclasses, labels by predictions; NULL = accuracy by class alone */
} tutti_confusion;

void tutti_confusion_add(tutti_confusion *c, int label, int predicted);
/* A line a class, the worst first; classes of no samples are left out, in a line that says so. */
void tutti_confusion_accuracy(const tutti_confusion *c, tutti_strbuf *out);
/* Rows are labels, columns predictions; of many classes those of the most frequent mistakes, and a column for all
 * others. */
void tutti_confusion_text(const tutti_confusion *c, tutti_strbuf *out);
void tutti_confusion_svg(const tutti_confusion *c, tutti_strbuf *out);

/* What goes on when, as a strip inside a page of HTML that is as wide as its place, however wide that is: no words in
 * it, so that nothing is stretched but time. Threads: shared. */

typedef struct {
    double begin, end; /* in the unit of the lane's length */
    int colour;        /* tutti_svg_colour */
    const char *words; /* for who points at it */
} tutti_strip_piece;

/* words: what the lane shows. Pieces from 0 to length; what lies outside is cut off. */
void tutti_strip_chart_svg(const char *words, double length, const tutti_strip_piece *pieces, int n, tutti_strbuf *out);

/* A layer trace as a picture: a row a layer, a bar of its forward pass, its backward pass and what its exchange
 * takes, with its share of the sum. Pure: the same rows give the same bytes. Threads: shared. */

/* Long models: the 40 layers that take longest, in the order of the model, and one row for the others. */
void tutti_layer_chart_svg(const char *title, const tutti_layer_cost *layers, int nlayers, tutti_strbuf *out);

/* How much of each ReLU's output is zero, as a picture: a row a ReLU, a bar as of the last test, a mark as of the
 * first. Pure: the same rows give the same bytes. Threads: shared. */

typedef struct {
    const char *name;
    double first, last; /* fractions */
} tutti_sparsity_row;

void tutti_sparsity_chart_svg(const char *title, const tutti_sparsity_row *rows, int nrows, tutti_strbuf *out);

/* Times over sizes by powers of ten, a curve a way to do it, the chosen way marked. Threads: shared. */

typedef struct {
    const char *name;
    const double *seconds; /* one a size; what is not above 0 is left out */
} tutti_times_curve;

typedef struct {
    const char *title;
    const double *bytes; /* nsizes, growing, above 0 */
    int nsizes;
    const tutti_times_curve *curves; /* the legend names them from the slowest at the largest size to the fastest */
    int ncurves;
    const int *chosen; /* the curve at each size; -1 = none */
    double at;         /* a size of its own, in the range: a line up; 0 = none */
} tutti_times_chart;

void tutti_times_chart_svg(const tutti_times_chart *c, tutti_strbuf *out);

#endif
