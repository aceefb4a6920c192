/* SPDX-License-Identifier: Apache-2.0 */
/* plan_alike.h: the proof of a composition in parts, each proved once (plan_compose.h; bench/plan_check/NOTES.md).
 *
 * Races and contents of memory are questions about each element by itself: a step of the loops or of an exchange reads
 * element i of its sources and writes element i of its targets. So if all ranks do the same with several elements, in
 * the same order, one proof holds for all these elements. They are found like this:
 *   zone     the vector of an exchange, or the range between two such vectors; a parameter of a split layer, whose
 *            parts are vectors. Numbers that are exchanged with each other, and data that are exchanged inside groups,
 *            are a zone of their own
 *   class    elements of a zone that the same steps of the loops touch. The owner's slice of the vector is not a class
 *            but a fraction, like the slices of schedules, so that the proof holds for vectors of any size
 *            (check_impl.h)
 *   key      a hash of what all ranks do with a class: the steps of their loops that touch it, and what these steps
 *            tell the zone's exchanges or wait for. Anything else, other zones' exchanges included, is left out
 * A class is proved as a composition of its own, made of the zone's exchanges and these steps. It has fewer waits than
 * the whole composition, so it orders fewer accesses: a proof for the class holds in the whole, too. That all ranks
 * come to an end is no property of a class. It is proved by playing all exchanges together: an exchange ends as soon as
 * all its members have begun it and told it that it is ready and free.
 *
 * The whole orders every two accesses that a class orders. So if a class has no race and a rank still ends with a wrong
 * sum of its elements, the rank does in the whole, too, and the plan is refused. If a class has a race, it is checked
 * once more with the exchanges of all other zones, each of which then orders more than it does (plan_alike_race.c). A
 * race that is left is one in the whole, too. A plan that has no zones (exchanges of overlapping vectors), or with
 * another class that is not proved, is proved as a whole, and that proof writes the failure.
 *
 * Threads: one at a time. */
#ifndef TUTTI_PLAN_ALIKE_H
#define TUTTI_PLAN_ALIKE_H

#include "plan_compose.h"

typedef struct {
    int64_t first, last; /* range of the packed vector, or of the window */
    int window;          /* number of the window; 0 = the packed vector */
    /* first the exchanges of the zone's vector or of a part of it, then exchanges of other zones that its proof needs;
     * empty: the zone is not exchanged */
    int *exchanges, nexchanges;
    int nparts; /* number of slices of the vector, each with an owner of its own */
    /* ranks of a group, each with a part of a split layer's parameter; 0 = the zone is no such parameter */
    int shared;
    int first_class, nclasses;
    bool is_owed; /* true: the memory that the composition checks (`result`) must hold all elements of the zone */
} tutti_zone;

typedef struct {
    int zone;
    int64_t first, last;
    uint64_t key;
    /* while the key is made: the last part of the loop that runs beside the steps, and the rank's number of parts */
    int part, nparts;
} tutti_alike;

/* Message of a rank to an exchange at a position of the rank's loops, or the rank's wait for the exchange. */
typedef enum { TUTTI_TOLD_BEGUN, TUTTI_TOLD_READY, TUTTI_TOLD_FREE, TUTTI_TOLD_WAITED } tutti_told_kind;
typedef struct {
    tutti_told_kind kind;
    int exchange, invocation, next; /* exchange, invocation: which run of which exchange the message is for; next: the
                                     * next message at the same position, -1 = none */
} tutti_told;
typedef struct {
    tutti_unrolled loop;
    int *head; /* per position: index in `told` of the first message at this position; -1 = none */
    tutti_told *told;
    int ntold;
} tutti_rank_loop;

typedef struct {
    const tutti_composition *c;
    int *window;    /* per memory: number of its window, a range of the index space */
    int *memory_of; /* per copy, counted from the first memory: its memory */
    int ncopies;
    tutti_zone *zones;
    int nzones;
    int *zone_of;        /* per exchange: the zone that holds its vector */
    int inputs, control; /* windows of the first shared layer's inputs and of control numbers; 0 = no layer is shared */
    tutti_alike *classes;
    int nclasses;
    tutti_rank_loop *ranks;
    tutti_arena arena;
} tutti_alikes;

/* Keys of classes that have been proved in a plan. Zero-initialise; free keys. */
typedef struct {
    uint64_t *keys;
    int nkeys, capacity;
    tutti_failure *err;           /* gets the counter-example of a class that is refused; NULL = no class is refused */
    bool is_refuted;              /* true if a class was refused by the checker */
    const tutti_headway *headway; /* gets reports that the proof is still running */
} tutti_proved_keys;

/* Returns true if all of the composition is proved by classes; false: it may still be right. */
bool tutti_composition_prove_alike(const tutti_composition *c, tutti_proved_keys *proved);

/* ---- shared by the files of this proof ---- */

/* Returns true if a step touches elements of zones, and sets *window. False: the step fits no zone. */
bool tutti_alike_place(const tutti_alikes *a, int rank, const tutti_loop_step *s, int *window);
/* Elements of a class that a step in a window touches: [first, last) when the zone's vector is cut into `of` parts;
 * last 0 = nothing. */
typedef struct {
    int first, last, of;
} tutti_touched;
tutti_touched tutti_alike_touched(const tutti_alikes *a, const tutti_alike *k, const tutti_loop_step *s, int window);
/* Returns the zone's number for an exchange; -1 = the exchange belongs to another zone. */
int tutti_zone_place(const tutti_zone *z, int exchange);
/* plan_alike_prove.c: tutti_alike_prove proves one class. tutti_alike_refute returns true if a rank ends with a wrong
 * sum of the class, in the whole too, and writes the counter-example. tutti_alike_all_end proves that no rank waits for
 * ever. */
bool tutti_alike_prove(const tutti_alikes *a, const tutti_alike *k);
bool tutti_alike_refute(const tutti_alikes *a, const tutti_alike *k, tutti_failure *err);
bool tutti_alike_all_end(const tutti_alikes *a);
/* Makes the composition of a class, and the plan of its zone's exchanges. The caller releases own->arena. */
void tutti_alike_compose(const tutti_alikes *a, const tutti_alike *k, tutti_plan *plan, tutti_composition *own);
/* Returns the parts of the zone's vector in which the class lies. */
tutti_slice tutti_alike_parts(const tutti_zone *z, const tutti_alike *k);
/* plan_alike_race.c: returns true if two accesses to elements of the class race, in the whole too, and writes the
 * counter-example. All ranks must come to an end (tutti_alike_all_end). */
bool tutti_alike_find_race(const tutti_alikes *a, const tutti_alike *k, tutti_failure *err);

#endif
