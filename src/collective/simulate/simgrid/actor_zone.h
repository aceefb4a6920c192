/* SPDX-License-Identifier: Apache-2.0 */
/* actor_zone.h: what tutti-simgrid wants of SimGrid: a network whose routes are ours, actors on it, and sets of
 * messages that an actor waits for. Behind it is the one C++ file of this project (actor_zone.cc).
 *
 * Threads: one process, actors take turns (SimGrid's contexts). */
#ifndef TUTTI_ACTOR_ZONE_H
#define TUTTI_ACTOR_ZONE_H

#include "../engines/actor_problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tutti_zone tutti_zone;
typedef struct tutti_wait_set tutti_wait_set; /* of one actor */

/* The network of p (which outlives it) in SimGrid. One a process. */
tutti_zone *tutti_zone_create(const tutti_actor_problem *p);
/* Every rank plays; returns when nobody can go on: each that has not returned from `play` hangs. */
void tutti_zone_run(tutti_zone *z, void (*play)(void *with, tutti_zone *z, int32_t rank, tutti_wait_set *set),
                    void *with);

/* Of the running actor. A tag says what has ended: a message that is received does so head.nparts times, all others
 * once. */
void tutti_zone_send(tutti_zone *z, tutti_wait_set *set, int32_t line, double bytes, int32_t tag);
void tutti_zone_receive(tutti_zone *z, tutti_wait_set *set, int32_t line, int32_t tag);
void tutti_zone_signal(tutti_zone *z, int32_t line, double bytes);
void tutti_zone_load(tutti_zone *z, tutti_wait_set *set, const tutti_actor_load *load, int32_t tag);
int64_t tutti_wait_set_size(const tutti_wait_set *set);
/* The tag of one that has ended, or -1: none until the time has come; until < 0 waits for one. */
int32_t tutti_wait_set_next(tutti_wait_set *set, double until);
double tutti_zone_now(void);
void tutti_zone_sleep_until(double until);

#ifdef __cplusplus
}
#endif
#endif
