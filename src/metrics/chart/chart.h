/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h: charts as SVG text, without external fonts or scripts. tutti_chart_svg draws lines as a picture of its own:
 * at most three panels, one above the other, with a common x axis. The other functions draw lines with bands, and
 * stacked bars, inside a page of HTML, which has the legend. Pure: the same series give the same bytes. Threads:
 * shared. */
#ifndef TUTTI_CHART_H
#define TUTTI_CHART_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/text/strbuf.h"
#include "../trace.h"

typedef struct {
    const char *name;
    const double *x, *y; /* n points, x ascending; values that are not finite are left out */
    int n;
    bool points; /* true if dots are drawn too, and the last dot has a label */
    bool pale;   /* true for a thin light line, for values whose mean is drawn too */
    bool steps;  /* true if each value holds until the next point */
    bool marks;  /* true for dots and nothing else, for events */
} tutti_chart_series;

typedef struct {
    const char *title; /* title of the y axis */
    const tutti_chart_series *series;
    int nseries;
    double least_range; /* least length of the y axis, in its unit; 0 = as long as the values need */
    int height;         /* height of the panel in pixels; 0 = 250 */
} tutti_chart_panel;

/* Draws panels, each with at most 4 series. They differ in colour; a pale series has the colour of the series before
 * it. Series without points are named but not drawn. The y axis begins at 0 if no value is below 0 and the least is
 * below half of the most. */
void tutti_chart_svg(const char *title, const char *x_title, const tutti_chart_panel *panels, int npanels,
                     tutti_strbuf *out);

/* Smooths a curve: writes, for each point, the mean of all finite points up to n / 12 points before and after it; NAN
 * if there are none. */
void tutti_chart_smooth(const double *y, int n, double *out);

/* ---- inside a page of HTML: narrow, so that text can be read on a telephone ---- */

/* A mean, with the least and the most value around it. */
typedef struct {
    const char *name;
    const double *x, *mean, *least, *most; /* n points, x ascending */
    int n;
} tutti_chart_band;

/* Draws bands; band i looks like tutti_chart_mark(i). guide: a horizontal line at this level, NAN = none. by_powers:
 * the y axis is logarithmic; values that are not above 0 lie at the bottom. */
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
    const double *part; /* nparts lengths of 0 or more, drawn one after the other */
} tutti_chart_bar;

/* Draws stacked bars. Part i is named parts[i] and has the colour tutti_svg_colour(i). */
typedef struct {
    const char *title, *x_title;
    const tutti_chart_bar *bars;
    int nbars;
    const char *const *parts;
    int nparts;
} tutti_chart_bars;
void tutti_chart_bars_svg(const tutti_chart_bars *c, tutti_strbuf *out);

/* Append the mark for a legend, as HTML: of band i (a line) and of part i (a square). Lines with the same colour differ
 * in their dashes. */
void tutti_chart_mark(int i, tutti_strbuf *out);
void tutti_chart_square(int i, tutti_strbuf *out);

/* Parts of all pictures: a white page, text, numbers, colours; no external fonts or scripts. Threads: any. */

enum { TUTTI_SVG_NCOLOURS = 10 };
const char *tutti_svg_colour(int i); /* returns colour i mod 10 */

void tutti_svg_begin(int width, int height, tutti_strbuf *out);
/* Begins a picture inside a page of HTML, as wide as its place; the page defines the classes .grid, .axis, .title and
 * .quiet. words: a description of the picture. */
void tutti_svg_begin_inline(int width, int height, const char *words, tutti_strbuf *out);
/* Begins a picture that is stretched to its place in both directions: for pictures without text. */
void tutti_svg_begin_stretched(int width, int height, const char *words, tutti_strbuf *out);
/* Returns CSS for the classes that tutti_svg_begin_inline names. */
const char *tutti_svg_style(void);
void tutti_svg_end(tutti_strbuf *out);
/* Appends text. attributes: of the element, "" for none; class="title" is bold, class="quiet" grey. */
void tutti_svg_text(double x, double y, const char *attributes, const char *text, tutti_strbuf *out);
void tutti_svg_number(double x, double y, const char *attributes, double value, tutti_strbuf *out);
/* Appends text, escaped for an element or for an attribute in double quotes. */
void tutti_svg_escape(const char *text, tutti_strbuf *out);
/* Returns a step for ticks: 1, 2 or 5 times a power of ten, about range / wanted. */
double tutti_svg_tick_step(double range, int wanted);

/* Combines several curves of one quantity: their mean, least and most values on a common grid. Threads: any. */

typedef struct {
    const double *x, *y; /* n points, x ascending */
    int n;
} tutti_curve;

typedef struct {
    double *x, *mean, *least, *most; /* n points each */
    int n;
} tutti_band;

