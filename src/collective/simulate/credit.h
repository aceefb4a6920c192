/* SPDX-License-Identifier: Apache-2.0 */
/* credit.h: links that are shaped by token buckets (the figure `burst`), as those of cloud machines and of namespaces are: while such a link
 * idles it gains credit, up to what its bucket holds, and spends it at once on what comes next. A wire never does: what it did not carry in
 * one moment is lost.
 *
 * The links of a network gain and spend together: what all wait for in a stage, its latency and its sums, shortens the transfers of that and of
 * later ones. It begins without credit, so that no link ever carries more than its rate: bounds hold. Threads: owner. */
#ifndef TUTTI_CREDIT_H
#define TUTTI_CREDIT_H

#include "simulate.h"

typedef struct {
    double now_s, most_s; /* of transfers at the full rate; most_s = 0: wires */
} tutti_credit;

tutti_credit tutti_credit_begin(const tutti_topology *t);
/* All wait for so long, then so much is transferred: what is left of the transfer. */
double tutti_credit_use(tutti_credit *c, double waits_s, double transfer_s);
/* From a simulation of wires that of links whose buckets hold so much: each stage can earn that at most, and no more than all wait. */
void tutti_credit_take(double most_s, tutti_simulation *s);

#endif
