/* SPDX-License-Identifier: Apache-2.0 */
/* events.h: the event player: a schedule's ranks as processes without barriers (actor_player.h), its messages with
 * max-min shares of the links for as long as they are under way (flows.h). Threads: shared (pure). */
#ifndef TUTTI_EVENTS_H
#define TUTTI_EVENTS_H

#include "../simulate.h"

enum { TUTTI_EVENTS_MESSAGES = 1 << 20 }; /* more are refused: minutes */

/* As tutti_simulate_schedule wants its schedules, networks only. late_s: of each rank, which does nothing before, or
 * NULL. rank_s: seconds until each rank is through, or NULL. TUTTI_ERR_USAGE: it cannot be asked so; TUTTI_ERR_FAILED:
 * the schedule hangs. Shares are found anew within half a per cent of what the shortest message takes. Cost: a pass
 * over what is under way for each message. */
tutti_status tutti_events_run(const tutti_playing *p, const double *late_s, double *seconds, double *rank_s,
                              tutti_failure *err);

#endif
