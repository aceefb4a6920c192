/* SPDX-License-Identifier: Apache-2.0 */
/* visit.h: asynchronous workers, which take steps of their own: how one plays its shares, and who is lost on the way.
 *
 *   async.c   shares from one stop to the next            serve.c   visits that rank 0 makes for workers of other hosts
 *   lost.c    workers that die, and the others go on      board/    who takes which share, and who comes to the centre
 *             when
 *
 * Threads: owner of the group. */
#ifndef TUTTI_VISIT_H
#define TUTTI_VISIT_H

#include "../keep/keep.h"
#include "../step/step.h"
#include "../tell/tell.h"
#include "serve.h"

/* What rank 0 has told of a worker that the run has lost. */
typedef struct {
    bool told;
    int64_t step, played; /* steps done, of all; shares, of its own */
    double seconds;       /* since then */
} tutti_lost;

/* Zeros where ranks step together. */
typedef struct {
    tutti_serve *serve;      /* rank 0: of workers of other hosts; NULL: there are none */
    const tutti_batch *held; /* dealt, and not played yet */
    int64_t told_shares;     /* in the last line */
    double told_loss;        /* up to then */
    tutti_lost *lost;        /* rank 0: one a rank; NULL: none may be lost */
    int nlost;               /* told */
    double lost_from;        /* since when workers may be lost */
} tutti_async;

/* async.c: after weights are there, the visits of s where its plan has some; from this step to `stop`, or to where
 * somebody asked to end; what came of it, in words. */
tutti_status tutti_async_create(tutti_async *a, tutti_stepping *s, tutti_failure *err);
tutti_status tutti_async_play(tutti_async *a, tutti_stepping *s, const tutti_keeping *k, tutti_telling *t, int64_t stop,
                              tutti_failure *err);
tutti_status tutti_async_report(tutti_async *a, tutti_stepping *s, tutti_telling *t, tutti_failure *err);

/* lost.c. Collective, at the end of set-up: from now on workers that take steps of their own may be lost, but rank
 * 0. */
tutti_status tutti_lost_begin(tutti_async *a, const tutti_telling *t, tutti_failure *err);
/* Rank 0: says who has been lost since it was asked the last time. Others: nothing. */
tutti_status tutti_lost_tell(tutti_async *a, tutti_stepping *s, const tutti_telling *t, tutti_failure *err);
void tutti_lost_sum_up(const tutti_async *a, const tutti_telling *t);
/* Whether the others go on when this rank fails so. */
bool tutti_lost_resigns(tutti_group *group, tutti_status st);

#endif
