/* SPDX-License-Identifier: Apache-2.0 */
/* visitor.h: asks rank 0 about the board of visits for a worker of another host, which cannot read it (visits.h). The
 * worker asks rank 0 once in each local step and gets an answer. Ask and answer are two exchanges of a few numbers
 * between the two ranks, by schedules that the plan has proved.
 *
 * An ask says which share the worker wants to begin, whether the share before has ended and with which loss, and
 * whether the worker was asked to end the run. An answer says whether the share may begin, and which share the worker
 * is dealt after those that it has. A worker begins with as many shares as its loader takes ahead, and one more.
 *
 * The ask for the next share is sent as soon as all its contents are known. In a step with a visit it is sent together
 * with the vector that the worker brings to the centre: rank 0 takes the vector first, and can answer directly after
 * the visit's result. In a step without a visit it is sent after the forward pass. Rank 0 does the same things in the
 * same order as if it were asked when the next share begins; only the time of a round trip is saved.
 *
 * Threads: one at a time, except tutti_visitor_deal: any one thread at a time. */
#ifndef TUTTI_VISITOR_H
#define TUTTI_VISITOR_H

#include "../../../../collective/exchange/executor.h"
#include "../../../../data/dataset.h"
#include "../../../plan/plan.h"

enum { TUTTI_SHARES_AHEAD = TUTTI_LOADER_AHEAD + 1 };

typedef struct {
    int64_t share;     /* the share to begin; -1 = there is none left: the worker only reports */
    int64_t has_ended; /* 1 if the share before has ended */
    double loss;       /* sum of the losses of the share before */
    int64_t wants_end;
} tutti_share_question;

typedef struct {
    int64_t may;
    int64_t dealt; /* if the share may begin: the next share that the worker is dealt, -1 = there is none */
} tutti_share_answer;

/* The ask and answer exchanges of all workers of other hosts. */
typedef struct tutti_asks tutti_asks;
/* Collective: makes the exchanges. */
tutti_status tutti_asks_create(tutti_group *group, const tutti_plan *plan, tutti_asks **out, tutti_failure *err);
void tutti_asks_destroy(tutti_asks *a); /* NULL is accepted */
/* Return the ask and answer exchange of a worker, as this rank has them. This rank must be that worker or rank 0. */
tutti_exchange *tutti_asks_ask(const tutti_asks *a, int worker);
tutti_exchange *tutti_asks_answer(const tutti_asks *a, int worker);
tutti_share_question *tutti_asks_asked(const tutti_asks *a, int worker);
tutti_share_answer *tutti_asks_answered(const tutti_asks *a, int worker);

/* The worker's side of asks and answers. */
typedef struct tutti_visitor tutti_visitor;
tutti_visitor *tutti_visitor_create(const tutti_asks *a, int rank, const int64_t first[TUTTI_SHARES_AHEAD]);
void tutti_visitor_destroy(tutti_visitor *v); /* NULL is accepted */
/* Returns the next share; -1 = there is none. */
int64_t tutti_visitor_deal(tutti_visitor *v);
/* Asks for the share after the share that was begun last, which ends with this loss; also if no share is left. */
void tutti_visitor_ask_ahead(tutti_visitor *v, double loss);
/* Asks, unless it has asked ahead, and waits for the answer. TUTTI_ERR_PEER as in a wait for an exchange. */
tutti_status tutti_visitor_begin(tutti_visitor *v, int64_t share, bool *may, tutti_failure *err);
/* Notes for the next ask that the share has ended, and with which loss. */
void tutti_visitor_end(tutti_visitor *v, double loss);
void tutti_visitor_want_end(tutti_visitor *v);

#endif
