/* SPDX-License-Identifier: Apache-2.0 */
/* flows.h: messages that come and go on a network at any time, with max-min fair shares of its links while they are
 * under way. Where the topology has an incast, ports into hosts are slower while several come in.
 *
 * Routes are given once; each carries one message at a time. Who plays events asks when the next message ends, and
 * takes it then. Cost: solutions of shares (max_min.h), some hundreds at most while a message travels, and O(log n) for
 * the end of each of n. Threads: owner. */
#ifndef TUTTI_FLOWS_H
#define TUTTI_FLOWS_H

#include <stdint.h>

#include "../simulate.h"
#include "tutti/topology.h"

typedef struct tutti_flows tutti_flows;
typedef struct {
    int32_t src, dst; /* ranks */
    int32_t channel;  /* where that says which way */
} tutti_flow_route;

/* A network, no host; nranks fit it. */
tutti_flows *tutti_flows_create(const tutti_topology *t, int32_t nranks, const tutti_flow_route *routes, int64_t n);
void tutti_flows_destroy(tutti_flows *f); /* NULL is accepted */
/* From now on a message that began before others gets more of the links that it shares with them, up to a quarter. A
 * connection that has been idle finds its rate while others hold theirs: of two TCP streams (reno) the later one had
 * 0.43 to 0.48 of a link for as long as both lasted. With shares that are equal who begins in step stays in step for
 * ever, which no such stream does. */
void tutti_flows_prefer_earlier(tutti_flows *f);
/* Seconds behind its last byte until a message is there; a message of no bytes takes them alone. */
double tutti_flows_latency(const tutti_flows *f, int64_t route);
/* Time never goes back, and is not before what was taken last. False: the route has no links, what it carries is there
 * at once. */
bool tutti_flows_send(tutti_flows *f, int64_t route, double bytes, double now);
/* Whether the last byte of some message is sent by then; nothing that was not sent before matters. */
bool tutti_flows_end_by(tutti_flows *f, double by);
/* After true: that message, which is over; *arrives: the way's latency later. */
int64_t tutti_flows_take(tutti_flows *f, double *arrives);

/* The time of a schedule at any size from one simulation.
 *
 * All that moves and is added grows with the vector, shares of links go by ratios, and what a message waits for does
 * not depend on its size. So where slices are whole numbers of elements the time of rounds is a straight line over the
 * size: its value at zero is the waiting. On a host it is two, below and above the size at which all buffers no longer
 * fit in the caches. Between whole numbers a message is off by at most one element. What buckets of shaped links save
 * (token_buckets.h) is no line: it is known at TUTTI_LINE_SIZES sizes and taken for straight between them, 7 % of the
 * time at most where they run dry. tests/collective/test_lines.c holds lines against tutti_simulate_schedule.
 *
 * Rows that rotate (algorithms.h) are known from one rank's part, or those of one host: 4,096 ranks that all send to
 * all cost what one does. Threads: shared (a plain value, pure functions). */

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
        [TUTTI_LINE_SIZES]; /* by shaped links, at TUTTI_LINE_SMALLEST elements and on, TUTTI_LINE_DOUBLES to twice as
                             * many; beyond, as at the last */
} tutti_time_line;

enum { TUTTI_LINE_STEPS = 64 << 20 };
/* As tutti_simulate_schedule; also TUTTI_ERR_USAGE, at once: parts of more than TUTTI_LINE_STEPS steps would have to be
 * looked at, or millions of messages at a time. */
tutti_status tutti_simulate_line(const tutti_schedule *s, const tutti_topology *t, tutti_time_line *out,
                                 tutti_failure *err);
void tutti_time_line_at(const tutti_time_line *line, int64_t n, tutti_simulation *out);

/* One bucket for all links of a network that is shaped (token_buckets.h), for those who know of an exchange only how
 * long it takes: what its links have idled before it. It begins empty. Threads: owner. */

typedef struct {
    double now_s, most_s; /* of transfers at the full rate; most_s = 0: wires */
} tutti_credit;

tutti_credit tutti_credit_begin(const tutti_topology *t);
/* All wait for so long, then so much is transferred: what is left of the transfer. */
double tutti_credit_use(tutti_credit *c, double waits_s, double transfer_s);

/* What comes next of what is due some time: a binary heap. Threads: owner.
 *
 * Of what is due at once the smaller number comes first, so that the order is a function of what was added. */

typedef struct {
    double when;
    int64_t of; /* the caller's number */
} tutti_due;

/* Begins as zeros; at[0] comes next, where n > 0. */
typedef struct {
    tutti_due *at;
    int64_t n, room;
} tutti_due_heap;

void tutti_due_heap_add(tutti_due_heap *h, tutti_due it); /* O(log n) */
void tutti_due_heap_drop(tutti_due_heap *h);              /* the next one; O(log n) */
/* Anew, of `n` that the caller wrote to `at` in any order, where room was reserved. O(n) */
void tutti_due_heap_order(tutti_due_heap *h, int64_t n);
void tutti_due_heap_reserve(tutti_due_heap *h, int64_t n); /* room for so many */
void tutti_due_heap_release(tutti_due_heap *h);

#endif
