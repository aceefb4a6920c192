/* SPDX-License-Identifier: Apache-2.0 */
/* visits.h: the board of visits, for ranks that take steps of their own. It says which rank takes which share of which
 * batch, how far each rank is, and which rank may use the common memories.
 *
 * A share is one rank's part of a batch: P shares of equal size make a step, share k belongs to step k / P. At a stop
 * all ranks meet (for a test, a checkpoint, the end). Between two stops ranks play shares as they come. At a stop all
 * shares before it have been played and none after it, so that a known number of samples is tested and saved. A rank
 * that is asked to end moves the stop to the next step that no rank has begun.
 *
 * In a group that survives deaths a rank may die at any point. Then its turns are passed on and no rank waits for its
 * progress. If shares are dealt in order, its remaining shares are dealt to others. Nobody plays the shares that it had
 * been dealt. A worker of another host counts as gone only when its stand-in has ended what that worker was doing.
 *
 * A rank of another host than rank 0's asks rank 0 (visitor.h). There a stand-in with visits of its own uses the same
 * board for it.
 *
 * Waits have the group's deadline and name the rank that they wait for. Threads: one at a time; tutti_visits_deal: any
 * one thread at a time; for a stand-in, the thread that plays it. */
#ifndef TUTTI_VISITS_H
#define TUTTI_VISITS_H

#include "../../../../collective/group/group.h"
#include "../../../plan/plan.h"
#include "visitor.h"

typedef struct tutti_visits tutti_visits;

typedef struct {
    int64_t first_step, end_step; /* the first step of the run, and one past the last */
    bool records;                 /* records which rank took which share and which rank visited when */
    /* file of a recorded order of shares and visits that this run follows; NULL = ranks take them as they come */
    const char *replay;
} tutti_visits_config;
/* Collective: makes the board. */
tutti_status tutti_visits_create(tutti_group *group, const tutti_plan *plan, const tutti_visits_config *config,
                                 tutti_visits **out, tutti_failure *err);
void tutti_visits_destroy(tutti_visits *v); /* call it before the group is left; NULL is accepted */

/* Rank 0: returns the visits that rank 0 makes for a worker of another host. NULL: the worker is on this host, or this
 * is not rank 0. It takes the same calls except open, meet and write, which concern all ranks. Valid as long as v. */
tutti_visits *tutti_visits_stand_in(const tutti_visits *v, int worker);
/* Retires a stand-in whose worker is gone; afterwards the stand-in's visits may only be destroyed. Other workers get
 * the shares that are left, or nobody plays them. */
void tutti_visits_retire(tutti_visits *v);
/* Returns the exchanges by which workers of other hosts ask for shares and get answers. */
const tutti_asks *tutti_visits_asks(const tutti_visits *v);

/* Returns the next share for this rank, -1 = there is none (tutti_loader_config.deal; arg: the visits). */
int64_t tutti_visits_deal(void *arg);
/* Collective, when all ranks have come to the last stop: sets the next stop to this step. */
tutti_status tutti_visits_open(tutti_visits *v, int64_t stop, tutti_failure *err);
/* Sets *may to true if this rank may play the share now; false: the share is behind the stop, or there is none (-1). */
tutti_status tutti_visits_begin(tutti_visits *v, int64_t share, bool *may, tutti_failure *err);
/* Asks for the next share ahead of time, on another host than rank 0's, when all of this step but the visit has been
 * computed. loss: the sum of the losses. On rank 0's host it does nothing. */
void tutti_visits_ask_ahead(const tutti_visits *v, double loss);
/* Says that the share begun last has ended, with this sum of the losses of its samples. */
void tutti_visits_end(tutti_visits *v, double loss);
/* Collective, called in this order. tutti_visits_come: all ranks have come to the stop; rank 0 has made sure that no
 * rank is at the centre any more, whichever rank is gone, and that all shares before the stop have been played.
 * tutti_visits_meet: *ends: a rank has asked to end; then *stop may be an earlier step than was opened. The results are
 * the same on all ranks. */
tutti_status tutti_visits_come(tutti_visits *v, tutti_failure *err);
tutti_status tutti_visits_meet(tutti_visits *v, int64_t *stop, bool *ends, tutti_failure *err);
void tutti_visits_ask_to_end(tutti_visits *v);
/* Rank 0, after a share of its own: moves the stop to the next step that no rank has begun, as when a rank asks to
 * end. */
void tutti_visits_ask_to_save(tutti_visits *v);
/* When all have met: true if rank 0 has asked to save. The same on all ranks. */
bool tutti_visits_saves(const tutti_visits *v);

/* When all have met: writes the step (0-based) and the rank of the first share of this run whose loss was not finite;
 * false: there is none. The same on all ranks. */
bool tutti_visits_bad(const tutti_visits *v, int64_t *step, int *rank);

/* Returns how many shares of this run all ranks have played, and the sum of their losses, at about this time; on
 * another host, as of the last stop. */
int64_t tutti_visits_played(const tutti_visits *v, double *loss);
int64_t tutti_visits_played_by(const tutti_visits *v, int rank);
/* Returns, when all have met, how many shares before the stop were dealt to ranks that then died. */
int64_t tutti_visits_unplayed(const tutti_visits *v);

/* For an exchange of the plan between rank 0 and one worker: returns a flag that becomes true when this worker is gone.
 * NULL: this is not rank 0, or the exchange is needed whichever rank is gone. v NULL: ranks step together. */
const atomic_bool *tutti_visits_gone_flag(const tutti_visits *v, int exchange);

/* Do the plan's actions pace, enter and leave. TUTTI_ERR_PEER: the deadline has passed, or a rank is gone. */
tutti_status tutti_visits_pace(tutti_visits *v, tutti_failure *err);
tutti_status tutti_visits_enter(tutti_visits *v, tutti_failure *err);
void tutti_visits_leave(tutti_visits *v);
/* For a stand-in: call tutti_visits_bring_begin before its worker's vector is sent, and tutti_visits_bring_end when the
 * vector has arrived. In rank order tutti_visits_bring_begin waits for the worker's turn: workers of other hosts send
 * one after the other, so that the first has the links of rank 0 to itself and its vector arrives as soon as
 * possible. */
tutti_status tutti_visits_bring_begin(const tutti_visits *v, tutti_failure *err);
void tutti_visits_bring_end(const tutti_visits *v);
/* Call _begin before and _end after a change of a bucket of the centre. They count the changes by other ranks during
 * this change: if two ranks change an element at the same time, one of the changes is lost. */
int64_t tutti_visits_change_begin(const tutti_visits *v, int bucket);
void tutti_visits_change_end(tutti_visits *v, int bucket, int64_t begun);

/* Rank 0, when all have met: writes the record to a file by which a run can be played again, with the same bits. */
tutti_status tutti_visits_write(const tutti_visits *v, const char *path, tutti_failure *err);

/* Returns how many visits of all ranks have ended. */
int64_t tutti_visits_count(const tutti_visits *v);

/* For this rank's visits: how many visits of other ranks came between two of its own. */
enum { TUTTI_STALENESS_BINS = 17 }; /* number of bins of staleness; the last bin counts 16 or more */
typedef struct {
    int64_t nvisits, sum, most;
    int64_t bin[TUTTI_STALENESS_BINS];
    int64_t nlost; /* least number of updates that were lost because another rank wrote the bucket meanwhile */
    /* sums over ranks: visits of workers of other hosts, and bytes that were sent for them */
    int64_t nserved, moved_bytes;
} tutti_staleness;
void tutti_visits_staleness(const tutti_visits *v, tutti_staleness *out);

#endif
