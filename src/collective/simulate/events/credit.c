/* SPDX-License-Identifier: Apache-2.0 */
/* credit.c: one token bucket for all links of a network, whose content is counted in seconds of transfer at the full
 * rate. */
#include "flows.h"

#include <math.h>

tutti_credit tutti_credit_begin(const tutti_topology *t)
{
    const double rate = t->figure[t->kind == TUTTI_TOPOLOGY_CLUSTER ? TUTTI_FIGURE_NIC : TUTTI_FIGURE_BANDWIDTH];
    const double burst = t->figure[TUTTI_FIGURE_BURST];
    return (tutti_credit){.most_s = burst > 0 ? burst / rate : 0};
}

double tutti_credit_use(tutti_credit *c, double waits_s, double transfer_s)
{
    const double has_s = fmin(c->most_s, c->now_s + waits_s), used_s = fmin(has_s, transfer_s);
    c->now_s = has_s - used_s;
    return transfer_s - used_s;
}
