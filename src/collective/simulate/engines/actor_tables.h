/* SPDX-License-Identifier: Apache-2.0 */
/* actor_tables.h: lines, routes and links of a problem for actors, each stored once; private to
 * src/collective/simulate. Threads: one at a time. */
#ifndef TUTTI_ACTOR_TABLES_H
#define TUTTI_ACTOR_TABLES_H

#include "../simulate.h"
#include "actor_problem.h"

/* A hash table that gives an index to each thing that is named by three small integers. */
typedef struct {
    int32_t (*keys)[3], *values;
    int64_t room, n;
} tutti_numbering;

typedef struct {
    const tutti_topology *t;
    int32_t nranks, nparts, naliases;
    tutti_numbering line_of, pair_of;
    tutti_actor_link *links;
    tutti_actor_pair *pairs;
    tutti_actor_line *lines;
    tutti_actor_load *loads;
    int32_t *hops, *aliases;
    int64_t nlinks, nhops, hop_room;
    int32_t npairs, nlines, nloads;
    int32_t pair_room, line_room, load_room, alias_room;
} tutti_actor_tables;

/* Begins empty tables. t: a network that has room for nranks and outlives the tables. */
void tutti_actor_tables_begin(const tutti_topology *t, int32_t nranks, tutti_actor_tables *out);
void tutti_actor_tables_release(tutti_actor_tables *a);
int32_t tutti_actor_line_of(tutti_actor_tables *a, int32_t src, int32_t dst, int32_t channel, bool eager);
void tutti_actor_load_add(tutti_actor_tables *a, int32_t src, int32_t dst, int64_t bytes);
/* Sorts the pairs; nothing may be added after this. */
void tutti_actor_tables_finish(tutti_actor_tables *a);

#endif
