/* SPDX-License-Identifier: Apache-2.0 */
/* flows.h: messages that come and go on a network at any time, with max-min fair shares of its links while they are under way. Where the
 * topology has an incast, ports into hosts are slower while several come in.
 *
 * Routes are given once; each carries one message at a time. Who plays events asks when the next message ends, and takes it then. Cost: solutions of shares
 * (max_min.h), some hundreds at most while a message travels, and O(log n) for the end of each of n. Threads: owner. */
#ifndef TUTTI_FLOWS_H
#define TUTTI_FLOWS_H

#include <stdint.h>

#include "tutti/topology.h"

typedef struct tutti_flows tutti_flows;
typedef struct {
    int32_t src, dst; /* ranks */
    int32_t channel;  /* where that says which way */
} tutti_flow_route;

/* A network, no host; nranks fit it. */
tutti_flows *tutti_flows_create(const tutti_topology *t, int32_t nranks, const tutti_flow_route *routes, int64_t n);
void tutti_flows_destroy(tutti_flows *f); /* NULL is accepted */
/* From now on a message that began before others gets more of the links that it shares with them, up to a quarter. A connection that has been
 * idle finds its rate while others hold theirs: of two TCP streams (reno) the later one had 0.43 to 0.48 of a link for as long as both lasted.
 * With shares that are equal who begins in step stays in step for ever, which no such stream does. */
void tutti_flows_prefer_earlier(tutti_flows *f);
/* Seconds behind its last byte until a message is there; a message of no bytes takes them alone. */
double tutti_flows_latency(const tutti_flows *f, int64_t route);
/* Time never goes back, and is not before what was taken last. False: the route has no links, what it carries is there at once. */
bool tutti_flows_send(tutti_flows *f, int64_t route, double bytes, double now);
/* Whether the last byte of some message is sent by then; nothing that was not sent before matters. */
bool tutti_flows_end_by(tutti_flows *f, double by);
/* After true: that message, which is over; *arrives: the way's latency later. */
int64_t tutti_flows_take(tutti_flows *f, double *arrives);

#endif
