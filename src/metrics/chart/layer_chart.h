/* SPDX-License-Identifier: Apache-2.0 */
/* layer_chart.h: a layer trace as a picture: a row a layer, a bar of its forward pass, its backward pass and what its exchange
 * takes, with its share of the sum. Pure: the same rows give the same bytes. Threads: shared. */
#ifndef TUTTI_LAYER_CHART_H
#define TUTTI_LAYER_CHART_H

#include "../layer_trace.h"

/* Long models: the 40 layers that take longest, in the order of the model, and one row for the others. */
void tutti_layer_chart_svg(const char *title, const tutti_layer_cost *layers, int nlayers, tutti_strbuf *out);

#endif
