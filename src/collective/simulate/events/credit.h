/* SPDX-License-Identifier: Apache-2.0 */
/* credit.h: one bucket for all links of a network that is shaped (token_buckets.h), for those who know of an exchange only how long it takes: what
 * its links have idled before it. It begins empty. Threads: owner. */
#ifndef TUTTI_CREDIT_H
#define TUTTI_CREDIT_H

#include "../simulate.h"

typedef struct {
    double now_s, most_s; /* of transfers at the full rate; most_s = 0: wires */
} tutti_credit;

tutti_credit tutti_credit_begin(const tutti_topology *t);
/* All wait for so long, then so much is transferred: what is left of the transfer. */
double tutti_credit_use(tutti_credit *c, double waits_s, double transfer_s);

#endif
