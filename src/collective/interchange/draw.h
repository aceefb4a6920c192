/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h: a schedule as a picture (SVG): ranks down, stages across. Threads: owner. */
#ifndef TUTTI_COLLECTIVE_INTERCHANGE_DRAW_H
#define TUTTI_COLLECTIVE_INTERCHANGE_DRAW_H

#include "../../base/text/strbuf.h"
#include "tutti/schedule.h"

enum { TUTTI_DRAW_READABLE = 16, TUTTI_DRAW_MOST_RANKS = 128 };

/* Arrows are data: messages, puts and remote reads, coloured by their place in the vector (blue is its beginning, red
 * its end, grey all of it); dots are sums, squares copies; thin dashed arrows signals. Readable up to about 16 ranks;
 * more than TUTTI_DRAW_MOST_RANKS are refused (TUTTI_ERR_USAGE). */
tutti_status tutti_schedule_draw(const tutti_schedule *s, tutti_strbuf *out, tutti_failure *err);

#endif
