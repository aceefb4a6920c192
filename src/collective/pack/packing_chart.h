/* SPDX-License-Identifier: Apache-2.0 */
/* packing_chart.h: a packing as a picture (SVG): ranks on a circle, or GPUs of a DGX-1 as its cube mesh; links grey, as wide as
 * they are strong; one colour a tree, as wide as its weight; roots ringed. Threads: shared. */
#ifndef TUTTI_PACKING_CHART_H
#define TUTTI_PACKING_CHART_H

#include "../../base/text/strbuf.h"
#include "packing.h"

/* names: of the ranks; "gpu0" .. "gpu7" for all of them are drawn as the cube mesh. title: one line. */
void tutti_packing_chart(const tutti_packing *p, const tutti_network *g, char (*names)[40], const char *title,
                         tutti_strbuf *out);

#endif
