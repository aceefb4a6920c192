/* SPDX-License-Identifier: Apache-2.0 */
/* tree_rate.h: the best rate of an allreduce that sums up in-trees and sends results down out-trees of any shape, in
 * any directed network with switches. Capacities are divided between both phases, and rank v is the root of a part x_v.
 * Exact. Threads: any. */
#ifndef TUTTI_TREE_RATE_H
#define TUTTI_TREE_RATE_H

#include "cuts.h"

enum { TUTTI_TREE_RATE_MAX_COLUMNS = 320 }; /* limit of the columns: two for each link, one for each rank */

/* Returns bytes/s of the vector. exact: false if the search was cut short; the true rate is then lower. Returns 0 if
 * the network is too large. */
double tutti_tree_rate(const tutti_cuts *cuts, bool *exact);

#endif
