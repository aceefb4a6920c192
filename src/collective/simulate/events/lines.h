/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h: the time of a schedule at any size from one simulation.
 *
 * All that moves and is added grows with the vector, shares of links go by ratios, and what a message waits for does not depend on its size.
 * So where slices are whole numbers of elements the time of rounds is a straight line over the size: its value at zero is the waiting. On a
 * host it is two, below and above the size at which all buffers no longer fit in the caches. Between whole numbers a message is off by at most
 * one element. What buckets of shaped links save (token_buckets.h) is no line: it is known at TUTTI_LINE_SIZES sizes and taken for straight between them,
 * 7 % of the time at most where they run dry. tests/collective/test_lines.c holds lines against tutti_simulate_schedule.
 *
 * Rows that rotate (algorithms.h) are known from one rank's part, or those of one host: 4,096 ranks that all send to all cost what one does.
 * Threads: shared (a plain value, pure functions). */
#ifndef TUTTI_LINES_H
#define TUTTI_LINES_H

#include "../simulate.h"

typedef struct {
    tutti_simulation at; /* where the vector has `elements` */
    double elements;
    double least_s, wait_s, link_s, work_s; /* of lower_s, which is the largest of: the first; wait + link; work */
} tutti_time_line_part;

enum { TUTTI_LINE_SIZES = 48, TUTTI_LINE_SMALLEST = 64, TUTTI_LINE_DOUBLES = 2 };
typedef struct {
    tutti_time_line_part below, above;
    double turn; /* elements: up to there it is `below`; network: INFINITY */
    double saved_s
        [TUTTI_LINE_SIZES]; /* by shaped links, at TUTTI_LINE_SMALLEST elements and on, TUTTI_LINE_DOUBLES to twice as many; beyond, as at the last */
} tutti_time_line;

enum { TUTTI_LINE_STEPS = 64 << 20 };
/* As tutti_simulate_schedule; also TUTTI_ERR_USAGE, at once: parts of more than TUTTI_LINE_STEPS steps would have to be looked at, or millions
 * of messages at a time. */
tutti_status tutti_simulate_line(const tutti_schedule *s, const tutti_topology *t, tutti_time_line *out,
                                 tutti_failure *err);
void tutti_time_line_at(const tutti_time_line *line, int64_t n, tutti_simulation *out);

#endif
