/* SPDX-License-Identifier: Apache-2.0 */
/* simgrid.h: a schedule played in SimGrid by the program tutti-simgrid, over the links and routes of our topologies. No
 * barriers: a rank goes on as soon as what its next step waits for is there. docs/simulation.md says what is modelled
 * how.
 *
 * The program is $TUTTI_SIMGRID, else tutti-simgrid beside this program or in ../libexec/tutti, else on $PATH. Threads:
 * shared (a process a question). */
#ifndef TUTTI_SIMGRID_H
#define TUTTI_SIMGRID_H

#include "../simulate.h"

typedef struct {
    bool tcp;             /* SimGrid's model of TCP (LV08) instead of max-min shares with whole latencies */
    double limit_s;       /* it is ended after so many seconds */
    const double *late_s; /* of each rank: it does nothing before; NULL: nobody is late */
} tutti_simgrid_options;

enum { TUTTI_SIMGRID_MESSAGES = 5 << 20 }; /* more are refused: minutes */

/* Is the program there? False: why (a sentence). */
bool tutti_simgrid_found(char why[200]);
/* As tutti_simulate_schedule wants its schedules, networks only. rank_s: seconds until each rank is through, nranks of
 * them, or NULL. TUTTI_ERR_USAGE: it cannot be asked so; TUTTI_ERR_FAILED: it is not there, took too long, or says why.
 * Cost: about 5 us a message. */
tutti_status tutti_simgrid_run(const tutti_playing *p, const tutti_simgrid_options *o, double *seconds, double *rank_s,
                               tutti_failure *err);

#endif
