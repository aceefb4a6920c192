/* SPDX-License-Identifier: Apache-2.0 */
/* strip_chart.h: what goes on when, as a strip inside a page of HTML that is as wide as its place, however wide that is: no words in it, so
 * that nothing is stretched but time. Pure. Threads: shared. */
#ifndef TUTTI_STRIP_CHART_H
#define TUTTI_STRIP_CHART_H

#include "../../base/text/strbuf.h"

typedef struct {
    double begin, end; /* in the unit of the lane's length */
    int colour;        /* tutti_svg_colour */
    const char *words; /* for who points at it */
} tutti_strip_piece;

/* words: what the lane shows. Pieces from 0 to length; what lies outside is cut off. */
void tutti_strip_chart_svg(const char *words, double length, const tutti_strip_piece *pieces, int n, tutti_strbuf *out);

#endif