/* Makes a band from the x where every curve has begun to the x where the last curve ends, with up to `most` points: the
 * points of the curves if all have the same x, else equal steps. Between points a curve is a straight line; a curve
 * that has ended stays at its last value. Curves without points are left out; without curves n = 0. */
tutti_band tutti_band_make(const tutti_curve *curves, int ncurves, int most);
void tutti_band_release(tutti_band *b);

/* The confusion matrix: how often each class was predicted for each label. It is shown, with the accuracy by class, as
 * text and as a picture. If there are many classes, the worst are shown. Threads: one at a time. */

/* Up to TUTTI_CONFUSION_ALL classes all are shown; of more, only the worst. */
enum { TUTTI_CONFUSION_ALL = 50, TUTTI_CONFUSION_WORST = 20 };

typedef struct {
    int nclasses;
    const char *const *name; /* names of the first nnames classes; may be NULL */
    int nnames;
    int64_t *seen, *right; /* samples of each class (label), and how many of these were right; the caller's memory, zero
                            * at first */
    int64_t *count;        /* nclasses x nclasses, labels by predictions; NULL = only accuracy by class */
} tutti_confusion;

void tutti_confusion_add(tutti_confusion *c, int label, int predicted);
/* Appends a line for each class, the worst first; a last line names the number of classes without samples, which are
 * left out. */
void tutti_confusion_accuracy(const tutti_confusion *c, tutti_strbuf *out);
/* Appends the matrix: rows are labels, columns predictions. If there are many classes, it has those of the most
 * frequent mistakes, and one column for all others. */
void tutti_confusion_text(const tutti_confusion *c, tutti_strbuf *out);
void tutti_confusion_svg(const tutti_confusion *c, tutti_strbuf *out);

/* Spans of time as a strip inside a page of HTML, as wide as its place. It has no text, so that stretching changes
 * nothing but the scale of time. Threads: any. */

typedef struct {
    double begin, end; /* when the piece begins and ends, in the unit of `length` */
    int colour;        /* index for tutti_svg_colour */
    const char *words; /* text that is shown when the mouse points at the piece */
} tutti_strip_piece;

/* Draws a strip. words: a description of what the strip shows. Pieces lie from 0 to length; parts of them outside of
 * this range are cut off. */
void tutti_strip_chart_svg(const char *words, double length, const tutti_strip_piece *pieces, int n, tutti_strbuf *out);

/* A layer trace as a picture: a row for each layer, with a bar of its forward pass, its backward pass and its exchange,
 * and its share of the sum. Pure: the same rows give the same bytes. Threads: any. */

/* Draws the picture. Of a long model it shows the 40 layers that take longest, in the order of the model, and one row
 * for the other layers. */
void tutti_layer_chart_svg(const char *title, const tutti_layer_cost *layers, int nlayers, tutti_strbuf *out);

/* A picture of how much of each ReLU's output is zero: a row for each ReLU, with a bar for the last test and a mark for
 * the first. Pure: the same rows give the same bytes. Threads: any. */

typedef struct {
    const char *name;
    double first, last; /* fractions of the output that are zero */
} tutti_sparsity_row;

void tutti_sparsity_chart_svg(const char *title, const tutti_sparsity_row *rows, int nrows, tutti_strbuf *out);

/* Workers and their centre as they move: a picture of its own, in light and dark, animated unless the reader's system
 * asks for less motion. Pure: the same paths give the same bytes. Threads: any. */

typedef struct {
    const char *name;           /* name in the legend: "centre", "worker 0" */
    const double *step, *x, *y; /* n points: steps, ascending, and the place in a plane at each step */
    const double *distance;     /* distance from the centre at each step; NULL for the centre itself */
    int n;                      /* number of points, 1 or more, the same for all ways */
} tutti_chart_way;

/* Draws the paths `ways`: the centre's, then those of the n - 1 workers. */
void tutti_workers_chart_svg(const char *title, const tutti_chart_way *ways, int n, tutti_strbuf *out);

/* Times over sizes on logarithmic axes: a curve for each algorithm, and a mark on the algorithm that was chosen at each
 * size. Threads: any. */

typedef struct {
    const char *name;
    const double *seconds; /* one time for each size; values that are not above 0 are left out */
} tutti_times_curve;

typedef struct {
    const char *title;
    const double *bytes; /* the nsizes sizes on the x axis, in bytes, ascending, above 0 */
    int nsizes;
    const tutti_times_curve *curves; /* the curves; the legend lists them from the slowest at the largest size to the
                                      * fastest */
    int ncurves;
    const int *chosen; /* index of the chosen curve at each size; -1 = none */
    double at;         /* a size in the range that gets a vertical line; 0 = none */
} tutti_times_chart;

void tutti_times_chart_svg(const tutti_times_chart *c, tutti_strbuf *out);

#endif
