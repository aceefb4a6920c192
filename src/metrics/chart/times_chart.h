/* SPDX-License-Identifier: Apache-2.0 */
/* times_chart.h: times over sizes by powers of ten, a curve a way to do it, the chosen way marked. Pure. Threads: shared. */
#ifndef TUTTI_TIMES_CHART_H
#define TUTTI_TIMES_CHART_H

#include "../../base/text/strbuf.h"

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
