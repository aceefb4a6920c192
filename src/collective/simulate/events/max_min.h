/* SPDX-License-Identifier: Apache-2.0 */
/* max_min.h: weighted max-min fair shares of a network's links, for flows with known routes; private to
 * src/collective/simulate.
 *
 * A flow that has bytes left is under way. Cost of computing the shares: a pass over the links of those flows for each
 * different share. */
#ifndef TUTTI_MAX_MIN_H
#define TUTTI_MAX_MIN_H

#include "../simulate_impl.h"

typedef struct {
    int64_t nflows;
    int32_t *hops;  /* links of all routes, one after the other */
    int64_t *first; /* for each flow: index of its first hop; nflows + 1 entries */
    double *rest;   /* for each flow: bytes that have not arrived; the caller reduces them */
    double *share;  /* for each flow: bytes per second; INFINITY for a flow that is not under way */
    int32_t *used;  /* links that some flow under way uses */
    int32_t nused;
    double *left;     /* for each link: capacity that is left for flows without a share */
    int64_t *waiting; /* for each link: number of flows without a share yet */
    double *weighing; /* for each link: sum of the weights of its flows without a share */
    double *weight;   /* for each flow: its factor in shares of a link; all 1, for the caller to change */
    int64_t *active;  /* flows under way, and some that have ended since shares were computed */
    int64_t nactive;
    double incast;   /* the topology's incast; 0 also if tutti_max_min_charge_incast was not called, and then port and
                      * coming are NULL */
    int32_t *port;   /* for each flow: the link of its route that is a port into a host; -1: none */
    int64_t *coming; /* for each port: number of flows under way into it */
} tutti_max_min;

void tutti_max_min_begin(const tutti_topology *t, const tutti_fabric *net, const tutti_flow *flows, int64_t nflows,
                         tutti_max_min *out);
/* Charges incast from now on: while k flows come into a host, its port has only 1 / (1 + incast (k - 1)) of its
 * rate. */
void tutti_max_min_charge_incast(const tutti_topology *t, const tutti_fabric *net, tutti_max_min *s);
/* Gives bytes (more than 0) to a flow that has none. False: its route has no links. */
bool tutti_max_min_add(tutti_max_min *s, int64_t flow, double bytes);
/* Computes the shares. False: no flow is under way. */
bool tutti_max_min_find(const tutti_fabric *net, tutti_max_min *s);
void tutti_max_min_release(tutti_max_min *s);

#endif
