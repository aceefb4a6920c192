/* SPDX-License-Identifier: Apache-2.0 */
/* actor_zone.h: the interface of tutti-simgrid to SimGrid: a network with our routes, actors on it, and sets of
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
typedef struct tutti_wait_set tutti_wait_set; /* messages for which one actor waits */

/* Builds the network of problem p in SimGrid. p outlives it. Only one network can be built in a process. */
tutti_zone *tutti_zone_create(const tutti_actor_problem *p);
/* Lets every rank call `play`; returns when no rank can continue: a rank that has not returned from `play` by then
 * hangs. */
void tutti_zone_run(tutti_zone *z, void (*play)(void *with, tutti_zone *z, int32_t rank, tutti_wait_set *set),
                    void *with);

/* Start a message of the running actor. The tag names what has ended: the tag of a received message comes head.nparts
 * times, all other tags once. */
void tutti_zone_send(tutti_zone *z, tutti_wait_set *set, int32_t line, double bytes, int32_t tag);
void tutti_zone_receive(tutti_zone *z, tutti_wait_set *set, int32_t line, int32_t tag);
void tutti_zone_signal(tutti_zone *z, int32_t line, double bytes);
void tutti_zone_load(tutti_zone *z, tutti_wait_set *set, const tutti_actor_load *load, int32_t tag);
int64_t tutti_wait_set_size(const tutti_wait_set *set);
/* Returns the tag of a message that has ended, or -1: none by `until`; until < 0 waits for one. */
int32_t tutti_wait_set_next(tutti_wait_set *set, double until);
double tutti_zone_now(void);
void tutti_zone_sleep_until(double until);

#ifdef __cplusplus
}
#endif
#endif
