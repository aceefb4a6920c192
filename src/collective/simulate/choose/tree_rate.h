/* SPDX-License-Identifier: Apache-2.0 */
/* tree_rate.h: the best rate of an allreduce that sums up in-trees and hands out on out-trees of any shape, in any
 * directed network with switches: capacities are divided between both phases, rank v is the root of a part x_v. Exact.
 * Threads: shared. */
#ifndef TUTTI_TREE_RATE_H
#define TUTTI_TREE_RATE_H

#include "cuts.h"

enum { TUTTI_TREE_RATE_MAX_COLUMNS = 320 }; /* two a link, one a rank */

/* Bytes/s of the vector. exact: false if the search was cut short: then the true rate is below. 0: too large a
 * network. */
double tutti_tree_rate(const tutti_cuts *cuts, bool *exact);

#endif
