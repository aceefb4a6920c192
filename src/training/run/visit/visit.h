/* SPDX-License-Identifier: Apache-2.0 */
/* visit.h: asynchronous workers, which take steps of their own: how a worker plays its shares, and what happens when
 * one is lost.
 *
 *   async.c   shares from one stop to the next
 *   lost.c    workers die, and the others go on
 *   serve.c   visits that rank 0 makes for workers of other hosts
 *   board/    which rank takes which share, and which rank comes to the centre when
 *
 * Threads: one at a time for each group. */
#ifndef TUTTI_VISIT_H
#define TUTTI_VISIT_H

#include "../keep/keep.h"
#include "../step/step.h"
#include "../tell/tell.h"
#include "serve.h"

/* Reports of rank 0 about a worker that the run has lost. */
typedef struct {
    bool told;
    int64_t step, played; /* step: steps that all ranks had done; played: shares that the lost worker had played */
    double seconds;       /* seconds from tutti_async.lost_from until the worker was lost */
} tutti_lost;

/* The state of asynchronous steps; all zeros where ranks step together. */
typedef struct {
    tutti_serve *serve;      /* rank 0: stand-ins for workers of other hosts; NULL = there are none */
    const tutti_batch *held; /* the batch that was dealt and not played yet */
    int64_t told_shares;     /* number of shares played up to the last reported line */
    double told_loss;        /* sum of the losses of those shares */
    tutti_lost *lost;        /* rank 0: what was reported of each rank; NULL = the loss of any rank ends the run */
    int nlost;               /* lost ranks that were reported */
    double lost_from;        /* time from which on the loss of a worker no longer ends the run */
} tutti_async;

/* async.c. tutti_async_create: makes the visits of s if its plan has visits; call it once the weights are there.
 * tutti_async_play: plays from this step to `stop`, or to the step at which a rank asked to end. tutti_async_report:
 * reports the results in words. */
tutti_status tutti_async_create(tutti_async *a, tutti_stepping *s, tutti_failure *err);
tutti_status tutti_async_play(tutti_async *a, tutti_stepping *s, const tutti_keeping *k, tutti_telling *t, int64_t stop,
                              tutti_failure *err);
tutti_status tutti_async_report(tutti_async *a, tutti_stepping *s, tutti_telling *t, tutti_failure *err);

/* lost.c. Collective, at the end of set-up: from now on workers that take steps of their own may be lost, except rank
 * 0. */
tutti_status tutti_lost_begin(tutti_async *a, const tutti_telling *t, tutti_failure *err);
/* Rank 0: reports which workers have been lost since the last call. Other ranks: nothing. */
tutti_status tutti_lost_tell(tutti_async *a, tutti_stepping *s, const tutti_telling *t, tutti_failure *err);
void tutti_lost_sum_up(const tutti_async *a, const tutti_telling *t);
/* True if the other ranks go on when this rank fails with this status. */
bool tutti_lost_resigns(tutti_group *group, tutti_status st);

#endif
