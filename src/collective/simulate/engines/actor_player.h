/* SPDX-License-Identifier: Apache-2.0 */
/* actor_player.h: plays one rank's steps as a process, apart from the transport of its messages. The event player
 * (events.c) and SimGrid (simgrid/) both use it. They report to it which messages have ended, let it begin what it can,
 * and call it again when its next step is due.
 *
 * A rank posts everything that can begin. Sends and signals wait for their turn on one lane, receives and waits on
 * another. A turn takes `soft` seconds, and earlier stages come first. Messages travel by themselves, while the one
 * core does one piece of work after the other. A message has arrived, for both ends, its route's latency after its last
 * byte has left. Threads: one at a time. */
#ifndef TUTTI_ACTOR_PLAYER_H
#define TUTTI_ACTOR_PLAYER_H

#include <stdbool.h>

#include "actor_problem.h"

/* The transport of messages. It returns a tag when something has ended: the tag of a receive nparts times, the tag of a
 * load step once for each load. */
typedef struct {
    void (*send)(void *with, int32_t line, double bytes, int32_t tag);
    void (*receive)(void *with, int32_t line, int32_t tag);
    void (*signal)(void *with, int32_t line, double bytes);
    void (*load)(void *with, const tutti_actor_load *load, int32_t tag);
} tutti_actor_wire;

typedef struct tutti_actor_sequence tutti_actor_sequence;
typedef struct {
    const tutti_actor_problem *p;
    const tutti_actor_wire *wire;
    void *with;                    /* the first argument of the transport's functions */
    const tutti_actor_step *steps; /* steps of the rank */
    const int32_t *deps;
    uint8_t *done;
    tutti_actor_sequence *sequences;
    int32_t nsequences, nopen; /* nsequences: number of sequences; nopen: sequences that have not ended; 0: the rank has
                                * ended */
    double late_s;             /* time before which the rank begins nothing, in seconds */
    struct {
        int32_t serves; /* index of the sequence whose message has its turn on this lane, -1 = none */
        double since_s;
    } lanes[2];    /* [0] for sends and signals, [1] for receives and waits */
    double core_s; /* time from which the core is free */
} tutti_actor_player;

/* Begins a player. done: a byte for each step of the problem, all 0; it outlives the player. */
void tutti_actor_player_begin(const tutti_actor_problem *p, int32_t rank, uint8_t *done, const tutti_actor_wire *wire,
                              void *with, tutti_actor_player *out);
void tutti_actor_player_release(tutti_actor_player *q);
/* Does everything that is possible by `now`. Returns the time of the next thing to do; INFINITY: there is nothing to do
 * before a message or a load ends. */
double tutti_actor_player_go(tutti_actor_player *q, double now);
/* Called when the message or load with this tag has ended, or a part of it. */
void tutti_actor_player_ended(tutti_actor_player *q, int32_t tag, double now);

#endif
