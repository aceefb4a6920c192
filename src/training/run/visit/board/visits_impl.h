/* SPDX-License-Identifier: Apache-2.0 */
/* visits_impl.h: the board of visits, and one rank's view of it. */
#ifndef TUTTI_VISITS_IMPL_H
#define TUTTI_VISITS_IMPL_H

#include <stdatomic.h>

#include "visits.h"
#include "visits_order.h"
#include "visits_turns.h"

typedef struct {
    _Alignas(64) _Atomic int64_t played; /* shares of this run */
    _Atomic uint64_t loss;               /* sum of their losses: bits of a double */
    _Atomic int64_t bad;                 /* its first share whose loss is not finite, and one; 0: there is none */
    _Atomic bool retired;                /* of another host, and gone: who stood in for it does nothing any more */
} tutti_visits_line;

typedef struct {
    _Alignas(64) _Atomic int64_t next;  /* share that nobody has been dealt */
    _Alignas(64) _Atomic uint64_t open; /* stretch: stop (high half) and shares begun */
    _Alignas(64) _Atomic bool ends;
    _Atomic bool saves;                     /* they meet before the stop, because rank 0 wants to save */
    _Alignas(64) _Atomic int64_t count;     /* visits that have ended */
    _Atomic int holder;                     /* who came in last */
    _Alignas(64) tutti_visits_line ranks[]; /* then turns; a word a bucket: changes of it; then what is recorded */
} tutti_visits_board;

/* Whether this worker touches the board and the centre no more: it is gone, and so is who stood in for it. */
bool tutti_visits_is_out(const tutti_visits *v, int rank);

struct tutti_visits {
    tutti_group *group;
    const tutti_plan *plan;
    tutti_region *region;
    tutti_visits_board *board;
    tutti_turns turns;
    _Atomic int64_t *changes;
    _Atomic int32_t *shares, *visits; /* recorded: ranks; NULL = nothing is */
    tutti_visits_order order;         /* rank 0: stops so far; where a record is followed: that */
    int64_t *own_visits, *own_shares; /* then: this rank's visits and shares, as numbers of all */
    const char *follows;              /* the record's name; NULL: none is followed */
    int nstops, stops_room;
    int rank, nranks;
    int64_t begin, end;          /* shares of the run: the first, and behind the last */
    int64_t stretch;             /* first share of it */
    int64_t followed, own_turns; /* of the lists: shares dealt, visits begun */
    int64_t ticket, left_at;     /* of the visit under way; count when the last one ended, -1 = none has */
    int64_t played;
    double loss;
    tutti_staleness staleness;
    const tutti_visits *of;   /* a stand-in's: the visits of rank 0 itself; NULL: it is none */
    tutti_visits **stand_ins; /* rank 0: a rank's; NULL: there are none */
    tutti_asks *asks;         /* NULL: all ranks are on one host */
    tutti_visitor *visitor;   /* on another host than rank 0; then there is no board */
    int64_t current;          /* share begun last */
    bool told_saves;
    int64_t told_bad; /* of all: the first such share, and one */
    int told_bad_rank;
    int64_t told_played; /* there: when all met last */
    double told_loss;
};

#endif
