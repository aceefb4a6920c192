/* SPDX-License-Identifier: Apache-2.0 */
/* flows.h: messages that begin and end on a network at any time, with max-min fair shares of its links while they are
 * under way. If the topology has an incast, ports into hosts are slower while several messages come in.
 *
 * Routes are given once; each carries one message at a time. The player of events asks when the next message ends, and
 * takes it then. Cost: while a message travels, shares are computed some hundreds of times at most (max_min.h); the end
 * of each of n messages costs O(log n). Threads: one at a time. */
#ifndef TUTTI_FLOWS_H
#define TUTTI_FLOWS_H

#include <stdint.h>

#include "../simulate.h"
#include "tutti/topology.h"

typedef struct tutti_flows tutti_flows;
typedef struct {
    int32_t src, dst; /* ranks where the route begins and ends */
    int32_t channel;  /* selects one of several routes of the pair (src, dst) */
} tutti_flow_route;

/* Makes flows over a network (no host) that has room for nranks. */
tutti_flows *tutti_flows_create(const tutti_topology *t, int32_t nranks, const tutti_flow_route *routes, int64_t n);
void tutti_flows_destroy(tutti_flows *f); /* NULL is accepted */
/* From now on a message that began before others gets more of the links that it shares with them, up to a quarter. A
 * connection that was idle finds its rate while others hold theirs: of two TCP streams (reno) the later one had 0.43 to
 * 0.48 of a link while both lasted. With equal shares, messages that begin in step would stay in step for ever, which
 * TCP streams do not. */
void tutti_flows_prefer_earlier(tutti_flows *f);
/* Returns the seconds from a message's last byte until it has arrived; a message of no bytes takes only these. */
double tutti_flows_latency(const tutti_flows *f, int64_t route);
/* Sends a message. `now` never goes back, and is not before the last end that was taken. False: the route has no links,
 * so the message has arrived at once. */
bool tutti_flows_send(tutti_flows *f, int64_t route, double bytes, double now);
/* Returns true if some message sends its last byte at `by` or before, given the messages sent so far. */
bool tutti_flows_end_by(tutti_flows *f, double by);
/* Call it after end_by returned true: returns the message that has ended; *arrives is that time plus the route's
 * latency. */
int64_t tutti_flows_take(tutti_flows *f, double *arrives);

/* Lines: the time of a schedule at any size from one simulation.
 *
 * All bytes that move or are added grow with the vector, shares of links are ratios, and dependencies of messages do
 * not depend on their size. So if slices are whole numbers of elements, the time of rounds is a straight line over the
 * size; its value at zero is the waiting. On a host there are two lines, below and above the size at which all buffers
 * no longer fit in the caches. Between whole numbers a message is off by at most one element. The time that buckets of
 * shaped links save (token_buckets.h) is no line: it is known at TUTTI_LINE_SIZES sizes and taken as straight between
 * them, off by 7 % of the time at most where buckets run dry. tests/collective/test_lines.c compares lines with
 * tutti_simulate_schedule.
 *
 * Rows that rotate (algorithms.h) are known from one rank's part, or those of one host, so 4,096 ranks that all send to
 * all cost as much as one rank. Threads: any (a plain value, pure functions). */

typedef struct {
    tutti_simulation at; /* the simulation of a vector of `elements` */
    double elements;
    double least_s, wait_s, link_s, work_s; /* lower_s is the largest of three: least_s; wait_s + link_s; work_s */
} tutti_time_line_part;

enum { TUTTI_LINE_SIZES = 48, TUTTI_LINE_SMALLEST = 64, TUTTI_LINE_DOUBLES = 2 };
typedef struct {
    tutti_time_line_part below, above;
    double turn; /* size in elements up to which `below` holds, and above it `above`; INFINITY for a network, which has
                  * one part */
    double saved_s
        [TUTTI_LINE_SIZES]; /* time saved by shaped links, from TUTTI_LINE_SMALLEST elements on, TUTTI_LINE_DOUBLES
                             * sizes to each doubling; beyond the last size its value holds */
} tutti_time_line;

enum { TUTTI_LINE_STEPS = 64 << 20 };
/* Simulates as tutti_simulate_schedule does. Also TUTTI_ERR_USAGE, at once: the parts to simulate have more than
 * TUTTI_LINE_STEPS steps, or millions of messages travel at a time. */
tutti_status tutti_simulate_line(const tutti_schedule *s, const tutti_topology *t, tutti_time_line *out,
                                 tutti_failure *err);
void tutti_time_line_at(const tutti_time_line *line, int64_t n, tutti_simulation *out);

/* One bucket for all links of a shaped network (token_buckets.h), for callers that know only how long an exchange
 * takes. The bucket fills while the links idle before the exchange, and begins empty. Threads: one at a time. */

typedef struct {
    double now_s, most_s; /* now_s: the tokens in the bucket; most_s: the most that it holds, 0: links are not shaped;
                           * both in seconds of transfer at the full rate */
} tutti_credit;

tutti_credit tutti_credit_begin(const tutti_topology *t);
/* Lets all links idle for waits_s and then transfer for transfer_s. Returns the seconds of transfer_s that the tokens
 * in the bucket do not cover. */
double tutti_credit_use(tutti_credit *c, double waits_s, double transfer_s);

/* A binary heap of things that are due at some time; the earliest comes first. Threads: one at a time.
 *
 * Among things that are due at once the smaller number comes first, so that the order is a function of what was
 * added. */

typedef struct {
    double when;
    int64_t of; /* number by which the caller names the entry */
} tutti_due;

/* Zero-initialise; if n > 0, at[0] is the earliest entry. */
typedef struct {
    tutti_due *at;
    int64_t n, room;
} tutti_due_heap;

void tutti_due_heap_add(tutti_due_heap *h, tutti_due it); /* adds an entry; O(log n) */
void tutti_due_heap_drop(tutti_due_heap *h);              /* removes the earliest entry; O(log n) */
/* Orders the first `n` entries of `at`, which the caller wrote in any order after reserving room. O(n) */
void tutti_due_heap_order(tutti_due_heap *h, int64_t n);
void tutti_due_heap_reserve(tutti_due_heap *h, int64_t n); /* makes room for n entries */
void tutti_due_heap_release(tutti_due_heap *h);

#endif
