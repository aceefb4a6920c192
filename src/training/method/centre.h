/* SPDX-License-Identifier: Apache-2.0 */
/* centre.h: the configuration of the centre that workers of a method agree on. The rules by which one moves are rows of
 * actions (plan/action). Threads: shared (pure functions). */
#ifndef TUTTI_CENTRE_H
#define TUTTI_CENTRE_H

#include "../plan/action/action.h"

/* Makes rho of what was said, between so many workers at the largest rate of a run; NaN of what is no number of 0 or
 * more. */
void tutti_centre_settle(tutti_centre *c, int nworkers, double largest_rate);

#endif
