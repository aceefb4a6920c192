/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_times.h: predicts how long the exchanges of a plan take on a topology, for many sizes.
 *
 * Up to TUTTI_EXACT_RANKS members, each size is simulated, unless `by_lines` is set. For more members, a schedule with
 * its members is simulated once, and times of other sizes are read from a line (lines.h): 133 exchanges between 1,024
 * ranks by a ring are two simulations. Threads: one at a time. */
#ifndef TUTTI_EXCHANGE_TIMES_H
#define TUTTI_EXCHANGE_TIMES_H

#include "../collective/simulate/simulate.h"
#include "../training/plan/plan.h"
#include "tutti/topology.h"

enum { TUTTI_EXACT_RANKS = 64 };

/* A plan on a topology, and the times of its exchanges that are kept. Zero-initialise with plan and topology, which
 * must outlive it; release. */
typedef struct {
    const tutti_plan *plan;
    const tutti_topology *topology;
    bool by_lines; /* true: uses lines for any number of members. Then `plan` may be replaced by another plan that takes
                    * its schedules from the same tutti_plan_shelf (plan.h) */
    struct tutti_exchange_line *lines; /* cache: one line for each pair of schedule and members that was asked for */
    int nlines, room;
} tutti_exchange_times;

/* Finds the time of an exchange of n elements between its members on their seats; all zeros on one rank. Other
 * exchanges over the same links at the same time do not count. TUTTI_ERR_USAGE if the ranks do not fit, or if the
 * exchange has too many messages to simulate. */
tutti_status tutti_exchange_times_at(tutti_exchange_times *times, int exchange, int64_t n, tutti_simulation *out,
                                     tutti_failure *err);
void tutti_exchange_times_release(tutti_exchange_times *times);

#endif
