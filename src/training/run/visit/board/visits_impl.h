/* SPDX-License-Identifier: Apache-2.0 */
/* visits_impl.h: the board of visits, which is the memory through which ranks that take steps of their own divide the
 * work (visits.h), and one rank's view of it. */
#ifndef TUTTI_VISITS_IMPL_H
#define TUTTI_VISITS_IMPL_H

#include <stdatomic.h>

#include "visits.h"
#include "visits_order.h"
#include "visits_turns.h"

typedef struct {
    _Alignas(64) _Atomic int64_t played; /* shares that the rank has played in this run */
    _Atomic uint64_t loss;               /* sum of the losses of the shares that the rank has played, as the bits of a
                                          * double */
    _Atomic int64_t bad;                 /* 1 + the rank's first share whose loss is not finite; 0 = there is none */
    _Atomic bool retired;                /* true: the worker, of another host, is gone, and rank 0's thread for it has
                                          * ended */
} tutti_visits_line;

typedef struct {
    _Alignas(64) _Atomic int64_t next;  /* the first share that has not been dealt */
    _Alignas(64) _Atomic uint64_t open; /* shares, counted from the last stop (where all ranks meet): at the next stop
                                         * (high half), and begun (low half) */
    _Alignas(64) _Atomic bool ends;
    _Atomic bool saves;                     /* ranks meet before the stop, because rank 0 wants to save */
    _Alignas(64) _Atomic int64_t count;     /* visits that have ended */
    _Atomic int holder;                     /* the rank that was let in last */
    _Alignas(64) tutti_visits_line ranks[]; /* behind the ranks' lines lie the turns, the number of changes of each
                                             * bucket, and the record */
} tutti_visits_board;

/* True if nobody uses the board and the centre for this worker any more: it is gone, and its stand-in has ended. */
bool tutti_visits_is_out(const tutti_visits *v, int rank);

struct tutti_visits {
    tutti_group *group;
    const tutti_plan *plan;
    tutti_region *region;
    tutti_visits_board *board;
    tutti_turns turns;
    _Atomic int64_t *changes;
    _Atomic int32_t *shares, *visits; /* the record: the rank of each share; the rank of each visit; NULL = nothing is
                                       * recorded */
    tutti_visits_order order;         /* rank 0: stops so far; if a record is followed: that record */
    /* if a record is followed: numbers of this rank's visits, and of its shares, counted over all ranks */
    int64_t *own_visits, *own_shares;
    const char *follows; /* name of the record; NULL = none is followed */
    int nstops, stops_room;
    int rank, nranks;
    int64_t begin, end;          /* shares of the run: the first, and one past the last */
    int64_t stretch;             /* first share after the last stop */
    int64_t followed, own_turns; /* progress in own_shares and own_visits: shares dealt, visits begun */
    /* ticket of the running visit; left_at: board count when the last visit ended, -1 = there was none */
    int64_t ticket, left_at;
    int64_t played;
    double loss;
    tutti_staleness staleness;
    const tutti_visits *of;   /* for a stand-in: the visits of rank 0 itself; NULL = this is no stand-in */
    tutti_visits **stand_ins; /* rank 0: the visits of each rank's stand-in; NULL = no rank needs a stand-in */
    tutti_asks *asks;         /* asks of workers of other hosts; NULL = all ranks are on one host */
    tutti_visitor *visitor;   /* on another host than rank 0's: asks rank 0 for this rank, which cannot read the board;
                               * NULL on rank 0's host */
    int64_t current;          /* number of the share that was begun last */
    bool told_saves;
    int64_t told_bad; /* over all ranks, at the last stop: 1 + the first share whose loss was not finite */
    int told_bad_rank;
    int64_t told_played; /* on another host: number of shares that were played up to the last stop */
    double told_loss;
};

#endif
