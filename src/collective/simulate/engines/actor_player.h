/* SPDX-License-Identifier: Apache-2.0 */
/* actor_player.h: one rank's steps as a process plays them, apart from what carries its messages: the event player
 * (events.c) and SimGrid (simgrid/) both play by it. Who plays says what ended, asks it to go on, and comes back when
 * something is due.
 *
 * A rank posts whatever can begin; sends and takers each wait for their turn on a lane of their own, `soft` each,
 * earlier stages before later ones. Messages travel by themselves, while the one core does one piece of work after the
 * other. A message is there its way's latency after its last byte has left, for both ends. Threads: owner. */
#ifndef TUTTI_ACTOR_PLAYER_H
#define TUTTI_ACTOR_PLAYER_H

#include <stdbool.h>

#include "actor_problem.h"

/* What carries messages. A tag comes back when it has ended: that of a receive nparts times, that of loads once
 * each. */
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
    void *with;                    /* the wire's */
    const tutti_actor_step *steps; /* of the rank */
    const int32_t *deps;
    uint8_t *done;
    tutti_actor_sequence *sequences;
    int32_t nsequences, nopen; /* nopen 0: the rank is through */
    double late_s;             /* nothing begins before */
    struct {
        int32_t serves; /* a sequence whose message has its turn, -1 = none */
        double since_s;
    } lanes[2];    /* of what is sent, of what is taken */
    double core_s; /* free from then on */
} tutti_actor_player;

/* done: a byte for each step of the problem, all 0, which outlives the player. */
void tutti_actor_player_begin(const tutti_actor_problem *p, int32_t rank, uint8_t *done, const tutti_actor_wire *wire,
                              void *with, tutti_actor_player *out);
void tutti_actor_player_release(tutti_actor_player *q);
/* All that can be done by `now`. When something is due next; INFINITY: when something ends. */
double tutti_actor_player_go(tutti_actor_player *q, double now);
/* What the tag was for has ended, or a part of it. */
void tutti_actor_player_ended(tutti_actor_player *q, int32_t tag, double now);

#endif
