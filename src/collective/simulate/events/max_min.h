/* SPDX-License-Identifier: Apache-2.0 */
/* max_min.h: weighted max-min fair shares of a network's links, for flows whose routes are known; private to
 * src/collective/simulate.
 *
 * Who has bytes left is under way. Cost of a solution: the links of those, once for each different share. */
#ifndef TUTTI_MAX_MIN_H
#define TUTTI_MAX_MIN_H

#include "../simulate_impl.h"

typedef struct {
    int64_t nflows;
    int32_t *hops;  /* links of all routes, one after the other */
    int64_t *first; /* a flow; nflows + 1 */
    double *rest;   /* a flow: bytes that have not arrived; the caller's, to make them fewer */
    double *share;  /* a flow: bytes a second; not under way: INFINITY */
    int32_t *used;  /* links that some flow under way goes over */
    int32_t nused;
    double *left;     /* a link: capacity that no fixed flow has taken */
    int64_t *waiting; /* a link: flows without a share yet */
    double *weighing; /* a link: their weights */
    double *weight;   /* a flow: of a link that it shares it gets so much more; ones, for the caller to change */
    int64_t *active;  /* flows under way, and some that have ended since shares were found */
    int64_t nactive;
    double incast;   /* of the topology; the next two are NULL where it is 0, or not asked for */
    int32_t *port;   /* a flow: of its links the port into a host; -1: none */
    int64_t *coming; /* a port: flows under way into it */
} tutti_max_min;

void tutti_max_min_begin(const tutti_topology *t, const tutti_fabric *net, const tutti_flow *flows, int64_t nflows,
                         tutti_max_min *out);
/* From now on a port into a host has a rate of 1 / (1 + incast (k - 1)) of its own while k flows come in. */
void tutti_max_min_charge_incast(const tutti_topology *t, const tutti_fabric *net, tutti_max_min *s);
/* A flow that is not under way gets bytes, more than none. False: its route has no links. */
bool tutti_max_min_add(tutti_max_min *s, int64_t flow, double bytes);
/* False: nothing is under way. */
bool tutti_max_min_find(const tutti_fabric *net, tutti_max_min *s);
void tutti_max_min_release(tutti_max_min *s);

#endif
