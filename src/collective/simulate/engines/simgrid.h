/* SPDX-License-Identifier: Apache-2.0 */
/* simgrid.h: a schedule played in SimGrid by the program tutti-simgrid, over the links and routes of our topologies. No
 * barriers: a rank begins its next step as soon as the messages and steps that this step needs have ended.
 * docs/simulation.md describes the model.
 *
 * The program is $TUTTI_SIMGRID, else tutti-simgrid beside this program or in ../libexec/tutti, else on $PATH. Threads:
 * shared (a process for each question). */
#ifndef TUTTI_SIMGRID_H
#define TUTTI_SIMGRID_H

#include "../simulate.h"

typedef struct {
    bool tcp;             /* SimGrid's model of TCP (LV08) instead of max-min shares with whole latencies */
    double limit_s;       /* seconds after which the program is ended */
    const double *late_s; /* when each rank begins; NULL: all at once */
} tutti_simgrid_options;

enum { TUTTI_SIMGRID_MESSAGES = 5 << 20 }; /* a schedule with more messages is refused, because it would take minutes */

/* Returns true if the program exists. False: `why` gets a sentence. */
bool tutti_simgrid_found(char why[200]);
/* Plays a schedule of the kind that tutti_simulate_schedule takes, on networks only. rank_s: seconds until each rank
 * has ended, nranks of them, or NULL. TUTTI_ERR_USAGE: the program cannot play this schedule; TUTTI_ERR_FAILED: the
 * program is missing, took too long, or reports an error. Cost: about 5 us per message. */
tutti_status tutti_simgrid_run(const tutti_playing *p, const tutti_simgrid_options *o, double *seconds, double *rank_s,
                               tutti_failure *err);

#endif
