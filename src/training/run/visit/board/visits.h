/* SPDX-License-Identifier: Apache-2.0 */
/* visits.h: the board of visits, for ranks that take steps of their own: who takes which share of which batch, how far
 * each is, and how they come to the centre.
 *
 * A share is one rank's part of a batch: P shares of equal size make a step, share k is of step k / P. Between two
 * stops, steps at which all meet (a test, a checkpoint, the end), ranks play shares as they come; at a stop all shares
 * before it have been played and none behind it, so that what is tested and saved is of a known number of samples. Who
 * is asked to end sets the stop to the next step that nobody has begun.
 *
 * In a group that bears deaths a rank may be gone at any point: its turns are passed on, nobody is held up by how far
 * it had come, and of its shares those that come in order are dealt to the others. What it had been dealt is played by
 * nobody. Of another host, it is not gone before who stands in for it has ended what that one was at.
 *
 * A rank of another host than rank 0's asks rank 0 (visitor.h), where somebody stands in for it: visits of its own on
 * the same board.
 *
 * Waits have the group's deadline and name whom they are for. Threads: owner; tutti_visits_deal: any one at a time; of
 * a stand-in, the thread that plays it. */
#ifndef TUTTI_VISITS_H
#define TUTTI_VISITS_H

#include "../../../../collective/group/group.h"
#include "../../../plan/plan.h"
#include "visitor.h"

typedef struct tutti_visits tutti_visits;

typedef struct {
    int64_t first_step, end_step; /* of the run */
    bool records;                 /* who took which share and who visited when is kept */
    const char *replay; /* file of such a record, by which shares are dealt and visits let in; NULL = as they come */
} tutti_visits_config;
/* Collective. */
tutti_status tutti_visits_create(tutti_group *group, const tutti_plan *plan, const tutti_visits_config *config,
                                 tutti_visits **out, tutti_failure *err);
void tutti_visits_destroy(tutti_visits *v); /* before the group is left; NULL is accepted */

/* Rank 0: the visits of a worker of another host, as rank 0 makes them for it; NULL: it is on this one, or another rank
 * was asked. The same calls but for open, meet and write, which are of all ranks. Valid as long as v. */
tutti_visits *tutti_visits_stand_in(const tutti_visits *v, int worker);
/* Of a stand-in, whose worker is gone: it calls nothing any more but destroy. What it would have done the others do, or
 * nobody. */
void tutti_visits_retire(tutti_visits *v);
/* By which those workers ask. */
const tutti_asks *tutti_visits_asks(const tutti_visits *v);

/* The next share for this rank, -1 = there is none (tutti_loader_config.deal; arg: the visits). */
int64_t tutti_visits_deal(void *arg);
/* Collective, when all have come to the last stop: the next one is this step. */
tutti_status tutti_visits_open(tutti_visits *v, int64_t stop, tutti_failure *err);
/* Whether this rank may play the share now; else it is behind the stop, or none (-1). */
tutti_status tutti_visits_begin(tutti_visits *v, int64_t share, bool *may, tutti_failure *err);
/* Of another host: all but the visit, if there is one, has been computed, with this loss: the next share is asked for.
 * Nothing for others. */
void tutti_visits_ask_ahead(const tutti_visits *v, double loss);
/* It has, with this sum of losses of its samples. */
void tutti_visits_end(tutti_visits *v, double loss);
/* Collective, first and then: all have come to the stop; rank 0 has seen to it that nobody is at the centre any more,
 * whoever is gone, and all shares before the stop have been played. *ends: somebody has asked to; then *stop may be an
 * earlier step than was opened. The same for all. */
tutti_status tutti_visits_come(tutti_visits *v, tutti_failure *err);
tutti_status tutti_visits_meet(tutti_visits *v, int64_t *stop, bool *ends, tutti_failure *err);
void tutti_visits_ask_to_end(tutti_visits *v);
/* Rank 0, after a share of its own: the stop comes to the next step that nobody has begun, as where somebody asks to
 * end. */
void tutti_visits_ask_to_save(tutti_visits *v);
/* When all have met: somebody asked for that. The same for all. */
bool tutti_visits_saves(const tutti_visits *v);

/* When all have met: the first share of this run whose loss was not finite: its step (0-based) and who played it;
 * false: there is none. The same for all. */
bool tutti_visits_bad(const tutti_visits *v, int64_t *step, int *rank);

/* Shares that all ranks have played, and the sum of their losses: of this run, at about this time; on another host,
 * when all met last. */
int64_t tutti_visits_played(const tutti_visits *v, double *loss);
int64_t tutti_visits_played_by(const tutti_visits *v, int rank);
/* When all have met: shares before the stop that were dealt to who died then. */
int64_t tutti_visits_unplayed(const tutti_visits *v);

/* What becomes true when the worker is gone with which rank 0 has this exchange of the plan; NULL: another rank was
 * asked, or it is needed whoever is gone. v: NULL: ranks step together. */
const atomic_bool *tutti_visits_gone_flag(const tutti_visits *v, int exchange);

/* The plan's actions. TUTTI_ERR_PEER: the deadline has passed, or a rank is gone. */
tutti_status tutti_visits_pace(tutti_visits *v, tutti_failure *err);
tutti_status tutti_visits_enter(tutti_visits *v, tutti_failure *err);
void tutti_visits_leave(tutti_visits *v);
/* Of a stand-in, before what its worker brings sets out, and when it is there. In rank order one worker of another host
 * after the other brings: who is visited with first has the links of rank 0 to himself, and is there as soon as can be.
 * Waits as long as that takes. */
tutti_status tutti_visits_bring_begin(const tutti_visits *v, tutti_failure *err);
void tutti_visits_bring_end(const tutti_visits *v);
/* Around a change of a bucket of the centre: tells of changes that came in between, one of which is lost. */
int64_t tutti_visits_change_begin(const tutti_visits *v, int bucket);
void tutti_visits_change_end(tutti_visits *v, int bucket, int64_t begun);

/* Rank 0, when all have met: what was kept, as a file that a run can be played by again, to the bit. */
tutti_status tutti_visits_write(const tutti_visits *v, const char *path, tutti_failure *err);

/* Visits that have ended, of all ranks. */
int64_t tutti_visits_count(const tutti_visits *v);

/* Of this rank's visits: how many others came between one and the next. */
enum { TUTTI_STALENESS_BINS = 17 }; /* the last one: that many or more */
typedef struct {
    int64_t nvisits, sum, most;
    int64_t bin[TUTTI_STALENESS_BINS];
    int64_t nlost; /* changes of buckets that others changed meanwhile: at least so many were lost */
    int64_t nserved,
        moved_bytes; /* where all are added up: visits of workers of other hosts, and what travelled for them */
} tutti_staleness;
void tutti_visits_staleness(const tutti_visits *v, tutti_staleness *out);

#endif
