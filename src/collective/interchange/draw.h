/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h: draws a schedule as a picture (SVG): a row for each rank, a column for each stage. Threads: one at a time. */
#ifndef TUTTI_COLLECTIVE_INTERCHANGE_DRAW_H
#define TUTTI_COLLECTIVE_INTERCHANGE_DRAW_H

#include "../../base/text/strbuf.h"
#include "tutti/schedule.h"

enum { TUTTI_DRAW_READABLE = 16, TUTTI_DRAW_MOST_RANKS = 128 };

/* Arrows are data (messages, puts and remote reads) and are coloured by their place in the vector: blue is its
 * beginning, red its end, grey all of it. Dots are sums, squares copies, thin dashed arrows signals. Readable up to
 * about 16 ranks; more than TUTTI_DRAW_MOST_RANKS are refused (TUTTI_ERR_USAGE). */
tutti_status tutti_schedule_draw(const tutti_schedule *s, tutti_strbuf *out, tutti_failure *err);

#endif
