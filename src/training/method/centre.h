/* SPDX-License-Identifier: Apache-2.0 */
/* centre.h: the keys of a job about the centre, the weights that its workers agree on. The rules that move a centre are
 * rows of actions (plan/action). Threads: any (pure functions). */
#ifndef TUTTI_CENTRE_H
#define TUTTI_CENTRE_H

#include "../plan/action/action.h"

/* Computes c->rho from c->said_rho, for `nworkers` workers and the largest rate of the run. The result is NaN if the
 * text is not a number of 0 or more. */
void tutti_centre_settle(tutti_centre *c, int nworkers, double largest_rate);

#endif
