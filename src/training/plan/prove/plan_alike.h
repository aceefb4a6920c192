/* SPDX-License-Identifier: Apache-2.0 */
/* plan_alike.h: the proof of a composition in parts, each proved once (plan_compose.h; measured in docs/plans.md).
 *
 * Whether accesses race and what memory holds is asked of each element by itself: a step of the loops or of an exchange
 * touches element i of what it reads and element i of what it writes. So elements with which all ranks do the same, in
 * the same order, have the same proof, however many there are. They are found like this:
 *   zone     the vector of an exchange, or what lies between two of them; a parameter of a split layer, whose parts are
 *            vectors; numbers, or what travels inside groups, that are exchanged with each other are a zone of their
 *            own
 *   class    elements of a zone that the same steps of the loops touch. The owner's slice of the vector is no class but
 *            a fraction, as the slices of schedules are, so that the proof holds for vectors of any size (check_impl.h)
 *   key      a hash of what all ranks do with a class: steps of their loops that touch it, and what these tell the
 *            zone's exchanges or wait for of them. What stands between, other zones' exchanges included, is left out
 * A class is proved as a composition of its own, of the zone's exchanges and these steps. It has fewer waits than the
 * whole, so fewer accesses are ordered: what is proved of it holds in the whole. Only that all ranks come to an end is
 * no matter of one class: that is played for all exchanges together, each of which ends when all its members have begun
 * it and said that it is ready and free, and none sooner.
 *
 * A plan that fits no zones (exchanges of overlapping vectors), or of which a class is not proved, is proved as a
 * whole: who is refused is refused by that, in its words.
 *
 * Threads: owner. */
#ifndef TUTTI_PLAN_ALIKE_H
#define TUTTI_PLAN_ALIKE_H

#include "plan_compose.h"

typedef struct {
    int64_t first, last;        /* of the packed vector, or of the window */
    int window;                 /* 0: the packed vector */
    int *exchanges, nexchanges; /* of its vector or a part of it, then others beside; none: nothing of it travels */
    int nparts;                 /* slices of owners */
    int shared;                 /* ranks of a group that have a part each of a split layer's parameter; 0: it is none */
    int first_class, nclasses;
    bool is_owed; /* the result is to hold all of it */
} tutti_zone;

typedef struct {
    int zone;
    int64_t first, last;
    uint64_t key;
    int part, nparts; /* while the key is made: the last part of the loop beside, and how many the rank has */
} tutti_alike;

/* What an exchange is told at a position of a rank's loops, or that it is waited for there. */
typedef enum { TUTTI_TOLD_BEGUN, TUTTI_TOLD_READY, TUTTI_TOLD_FREE, TUTTI_TOLD_WAITED } tutti_told_kind;
typedef struct {
    tutti_told_kind kind;
    int exchange, invocation, next; /* of the same position; -1 = none */
} tutti_told;
typedef struct {
    tutti_unrolled loop;
    int *head; /* a position: of told; -1 = nothing */
    tutti_told *told;
    int ntold;
} tutti_rank_loop;

typedef struct {
    const tutti_composition *c;
    int *window;    /* a memory */
    int *memory_of; /* a copy, from the first memory on */
    int ncopies;
    tutti_zone *zones;
    int nzones;
    int *zone_of;        /* an exchange: whose vector it is */
    int inputs, control; /* windows of the first shared layer's inputs and of control numbers; 0: nothing is shared */
    tutti_alike *classes;
    int nclasses;
    tutti_rank_loop *ranks;
    tutti_arena arena;
} tutti_alikes;

/* Keys of classes that have been proved of a plan. Zero-initialise; free keys. */
typedef struct {
    uint64_t *keys;
    int nkeys, capacity;
    const tutti_headway *headway; /* hears that the proof goes on */
} tutti_proved_keys;

/* Whether all of the composition is proved by classes; false: it may be right all the same. */
bool tutti_composition_prove_alike(const tutti_composition *c, tutti_proved_keys *proved);

/* ---- what its files share ---- */

/* Whether a step touches elements of zones, from *first on in *window. false: it fits none. */
bool tutti_alike_place(const tutti_alikes *a, int rank, const tutti_loop_step *s, int *window);
/* What a step with a place there touches of a class: elements [first, last) of the zone's vector, cut into as many
 * parts; last 0: nothing. */
typedef struct {
    int first, last, of;
} tutti_touched;
tutti_touched tutti_alike_touched(const tutti_alikes *a, const tutti_alike *k, const tutti_loop_step *s, int window);
/* The zone's number for an exchange, -1: it is another zone's. */
int tutti_zone_place(const tutti_zone *z, int exchange);
/* plan_alike_prove.c: one class; and that no rank waits for ever. */
bool tutti_alike_prove(const tutti_alikes *a, const tutti_alike *k);
bool tutti_alike_all_end(const tutti_alikes *a);

#endif
