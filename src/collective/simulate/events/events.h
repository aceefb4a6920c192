/* SPDX-License-Identifier: Apache-2.0 */
/* events.h: the event player: a schedule's ranks as processes without barriers (actor_player.h). Messages have max-min
 * shares of the links while they travel (flows.h). Threads: any (pure functions). */
#ifndef TUTTI_EVENTS_H
#define TUTTI_EVENTS_H

#include "../simulate.h"

enum { TUTTI_EVENTS_MESSAGES = 1 << 20 }; /* a schedule with more messages is refused, because it would take minutes */

/* Plays a schedule of the kind that tutti_simulate_schedule takes, on networks only. late_s: when each rank begins, or
 * NULL. rank_s: seconds until each rank has ended, or NULL. TUTTI_ERR_USAGE: the player cannot answer this question;
 * TUTTI_ERR_FAILED: the schedule hangs. After a change shares are computed anew within half a per cent of the shortest
 * message's time. Cost: a pass over the messages under way for each message. */
tutti_status tutti_events_run(const tutti_playing *p, const double *late_s, double *seconds, double *rank_s,
                              tutti_failure *err);

#endif
