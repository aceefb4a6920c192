/* SPDX-License-Identifier: Apache-2.0 */
/* sparsity_chart.h: how much of each ReLU's output is zero, as a picture: a row a ReLU, a bar as of the last test, a mark as of the first.
 * Pure: the same rows give the same bytes. Threads: shared. */
#ifndef TUTTI_SPARSITY_CHART_H
#define TUTTI_SPARSITY_CHART_H

#include "../../base/text/strbuf.h"

typedef struct {
    const char *name;
    double first, last; /* fractions */
} tutti_sparsity_row;

void tutti_sparsity_chart_svg(const char *title, const tutti_sparsity_row *rows, int nrows, tutti_strbuf *out);

#endif
