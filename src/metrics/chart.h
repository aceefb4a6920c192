/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h: a line chart as SVG text, without fonts or scripts from elsewhere. Two panels at most, one above the other, with a
 * common x axis. Pure: the same series give the same bytes. Threads: shared. */
#ifndef TUTTI_CHART_H
#define TUTTI_CHART_H

#include <stdbool.h>

#include "../base/strbuf.h"

typedef struct {
    const char *name;
    const double *x, *y; /* n points, x growing; what is not finite is left out */
    int n;
    bool points; /* draw dots too, and label the last one */
} tutti_chart_series;

typedef struct {
    const char *title; /* of the y axis */
    const tutti_chart_series *series;
    int nseries;
} tutti_chart_panel;

/* At most 4 series a panel (they differ in colour). Series without points are named but not drawn. */
void tutti_chart_svg(const char *title, const char *x_title, const tutti_chart_panel *panels, int npanels,
                     tutti_strbuf *out);

#endif
